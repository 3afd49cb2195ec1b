/**
 * The checksums of a whole frame: IPv4 header, TCP, UDP, ICMP, ICMPv6 (dataplane.md §6.8).
 *
 * Host stacks fill and verify them; NAT never comes here, it updates (`updateChecksum`). The checksum of a fragmented
 * datagram covers all its fragments, so that of a fragment is left alone; so is that of an IPv6 packet whose routing
 * header still has hops to make, because its pseudo header names the last one.
 */
import { readU16, readU8, writeU16 } from "../base/bytes.ts";
import { finishSum, foldSum, pseudoHeaderSum, sumWords } from "./checksum.ts";
import type { Headers } from "./headers.ts";
import { ICMP_CHECKSUM_OFFSET } from "./icmp.ts";
import { IpProtocol } from "./ip-protocol.ts";
import { writeIpv4Checksum } from "./ipv4.ts";
import { Ipv6ExtensionType, listIpv6Extensions } from "./ipv6.ts";
import { TCP_CHECKSUM_OFFSET } from "./tcp.ts";
import { UDP_CHECKSUM_OFFSET, udpChecksumField } from "./udp.ts";
import { GENEVE_PORT } from "./tunnels/geneve.ts";
import { VXLAN_PORT } from "./tunnels/vxlan.ts";

/** A checksum that does not fit its bytes. */
export interface ChecksumProblem {
  readonly header: "ipv4" | "tcp" | "udp" | "icmp" | "icmpv6";
  readonly found: number;
  readonly expected: number;
}

const IPV4_CHECKSUM_OFFSET = 10;

/** Where the checksum lies in a transport header; -1 for protocols without one that is known here. */
export function transportChecksumOffset(protocol: number): number {
  switch (protocol) {
    case IpProtocol.tcp:
      return TCP_CHECKSUM_OFFSET;
    case IpProtocol.udp:
      return UDP_CHECKSUM_OFFSET;
    case IpProtocol.icmp:
    case IpProtocol.icmpv6:
      return ICMP_CHECKSUM_OFFSET;
    default:
      return -1;
  }
}

/**
 * The sum of the pseudo header of the transport packet of `length` bytes; 0 for ICMP, which has none.
 * `network` is where the IP header starts.
 */
export function transportPseudoSum(
  bytes: Uint8Array,
  network: number,
  family: 4 | 6,
  protocol: number,
  length: number,
): number {
  if (protocol === IpProtocol.icmp) return 0;
  return family === 4
    ? pseudoHeaderSum(bytes, network + 12, 4, protocol, length)
    : pseudoHeaderSum(bytes, network + 8, 16, protocol, length);
}

/** The checksum field that the transport packet in `bytes[start..end)` ought to have, whatever it has. */
export function computeTransportChecksum(
  bytes: Uint8Array,
  network: number,
  family: 4 | 6,
  protocol: number,
  start: number,
  end: number,
): number {
  const field = start + transportChecksumOffset(protocol);
  const sum = sumWords(bytes, start, end) + transportPseudoSum(bytes, network, family, protocol, end - start);
  // The field lies at an even offset, so that its word can be left out of the sum.
  const checksum = finishSum(foldSum(sum - readU16(bytes, field)));
  return protocol === IpProtocol.udp ? udpChecksumField(checksum) : checksum;
}

/** The end of what the transport checksum covers: UDP says it itself. */
function coveredEnd(bytes: Uint8Array, headers: Headers): number {
  return headers.protocol === IpProtocol.udp
    ? headers.transport + readU16(bytes, headers.transport + 4)
    : headers.end;
}

/** True while a routing header names further hops: the destination is then not yet the last one. */
function hasHopsLeft(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.family !== 6 || readU8(bytes, headers.network + 6) === headers.protocol) return false;
  const extensions = listIpv6Extensions(bytes, headers.network, headers.end);
  if (typeof extensions === "string") return false;
  return extensions.some(
    (extension) => extension.type === Ipv6ExtensionType.routing && readU8(bytes, extension.start + 3) !== 0,
  );
}

/** The checksum that the frame's transport header ought to have; undefined when it cannot be known. */
function expectedTransportChecksum(bytes: Uint8Array, headers: Headers): number | undefined {
  if (headers.family === 0 || headers.transport < 0 || headers.isFragment) return undefined;
  if (transportChecksumOffset(headers.protocol) < 0 || hasHopsLeft(bytes, headers)) return undefined;
  const { network, family, protocol, transport } = headers;
  return computeTransportChecksum(bytes, network, family, protocol, transport, coveredEnd(bytes, headers));
}

/**
 * Computes and writes all checksums of a frame that `headers` has parsed from `bytes`. A UDP checksum is computed
 * even where it was zero.
 */
export function fillChecksums(bytes: Uint8Array, headers: Headers): void {
  if (headers.family === 4) writeIpv4Checksum(bytes, headers.network);
  const checksum = expectedTransportChecksum(bytes, headers);
  if (checksum === undefined) return;
  writeU16(bytes, headers.transport + transportChecksumOffset(headers.protocol), checksum);
}

function verifyIpv4Header(bytes: Uint8Array, headers: Headers): ChecksumProblem | undefined {
  const at = headers.network;
  const end = at + (readU8(bytes, at) & 0x0f) * 4;
  const found = readU16(bytes, at + IPV4_CHECKSUM_OFFSET);
  const sum = sumWords(bytes, at, end);
  if (foldSum(sum) === 0xffff) return undefined;
  return { header: "ipv4", found, expected: finishSum(sum - found) };
}

function headerName(protocol: number): ChecksumProblem["header"] {
  switch (protocol) {
    case IpProtocol.tcp:
      return "tcp";
    case IpProtocol.udp:
      return "udp";
    case IpProtocol.icmp:
      return "icmp";
    default:
      return "icmpv6";
  }
}

/** True where a UDP checksum of zero may stay: on IPv4 (RFC 768), and on IPv6 for tunnels (RFC 6935). */
function mayLackUdpChecksum(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.family === 4) return true;
  const port = readU16(bytes, headers.transport + 2);
  return port === VXLAN_PORT || port === GENEVE_PORT;
}

/**
 * The first wrong checksum of a frame that `headers` has parsed from `bytes`; undefined when all that can be
 * verified is right. The packet inside a tunnel or an ICMP error is not looked at.
 */
export function verifyChecksums(bytes: Uint8Array, headers: Headers): ChecksumProblem | undefined {
  if (headers.family === 4) {
    const problem = verifyIpv4Header(bytes, headers);
    if (problem !== undefined) return problem;
  }
  const expected = expectedTransportChecksum(bytes, headers);
  if (expected === undefined) return undefined;
  const found = readU16(bytes, headers.transport + transportChecksumOffset(headers.protocol));
  if (headers.protocol === IpProtocol.udp) {
    if (found === 0 && mayLackUdpChecksum(bytes, headers)) return undefined;
    return found === expected ? undefined : { header: "udp", found, expected };
  }
  // Both zeros of ones' complement count as one: 0xffff in place of 0 verifies.
  return found === expected || (found === 0xffff && expected === 0)
    ? undefined
    : { header: headerName(headers.protocol), found, expected };
}
