/**
 * Chance as a value: a seeded generator (sfc32, public domain, by Chris Doty-Humphrey). Same seed, same numbers.
 */
import { assert } from "./assert.ts";

const WARM_UP_ROUNDS = 12;

/** FNV-1a over UTF-16 units: spreads labels and seeds over 32 bits. */
function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return hash;
}

/** Four words of 32 bits, with sign. */
export type GuidWords = readonly [number, number, number, number];

const HYPHEN = 0x2d;
/** Of the 32 digits, those with a hyphen in front of them. */
const GROUP_STARTS: ReadonlySet<number> = new Set([8, 12, 16, 20]);
const DIGITS = Array.from({ length: 16 }, (_, digit) => digit.toString(16).charCodeAt(0));
const VERSION_DIGIT = 12;
const VARIANT_DIGIT = 16;

/** Where each digit comes from: a place in the text, a word, and how far to shift it. */
const LAYOUT = Array.from({ length: 32 }, (_, digit) => ({
  digit,
  at: digit + [...GROUP_STARTS].filter((start) => start <= digit).length,
  word: digit >> 3,
  shift: 28 - (digit & 7) * 4,
}));
const text: number[] = Array.from({ length: 36 }, () => HYPHEN);

/** A GUID of version 4 in lower case without braces. One text without parts: worlds hold millions of them. */
export function guidOf(words: GuidWords): string {
  for (const { digit, at, word, shift } of LAYOUT) {
    let value = ((words[word] ?? 0) >>> shift) & 0xf;
    if (digit === VERSION_DIGIT) value = 4;
    else if (digit === VARIANT_DIGIT) value = (value & 0x3) | 0x8;
    text[at] = DIGITS[value] ?? HYPHEN;
  }
  return String.fromCharCode(...text);
}

/** A seeded pseudo-random generator. Not for secrets. */
export class Prng {
  private a: number;
  private b: number;
  private c: number;
  private counter = 1;
  private readonly seedText: string;

  constructor(seed: number | string) {
    this.seedText = String(seed);
    this.a = hashText(this.seedText, 1);
    this.b = hashText(this.seedText, 2);
    this.c = hashText(this.seedText, 3);
    for (let i = 0; i < WARM_UP_ROUNDS; i++) this.nextU32();
  }

  /** A generator of its own for `label`: what one part draws never shifts what another part gets. */
  derive(label: string): Prng {
    return new Prng(`${this.seedText}/${label}`);
  }

  /** The next number from 0 to 2^32 - 1. */
  nextU32(): number {
    const sum = (this.a + this.b + this.counter++) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    this.c |= 0;
    return sum >>> 0;
  }

  /** A number from 0 to `limit` - 1; `limit` is 1 to 2^32. */
  below(limit: number): number {
    assert(limit >= 1 && limit <= 0x1_0000_0000, "Prng.below takes a limit from 1 to 2^32");
    return Math.floor((this.nextU32() / 0x1_0000_0000) * limit);
  }

  /** A GUID of version 4 in lower case without braces. */
  guid(): string {
    return guidOf(this.guidWords());
  }

  /** What a GUID is made of, for those who may never need it as text. */
  guidWords(): GuidWords {
    return [this.nextU32() | 0, this.nextU32() | 0, this.nextU32() | 0, this.nextU32() | 0];
  }
}
