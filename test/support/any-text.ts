/** Text of any code points, at random. */
import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 } as const;
/** Printable ASCII comes first, so that what fails shrinks to it. */
const PRINTABLE = { first: 0x20, count: 0x5f } as const;

function fromRank(rank: number): string {
  if (rank < PRINTABLE.count) return String.fromCodePoint(rank + PRINTABLE.first);
  if (rank < PRINTABLE.first + PRINTABLE.count) return String.fromCodePoint(rank - PRINTABLE.count);
  return String.fromCodePoint(rank < SURROGATES.first ? rank : rank + SURROGATES.count);
}

function toRank(text: unknown): number {
  const code = typeof text === "string" && /^.$/su.test(text) ? (text.codePointAt(0) ?? -1) : -1;
  if (code < 0 || (code >= SURROGATES.first && code < SURROGATES.first + SURROGATES.count))
    throw new Error("not one code point");
  if (code < PRINTABLE.first) return code + PRINTABLE.count;
  if (code < PRINTABLE.first + PRINTABLE.count) return code - PRINTABLE.first;
  return code < SURROGATES.first ? code : code - SURROGATES.count;
}

const CODE_POINT = fc.integer({ min: 0, max: 0x10_ffff - SURROGATES.count }).map(fromRank, toRank);

/**
 * Code points without halves of pairs, up to so many. The unit "binary" of fast-check draws the same, and makes a table of
 * all 1.1 million code points first, which every later collection of garbage in the worker walks through.
 */
export function anyText(maxLength?: number): fc.Arbitrary<string> {
  return fc.string({ unit: CODE_POINT, ...(maxLength === undefined ? {} : { maxLength }) });
}
