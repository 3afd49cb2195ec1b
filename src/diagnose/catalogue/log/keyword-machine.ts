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
  const isUsed = new Uint8Array(256);
  for (const keyword of keywords)
    for (let at = 0; at < keyword.length; at++) isUsed[keyword.charCodeAt(at)] = 1;
  const letters = Array.from(isUsed.keys()).filter((byte) => isUsed[byte] === 1);
  const width = letters.length + 1;
  const rowBits = Math.ceil(Math.log2(width + NO_LETTERS));
  const skipped = (1 << rowBits) - NO_LETTERS;
  const symbols = new Uint8Array(256);
  for (const [index, letter] of letters.entries()) symbols[letter] = index + 1;
  for (const [byte, kind] of BYTE_CLASSES.entries()) {
    if (kind === BYTE_CLASS.capital) symbols[byte] = symbols[byte + 0x20] ?? 0;
    else if (kind !== BYTE_CLASS.kept) symbols[byte] = kind === BYTE_CLASS.escape ? skipped + 1 : skipped;
  }
  return { symbols, skipped, rowBits, width };
}

/** The keywords as a tree: of each state its first child, of each child its next sibling and the symbol that leads to it. */
interface Tree {
  readonly count: number;
  readonly firstChild: Uint16Array;
  readonly sibling: Uint16Array;
  readonly symbolOf: Uint8Array;
  /** Keywords that end in a state, as indexes. */
  readonly found: (readonly number[] | undefined)[];
}

/** The state that a symbol leads to in the tree; 0: none. */
function childOf({ firstChild, sibling, symbolOf }: Tree, state: number, symbol: number): number {
  let child = firstChild[state] ?? 0;
  while (child !== 0 && symbolOf[child] !== symbol) child = sibling[child] ?? 0;
  return child;
}

function plantTree(keywords: readonly string[], symbols: Uint8Array): Tree {
  const statesMax = keywords.reduce((sum, keyword) => sum + keyword.length, 1);
  if (statesMax > STATES_MAX) throw new RangeError(`${statesMax} states, more than ${STATES_MAX}`);
  const tree = {
    count: 1,
    firstChild: new Uint16Array(statesMax),
    sibling: new Uint16Array(statesMax),
    symbolOf: new Uint8Array(statesMax),
    found: Array.from<readonly number[] | undefined>({ length: statesMax }),
  };
  for (const [index, keyword] of keywords.entries()) {
    let state = 0;
    for (let at = 0; at < keyword.length; at++) {
      const symbol = symbols[keyword.charCodeAt(at)] ?? 0;
      let child = childOf(tree, state, symbol);
      if (child === 0) {
        child = tree.count++;
        tree.symbolOf[child] = symbol;
        tree.sibling[child] = tree.firstChild[state] ?? 0;
        tree.firstChild[state] = child;
      }
      state = child;
    }
    tree.found[state] = [...(tree.found[state] ?? []), index];
  }
  return tree;
}

/** Breadth first: where a state has no edge, its longest proper suffix has one, or that one's, which are finished already. */
function followSuffixes(tree: Tree): { readonly order: readonly number[]; readonly suffix: Uint16Array } {
  const { firstChild, sibling, symbolOf, found } = tree;
  const suffix = new Uint16Array(tree.count);
  const order: number[] = [0];
  for (let head = 0; head < order.length; head++) {
    const state = order[head] ?? 0;
    for (let child = firstChild[state] ?? 0; child !== 0; child = sibling[child] ?? 0) {
      order.push(child);
      if (state === 0) continue;
      const symbol = symbolOf[child] ?? 0;
      let from = suffix[state] ?? 0;
      while (from !== 0 && childOf(tree, from, symbol) === 0) from = suffix[from] ?? 0;
      const end = childOf(tree, from, symbol);
      suffix[child] = end;
      const inherited = found[end];
      if (inherited !== undefined) found[child] = [...(found[child] ?? []), ...inherited];
    }
  }
  return { order, suffix };
}

/**
 * Builds the machine for keywords that are squeezed and not empty. States are numbered in the order in which they are come to:
 * those that a text is in most of the time stand side by side, and a processor's cache holds them. Those in which a keyword
 * ends are the last: a comparison tells them. What is left out leads from such a state to another of the same transitions, so
 * that the keyword ends once.
 * @throws RangeError when they need more than 65 535 states.
 */
export function buildKeywordMachine(keywords: readonly string[]): KeywordMachine {
  const { symbols, skipped, rowBits, width } = symbolsOf(keywords);
  const tree = plantTree(keywords, symbols);
  const { order, suffix } = followSuffixes(tree);
  const { firstChild, sibling, symbolOf, found } = tree;
  const ends = order.filter((state) => found[state] !== undefined);
  const plain = order.filter((state) => found[state] === undefined);
  // Beside the plain ones stand the doubles of the ends.
  const firstEnd = order.length;
  const escape = firstEnd + ends.length;
  if (escape > STATES_MAX) throw new RangeError(`${escape} states, more than ${STATES_MAX}`);
  const numbers = new Uint16Array(order.length);
  for (const [number, state] of plain.entries()) numbers[state] = number;
  for (const [number, state] of ends.entries()) numbers[state] = firstEnd + number;
  const next = new Uint16Array((escape + 1) << rowBits);
  for (const state of order) {
    const number = numbers[state] ?? 0;
    const row = number << rowBits;
    // A row is that of the suffix, which stands before it in the order, with the state's own edges over it.
    const own = (numbers[suffix[state] ?? 0] ?? 0) << rowBits;
    if (state !== 0) next.copyWithin(row, own, own + width);
    for (let child = firstChild[state] ?? 0; child !== 0; child = sibling[child] ?? 0)
      next[row + (symbolOf[child] ?? 0)] = numbers[child] ?? 0;
    const double = number < firstEnd ? number : number - ends.length;
    next[row + skipped] = double;
    next[row + skipped + 1] = escape;
    if (double !== number) next.copyWithin(double << rowBits, row, row + (1 << rowBits));
  }
  return {
    symbols,
    skipped,
    rowBits,
    next,
    firstEnd,
    escape,
    found: ends.map((state) => found[state] ?? []),
  };
}
