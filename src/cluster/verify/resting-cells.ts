/**
 * Cells that rest on another one: between nodes of the same classes, in the same places, so that a renaming which changes
 * nothing else makes the one of the other. The first of them in the order of the plan is tried.
 */
import { Digest } from "#core/base/state-digest.ts";
import type { Cluster } from "../cluster.ts";
import { EqualPlaces } from "../classes/equal-places.ts";
import type { ComparisonPlan } from "../classes/node-classes.ts";
import type { Cell } from "./cells/cell.ts";
import { nodeOf } from "./facts.ts";
import type { VerifyModel, VerifySender } from "./model.ts";
import type { CellLimit } from "./report.ts";

export interface RestsOn {
  /** The position of the cell that is tried. */
  readonly cell: number;
  /** `compared`: the machines of all nodes of this cell are made by their own programs, and compared whole. */
  readonly how: "compared" | "taken-over";
}

/** A class of nodes of which cells rest on others. */
export interface RestingClass {
  /** Of what all its nodes have in common, and of which nodes it is made. */
  readonly digest: string;
  readonly nodes: number;
  /** Cells that are tried for others, by whoever tries them: positions. */
  readonly tried: ReadonlySet<number>;
}

export interface RestingCells {
  readonly on: ReadonlyMap<number, RestsOn>;
  readonly classes: readonly RestingClass[];
}

export const NONE_REST: RestingCells = Object.freeze({ on: new Map<never, never>(), classes: [] });

/** Where nothing but the ends decides, and a port that no rule asks for. What a name leads to is chosen among servers. */
const BY_ENDS: ReadonlySet<Cell["flow"]> = new Set([
  "pod-to-pod-ip",
  "pod-to-node",
  "node-to-pod",
  "pod-to-external-ip",
]);

/** Where a hash or chance chooses a back end: all of them have to be tried by an equal client. */
const BY_CHOICE: Cell["flow"] = "pod-to-cluster-ip";

interface RestingInput {
  readonly cluster: Cluster;
  readonly model: VerifyModel;
  readonly cells: readonly Cell[];
  readonly limitsOf: (cell: Cell) => readonly CellLimit[];
  readonly comparisons: ComparisonPlan;
  /** Names of nodes on which something did not come up. */
  readonly apart: ReadonlySet<string>;
}

/** What cells have in common that are one under a renaming. */
class CommonTexts {
  private readonly places: EqualPlaces;
  private readonly byReference = new Map<string, VerifySender>();

  constructor({ cluster, model, comparisons, apart }: RestingInput) {
    this.places = new EqualPlaces(cluster, comparisons.classes, apart);
    for (const each of [...model.nodes, ...model.pods]) this.byReference.set(each.reference, each);
  }

  members(): ReadonlyMap<number, readonly string[]> {
    return this.places.members();
  }

  classOf(node: string): number | undefined {
    return this.places.classOf(node);
  }

  /** Names of the nodes at both ends; empty where the cell rests on none. */
  nodesOf({ source, target }: Cell): readonly string[] {
    const ends = [source, this.byReference.get(target.reference)];
    return ends.flatMap((each) => (each === undefined ? [] : (nodeOf(each)?.name ?? [])));
  }

  /** Undefined: the cell is tried whatever others are. */
  of(cell: Cell, limits: readonly CellLimit[]): string | undefined {
    const { source, target, flow } = cell;
    if (source === undefined || target.name !== undefined || target.question !== undefined) return undefined;
    const isChosen = flow === BY_CHOICE;
    if (!(isChosen || (BY_ENDS.has(flow) && cell.probe === "once")) || cell.family === 6) return undefined;
    const from = this.endOf(source);
    const receiver = this.byReference.get(target.reference);
    const to = receiver === undefined ? target.reference : this.endOf(receiver);
    if (from === undefined || to === undefined || this.classOf(nodeOf(source)?.name ?? "") === undefined)
      return undefined;
    const isOneNode = receiver !== undefined && nodeOf(receiver) === nodeOf(source);
    const question = [flow, cell.protocol, from, to, isOneNode, target.port, cell.relation];
    const { row, expected, page, because = "", sourceOs, targetOs } = cell;
    return JSON.stringify([question, row, expected, page, because, sourceOs, targetOs, limits]);
  }

  private endOf(end: VerifySender): string | undefined {
    if (end.kind === "outside") return end.reference;
    const number = this.classOf(nodeOf(end)?.name ?? "");
    if (number === undefined) return undefined;
    if (end.kind === "node") return `node ${number}`;
    // Policies of its own may look at ports that a system chooses.
    if (end.hasOwnPolicies || end.hasTwin) return undefined;
    const place = this.places.placeOf(end.index);
    return place === undefined ? undefined : `pod ${number} ${place}`;
  }
}

/** Positions of cells by what they have in common with others, swept ones apart. */
function sortCells(
  { cells, limitsOf }: RestingInput,
  tried: ReadonlySet<Cell>,
  texts: CommonTexts,
): ReadonlyMap<string, { readonly once: number[]; swept: number | undefined }> {
  const sorted = new Map<string, { once: number[]; swept: number | undefined }>();
  for (const [position, cell] of cells.entries()) {
    if (!tried.has(cell)) continue;
    const text = texts.of(cell, limitsOf(cell));
    if (text === undefined) continue;
    const known = sorted.get(text) ?? { once: [], swept: undefined };
    if (cell.probe === "sweep") known.swept ??= position;
    else if (cell.probe === "once") known.once.push(position);
    sorted.set(text, known);
  }
  return sorted;
}

/** Which cells rest on which, in clusters of so many equal nodes that it is worth to compare machines for it. */
export function restingCells(input: RestingInput, tried: ReadonlySet<Cell>): RestingCells {
  if (!input.comparisons.mayRest) return NONE_REST;
  const texts = new CommonTexts(input);
  const { chosen } = input.comparisons;
  const compared = new Set(chosen.flatMap(({ member, like }) => [member.node.spec.name, like.spec.name]));
  const on = new Map<number, RestsOn>();
  const triedFor = new Map<number, Set<number>>();
  for (const { once, swept } of sortCells(input, tried, texts).values()) {
    const [first = -1] = once;
    const isChosen = input.cells[first]?.flow === BY_CHOICE;
    if (isChosen && swept === undefined) continue;
    const stands = isChosen ? (swept ?? first) : first;
    for (const position of once) {
      const cell = input.cells[position];
      if (position === stands || cell === undefined) continue;
      const nodes = texts.nodesOf(cell);
      const isCompared = nodes.every((node) => compared.has(node));
      on.set(position, { cell: stands, how: isCompared ? "compared" : "taken-over" });
      for (const node of nodes) {
        const number = texts.classOf(node) ?? -1;
        triedFor.set(number, (triedFor.get(number) ?? new Set()).add(stands));
      }
    }
  }
  const classes = [...texts.members()].flatMap(([number, nodes]): readonly RestingClass[] => {
    const own = triedFor.get(number);
    return own === undefined ? [] : [{ digest: digestOf(nodes, own), nodes: nodes.length, tried: own }];
  });
  return { on, classes };
}

function digestOf(nodes: readonly string[], tried: ReadonlySet<number>): string {
  const digest = new Digest();
  for (const node of nodes) digest.addText(node);
  for (const position of tried) digest.addInteger(position);
  return digest.text;
}
