/**
 * Values as Go writes them into JSON: bytes in Base64, and networks (`net.IPNet`) as an address in text and a mask in bytes.
 * Azure's files and CNS have them.
 */
import { type InterfaceAddress, type Ip, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import { DecodeError, type StructReader } from "./json.ts";
import type { JsonObject } from "#core/base/json.ts";

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

const BYTE_BITS = 8;

function formatMask({ ip, length }: InterfaceAddress): string {
  const count = familyOf(ip) === 4 ? 4 : 16;
  const bits = (index: number): number => Math.max(0, Math.min(BYTE_BITS, length - index * BYTE_BITS));
  return encodeBase64(
    Array.from({ length: count }, (_, index) => (0xff << (BYTE_BITS - bits(index))) & 0xff),
  );
}

/** An address with its mask. */
export function formatGoAddress(address: InterfaceAddress): JsonObject {
  return { IP: formatIp(address.ip), Mask: formatMask(address) };
}

/** An address field, empty when there is none. @throws DecodeError */
export function readGoIp(reader: StructReader, name: string): Ip | undefined {
  const text = reader.text(name);
  if (text === "") return undefined;
  const ip = parseIp(text);
  if (ip === undefined) throw new DecodeError(reader.pathOf(name), "an IP address", text);
  return ip;
}

/** Reads what `formatGoAddress` writes. @throws DecodeError */
export function readGoAddress(reader: StructReader): InterfaceAddress {
  const ip = readGoIp(reader, "IP");
  const mask = decodeBase64(reader.text("Mask"));
  const count = ip !== undefined && familyOf(ip) === 4 ? 4 : 16;
  if (ip === undefined || mask?.length !== count)
    throw new DecodeError(reader.pathOf("Mask"), "an address with its mask", reader.text("Mask"));
  const ones = mask.map((byte) => byte.toString(2).padStart(BYTE_BITS, "0")).join("");
  return { ip, length: ones.indexOf("0") < 0 ? ones.length : ones.indexOf("0") };
}
