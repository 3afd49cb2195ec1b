/**
 * Finds thousands of keywords in one pass: the automaton of Aho and Corasick ("Efficient string matching", 1975), as
 * one table of transitions. Each byte costs one look-up, however many keywords there are.
 */
import { BYTE_CLASS, BYTE_CLASSES } from "./squeeze.ts";

export interface KeywordMachine {
  /**
   * The symbol of each byte that is compared, 0 for letters that no keyword has; of another byte `NOT_COMPARED` and its
   * class.
   */
  readonly symbols: Uint8Array;
  /** `next[(state << rowBits) + symbol]` is the next state; 0 is the first. */
  readonly next: Uint16Array;
  readonly rowBits: number;
  /** 1 for states in which a keyword ends. */
  readonly isEnd: Uint8Array;
  /** Keywords that end in a state, as indexes; empty for most states. */
  readonly found: readonly (readonly number[])[];
}

const NONE: readonly number[] = Object.freeze([]);
const STATES_MAX = 65_535;
/** Symbols from here on are no symbols: `NOT_COMPARED` and a class of bytes. */
export const NOT_COMPARED = 0xf0;

/** Symbols of the letters that the keywords have, from 1 on. */
function symbolsOf(keywords: readonly string[]): { readonly symbols: Uint8Array; readonly width: number } {
  const letters = [...new Set(keywords.join(""))].toSorted();
  const symbols = new Uint8Array(256);
  for (const [index, letter] of letters.entries()) symbols[letter.charCodeAt(0)] = index + 1;
  for (let byte = 0x41; byte <= 0x5a; byte++) {
    if (BYTE_CLASSES[byte] === BYTE_CLASS.capital) symbols[byte] = symbols[byte + 0x20] ?? 0;
  }
  for (const [byte, kind] of BYTE_CLASSES.entries()) {
    if (kind !== BYTE_CLASS.kept && kind !== BYTE_CLASS.capital) symbols[byte] = NOT_COMPARED + kind;
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
  return { symbols, ...inOrder(queue, { next, width }, found) };
}

/**
 * Numbers states anew, in the order in which they were come to: those that a text is in most of the time stand side by side,
 * and a processor's cache holds them.
 */
function inOrder(
  order: readonly number[],
  { next, width }: { readonly next: Uint16Array; readonly width: number },
  found: readonly (readonly number[] | undefined)[],
): Omit<KeywordMachine, "symbols"> {
  const rowBits = Math.ceil(Math.log2(width));
  const numbers = new Uint16Array(order.length);
  for (const [number, state] of order.entries()) numbers[state] = number;
  const rows = new Uint16Array(order.length << rowBits);
  for (const [number, state] of order.entries())
    for (let symbol = 0; symbol < width; symbol++)
      rows[(number << rowBits) + symbol] = numbers[next[state * width + symbol] ?? 0] ?? 0;
  return {
    rowBits,
    next: rows,
    isEnd: Uint8Array.from(order, (state) => (found[state] === undefined ? 0 : 1)),
    found: order.map((state) => found[state] ?? NONE),
  };
}
