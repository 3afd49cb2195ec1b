/** A GUID as Windows keeps it in memory: the first three groups with the low byte first. */
import type { Guid } from "../guid.ts";

const GUID_BYTES = 16;
/** Which byte of the text stands where. */
const ORDER: readonly number[] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
const HEX = 16;

/** `id` is a checked one. */
export function formatNativeGuid(id: Guid): Uint8Array {
  const digits = id.replaceAll("-", "");
  return Uint8Array.from(ORDER, (at) => Number.parseInt(digits.slice(at * 2, at * 2 + 2), HEX));
}

/** The GUID at the beginning of `bytes`. */
export function parseNativeGuid(bytes: Uint8Array): Guid {
  const digits = Array.from({ length: GUID_BYTES }, (_, at) =>
    (bytes[ORDER[at] ?? 0] ?? 0).toString(HEX).padStart(2, "0"),
  ).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
