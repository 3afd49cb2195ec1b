/**
 * The sum of all header changes that layers ask for, in the words of the VFP paper: a transposition.
 * A layer's action is one; a unified flow keeps the composition of all layers and applies it in one step:
 * outer headers off (pop), changes to the frame that is then outermost (modify), outer headers on (push).
 * Checksums are updated by RFC 1624, payloads are never read (dataplane.md §1.10, §2.15, §6.8).
 */
import { readI32, readU16, readU8, writeU16, writeU32, writeU48 } from "#core/base/bytes.ts";
import type { Ip, Ipv4, Ipv6 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { updateChecksum, updateChecksum32 } from "#core/wire/checksum.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { TcpOptionKind, findTcpOption, rewriteTcpMss } from "#core/wire/tcp-options.ts";
import { transportChecksumOffset } from "#core/wire/transport-checksum.ts";
import { decrementTtl } from "#core/wire/ip-view.ts";
import { udpChecksumField } from "#core/wire/udp.ts";
import type { Encapsulation } from "./encapsulation.ts";

/**
 * Where the checksum that covers the addresses lies in the transport header; -1 when none does: ICMPv4 has no pseudo
 * header (dataplane.md §6.8, rule 5).
 */
export function coveringChecksumOffset(protocol: number): number {
  return protocol === IpProtocol.icmp ? -1 : transportChecksumOffset(protocol);
}

/** One signed 32-bit number per word. A list of numbers: the first packet of a flow makes several. */
export type AddressWords = readonly number[];

/** An address as the words that stand on the wire. */
export function ipWords(ip: Ip): AddressWords {
  if (typeof ip === "number") return [ip | 0];
  return [96n, 64n, 32n, 0n].map((shift) => Number((ip >> shift) & 0xffff_ffffn) | 0);
}

/** The address that stands as `words` on the wire. */
export function wordsToIp(words: ArrayLike<number>): Ip {
  if (words.length === 1) return ((words[0] ?? 0) >>> 0) as Ipv4;
  let value = 0n;
  for (let i = 0; i < words.length; i++) value = (value << 32n) | BigInt((words[i] ?? 0) >>> 0);
  return value as Ipv6;
}

/** Header changes; what is undefined or negative stays. */
export class Transposition {
  sourceMac: Mac | undefined;
  destinationMac: Mac | undefined;
  sourcePort = -1;
  destinationPort = -1;
  /** How often the TTL or hop limit goes down by one. */
  ttlDecrements = 0;
  dscp = -1;
  /** How much less the MSS option of a SYN says. */
  mssDelta = 0;
  /** The packet leaves the port on the side it came from: a hairpin layer turned it. */
  isHairpin = false;
  /** Outer headers come off first; all changes are to the inner frame. */
  pops = false;
  /** Outer headers go on last. */
  push: Encapsulation | undefined;
  /** The packet's virtual subnet from here on. */
  tni = -1;
  /** How often the TTL of the headers that come off went down before: one that runs out there must still run out. */
  poppedTtlDecrements = 0;
  private sourceWords: AddressWords | undefined;
  private destinationWords: AddressWords | undefined;

  setSourceIp(ip: Ip): this {
    this.sourceWords = ipWords(ip);
    return this;
  }

  setDestinationIp(ip: Ip): this {
    this.destinationWords = ipWords(ip);
    return this;
  }

  /** The words of the source that is written; undefined when it stays. */
  get newSource(): AddressWords | undefined {
    return this.sourceWords;
  }

  /** The words of the destination that is written; undefined when it stays. */
  get newDestination(): AddressWords | undefined {
    return this.destinationWords;
  }

  get changesSource(): boolean {
    return this.sourceWords !== undefined;
  }

  /** True when outer headers come or go, so that offsets of headers change. */
  get changesTunnel(): boolean {
    return this.pops || this.push !== undefined;
  }

  /** True when neither a byte nor the virtual subnet changes. */
  get isEmpty(): boolean {
    return (
      this.sourceMac === undefined &&
      this.destinationMac === undefined &&
      this.sourceWords === undefined &&
      this.destinationWords === undefined &&
      this.sourcePort < 0 &&
      this.destinationPort < 0 &&
      this.ttlDecrements === 0 &&
      this.dscp < 0 &&
      this.mssDelta === 0 &&
      this.tni < 0 &&
      !this.changesTunnel
    );
  }

  /**
   * Takes over what `later` changes; later changes win. At most one tunnel comes off and one goes on in all: actions see
   * to that.
   */
  compose(later: Transposition): void {
    this.isHairpin ||= later.isHairpin;
    if (later.tni >= 0) this.tni = later.tni;
    if (later.pops) this.composePop(later.poppedTtlDecrements);
    if (this.push === undefined) this.composeFields(later);
    else {
      this.push = this.push.with({
        source: later.sourceWords === undefined ? undefined : wordsToIp(later.sourceWords),
        destination: later.destinationWords === undefined ? undefined : wordsToIp(later.destinationWords),
        sourceMac: later.sourceMac,
        destinationMac: later.destinationMac,
        dscp: later.dscp,
        ttlDecrements: later.ttlDecrements,
      });
    }
    if (later.push !== undefined) this.push = later.push;
  }

  /** Rewrites the headers that `headers` describes. Neither pops nor pushes: offsets stay valid. */
  applyFields(bytes: Uint8Array, headers: Headers): void {
    if (this.destinationMac !== undefined) writeU48(bytes, headers.ethernet, this.destinationMac);
    if (this.sourceMac !== undefined) writeU48(bytes, headers.ethernet + 6, this.sourceMac);
    if (headers.family === 0) return;
    const addressBytes = headers.family === 4 ? 4 : 16;
    const addresses = headers.network + (headers.family === 4 ? 12 : 8);
    if (this.sourceWords !== undefined) this.rewriteAddress(bytes, headers, addresses, this.sourceWords);
    if (this.destinationWords !== undefined) {
      this.rewriteAddress(bytes, headers, addresses + addressBytes, this.destinationWords);
    }
    if (this.sourcePort >= 0) this.rewritePort(bytes, headers, 0, this.sourcePort);
    if (this.destinationPort >= 0) this.rewritePort(bytes, headers, 2, this.destinationPort);
    if (this.mssDelta > 0) this.lowerMss(bytes, headers);
    if (this.dscp >= 0) writeDscp(bytes, headers, this.dscp);
    for (let i = 0; i < this.ttlDecrements; i++) decrementTtl(bytes, headers);
  }

  private composeFields(later: Transposition): void {
    this.sourceMac = later.sourceMac ?? this.sourceMac;
    this.destinationMac = later.destinationMac ?? this.destinationMac;
    this.sourceWords = later.sourceWords ?? this.sourceWords;
    this.destinationWords = later.destinationWords ?? this.destinationWords;
    if (later.sourcePort >= 0) this.sourcePort = later.sourcePort;
    if (later.destinationPort >= 0) this.destinationPort = later.destinationPort;
    if (later.dscp >= 0) this.dscp = later.dscp;
    this.mssDelta += later.mssDelta;
    this.ttlDecrements += later.ttlDecrements;
  }

  /** What was pushed here before is gone; otherwise what was changed so far was changed in headers that come off. */
  private composePop(laterTtlDecrements: number): void {
    if (this.push !== undefined) {
      this.push = undefined;
      return;
    }
    this.poppedTtlDecrements = this.ttlDecrements + laterTtlDecrements;
    this.pops = true;
    this.sourceMac = undefined;
    this.destinationMac = undefined;
    this.sourceWords = undefined;
    this.destinationWords = undefined;
    this.sourcePort = -1;
    this.destinationPort = -1;
    this.dscp = -1;
    this.mssDelta = 0;
    this.ttlDecrements = 0;
  }

  private rewriteAddress(bytes: Uint8Array, headers: Headers, at: number, words: AddressWords): void {
    const transportSum = headers.transport < 0 ? -1 : coveringChecksumOffset(headers.protocol);
    for (let i = 0; i < words.length; i++) {
      const before = readI32(bytes, at + i * 4);
      const after = words[i] ?? 0;
      if (before === after) continue;
      writeU32(bytes, at + i * 4, after);
      if (headers.family === 4) {
        const header = headers.network + 10;
        writeU16(bytes, header, updateChecksum32(readU16(bytes, header), before, after));
      }
      if (transportSum < 0) continue;
      const field = headers.transport + transportSum;
      const checksum = readU16(bytes, field);
      if (headers.protocol === IpProtocol.udp && checksum === 0) continue;
      writeU16(bytes, field, checksumField(headers, updateChecksum32(checksum, before, after)));
    }
  }

  private rewritePort(bytes: Uint8Array, headers: Headers, offset: number, port: number): void {
    const hasPorts = headers.protocol === IpProtocol.tcp || headers.protocol === IpProtocol.udp;
    if (headers.transport < 0 || !hasPorts) return;
    const before = readU16(bytes, headers.transport + offset);
    if (before === port) return;
    writeU16(bytes, headers.transport + offset, port);
    const field = headers.transport + coveringChecksumOffset(headers.protocol);
    const checksum = readU16(bytes, field);
    // RFC 768: zero means that the sender computed none; it stays so.
    if (headers.protocol === IpProtocol.udp && checksum === 0) return;
    writeU16(bytes, field, checksumField(headers, updateChecksum(checksum, before, port)));
  }

  /** A SYN whose MSS is not larger than the delta keeps it: nothing sensible is left. */
  private lowerMss(bytes: Uint8Array, headers: Headers): void {
    const { transport } = headers;
    if (headers.protocol !== IpProtocol.tcp || transport < 0) return;
    if ((readU8(bytes, transport + 13) & TcpFlag.syn) === 0) return;
    const option = findTcpOption(bytes, transport, TcpOptionKind.mss);
    if (option < 0 || readU8(bytes, option + 1) !== 4) return;
    const mssBytes = readU16(bytes, option + 2) - this.mssDelta;
    if (mssBytes > 0) rewriteTcpMss(bytes, transport, mssBytes);
  }
}

/** No change at all. Most rules and most flows share it, so nobody may write into it. */
export const NOTHING: Transposition = Object.freeze(new Transposition()) as Transposition;

/** Writes 6 bits of DSCP and keeps ECN; IPv4's checksum follows. */
export function writeDscp(bytes: Uint8Array, headers: Headers, dscp: number): void {
  const at = headers.network;
  const before = readU16(bytes, at);
  if (headers.family === 4) {
    const after = (before & 0xff03) | (dscp << 2);
    writeU16(bytes, at, after);
    writeU16(bytes, at + 10, updateChecksum(readU16(bytes, at + 10), before, after));
    return;
  }
  // The traffic class lies between version and flow label; its upper six bits are the DSCP.
  writeU16(bytes, at, (before & 0xf03f) | (dscp << 6));
}

/** The field for an updated checksum of any transport. */
function checksumField(headers: Headers, checksum: number): number {
  return headers.protocol === IpProtocol.udp ? udpChecksumField(checksum) : checksum;
}
