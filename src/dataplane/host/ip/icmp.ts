/**
 * ICMP of one compartment, for both families (RFC 792, RFC 1122 §3.2.2, RFC 1812 §4.3; RFC 4443): echo, errors sent,
 * errors heard.
 */
import { writeU32 } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import { familyOf, formatIp, isMulticastIp } from "#core/net/ip.ts";
import { isGroupMac } from "#core/net/mac.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import {
  type SentPacket,
  type DeliveryFailure,
  type FailureReason,
  type SocketFailure,
  readSentPacket,
  FAILURE_TEXTS,
} from "../delivery-failure.ts";
import { type EchoOptions, EchoRequest } from "../probes/echo-request.ts";
import { type IcmpMessage, type ReceivedIcmp, buildIcmp, isIcmpErrorAt, readIcmp } from "./icmp-messages.ts";
import type { LocalPacket, Path, Stack, StackInterface } from "../stack.ts";
import type { ProblemReport } from "./extension-headers.ts";
import { NO_LINK } from "./ip-output.ts";
import { UNSPECIFIED } from "./address-scope.ts";
import { receiveListenerMessage } from "../autoconfiguration/listener-reports.ts";
import { receiveDiscovery } from "./neighbor-discovery.ts";
import type { OperatingSystem } from "../stack-profile.ts";

/** An IP header without options and an ICMP header. */
const HEADERS_BYTES: Readonly<Record<4 | 6, number>> = Object.freeze({ 4: 28, 6: 48 });
/** RFC 1812 §4.3.2.3 and RFC 4443 §2.4: so long an error is at most, with all its headers. */
const ERROR_BYTES_MAX: Readonly<Record<4 | 6, number>> = Object.freeze({ 4: 576, 6: 1_280 });

/** Three times of 32 bits, which begin anew at midnight. */
const TIMESTAMP_BYTES = 12;
const DAY_MS = 86_400_000;

export class Icmp {
  private readonly compartment: Stack;
  private readonly requests = new Map<number, EchoRequest>();
  private nextIdentifier = 1;
  private nextSequence = 1;

  constructor(compartment: Stack) {
    this.compartment = compartment;
  }

  /**
   * Sends one echo request; `options.owner` hears of the answer. Nothing here ends the wait: `EchoRequest.cancel`.
   * @returns why it could not be sent.
   */
  echo(options: EchoOptions): EchoRequest | SocketFailure {
    if (this.compartment.refusesSockets) return "access-denied";
    const path = this.compartment.output.findPath(options.destination, options.source);
    if (path === undefined) return "no-route";
    if (this.requests.size >= LIMITS.socketsPerCompartmentMax) return "too-many-sockets";
    const identifier = options.identifier ?? this.newIdentifier();
    const sequence = options.sequence ?? this.newSequence(options.identifier === undefined);
    const key = identifier * 0x1_0000 + sequence;
    const request = new EchoRequest(this, options, {
      key,
      identifier,
      sequence,
      sentAtMs: this.compartment.nowMs,
    });
    this.requests.set(key, request);
    const { os, echoPayloadBytes, isDatagramUnfragmented } = this.compartment.profile;
    const payload = echoPayload(os, options.payloadBytes ?? echoPayloadBytes);
    const isFitting = payload.length + HEADERS_BYTES[familyOf(path.destination)] <= path.mtuBytes;
    const isSent = this.emit({ kind: "echo-request", identifier, sequence, payload }, path, {
      tag: this.compartment.requestTag(options.tag),
      isDontFragment: options.isDontFragment ?? (isDatagramUnfragmented && isFitting),
      ttl: options.ttl ?? this.compartment.output.ttlOf(path),
    });
    if (isSent) return request;
    this.requests.delete(key);
    return "message-too-long";
  }

  /** An identifier for an echo client: Windows has one for all (docs: dataplane.md §2.9), Linux one per client. */
  newIdentifier(): number {
    const shared = this.compartment.profile.echoIdentifier;
    if (shared !== undefined) return shared;
    this.nextIdentifier = (this.nextIdentifier + 1) & 0xffff;
    return this.nextIdentifier;
  }

