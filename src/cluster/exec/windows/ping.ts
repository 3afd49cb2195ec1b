/**
 * `ping`. Its form is that of danielzzz/node-ping#17 and jamesoff/simplemonitor#72 (a neighbour that does not answer counts as
 * received), vmware/ansible-vsphere-gos-validation#322 and ARMmbed/mbed-client-example-6lowpan#80 (nothing can be sent),
 * Azure/acs-engine#558 (an unknown name), and apache/artemis#4051 (its exit code).
 */
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { FailureReason, SocketFailure } from "#dataplane/host/delivery-failure.ts";
import { Ping, type PingOutcome } from "#dataplane/host/probes/ping.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import { RequestError } from "../../request-error.ts";
import type { Machine } from "../machine.ts";
import { type Target, findTarget, isTarget } from "../target.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const UINT32_MAX = 4_294_967_295;
/** A letter, and what the number behind it may be. Inferred: the sentences about options that are wrong. */
const NUMBERS: Readonly<Record<string, readonly [number, number]>> = {
  n: [1, UINT32_MAX],
  l: [0, 65_500],
  i: [1, 255],
  w: [0, UINT32_MAX],
};
/** Of these the real program takes more than a copy of the cluster is kept for: requests, and milliseconds. */
const MOST: Readonly<Record<string, number>> = { n: 1_000, w: 60_000 };
const FLAGS = new Set(["4", "6", "f"]);
/** What the program takes besides, from its own help. */
const OTHERS = new Set(
  ["?", "t", "a", "r", "s", "j", "k", "R", "S", "c", "p"].map((each) => each.toLowerCase()),
);
const BYTES = 32;

interface Given {
  readonly target: string | undefined;
  readonly numbers: Readonly<Record<string, number>>;
  readonly flags: ReadonlySet<string>;
  readonly fault: string | undefined;
}

/** @throws RequestError */
function tooMuch(option: string, text: string, most: number): never {
  throw new RequestError(
    "bad-usage",
    `ping ${option} ${text} takes longer than Mullion waits`,
    `Write ${option} with ${most} at most.`,
  );
}

function readArguments(args: readonly string[]): Given {
  const numbers: Record<string, number> = {};
  const flags = new Set<string>();
  let target: string | undefined;
  let fault: string | undefined;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    const option = optionOf(arg);
    if (option === undefined) target = arg;
    else if (FLAGS.has(option)) flags.add(option);
    else if (OTHERS.has(option)) notBuilt(PING, arg);
    else {
      const range = NUMBERS[option];
      const text = args[++index];
      const value = Number(text);
      if (range === undefined) fault ??= `Bad option ${arg}.`;
      else if (text === undefined) fault ??= `Value must be supplied for option ${arg}.`;
      else if (!/^\d{1,10}$/.test(text) || value < range[0] || value > range[1])
        fault ??= WORDS.pingBadOption({ arg, lowest: range[0], highest: range[1] });
      else if (value > (MOST[option] ?? value)) tooMuch(arg, text, MOST[option] ?? value);
      else numbers[option] = value;
    }
  }
  return { target, numbers, flags, fault };
}

const FAILURES: Readonly<Partial<Record<FailureReason, string>>> = {
  "net-unreachable": "Destination net unreachable.",
  "host-unreachable": "Destination host unreachable.",
  "protocol-unreachable": "Destination protocol unreachable.",
  "port-unreachable": "Destination port unreachable.",
  "fragmentation-needed": "Packet needs to be fragmented but DF set.",
  "ttl-expired": "TTL expired in transit.",
};

/** Of echo requests that its own stack does not send. */
const UNSENT: Readonly<Partial<Record<SocketFailure, string>>> = {
  "no-route": "PING: transmit failed. General failure. ",
  "message-too-long": "Packet needs to be fragmented but DF set.",
};

function outcomeLine(outcome: PingOutcome | undefined, own: Ip): string {
  if (outcome?.kind === "reply") {
    const { source, rttMs, payloadBytes, ttl } = outcome.reply;
    const time = rttMs < 1 ? "time<1ms" : `time=${Math.floor(rttMs)}ms`;
    return typeof source === "number"
      ? `Reply from ${formatIp(source)}: bytes=${payloadBytes} ${time} TTL=${ttl}`
      : `Reply from ${formatIp(source)}: ${time} `;
  }
  if (outcome?.kind === "failure") {
    const text = FAILURES[outcome.failure.reason] ?? "Destination host unreachable.";
    return `Reply from ${formatIp(outcome.failure.reporter ?? own)}: ${text}`;
  }
  if (outcome?.kind !== "not-sent") return "Request timed out.";
  return UNSENT[outcome.failure] ?? "General failure.";
}

function statistics(target: Ip, outcomes: readonly (PingOutcome | undefined)[]): readonly string[] {
  const sent = outcomes.length;
  const received = outcomes.filter((each) => each?.kind === "reply" || each?.kind === "failure").length;
  const times = outcomes.flatMap((each) => (each?.kind === "reply" ? [Math.floor(each.reply.rttMs)] : []));
  const lost = sent - received;
  const average = Math.floor(times.reduce((sum, each) => sum + each, 0) / Math.max(1, times.length));
  return [
    "",
    `Ping statistics for ${formatIp(target)}:`,
    `    Packets: Sent = ${sent}, Received = ${received}, Lost = ${lost} (${Math.floor((lost * 100) / sent)}% loss),`,
    ...(times.length === 0
      ? []
      : [
          "Approximate round trip times in milli-seconds:",
          `    Minimum = ${Math.min(...times)}ms, Maximum = ${Math.max(...times)}ms, Average = ${average}ms`,
        ]),
  ];
}

/** How headings name what is reached. */
export function headingOf({ ip, canonicalName }: Target): string {
  return canonicalName === undefined ? formatIp(ip) : `${canonicalName} [${formatIp(ip)}]`;
}

function ping(machine: Machine, name: string, { numbers, flags }: Given): CommandOutput {
  const { cluster, compartment } = machine;
  // Inferred: without -6 a name is asked for by IPv4 alone.
  const target = findTarget(machine, name, flags.has("6"));
  if (!isTarget(target))
    return {
      stdout: [WORDS.pingUnknownHost({ name })],
      exitCode: 1,
    };
  const { n: count = 4, l: payloadBytes = BYTES, w: timeoutMs = 4_000, i: ttl } = numbers;
  const run = new Ping({
    compartment,
    destination: target.ip,
    count,
    payloadBytes,
    timeoutMs,
    isDontFragment: flags.has("f"),
    ...(ttl === undefined ? {} : { ttl }),
  });
  run.start();
  while (!run.isDone && cluster.clock.step());
  const own = compartment.output.findPath(target.ip)?.source ?? target.ip;
  const isReached = run.results.some((each) => each?.kind === "reply" || each?.kind === "failure");
  return {
    stdout: [
      "",
      `Pinging ${headingOf(target)} with ${payloadBytes} bytes of data:`,
      ...run.results.map((each) => outcomeLine(each, own)),
      ...statistics(target.ip, run.results),
    ],
    exitCode: isReached ? 0 : 1,
  };
}

export const PING: ListedCommand = {
  name: "ping",
  os: "windows",
  usages: ["ping [-n COUNT] [-l BYTES] [-w MILLISECONDS] [-i TTL] [-f] [-4|-6] TARGET"],
  run: (machine, args) => {
    const given = readArguments(args);
    if (given.fault !== undefined) return { stdout: [given.fault], exitCode: 1 };
    if (given.target === undefined) return notBuilt(PING, "without a target");
    return ping(machine, given.target, given);
  },
};
