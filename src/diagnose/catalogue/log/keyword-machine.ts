/**
 * Finds thousands of keywords in one pass: the automaton of Aho and Corasick ("Efficient string matching", 1975), as
 * one table of transitions. Each byte costs one look-up, however many keywords there are.
 */
import { BYTE_CLASS, BYTE_CLASSES } from "./squeeze.ts";

export interface KeywordMachine {
  /** Number of symbols: the width of a row of `next`. */
  readonly width: number;
  /** The symbol of each byte; 0 for letters that no keyword has. Meaningful for bytes that are compared. */
  readonly symbols: Uint8Array;
  /** `next[state * width + symbol]` is the next state; 0 is the first. */
  readonly next: Uint16Array;
  /** 1 for states in which a keyword ends. */
  readonly isEnd: Uint8Array;
  /** Keywords that end in a state, as indexes; empty for most states. */
  readonly found: readonly (readonly number[])[];
}

const NONE: readonly number[] = Object.freeze([]);
const STATES_MAX = 65_535;

/** Symbols of the letters that the keywords have, from 1 on. */
function symbolsOf(keywords: readonly string[]): { readonly symbols: Uint8Array; readonly width: number } {
  const letters = [...new Set(keywords.join(""))].toSorted();
  const symbols = new Uint8Array(256);
  for (const [index, letter] of letters.entries()) symbols[letter.charCodeAt(0)] = index + 1;
  for (let byte = 0x41; byte <= 0x5a; byte++) {
    if (BYTE_CLASSES[byte] === BYTE_CLASS.capital) symbols[byte] = symbols[byte + 0x20] ?? 0;
  }
  return { symbols, width: letters.length + 1 };
}

/** Puts the keywords into a tree; its rows are those of the machine. Returns the number of states. */
function plantTree(
  keywords: readonly string[],
  symbols: Uint8Array,
  width: number,
  next: Uint16Array,
  found: number[][],
): number {
  let count = 1;
  for (const [index, keyword] of keywords.entries()) {
    let state = 0;
    for (let at = 0; at < keyword.length; at++) {
      const edge = state * width + (symbols[keyword.charCodeAt(at)] ?? 0);
      if (next[edge] === 0) next[edge] = count++;
      state = next[edge] ?? 0;
    }
    (found[state] ??= []).push(index);
  }
  return count;
}

/**
 * Builds the machine for keywords that are squeezed and not empty.
 * @throws RangeError when they need more than 65 535 states.
 */
export function buildKeywordMachine(keywords: readonly string[]): KeywordMachine {
  const { symbols, width } = symbolsOf(keywords);
  const statesMax = keywords.reduce((sum, keyword) => sum + keyword.length, 1);
  if (statesMax > STATES_MAX) throw new RangeError(`${statesMax} states, more than ${STATES_MAX}`);
  const next = new Uint16Array(statesMax * width);
  const found: number[][] = [];
  const count = plantTree(keywords, symbols, width, next, found);
  // Breadth first: a missing edge leads where the longest proper suffix leads, which is finished already.
  const suffix = new Uint16Array(count);
  const queue: number[] = [0];
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head] ?? 0;
    const row = state * width;
    const suffixRow = (suffix[state] ?? 0) * width;
    for (let symbol = 1; symbol < width; symbol++) {
      const child = next[row + symbol] ?? 0;
      const fallback = state === 0 ? 0 : (next[suffixRow + symbol] ?? 0);
      if (child === 0) {
        next[row + symbol] = fallback;
        continue;
      }
      suffix[child] = fallback;
      const inherited = found[fallback];
      if (inherited !== undefined) found[child] = [...(found[child] ?? []), ...inherited];
      queue.push(child);
    }
  }
  return {
    width,
    symbols,
    next: next.subarray(0, count * width),
    isEnd: Uint8Array.from({ length: count }, (_, state) => (found[state] === undefined ? 0 : 1)),
    found: Array.from({ length: count }, (_, state) => found[state] ?? NONE),
  };
}
