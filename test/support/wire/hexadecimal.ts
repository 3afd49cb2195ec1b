/** Bytes that tests write as hexadecimal text. */
import { AssertionError } from "#core/base/assert.ts";

/** Parses hexadecimal text; white space and `-` or `:` between digits are ignored. Undefined when it is no hexadecimal. */
export function parseHex(text: string): Uint8Array | undefined {
  const digits = text.replace(/[\s:-]/g, "");
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) return undefined;
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16);
  return bytes;
}

/**
 * Bytes of annotated hexadecimal, as golden packets are written in tests: text after `;` on a line is a comment.
 * Throws on anything else, because such text is source code of ours.
 */
export function annotatedHex(text: string): Uint8Array {
  const bytes = parseHex(text.replace(/;.*$/gm, ""));
  if (bytes === undefined) throw new AssertionError("annotated hex holds something that is not hexadecimal");
  return bytes;
}
