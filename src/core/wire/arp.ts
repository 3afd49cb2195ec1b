/**
 * ARP for IPv4 on Ethernet (RFC 826; dataplane.md §6.5), 28 bytes: hardware type 0, protocol type 2, hardware
 * length 4, protocol length 5, operation 6, sender MAC 8, sender IP 14, target MAC 18, target IP 24.
 */
import { readU16, readU32, readU48, writeU16, writeU32, writeU48 } from "../base/bytes.ts";
import type { Ipv4 } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { EtherType } from "./ethernet.ts";
import type { MalformedReason } from "./malformed.ts";

export const ARP_BYTES = 28;

/** Operations we act on. Any 16-bit value may arrive. */
export const ArpOperation = { request: 1, reply: 2 } as const;

const HARDWARE_ETHERNET = 1;
/** Hardware length 6 and protocol length 4, as one word. */
const ADDRESS_LENGTHS = 0x0604;

const OFFSET = {
  hardwareType: 0,
  protocolType: 2,
  addressLengths: 4,
  operation: 6,
  senderMac: 8,
  senderIp: 14,
  targetMac: 18,
  targetIp: 24,
} as const;

/** An ARP message of any operation in a frame's own bytes. */
export class ArpView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  /** The message in `bytes[start..end)`; only messages about IPv4 on Ethernet are taken. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): ArpView | MalformedReason {
    if (end - start < ARP_BYTES) return "arp-truncated";
    const isEthernetIpv4 =
      readU16(bytes, start + OFFSET.hardwareType) === HARDWARE_ETHERNET &&
      readU16(bytes, start + OFFSET.protocolType) === EtherType.ipv4 &&
      readU16(bytes, start + OFFSET.addressLengths) === ADDRESS_LENGTHS;
    return isEthernetIpv4 ? new ArpView(bytes, start) : "arp-not-ethernet-ipv4";
  }

  get operation(): number {
    return readU16(this.bytes, this.start + OFFSET.operation);
  }

  get senderMac(): Mac {
    return readU48(this.bytes, this.start + OFFSET.senderMac) as Mac;
  }

  get senderIp(): Ipv4 {
    return readU32(this.bytes, this.start + OFFSET.senderIp) as Ipv4;
  }

  /** Of no meaning in a request. */
  get targetMac(): Mac {
    return readU48(this.bytes, this.start + OFFSET.targetMac) as Mac;
  }

  get targetIp(): Ipv4 {
    return readU32(this.bytes, this.start + OFFSET.targetIp) as Ipv4;
  }
}

/** The messages that host stacks and switches send and act on. */
export type ArpRepr =
  | {
      readonly operation: "request";
      readonly senderMac: Mac;
      /** 0.0.0.0 makes it a probe; equal to `targetIp` it is an announcement. */
      readonly senderIp: Ipv4;
      readonly targetIp: Ipv4;
    }
  | {
      readonly operation: "reply";
      readonly senderMac: Mac;
      readonly senderIp: Ipv4;
      readonly targetMac: Mac;
      readonly targetIp: Ipv4;
    };

/** Undefined for operations other than request and reply. */
export function toArpRepr(view: ArpView): ArpRepr | undefined {
  const { senderMac, senderIp, targetMac, targetIp } = view;
  switch (view.operation) {
    case ArpOperation.request:
      return { operation: "request", senderMac, senderIp, targetIp };
    case ArpOperation.reply:
      return { operation: "reply", senderMac, senderIp, targetMac, targetIp };
    default:
      return undefined;
  }
}

/** Writes the message at `offset`; the target MAC of a request is zero. @returns the bytes written, 28. */
export function emitArp(repr: ArpRepr, bytes: Uint8Array, offset: number): number {
  writeU16(bytes, offset + OFFSET.hardwareType, HARDWARE_ETHERNET);
  writeU16(bytes, offset + OFFSET.protocolType, EtherType.ipv4);
  writeU16(bytes, offset + OFFSET.addressLengths, ADDRESS_LENGTHS);
  writeU16(bytes, offset + OFFSET.operation, ArpOperation[repr.operation]);
  writeU48(bytes, offset + OFFSET.senderMac, repr.senderMac);
  writeU32(bytes, offset + OFFSET.senderIp, repr.senderIp);
  writeU48(bytes, offset + OFFSET.targetMac, repr.operation === "reply" ? repr.targetMac : 0);
  writeU32(bytes, offset + OFFSET.targetIp, repr.targetIp);
  return ARP_BYTES;
}
