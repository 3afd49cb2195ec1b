/** ICMP and ICMPv6 as one set of messages: what both families say to stacks, and how each writes it (RFC 792, RFC 4443). */
import { assert } from "#core/base/assert.ts";
import { readU8 } from "#core/base/bytes.ts";
import { type IpFields, type LinkFields, buildIcmpFrame, buildIcmpv6Frame } from "#core/wire/build-frame.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IcmpType, IcmpView, isIcmpError } from "#core/wire/icmp.ts";
import { Icmpv6Type, Icmpv6Unreachable, Icmpv6View } from "#core/wire/icmpv6/icmpv6.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { isMldType } from "#core/wire/icmpv6/mld.ts";
import type { MalformedReason } from "#core/wire/malformed.ts";
import type { Packet } from "#core/wire/packet.ts";
import { FAILURE_ICMP, type FailureReason, failureOfIcmp } from "../delivery-failure.ts";

/** What stacks send. `invoking` is the start of the packet that an error is about, from its IP header. */
export type IcmpMessage =
  | {
      readonly kind: "echo-request" | "echo-reply";
      readonly identifier: number;
      readonly sequence: number;
      readonly payload: Uint8Array;
    }
  /** Of IPv4; the payload holds three times. */
  | {
      readonly kind: "timestamp-reply";
      readonly identifier: number;
      readonly sequence: number;
      readonly payload: Uint8Array;
    }
  /** Of IPv6: a header that cannot be taken. */
  | {
      readonly kind: "problem";
      readonly code: number;
      readonly pointer: number;
      readonly invoking: Uint8Array;
    }
  | {
      readonly kind: "error";
      readonly reason: FailureReason;
      /** Of `fragmentation-needed`. */
      readonly mtuBytes: number;
      readonly invoking: Uint8Array;
    };

/** A message that arrived, in its frame's own bytes. */
export interface ReceivedIcmp {
  readonly kind:
    | "echo-request"
    | "echo-reply"
    | "timestamp-request"
    | "error"
    | "discovery"
    | "listener"
    | "other";
  readonly type: number;
  /** Of an echo. */
  readonly identifier: number;
  readonly sequence: number;
  /** Start and end of the echo's data, or of the packet that an error is about. */
  readonly payloadStart: number;
  readonly payloadEnd: number;
  /** Of an error that sockets hear of. */
  readonly reason: FailureReason | undefined;
  /** Of `fragmentation-needed`; 0 when the sender did not say. */
  readonly mtuBytes: number;
}

/** Reads the message that `headers` found in a packet of either family. */
export function readIcmp(bytes: Uint8Array, headers: Headers): ReceivedIcmp | MalformedReason {
  return headers.family === 6 ? readIcmpv6(bytes, headers) : readIcmpv4(bytes, headers);
}

function readIcmpv4(bytes: Uint8Array, headers: Headers): ReceivedIcmp | MalformedReason {
  const view = IcmpView.parse(bytes, headers.transport, headers.end);
  if (typeof view === "string") return view;
  const { type, code, identifier, sequence, payloadStart, payloadEnd } = view;
  const isError = type === IcmpType.destinationUnreachable || type === IcmpType.timeExceeded;
  const reason = isError ? failureOfIcmp(type, code) : undefined;
  const mtuBytes = reason === "fragmentation-needed" ? view.mtuBytes : 0;
  const kinds: Readonly<Record<number, ReceivedIcmp["kind"]>> = {
    [IcmpType.echoRequest]: "echo-request",
    [IcmpType.echoReply]: "echo-reply",
    [IcmpType.timestampRequest]: "timestamp-request",
  };
  const kind = isError ? "error" : (kinds[type] ?? "other");
  return { kind, type, identifier, sequence, payloadStart, payloadEnd, reason, mtuBytes };
}

function readIcmpv6(bytes: Uint8Array, headers: Headers): ReceivedIcmp | MalformedReason {
  const view = Icmpv6View.parse(bytes, headers.transport, headers.end);
  if (typeof view === "string") return view;
  const { type, code, identifier, sequence, payloadStart, payloadEnd } = view;
  const reason = view.isError ? failureOfIcmpv6(type, code) : undefined;
  const mtuBytes = reason === "fragmentation-needed" ? view.mtuBytes : 0;
  return { kind: kindOf(view), type, identifier, sequence, payloadStart, payloadEnd, reason, mtuBytes };
}

function kindOf(view: Icmpv6View): ReceivedIcmp["kind"] {
  if (view.type === Icmpv6Type.echoRequest) return "echo-request";
  if (view.type === Icmpv6Type.echoReply) return "echo-reply";
  if (view.isDiscovery) return "discovery";
  if (isMldType(view.type)) return "listener";
  return view.isError ? "error" : "other";
}

