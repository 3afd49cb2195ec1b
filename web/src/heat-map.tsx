/** A heat map: who asks down, who is asked across, a tile of squares for each pair that asked. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { shortName } from "./document.ts";
import { type Grid, type Place, type Tile, keyOf, nextTile } from "./heat-grid.ts";
import { CELL, EVERYTHING, type Part, isLarge, partOf, scrollFor } from "./heat-part.ts";
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

/** A tile has a square for each item; of more it tells how many came out alike. */
const SQUARES_MAX = 24;
/** In a large map all rows are equally high. */
const SQUARES_OF_ROW_MAX = 12;

function Sides({ states }: { readonly states: readonly CellState[] }) {
  const squares = states.map((state) => (
    <span class={`square ${state}`} aria-hidden="true">
      {STATES[state].mark}
    </span>
  ));
  return squares.length === 1 ? <>{squares}</> : <span class="sides">{squares}</span>;
}

function Squares({
  items,
  most,
}: {
  readonly items: readonly (readonly CellState[])[];
  readonly most: number;
}) {
  if (items.length <= most)
    return (
      <>
        {items.map((states) => (
          <Sides states={states} />
        ))}
      </>
    );
  return (
    <>
      {[...Map.groupBy(items, (states) => states.join())].map(([key, [states = [], ...others]]) => (
        <span class="counted" key={key}>
          <Sides states={states} /> {others.length + 1}
        </span>
      ))}
    </>
  );
}

function TileButton<T>({
  tile,
  isChosen,
  isStop,
  most,
  map: { statesOf, describe, onChoose },
}: {
  readonly tile: Tile<T>;
  readonly isChosen: boolean;
  /** Tab leads here; to the others arrow keys do. */
  readonly isStop: boolean;
  readonly most: number;
  readonly map: HeatMapProps<T>;
}) {
  const [text, states] = useMemo(() => [describe(tile), tile.items.map(statesOf)] as const, [tile]);
  return (
    <button
      type="button"
      class={`tile ${states.some((each) => each.at(-1) === "finding") ? "glows" : ""}`}
      aria-label={text}
      aria-pressed={isChosen}
      tabIndex={isStop ? 0 : -1}
      title={text}
      onClick={() => onChoose(keyOf(tile.from, tile.to))}
    >
      <Squares items={states} most={most} />
    </button>
  );
}

/** What is left out beyond the part that is drawn. */
function Room({ cells, size }: { readonly cells: number; readonly size: number }) {
  return cells <= 0 ? null : <td class="room" style={{ width: `${cells * size}px` }} />;
}

function RowRoom({ cells }: { readonly cells: number }) {
  return (
    <tr aria-hidden="true">
      <td class="room" style={{ height: `${cells * CELL.height}px` }} />
    </tr>
  );
}

/** The part of the map that is drawn, and where Tab leads to in it. */
interface Drawn {
  readonly part: Part;
  readonly stop: string;
}

function HeadRow({
  names,
  noteOf,
  part,
}: { readonly names: readonly string[]; readonly part: Part } & Pick<HeatMapProps<unknown>, "noteOf">) {
  const { columns } = part;
  return (
    <tr>
      <td class="corner">from ↓ to →</td>
      <Room cells={columns.first} size={CELL.width} />
      {names.slice(columns.first, columns.end).map((name, index) => (
        <th scope="col" key={name} aria-colindex={columns.first + index + 2}>
          <AxisName name={name} note={noteOf(name)} />
        </th>
      ))}
      <Room cells={names.length - columns.end} size={CELL.width} />
    </tr>
  );
}

function Row<T>({
  row,
  map,
  drawn,
  most,
}: {
  readonly row: number;
  readonly map: HeatMapProps<T>;
  readonly drawn: Drawn;
  readonly most: number;
}) {
  const { grid, chosen, noteOf } = map;
  const { columns } = drawn.part;
  const from = grid.rows[row] ?? "";
  return (
    <tr aria-rowindex={row + 2}>
      <th scope="row">
        <AxisName name={from} note={noteOf(from)} />
      </th>
      <Room cells={columns.first} size={CELL.width} />
      {grid.columns.slice(columns.first, columns.end).map((to, index) => {
        const key = keyOf(from, to);
        const tile = grid.tiles.get(key);
        return (
          <td key={to} data-row={row} data-column={columns.first + index}>
            {tile === undefined ? null : (
              <TileButton
                tile={tile}
                isChosen={key === chosen}
                isStop={key === drawn.stop}
                most={most}
                map={map}
              />
            )}
          </td>
        );
      })}
      <Room cells={grid.columns.length - columns.end} size={CELL.width} />
    </tr>
  );
}

