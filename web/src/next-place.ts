/** Arrow keys in a picture: which of the things that stand about comes next in a direction. */

export interface Place {
  readonly x: number;
  readonly y: number;
}

const ARROWS = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
} as const satisfies Readonly<Record<string, Place>>;
type Arrow = keyof typeof ARROWS;

export function arrowOf(key: string): Arrow | undefined {
  return key in ARROWS ? (key as Arrow) : undefined;
}

/** What lies aside of the direction counts so much more than what lies ahead. */
const ASIDE = 3;

/** The nearest of the places ahead; undefined at the edge. */
export function nextPlace<T extends Place>(places: readonly T[], from: Place, arrow: Arrow): T | undefined {
  const { x, y } = ARROWS[arrow];
  let [best, least]: [T | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const place of places) {
    const [right, down] = [place.x - from.x, place.y - from.y];
    const ahead = right * x + down * y;
    const cost = ahead + ASIDE * Math.abs(right * y + down * x);
    // What is more aside than ahead belongs to another key, but for the columns of a picture that stand apart.
    if (ahead <= 0 || cost >= least) continue;
    [best, least] = [place, cost];
  }
  return best;
}
