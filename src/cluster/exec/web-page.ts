/** A page of a web server, fetched from a simulated machine with packets of its stack. */
import { type Ip, parseIp } from "#core/net/ip.ts";
import { TcpProbe } from "#dataplane/host/probes/probe.ts";
import { decodeAscii } from "#dataplane/host/services/ascii.ts";
import { HEAD_END } from "#dataplane/host/services/http-server.ts";
import type { Machine } from "./machine.ts";
import { findTarget, isTarget } from "./target.ts";

/** Windows tries to connect for 21 seconds, Linux for 127 (tcp_syn_retries of ip-sysctl.rst). */
const PATIENCE_MS = 300_000;
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

export interface AnsweredPage {
  readonly outcome: "answered";
  /** Empty of a server that speaks no HTTP, whose text is the body. */
  readonly head: string;
  readonly body: string;
  readonly ip: Ip;
}

export interface FailedPage {
  /** `silent`: the stack gave the connection up. `over-time`: whoever asked did, while it connected or waited. */
  readonly outcome: "no-name" | "refused" | "unreachable" | "silent" | "over-time";
  readonly tookMs: number;
  /** Undefined for a name without an address. */
  readonly ip: Ip | undefined;
}

/** How long it may take in all; default: longer than any stack tries to connect. */
export function fetchPage(
  machine: Machine,
  address: Address,
  timeoutMs: number = PATIENCE_MS,
): AnsweredPage | FailedPage {
  const { cluster, compartment } = machine;
  const { host, port, path } = address;
  const startMs = compartment.nowMs;
  const target = findTarget(machine, host, typeof parseIp(host) === "bigint");
  const elapsed = (): number => Math.round(compartment.nowMs - startMs);
  if (!isTarget(target)) return { outcome: "no-name", tookMs: elapsed(), ip: undefined };
  const { ip } = target;
  const leftMs = timeoutMs - elapsed();
  if (leftMs <= 0) return { outcome: "over-time", tookMs: timeoutMs, ip };
  const place = port === 80 ? host : `${host}:${port}`;
  const probe = new PageProbe({
    compartment,
    destination: ip,
    port,
    question: `GET ${path} HTTP/1.1\r\nHost: ${place}\r\nAccept: */*\r\n\r\n`,
    timeoutMs: leftMs,
  });
  probe.start();
  while (probe.result === undefined && cluster.clock.step());
  const tookMs = elapsed();
  if (probe.result?.outcome === "answered") {
    const { answer } = probe.result;
    const end = answer.startsWith("HTTP/") ? answer.indexOf(HEAD_END) + HEAD_END.length : 0;
    return { outcome: "answered", head: answer.slice(0, end), body: answer.slice(end), ip };
  }
  if (tookMs >= timeoutMs) return { outcome: "over-time", tookMs, ip };
  const outcome = probe.result?.outcome === "timed-out" ? "silent" : (probe.result?.outcome ?? "silent");
  return { outcome, tookMs, ip };
}

/** The numbers and words of the first line; undefined of a server that speaks no HTTP. */
export function readStatus({
  head,
}: AnsweredPage): { readonly code: number; readonly text: string } | undefined {
  if (head === "") return undefined;
  const [, code = "", ...words] = (head.split("\r\n")[0] ?? "").split(" ");
  return { code: Number(code), text: words.join(" ") };
}
