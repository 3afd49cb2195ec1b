/** Random changes of an input: bytes, pieces, words that parsers know, numbers in text, and pieces of other inputs. */
import type { Prng } from "#core/base/prng.ts";

const BYTES_MAX = 4_096;
const CHANGES_MAX = 6;
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x20, 0x22, 0x5b, 0x7b] as const;
const NUMBERS = [
  "0",
  "-1",
  "1",
  "65535",
  "65536",
  "4294967295",
  "1e400",
  "0x10",
  "9007199254740993",
  "",
] as const;

type Change = (
  bytes: Uint8Array,
  prng: Prng,
  others: readonly Uint8Array[],
  words: readonly Uint8Array[],
) => Uint8Array;

function spliced(bytes: Uint8Array, from: number, to: number, piece: Uint8Array): Uint8Array {
  const made = new Uint8Array(from + piece.length + bytes.length - to);
  made.set(bytes.subarray(0, from));
  made.set(piece, from);
  made.set(bytes.subarray(to), from + piece.length);
  return made;
}

/** A piece of an input, of up to `most` bytes. */
function pieceOf(bytes: Uint8Array, prng: Prng, most: number): readonly [from: number, to: number] {
  const from = prng.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + prng.below(most) + 1)];
}

function pick<T>(list: readonly T[], prng: Prng): T | undefined {
  return list.length === 0 ? undefined : list[prng.below(list.length)];
}

const CHANGES: readonly Change[] = [
  (bytes, prng) => {
    const made = bytes.slice();
    if (made.length > 0) {
      const at = prng.below(made.length);
      made[at] = (made[at] ?? 0) ^ (1 << prng.below(8));
    }
    return made;
  },
  (bytes, prng) => {
    const made = bytes.slice();
    if (made.length > 0) made[prng.below(made.length)] = pick(EDGES, prng) ?? prng.below(256);
    return made;
  },
  (bytes, prng) => {
    const [from, to] = pieceOf(bytes, prng, 64);
    return spliced(bytes, from, to, new Uint8Array(0));
  },
  (bytes, prng) => {
    const [from, to] = pieceOf(bytes, prng, 64);
    return spliced(bytes, to, to, bytes.subarray(from, to));
  },
  (bytes, prng, _others, words) => {
    const at = prng.below(bytes.length + 1);
    return spliced(bytes, at, at, pick(words, prng) ?? new Uint8Array(0));
  },
  (bytes, prng, _others, words) => {
    const word = pick(words, prng) ?? new Uint8Array(0);
    const at = prng.below(bytes.length + 1);
    return spliced(bytes, at, Math.min(bytes.length, at + word.length), word);
  },
  (bytes, prng, others) => {
    const other = pick(others, prng) ?? bytes;
    const [from, to] = pieceOf(other, prng, 256);
    const at = prng.below(bytes.length + 1);
    return spliced(bytes, at, at, other.subarray(from, to));
  },
  (bytes, prng, others) => {
    const other = pick(others, prng) ?? bytes;
    return spliced(
      bytes,
      prng.below(bytes.length + 1),
      bytes.length,
      other.subarray(prng.below(other.length + 1)),
    );
  },
  (bytes, prng) => {
    const digits: number[] = [];
    for (const [at, byte] of bytes.entries()) if (byte >= 0x30 && byte <= 0x39) digits.push(at);
    const from = pick(digits, prng);
    if (from === undefined) return bytes;
    let to = from;
    while (to < bytes.length && (bytes[to] ?? 0) >= 0x30 && (bytes[to] ?? 0) <= 0x39) to++;
    return spliced(bytes, from, to, new TextEncoder().encode(pick(NUMBERS, prng)));
  },
];

/** A new input made of an old one. */
export function change(
  bytes: Uint8Array,
  prng: Prng,
  others: readonly Uint8Array[],
  words: readonly Uint8Array[],
): Uint8Array {
  let made = bytes;
  for (let count = prng.below(CHANGES_MAX) + 1; count > 0; count--)
    made = (pick(CHANGES, prng) ?? ((same: Uint8Array) => same))(made, prng, others, words);
  return made.length > BYTES_MAX ? made.slice(0, BYTES_MAX) : made;
}
