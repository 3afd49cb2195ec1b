/** The order of errors: what names the fault comes before what follows from it. */
import { type KnownError, STANDINGS } from "./known-error.ts";

function rankOf(error: KnownError): number {
  return STANDINGS.indexOf(error.standing);
}

/** Sorts roots before refusals before wrappers; keeps the order within each. */
export function rootsFirst(errors: readonly KnownError[]): readonly KnownError[] {
  return errors.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** What was found in a log, as far as its order depends on it. */
export interface Counted {
  readonly error: KnownError;
  readonly count: number;
  readonly firstLine: number;
}

/**
 * The order of findings in a log, the likeliest fault first:
 * 1. what names the fault (`root`), then refused calls (`refusal`), then what only passes a failure on (`wrapper`);
 * 2. what occurs more often: single ones are often passing, such as those of a start;
 * 3. what came first; on one line, what stands last, since programs put the reason behind.
 */
export function byLikelihood(a: Counted, b: Counted): number {
  return rankOf(a.error) - rankOf(b.error) || b.count - a.count || a.firstLine - b.firstLine;
}
