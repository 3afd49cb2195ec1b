/**
 * A checksum at the end of a text that programs of others read and write, too. They skip it; what they write has none, and
 * is taken as it is. A text that still ends with a seal is as its writer left it, or damaged.
 */

/** What stands before and after the eight digits of the sum. */
export interface SealMarks {
  readonly before: string;
  readonly after: string;
}

const POLYNOMIAL = 0xedb8_8320;
const DIGITS = 8;
const HEX = 16;

/** CRC-32 as of zip and Ethernet, eight hexadecimal digits. */
function sumOf(text: string): string {
  let sum = 0xffff_ffff;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (POLYNOMIAL & -(sum & 1));
  }
  return ((sum ^ 0xffff_ffff) >>> 0).toString(HEX).padStart(DIGITS, "0");
}

export function seal(text: string, { before, after }: SealMarks): string {
  return `${text}${before}${sumOf(text)}${after}`;
}

/** True when the text has a seal that is not its own; false for one without a seal. */
export function isSealBroken(text: string, { before, after }: SealMarks): boolean {
  const end = text.length - after.length - DIGITS;
  const start = end - before.length;
  if (start < 0 || !text.endsWith(after) || text.slice(start, end) !== before) return false;
  return text.slice(end, end + DIGITS) !== sumOf(text.slice(0, start));
}