  /** With one identifier for all the sequence number tells requests apart; a client of its own begins at 1. */
  private newSequence(isNewClient: boolean): number {
    if (isNewClient && this.compartment.profile.echoIdentifier === undefined) return 1;
    const sequence = this.nextSequence;
    this.nextSequence = (sequence + 1) & 0xffff;
    return sequence;
  }

  /** Ends the wait for an answer. */
  forget(key: number): void {
    this.requests.delete(key);
  }

  receive(local: LocalPacket): void {
    const { packet, headers } = local;
    const message = readIcmp(packet.bytes, headers);
    if (typeof message === "string") {
      this.compartment.dropMalformed(packet, message);
      return;
    }
    switch (message.kind) {
      case "echo-request":
        this.answerEcho(local, message);
        return;
      case "timestamp-request":
        this.answerTimestamp(local, message);
        return;
      case "echo-reply":
        this.takeReply(local, message);
        return;
      case "error":
        this.takeError(local, message);
        return;
      case "discovery":
        receiveDiscovery(this.compartment, local);
        return;
      case "listener":
        receiveListenerMessage(this.compartment, local);
        return;
      case "other": {
        const name = headers.family === 6 ? "ICMPv6" : "ICMP";
        this.compartment.drop(packet, "protocol-unknown", `nothing takes ${name} type ${message.type}`);
      }
    }
  }

  /**
   * Tells the sender of `packet`, a frame with an IP packet, why it did not get on. Nothing is sent where an error
   * would answer an error, a later fragment, a group or an invalid source (RFC 1122 §3.2.2, RFC 4443 §2.4).
   */
  sendError(packet: Packet, reason: FailureReason, mtuBytes = 0): void {
    const headers = new Headers();
    if (headers.parse(packet) !== undefined || headers.family === 0) return;
    // Of IPv6 a packet that is too big is reported whatever it was for: path MTUs of groups are found so.
    const isToldToGroups = headers.family === 6 && reason === "fragmentation-needed";
    if (headers.fragmentOffset !== 0 || !mayReport(packet, headers, isToldToGroups)) return;
    const path = this.pathToSender(packet, headers);
    if (path === undefined) return;
    const invoking = quote(packet, headers, headers.family);
    const tag: PacketTag = packet.tag === 1 ? 2 : 0;
    const { icmpErrorTos } = this.compartment.profile;
    const ttl = this.compartment.output.ttlOf(path);
    // net/ipv6/icmp.c gives errors no class of their own.
    const tos = headers.family === 4 ? icmpErrorTos : 0;
    this.emit({ kind: "error", reason, mtuBytes, invoking }, path, { tag, isDontFragment: false, ttl, tos });
  }

  /** Tells the sender of an IPv6 packet which of its headers cannot be taken. Later fragments are reported, too. */
  sendProblem(packet: Packet, report: ProblemReport, link: StackInterface | undefined): void {
    const headers = new Headers();
    if (headers.parse(packet) !== undefined || headers.family !== 6) return;
    if (!mayReport(packet, headers, report.isToldToGroups)) return;
    const path = this.pathToSender(packet, headers, link);
    if (path === undefined) return;
    const { code, pointer } = report;
    const invoking = quote(packet, headers, 6);
    const tag: PacketTag = packet.tag === 1 ? 2 : 0;
    const ttl = this.compartment.output.ttlOf(path);
    this.emit({ kind: "problem", code, pointer, invoking }, path, { tag, isDontFragment: false, ttl });
  }

  /** Tells the socket that sent `packet` from here that it did not get on. */
  reportOwnPacket(packet: Packet, reason: FailureReason): void {
    const headers = new Headers();
    if (headers.parse(packet) !== undefined) return;
    const sent = readSentPacket(packet.bytes, headers);
    if (sent !== undefined) this.deliverFailure(sent, { reason, reporter: undefined, mtuBytes: 0 });
  }

