/**
 * The cells of a verification in batches, by the machines that they reach: whoever tries a batch raises and copies its machines,
 * so those of one batch are to have as many in common as they can, and those of two as few.
 */
import { defined } from "#core/base/assert.ts";
import type { Cell } from "./cells/cell.ts";
import { CellMachines } from "./cells/cell-machines.ts";
import { attemptsExpected } from "./cells/cell-run.ts";
import { nodeOf } from "./facts.ts";
import type { VerifyModel } from "./model.ts";

/** Attempts of one batch: a copy of the cluster is made for each, and remembers each connection, some 12 KB of it. */
const BATCH_ATTEMPTS_MIN = 100;
const BATCH_ATTEMPTS_MAX = 20_000;
/** To copy a pod with what belongs to it takes as long as a third of an attempt, and is to cost a tenth of the whole. */
const BATCH_ATTEMPTS_PER_POD = 3;
/** Smaller ones would only be more copies: attempts for each pod of the cluster. */
const PART_ATTEMPTS_PER_POD = 0.5;
/** Machines that two parts need, against those of both together: up to here it is worth while that each can be tried apart. */
const PART_MACHINES_MAX = 1.3;

/** What is programmed for a pod on another machine than its own takes as long as this part of an attempt. */
const ATTEMPTS_PER_REMOTE_POD = 1 / 30;

/** Cells that are tried in one copy, with nobody else in it. */
export interface CellBatch {
  /** Positions in the cells of the plan, in their order. */
  readonly positions: readonly number[];
  /** Which part of the time of all batches it takes, about: that in which machines come up included. */
  readonly work: number;
}

/** Cells that go together: those that a node is asked in, or that stay on it. */
interface Home {
  readonly positions: number[];
  attempts: number;
  /** All that they reach, by name. */
  readonly machines: Set<string>;
}

/** True for a cell that somebody sends for. */
export function isTried(cell: Cell): boolean {
  if (cell.expected.outcome === "not-applicable" || cell.source === undefined || cell.probe === "state")
    return false;
  return cell.target.address !== undefined || cell.target.name !== undefined;
}

/** Homes in two parts. Those of the first are taken so that each next one adds the fewest machines to those of the ones before. */
class Halves {
  private readonly homes: readonly Home[];
  /** By home: how many of its machines the first part does not have; -1 for a home of that part. */
  private readonly missing: number[];
  /** By machine: homes that need it, as numbers, and how many of them are not in the first part. */
  private readonly needs = new Map<string, { readonly homes: number[]; left: number }>();
  /** Machines of the first part. */
  private readonly machines = new Set<string>();
  private restMachines: number;
  private attempts = 0;
  private restAttempts: number;

  constructor(homes: readonly Home[]) {
    this.homes = homes;
    this.missing = homes.map(({ machines }) => machines.size);
    for (const [index, { machines }] of homes.entries())
      for (const machine of machines) {
        const known = this.needs.get(machine) ?? { homes: [], left: 0 };
        this.needs.set(machine, known);
        known.homes.push(index);
        known.left++;
      }
    this.restMachines = this.needs.size;
    this.restAttempts = attemptsOf(homes);
  }

  /** Two parts that take as long as each other. `perMachine`: attempts in the time that a machine takes to come up. */
  split(perMachine: number): readonly [readonly Home[], readonly Home[]] {
    const first: Home[] = [];
    const isShort = (): boolean =>
      this.attempts + perMachine * this.machines.size < this.restAttempts + perMachine * this.restMachines;
    while (first.length < this.homes.length - 1 && (first.length === 0 || isShort()))
      first.push(this.take(this.next()));
    return [first, this.homes.filter((_, index) => (this.missing[index] ?? -1) >= 0)];
  }

  private next(): number {
    let [best, fewest] = [-1, Number.POSITIVE_INFINITY];
    for (const [index, missing] of this.missing.entries())
      if (missing >= 0 && missing < fewest) [best, fewest] = [index, missing];
    return best;
  }

  private take(index: number): Home {
    const home = defined(this.homes[index], "a home that is next is there");
    this.missing[index] = -1;
    this.attempts += home.attempts;
    this.restAttempts -= home.attempts;
    for (const machine of home.machines) {
      const need = defined(this.needs.get(machine), "machines of homes are known");
      need.left--;
      if (need.left === 0) this.restMachines--;
      if (this.machines.has(machine)) continue;
      this.machines.add(machine);
      for (const other of need.homes) {
        const missing = this.missing[other] ?? -1;
        if (missing > 0) this.missing[other] = missing - 1;
      }
    }
    return home;
  }
}

function attemptsOf(homes: readonly Home[]): number {
  return homes.reduce((sum, { attempts }) => sum + attempts, 0);
}

function machinesOf(homes: readonly Home[]): ReadonlySet<string> {
  return new Set(homes.flatMap(({ machines }) => [...machines]));
}

/** Makes batches of homes. */
class BatchMaker {
  readonly batches: CellBatch[] = [];
  private readonly cells: readonly Cell[];
  private readonly podsOn = new Map<string, number>();
  private readonly perMachine: number;
  private readonly attemptsMin: number;

