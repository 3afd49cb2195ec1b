/** What is looked for in a log: the texts and numbers of the table of errors, as keywords. */
import { addToList } from "#core/base/keyed-lists.ts";
import type { KnownError } from "../errors/known-error.ts";
import { CALLS, CALL_IDS, type CallId } from "../errors/calls.ts";
import { type HoleKind, patternOf } from "../errors/holes.ts";
import { combinationsOf } from "../errors/judge.ts";
import { KNOWN_ERRORS } from "../errors/table.ts";
import { type KeywordMachine, buildKeywordMachine } from "./keyword-machine.ts";
import { squeeze } from "./squeeze.ts";

/** One way in which an error is written: keywords in this order, not far from each other. */
export interface Spelling {
  /** Index into `KNOWN_ERRORS`. */
  readonly error: number;
  readonly pieces: readonly string[];
  /** What may stand between the pieces. */
  readonly holes: readonly HoleKind[];
  /** A number stands for itself: no letter or digit may touch it. */
  readonly isNumber: boolean;
}

/** A keyword as a part of a spelling. */
export interface SpellingPiece {
  /** Index into `spellings`. */
  readonly spelling: number;
  /** Which of its pieces. */
  readonly at: number;
}

export interface Signatures {
  readonly machine: KeywordMachine;
  readonly spellings: readonly Spelling[];
  /** For each keyword, where it belongs. */
  readonly pieces: readonly (readonly SpellingPiece[])[];
  readonly lengths: readonly number[];
  /** Keywords that begin a code of HNS or HCS; a code that follows may be an unknown one. */
  readonly prefixes: ReadonlySet<number>;
  /** The table. */
  readonly errors: readonly KnownError[];
  /** Rows that are met by a call and a code together. */
  readonly combinations: readonly KnownError[];
  /** For each keyword that names calls, which. */
  readonly calls: ReadonlyMap<number, readonly CallId[]>;
  /** All numbers of the table. */
  readonly hresults: ReadonlySet<number>;
}

/**
 * A text counts in a log when it has at least so many letters, or each of its parts, or its longest part. Shorter ones,
 * such as "network … is not found", are ordinary English; a query still finds them.
 */
const TELLING_LENGTH_MIN = 11;
const TELLING_PART_LENGTH_MIN = 8;
const TELLING_LONGEST_MIN = 16;

/** How HCN and HCS codes begin. */
const CODE_PREFIXES = ["0x803b", "0x8037", "0xc037"] as const;

const FACILITY_WIN32 = 0x8007;

/** Every way in which a number is printed, except in few digits, which mean nothing without their context. */
export function numberSpellings(hresult: number): readonly string[] {
  const hex = hresult.toString(16);
  return [`0x${hex}`, String(hresult), String(hresult | 0)].filter(
    (text, index, all) => all.indexOf(text) === index,
  );
}

function numbersOf(error: KnownError, index: number): readonly Spelling[] {
  const spellings: Spelling[] = [];
  for (const hresult of error.hresults) {
    for (const text of numberSpellings(hresult)) {
      spellings.push({ error: index, pieces: [text], holes: [], isNumber: true });
    }
    // hcsshim prints Win32 errors with their low 16 bits (hcn.md §6.2): "failed in Win32: … (0x490)".
    if (hresult >>> 16 === FACILITY_WIN32) {
      const short = `(0x${(hresult & 0xffff).toString(16)})`;
      spellings.push({
        error: index,
        pieces: [squeeze("failed in Win32:"), short],
        holes: ["words"],
        isNumber: false,
      });
    }
  }
  if (error.cniCode !== undefined) {
    spellings.push({ error: index, pieces: [`code:${error.cniCode},msg`], holes: [], isNumber: false });
  }
  return spellings;
}

function isTelling(pieces: readonly string[]): boolean {
  const lengths = pieces.map((piece) => piece.length);
  if (pieces.length === 1) return Math.max(...lengths) >= TELLING_LENGTH_MIN;
  return Math.min(...lengths) >= TELLING_PART_LENGTH_MIN || Math.max(...lengths) >= TELLING_LONGEST_MIN;
}

const MARKS: readonly { readonly call: CallId; readonly keyword: string }[] = CALL_IDS.flatMap((call) =>
  CALLS[call].marks.map((mark) => ({ call, keyword: squeeze(mark) })),
);

function callsByKeyword(indexes: ReadonlyMap<string, number>): ReadonlyMap<number, readonly CallId[]> {
  const calls = new Map<number, CallId[]>();
  for (const { call, keyword } of MARKS) {
    addToList(calls, indexes.get(keyword) ?? -1, call);
  }
  return calls;
}

/**
 * The signatures of a table of errors. Building them costs more than scanning a short text: what scans many texts
 * builds them once and passes them to each scanner.
 */
export function buildSignatures(errors: readonly KnownError[] = KNOWN_ERRORS): Signatures {
  const spellings: Spelling[] = [];
  const owners = new Set<string>();
  for (const [index, error] of errors.entries()) {
    spellings.push(...numbersOf(error, index));
    for (const text of error.texts) {
      const { pieces, holes } = patternOf(text);
      const key = pieces.join(" ");
      // Of two codes with one text the first is meant, unless a number says otherwise.
      if (!owners.has(key) && isTelling(pieces)) {
        spellings.push({ error: index, pieces, holes, isNumber: false });
      }
      owners.add(key);
    }
    for (const name of error.names) {
      if (name.length >= TELLING_LENGTH_MIN - 1) {
        spellings.push({ error: index, pieces: [squeeze(name)], holes: [], isNumber: true });
      }
    }
  }
  const keywords = [
    ...new Set([
      ...spellings.flatMap(({ pieces }) => pieces),
      ...CODE_PREFIXES,
      ...MARKS.map(({ keyword }) => keyword),
    ]),
  ];
  const indexes = new Map(keywords.map((keyword, index) => [keyword, index]));
  const pieces: SpellingPiece[][] = keywords.map(() => []);
  for (const [spelling, { pieces: own }] of spellings.entries()) {
    for (const [at, keyword] of own.entries()) pieces[indexes.get(keyword) ?? 0]?.push({ spelling, at });
  }
  return {
    machine: buildKeywordMachine(keywords),
    spellings,
    pieces,
    lengths: keywords.map((keyword) => keyword.length),
    prefixes: new Set(CODE_PREFIXES.map((prefix) => indexes.get(prefix) ?? -1)),
    errors,
    combinations: combinationsOf(errors),
    calls: callsByKeyword(indexes),
    hresults: new Set(errors.flatMap((error) => error.hresults)),
  };
}
