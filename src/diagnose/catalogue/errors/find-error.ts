/** From what a person typed or pasted to errors of the table. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { squeeze } from "../log/squeeze.ts";
import { LogScanner } from "../log/log-scanner.ts";
import { encodeUtf8 } from "#core/base/encodings.ts";
import type { Signatures } from "../log/signatures.ts";
import { type WrittenNumber, hresultOfWin32, parseErrorNumber } from "./windows/hresult.ts";
import type { CallId } from "./calls.ts";
import { fitsSqueezed, patternOf, shownText } from "./holes.ts";
import { certaintyAlone } from "./judge.ts";
import { type Certainty, type KnownError, byLikelihood } from "./known-error.ts";
import { KNOWN_ERRORS } from "./table.ts";

/** An error, and how sure it is that it explains what was asked. */
export interface FoundError extends Omit<KnownError, "certainty"> {
  readonly certainty: Certainty;
  /** The call that the line names for the code. */
  readonly call?: CallId;
}

/** What was found. `errors` may be empty; then `suggestions` may help. */
export interface ErrorSearch {
  readonly errors: readonly FoundError[];
  /** The HRESULT that the text writes, when it writes one. */
  readonly hresult: number | undefined;
  /** Ids and texts that may be meant, best first. */
  readonly suggestions: readonly string[];
}

const SUGGESTIONS_MAX = 5;
/** Fewer letters are found in half of the table. */
const PART_LENGTH_MIN = 8;
/** The longest text that is compared letter by letter. */
const COMPARED_LENGTH_MAX = 64;
const QUERY_LENGTH_MAX = 65_536;

/** Errors that are found by what they are called: nothing around them says more. */
function alone(errors: readonly KnownError[]): readonly FoundError[] {
  return errors.map((error) => ({ ...error, certainty: certaintyAlone(error) }));
}

/** Errors of a number; what it means in single calls only comes last. */
function byNumber(number: WrittenNumber): readonly FoundError[] {
  const hresult = number.isShort ? hresultOfWin32(number.value) : number.value;
  const own = KNOWN_ERRORS.filter(
    (error) =>
      error.hresults.includes(hresult) || (number.isShort && !number.isHex && error.cniCode === number.value),
  );
  const inCalls = KNOWN_ERRORS.filter(
    ({ codes, texts, hresults }) => texts.length + hresults.length === 0 && codes?.includes(hresult) === true,
  );
  return alone([...own, ...inCalls]);
}

function normalizeName(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, "-");
}

function byName(query: string): readonly FoundError[] {
  const wanted = normalizeName(query);
  return alone(
    KNOWN_ERRORS.filter(
      (error) => error.id === wanted || error.names.some((name) => normalizeName(name) === wanted),
    ),
  );
}

/** Whether squeezed letters are a text of the table, with what fits in its holes. */
function isText(wanted: string, text: string): boolean {
  const { pieces, holes, beginsWithHole, endsWithHole } = patternOf(text);
  const bare = pieces.join("");
  if (bare.replace(/\.$/, "") === wanted.replaceAll("...", "")) return true;
  if (holes.length === 0 && !beginsWithHole && !endsWithHole) return false;
  let end = 0;
  for (const [index, piece] of pieces.entries()) {
    const at = wanted.indexOf(piece, end);
    if (at < 0 || (index === 0 && at > 0 && !beginsWithHole)) return false;
    if (index > 0 && !fitsSqueezed(holes[index - 1] ?? "words", wanted.slice(end, at))) return false;
    end = at + piece.length;
  }
  return endsWithHole || end === wanted.length;
}

/** Errors one of whose texts the query is, with or without the full stop; blanks of the text may be filled. */
function byText(query: string): readonly FoundError[] {
  const wanted = squeeze(query).replace(/\.$/, "");
  if (wanted === "") return [];
  return alone(KNOWN_ERRORS.filter((error) => error.texts.some((text) => isText(wanted, text))));
}

