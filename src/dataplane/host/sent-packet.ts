/** Finds the socket that a packet was sent from: for ICMP errors and for failures of the own stack. */
import { readU16, readU32 } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

/** What tells the socket that sent a packet. */
export interface SentPacket {
  readonly protocol: number;
  readonly source: Ip;
  readonly destination: Ip;
  /** Ports of TCP and UDP; identifier and sequence number of an echo. */
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** Of TCP, otherwise 0. */
  readonly sequence: number;
}

/** Reads a packet that `headers` has parsed, whole or embedded; undefined when no socket can have sent it. */
export function readSentPacket(bytes: Uint8Array, headers: Headers): SentPacket | undefined {
  const at = headers.transport;
  if (headers.family === 0 || at < 0) return undefined;
  const addresses = { source: sourceIp(bytes, headers), destination: destinationIp(bytes, headers) };
  const protocol = headers.protocol;
  switch (protocol) {
    case IpProtocol.tcp:
    case IpProtocol.udp: {
      const sequence = protocol === IpProtocol.tcp ? readU32(bytes, at + 4) : 0;
      return {
        protocol,
        ...addresses,
        sourcePort: readU16(bytes, at),
        destinationPort: readU16(bytes, at + 2),
        sequence,
      };
    }
    case IpProtocol.icmp:
    case IpProtocol.icmpv6:
      return {
        protocol,
        ...addresses,
        sourcePort: readU16(bytes, at + 4),
        destinationPort: readU16(bytes, at + 6),
        sequence: 0,
      };
    default:
      return undefined;
  }
}
