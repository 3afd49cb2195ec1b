/**
 * Finds thousands of keywords in one pass: the automaton of Aho and Corasick ("Efficient string matching", 1975), as
 * one table of transitions. Each byte costs one look-up, however many keywords there are, and no jump: processors guess jumps
 * by what was last, and in logs blanks and letters come in no order.
 */
import { BYTE_CLASS, BYTE_CLASSES } from "./squeeze.ts";

export interface KeywordMachine {
  /** The symbol of each byte: 0 for letters that no keyword has; `skipped` and `skipped + 1` for what is no letter. */
  readonly symbols: Uint8Array;
  /** What is left out leads from each state to itself; the byte that begins a control sequence leads to `escape`. */
  readonly skipped: number;
  /** `next[(state << rowBits) + symbol]` is the next state; 0 is the first. */
  readonly next: Uint16Array;
  readonly rowBits: number;
  /** In states from here on something happens: a keyword has just ended, or it is `escape`. */
  readonly firstEnd: number;
  readonly escape: number;
  /** Keywords that end in state `firstEnd` and those behind it, as indexes. */
  readonly found: readonly (readonly number[])[];
}

const STATES_MAX = 65_535;
/** Columns beside those of letters: what is left out, and what begins a control sequence. */
const NO_LETTERS = 2;

/** Symbols of the letters that the keywords have, from 1 on, and how many bits number them all. */
function symbolsOf(keywords: readonly string[]): Pick<KeywordMachine, "symbols" | "skipped" | "rowBits"> & {
  readonly width: number;
} {
  const letters = [...new Set(keywords.join(""))].toSorted();
  const width = letters.length + 1;
  const rowBits = Math.ceil(Math.log2(width + NO_LETTERS));
  const skipped = (1 << rowBits) - NO_LETTERS;
  const symbols = new Uint8Array(256);
  for (const [index, letter] of letters.entries()) symbols[letter.charCodeAt(0)] = index + 1;
  for (const [byte, kind] of BYTE_CLASSES.entries()) {
    if (kind === BYTE_CLASS.capital) symbols[byte] = symbols[byte + 0x20] ?? 0;
    else if (kind !== BYTE_CLASS.kept) symbols[byte] = kind === BYTE_CLASS.escape ? skipped + 1 : skipped;
  }
  return { symbols, skipped, rowBits, width };
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
  const { symbols, skipped, rowBits, width } = symbolsOf(keywords);
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
  return { symbols, skipped, rowBits, ...inOrder(queue, { next, width, skipped, rowBits }, found) };
}

/** A table of transitions before its states are numbered. */
interface Tree {
  readonly next: Uint16Array;
  readonly width: number;
  readonly skipped: number;
  readonly rowBits: number;
}

/**
 * Numbers states anew, in the order in which they were come to: those that a text is in most of the time stand side by side,
 * and a processor's cache holds them. Those in which a keyword ends are the last: a comparison tells them. What is left out
 * leads from such a state to another of the same transitions, so that the keyword ends once.
 */
function inOrder(
  order: readonly number[],
  { next, width, skipped, rowBits }: Tree,
  found: readonly (readonly number[] | undefined)[],
): Pick<KeywordMachine, "next" | "firstEnd" | "escape" | "found"> {
  const ends = order.filter((state) => found[state] !== undefined);
  const plain = order.filter((state) => found[state] === undefined);
  // Beside the plain ones stand the doubles of the ends.
  const firstEnd = order.length;
  const escape = firstEnd + ends.length;
  if (escape > STATES_MAX) throw new RangeError(`${escape} states, more than ${STATES_MAX}`);
  const numbers = new Uint16Array(order.length);
  for (const [number, state] of plain.entries()) numbers[state] = number;
  for (const [number, state] of ends.entries()) numbers[state] = firstEnd + number;
  const rows = new Uint16Array((escape + 1) << rowBits);
  for (const [number, state] of [...plain, ...ends, ...ends].entries()) {
    const row = number << rowBits;
    for (let symbol = 0; symbol < width; symbol++)
      rows[row + symbol] = numbers[next[state * width + symbol] ?? 0] ?? 0;
    rows[row + skipped] = number < firstEnd ? number : number - ends.length;
    rows[row + skipped + 1] = escape;
  }
  return { next: rows, firstEnd, escape, found: ends.map((state) => found[state] ?? []) };
}
