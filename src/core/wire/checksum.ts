/**
 * The Internet checksum (RFC 1071), and its update when a field changes (RFC 1624).
 * Every NAT of ours updates; properties compare each update with a full computation.
 */
import { readU16, readU8 } from "../base/bytes.ts";

/** Adds the 16-bit words of `bytes[start..end)` to `sum`, not folded. An odd last byte counts as the high one. */
export function sumWords(bytes: Uint8Array, start: number, end: number, sum = 0): number {
  let offset = start;
  for (; offset + 1 < end; offset += 2) sum += readU16(bytes, offset);
  if (offset < end) sum += readU8(bytes, offset) << 8;
  return sum;
}

/** Folds carries into 16 bits. */
export function foldSum(sum: number): number {
  // Sums of a 64 KiB packet need 32 bits: fold by division, since shifts would take the sign.
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x1_0000);
  return sum;
}

/** The checksum field for a sum of words. */
export function finishSum(sum: number): number {
  return ~foldSum(sum) & 0xffff;
}

/** The checksum of `bytes[start..end)`, whose own checksum field must hold zero. */
export function checksumOf(bytes: Uint8Array, start: number, end: number): number {
  return finishSum(sumWords(bytes, start, end));
}

/** RFC 1624 equation 3: the field after one 16-bit word at an even offset went from `before` to `after`. */
export function updateChecksum(checksum: number, before: number, after: number): number {
  let sum = (~checksum & 0xffff) + (~before & 0xffff) + after;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** The same for a 32-bit field. Both values may be signed or unsigned. */
export function updateChecksum32(checksum: number, before: number, after: number): number {
  let sum =
    (~checksum & 0xffff) +
    (~(before >>> 16) & 0xffff) +
    (~before & 0xffff) +
    ((after >>> 16) & 0xffff) +
    (after & 0xffff);
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** The sum of a pseudo header (RFC 793, RFC 8200): both addresses at `addresses`, then protocol and length. */
export function pseudoHeaderSum(
  bytes: Uint8Array,
  addresses: number,
  addressBytes: number,
  protocol: number,
  length: number,
): number {
  return (
    sumWords(bytes, addresses, addresses + addressBytes * 2) + protocol + (length >>> 16) + (length & 0xffff)
  );
}

/**
 * A partial checksum after a 32-bit field of the pseudo header changed. A sender that leaves the checksum to its device
 * stores the folded sum of the pseudo header, not complemented (dataplane.md §6.9); ports are no part of it. `checksumOf`
 * over the whole transport packet, that field included, gives the checksum to store.
 */
export function updatePartialSum32(partial: number, before: number, after: number): number {
  return foldSum(
    partial + (~(before >>> 16) & 0xffff) + (~before & 0xffff) + ((after >>> 16) & 0xffff) + (after & 0xffff),
  );
}
