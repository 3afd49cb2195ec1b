/** Runs an emitter so that a byte it forgets, and a byte it writes too much, is seen. For tests. */
import { AssertionError } from "#core/base/assert.ts";

const MARGIN_BYTES = 8;

function emitOver(
  fill: number,
  length: number,
  emit: (bytes: Uint8Array, offset: number) => number,
): Uint8Array {
  const bytes = new Uint8Array(MARGIN_BYTES + length + MARGIN_BYTES).fill(fill);
  const written = emit(bytes, MARGIN_BYTES);
  if (written !== length)
    throw new AssertionError(`the emitter says ${written} bytes, ${length} were expected`);
  for (let i = 0; i < MARGIN_BYTES; i++) {
    if (bytes[i] !== fill || bytes[MARGIN_BYTES + length + i] !== fill) {
      throw new AssertionError("the emitter wrote outside its header");
    }
  }
  return bytes.slice(MARGIN_BYTES, MARGIN_BYTES + length);
}

/**
 * The `length` bytes that `emit` writes. Throws when it reports another length, writes elsewhere, or leaves a byte as it
 * was: the buffer holds 0xa5 first, then 0x5a, and both runs must agree.
 */
export function emittedBytes(
  length: number,
  emit: (bytes: Uint8Array, offset: number) => number,
): Uint8Array {
  const first = emitOver(0xa5, length, emit);
  const second = emitOver(0x5a, length, emit);
  for (let i = 0; i < length; i++) {
    if (first[i] !== second[i]) throw new AssertionError(`the emitter left byte ${i} as it was`);
  }
  return first;
}

/** A copy of `bytes` with some of them replaced, by index. */
export function patchedBytes(bytes: Uint8Array, patch: Readonly<Record<number, number>>): Uint8Array {
  const copy = bytes.slice();
  for (const [index, value] of Object.entries(patch)) copy[Number(index)] = value;
  return copy;
}
