/**
 * Writes one end of a tuple into a packet, checksums with it (RFC 1624), and into the packet that an ICMP error
 * quotes (RFC 5508 §4.2; net/netfilter/nf_nat_proto.c). Nothing else of the packet changes.
 */
import { readI32, readU16, readU32, writeU128, writeU16, writeU32 } from "#core/base/bytes.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Ip, Ipv6 } from "#core/net/ip.ts";
import { coveringChecksumOffset } from "../../vfp/actions/transposition.ts";
import { checksumOf, updateChecksum, updateChecksum32 } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { ICMP_CHECKSUM_OFFSET, ICMP_HEADER_BYTES } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { computeTransportChecksum } from "#core/wire/transport-checksum.ts";
import { udpChecksumField } from "#core/wire/udp.ts";
import { isIcmpErrorAt } from "../ip/icmp-messages.ts";
import { type Side, hasPorts } from "./tuple.ts";

const IPV4_SOURCE_OFFSET = 12;
const IPV4_DESTINATION_OFFSET = 16;
const IPV4_CHECKSUM_OFFSET = 10;
const IPV6_SOURCE_OFFSET = 8;
const IPV6_DESTINATION_OFFSET = 24;
const ECHO_IDENTIFIER_OFFSET = 4;

/** Rewrites one side of the IP packet at `headers` to that of `target`. */
export function rewriteSide(bytes: Uint8Array, headers: Headers, side: Side, target: FiveTuple): void {
  rewriteAddress(bytes, headers, side, side === "source" ? target.source : target.destination);
  if (headers.transport < 0) return;
  if (hasPorts(headers.protocol)) {
    const port = side === "source" ? target.sourcePort : target.destinationPort;
    rewriteWord(bytes, headers, headers.transport + (side === "source" ? 0 : 2), port);
  } else if (isIcmp(headers) && !isIcmpErrorAt(bytes, headers)) {
    rewriteWord(bytes, headers, headers.transport + ECHO_IDENTIFIER_OFFSET, target.sourcePort);
  }
}

/**
 * Rewrites an ICMP error at `headers`: its own side of `target`, and the other side of the packet that it quotes,
 * which travelled the other way, to that of `quoted`.
 */
export function rewriteError(
  bytes: Uint8Array,
  headers: Headers,
  side: Side,
  target: FiveTuple,
  quoted: FiveTuple,
): void {
  const inner = new Headers();
  const start = headers.transport + ICMP_HEADER_BYTES;
  if (inner.parseEmbedded(bytes, start, headers.end) === undefined) {
    rewriteSide(bytes, inner, side === "source" ? "destination" : "source", quoted);
    const field = headers.transport + ICMP_CHECKSUM_OFFSET;
    writeU16(bytes, field, 0);
    if (headers.family === 4) writeU16(bytes, field, checksumOf(bytes, headers.transport, headers.end));
    else
      writeU16(
        bytes,
        field,
        computeTransportChecksum(bytes, headers.network, 6, headers.protocol, headers.transport, headers.end),
      );
  }
  rewriteAddress(bytes, headers, side, side === "source" ? target.source : target.destination);
}

function isIcmp(headers: Headers): boolean {
  return headers.protocol === IpProtocol.icmp || headers.protocol === IpProtocol.icmpv6;
}

function rewriteAddress(bytes: Uint8Array, headers: Headers, side: Side, ip: Ip): void {
  if (headers.family === 6 && typeof ip === "bigint") rewriteIpv6Address(bytes, headers, side, ip);
  if (headers.family !== 4 || typeof ip !== "number") return;
  const at = headers.network + (side === "source" ? IPV4_SOURCE_OFFSET : IPV4_DESTINATION_OFFSET);
  const before = readI32(bytes, at);
  if (before === (ip | 0)) return;
  writeU32(bytes, at, ip);
  const field = headers.network + IPV4_CHECKSUM_OFFSET;
  writeU16(bytes, field, updateChecksum32(readU16(bytes, field), before, ip));
  const covering = checksumField(headers);
  if (covering < 0 || headers.protocol === IpProtocol.icmp) return;
  const checksum = readU16(bytes, covering);
  if (isUncomputed(headers, checksum)) return;
  writeU16(bytes, covering, finishField(headers, updateChecksum32(checksum, before, ip)));
}

/** IPv6 has no header checksum; the pseudo header of every transport, ICMPv6 too, counts its addresses. */
function rewriteIpv6Address(bytes: Uint8Array, headers: Headers, side: Side, ip: Ipv6): void {
  const at = headers.network + (side === "source" ? IPV6_SOURCE_OFFSET : IPV6_DESTINATION_OFFSET);
  const before = [0, 4, 8, 12].map((offset) => readU32(bytes, at + offset));
  writeU128(bytes, at, ip);
  const covering = checksumField(headers);
  if (covering < 0) return;
  let checksum = readU16(bytes, covering);
  if (isUncomputed(headers, checksum)) return;
  for (const [index, word] of before.entries())
    checksum = updateChecksum32(checksum, word, readU32(bytes, at + index * 4));
  writeU16(bytes, covering, finishField(headers, checksum));
}

function rewriteWord(bytes: Uint8Array, headers: Headers, at: number, word: number): void {
  const before = readU16(bytes, at);
  if (before === word) return;
  writeU16(bytes, at, word);
  const field = checksumField(headers);
  if (field < 0) return;
  const checksum = readU16(bytes, field);
  if (isUncomputed(headers, checksum)) return;
  writeU16(bytes, field, finishField(headers, updateChecksum(checksum, before, word)));
}

/** Where the transport's checksum lies; -1 when it has none or an ICMP error quotes less of the packet. */
function checksumField(headers: Headers): number {
  if (headers.transport < 0) return -1;
  const offset = isIcmp(headers) ? ICMP_CHECKSUM_OFFSET : coveringChecksumOffset(headers.protocol);
  const field = headers.transport + offset;
  return offset < 0 || field + 2 > headers.end ? -1 : field;
}

/** RFC 768: zero means that the sender computed none; it stays so. */
function isUncomputed(headers: Headers, checksum: number): boolean {
  return headers.protocol === IpProtocol.udp && checksum === 0;
}

function finishField(headers: Headers, checksum: number): number {
  return headers.protocol === IpProtocol.udp ? udpChecksumField(checksum) : checksum;
}
