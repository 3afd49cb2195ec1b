/** Assertions: for our own bugs only. What a user or a peer can cause is a value or an error with a code. */

/** A broken invariant of Mullion itself. It never stands for bad input. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Throws `AssertionError` unless `condition` holds. `message` says which invariant was broken. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Returns `value`, which an invariant of ours says is there. */
export function defined<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new AssertionError(message);
  return value;
}
