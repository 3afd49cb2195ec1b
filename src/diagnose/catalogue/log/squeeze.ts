/**
 * How texts are compared. Logs wrap lines in the middle of words, indent, colour, quote and escape. So blanks, line
 * breaks, quotation marks, backslashes and everything outside ASCII are left out, and letters are small; of
 * `The specified\r\n  port "x"` remains `thespecifiedportx`.
 */

/** What `BYTE_CLASSES` says of a byte. */
export const BYTE_CLASS = {
  /** Left out. */
  skipped: 0,
  /** Compared as it is. */
  kept: 1,
  /** A capital letter: compared as the small one. */
  capital: 2,
  newline: 3,
  /** Begins a terminal's control sequence. */
  escape: 4,
} as const;

/** Blank, both quotation marks, backtick, backslash. */
const SKIPPED: ReadonlySet<number> = new Set([0x20, 0x22, 0x27, 0x60, 0x5c]);

function classOf(byte: number): number {
  if (byte === 0x0a) return BYTE_CLASS.newline;
  if (byte === 0x1b) return BYTE_CLASS.escape;
  if (byte < 0x20 || byte >= 0x7f || SKIPPED.has(byte)) return BYTE_CLASS.skipped;
  return byte >= 0x41 && byte <= 0x5a ? BYTE_CLASS.capital : BYTE_CLASS.kept;
}

/** The class of each byte. */
export const BYTE_CLASSES: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => classOf(byte));

/** A text as it is compared. */
export function squeeze(text: string): string {
  let squeezed = "";
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const kind = code < 256 ? BYTE_CLASSES[code] : BYTE_CLASS.skipped;
    if (kind === BYTE_CLASS.kept) squeezed += text[index];
    else if (kind === BYTE_CLASS.capital) squeezed += String.fromCharCode(code + 0x20);
  }
  return squeezed;
}
