/**
 * What the errors of one record mean together. A code counts with the call that returned it: the same code is another
 * fault in another call. A text counts unless a code beside it says something else.
 */
import { CALLS, type CallId, UNNAMED_CALL } from "./calls.ts";
import type { Certainty, KnownError, Standing } from "./known-error.ts";
import { logAndErrors } from "#data/words.js";

const WORDS = logAndErrors();

/** An error of the table as it was read. Places are numbers that grow along the record. */
export interface ReadError {
  readonly error: KnownError;
  /** By its number or symbolic name, not by its text alone. */
  readonly isByNumber: boolean;
  readonly begin: number;
  readonly end: number;
}

/** A call that the record names. */
export interface ReadCall {
  readonly call: CallId;
  readonly begin: number;
}

/** An error with what it is worth where it was read. */
export interface Verdict {
  readonly error: KnownError;
  readonly certainty: Certainty;
  readonly standing: Standing;
  /** The call that returned the code, as far as the record names one. */
  readonly call?: CallId;
}

/** How sure an explanation is when nothing around it says more: of a question for an error by its name. */
export function certaintyAlone(error: KnownError): Certainty {
  if (error.standing === "wrapper") return "unknown";
  const isSure = error.standing === "root" && error.hresults.length === 0 && error.isInferred !== true;
  return isSure && error.certainty === undefined ? "certain" : "likely";
}

/** The call that a code belongs to: the nearest one before it, else the first one behind it. */
function callOf(place: number, calls: readonly ReadCall[]): CallId | undefined {
  const named = calls.some(({ call }) => call !== UNNAMED_CALL)
    ? calls.filter(({ call }) => call !== UNNAMED_CALL)
    : calls;
  return (named.findLast(({ begin }) => begin <= place) ?? named[0])?.call;
}

/** A code of HNS comes from HNS though no call is named; one of Windows may come from anywhere. */
function isIn({ origin }: KnownError, call: CallId | undefined, calls: readonly CallId[]): boolean {
  if (origin !== "win32" && (call === undefined || call === UNNAMED_CALL)) return true;
  return call !== undefined && calls.includes(call);
}

function judgeCode(
  { error, begin }: ReadError,
  calls: readonly ReadCall[],
  combinations: readonly KnownError[],
): readonly Verdict[] {
  const call = callOf(begin, calls);
  const named = call === undefined ? {} : { call };
  const meant = combinations.filter(
    ({ codes = [], calls: own }) =>
      call !== undefined &&
      own !== undefined &&
      own !== "any" &&
      own.includes(call) &&
      codes.some((code) => error.hresults.includes(code)),
  );
  if (meant.length > 0) {
    return meant.map((row) => ({
      error: row,
      certainty: row.certainty ?? "certain",
      standing: row.standing,
      ...named,
    }));
  }
  const { calls: own, standing } = error;
  const holds = own === undefined || own === "any" || isIn(error, call, own);
  if (!holds) return [{ error, certainty: "unknown", standing: "refusal", ...named }];
  if (standing === "wrapper") return [{ error, certainty: "unknown", standing, ...named }];
  const isSure = call !== undefined && own !== "any" && call !== UNNAMED_CALL;
  const isPlain = standing === "root" && error.isInferred === undefined && error.certainty === undefined;
  return [{ error, certainty: isSure && isPlain ? "certain" : "likely", standing, ...named }];
}

/** Whether the codes beside a text leave it its meaning. */
function isBorneOut(error: KnownError, codes: readonly Verdict[]): boolean {
  const telling = codes.filter(({ standing }) => standing !== "wrapper");
  return telling.every(({ error: code }) =>
    [...code.hresults, ...(code.codes ?? [])].some((hresult) => error.codes?.includes(hresult) === true),
  );
}

function judgeText({ error }: ReadError, codes: readonly Verdict[]): Verdict {
  const { standing } = error;
  if (standing === "wrapper") return { error, certainty: "unknown", standing };
  if (isBorneOut(error, codes)) return { error, certainty: certaintyAlone(error), standing };
  // The code says why; of the text remains that it was printed.
  return { error, certainty: "unknown", standing: "wrapper" };
}

/** Whether `read` lies within a longer text that was read, and so was not meant. */
function isWithin(read: ReadError, all: readonly ReadError[]): boolean {
  return (
    !read.isByNumber &&
    all.some(
      (other) =>
        other.error !== read.error &&
        !other.isByNumber &&
        other.begin <= read.begin &&
        other.end >= read.end &&
        other.end - other.begin > read.end - read.begin,
    )
  );
}

/** Texts that two errors share: when the number of one stands in the record, it is that one. */
function isOthersText(read: ReadError, all: readonly ReadError[]): boolean {
  return (
    !all.some((other) => other.error === read.error && other.isByNumber) &&
    all.some(
      (other) =>
        other.isByNumber &&
        other.error !== read.error &&
        read.error.hresults.length > 0 &&
        other.error.texts[0] === read.error.texts[0],
    )
  );
}

/** What the combinations of a table are: rows that are met by their call and code alone. */
export function combinationsOf(errors: readonly KnownError[]): readonly KnownError[] {
  return errors.filter(
    ({ codes, texts, hresults }) => codes !== undefined && texts.length + hresults.length === 0,
  );
}

/**
 * Judges what one record shows.
 * @param read in the order in which it was read.
 * @param combinations rows that hold for a call and a code together.
 */
export function judge(
  read: readonly ReadError[],
  calls: readonly ReadCall[],
  combinations: readonly KnownError[],
): readonly Verdict[] {
  const meant = read.filter((item) => !isWithin(item, read) && !isOthersText(item, read));
  const once = meant.filter((item, index) => meant.findIndex(({ error }) => error === item.error) === index);
  const isCode = ({ error }: ReadError): boolean => error.hresults.length > 0;
  const codes = once.filter(isCode).flatMap((item) => judgeCode(item, calls, combinations));
  const verdicts = once.flatMap((item) =>
    isCode(item) ? judgeCode(item, calls, combinations) : [judgeText(item, codes)],
  );
  return verdicts.filter(
    ({ error }, index) => verdicts.findIndex((other) => other.error === error) === index,
  );
}

/** An error that was read and not explained. */
export interface Unexplained extends Pick<KnownError, "texts" | "hresults"> {
  readonly call?: CallId;
}

/** Why the cause of what was read is not known, in words. */
export function unknownCause({ texts, hresults, call }: Unexplained): string {
  if (hresults.length === 0) return WORDS.causeOnSameLine;
  const says = texts[0] === undefined ? "" : ` says "${texts[0]}." It`;
  const where =
    call === undefined ? WORDS.causeNeedsCall : `has no explanation here for a call that ${CALLS[call].does}`;
  return `The code${says} ${where}.`;
}

/** Commands that decide about a cause that is not known. */
export function decidingCommands({ call }: Pick<Unexplained, "call">): readonly string[] {
  return call === undefined ? ["Read the lines around it: they name the call."] : CALLS[call].decide;
}
