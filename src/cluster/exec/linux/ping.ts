/**
 * `ping` of iputils. Its form is that of iputils/iputils#500 (nobody there, `pipe`), dominictarr/wifi.sh#5 (no route) and
 * jsdelivr/globalping#140 (times), and of ping/ping.c and ping/ping_common.c. A request without an answer prints nothing.
 *
 * Inferred: no address has a name, since nobody here answers for addresses.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { FailureReason } from "#dataplane/host/delivery-failure.ts";
import { Ping, type PingOutcome } from "#dataplane/host/probes/ping.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import { type OptionTable, numberOf, readOptions } from "../getopt.ts";
import type { Machine } from "../machine.ts";
import { type Target, type UnknownName, findTarget, isTarget } from "../target.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const OPTIONS: OptionTable = {
  "-c": "count=",
  "-s": "size=",
  "-t": "ttl=",
  "-W": "wait=",
  "-M": "discovery=",
  "-n": "numeric",
  "-q": "quiet",
  "-4": "ipv4",
  "-6": "ipv6",
};
/** More requests take longer than a copy of the cluster is kept for. */
const COUNT_MAX = 1_000;
/** MAXWAIT of ping.h. */
const WAIT_SECONDS = 10;
const WAIT_SECONDS_MAX = 60;
const PAYLOAD_BYTES_MAX = 65_507;
const HEADER_BYTES: Readonly<Record<4 | 6, number>> = { 4: 28, 6: 48 };
/** Shorter payloads have no room for the time that is measured by. */
const TIMED_BYTES = 16;
const EXIT = { answered: 0, silent: 1, failed: 2 } as const;

const FAILURES: Readonly<Record<FailureReason, string>> = {
  "net-unreachable": "Destination Net Unreachable",
  "host-unreachable": "Destination Host Unreachable",
  "protocol-unreachable": "Destination Protocol Unreachable",
  "port-unreachable": "Destination Port Unreachable",
  "fragmentation-needed": "Frag needed and DF set",
  "administratively-prohibited": "Packet filtered",
  "ttl-expired": "Time to live exceeded",
  "reassembly-timed-out": "Frag reassembly time exceeded",
};
const FAILURES_IPV6: Readonly<Partial<Record<FailureReason, string>>> = {
  "net-unreachable": "Destination unreachable: No route",
  "host-unreachable": "Destination unreachable: Address unreachable",
  "administratively-prohibited": "Destination unreachable: Administratively prohibited",
  "port-unreachable": "Destination unreachable: Port unreachable",
  "fragmentation-needed": "Packet too big",
  "ttl-expired": "Time exceeded: Hop limit",
};

/** Codes with which a resolver says that it may be otherwise later: EAI_AGAIN. */
const TEMPORARY: ReadonlySet<KnowledgeCode> = new Set<KnowledgeCode>([
  "dns-timeout",
  "dns-server-unreachable",
  "dns-server-failure",
  "dns-no-server",
  "dns-cold-start",
]);

/** gai_strerror(3) of glibc. */
function unknownNameText({ code }: UnknownName): string {
  if (TEMPORARY.has(code)) return "Temporary failure in name resolution";
  return code === "dns-no-address" ? "No address associated with hostname" : "Name or service not known";
}

interface Given {
  readonly target: string;
  readonly count: number;
  readonly payloadBytes: number;
  readonly ttl: number | undefined;
  readonly waitMs: number;
  readonly isDontFragment: boolean | undefined;
  readonly isQuiet: boolean;
  readonly isIpv6: boolean;
}

function readArguments(args: readonly string[]): Given {
  const { flags, values, operands, unknown } = readOptions(OPTIONS, args);
  const refuse = (text = args.join(" ")): never => notBuilt(PING, text || "without a target");
  const number = (name: string, least: number, most: number): number | undefined => {
    const text = values.get(name);
    return text === undefined ? undefined : (numberOf(text, { least, most }) ?? refuse());
  };
  const [target, ...others] = operands;
  if (unknown !== undefined || target === undefined || others.length > 0) return refuse();
  const discovery = values.get("discovery");
  if (discovery !== undefined && discovery !== "do" && discovery !== "dont") return refuse();
  // Without a count the real program goes on until it is interrupted.
  const count = number("count", 1, COUNT_MAX) ?? refuse(`${args.join(" ")} without -c`);
  return {
    target,
    count,
    payloadBytes: number("size", 0, PAYLOAD_BYTES_MAX) ?? 56,
    ttl: number("ttl", 1, 255),
    waitMs: (number("wait", 1, WAIT_SECONDS_MAX) ?? WAIT_SECONDS) * 1_000,
    isDontFragment: discovery === undefined ? undefined : discovery === "do",
    isQuiet: flags.has("quiet"),
    isIpv6: flags.has("ipv6"),
  };
}

/** A time of ping_common.c: three digits behind the point, fewer of longer times. */
function timeText(ms: number): string {
  if (ms >= 100) return ms.toFixed(0);
  if (ms >= 10) return ms.toFixed(1);
  return ms >= 1 ? ms.toFixed(2) : ms.toFixed(3);
}

/** What happened, in its order, and how many requests were under way at most. */
interface Run {
  readonly outcomes: readonly { readonly sequence: number; readonly outcome: PingOutcome }[];
  readonly sentCount: number;
  readonly pipe: number;
  /** From the first request to what happened last. */
  readonly tookMs: number;
}