/** The failure that an ICMPv6 error stands for; undefined when it is no error that sockets hear of. */
function failureOfIcmpv6(type: number, code: number): FailureReason | undefined {
  switch (type) {
    case Icmpv6Type.packetTooBig:
      return "fragmentation-needed";
    case Icmpv6Type.timeExceeded:
      return code === 0 ? "ttl-expired" : "reassembly-timed-out";
    case Icmpv6Type.parameterProblem:
      return "protocol-unreachable";
    case Icmpv6Type.destinationUnreachable:
      return unreachableReason(code);
    default:
      return undefined;
  }
}

function unreachableReason(code: number): FailureReason {
  switch (code) {
    case Icmpv6Unreachable.noRoute:
      return "net-unreachable";
    case Icmpv6Unreachable.port:
      return "port-unreachable";
    // 5 and 6: refused by policy for the source, route rejected.
    case Icmpv6Unreachable.prohibited:
    case 5:
    case 6:
      return "administratively-prohibited";
    default:
      return "host-unreachable";
  }
}

/** A finished packet with the message. */
export function buildIcmp(link: LinkFields, ip: IpFields, message: IcmpMessage): Packet {
  return typeof ip.source === "number" ? buildIcmpv4(link, ip, message) : buildIcmpv6(link, ip, message);
}

function buildIcmpv4(link: LinkFields, ip: IpFields, message: IcmpMessage): Packet {
  assert(message.kind !== "problem", "header problems are reported of IPv6");
  if (message.kind !== "error") {
    const { kind: type, identifier, sequence, payload } = message;
    return buildIcmpFrame({ link, ip, icmp: { type, identifier, sequence, payload } });
  }
  const { reason, mtuBytes, invoking } = message;
  const { type, code } = FAILURE_ICMP[reason];
  if (reason === "fragmentation-needed")
    return buildIcmpFrame({ link, ip, icmp: { type: reason, mtuBytes, invoking } });
  if (type === IcmpType.timeExceeded)
    return buildIcmpFrame({ link, ip, icmp: { type: "time-exceeded", code, invoking } });
  return buildIcmpFrame({ link, ip, icmp: { type: "destination-unreachable", code, invoking } });
}

/** Code of destination unreachable in ICMPv6 (RFC 4443 §3.1). */
const UNREACHABLE_CODES = Object.freeze({
  "net-unreachable": Icmpv6Unreachable.noRoute,
  "administratively-prohibited": Icmpv6Unreachable.prohibited,
  "host-unreachable": Icmpv6Unreachable.address,
  "port-unreachable": Icmpv6Unreachable.port,
});
/** RFC 4443 §3.4: an unrecognised next header. */
const UNKNOWN_NEXT_HEADER = 1;
/** Where the fixed header names what follows it. */
const NEXT_HEADER_OFFSET = 6;

function buildIcmpv6(link: LinkFields, ip: IpFields, message: IcmpMessage): Packet {
  assert(message.kind !== "timestamp-reply", "IPv6 has no such message");
  if (message.kind === "problem") {
    const { code, pointer, invoking } = message;
    return buildIcmpv6Frame({ link, ip, icmpv6: { type: "parameter-problem", code, pointer, invoking } });
  }
  if (message.kind !== "error") {
    const { kind: type, identifier, sequence, payload } = message;
    return buildIcmpv6Frame({ link, ip, icmpv6: { type, identifier, sequence, payload } });
  }
  const { reason, mtuBytes, invoking } = message;
  switch (reason) {
    case "fragmentation-needed":
      return buildIcmpv6Frame({ link, ip, icmpv6: { type: "packet-too-big", mtuBytes, invoking } });
    case "ttl-expired":
    case "reassembly-timed-out": {
      const code = reason === "ttl-expired" ? 0 : 1;
      return buildIcmpv6Frame({ link, ip, icmpv6: { type: "time-exceeded", code, invoking } });
    }
    case "protocol-unreachable": {
      const problem = { type: "parameter-problem", code: UNKNOWN_NEXT_HEADER } as const;
      return buildIcmpv6Frame({ link, ip, icmpv6: { ...problem, pointer: NEXT_HEADER_OFFSET, invoking } });
    }
    case "net-unreachable":
    case "host-unreachable":
    case "port-unreachable":
    case "administratively-prohibited": {
      const code = UNREACHABLE_CODES[reason];
      return buildIcmpv6Frame({ link, ip, icmpv6: { type: "destination-unreachable", code, invoking } });
    }
  }
}

/** True for messages that carry the start of another packet, of either family. */
export function isIcmpErrorAt(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.transport < 0) return false;
  if (headers.family === 4 && headers.protocol === IpProtocol.icmp)
    return isIcmpError(readU8(bytes, headers.transport));
  return (
    headers.family === 6 &&
    headers.protocol === IpProtocol.icmpv6 &&
    readU8(bytes, headers.transport) < Icmpv6Type.echoRequest
  );
}

/** True for solicitations and advertisements of routers and neighbours. */
export function isDiscoveryAt(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.family !== 6 || headers.protocol !== IpProtocol.icmpv6 || headers.transport < 0) return false;
  const type = readU8(bytes, headers.transport);
  return type >= Icmpv6Type.routerSolicitation && type <= Icmpv6Type.neighborAdvertisement;
}
