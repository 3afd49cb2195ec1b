/** One cell at work: as many attempts as it takes, one after the other. */
import { defined } from "#core/base/assert.ts";
import type { Task } from "#core/base/clock.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import {
  type Probe,
  type ProbeOwner,
  type ProbeResult,
  EchoProbe,
  TcpProbe,
  UdpProbe,
} from "#dataplane/host/probes/probe.ts";
import { DnsProbe, DnsTcpProbe } from "#dataplane/host/probes/dns-probe.ts";
import { NameLookup } from "#dataplane/host/resolver/name-lookup.ts";
import type { NameResult, ResolverOwner } from "#dataplane/host/resolver/name-result.ts";
import { parseIdentification } from "#dataplane/host/services/identification-server.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Cell } from "./cell.ts";
import type { CellAttempt } from "../observation.ts";
import { type SourcePorts, SweepPorts } from "./source-ports.ts";

/** Attempts of `same`. */
const SAME_ATTEMPTS = 8;
/** So unlikely that it never happens: a back end that is left out by chance, e to the minus this. */
const LEFT_OUT_EXPONENT = 14;
/** What a cell needs of the lane it runs in; the lane goes on when it is run. */
export interface CellLane extends Task {
  readonly sourcePorts: SourcePorts;
}

function attemptOf(result: ProbeResult, sourcePort: number | undefined): CellAttempt {
  if (result.outcome !== "answered")
    return {
      outcome: result.outcome,
      answeredBy: undefined,
      seen: undefined,
      detail: result.detail,
      sourcePort,
    };
  const identification = parseIdentification(result.answer);
  return {
    outcome: "answered",
    answeredBy: identification?.name,
    seen: identification === undefined ? undefined : formatIp(identification.clientIp),
    detail: result.answer.trim(),
    sourcePort,
  };
}

/**
 * How often a sweep tries before a back end counts as missing: once for each place of the list, and where that was another
 * list, the coupon collector's number and a margin.
 */
export function sweepAttemptsMax(backEnds: number): number {
  return Math.ceil(backEnds * (Math.log(Math.max(1, backEnds)) + LEFT_OUT_EXPONENT + 1));
}

/** About how many attempts a cell will take when all is well: what a copy of the cluster will have to remember. */
export function attemptsExpected({ probe, target, among }: Cell): number {
  const backEnds = target.answerers?.length ?? 0;
  switch (probe) {
    case "once":
    case "state":
      return 1;
    case "later":
      return 2;
    case "same":
      return SAME_ATTEMPTS;
    case "sweep":
      return backEnds;
    case "own":
      return Math.ceil(among / 2);
  }
}

/** True when a cell needs no further attempt; `answered` are those who answered so far. */
function isDone(cell: Cell, attempts: readonly CellAttempt[], answered: ReadonlySet<string>): boolean {
  const { answerers = [] } = cell.target;
  const last = attempts.at(-1);
  switch (cell.probe) {
    case "once":
    case "state":
      return attempts.length > 0;
    case "later":
      return attempts.length > 1;
    case "same":
      return attempts.length >= SAME_ATTEMPTS;
    case "sweep":
      // A Service that does not answer at all is not asked again and again.
      if (last !== undefined && last.outcome !== "answered") return true;
      if (answered.size >= answerers.length && answerers.every((name) => answered.has(name))) return true;
      return attempts.length >= sweepAttemptsMax(answerers.length);
    case "own": {
      const [own] = answerers;
      const isEnd = last !== undefined && (last.outcome !== "answered" || last.answeredBy === own);
      return isEnd || attempts.length >= sweepAttemptsMax(cell.among);
    }
  }
}

/** One cell at work: a name is resolved first, as a program does, then the address is asked. */
export class CellRun implements ProbeOwner, ResolverOwner<NameLookup>, Task {
  readonly attempts: CellAttempt[] = [];
  private readonly answered = new Set<string>();
  private readonly cell: Cell;
  private readonly lane: CellLane;
  private readonly compartment: Compartment;
  private sourcePort: number | undefined;
  private sweepPorts: SweepPorts | undefined;
  private resolvedIp: Ip | undefined;

