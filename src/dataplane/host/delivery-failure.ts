/** Why a packet that was sent did not arrive, as the network or the own stack reported it, or was not sent at all. */
import type { Ip } from "#core/net/ip.ts";
import { readU16, readU32 } from "#core/base/bytes.ts";
import { type Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

/** The kinds of ICMP errors that sockets hear of. */
export type FailureReason =
  | "net-unreachable"
  | "host-unreachable"
  | "protocol-unreachable"
  | "port-unreachable"
  | "fragmentation-needed"
  | "administratively-prohibited"
  | "ttl-expired"
  | "reassembly-timed-out";

/** One report about a packet of ours. */
export interface DeliveryFailure {
  readonly reason: FailureReason;
  /** Who sent the ICMP error; undefined when the own stack found out. */
  readonly reporter: Ip | undefined;
  /** With `fragmentation-needed`: the largest IP packet that passes, in bytes; 0 when the reporter did not say. */
  readonly mtuBytes: number;
}

/** What a person reads about a failure, without a full stop. */
export const FAILURE_TEXTS: Readonly<Record<FailureReason, string>> = Object.freeze({
  "net-unreachable": "destination network unreachable",
  "host-unreachable": "destination host unreachable",
  "protocol-unreachable": "destination protocol unreachable",
  "port-unreachable": "destination port unreachable",
  "fragmentation-needed": "packet is too large and may not be fragmented",
  "administratively-prohibited": "administratively prohibited",
  "ttl-expired": "TTL expired in transit",
  "reassembly-timed-out": "fragment reassembly time exceeded",
});

/** ICMPv4 type and code (RFC 792, RFC 1122, RFC 1812) of each failure. */
export const FAILURE_ICMP: Readonly<Record<FailureReason, { readonly type: number; readonly code: number }>> =
  Object.freeze({
    "net-unreachable": { type: 3, code: 0 },
    "host-unreachable": { type: 3, code: 1 },
    "protocol-unreachable": { type: 3, code: 2 },
    "port-unreachable": { type: 3, code: 3 },
    "fragmentation-needed": { type: 3, code: 4 },
    "administratively-prohibited": { type: 3, code: 13 },
    "ttl-expired": { type: 11, code: 0 },
    "reassembly-timed-out": { type: 11, code: 1 },
  });

/** The failure that an ICMPv4 error stands for; undefined when it is no error that sockets hear of. */
export function failureOfIcmp(type: number, code: number): FailureReason | undefined {
  if (type === 11) return code === 0 ? "ttl-expired" : "reassembly-timed-out";
  if (type !== 3) return undefined;
  switch (code) {
    case 0:
    case 5:
    case 6:
    case 11:
      return "net-unreachable";
    case 2:
      return "protocol-unreachable";
    case 3:
      return "port-unreachable";
    case 4:
      return "fragmentation-needed";
    case 9:
    case 10:
    case 13:
      return "administratively-prohibited";
    default:
      return "host-unreachable";
  }
}

/** Why a stack refused at once to send or to open a socket. */
export type SocketFailure =
  /** There is no route to the destination, or no address to send from. */
  | "no-route"
  /** The port, or the pair of addresses and ports, is in use. */
  | "port-in-use"
  /** All ephemeral ports are in use. */
  | "no-free-port"
  /** The given source is no address of the compartment. */
  | "address-not-local"
  /** `LIMITS.socketsPerCompartmentMax` is reached. */
  | "too-many-sockets"
  /** The system refuses sockets to the compartment (WSAEACCES), a known defect (docs: dataplane.md §9, F-27). */
  | "access-denied"
  /** The packet does not fit and may not be fragmented. */
  | "message-too-long";

/** What a person reads, without a full stop. */
export const SOCKET_FAILURE_TEXTS: Readonly<Record<SocketFailure, string>> = Object.freeze({
  "no-route": "no route to the destination",
  "port-in-use": "the port is in use",
  "no-free-port": "all ephemeral ports are in use",
  "address-not-local": "the source is not an address of this compartment",
  "access-denied": "access to sockets is denied (10013, WSAEACCES; ping says General failure)",
  "too-many-sockets": "the compartment has too many sockets",
  "message-too-long": "the packet is too long and may not be fragmented",
});

// Finds the socket that a packet was sent from: for ICMP errors and for failures of the own stack.

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
