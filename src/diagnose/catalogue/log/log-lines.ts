/**
 * Lines of a log: where the record of a line begins, since consoles wrap long records and programs print some over
 * several lines; and a line made fit to be shown.
 */
import { stripEdges } from "#core/base/text-edges.ts";
import { decodeUtf8 } from "#core/base/encodings.ts";

/** How far above a line the begin of its record is looked for. */
const RECORD_LINES_MAX = 8;
/** How many characters of a line tell whether it begins a record. */
const HEAD_LENGTH = 48;
/** The same with colours. */
const HEAD_BYTES_MAX = 256;
const NEWLINE = 0x0a;

/**
 * Begins of records: klog (`E0102 15:04:05`), dates, clock times, brackets, JSON, logfmt, words of severity, also in the four
 * letters of logrus (`FATA[0001]`), events of
 * kubectl, month names of syslog, and PowerShell (`New-HnsNetwork : …`).
 */
const RECORD_START =
  /^(?:[IWEF]\d{4} |\d{4}[-/.]\d\d|\d\d?[:/.]\d\d|\[|\{|(?:time|level|ts|msg)=|(?:TRACE?|DEBUG?|INFO|NOTICE|WARN|WARNING|ERROR?|FATAL?|PANIC?)\b|\s*(?:Warning|Normal)\s|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) |[A-Z][a-z]+-[A-Z]\w+ ?:|PS [A-Z]:)/;

function headOf(bytes: Uint8Array, from: number): string {
  let text = "";
  let isEscape = false;
  const last = Math.min(bytes.length, from + HEAD_BYTES_MAX);
  for (let offset = from; offset < last && text.length < HEAD_LENGTH; offset++) {
    const byte = bytes[offset] ?? NEWLINE;
    if (byte === NEWLINE) break;
    if (byte === 0x1b) isEscape = true;
    else if (isEscape) isEscape = !((byte >= 0x40 && byte <= 0x5a) || (byte >= 0x5e && byte <= 0x7e));
    else if (byte !== 0 && byte < 0x80) text += String.fromCharCode(byte);
  }
  return text;
}

/** The begin of the line in which `offset` lies, or `floor` when it begins before that. */
export function lineStart(bytes: Uint8Array, offset: number, floor: number): number {
  for (let at = offset; at > floor; at--) {
    if (bytes[at - 1] === NEWLINE) return at;
  }
  return floor;
}

/**
 * The number of the line that begins the record in which `offset`, on line `line`, lies. A line that no begin of a
 * record precedes is a record of its own. Bytes before `floor` are not looked at.
 */
export function recordLine(bytes: Uint8Array, offset: number, line: number, floor: number): number {
  let from = lineStart(bytes, offset, floor);
  for (let back = 0; back <= RECORD_LINES_MAX && line - back >= 1; back++) {
    if (RECORD_START.test(headOf(bytes, from))) return line - back;
    if (from <= floor) break;
    from = lineStart(bytes, from - 1, floor);
  }
  return line;
}

/** Shown before the place that was found, when the line is longer than what is shown. */
const BEFORE_BYTES = 90;
const SHOWN_BYTES = 360;

/** Control sequences of terminals, and control characters. */
const UNSHOWN = new RegExp(
  `${String.fromCharCode(27)}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${String.fromCharCode(7, 27)}]*${String.fromCharCode(7)}|[@-Z^_\\\\])|\\p{Cc}|\\ufeff`,
  "gu",
);

/**
 * The line around `offset`: without colours and control characters, cut to a few hundred characters. Bytes before
 * `floor` are not looked at.
 */
export function excerptAt(bytes: Uint8Array, offset: number, floor: number): string {
  const begin = lineStart(bytes, offset, Math.max(floor, offset - SHOWN_BYTES));
  const isWhole = begin === 0 || bytes[begin - 1] === NEWLINE;
  const from = isWhole && offset - begin <= SHOWN_BYTES / 2 ? begin : Math.max(begin, offset - BEFORE_BYTES);
  const newline = bytes.subarray(from, from + SHOWN_BYTES).indexOf(NEWLINE);
  const to = newline < 0 ? Math.min(bytes.length, from + SHOWN_BYTES) : from + newline;
  const text = decodeUtf8(bytes.subarray(from, to)).replace(UNSHOWN, (part) => (part === "\t" ? " " : ""));
  const shown = stripEdges(text, /\ufffd/).trim();
  return `${from === begin && isWhole ? "" : "…"}${shown}${newline < 0 && to < bytes.length ? "…" : ""}`;
}
