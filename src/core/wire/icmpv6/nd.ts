/**
 * IPv6 neighbour discovery (RFC 4861; dataplane.md §6.6): ICMPv6 types 133 to 136 with options. Receivers must
 * also check that the hop limit is 255, which is the IPv6 header's to say.
 *
 * From the start of the ICMPv6 message: RS reserved 4, options 8. RA hop limit 4, flags 5, lifetime 6, reachable 8,
 * retransmit 12, options 16. NS and NA flags 4, target 8, options 24. An option: type 0, length in units of 8 bytes 1.
 */
import {
  readU128,
  readU16,
  readU32,
  readU48,
  readU8,
  writeU128,
  writeU16,
  writeU32,
  writeU8,
} from "../../base/bytes.ts";
import type { Ipv6 } from "../../net/ip.ts";
import type { Mac } from "../../net/mac.ts";
import { ICMP_CHECKSUM_OFFSET } from "../icmp.ts";
import { Icmpv6Type } from "./icmpv6.ts";
import type { MalformedReason } from "../malformed.ts";
import { type NdOption, NdOptionType, emitNdOptions, ndOptionsLength, readNdOption } from "./nd-options.ts";

/** The hop limit of every message of neighbour discovery: a router cannot have forwarded it. */
export const ND_HOP_LIMIT = 255;

const FLAG = { router: 0x80, solicited: 0x40, override: 0x20 } as const;
const ROUTER_FLAG = { managed: 0x80, other: 0x40 } as const;

/** Where the options start, by type; undefined for other messages. */
function optionsOffset(type: number): number | undefined {
  switch (type) {
    case Icmpv6Type.routerSolicitation:
      return 8;
    case Icmpv6Type.routerAdvertisement:
      return 16;
    case Icmpv6Type.neighborSolicitation:
    case Icmpv6Type.neighborAdvertisement:
      return 24;
    default:
      return undefined;
  }
}

/** A message of neighbour discovery in a frame's own bytes. */
export class NdView {
  private readonly bytes: Uint8Array;
  readonly start: number;
  /** End of the message and of its options. */
  readonly end: number;
  /** Start of the options. */
  readonly optionsStart: number;

  private constructor(bytes: Uint8Array, start: number, end: number, optionsStart: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.optionsStart = optionsStart;
  }

  /** The ICMPv6 message in `bytes[start..end)`; its whole chain of options is checked. */
  static parse(bytes: Uint8Array, start = 0, end: number = bytes.length): NdView | MalformedReason {
    if (end - start < 8) return "icmp-truncated";
    const offset = optionsOffset(readU8(bytes, start));
    if (offset === undefined) return "nd-not-discovery";
    if (end - start < offset) return "nd-truncated";
    let at = start + offset;
    while (at < end) {
      const length = at + 1 < end ? readU8(bytes, at + 1) * 8 : 0;
      if (length === 0 || length > end - at) return "nd-option-length";
      at += length;
    }
    return new NdView(bytes, start, end, start + offset);
  }

  /** One of the four discovery types of `Icmpv6Type`. */
  get type(): number {
    return readU8(this.bytes, this.start);
  }

  /** Of a neighbour solicitation or advertisement; zero for router messages. Allocates the address. */
  get target(): Ipv6 {
    return (this.optionsStart - this.start === 24 ? readU128(this.bytes, this.start + 8) : 0n) as Ipv6;
  }

  /** Of a neighbour advertisement: the sender routes. */
  get isRouter(): boolean {
    return (readU8(this.bytes, this.start + 4) & FLAG.router) !== 0;
  }

  /** Of a neighbour advertisement: it answers a solicitation. */
  get isSolicited(): boolean {
    return (readU8(this.bytes, this.start + 4) & FLAG.solicited) !== 0;
  }

  /** Of a neighbour advertisement: it replaces what is known. */
  get isOverride(): boolean {
    return (readU8(this.bytes, this.start + 4) & FLAG.override) !== 0;
  }

  /** Start of the first option of `type`; -1 without one. */
  findOption(type: number): number {
    let at = this.optionsStart;
    while (at < this.end) {
      if (readU8(this.bytes, at) === type) return at;
      at += readU8(this.bytes, at + 1) * 8;
    }
    return -1;
  }

  /** The MAC of the sender's own option in a solicitation or router message; undefined without one. */
  get sourceMac(): Mac | undefined {
    return this.macOf(NdOptionType.sourceLinkLayer);
  }

  /** The MAC that a neighbour advertisement tells; undefined without one. */
  get targetMac(): Mac | undefined {
    return this.macOf(NdOptionType.targetLinkLayer);
  }

  /** Of a router advertisement: the hop limit that hosts shall use; 0 leaves it open. */
  get hopLimit(): number {
    return readU8(this.bytes, this.start + 4);
  }

  /** Of a router advertisement: addresses come from DHCPv6. */
  get isManaged(): boolean {
    return (readU8(this.bytes, this.start + 5) & ROUTER_FLAG.managed) !== 0;
  }

  /** Of a router advertisement: other settings come from DHCPv6. */
  get isOtherConfigured(): boolean {
    return (readU8(this.bytes, this.start + 5) & ROUTER_FLAG.other) !== 0;
  }

  /** Of a router advertisement; 0: the sender is no default router. */
  get lifetimeSeconds(): number {
    return readU16(this.bytes, this.start + 6);
  }

  /** Of a router advertisement; 0 leaves it open. */
  get reachableMs(): number {
    return this.readRouterField(8);
  }

  /** Of a router advertisement; 0 leaves it open. */
  get retransmitMs(): number {
    return this.readRouterField(12);
  }