  private answerEcho(local: LocalPacket, view: ReceivedIcmp): void {
    const { packet, source, destination, isBroadcast } = local;
    const { isGroupEchoAnswered } = this.compartment.profile;
    const isGroup = isBroadcast && familyOf(destination) === 6;
    if (isBroadcast && !(isGroup && isGroupEchoAnswered)) {
      // RFC 1122 §3.2.2.6 allows silence; both systems keep it.
      this.compartment.drop(
        packet,
        "destination-not-local",
        "an echo request to a broadcast address is not answered",
      );
      return;
    }
    this.compartment.record(packet, "deliver", `echo request for ${formatIp(destination)}: answered`);
    const from = isGroup ? undefined : destination;
    const path = this.compartment.output.findPath(source, from, local.netInterface);
    if (path === undefined) return;
    const { identifier, sequence } = view;
    const payload = packet.bytes.slice(view.payloadStart, view.payloadEnd);
    const options = {
      tag: this.compartment.answerTag,
      isDontFragment: false,
      ttl: this.compartment.output.ttlOf(path),
    };
    this.emit({ kind: "echo-reply", identifier, sequence, payload }, path, options);
  }

  /** RFC 792, Timestamp: milliseconds since midnight; it is received and sent in one moment. */
  private answerTimestamp(local: LocalPacket, view: ReceivedIcmp): void {
    const { packet, source, destination, isBroadcast } = local;
    if (isBroadcast || !this.compartment.profile.isTimestampAnswered) {
      this.compartment.drop(packet, "protocol-unknown", "a request for the time is not answered");
      return;
    }
    this.compartment.record(packet, "deliver", `timestamp request for ${formatIp(destination)}: answered`);
    const path = this.compartment.output.findPath(source, destination, local.netInterface);
    // Its own time is all that is taken of a request; a shorter one has none (icmp_timestamp).
    if (path === undefined || view.payloadEnd - view.payloadStart < 4) return;
    const payload = new Uint8Array(TIMESTAMP_BYTES);
    payload.set(packet.bytes.subarray(view.payloadStart, view.payloadStart + 4));
    const nowMs = Math.floor(this.compartment.nowMs) % DAY_MS;
    writeU32(payload, 4, nowMs);
    writeU32(payload, 8, nowMs);
    const { identifier, sequence } = view;
    this.emit({ kind: "timestamp-reply", identifier, sequence, payload }, path, {
      tag: this.compartment.answerTag,
      isDontFragment: false,
      ttl: this.compartment.output.ttlOf(path),
    });
  }

  private takeReply(local: LocalPacket, view: ReceivedIcmp): void {
    const key = view.identifier * 0x1_0000 + view.sequence;
    const request = this.requests.get(key);
    if (request === undefined) {
      this.compartment.drop(local.packet, "port-not-listening", "an echo reply without a matching request");
      return;
    }
    this.compartment.record(local.packet, "deliver", `echo reply from ${formatIp(local.source)}`);
    this.requests.delete(key);
    const ttl = readTtl(local.packet.bytes, local.headers);
    const rttMs = this.compartment.nowMs - request.sentAtMs;
    request.answer({ source: local.source, ttl, rttMs, payloadBytes: view.payloadEnd - view.payloadStart });
  }

  private takeError(local: LocalPacket, view: ReceivedIcmp): void {
    const { reason, mtuBytes } = view;
    const embedded = new Headers();
    const isBroken = embedded.parseEmbedded(local.packet.bytes, view.payloadStart, view.payloadEnd);
    const sent = isBroken === undefined ? readSentPacket(local.packet.bytes, embedded) : undefined;
    if (reason === undefined || sent === undefined || !this.compartment.isLocal(sent.source)) {
      this.compartment.drop(
        local.packet,
        "malformed-frame",
        "an ICMP error about no packet that was sent here",
      );
      return;
    }
    const text = `ICMP error from ${formatIp(local.source)}: ${FAILURE_TEXTS[reason]}`;
    this.compartment.record(local.packet, "deliver", text);
    if (reason === "fragmentation-needed") this.compartment.output.learnPathMtu(sent.destination, mtuBytes);
    this.deliverFailure(sent, { reason, reporter: local.source, mtuBytes });
  }