/** The tile that Tab leads to: the one that had the focus, the chosen one, or the first that is drawn. */
function stopOf({ rows, columns, tiles }: Grid<unknown>, part: Part, wanted: readonly string[]): string {
  let first: string | undefined;
  const drawn = new Set<string>();
  for (const from of rows.slice(part.rows.first, part.rows.end))
    for (const to of columns.slice(part.columns.first, part.columns.end)) {
      const key = keyOf(from, to);
      if (!tiles.has(key)) continue;
      first ??= key;
      drawn.add(key);
    }
  return wanted.find((key) => drawn.has(key)) ?? first ?? "";
}

/** Which part of a large map is drawn; it follows the scroll bars. */
function usePart(
  grid: Grid<unknown>,
): readonly [Part, (element: HTMLElement | null) => void, (element: HTMLElement) => void] {
  const isWhole = !isLarge(grid);
  const [at, setAt] = useState<Part>(() => partOf(grid, { top: 0, left: 0, width: 1_400, height: 800 }));
  const look = ({
    scrollTop: top,
    scrollLeft: left,
    clientWidth: width,
    clientHeight: height,
  }: HTMLElement): void => {
    if (isWhole) return;
    const next = partOf(grid, { top, left, width, height });
    setAt((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next));
  };
  const element = useRef<HTMLElement | null>(null);
  // Other filters, other rows: what was drawn of the old ones says nothing.
  useLayoutEffect(() => {
    if (element.current !== null) look(element.current);
  }, [grid]);
  return [isWhole ? EVERYTHING : at, (own) => (element.current = own), look];
}

/** Arrow keys go from tile to tile; the one that has the focus is the one that Tab leads to again. */
function useKeys(grid: Grid<unknown>, isWhole: boolean, look: (element: HTMLElement) => void) {
  const scroller = useRef<HTMLElement | null>(null);
  const [last, setLast] = useState("");
  const isMoving = useRef(false);
  // The tile may have been out of view, and is drawn by now.
  useLayoutEffect(() => {
    if (!isMoving.current) return;
    isMoving.current = false;
    scroller.current?.querySelector<HTMLElement>(".tile[tabindex='0']")?.focus();
  });
  const keyAt = ({ row, column }: Place): string => keyOf(grid.rows[row] ?? "", grid.columns[column] ?? "");
  const placeOf = ({ target }: Event): Place | undefined => {
    const at = (target as HTMLElement).closest<HTMLElement>("[data-row]");
    return at === null ? undefined : { row: Number(at.dataset["row"]), column: Number(at.dataset["column"]) };
  };
  const go = (place: Place): void => {
    const element = scroller.current;
    if (element !== null && !isWhole) {
      element.scrollTo(scrollFor(place, element));
      look(element);
    }
    isMoving.current = true;
    setLast(keyAt(place));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = placeOf(event);
    const next = at === undefined ? undefined : nextTile(grid, at, event.key);
    if (next === undefined) return;
    event.preventDefault();
    if (next !== "none") go(next);
  };
  const onFocusIn = (event: FocusEvent): void => {
    const at = placeOf(event);
    if (at !== undefined) setLast(keyAt(at));
  };
  return { scroller, last, listeners: { onKeyDown, onFocusIn } } as const;
}

/** Rows and columns by arrow keys, one stop for Tab; of a large map what is in view is drawn. */
export function HeatMap<T>(map: HeatMapProps<T>) {
  const { grid, chosen, noteOf } = map;
  const { rows, columns } = grid;
  const [part, onElement, look] = usePart(grid);
  const isWhole = part === EVERYTHING;
  const { scroller, last, listeners } = useKeys(grid, isWhole, look);
  const drawn = { part, stop: stopOf(grid, part, [last, chosen]) };
  const end = Math.min(rows.length, part.rows.end);
  const most = isWhole ? SQUARES_MAX : SQUARES_OF_ROW_MAX;
  return (
    <div
      class={`heat ${isWhole ? "" : "large"}`}
      tabIndex={0}
      role="region"
      aria-label="Matrix of flows"
      ref={(element) => {
        scroller.current = element;
        onElement(element);
      }}
      onScroll={(event) => look(event.currentTarget)}
    >
      <table
        {...listeners}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length + 1}
        {...(isWhole ? {} : { style: { width: `${CELL.name + columns.length * CELL.width}px` } })}
      >
        <thead>
          <HeadRow names={columns} noteOf={noteOf} part={part} />
        </thead>
        <tbody>
          {part.rows.first === 0 ? null : <RowRoom cells={part.rows.first} />}
          {Array.from({ length: end - part.rows.first }, (_, index) => part.rows.first + index).map((row) => (
            <Row key={rows[row]} row={row} map={map} drawn={drawn} most={most} />
          ))}
          {end >= rows.length ? null : <RowRoom cells={rows.length - end} />}
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
