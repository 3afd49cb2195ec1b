/** Networks as Go's JSON has them (`net.IPNet`): an address as a text and a mask as bytes. Azure's files and CNS use them. */
import { type Ip, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import type { InterfaceAddress } from "#core/net/prefix.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { DecodeError, type StructReader } from "./json.ts";
import { type JsonObject } from "#core/base/json.ts";

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