function runPing({ cluster, compartment }: Machine, target: Target, given: Given): Run {
  const { count, payloadBytes, ttl, waitMs, isDontFragment } = given;
  const run = new Ping({
    compartment,
    destination: target.ip,
    count,
    payloadBytes,
    timeoutMs: waitMs,
    ...(ttl === undefined ? {} : { ttl }),
    ...(isDontFragment === undefined ? {} : { isDontFragment }),
  });
  const startMs = compartment.nowMs;
  const outcomes: { sequence: number; outcome: PingOutcome }[] = [];
  const seen = new Set<number>();
  let [pipe, lastMs, sentCount] = [0, startMs, 0];
  const look = (): void => {
    const { results } = run;
    if (results.length > sentCount) [sentCount, lastMs] = [results.length, compartment.nowMs];
    for (const [index, outcome] of results.entries()) {
      if (outcome === undefined || seen.has(index)) continue;
      seen.add(index);
      outcomes.push({ sequence: index + 1, outcome });
      if (outcome.kind !== "reply" && outcome.kind !== "failure") continue;
      pipe = Math.max(pipe, sentCount - index);
      lastMs = compartment.nowMs;
    }
  };
  run.start();
  look();
  while (!run.isDone && cluster.clock.step()) look();
  return { outcomes, sentCount, pipe, tookMs: Math.round(lastMs - startMs) };
}

function outcomeLine(
  sequence: number,
  outcome: PingOutcome,
  own: Ip,
  payloadBytes: number,
): readonly string[] {
  if (outcome.kind === "reply") {
    const { source, rttMs, ttl, payloadBytes: bytes } = outcome.reply;
    const time = payloadBytes < TIMED_BYTES ? "" : ` time=${timeText(rttMs)} ms`;
    return [`${bytes + 8} bytes from ${formatIp(source)}: icmp_seq=${sequence} ttl=${ttl}${time}`];
  }
  if (outcome.kind !== "failure") return [];
  const { reason, reporter, mtuBytes } = outcome.failure;
  const from = reporter ?? own;
  const text = (typeof from === "bigint" ? FAILURES_IPV6[reason] : undefined) ?? FAILURES[reason];
  const mtu =
    reason === "fragmentation-needed"
      ? typeof from === "bigint"
        ? `: mtu=${mtuBytes}`
        : ` (mtu = ${mtuBytes})`
      : "";
  return [`From ${formatIp(from)} icmp_seq=${sequence} ${text}${mtu}`];
}

function statistics(
  name: string,
  { outcomes, sentCount, pipe, tookMs }: Run,
  isTimed: boolean,
): readonly string[] {
  const times = outcomes.flatMap(({ outcome }) => (outcome.kind === "reply" ? [outcome.reply.rttMs] : []));
  const errors = outcomes.filter(
    ({ outcome }) => outcome.kind !== "reply" && outcome.kind !== "timed-out",
  ).length;
  const lossPercent = ((sentCount - times.length) * 100) / sentCount;
  const loss = Number(lossPercent.toPrecision(6));
  const average = times.reduce((sum, each) => sum + each, 0) / Math.max(1, times.length);
  const squares = times.reduce((sum, each) => sum + each * each, 0) / Math.max(1, times.length);
  const deviation = Math.sqrt(Math.max(0, squares - average * average));
  const rtt =
    times.length === 0 || !isTimed
      ? []
      : [
          `rtt min/avg/max/mdev = ${[Math.min(...times), average, Math.max(...times), deviation]
            .map((each) => each.toFixed(3))
            .join("/")} ms`,
        ];
  const more = errors === 0 ? "" : `, +${errors} errors`;
  const last = [...rtt, ...(pipe > 1 ? [`pipe ${pipe}`] : [])].join(", ");
  return [
    "",
    `--- ${name} ping statistics ---`,
    WORDS.pingCounts({ sent: sentCount, received: times.length, errors: more, loss, tookMs }),
    last,
  ];
}

function ping(machine: Machine, args: readonly string[]): CommandOutput {
  const given = readArguments(args);
  const { payloadBytes, isQuiet } = given;
  const target = findTarget(machine, given.target, given.isIpv6);
  if (!isTarget(target))
    return {
      stdout: [],
      stderr: [`ping: ${given.target}: ${unknownNameText(target)}`],
      exitCode: EXIT.failed,
    };
  const path = machine.compartment.output.findPath(target.ip);
  if (path === undefined)
    return { stdout: [], stderr: ["ping: connect: Network is unreachable"], exitCode: EXIT.failed };
  const name = target.canonicalName ?? given.target;
  const isIpv6 = typeof target.ip === "bigint";
  const size = isIpv6
    ? `${payloadBytes} data bytes`
    : `${payloadBytes}(${payloadBytes + HEADER_BYTES[4]}) bytes of data.`;
  const run = runPing(machine, target, given);
  const tooLong = run.outcomes.filter(({ outcome }) => outcome.kind === "not-sent");
  const lines = run.outcomes.flatMap(({ sequence, outcome }) =>
    outcomeLine(sequence, outcome, path.source, payloadBytes),
  );
  const isAnswered = run.outcomes.some(({ outcome }) => outcome.kind === "reply");
  return {
    stdout: [
      `PING ${name}${isIpv6 ? "" : " "}(${formatIp(target.ip)}) ${size}`,
      ...(isQuiet ? [] : lines),
      ...statistics(name, run, payloadBytes >= TIMED_BYTES),
    ],
    stderr: tooLong.map(() => `ping: local error: message too long, mtu=${path.mtuBytes}`),
    exitCode: isAnswered ? EXIT.answered : EXIT.silent,
  };
}

export const PING: ListedCommand = {
  name: "ping",
  os: "linux",
  usages: [
    "ping -c COUNT [-s BYTES] [-t TTL] [-W SECONDS] TARGET",
    "ping -c COUNT [-M do|dont] [-n] [-q] [-4|-6] TARGET",
  ],
  run: ping,
};
