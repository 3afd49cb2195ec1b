/**
 * `tracert`. Its form is that of printed routes: a heading on one line for an address and on two for a name, three times of each
 * hop, and `Request timed out.` behind three stars.
 *
 * Inferred: no hop has a name, since nobody here answers for addresses; it ends with 0 unless it has no target.
 */
import { formatIp } from "#core/net/ip.ts";
import { Ping, type PingOutcome } from "#dataplane/host/probes/ping.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import type { Machine } from "../machine.ts";
import { findTarget, isTarget } from "../target.ts";
import { headingOf } from "./ping.ts";

const HOPS_MAX = 30;
const TIMEOUT_MS = 4_000;
const PER_HOP = 3;
/** More takes longer than a copy of the cluster is kept for. */
const MOST: Readonly<Record<string, number>> = { h: 255, w: 10_000 };

interface Given {
  readonly target: string | undefined;
  readonly hops: number;
  readonly timeoutMs: number;
  readonly isIpv6: boolean;
}

function readArguments(args: readonly string[]): Given {
  const numbers: Record<string, number> = {};
  let target: string | undefined;
  let isIpv6 = false;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    const option = optionOf(arg);
    const most = MOST[option ?? ""];
    if (option === undefined) target = arg;
    else if (option === "6") isIpv6 = true;
    else if (most !== undefined) {
      const text = args[++index] ?? "";
      if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > most)
        notBuilt(TRACERT, `${arg} ${text}`);
      numbers[option] = Number(text);
    } else if (option !== "d" && option !== "4") notBuilt(TRACERT, arg);
  }
  return { target, hops: numbers["h"] ?? HOPS_MAX, timeoutMs: numbers["w"] ?? TIMEOUT_MS, isIpv6 };
}

/** One of the three, and how long it took: a report that a packet's life ended is the answer that is waited for. */
interface Attempt {
  readonly outcome: PingOutcome | undefined;
  readonly tookMs: number;
}

function cell({ outcome, tookMs }: Attempt): string {
  if (outcome?.kind !== "reply" && outcome?.kind !== "failure") return "     *   ";
  return `${tookMs < 1 ? "<1" : String(Math.floor(tookMs))} ms`.padStart(9);
}

/** Who answered for this hop, and whether the route ends there. */
function hopEnd(attempts: readonly Attempt[]): { readonly text: string; readonly isLast: boolean } {
  for (const { outcome } of attempts) {
    if (outcome?.kind === "reply") return { text: formatIp(outcome.reply.source), isLast: true };
    if (outcome?.kind !== "failure") continue;
    const { reason, reporter } = outcome.failure;
    const who = reporter === undefined ? "" : formatIp(reporter);
    if (reason === "ttl-expired") return { text: who, isLast: false };
    const net = reason === "net-unreachable" ? "net" : "host";
    return { text: `${who}  reports: Destination ${net} unreachable.`, isLast: true };
  }
  return { text: "Request timed out.", isLast: false };
}

function trace(machine: Machine, name: string, { hops, timeoutMs, isIpv6 }: Given): CommandOutput {
  const { cluster, compartment } = machine;
  const target = findTarget(machine, name, isIpv6);
  if (!isTarget(target)) return { stdout: [`Unable to resolve target system name ${name}.`], exitCode: 1 };
  const isName = target.canonicalName !== undefined;
  const heading = headingOf(target);
  const lines: string[] = [];
  for (let ttl = 1; ttl <= hops; ttl++) {
    const attempts = Array.from({ length: PER_HOP }, (): Attempt => {
      const startMs = compartment.nowMs;
      const run = new Ping({ compartment, destination: target.ip, count: 1, ttl, timeoutMs });
      run.start();
      while (!run.isDone && cluster.clock.step());
      return { outcome: run.results[0], tookMs: compartment.nowMs - startMs };
    });
    const { text, isLast } = hopEnd(attempts);
    lines.push(`${String(ttl).padStart(3)}${attempts.map(cell).join("")}  ${text}`);
    if (isLast) break;
  }
  const maximum = `over a maximum of ${hops} hops`;
  return {
    stdout: [
      "",
      ...(isName
        ? [`Tracing route to ${heading}`, `${maximum}:`]
        : [`Tracing route to ${heading} ${maximum}`]),
      "",
      ...lines,
      "",
      "Trace complete.",
    ],
    exitCode: 0,
  };
}

export const TRACERT: ListedCommand = {
  name: "tracert",
  os: "windows",
  usages: ["tracert [-d] [-h HOPS] [-w MILLISECONDS] [-4|-6] TARGET"],
  run: (machine, args) => {
    const given = readArguments(args);
    return given.target === undefined
      ? notBuilt(TRACERT, "without a target")
      : trace(machine, given.target, given);
  },
};
