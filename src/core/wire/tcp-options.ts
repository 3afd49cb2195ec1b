/** TCP options: kind, length, data (RFC 9293 §3.1; RFC 7323 window scale and timestamps; RFC 2018 SACK). */
import { readU16, readU32, readU8, writeU16, writeU32, writeU8 } from "../base/bytes.ts";
import { updateChecksum } from "./checksum.ts";
import type { MalformedReason } from "./malformed.ts";

/** Kind octets of the options that are read. Any octet may arrive. */
export const TcpOptionKind = {
  end: 0,
  nop: 1,
  mss: 2,
  windowScale: 3,
  sackPermitted: 4,
  sack: 5,
  timestamps: 8,
} as const;

/** Where the TCP header, seen from here, keeps its data offset, its checksum and its options. */
const HEADER = { dataOffset: 12, checksum: 16, options: 20 } as const;

/** Bytes `left` to `right - 1` have arrived. */
export interface SackBlock {
  readonly left: number;
  readonly right: number;
}

/** One option. A known kind with a wrong length is `unknown`. */
export type TcpOption =
  | { readonly kind: "nop" }
  | { readonly kind: "mss"; readonly mssBytes: number }
  | { readonly kind: "window-scale"; readonly shift: number }
  | { readonly kind: "sack-permitted" }
  | { readonly kind: "sack"; readonly blocks: readonly SackBlock[] }
  | { readonly kind: "timestamps"; readonly value: number; readonly echo: number }
  | { readonly kind: "unknown"; readonly number: number; readonly data: Uint8Array };

function readSack(bytes: Uint8Array, at: number, length: number): TcpOption {
  const blocks: SackBlock[] = [];
  for (let block = at + 2; block < at + length; block += 8) {
    blocks.push({ left: readU32(bytes, block), right: readU32(bytes, block + 4) });
  }
  return { kind: "sack", blocks };
}

/** The option at `at`, whose length byte is checked. */
function readOption(bytes: Uint8Array, at: number, length: number): TcpOption {
  const number = readU8(bytes, at);
  if (number === TcpOptionKind.mss && length === 4) return { kind: "mss", mssBytes: readU16(bytes, at + 2) };
  if (number === TcpOptionKind.windowScale && length === 3) {
    return { kind: "window-scale", shift: readU8(bytes, at + 2) };
  }
  if (number === TcpOptionKind.sackPermitted && length === 2) return { kind: "sack-permitted" };
  if (number === TcpOptionKind.sack && length > 2 && (length - 2) % 8 === 0)
    return readSack(bytes, at, length);
  if (number === TcpOptionKind.timestamps && length === 10) {
    return { kind: "timestamps", value: readU32(bytes, at + 2), echo: readU32(bytes, at + 6) };
  }
  return { kind: "unknown", number, data: bytes.subarray(at + 2, at + length) };
}

/** The options in option bytes, in order, `nop` included; what follows an end marker is padding. */
export function parseTcpOptions(options: Uint8Array): TcpOption[] | MalformedReason {
  const list: TcpOption[] = [];
  let at = 0;
  while (at < options.length) {
    const kind = readU8(options, at);
    if (kind === TcpOptionKind.end) break;
    if (kind === TcpOptionKind.nop) {
      list.push({ kind: "nop" });
      at++;
      continue;
    }
    const length = at + 1 < options.length ? readU8(options, at + 1) : 0;
    if (length < 2 || at + length > options.length) return "tcp-option-length";
    list.push(readOption(options, at, length));
    at += length;
  }
  return list;
}

function optionLength(option: TcpOption): number {
  switch (option.kind) {
    case "nop":
      return 1;
    case "mss":
      return 4;
    case "window-scale":
      return 3;
    case "sack-permitted":
      return 2;
    case "sack":
      return 2 + option.blocks.length * 8;
    case "timestamps":
      return 10;
    case "unknown":
      return 2 + option.data.length;
  }
}

