/**
 * Multicast listener discovery, version 2 (RFC 3810): who on a link listens to which groups. ICMPv6 messages with a hop
 * limit of 1 behind a router alert (RFC 2711), which is in the IPv6 header's hands: see `MLD_ROUTER_ALERT`.
 *
 * From the start of the message: a query has the maximum response code at 4, the group at 8, robustness at 24, the querier's
 * interval at 25, the number of sources at 26; without the last eight bytes it is one of version 1. A report has the number
 * of records at 6 and records from 8: type 0, words of auxiliary data 1, sources 2, group 4, the sources 20.
 */
import { assert } from "../../base/assert.ts";
import { readU128, readU16, readU8, writeU128, writeU16, writeU32, writeU8 } from "../../base/bytes.ts";
import type { Ipv6 } from "../../net/ip.ts";
import { ICMP_CHECKSUM_OFFSET } from "../icmp.ts";
import { Icmpv6Type } from "./icmpv6.ts";
import { type Ipv6Extension, Ipv6ExtensionType } from "../ipv6.ts";
import type { MalformedReason } from "../malformed.ts";

/** The hop limit of every message: they never leave their link (RFC 3810 §5). */
export const MLD_HOP_LIMIT = 1;
/** Option 5 with the value 0: routers shall look at MLD (RFC 2711 §2.1). */
export const MLD_ROUTER_ALERT: Ipv6Extension = Object.freeze({
  type: Ipv6ExtensionType.hopByHop,
  data: Uint8Array.of(5, 2, 0, 0),
});
/** ff02::16, all routers that know version 2. */
export const MLD_ROUTERS = 0xff02_0000_0000_0000_0000_0000_0000_0016n as Ipv6;

const QUERY_BYTES = { v1: 24, v2: 28 } as const;
const REPORT_HEADER_BYTES = 8;
const RECORD_BYTES = 20;
const ADDRESS_BYTES = 16;
/** From here on a response code is a floating-point number (RFC 3810 §5.1.3). */
const EXPONENTIAL_FROM = 0x8000;

/** What a record says of a group (RFC 3810 §5.2.12). `exclude` without sources: all that is sent to it is wanted. */
export const MLD_RECORDS = [
  "is-include",
  "is-exclude",
  "to-include",
  "to-exclude",
  "allow",
  "block",
] as const;
export type MldRecordKind = (typeof MLD_RECORDS)[number];

export interface MldRecord {
  readonly kind: MldRecordKind;
  readonly group: Ipv6;
  readonly sources: readonly Ipv6[];
}

/** A message as a value. */
export type MldRepr =
  | {
      readonly type: "query";
      /** Below 32768: what is longer is not asked for here. */
      readonly maxResponseMs: number;
      /** `::`: all groups. */
      readonly group: Ipv6;
      /** How often a report is to be sent. */
      readonly robustness: number;
      readonly intervalSeconds: number;
      readonly sources: readonly Ipv6[];
    }
  | { readonly type: "report"; readonly records: readonly MldRecord[] };

/** True for ICMPv6 types of listener discovery, of both versions. */
export function isMldType(type: number): boolean {
  return (
    (type >= Icmpv6Type.listenerQuery && type <= Icmpv6Type.listenerDone) ||
    type === Icmpv6Type.listenerReport
  );
}

/** Bytes that `emitMld` writes. */
export function mldLength(repr: MldRepr): number {
  if (repr.type === "query") return QUERY_BYTES.v2 + repr.sources.length * ADDRESS_BYTES;
  const sources = repr.records.reduce((sum, record) => sum + record.sources.length, 0);
  return REPORT_HEADER_BYTES + repr.records.length * RECORD_BYTES + sources * ADDRESS_BYTES;
}

function emitAddresses(addresses: readonly Ipv6[], bytes: Uint8Array, offset: number): void {
  for (const [index, address] of addresses.entries())
    writeU128(bytes, offset + index * ADDRESS_BYTES, address);
}