  constructor(cells: readonly Cell[], { pods }: VerifyModel) {
    this.cells = cells;
    this.perMachine = pods.length * ATTEMPTS_PER_REMOTE_POD;
    this.attemptsMin = Math.max(BATCH_ATTEMPTS_MIN, pods.length * PART_ATTEMPTS_PER_POD);
    for (const { node } of pods) this.podsOn.set(node.name, (this.podsOn.get(node.name) ?? 0) + 1);
  }

  /** Parts that have the most in common are next to each other. `work`: see `CellBatch`. */
  make(homes: readonly Home[], work: number): void {
    const attempts = attemptsOf(homes);
    const machines = machinesOf(homes);
    const most = this.attemptsMax(machines);
    const parts = homes.length > 1 ? new Halves(homes).split(this.perMachine) : [];
    if (parts.length > 1 && (attempts > most || this.areApart(parts, machines))) {
      const works = parts.map((part) => attemptsOf(part) + this.perMachine * machinesOf(part).size);
      const total = works.reduce((sum, each) => sum + each, 0);
      for (const [index, part] of parts.entries()) this.make(part, (work * (works[index] ?? 0)) / total);
      return;
    }
    const positions = homes.flatMap((home) => home.positions);
    // A Service without back ends counts for nothing.
    for (const part of this.cut(positions, most))
      this.add(part, (work * this.sumOf(part)) / Math.max(1, attempts));
  }

  private areApart(parts: readonly (readonly Home[])[], machines: ReadonlySet<string>): boolean {
    const together = parts.reduce((sum, part) => sum + machinesOf(part).size, 0);
    const isLarge = parts.every((part) => attemptsOf(part) > this.attemptsMin);
    return isLarge && together <= PART_MACHINES_MAX * machines.size;
  }

  add(positions: readonly number[], work: number): void {
    if (positions.length > 0) this.batches.push({ positions: positions.toSorted((a, b) => a - b), work });
  }

  private sumOf(positions: readonly number[]): number {
    return positions.reduce((sum, position) => sum + this.attemptsAt(position), 0);
  }

  /** Cells of one home may be more than one copy is for. */
  private cut(positions: readonly number[], most: number): readonly (readonly number[])[] {
    const parts: number[][] = [];
    let room = 0;
    for (const position of positions) {
      const attempts = this.attemptsAt(position);
      const last = parts.at(-1);
      if (last !== undefined && attempts <= room) last.push(position);
      else {
        parts.push([position]);
        room = most;
      }
      room -= attempts;
    }
    return parts;
  }

  /** As many as a copy of the machines is made for. */
  private attemptsMax(machines: ReadonlySet<string>): number {
    const pods = [...machines].reduce((sum, machine) => sum + (this.podsOn.get(machine) ?? 0), 0);
    return Math.min(BATCH_ATTEMPTS_MAX, Math.max(BATCH_ATTEMPTS_MIN, pods * BATCH_ATTEMPTS_PER_POD));
  }

  private attemptsAt(position: number): number {
    return attemptsExpected(cellAt(this.cells, position));
  }
}

function cellAt(cells: readonly Cell[], position: number): Cell {
  return defined(cells[position], "a batch is of cells of the plan");
}

/** In the order of the nodes; last what reaches none. */
function homesOf(cells: readonly Cell[], model: VerifyModel, tried: readonly number[]): readonly Home[] {
  const reach = new CellMachines(model);
  const order = new Map(model.nodes.map(({ name }, index) => [name, index]));
  const homes = new Map<string, Home>();
  for (const position of tried) {
    const cell = cellAt(cells, position);
    const machines = [...new Set(reach.ownOf(cell))];
    const sender = cell.source === undefined ? undefined : nodeOf(cell.source)?.name;
    // Who is asked: one pod of a class asks all, and comes up wherever somebody is asked by it.
    const name = machines.find((each) => each !== sender) ?? sender ?? "";
    let home = homes.get(name);
    if (home === undefined) homes.set(name, (home = { positions: [], attempts: 0, machines: new Set() }));
    home.positions.push(position);
    home.attempts += attemptsExpected(cell);
    for (const machine of machines) home.machines.add(machine);
  }
  const place = (name: string): number => order.get(name) ?? order.size;
  return [...homes].toSorted(([a], [b]) => place(a) - place(b)).map(([, home]) => home);
}

/**
 * As many cells at a time as a copy is made for; first those that nobody sends for, in a batch that needs no copy. What comes of a
 * cell may depend on what others in the same copy have sent before; so batches follow from the cells alone. Batches that are near
 * each other in the list have more machines in common than others. `asked`: positions of those that batches are made of; default all.
 */
export function batchesOf(
  cells: readonly Cell[],
  model: VerifyModel,
  asked: readonly number[] = [...cells.keys()],
): readonly CellBatch[] {
  const maker = new BatchMaker(cells, model);
  const isTriedAt = (position: number): boolean => isTried(cellAt(cells, position));
  maker.add(
    asked.filter((position) => !isTriedAt(position)),
    0,
  );
  const homes = homesOf(cells, model, asked.filter(isTriedAt));
  if (homes.length > 0) maker.make(homes, 1);
  return maker.batches;
}
