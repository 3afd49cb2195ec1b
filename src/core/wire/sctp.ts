/**
 * The few parts of SCTP (RFC 9260 §3) that its refusal needs: the common header, the first chunk, the checksum.
 *
 * From the start of the packet: source port 0, destination port 2, verification tag 4, checksum 8, chunks 12. A chunk: type 0,
 * flags 1, length 2; that of INIT goes on with its initiate tag 4.
 */
import { readU32, readU8, writeU16, writeU32, writeU8 } from "../base/bytes.ts";

export const SCTP_HEADER_BYTES = 12;
const TAG_AT = 4;
const CHECKSUM_AT = 8;
const CHUNK_HEADER_BYTES = 4;
const INIT_BYTES_MIN = 20;
const CHUNK = { init: 1, abort: 6 } as const;
/** The tag of an ABORT is that of the packet that it answers (RFC 9260 §3.3.7). */
const TAG_REFLECTED = 1;

const CASTAGNOLI = 0x82f6_3b78;

/** CRC32c of `bytes[start..end)`, as RFC 9260, appendix A, has it: the low byte is sent first. */
function crc32c(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0xffff_ffff;
  for (let at = start; at < end; at++) {
    crc ^= readU8(bytes, at);
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ CASTAGNOLI : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** The checksum of the SCTP packet in `bytes[start..end)`, as the 32 bits of its field. */
export function sctpChecksum(bytes: Uint8Array, start: number, end: number): number {
  const copy = bytes.slice(start, end);
  writeU32(copy, CHECKSUM_AT, 0);
  const crc = crc32c(copy, 0, copy.length);
  return ((crc << 24) | ((crc & 0xff00) << 8) | ((crc >>> 8) & 0xff00) | (crc >>> 24)) >>> 0;
}

/** The checksum that stands in the packet. */
export function readSctpChecksum(bytes: Uint8Array, start: number): number {
  return readU32(bytes, start + CHECKSUM_AT);
}

export function writeSctpChecksum(bytes: Uint8Array, start: number, checksum: number): void {
  writeU32(bytes, start + CHECKSUM_AT, checksum);
}

/**
 * The ABORT that refuses the SCTP packet in `bytes[start..end)` (RFC 9260 §8.4), its ports turned round. Undefined for what has
 * no whole first chunk, and for an ABORT, which nothing answers.
 */
export function buildSctpAbort(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  const chunk = start + SCTP_HEADER_BYTES;
  if (end < chunk + CHUNK_HEADER_BYTES) return undefined;
  const type = readU8(bytes, chunk);
  if (type === CHUNK.abort || (type === CHUNK.init && end < chunk + INIT_BYTES_MIN)) return undefined;
  const tag = readU32(bytes, start + TAG_AT);
  const isOpening = type === CHUNK.init && tag === 0;
  const abort = new Uint8Array(SCTP_HEADER_BYTES + CHUNK_HEADER_BYTES);
  abort.set(bytes.subarray(start + 2, start + 4), 0);
  abort.set(bytes.subarray(start, start + 2), 2);
  writeU32(abort, TAG_AT, isOpening ? readU32(bytes, chunk + CHUNK_HEADER_BYTES) : tag);
  writeU8(abort, SCTP_HEADER_BYTES, CHUNK.abort);
  writeU8(abort, SCTP_HEADER_BYTES + 1, isOpening ? 0 : TAG_REFLECTED);
  writeU16(abort, SCTP_HEADER_BYTES + 2, CHUNK_HEADER_BYTES);
  writeSctpChecksum(abort, 0, sctpChecksum(abort, 0, abort.length));
  return abort;
}
