/**
 * Which source port a translated connection gets (net/netfilter/nf_nat_core.c, `nf_nat_l4proto_unique_tuple`): its own
 * while nobody else has it, else another of the same class. The kernel begins to search at a random port, here it
 * begins behind the own one.
 */
import type { FiveTuple } from "#core/net/five-tuple.ts";
import type { Ip } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { ConnectionTable } from "./connection-table.ts";
import { hasPorts } from "./tuple.ts";

const ANY_IDENTIFIER: PortRange = { first: 0, last: 65_535 };

/** Ports that may stand in for `port`: privileged ones only for privileged ones. */
function rangeOf(port: number): PortRange {
  if (port < 512) return { first: 1, last: 511 };
  return port < 1_024 ? { first: 600, last: 1_023 } : { first: 1_024, last: 65_535 };
}

function isEchoProtocol(protocol: number): boolean {
  return protocol === IpProtocol.icmp || protocol === IpProtocol.icmpv6;
}

function withSource(reply: FiveTuple, source: Ip, port: number): FiveTuple {
  return isEchoProtocol(reply.protocol)
    ? { ...reply, destination: source, sourcePort: port }
    : { ...reply, destination: source, destinationPort: port };
}

/**
 * The reply tuple of a connection that gets `source` as its source address; undefined when all ports are taken.
 * For an echo the identifier is the port.
 */
export function claimSource(
  table: ConnectionTable,
  reply: FiveTuple,
  source: Ip,
  nowMs: number,
): FiveTuple | undefined {
  const isEcho = isEchoProtocol(reply.protocol);
  const wanted = isEcho ? reply.sourcePort : reply.destinationPort;
  const kept = withSource(reply, source, wanted);
  if (table.isFree(kept, nowMs)) return kept;
  if (!isEcho && !hasPorts(reply.protocol)) return undefined;
  const { first, last } = isEcho ? ANY_IDENTIFIER : rangeOf(wanted);
  const count = last - first + 1;
  for (let step = 1; step <= count; step++) {
    const port = first + ((wanted - first + step + count) % count);
    const tuple = withSource(reply, source, port);
    if (table.isFree(tuple, nowMs)) return tuple;
  }
  return undefined;
}
