/**
 * ICMPv6 (RFC 4443): type 0, code 1, checksum 2, four bytes by type at 4, body 8. Types below 128 are errors and
 * carry the start of the packet they are about. Neighbour discovery is in nd.ts,
 * multicast listener discovery in mld.ts.
 */
import { readU16, readU32, readU8 } from "../../base/bytes.ts";
import { ICMP_CHECKSUM_OFFSET, ICMP_HEADER_BYTES, emitIcmpMessage, icmpMessageLength } from "../icmp.ts";
import type { MalformedReason } from "../malformed.ts";

/** Types that are acted on. Any octet may arrive. */
export const Icmpv6Type = {
  destinationUnreachable: 1,
  packetTooBig: 2,
  timeExceeded: 3,
  parameterProblem: 4,
  echoRequest: 128,
  echoReply: 129,
  listenerQuery: 130,
  /** 131: a report of version 1. */
  listenerDone: 132,
  routerSolicitation: 133,
  routerAdvertisement: 134,
  neighborSolicitation: 135,
  neighborAdvertisement: 136,
  /** Version 2 (RFC 3810). */
  listenerReport: 143,
} as const;

/** Codes of destination unreachable. Any octet may arrive. */
export const Icmpv6Unreachable = {
  noRoute: 0,
  prohibited: 1,
  address: 3,
  port: 4,
} as const;

/** An ICMPv6 message in a frame's own bytes. */
export class Icmpv6View {
  private readonly bytes: Uint8Array;
  readonly start: number;
  /** End of the message. */
  readonly payloadEnd: number;

  private constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.start = start;
    this.payloadEnd = end;
  }

  /** The message in `bytes[start..end)`. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): Icmpv6View | MalformedReason {
    return end - start < ICMP_HEADER_BYTES ? "icmp-truncated" : new Icmpv6View(bytes, start, end);
  }

  get type(): number {
    return readU8(this.bytes, this.start);
  }

  get code(): number {
    return readU8(this.bytes, this.start + 1);
  }

  get checksum(): number {
    return readU16(this.bytes, this.start + ICMP_CHECKSUM_OFFSET);
  }

  get isEcho(): boolean {
    return this.type === Icmpv6Type.echoRequest || this.type === Icmpv6Type.echoReply;
  }

  /** True for messages that carry the start of another packet. */
  get isError(): boolean {
    return this.type < 128;
  }

  /** True for solicitations and advertisements of neighbour discovery (nd.ts). */
  get isDiscovery(): boolean {
    return this.type >= Icmpv6Type.routerSolicitation && this.type <= Icmpv6Type.neighborAdvertisement;
  }

  /** Of an echo. */
  get identifier(): number {
    return readU16(this.bytes, this.start + 4);
  }

  /** Of an echo. */
  get sequence(): number {
    return readU16(this.bytes, this.start + 6);
  }

  /** Of "packet too big": the MTU of the next hop. */
  get mtuBytes(): number {
    return readU32(this.bytes, this.start + 4);
  }

  /** Of a parameter problem: the offset of the octet in question. */
  get pointer(): number {
    return readU32(this.bytes, this.start + 4);
  }

  /** Start of the echo's data, or of the packet that an error is about. */
  get payloadStart(): number {
    return this.start + ICMP_HEADER_BYTES;
  }

  /** What follows the header, as a window on the frame. Allocates the window. */
  get payload(): Uint8Array {
    return this.bytes.subarray(this.payloadStart, this.payloadEnd);
  }
}

/** The messages that stacks send and act on. `invoking` is the start of the packet an error is about, from its IPv6 header. */
export type Icmpv6Repr =
  | {
      readonly type: "echo-request" | "echo-reply";
      readonly identifier: number;
      readonly sequence: number;
      readonly payload: Uint8Array;
    }
  | { readonly type: "destination-unreachable"; readonly code: number; readonly invoking: Uint8Array }
  | { readonly type: "packet-too-big"; readonly mtuBytes: number; readonly invoking: Uint8Array }
  /** Code 0: the hop limit ran out; 1: fragments did not arrive in time. */
  | { readonly type: "time-exceeded"; readonly code: number; readonly invoking: Uint8Array }
  | {
      readonly type: "parameter-problem";
      readonly code: number;
      readonly pointer: number;
      readonly invoking: Uint8Array;
    };

/** Undefined for messages that no stack of ours acts on. Payloads are windows on the frame. */
export function toIcmpv6Repr(view: Icmpv6View): Icmpv6Repr | undefined {
  const { code, payload: body } = view;
  switch (view.type) {
    case Icmpv6Type.echoRequest:
      return { type: "echo-request", identifier: view.identifier, sequence: view.sequence, payload: body };
    case Icmpv6Type.echoReply:
      return { type: "echo-reply", identifier: view.identifier, sequence: view.sequence, payload: body };
    case Icmpv6Type.destinationUnreachable:
      return { type: "destination-unreachable", code, invoking: body };
    case Icmpv6Type.packetTooBig:
      return { type: "packet-too-big", mtuBytes: view.mtuBytes, invoking: body };
    case Icmpv6Type.timeExceeded:
      return { type: "time-exceeded", code, invoking: body };
    case Icmpv6Type.parameterProblem:
      return { type: "parameter-problem", code, pointer: view.pointer, invoking: body };
    default:
      return undefined;
  }
}

/** Bytes that `emitIcmpv6` writes. */
export function icmpv6Length(repr: Icmpv6Repr): number {
  return icmpMessageLength(repr);
}

/** Type and code as one word, and the four bytes that depend on them. */
function headOf(repr: Icmpv6Repr): readonly [typeAndCode: number, rest: number] {
  switch (repr.type) {
    case "echo-request":
      return [Icmpv6Type.echoRequest << 8, (repr.identifier << 16) | repr.sequence];
    case "echo-reply":
      return [Icmpv6Type.echoReply << 8, (repr.identifier << 16) | repr.sequence];
    case "destination-unreachable":
      return [(Icmpv6Type.destinationUnreachable << 8) | repr.code, 0];
    case "packet-too-big":
      return [Icmpv6Type.packetTooBig << 8, repr.mtuBytes];
    case "time-exceeded":
      return [(Icmpv6Type.timeExceeded << 8) | repr.code, 0];
    case "parameter-problem":
      return [(Icmpv6Type.parameterProblem << 8) | repr.code, repr.pointer];
  }
}

/** Writes the message at `offset`, its checksum as 0 (see `fillChecksums`). @returns the bytes written. */
export function emitIcmpv6(repr: Icmpv6Repr, bytes: Uint8Array, offset: number): number {
  return emitIcmpMessage(repr, headOf(repr), bytes, offset);
}
