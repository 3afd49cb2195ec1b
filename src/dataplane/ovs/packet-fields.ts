/**
 * The fields of OVN in the bytes of a frame. A write updates the checksums that cover it and computes none anew, so that a
 * frame whose checksum was wrong stays wrong.
 */
import { readU16, readU8, writeU16 } from "#core/base/bytes.ts";
import { updateChecksum } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { readSctpChecksum, sctpChecksum, writeSctpChecksum } from "#core/wire/sctp.ts";
import { transportChecksumOffset } from "#core/wire/transport-checksum.ts";
import type { FieldBits } from "./language/match.ts";

/** Where a field lies: `bits` from `shift` on, counted from the low end of `length` bytes at `at`. */
interface Location {
  readonly at: number;
  readonly length: number;
  readonly shift: number;
  readonly bits: number;
}

type Start = "ethernet" | "network" | "transport";

/** Where the field starts, offset, bytes, shift, bits; by family for those of IP in general. */
const LOCATIONS: Readonly<Record<string, readonly [Start, number, number, number, number]>> = {
  "eth.dst": ["ethernet", 0, 6, 0, 48],
  "eth.src": ["ethernet", 6, 6, 0, 48],
  "ip4.src": ["network", 12, 4, 0, 32],
  "ip4.dst": ["network", 16, 4, 0, 32],
  "ip6.src": ["network", 8, 16, 0, 128],
  "ip6.dst": ["network", 24, 16, 0, 128],
  "ip6.label": ["network", 0, 4, 0, 20],
  "arp.op": ["network", 6, 2, 0, 16],
  "arp.sha": ["network", 8, 6, 0, 48],
  "arp.spa": ["network", 14, 4, 0, 32],
  "arp.tha": ["network", 18, 6, 0, 48],
  "arp.tpa": ["network", 24, 4, 0, 32],
  "icmp4.type": ["transport", 0, 1, 0, 8],
  "icmp4.code": ["transport", 1, 1, 0, 8],
  "icmp4.frag_mtu": ["transport", 6, 2, 0, 16],
  "icmp6.frag_mtu": ["transport", 4, 4, 0, 32],
  "icmp6.type": ["transport", 0, 1, 0, 8],
  "icmp6.code": ["transport", 1, 1, 0, 8],
  "nd.target": ["transport", 8, 16, 0, 128],
  "tcp.src": ["transport", 0, 2, 0, 16],
  "tcp.dst": ["transport", 2, 2, 0, 16],
  "tcp.flags": ["transport", 12, 2, 0, 12],
  "udp.src": ["transport", 0, 2, 0, 16],
  "udp.dst": ["transport", 2, 2, 0, 16],
  "sctp.src": ["transport", 0, 2, 0, 16],
  "sctp.dst": ["transport", 2, 2, 0, 16],
};

/** Those that both families have: of IPv4, of IPv6. */
const EITHER_FAMILY: Readonly<
  Record<string, readonly [4 | 6, readonly [Start, number, number, number, number]][]>
> = {
  "ip.ttl": [
    [4, ["network", 8, 1, 0, 8]],
    [6, ["network", 7, 1, 0, 8]],
  ],
  "ip.dscp": [
    [4, ["network", 1, 1, 2, 6]],
    [6, ["network", 0, 2, 6, 6]],
  ],
  "ip.ecn": [
    [4, ["network", 1, 1, 0, 2]],
    [6, ["network", 0, 2, 4, 2]],
  ],
};

/** Fields that lie in an option of neighbour discovery, with its type. */
const ND_OPTIONS: Readonly<Record<string, number>> = { "nd.sll": 1, "nd.tll": 2 };
const ND_OPTIONS_AT = 24;

function maskOf(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n;
}

/** The bits of a whole field that `field` chooses. */
export function chooseBits(whole: bigint, { low, width }: FieldBits): bigint {
  return (whole >> BigInt(low)) & maskOf(width);
}

/** `whole` with the bits that `field` chooses replaced. */
export function replaceBits(whole: bigint, { low, width }: FieldBits, value: bigint): bigint {
  const mask = maskOf(width) << BigInt(low);
  return (whole & ~mask) | ((value << BigInt(low)) & mask);
}

const NOTHING_KNOWN: ReadonlyMap<string, bigint> = new Map();

/** A frame that logical flows read and rewrite. */
export class PacketFields {
  readonly packet: Packet;
  readonly headers: Headers = new Headers();
  /** What was read already: flow after flow of a table asks for the same. */
  private readonly known: Map<string, bigint>;

  /** `known`: of a frame with the same bytes. */
  constructor(packet: Packet, known: ReadonlyMap<string, bigint> = NOTHING_KNOWN) {
    this.packet = packet;
    this.headers.parse(packet);
    this.known = new Map(known);
  }

  /** The fields of a copy of the frame. */
  copy(): PacketFields {
    return new PacketFields(this.packet.copy(), this.known);
  }

  /** Somebody else has written into the bytes of the frame. */
  forget(): void {
    this.known.clear();
  }

  get family(): 0 | 4 | 6 {
    return this.headers.family;
  }

  /** The value of a whole field; 0 where the frame has none, as Open vSwitch reads it. */
  read(name: string): bigint {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const value = this.find(name);
    this.known.set(name, value);
    return value;
  }

