/** Finds what a person probably meant: the known names nearest to a mistyped one. */

/**
 * How many letters must be added, removed, changed or swapped with their neighbour to turn `a` into `b`.
 * Stops counting beyond `limit` and then returns `limit + 1`.
 */
export function editDistance(a: string, b: string, limit: number = Number.MAX_SAFE_INTEGER): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1));
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    if (Math.min(...row) > limit) return limit + 1;
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Names longer than this are no typing error; comparing them would only cost time. */
const COMPARED_LENGTH_MAX = 64;

/**
 * The names of `known` that `text` may stand for, best first, at most `countMax`; none when nothing is near.
 * Upper and lower case count as equal. A name is near when at most a third of its letters differ.
 */
export function nearestNames(text: string, known: readonly string[], countMax: number = 3): string[] {
  if (text.length === 0 || text.length > COMPARED_LENGTH_MAX) return [];
  const wanted = text.toLowerCase();
  const found: { readonly name: string; readonly distance: number }[] = [];
  for (const name of known) {
    const candidate = name.toLowerCase();
    const limit = Math.max(1, Math.floor(Math.max(wanted.length, candidate.length) / 3));
    const distance = editDistance(wanted, candidate, limit);
    if (distance <= limit) found.push({ name, distance });
  }
  found.sort((a, b) => a.distance - b.distance);
  return found.slice(0, countMax).map((item) => item.name);
}

/** What to write in place of a name that is not there: the nearest of `known`, or what `otherwise` says. */
export function adviseName(text: string, known: readonly string[], otherwise: string): string {
  const [nearest] = nearestNames(text, known, 1);
  return nearest === undefined ? otherwise : `Did you mean ${nearest}?`;
}
