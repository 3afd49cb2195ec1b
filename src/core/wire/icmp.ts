/**
 * ICMP for IPv4 (RFC 792, RFC 1191): type 0, code 1, checksum 2, four bytes by type at 4, body 8.
 * Errors carry the start of the packet they are about.
 */
import { readU16, readU8, writeU16, writeU32 } from "../base/bytes.ts";
import type { MalformedReason } from "./malformed.ts";

export const ICMP_HEADER_BYTES = 8;
/** Where the checksum lies, in ICMP and ICMPv6. */
export const ICMP_CHECKSUM_OFFSET = 2;

/** Types that are acted on. Any octet may arrive. */
export const IcmpType = {
  echoReply: 0,
  destinationUnreachable: 3,
  redirect: 5,
  echoRequest: 8,
  timeExceeded: 11,
  parameterProblem: 12,
  timestampRequest: 13,
  timestampReply: 14,
} as const;

/** Codes of destination unreachable. Any octet may arrive. */
export const IcmpUnreachable = {
  network: 0,
  host: 1,
  protocol: 2,
  port: 3,
  fragmentationNeeded: 4,
  networkProhibited: 9,
  hostProhibited: 10,
  communicationProhibited: 13,
} as const;

/** An ICMP message in a frame's own bytes. */
export class IcmpView {
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
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): IcmpView | MalformedReason {
    return end - start < ICMP_HEADER_BYTES ? "icmp-truncated" : new IcmpView(bytes, start, end);
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
    return this.type === IcmpType.echoRequest || this.type === IcmpType.echoReply;
  }

  /** True for messages that carry the start of another packet. */
  get isError(): boolean {
    return isIcmpError(this.type);
  }

  /** Of an echo or timestamp. */
  get identifier(): number {
    return readU16(this.bytes, this.start + 4);
  }

  /** Of an echo. */
  get sequence(): number {
    return readU16(this.bytes, this.start + 6);
  }

  /** Of "fragmentation needed": the MTU of the next hop; 0 from routers older than RFC 1191. */
  get mtuBytes(): number {
    return readU16(this.bytes, this.start + 6);
  }

  /** Of a parameter problem: the offset of the octet in question. */
  get pointer(): number {
    return readU8(this.bytes, this.start + 4);
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

/** True for the types of ICMP that carry the start of the packet they are about. */
export function isIcmpError(type: number): boolean {
  return (
    type === IcmpType.destinationUnreachable ||
    type === IcmpType.redirect ||
    type === IcmpType.timeExceeded ||
    type === IcmpType.parameterProblem
  );
}

/** The messages that stacks send and act on. `invoking` is the start of the packet an error is about, from its IP header. */
export type IcmpRepr =
  | {
      /** The payload of a timestamp: three times of 4 bytes each. */
      readonly type: "echo-request" | "echo-reply" | "timestamp-request" | "timestamp-reply";
      readonly identifier: number;
      readonly sequence: number;
      readonly payload: Uint8Array;
    }
  /** Any code but 4. */
  | { readonly type: "destination-unreachable"; readonly code: number; readonly invoking: Uint8Array }
  | { readonly type: "fragmentation-needed"; readonly mtuBytes: number; readonly invoking: Uint8Array }
  /** Code 0: the TTL ran out; 1: fragments did not arrive in time. */
  | { readonly type: "time-exceeded"; readonly code: number; readonly invoking: Uint8Array }
  | { readonly type: "parameter-problem"; readonly pointer: number; readonly invoking: Uint8Array };

const QUERY_NAMES: Readonly<
  Record<number, "echo-request" | "echo-reply" | "timestamp-request" | "timestamp-reply" | undefined>
> = Object.freeze({
  [IcmpType.echoRequest]: "echo-request",
  [IcmpType.echoReply]: "echo-reply",
  [IcmpType.timestampRequest]: "timestamp-request",
  [IcmpType.timestampReply]: "timestamp-reply",
});

/** Undefined for messages that no stack of ours acts on. Payloads are windows on the frame. */
export function toIcmpRepr(view: IcmpView): IcmpRepr | undefined {
  const { type, code, payload: body } = view;
  const query = QUERY_NAMES[type];
  if (query !== undefined) {
    const { identifier, sequence } = view;
    return { type: query, identifier, sequence, payload: body };
  }
  if (type === IcmpType.destinationUnreachable && code === IcmpUnreachable.fragmentationNeeded) {
    return { type: "fragmentation-needed", mtuBytes: view.mtuBytes, invoking: body };
  }
  if (type === IcmpType.destinationUnreachable)
    return { type: "destination-unreachable", code, invoking: body };
  if (type === IcmpType.timeExceeded) return { type: "time-exceeded", code, invoking: body };
  if (type === IcmpType.parameterProblem && code === 0) {
    return { type: "parameter-problem", pointer: view.pointer, invoking: body };
  }
  return undefined;
}

/** What follows the header of a message of ICMP or ICMPv6. */
type IcmpBody = { readonly payload: Uint8Array } | { readonly invoking: Uint8Array };

function bodyOf(repr: IcmpBody): Uint8Array {
  return "payload" in repr ? repr.payload : repr.invoking;
}

/** Bytes of a message of either version. */
export function icmpMessageLength(repr: IcmpBody): number {
  return ICMP_HEADER_BYTES + bodyOf(repr).length;
}

/** Writes a message of either version at `offset`, its checksum as 0. @returns the bytes written. */
export function emitIcmpMessage(
  repr: IcmpBody,
  [typeAndCode, rest]: readonly [typeAndCode: number, rest: number],
  bytes: Uint8Array,
  offset: number,
): number {
  const body = bodyOf(repr);
  writeU16(bytes, offset, typeAndCode);
  writeU16(bytes, offset + ICMP_CHECKSUM_OFFSET, 0);
  writeU32(bytes, offset + 4, rest);
  bytes.set(body, offset + ICMP_HEADER_BYTES);
  return ICMP_HEADER_BYTES + body.length;
}

/** Bytes that `emitIcmp` writes. */
export function icmpLength(repr: IcmpRepr): number {
  return icmpMessageLength(repr);
}

/** Type and code as one word, and the four bytes that depend on them. */
function headOf(repr: IcmpRepr): readonly [typeAndCode: number, rest: number] {
  switch (repr.type) {
    case "echo-request":
      return [IcmpType.echoRequest << 8, (repr.identifier << 16) | repr.sequence];
    case "echo-reply":
      return [IcmpType.echoReply << 8, (repr.identifier << 16) | repr.sequence];
    case "timestamp-request":
      return [IcmpType.timestampRequest << 8, (repr.identifier << 16) | repr.sequence];
    case "timestamp-reply":
      return [IcmpType.timestampReply << 8, (repr.identifier << 16) | repr.sequence];
    case "destination-unreachable":
      return [(IcmpType.destinationUnreachable << 8) | repr.code, 0];
    case "fragmentation-needed":
      return [(IcmpType.destinationUnreachable << 8) | IcmpUnreachable.fragmentationNeeded, repr.mtuBytes];
    case "time-exceeded":
      return [(IcmpType.timeExceeded << 8) | repr.code, 0];
    case "parameter-problem":
      return [IcmpType.parameterProblem << 8, repr.pointer << 24];
  }
}

/** Writes the message at `offset`, its checksum as 0 (see `fillChecksums`). @returns the bytes written. */
export function emitIcmp(repr: IcmpRepr, bytes: Uint8Array, offset: number): number {
  return emitIcmpMessage(repr, headOf(repr), bytes, offset);
}
