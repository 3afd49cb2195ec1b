/** A page of a web server, fetched from a simulated machine with packets of its stack. */
import { parseIp } from "#core/net/ip.ts";
import { TcpProbe } from "#dataplane/host/probes/probe.ts";
import { decodeAscii } from "#dataplane/host/services/ascii.ts";
import type { Machine } from "../machine.ts";
import { findTarget } from "./ping.ts";

const HEAD_END = "\r\n\r\n";
/** Windows tries to connect for 21 seconds. */
const PATIENCE_MS = 60_000;
/** Waits for all of an answer of HTTP, or for the one line of a server that speaks none. */
class PageProbe extends TcpProbe {
  private text = "";

  protected override readAnswer(bytes: Uint8Array): string | undefined {
    super.readAnswer(bytes);
    this.text += decodeAscii(bytes);
    return isWhole(this.text) ? this.text : undefined;
  }
}

function isWhole(text: string): boolean {
  if (!text.startsWith("HTTP/".slice(0, text.length)) || (text.length >= 5 && !text.startsWith("HTTP/")))
    return text.includes("\n");
  const end = text.indexOf(HEAD_END);
  if (end < 0) return false;
  const line = text
    .slice(0, end)
    .split("\r\n")
    .find((each) => each.toLowerCase().startsWith("content-length:"));
  return (
    line !== undefined && text.length >= end + HEAD_END.length + Number(line.slice(line.indexOf(":") + 1))
  );
}

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** `http://web:8080/path`; undefined for what is none, or not of http. */
export function readUrl(text: string): Address | undefined {
  const url = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port, pathname, search } = new URL(url);
  if (protocol !== "http:") return undefined;
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return { host, port: port === "" ? 80 : Number(port), path: pathname + search };
}

export type Page =
  | {
      readonly outcome: "answered";
      /** Empty of a server that speaks no HTTP. */
      readonly head: string;
      readonly body: string;
    }
  | { readonly outcome: "no-name" | "no-connection" | "timed-out"; readonly tookMs: number };

export function fetchPage(machine: Machine, address: Address): Page {
  const { cluster, compartment } = machine;
  const { host, port, path } = address;
  const startMs = compartment.nowMs;
  const target = findTarget(machine, host, typeof parseIp(host) === "bigint");
  if (target === undefined) return { outcome: "no-name", tookMs: compartment.nowMs - startMs };
  const place = port === 80 ? host : `${host}:${port}`;
  const probe = new PageProbe({
    compartment,
    destination: target.ip,
    port,
    question: `GET ${path} HTTP/1.1\r\nHost: ${place}\r\nAccept: */*\r\n\r\n`,
    timeoutMs: PATIENCE_MS,
  });
  probe.start();
  while (probe.result === undefined && cluster.clock.step());
  const tookMs = Math.round(compartment.nowMs - startMs);
  if (probe.result?.outcome !== "answered")
    return { outcome: tookMs >= PATIENCE_MS ? "timed-out" : "no-connection", tookMs };
  const { answer } = probe.result;
  const end = answer.startsWith("HTTP/") ? answer.indexOf(HEAD_END) + HEAD_END.length : 0;
  return { outcome: "answered", head: answer.slice(0, end), body: answer.slice(end) };
}
