/** Text of the built-in servers: ASCII, so that one byte is one character. */

/** Bytes of `text`; characters outside ASCII become `?`. */
export function encodeAscii(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < bytes.length; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x80) return encodeOther(text);
    bytes[index] = code;
  }
  return bytes;
}

/** As `encodeAscii`, character by character: two halves of a surrogate pair are one. */
function encodeOther(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x80 ? code : 0x3f;
  });
}

/** Text of `bytes`; bytes outside ASCII become `?`. */
export function decodeAscii(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte < 0x80 ? byte : 0x3f);
  return text;
}
