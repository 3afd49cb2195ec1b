/**
 * Tries cells in a copy of the cluster: one after the other from each sender, all senders at the same time. Time is
 * virtual, so a thousand connections that wait cost no more than one.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { defined } from "#core/base/assert.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Cluster } from "../cluster.ts";
import type { Cell } from "./cells/cell.ts";
import { type CellLane, CellRun } from "./cells/cell-run.ts";
import { SourcePorts } from "./cells/source-ports.ts";
import { nodeOf } from "./facts.ts";
import type { Observation } from "./observation.ts";
import { compartmentOf } from "./stage.ts";

/** Senders that are at work at the same time: more only make the clock's heap larger. */
const LANES_MAX = 256;

/** Steps of the clock between two pauses: some hundredths of a second. */
const STEPS_PER_PAUSE = 500;

/** The cells of one sender, one after the other. */
class Lane implements CellLane {
  private readonly work: readonly Cell[];
  private readonly compartment: Compartment;
  private readonly observer: Observer;
  private next = 0;
  private running: CellRun | undefined;
  readonly sourcePorts: SourcePorts = new SourcePorts();

  constructor(work: readonly Cell[], compartment: Compartment, observer: Observer) {
    this.work = work;
    this.compartment = compartment;
    this.observer = observer;
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

  constructor(cluster: Cluster, cells: readonly Cell[]) {
    const bySender = new Map<Compartment, Cell[]>();
    for (const cell of cells) {
      const source = defined(cell.source, "a cell that is tried has a sender");
      const node = nodeOf(source);
      if (node !== undefined) cluster.part?.require(node.name);
      const sender = compartmentOf(cluster, source);
      addToList(bySender, sender, cell);
    }
    this.waiting = [...bySender].map(([compartment, work]) => new Lane(work, compartment, this)).toReversed();
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
  }

  private open(): void {
    this.openLanes++;
    this.waiting.pop()?.run();
  }
}

/** Tries every cell in `cluster`, which is a copy that nobody needs afterwards. Pauses with the number of those done. */
export function* observeCells(
  cluster: Cluster,
  cells: readonly Cell[],
): Generator<number, ReadonlyMap<string, Observation>, undefined> {
  const observer = new Observer(cluster, cells);
  observer.start();
  for (let steps = 1; !observer.isDone && cluster.clock.step(); steps++)
    if (steps % STEPS_PER_PAUSE === 0) yield observer.observations.size;
  return observer.observations;
}
