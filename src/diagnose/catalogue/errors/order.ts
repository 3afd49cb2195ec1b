/** The order of errors: what names the fault comes before what follows from it. */
import { type Certainty, STANDINGS, type Standing } from "./known-error.ts";

/** What was found in a log, as far as its order depends on it. */
export interface Counted {
  readonly standing: Standing;
  readonly certainty: Certainty;
  readonly count: number;
  readonly firstLine: number;
}

/**
 * The order of findings in a log, the likeliest fault first:
 * 1. what names the fault (`root`), then refused calls (`refusal`), then what only passes a failure on (`wrapper`);
 * 2. what occurs more often: single ones are often passing, such as those of a start;
 * 3. what came first;
 * 4. on one line, what has a cause, then what stands last, since programs put the reason behind.
 */
export function byLikelihood(a: Counted, b: Counted): number {
  return (
    STANDINGS.indexOf(a.standing) - STANDINGS.indexOf(b.standing) ||
    b.count - a.count ||
    a.firstLine - b.firstLine ||
    Number(a.certainty === "unknown") - Number(b.certainty === "unknown")
  );
}
