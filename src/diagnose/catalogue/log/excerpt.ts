/** The line of a log in which something was found, made fit to be shown. */
import { decodeUtf8 } from "#core/base/encodings.ts";
import { lineStart } from "./log-record.ts";

const NEWLINE = 0x0a;
/** Shown before the place that was found, when the line is longer than what is shown. */
const BEFORE_BYTES = 90;
const SHOWN_BYTES = 360;

/** Control sequences of terminals, and control characters. */
const UNSHOWN = new RegExp(
  `${String.fromCharCode(27)}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${String.fromCharCode(7)}]*${String.fromCharCode(7)}|[@-Z^_\\\\])|\\p{Cc}|\\ufeff`,
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
  const shown = text.replace(/^\ufffd+|\ufffd+$/g, "").trim();
  return `${from === begin && isWhole ? "" : "…"}${shown}${newline < 0 && to < bytes.length ? "…" : ""}`;
}
