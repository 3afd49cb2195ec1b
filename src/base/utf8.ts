/** Text as UTF-8, without a web global, so that the core stays pure. */

/** Appends the bytes of one code point. */
function pushCodePoint(bytes: number[], point: number): void {
  if (point < 0x80) {
    bytes.push(point);
  } else if (point < 0x800) {
    bytes.push(0xc0 | (point >> 6), 0x80 | (point & 0x3f));
  } else if (point < 0x1_0000) {
    bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
  } else {
    bytes.push(
      0xf0 | (point >> 18),
      0x80 | ((point >> 12) & 0x3f),
      0x80 | ((point >> 6) & 0x3f),
      0x80 | (point & 0x3f),
    );
  }
}

/** Encodes `text`; half a surrogate pair becomes U+FFFD. `bytesMax` cuts the result at a character. */
export function encodeUtf8(text: string, bytesMax: number = Number.POSITIVE_INFINITY): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const length = bytes.length;
    const point = character.codePointAt(0) ?? 0;
    pushCodePoint(bytes, point >= 0xd800 && point <= 0xdfff ? 0xfffd : point);
    if (bytes.length > bytesMax) {
      bytes.length = length;
      break;
    }
  }
  return Uint8Array.from(bytes);
}
