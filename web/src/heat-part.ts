/** Which part of a large heat map is drawn: that of thousands of names has millions of places, nearly all of them empty. */
import type { Grid, Place } from "./heat-grid.ts";

/** What a large map gives each place, in pixels; style.css has the same. */
export const CELL = { name: 200, head: 52, width: 108, height: 44 } as const;

/** More places than these are not drawn all at once. */
const PLACES_MAX = 4_000;
/** Drawn beyond the edges, so that a turn of the wheel shows no gap. */
const BEYOND = 4;

interface Span {
  readonly first: number;
  readonly end: number;
}

export interface Part {
  readonly rows: Span;
  readonly columns: Span;
}

const ALL: Span = { first: 0, end: Number.MAX_SAFE_INTEGER };
export const EVERYTHING: Part = { rows: ALL, columns: ALL };

export function isLarge({ rows, columns }: Grid<unknown>): boolean {
  return rows.length * columns.length > PLACES_MAX;
}

interface View {
  readonly top: number;
  readonly left: number;
  readonly width: number;
  readonly height: number;
}

function spanOf(begin: number, length: number, size: number, count: number): Span {
  // Where fewer are left than before, the scroll bar may still stand beyond them.
  const first = Math.max(0, Math.min(Math.floor(begin / size), count) - BEYOND);
  return { first, end: Math.min(count, Math.ceil((begin + length) / size) + BEYOND) };
}

/** What is drawn where the scroll bars stand so. */
export function partOf({ rows, columns }: Grid<unknown>, { top, left, width, height }: View): Part {
  return {
    rows: spanOf(top, height, CELL.height, rows.length),
    columns: spanOf(left, width, CELL.width, columns.length),
  };
}

/** Where the scroll bars stand so that a place is seen, moved no more than needed. */
export function scrollFor(
  { row, column }: Place,
  element: Pick<HTMLElement, "scrollTop" | "scrollLeft" | "clientWidth" | "clientHeight">,
): { readonly top: number; readonly left: number } {
  const near = (at: number, begin: number, length: number, size: number): number =>
    Math.min(begin, Math.max(begin + size - length, at));
  return {
    top: near(element.scrollTop, row * CELL.height, element.clientHeight - CELL.head, CELL.height),
    left: near(element.scrollLeft, column * CELL.width, element.clientWidth - CELL.name, CELL.width),
  };
}