  private find(name: string): bigint {
    const { headers } = this;
    switch (name) {
      case "eth.type":
        return BigInt(headers.etherType);
      case "vlan.tci":
        return headers.isTagged ? BigInt(readU16(this.packet.bytes, headers.ethernet + 14) | 0x1000) : 0n;
      case "ip.proto":
        return BigInt(Math.max(0, headers.protocol));
      case "ip.frag":
        return headers.isFragment ? (headers.fragmentOffset > 0 ? 3n : 1n) : 0n;
      default:
        return this.readBytes(this.locate(name));
    }
  }

  /** Writes a whole field; false when the frame has none. */
  write(name: string, value: bigint): boolean {
    const location = this.locate(name);
    if (location === undefined) return false;
    this.known.clear();
    const { at, length, shift, bits } = location;
    const mask = maskOf(bits) << BigInt(shift);
    let rest = (this.readWhole(at, length) & ~mask) | ((value << BigInt(shift)) & mask);
    const after = new Uint8Array(length);
    for (let index = length - 1; index >= 0; index--) {
      after[index] = Number(rest & 0xffn);
      rest >>= 8n;
    }
    if (name.startsWith("sctp.")) this.replaceInSctp(at, after);
    else this.replace(at, after);
    return true;
  }

  private locate(name: string): Location | undefined {
    const { headers } = this;
    const option = ND_OPTIONS[name];
    if (option !== undefined) return this.locateOption(option);
    const row = LOCATIONS[name] ?? EITHER_FAMILY[name]?.find(([family]) => family === headers.family)?.[1];
    if (row === undefined) return undefined;
    const [start, offset, length, shift, bits] = row;
    const base = name.startsWith("sctp.") ? this.sctpStart() : headers[start];
    if (base < 0) return undefined;
    const at = base + offset;
    return at + length <= this.packet.end ? { at, length, shift, bits } : undefined;
  }

  private sctpStart(): number {
    const { protocol, fragmentOffset, upper } = this.headers;
    return protocol === IpProtocol.sctp && fragmentOffset === 0 ? upper : -1;
  }

  /** The link-layer address in an option of neighbour discovery (RFC 4861 §4.6.1). */
  private locateOption(type: number): Location | undefined {
    const { bytes } = this.packet;
    const { transport, end } = this.headers;
    if (transport < 0) return undefined;
    for (let at = transport + ND_OPTIONS_AT; at + 8 <= end; at += readU8(bytes, at + 1) * 8) {
      if (readU8(bytes, at) === type) return { at: at + 2, length: 6, shift: 0, bits: 48 };
      if (readU8(bytes, at + 1) === 0) return undefined;
    }
    return undefined;
  }

  private readBytes(location: Location | undefined): bigint {
    if (location === undefined) return 0n;
    const { at, length, shift, bits } = location;
    return (this.readWhole(at, length) >> BigInt(shift)) & maskOf(bits);
  }

  private readWhole(at: number, length: number): bigint {
    let value = 0n;
    for (let index = at; index < at + length; index++)
      value = (value << 8n) | BigInt(readU8(this.packet.bytes, index));
    return value;
  }

  private replace(at: number, after: Uint8Array): void {
    const { headers } = this;
    const { bytes } = this.packet;
    if (headers.family === 0 || at < headers.network) {
      bytes.set(after, at);
      return;
    }
    // Words count from the network header, which all checksums are aligned to.
    const start = at - ((at - headers.network) & 1);
    const end = at + after.length + ((at + after.length - headers.network) & 1);
    const before = bytes.slice(start, end);
    bytes.set(after, at);
    for (let word = start; word < end; word += 2) {
      this.update(word, readU16(before, word - start), readU16(bytes, word));
    }
  }

  /** A CRC has no cheap update: what it was off by before, it is after, too. */
  private replaceInSctp(at: number, after: Uint8Array): void {
    const { upper, end } = this.headers;
    const { bytes } = this.packet;
    const wrong = (readSctpChecksum(bytes, upper) ^ sctpChecksum(bytes, upper, end)) >>> 0;
    bytes.set(after, at);
    writeSctpChecksum(bytes, upper, (sctpChecksum(bytes, upper, end) ^ wrong) >>> 0);
  }

  private update(word: number, before: number, after: number): void {
    if (before === after) return;
    const { headers } = this;
    const { bytes } = this.packet;
    const isTransport = headers.transport >= 0 && word >= headers.transport;
    if (headers.family === 4 && !isTransport) this.updateField(headers.network + 10, before, after);
    const offset = transportChecksumOffset(headers.protocol);
    if (headers.transport < 0 || offset < 0) return;
    const addresses = headers.network + (headers.family === 4 ? 12 : 8);
    const isAddress = word >= addresses && word < addresses + (headers.family === 4 ? 8 : 32);
    const hasPseudoHeader = headers.protocol !== IpProtocol.icmp;
    if (!isTransport && !(isAddress && hasPseudoHeader)) return;
    const field = headers.transport + offset;
    if (headers.protocol !== IpProtocol.udp) return this.updateField(field, before, after);
    if (readU16(bytes, field) === 0) return undefined;
    this.updateField(field, before, after);
    if (readU16(bytes, field) === 0) writeU16(bytes, field, 0xffff);
    return undefined;
  }

  private updateField(field: number, before: number, after: number): void {
    const { bytes } = this.packet;
    writeU16(bytes, field, updateChecksum(readU16(bytes, field), before, after));
  }

  /** Takes one from the time to live; false where that would leave zero, or the frame is not IP. */
  decrementTtl(): boolean {
    const ttl = this.read("ip.ttl");
    return ttl > 1n && this.write("ip.ttl", ttl - 1n);
  }
}