  /** All options in order; their data are windows on the frame. Allocates. */
  get options(): NdOption[] {
    const options: NdOption[] = [];
    for (let at = this.optionsStart; at < this.end; at += readU8(this.bytes, at + 1) * 8) {
      options.push(readNdOption(this.bytes, at));
    }
    return options;
  }

  /** A field that only a router advertisement has room for; 0 in other messages. */
  private readRouterField(offset: number): number {
    return this.type === Icmpv6Type.routerAdvertisement ? readU32(this.bytes, this.start + offset) : 0;
  }

  private macOf(type: number): Mac | undefined {
    const at = this.findOption(type);
    // One unit of 8 bytes: an Ethernet address. Other link layers have other lengths.
    return at < 0 || readU8(this.bytes, at + 1) !== 1 ? undefined : (readU48(this.bytes, at + 2) as Mac);
  }
}

/** A message of neighbour discovery as a value. */
export type NdRepr =
  | { readonly type: "router-solicitation"; readonly options: readonly NdOption[] }
  | {
      readonly type: "router-advertisement";
      /** The hop limit that hosts shall use; 0 leaves it open. */
      readonly hopLimit: number;
      readonly isManaged: boolean;
      readonly isOtherConfigured: boolean;
      /** 0: not a default router. */
      readonly lifetimeSeconds: number;
      readonly reachableMs: number;
      readonly retransmitMs: number;
      readonly options: readonly NdOption[];
    }
  | { readonly type: "neighbor-solicitation"; readonly target: Ipv6; readonly options: readonly NdOption[] }
  | {
      readonly type: "neighbor-advertisement";
      readonly target: Ipv6;
      readonly isRouter: boolean;
      readonly isSolicited: boolean;
      readonly isOverride: boolean;
      readonly options: readonly NdOption[];
    };

/** The message with all its options; option data are windows on the frame. */
export function toNdRepr(view: NdView): NdRepr {
  const { options } = view;
  switch (view.type) {
    case Icmpv6Type.routerAdvertisement: {
      const { hopLimit, isManaged, isOtherConfigured, lifetimeSeconds, reachableMs, retransmitMs } = view;
      return {
        type: "router-advertisement",
        hopLimit,
        isManaged,
        isOtherConfigured,
        lifetimeSeconds,
        reachableMs,
        retransmitMs,
        options,
      };
    }
    case Icmpv6Type.neighborSolicitation:
      return { type: "neighbor-solicitation", target: view.target, options };
    case Icmpv6Type.neighborAdvertisement: {
      const { target, isRouter, isSolicited, isOverride } = view;
      return { type: "neighbor-advertisement", target, isRouter, isSolicited, isOverride, options };
    }
    default:
      return { type: "router-solicitation", options };
  }
}

const TYPES = {
  "router-solicitation": Icmpv6Type.routerSolicitation,
  "router-advertisement": Icmpv6Type.routerAdvertisement,
  "neighbor-solicitation": Icmpv6Type.neighborSolicitation,
  "neighbor-advertisement": Icmpv6Type.neighborAdvertisement,
} as const;

const FIXED_BYTES = {
  "router-solicitation": 8,
  "router-advertisement": 16,
  "neighbor-solicitation": 24,
  "neighbor-advertisement": 24,
} as const;

/** Bytes that `emitNd` writes. */
export function ndLength(repr: NdRepr): number {
  return FIXED_BYTES[repr.type] + ndOptionsLength(repr.options);
}

function emitFixedPart(repr: NdRepr, bytes: Uint8Array, offset: number): void {
  switch (repr.type) {
    case "router-solicitation":
      writeU32(bytes, offset + 4, 0);
      return;
    case "router-advertisement":
      writeU8(bytes, offset + 4, repr.hopLimit);
      writeU8(
        bytes,
        offset + 5,
        (repr.isManaged ? ROUTER_FLAG.managed : 0) | (repr.isOtherConfigured ? ROUTER_FLAG.other : 0),
      );
      writeU16(bytes, offset + 6, repr.lifetimeSeconds);
      writeU32(bytes, offset + 8, repr.reachableMs);
      writeU32(bytes, offset + 12, repr.retransmitMs);
      return;
    case "neighbor-solicitation":
      writeU32(bytes, offset + 4, 0);
      writeU128(bytes, offset + 8, repr.target);
      return;
    case "neighbor-advertisement": {
      const flags =
        (repr.isRouter ? FLAG.router : 0) |
        (repr.isSolicited ? FLAG.solicited : 0) |
        (repr.isOverride ? FLAG.override : 0);
      writeU32(bytes, offset + 4, flags << 24);
      writeU128(bytes, offset + 8, repr.target);
    }
  }
}

/** Writes the message at `offset`, its checksum as 0 (see `fillChecksums`). @returns the bytes written. */
export function emitNd(repr: NdRepr, bytes: Uint8Array, offset: number): number {
  writeU8(bytes, offset, TYPES[repr.type]);
  writeU8(bytes, offset + 1, 0);
  writeU16(bytes, offset + ICMP_CHECKSUM_OFFSET, 0);
  emitFixedPart(repr, bytes, offset);
  const fixed = FIXED_BYTES[repr.type];
  return fixed + emitNdOptions(repr.options, bytes, offset + fixed);
}

/** The group that a neighbour solicitation for `target` is sent to (RFC 4291 §2.7.1). */
export function solicitedNodeMulticast(target: Ipv6): Ipv6 {
  return (0xff02_0000_0000_0000_0000_0001_ff00_0000n | (target & 0xff_ffffn)) as Ipv6;
}