/** Bytes that `emitTcpOptions` writes: the options, padded to a multiple of 4. */
export function tcpOptionsLength(options: readonly TcpOption[]): number {
  let length = 0;
  for (const option of options) length += optionLength(option);
  return Math.ceil(length / 4) * 4;
}

function emitOption(option: TcpOption, bytes: Uint8Array, at: number): void {
  if (option.kind === "nop") {
    writeU8(bytes, at, TcpOptionKind.nop);
    return;
  }
  writeU8(bytes, at + 1, optionLength(option));
  switch (option.kind) {
    case "mss":
      writeU8(bytes, at, TcpOptionKind.mss);
      writeU16(bytes, at + 2, option.mssBytes);
      return;
    case "window-scale":
      writeU8(bytes, at, TcpOptionKind.windowScale);
      writeU8(bytes, at + 2, option.shift);
      return;
    case "sack-permitted":
      writeU8(bytes, at, TcpOptionKind.sackPermitted);
      return;
    case "sack":
      writeU8(bytes, at, TcpOptionKind.sack);
      for (const [index, block] of option.blocks.entries()) {
        writeU32(bytes, at + 2 + index * 8, block.left);
        writeU32(bytes, at + 6 + index * 8, block.right);
      }
      return;
    case "timestamps":
      writeU8(bytes, at, TcpOptionKind.timestamps);
      writeU32(bytes, at + 2, option.value);
      writeU32(bytes, at + 6, option.echo);
      return;
    case "unknown":
      writeU8(bytes, at, option.number);
      bytes.set(option.data, at + 2);
  }
}

/** Writes the options at `offset`, padded with end markers to a multiple of 4. @returns the bytes written. */
export function emitTcpOptions(options: readonly TcpOption[], bytes: Uint8Array, offset: number): number {
  const length = tcpOptionsLength(options);
  bytes.fill(TcpOptionKind.end, offset, offset + length);
  let at = offset;
  for (const option of options) {
    emitOption(option, bytes, at);
    at += optionLength(option);
  }
  return length;
}

/**
 * Where the first option of `kind` starts in the TCP header at `tcp`, whose data offset is checked; -1 when it is
 * not there or the options before it are broken. Allocates nothing.
 */
export function findTcpOption(bytes: Uint8Array, tcp: number, kind: number): number {
  const end = tcp + (readU8(bytes, tcp + HEADER.dataOffset) >>> 4) * 4;
  let at = tcp + HEADER.options;
  while (at < end) {
    const found = readU8(bytes, at);
    if (found === TcpOptionKind.end) return -1;
    if (found === TcpOptionKind.nop) {
      at++;
      continue;
    }
    const length = at + 1 < end ? readU8(bytes, at + 1) : 0;
    if (length < 2 || at + length > end) return -1;
    if (found === kind) return at;
    at += length;
  }
  return -1;
}

/**
 * Writes the maximum segment size of the TCP header at `tcp` and updates its checksum.
 * @returns false when the header carries no such option: nothing was changed.
 */
export function rewriteTcpMss(bytes: Uint8Array, tcp: number, mssBytes: number): boolean {
  const at = findTcpOption(bytes, tcp, TcpOptionKind.mss);
  if (at < 0 || readU8(bytes, at + 1) !== 4) return false;
  const before = readU16(bytes, at + 2);
  const checksum = readU16(bytes, tcp + HEADER.checksum);
  // An option may lie at an odd offset: its bytes then count swapped in the sum (RFC 1071 §2B).
  const isOdd = ((at - tcp) & 1) !== 0;
  const updated = isOdd
    ? updateChecksum(checksum, swapBytes(before), swapBytes(mssBytes))
    : updateChecksum(checksum, before, mssBytes);
  writeU16(bytes, at + 2, mssBytes);
  writeU16(bytes, tcp + HEADER.checksum, updated);
  return true;
}

function swapBytes(word: number): number {
  return ((word & 0xff) << 8) | (word >>> 8);
}
