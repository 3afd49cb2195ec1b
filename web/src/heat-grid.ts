/** Items of a heat map in tiles: who asks down, who is asked across. */
import { kindOf } from "./document.ts";

/** Squares of one pair. */
export interface Tile<T> {
  readonly from: string;
  readonly to: string;
  readonly items: readonly T[];
}

export interface Grid<T> {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly tiles: ReadonlyMap<string, Tile<T>>;
}

/** Items with their places among all names, so that a filter neither sorts names nor joins them. */
export interface GridIndex<T> {
  readonly items: readonly T[];
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** Of each item: its place in the rows and the columns, and the key of its tile. */
  readonly rowOf: Uint32Array;
  readonly columnOf: Uint32Array;
  readonly keys: readonly string[];
}

const KINDS: readonly string[] = ["pod", "node", "service", "outside"];

/** Pods, nodes, Services, the others; each by name, as a computer sorts: a hundred thousand are not compared as people do. */
function sorted(names: ReadonlySet<string>): readonly string[] {
  const byKind = Map.groupBy(names, (name) => KINDS.indexOf(kindOf(name)));
  return [...byKind].sort(([kind], [other]) => kind - other).flatMap(([, each]) => each.sort());
}

function placesOf(names: readonly string[], items: readonly string[]): Uint32Array {
  const places = new Map(names.map((name, place) => [name, place]));
  return Uint32Array.from(items, (name) => places.get(name) ?? 0);
}

export function keyOf(from: string, to: string): string {
  return `${from} ${to}`;
}

export function indexGrid<T>(
  items: readonly T[],
  endsOf: (item: T) => readonly [from: string, to: string],
): GridIndex<T> {
  const ends = items.map(endsOf);
  const [froms, tos] = [ends.map(([from]) => from), ends.map(([, to]) => to)];
  const [rows, columns] = [sorted(new Set(froms)), sorted(new Set(tos))];
  return {
    items,
    rows,
    columns,
    rowOf: placesOf(rows, froms),
    columnOf: placesOf(columns, tos),
    keys: ends.map(([from, to]) => keyOf(from, to)),
  };
}

/** Those names that are used, in their order. */
function used(names: readonly string[], isUsed: Uint8Array): readonly string[] {
  return names.filter((_, place) => isUsed[place] === 1);
}

/** Puts the items that pass into tiles. */
export function gridOf<T>(index: GridIndex<T>, passes: (item: T) => boolean = () => true): Grid<T> {
  const { items, rows, columns, rowOf, columnOf, keys } = index;
  const tiles = new Map<string, { from: string; to: string; items: T[] }>();
  const [usedRows, usedColumns] = [new Uint8Array(rows.length), new Uint8Array(columns.length)];
  for (const [at, item] of items.entries()) {
    if (!passes(item)) continue;
    const [key = "", row = 0, column = 0] = [keys[at], rowOf[at], columnOf[at]];
    const tile = tiles.get(key);
    if (tile === undefined) {
      tiles.set(key, { from: rows[row] ?? "", to: columns[column] ?? "", items: [item] });
      usedRows[row] = 1;
      usedColumns[column] = 1;
    } else tile.items.push(item);
  }
  return { rows: used(rows, usedRows), columns: used(columns, usedColumns), tiles };
}

export interface Place {
  readonly row: number;
  readonly column: number;
}

const STEPS: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Where an arrow key leads to: the next tile in that direction, over what is empty. Undefined: the key is another one. */
export function nextTile(
  { rows, columns, tiles }: Grid<unknown>,
  at: Place,
  key: string,
): Place | "none" | undefined {
  const step = STEPS[key];
  if (step === undefined) return undefined;
  let [row, column] = [at.row + step[0], at.column + step[1]];
  for (;;) {
    const [from, to] = [rows[row], columns[column]];
    if (from === undefined || to === undefined) return "none";
    if (tiles.has(keyOf(from, to))) return { row, column };
    row += step[0];
    column += step[1];
  }
}
