/**
 * What a connection is known by: the addresses and ports of one direction (net/netfilter/nf_conntrack_core.c).
 *
 * An ICMP echo has its identifier as source port and its type as destination port in both directions, as the kernel
 * keeps them; every other protocol without ports has zeros.
 */
import { readU16, readU8 } from "#core/base/bytes.ts";
import { type FiveTuple, formatSocketAddress, reverseTuple } from "#core/net/five-tuple.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IcmpType } from "#core/wire/icmp.ts";
import { Icmpv6Type } from "#core/wire/icmpv6/icmpv6.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

/** The end of a packet that a translation changes. */
export type Side = "source" | "destination";

/** The types of an echo, by protocol: ICMP, ICMPv6. */
const ECHO_TYPES: Readonly<Record<number, { readonly request: number; readonly reply: number }>> =
  Object.freeze({
    [IpProtocol.icmp]: { request: IcmpType.echoRequest, reply: IcmpType.echoReply },
    [IpProtocol.icmpv6]: { request: Icmpv6Type.echoRequest, reply: Icmpv6Type.echoReply },
  });

/** True for the tuple of an answered echo. */
export function isEchoReply(tuple: FiveTuple): boolean {
  return ECHO_TYPES[tuple.protocol]?.reply === tuple.destinationPort;
}

/** The tuple that the answer to `tuple` has. */
export function invertTuple(tuple: FiveTuple): FiveTuple {
  const types = ECHO_TYPES[tuple.protocol];
  if (types === undefined) return reverseTuple(tuple);
  const isRequest = tuple.destinationPort === types.request;
  return {
    ...tuple,
    source: tuple.destination,
    destination: tuple.source,
    destinationPort: isRequest ? types.reply : types.request,
  };
}

/** `tuple` as the key of a map. */
export function tupleKey(tuple: FiveTuple): string {
  return `${tuple.protocol}/${tuple.source}/${tuple.sourcePort}/${tuple.destination}/${tuple.destinationPort}`;
}

/** Reads the tuple of a packet, whole or embedded; undefined for ICMP that is no echo and for later fragments. */
export function readTuple(bytes: Uint8Array, headers: Headers): FiveTuple | undefined {
  if (headers.family === 0 || headers.fragmentOffset !== 0) return undefined;
  const { protocol, transport: at } = headers;
  const source = sourceIp(bytes, headers);
  const destination = destinationIp(bytes, headers);
  switch (protocol) {
    case IpProtocol.tcp:
    case IpProtocol.udp:
      if (at < 0) return undefined;
      return {
        protocol,
        source,
        sourcePort: readU16(bytes, at),
        destination,
        destinationPort: readU16(bytes, at + 2),
      };
    case IpProtocol.icmp:
    case IpProtocol.icmpv6: {
      const type = at < 0 ? -1 : readU8(bytes, at);
      const types = ECHO_TYPES[protocol];
      if (type !== types?.request && type !== types?.reply) return undefined;
      return { protocol, source, sourcePort: readU16(bytes, at + 4), destination, destinationPort: type };
    }
    default:
      return { protocol, source, sourcePort: 0, destination, destinationPort: 0 };
  }
}

export function hasPorts(protocol: number): boolean {
  return protocol === IpProtocol.tcp || protocol === IpProtocol.udp;
}

/** Formats one end for people: `10.96.0.10:80`, or the address alone where there is no port. */
export function formatEnd(tuple: FiveTuple, side: Side): string {
  const ip: Ip = side === "source" ? tuple.source : tuple.destination;
  const port = side === "source" ? tuple.sourcePort : tuple.destinationPort;
  return hasPorts(tuple.protocol) ? formatSocketAddress(ip, port) : formatIp(ip);
}
