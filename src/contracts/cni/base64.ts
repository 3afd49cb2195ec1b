/** Base64, in which Go writes bytes into JSON. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BITS = 6;

export function encodeBase64(bytes: readonly number[]): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const [a = 0, b = 0, c = 0] = bytes.slice(index, index + 3);
    const group = (a << 16) | (b << 8) | c;
    const count = Math.min(3, bytes.length - index) + 1;
    for (let place = 0; place < 4; place++)
      text += place < count ? ALPHABET.charAt((group >> (18 - place * BITS)) & 63) : "=";
  }
  return text;
}

/** Undefined for a text that is none. */
export function decodeBase64(text: string): readonly number[] | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  const bytes: number[] = [];
  let held = 0;
  let bits = 0;
  for (const character of text.replaceAll("=", "")) {
    held = (held << BITS) | ALPHABET.indexOf(character);
    bits += BITS;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
    held &= (1 << bits) - 1;
  }
  return bytes;
}