  constructor(cell: Cell, lane: CellLane, compartment: Compartment) {
    this.cell = cell;
    this.lane = lane;
    this.compartment = compartment;
  }

  /** Begins an attempt. */
  run(): void {
    const { address, name } = this.cell.target;
    if (name === undefined) this.ask(defined(address, "a cell without an address has a name"));
    else new NameLookup({ compartment: this.compartment, name, owner: this }).start();
  }

  resolved(_lookup: NameLookup, result: NameResult): void {
    if (result.outcome === "failed") {
      const { code, detail } = result;
      this.end({ ...NO_ANSWER, outcome: "name-not-found", code, detail });
      return;
    }
    const { address } = this.cell.target;
    const [first] = result.addresses;
    const isRight = address === undefined || result.addresses.includes(address);
    const destination = address ?? first;
    this.resolvedIp = destination;
    if (isRight && destination !== undefined) this.ask(destination);
    else
      this.end({
        ...NO_ANSWER,
        outcome: "name-wrong",
        detail: `the name leads to ${result.addresses.map(formatIp).join(", ")}`,
      });
  }

  probeEnded(probe: Probe): void {
    const seen = attemptOf(defined(probe.result, "an ended probe has a result"), this.sourcePort);
    const { address, question } = this.cell.target;
    // The DNS server has an address of its own under the name that it is asked for.
    const isWrong =
      seen.outcome === "answered" &&
      question !== undefined &&
      address !== undefined &&
      !seen.detail.endsWith(` ${formatIp(address)}`);
    const attempt: CellAttempt = isWrong ? { ...seen, outcome: "name-wrong" } : seen;
    this.end(this.resolvedIp === undefined ? attempt : { ...attempt, resolved: this.resolvedIp });
  }

  private ask(destination: Ip): void {
    const { protocol, target } = this.cell;
    const { compartment } = this;
    this.sourcePort = this.chooseSourcePort(destination);
    const common = { compartment, destination, owner: this };
    const ports = {
      port: target.port,
      ...(this.sourcePort === undefined ? {} : { sourcePort: this.sourcePort }),
    };
    makeProbe(protocol, common, ports, target.question).start();
  }

  /** Undefined: the system chooses. */
  private chooseSourcePort(destination: Ip): number | undefined {
    const { protocol, source, probe, target, among } = this.cell;
    if (probe === "once" || protocol === "icmp") return undefined;
    const { sourcePorts } = this.lane;
    const isSwept = probe === "sweep" || probe === "own";
    if (!isSwept || source === undefined) return sourcePorts.next();
    const ends = { protocol, source: source.address, destination, port: target.port };
    const backEnds = probe === "own" ? among : (target.answerers?.length ?? 0);
    this.sweepPorts ??= new SweepPorts(sourcePorts, ends, backEnds);
    return this.sweepPorts.next();
  }

  private end(attempt: CellAttempt): void {
    this.attempts.push(attempt);
    if (attempt.answeredBy !== undefined) this.answered.add(attempt.answeredBy);
    const { clock } = this.compartment.env;
    if (isDone(this.cell, this.attempts, this.answered)) clock.schedule(0, this.lane);
    else clock.schedule(this.cell.waitS * 1_000, this);
  }
}

const NO_ANSWER = { answeredBy: undefined, seen: undefined, sourcePort: undefined } as const;

function makeProbe(
  protocol: Cell["protocol"],
  common: { readonly compartment: Compartment; readonly destination: Ip; readonly owner: ProbeOwner },
  ports: { readonly port: number; readonly sourcePort?: number },
  question: string | undefined,
): TcpProbe | UdpProbe | EchoProbe {
  const asked = question === undefined ? undefined : { ...common, ...ports, name: question };
  switch (protocol) {
    case "tcp":
      return asked === undefined ? new TcpProbe({ ...common, ...ports }) : new DnsTcpProbe(asked);
    case "udp":
      return asked === undefined ? new UdpProbe({ ...common, ...ports }) : new DnsProbe(asked);
    case "icmp":
      return new EchoProbe(common);
  }
}
