/** A heat map: who asks down, who is asked across, a tile of squares for each pair that asked. */
import { useRef } from "preact/hooks";
import { kindOf, shortName } from "./document.ts";
import type { Tone } from "./parts.tsx";

/** How a cell came out, for the eye. */
export type CellState = "works" | "denied" | "finding" | "not-judged" | "not-applicable" | "not-tried";

export const STATES: Readonly<
  Record<CellState, { readonly mark: string; readonly text: string; readonly tone: Tone }>
> = {
  finding: { mark: "✕", text: "finding: not as documented", tone: "bad" },
  works: { mark: "", text: "works, as documented", tone: "good" },
  denied: { mark: "−", text: "denied, as documented", tone: "denied" },
  "not-judged": { mark: "?", text: "not judged", tone: "warn" },
  "not-applicable": { mark: "·", text: "does not apply", tone: "faint" },
  "not-tried": { mark: "", text: "not tried", tone: "faint" },
};

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

const KINDS: readonly string[] = ["pod", "node", "service", "outside"];

function byKind(a: string, b: string): number {
  return KINDS.indexOf(kindOf(a)) - KINDS.indexOf(kindOf(b)) || a.localeCompare(b);
}

export function keyOf(from: string, to: string): string {
  return `${from} ${to}`;
}

/** Puts items into tiles by their ends. */
export function gridOf<T>(
  items: readonly T[],
  endsOf: (item: T) => readonly [from: string, to: string],
): Grid<T> {
  const tiles = new Map<string, { from: string; to: string; items: T[] }>();
  for (const item of items) {
    const [from, to] = endsOf(item);
    const key = keyOf(from, to);
    const tile = tiles.get(key) ?? { from, to, items: [] };
    tile.items.push(item);
    tiles.set(key, tile);
  }
  const all = [...tiles.values()];
  return {
    rows: [...new Set(all.map(({ from }) => from))].sort(byKind),
    columns: [...new Set(all.map(({ to }) => to))].sort(byKind),
    tiles,
  };
}

function AxisName({ name, note }: { readonly name: string; readonly note: string }) {
  return (
    <span class="end" title={name}>
      <b>{shortName(name)}</b>
      <i>{note}</i>
    </span>
  );
}

/** How a map draws its items. */
export interface HeatMapProps<T> {
  readonly grid: Grid<T>;
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
  /** The squares of an item: one, or one for each side of a comparison. */
  readonly statesOf: (item: T) => readonly CellState[];
  /** What stands below a name. */
  readonly noteOf: (name: string) => string;
  /** What the tile says to those who do not see it. */
  readonly describe: (tile: Tile<T>) => string;
}

function TileButton<T>({
  tile,
  isChosen,
  onChoose,
  map: { statesOf, describe },
}: {
  readonly tile: Tile<T>;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly map: HeatMapProps<T>;
}) {
  const text = describe(tile);
  const states = tile.items.map(statesOf);
  return (
    <button
      type="button"
      class={`tile ${states.some((each) => each.at(-1) === "finding") ? "glows" : ""}`}
      aria-label={text}
      aria-pressed={isChosen}
      title={text}
      onClick={onChoose}
    >
      {states.map((sides) => {
        const squares = sides.map((state) => (
          <span class={`square ${state}`} aria-hidden="true">
            {STATES[state].mark}
          </span>
        ));
        return sides.length === 1 ? squares : <span class="sides">{squares}</span>;
      })}
    </button>
  );
}

const STEPS: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Arrow keys go to the next tile in that direction, over what is empty. */
function moveFocus(
  event: KeyboardEvent,
  { rows, columns, tiles }: Grid<unknown>,
  table: HTMLElement | null,
): void {
  const step = STEPS[event.key];
  const at = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
  if (step === undefined || at === null || table === null) return;
  event.preventDefault();
  let [row, column] = [Number(at.dataset["row"]) + step[0], Number(at.dataset["column"]) + step[1]];
  while (rows[row] !== undefined && columns[column] !== undefined) {
    if (tiles.has(keyOf(rows[row] ?? "", columns[column] ?? ""))) {
      table.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"] button`)?.focus();
      return;
    }
    row += step[0];
    column += step[1];
  }
}

export function HeatMap<T>(map: HeatMapProps<T>) {
  const table = useRef<HTMLTableElement>(null);
  const { grid, chosen, onChoose, noteOf } = map;
  const { rows, columns, tiles } = grid;
  return (
    <div class="heat" tabIndex={0} role="region" aria-label="Matrix of flows">
      <table ref={table} onKeyDown={(event) => moveFocus(event, grid, table.current)}>
        <thead>
          <tr>
            <td class="corner">from ↓ to →</td>
            {columns.map((name) => (
              <th scope="col">
                <AxisName name={name} note={noteOf(name)} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((from, row) => (
            <tr>
              <th scope="row">
                <AxisName name={from} note={noteOf(from)} />
              </th>
              {columns.map((to, column) => {
                const key = keyOf(from, to);
                const tile = tiles.get(key);
                return (
                  <td data-row={row} data-column={column}>
                    {tile === undefined ? null : (
                      <TileButton
                        tile={tile}
                        isChosen={key === chosen}
                        onChoose={() => onChoose(key)}
                        map={map}
                      />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      {Object.entries(STATES).map(([state, { mark, text }]) => (
        <li>
          <span class={`square ${state}`} aria-hidden="true">
            {mark}
          </span>
          {text}
        </li>
      ))}
    </ul>
  );
}
