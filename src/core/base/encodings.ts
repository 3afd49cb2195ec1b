/** Bytes as text and back: hexadecimal, and UTF-8 without a web global, so that the core stays pure. */

/** Formats bytes as lower-case hexadecimal without separators. */
export function formatHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

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

/** How many bytes the character has that begins with `first`; 0 for a byte that begins none. */
function lengthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

const LEAD_BITS = [0, 0x7f, 0x1f, 0x0f, 0x07] as const;
const SMALLEST = [0, 0, 0x80, 0x800, 0x1_0000] as const;

/** The code point at `offset`, or undefined when its bytes are no UTF-8. */
function codePointAt(bytes: Uint8Array, offset: number, length: number): number | undefined {
  let point = (bytes[offset] ?? 0) & (LEAD_BITS[length] ?? 0);
  for (let index = 1; index < length; index++) {
    const next = bytes[offset + index];
    if (next === undefined || (next & 0xc0) !== 0x80) return undefined;
    point = (point << 6) | (next & 0x3f);
  }
  const isSurrogate = point >= 0xd800 && point <= 0xdfff;
  return point < (SMALLEST[length] ?? 0) || point > 0x10_ffff || isSurrogate ? undefined : point;
}

/** Decodes bytes; each byte that belongs to no character becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  let text = "";
  for (let offset = 0; offset < bytes.length; ) {
    const length = lengthOf(bytes[offset] ?? 0);
    const point = length === 0 ? undefined : codePointAt(bytes, offset, length);
    text += String.fromCodePoint(point ?? 0xfffd);
    offset += point === undefined ? 1 : length;
  }
  return text;
}
