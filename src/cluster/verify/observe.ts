/**
 * Tries cells in a copy of the cluster: one after the other from each sender, all senders at the same time. Time is
 * virtual, so a thousand connections that wait cost no more than one.
 */
import { defined } from "../../base/assert.ts";
import type { Task } from "../../base/clock.ts";
import type { Compartment } from "../../host/compartment.ts";
import type { Probe, ProbeOwner, ProbeResult } from "../../host/probe-result.ts";
import { EchoProbe, TcpProbe, UdpProbe } from "../../host/probe.ts";
import { NameLookup } from "../../host/resolver/name-lookup.ts";
import type { NameResult, ResolverOwner } from "../../host/resolver/name-result.ts";
import { parseIdentification } from "../../host/services/identification.ts";
import { type Ip, formatIp } from "../../net/ip.ts";
import type { Cluster } from "../cluster.ts";
import type { Cell } from "./cell.ts";
import type { Attempt, Observation } from "./observation.ts";
import { compartmentOf } from "./stage.ts";

/** Senders that are at work at the same time: more only make the clock's heap larger. */
const LANES_MAX = 256;
/** Attempts of `same`. */
const SAME_ATTEMPTS = 8;
/** So unlikely that it never happens: a back end that is left out by chance, e to the minus this. */
const LEFT_OUT_EXPONENT = 14;
/** Ports of clients that the cell chooses itself count up from here: below every system's ephemeral range. */
const FIRST_SOURCE_PORT = 20_000;
const SOURCE_PORTS = 12_000;

/** Told of each cell that is done. */
export interface ObserveProgress {
  observed(done: number, total: number): void;
}

function attemptOf(result: ProbeResult, sourcePort: number | undefined): Attempt {
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

/** How often a sweep tries before a back end counts as missing: the coupon collector's number, and a margin. */
export function sweepAttemptsMax(backEnds: number): number {
  return Math.ceil(backEnds * (Math.log(Math.max(1, backEnds)) + LEFT_OUT_EXPONENT));
}

/** True when a cell needs no further attempt; `answered` are those who answered so far. */
function isDone(cell: Cell, attempts: readonly Attempt[], answered: ReadonlySet<string>): boolean {
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
class CellRun implements ProbeOwner, ResolverOwner<NameLookup>, Task {
  readonly attempts: Attempt[] = [];
  private readonly answered = new Set<string>();
  private readonly cell: Cell;
  private readonly lane: Lane;
  private readonly compartment: Compartment;
  private sourcePort: number | undefined;

  constructor(cell: Cell, lane: Lane, compartment: Compartment) {
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
    if (isRight && destination !== undefined) this.ask(destination);
    else
      this.end({
        ...NO_ANSWER,
        outcome: "name-wrong",
        detail: `the name leads to ${result.addresses.map(formatIp).join(", ")}`,
      });
  }

  probeEnded(probe: Probe): void {
    this.end(attemptOf(defined(probe.result, "an ended probe has a result"), this.sourcePort));
  }

  private ask(destination: Ip): void {
    const { protocol, target, probe } = this.cell;
    const { compartment } = this;
    this.sourcePort = probe === "once" || protocol === "icmp" ? undefined : this.lane.nextSourcePort();
    const common = { compartment, destination, owner: this };
    const ports = {
      port: target.port,
      ...(this.sourcePort === undefined ? {} : { sourcePort: this.sourcePort }),
    };
    makeProbe(protocol, common, ports).start();
  }

  private end(attempt: Attempt): void {
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
): TcpProbe | UdpProbe | EchoProbe {
  switch (protocol) {
    case "tcp":
      return new TcpProbe({ ...common, ...ports });
    case "udp":
      return new UdpProbe({ ...common, ...ports });
    case "icmp":
      return new EchoProbe(common);
  }
}

/** The cells of one sender, one after the other. */
class Lane implements Task {
  private readonly work: readonly Cell[];
  private readonly compartment: Compartment;
  private readonly observer: Observer;
  private next = 0;
  private running: CellRun | undefined;
  private sourcePorts = 0;

  constructor(work: readonly Cell[], compartment: Compartment, observer: Observer) {
    this.work = work;
    this.compartment = compartment;
    this.observer = observer;
  }

  /** Ports in turn, each but once as long as there are enough. */
  nextSourcePort(): number {
    return FIRST_SOURCE_PORT + (this.sourcePorts++ % SOURCE_PORTS);
  }

  /** Begins the next cell; called again when it is done. */
  run(): void {
    if (this.running !== undefined) {
      const cell = defined(this.work[this.next - 1], "what runs was begun");
      this.observer.cellDone(cell, { attempts: this.running.attempts });
      this.running = undefined;
    }
    const cell = this.work[this.next++];
    if (cell === undefined) {
      this.observer.laneDone();
      return;
    }
    this.running = new CellRun(cell, this, this.compartment);
    this.running.run();
  }
}

/** Keeps lanes at work and collects what they see. */
class Observer {
  readonly observations = new Map<string, Observation>();
  private readonly waiting: Lane[];
  private openLanes = 0;
  private readonly total: number;
  private readonly progress: ObserveProgress | undefined;

  constructor(cluster: Cluster, cells: readonly Cell[], progress: ObserveProgress | undefined) {
    const bySender = new Map<Compartment, Cell[]>();
    for (const cell of cells) {
      const sender = compartmentOf(cluster, defined(cell.source, "a cell that is tried has a sender"));
      const work = bySender.get(sender);
      if (work === undefined) bySender.set(sender, [cell]);
      else work.push(cell);
    }
    this.waiting = [...bySender].map(([compartment, work]) => new Lane(work, compartment, this)).toReversed();
    this.total = cells.length;
    this.progress = progress;
  }

  get isDone(): boolean {
    return this.openLanes === 0 && this.waiting.length === 0;
  }

  start(): void {
    while (this.openLanes < LANES_MAX && this.waiting.length > 0) this.open();
  }

  laneDone(): void {
    this.openLanes--;
    if (this.waiting.length > 0) this.open();
  }

  cellDone(cell: Cell, observation: Observation): void {
    this.observations.set(cell.id, observation);
    this.progress?.observed(this.observations.size, this.total);
  }

  private open(): void {
    this.openLanes++;
    this.waiting.pop()?.run();
  }
}

/** Tries every cell in `cluster`, which is a copy that nobody needs afterwards. */
export function observeCells(
  cluster: Cluster,
  cells: readonly Cell[],
  progress?: ObserveProgress,
): ReadonlyMap<string, Observation> {
  const observer = new Observer(cluster, cells, progress);
  observer.start();
  while (!observer.isDone && cluster.clock.step());
  return observer.observations;
}