/** Writes the message at `offset`, its checksum as 0 (see `fillChecksums`). @returns the bytes written. */
export function emitMld(repr: MldRepr, bytes: Uint8Array, offset: number): number {
  const isQuery = repr.type === "query";
  writeU16(bytes, offset, (isQuery ? Icmpv6Type.listenerQuery : Icmpv6Type.listenerReport) << 8);
  writeU16(bytes, offset + ICMP_CHECKSUM_OFFSET, 0);
  if (repr.type === "query") {
    assert(repr.maxResponseMs < EXPONENTIAL_FROM, "a response time is written as it is");
    writeU32(bytes, offset + 4, repr.maxResponseMs << 16);
    writeU128(bytes, offset + 8, repr.group);
    writeU8(bytes, offset + 24, repr.robustness & 0x07);
    writeU8(bytes, offset + 25, repr.intervalSeconds);
    writeU16(bytes, offset + 26, repr.sources.length);
    emitAddresses(repr.sources, bytes, offset + QUERY_BYTES.v2);
    return mldLength(repr);
  }
  writeU32(bytes, offset + 4, repr.records.length);
  let at = offset + REPORT_HEADER_BYTES;
  for (const { kind, group, sources } of repr.records) {
    writeU8(bytes, at, MLD_RECORDS.indexOf(kind) + 1);
    writeU8(bytes, at + 1, 0);
    writeU16(bytes, at + 2, sources.length);
    writeU128(bytes, at + 4, group);
    emitAddresses(sources, bytes, at + RECORD_BYTES);
    at += RECORD_BYTES + sources.length * ADDRESS_BYTES;
  }
  return at - offset;
}

function readAddresses(bytes: Uint8Array, offset: number, count: number): readonly Ipv6[] {
  return Array.from({ length: count }, (_, index) => readU128(bytes, offset + index * ADDRESS_BYTES) as Ipv6);
}

/** RFC 3810 §5.1.3. */
function responseMsOf(code: number): number {
  if (code < EXPONENTIAL_FROM) return code;
  return ((code & 0x0fff) | 0x1000) << (((code >>> 12) & 0x07) + 3);
}

function parseQuery(bytes: Uint8Array, start: number, end: number): MldRepr | MalformedReason {
  if (end - start < QUERY_BYTES.v1) return "mld-truncated";
  const base = {
    type: "query",
    maxResponseMs: responseMsOf(readU16(bytes, start + 4)),
    group: readU128(bytes, start + 8) as Ipv6,
  } as const;
  // RFC 3810 §8.1: by their length the versions are told apart.
  if (end - start === QUERY_BYTES.v1) return { ...base, robustness: 0, intervalSeconds: 0, sources: [] };
  if (end - start < QUERY_BYTES.v2) return "mld-truncated";
  const count = readU16(bytes, start + 26);
  if (QUERY_BYTES.v2 + count * ADDRESS_BYTES > end - start) return "mld-truncated";
  return {
    ...base,
    robustness: readU8(bytes, start + 24) & 0x07,
    intervalSeconds: readU8(bytes, start + 25),
    sources: readAddresses(bytes, start + QUERY_BYTES.v2, count),
  };
}

function parseReport(bytes: Uint8Array, start: number, end: number): MldRepr | MalformedReason {
  const records: MldRecord[] = [];
  let at = start + REPORT_HEADER_BYTES;
  for (let left = readU16(bytes, start + 6); left > 0; left--) {
    if (end - at < RECORD_BYTES) return "mld-truncated";
    const count = readU16(bytes, at + 2);
    const length = RECORD_BYTES + count * ADDRESS_BYTES + readU8(bytes, at + 1) * 4;
    if (length > end - at) return "mld-truncated";
    const kind = MLD_RECORDS[readU8(bytes, at) - 1];
    // RFC 3810 §5.2.12: records of an unknown type are passed over.
    if (kind !== undefined)
      records.push({
        kind,
        group: readU128(bytes, at + 4) as Ipv6,
        sources: readAddresses(bytes, at + RECORD_BYTES, count),
      });
    at += length;
  }
  return { type: "report", records };
}

/** The query, or the report of version 2, in `bytes[start..end)`. Undefined: another message. */
export function parseMld(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): MldRepr | MalformedReason | undefined {
  if (end - start < REPORT_HEADER_BYTES) return "icmp-truncated";
  const type = readU8(bytes, start);
  if (type === Icmpv6Type.listenerQuery) return parseQuery(bytes, start, end);
  return type === Icmpv6Type.listenerReport ? parseReport(bytes, start, end) : undefined;
}