  private deliverFailure(sent: SentPacket, failure: DeliveryFailure): void {
    switch (sent.protocol) {
      case IpProtocol.tcp:
        this.compartment.tcp.fail(sent, failure);
        return;
      case IpProtocol.udp:
        this.compartment.udp.fail(sent, failure);
        return;
      case IpProtocol.icmp:
      case IpProtocol.icmpv6: {
        const key = sent.sourcePort * 0x1_0000 + sent.destinationPort;
        const request = this.requests.get(key);
        if (request === undefined || request.destination !== sent.destination) return;
        this.requests.delete(key);
        request.fail(failure);
        return;
      }
      default:
    }
  }

  /** The path for an error: from the address that was asked, or from the interface that leads to the sender. */
  private pathToSender(packet: Packet, headers: Headers, link?: StackInterface): Path | undefined {
    const destination = destinationIp(packet.bytes, headers);
    const source = sourceIp(packet.bytes, headers);
    return this.compartment.output.findPath(
      source,
      this.compartment.isLocal(destination) ? destination : undefined,
      link,
    );
  }

  private emit(
    message: IcmpMessage,
    path: Path,
    options: {
      readonly tag: PacketTag;
      readonly isDontFragment: boolean;
      readonly ttl: number;
      readonly tos?: number;
    },
  ): boolean {
    const { isDontFragment, ttl, tos = 0 } = options;
    const ip = this.compartment.output.header(path, { isDontFragment, ttl, dscp: tos >>> 2 });
    const packet = buildIcmp(NO_LINK, ip, message);
    packet.tag = options.tag;
    return this.compartment.output.send(packet, path);
  }
}

/** The start of a packet, as much of it as an error has room for. */
function quote(packet: Packet, headers: Headers, family: 4 | 6): Uint8Array {
  const bytesMax = ERROR_BYTES_MAX[family] - HEADERS_BYTES[family];
  return packet.bytes.slice(headers.network, Math.min(headers.end, headers.network + bytesMax));
}

/** False where RFC 1122 §3.2.2, or RFC 4443 §2.4, forbids to answer with an ICMP error. */
function mayReport(packet: Packet, headers: Headers, isToldToGroups: boolean): boolean {
  const ethernet = EthernetView.parse(packet.bytes, packet.start, packet.end);
  const source = sourceIp(packet.bytes, headers);
  const destination = destinationIp(packet.bytes, headers);
  if (typeof ethernet === "string" || isErrorMessage(packet, headers)) return false;
  if (isMulticastIp(source) || source === 0 || source === UNSPECIFIED) return false;
  const isToGroup = isGroupMac(ethernet.destinationMac) || isMulticastIp(destination);
  return !isToGroup || isToldToGroups;
}

/** True for what is no answerable message of ICMP: an error, or too short to tell. */
function isErrorMessage(packet: Packet, headers: Headers): boolean {
  const isIcmp = headers.protocol === IpProtocol.icmp || headers.protocol === IpProtocol.icmpv6;
  return isIcmp && headers.transport >= 0 && isIcmpErrorAt(packet.bytes, headers);
}

/** Letters that Windows' `ping` puts into echo requests, the first of them below. */
const LETTERS = 23;
const LETTER_A = 0x61;

/**
 * Windows repeats the letters a to w; Linux' `ping` counts the octets up. Inferred: the time stamp that Linux' `ping`
 * writes over the first octets is left out, since only the sender reads it.
 */
function echoPayload(os: OperatingSystem, length: number): Uint8Array {
  const payload = new Uint8Array(length);
  for (let index = 0; index < length; index++)
    payload[index] = os === "windows" ? LETTER_A + (index % LETTERS) : index & 0xff;
  return payload;
}