/** Errors that a pasted piece of a log shows; what names the cause comes first. */
function inLog(query: string, signatures?: Signatures): readonly FoundError[] {
  const scanner = new LogScanner(signatures);
  scanner.push(encodeUtf8(query.slice(0, QUERY_LENGTH_MAX)));
  const read = scanner.finish().errors.toReversed().toSorted(byLikelihood);
  return read.map(({ error, certainty, call }) => ({
    ...error,
    certainty,
    ...(call === undefined ? {} : { call }),
  }));
}

/** Errors of whose texts the query is a part. */
function byPart(query: string): readonly FoundError[] {
  const wanted = squeeze(query).replace(/\.$/, "");
  if (wanted.length < PART_LENGTH_MIN) return [];
  return alone(
    KNOWN_ERRORS.filter((error) =>
      error.texts.some((text) => patternOf(text).pieces.join("").includes(wanted)),
    ),
  );
}

/** Numbers within a sentence. */
const NUMBERS_WITHIN = /(?<![\w-])(?:0x[0-9a-f]{1,8}|-?2\d{9})(?!\w)/gi;

/** Errors whose numbers stand in the query: the line around them names nothing that is known here. */
function byNumberWithin(query: string): readonly FoundError[] {
  const numbers = query.slice(0, QUERY_LENGTH_MAX).match(NUMBERS_WITHIN) ?? [];
  const errors = numbers.flatMap((text) => {
    const number = parseErrorNumber(text);
    return number === undefined ? [] : byNumber(number);
  });
  const found = errors.filter(
    ({ id, hresults }, index) =>
      hresults.length > 0 && errors.findIndex((other) => other.id === id) === index,
  );
  return found.map((error) => {
    const { calls } = error;
    return { ...error, certainty: calls === undefined || calls === "any" ? "likely" : "unknown" };
  });
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[a-z0-9]{3,}/g) ?? [];
}

/** Words that many texts have, and that say little. */
const COMMON_WORDS = new Set([
  "the",
  "was",
  "not",
  "for",
  "and",
  "failed",
  "error",
  "with",
  "this",
  "has",
  "are",
]);

/** The text or name under which an error is best known. */
function shownName(error: Pick<KnownError, "id" | "names">): string {
  return error.names[0] ?? error.id;
}

/** What is spelt alike; else what shares the most words. */
function suggest(query: string): readonly string[] {
  const names = KNOWN_ERRORS.flatMap((error) => [error.id, ...error.names]);
  const texts = KNOWN_ERRORS.flatMap((error) =>
    error.texts.map(shownText).filter((text) => text.length <= COMPARED_LENGTH_MAX),
  );
  const near = nearestNames(query.trim().replace(/\.$/, ""), [...names, ...texts], SUGGESTIONS_MAX);
  if (near.length > 0) return near;
  const words = new Set(wordsOf(query).filter((word) => !COMMON_WORDS.has(word)));
  const scored = KNOWN_ERRORS.map((error) => {
    const own = new Set([error.id, ...error.names, ...error.texts].flatMap(wordsOf));
    return { error, count: [...words].filter((word) => own.has(word)).length };
  });
  return scored
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count)
    .slice(0, SUGGESTIONS_MAX)
    .map(({ error }) => shownName(error));
}

/** The most errors that an uncertain search may answer with. */
const PART_MATCHES_MAX = 4;

/**
 * Finds errors by number (in any spelling), symbolic name, id, or text, also in a whole line of a log. A text that two
 * codes share finds both.
 * @param signatures those of the table; given by callers that search many times.
 */
export function findError(query: string, signatures?: Signatures): ErrorSearch {
  const number = parseErrorNumber(query);
  if (number !== undefined) {
    const hresult = number.isShort ? hresultOfWin32(number.value) : number.value;
    return { errors: byNumber(number), hresult, suggestions: [] };
  }
  for (const search of [byName, byText, inLog, byNumberWithin, byPart]) {
    const errors = search(query, signatures);
    if (errors.length > 0 && (search !== byPart || errors.length <= PART_MATCHES_MAX)) {
      return { errors, hresult: undefined, suggestions: [] };
    }
    if (errors.length > 0) {
      return { errors: [], hresult: undefined, suggestions: errors.slice(0, SUGGESTIONS_MAX).map(shownName) };
    }
  }
  return { errors: [], hresult: undefined, suggestions: suggest(query) };
}
