/** A TCP segment that arrived, with what the connection reads of it more than once. */
import { readU16, readU32, readU8 } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Headers } from "#core/wire/headers.ts";
import { TcpFlag, TcpView } from "#core/wire/tcp.ts";
import { TcpOptionKind, findTcpOption, type TcpOption } from "#core/wire/tcp-options.ts";
import type { LocalPacket } from "../stack.ts";

/** Both bits set: a router on the way is congested (RFC 3168). */
const ECN_CONGESTION_EXPERIENCED = 3;

export interface TcpSegment {
  readonly source: Ip;
  readonly sourcePort: number;
  readonly destination: Ip;
  readonly destinationPort: number;
  readonly sequence: number;
  readonly acknowledgment: number;
  /** Bits of `TcpFlag`. */
  readonly flags: number;
  /** As on the wire, not scaled. */
  readonly window: number;
  /** Bytes of its own. */
  readonly payload: Uint8Array;
  /** Sequence numbers it takes: payload, SYN and FIN. */
  readonly length: number;
  /** The option bytes. */
  readonly options: Uint8Array;
  /** The timestamps option; undefined without one. */
  readonly timestamps: { readonly value: number; readonly echo: number } | undefined;
  readonly isCongestionExperienced: boolean;
}

/** Reads the segment of a packet whose headers were parsed; undefined when it is broken. */
export function readSegment(local: LocalPacket): TcpSegment | undefined {
  const { packet, headers } = local;
  const view = TcpView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof view === "string") return undefined;
  const flags = view.flags;
  const payload = packet.bytes.slice(view.payloadStart, view.payloadEnd);
  const at = findTcpOption(packet.bytes, view.start, TcpOptionKind.timestamps);
  const hasTimestamps = at >= 0 && readU8(packet.bytes, at + 1) === 10;
  return {
    source: local.source,
    sourcePort: view.sourcePort,
    destination: local.destination,
    destinationPort: view.destinationPort,
    sequence: view.sequence,
    acknowledgment: view.acknowledgment,
    flags,
    window: view.window,
    payload,
    length: payload.length + ((flags & TcpFlag.syn) === 0 ? 0 : 1) + ((flags & TcpFlag.fin) === 0 ? 0 : 1),
    options: view.options.slice(),
    timestamps: hasTimestamps
      ? { value: readU32(packet.bytes, at + 2), echo: readU32(packet.bytes, at + 6) }
      : undefined,
    isCongestionExperienced: readEcn(packet.bytes, headers) === ECN_CONGESTION_EXPERIENCED,
  };
}

/** True when any flag of `mask` is set. */
export function hasFlag(segment: TcpSegment, mask: number): boolean {
  return (segment.flags & mask) !== 0;
}

/** The two bits of congestion notification, which IPv6 keeps across two octets. */
function readEcn(bytes: Uint8Array, headers: Headers): number {
  const word = readU16(bytes, headers.network);
  return headers.family === 6 ? (word >>> 4) & 3 : word & 3;
}

/** What differs from segment to segment of a connection. */
export interface SegmentFields {
  readonly sequence: number;
  readonly acknowledgment: number;
  readonly flags: number;
  readonly window: number;
  readonly options: readonly TcpOption[];
}

/** The ends of a connection, as this side sees them. */
export interface Ends {
  readonly localIp: Ip;
  readonly localPort: number;
  readonly remoteIp: Ip;
  readonly remotePort: number;
}
