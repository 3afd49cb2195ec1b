/**
 * The Ethernet II header, 14 bytes: destination 0–5, source 6–11, ethertype 12–13.
 * The frame check sequence never reaches us: devices add and check it.
 */
import { readU16, readU48, writeU16, writeU48 } from "../base/bytes.ts";
import type { Ip } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import type { MalformedReason } from "./malformed.ts";

/** Ethertypes (IEEE), named where we look inside. Any 16-bit value may arrive. */
export const EtherType = {
  ipv4: 0x0800,
  arp: 0x0806,
  vlan: 0x8100,
  ipv6: 0x86dd,
} as const;

/** The name of an ethertype as a person writes it, or `ethertype 0xNNNN`. Values below 0x0600 are IEEE 802.3 lengths. */
export function etherTypeName(etherType: number): string {
  switch (etherType) {
    case EtherType.ipv4:
      return "IPv4";
    case EtherType.arp:
      return "ARP";
    case EtherType.vlan:
      return "802.1Q";
    case EtherType.ipv6:
      return "IPv6";
    default:
      return etherType < 0x0600
        ? `802.3 length ${etherType}`
        : `ethertype 0x${etherType.toString(16).padStart(4, "0")}`;
  }
}

export const ETHERNET_HEADER_BYTES = 14;

const OFFSET = { destination: 0, source: 6, etherType: 12 } as const;

/** An Ethernet header in a frame's own bytes. */
export class EthernetView {
  private readonly bytes: Uint8Array;
  readonly start: number;

  private constructor(bytes: Uint8Array, start: number) {
    this.bytes = bytes;
    this.start = start;
  }

  /** The header of the frame in `bytes[start..end)`. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): EthernetView | MalformedReason {
    return end - start < ETHERNET_HEADER_BYTES ? "ethernet-truncated" : new EthernetView(bytes, start);
  }

  get destinationMac(): Mac {
    return readU48(this.bytes, this.start + OFFSET.destination) as Mac;
  }

  set destinationMac(mac: Mac) {
    writeU48(this.bytes, this.start + OFFSET.destination, mac);
  }

  get sourceMac(): Mac {
    return readU48(this.bytes, this.start + OFFSET.source) as Mac;
  }

  set sourceMac(mac: Mac) {
    writeU48(this.bytes, this.start + OFFSET.source, mac);
  }

  /** The ethertype; values below 0x0600 are an IEEE 802.3 length. */
  get etherType(): number {
    return readU16(this.bytes, this.start + OFFSET.etherType);
  }

  /** Start of what follows the header. */
  get payloadStart(): number {
    return this.start + ETHERNET_HEADER_BYTES;
  }
}

/** An Ethernet header as a value. */
export interface EthernetFields {
  readonly destinationMac: Mac;
  readonly sourceMac: Mac;
  readonly etherType: number;
}

export function toEthernetFields(view: EthernetView): EthernetFields {
  return { destinationMac: view.destinationMac, sourceMac: view.sourceMac, etherType: view.etherType };
}

/** Writes the header at `offset`. @returns the bytes written, 14. */
export function emitEthernet(fields: EthernetFields, bytes: Uint8Array, offset: number): number {
  writeU48(bytes, offset + OFFSET.destination, fields.destinationMac);
  writeU48(bytes, offset + OFFSET.source, fields.sourceMac);
  writeU16(bytes, offset + OFFSET.etherType, fields.etherType);
  return ETHERNET_HEADER_BYTES;
}

/** The group MAC that carries a multicast address: RFC 1112 §6.4 for IPv4, RFC 2464 §7 for IPv6. */
export function multicastMac(ip: Ip): Mac {
  return (
    typeof ip === "number"
      ? 0x0100_5e00_0000 + (ip & 0x7f_ffff)
      : 0x3333_0000_0000 + Number(ip & 0xffff_ffffn)
  ) as Mac;
}
