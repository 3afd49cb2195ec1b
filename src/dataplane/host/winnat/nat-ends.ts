/** The two ends of a packet as WinNAT sees them: the one behind the host or of the host, and the remote one. */
import { readU8 } from "#core/base/bytes.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { Headers } from "#core/wire/headers.ts";
import { ICMP_HEADER_BYTES, IcmpType, isIcmpError } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { type Side, hasPorts, readTuple } from "../netfilter/tuple.ts";

/** An echo has its identifier as the local port and 0 as the remote one. */
export interface NatEnds {
  readonly protocol: number;
  readonly ip: Ipv4;
  readonly port: number;
  readonly remote: Ipv4;
  readonly remotePort: number;
}

/** The key of one local end, or of anything with these three. */
export function localKey(protocol: number, ip: Ipv4, port: number): string {
  return `${protocol}/${ip}/${port}`;
}

export function remoteKey({ remote, remotePort }: Pick<NatEnds, "remote" | "remotePort">): string {
  return `${remote}/${remotePort}`;
}

/** Undefined for what WinNAT does not translate. `local` says which side of the packet is not the remote one. */
export function readEnds(bytes: Uint8Array, headers: Headers, local: Side): NatEnds | undefined {
  const tuple = readTuple(bytes, headers);
  if (tuple === undefined) return undefined;
  const { protocol, source, destination } = tuple;
  if (typeof source !== "number" || typeof destination !== "number") return undefined;
  const [ip, remote] = local === "source" ? [source, destination] : [destination, source];
  if (protocol === IpProtocol.icmp) {
    const wanted = local === "source" ? IcmpType.echoRequest : IcmpType.echoReply;
    return tuple.destinationPort === wanted
      ? { protocol, ip, port: tuple.sourcePort, remote, remotePort: 0 }
      : undefined;
  }
  if (!hasPorts(protocol)) return undefined;
  const [port, remotePort] =
    local === "source"
      ? [tuple.sourcePort, tuple.destinationPort]
      : [tuple.destinationPort, tuple.sourcePort];
  return { protocol, ip, port, remote, remotePort };
}

/**
 * The ends of the packet that an ICMP error quotes; `local` is the side of the error itself, and the quoted packet
 * travelled the other way. Undefined: no error, or nothing that can be translated.
 */
export function readQuotedEnds(bytes: Uint8Array, headers: Headers, local: Side): NatEnds | undefined {
  if (!isError(bytes, headers)) return undefined;
  const quoted = new Headers();
  const start = headers.transport + ICMP_HEADER_BYTES;
  if (quoted.parseEmbedded(bytes, start, headers.end) !== undefined) return undefined;
  return readEnds(bytes, quoted, local === "source" ? "destination" : "source");
}

export function isError(bytes: Uint8Array, headers: Headers): boolean {
  const { family, protocol, fragmentOffset, transport } = headers;
  if (family !== 4 || protocol !== IpProtocol.icmp || fragmentOffset !== 0 || transport < 0) return false;
  return isIcmpError(readU8(bytes, transport));
}

/** A tuple whose `side` is this address and port; the other side is not looked at. */
export function tupleWith(side: Side, protocol: number, ip: Ipv4, port: number): FiveTuple {
  const zero = 0 as Ipv4;
  // An echo's identifier stands in `sourcePort`, whichever side is rewritten.
  const isEcho = protocol === IpProtocol.icmp;
  return side === "source"
    ? { protocol, source: ip, sourcePort: port, destination: zero, destinationPort: 0 }
    : { protocol, source: zero, sourcePort: isEcho ? port : 0, destination: ip, destinationPort: port };
}
