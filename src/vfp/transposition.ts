/**
 * The sum of all header changes that layers ask for, in the words of the VFP paper: a transposition.
 * A layer's action is one; a unified flow keeps the composition of all layers and applies it in one step.
 * Checksums are updated by RFC 1624, payloads are never read (dataplane.md §2.15, §6.8).
 */
import { readI32, readU16, writeU16, writeU32, writeU48 } from "../base/bytes.ts";
import type { Ip } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { updateChecksum, updateChecksum32 } from "../wire/checksum.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import { transportChecksumOffset } from "../wire/transport-checksum.ts";
import { decrementTtl } from "../wire/ttl.ts";
import { udpChecksumField } from "../wire/udp.ts";

/**
 * Where the checksum that covers the addresses lies in the transport header; -1 when none does: ICMPv4 has no pseudo
 * header (dataplane.md §6.8, rule 5).
 */
export function coveringChecksumOffset(protocol: number): number {
  return protocol === IpProtocol.icmp ? -1 : transportChecksumOffset(protocol);
}

/** An address as the words that stand on the wire. */
function ipWords(ip: Ip): Int32Array {
  if (typeof ip === "number") return Int32Array.of(ip | 0);
  return Int32Array.from([96n, 64n, 32n, 0n], (shift) => Number((ip >> shift) & 0xffff_ffffn) | 0);
}

/** Header changes; what is undefined stays. */
export class Transposition {
  sourceMac: Mac | undefined;
  destinationMac: Mac | undefined;
  sourcePort = -1;
  destinationPort = -1;
  /** How often the TTL or hop limit goes down by one. */
  ttlDecrements = 0;
  /** The packet leaves the port on the side it came from: a hairpin layer turned it. */
  isTurned = false;
  private sourceWords: Int32Array | undefined;
  private destinationWords: Int32Array | undefined;

  setSourceIp(ip: Ip): this {
    this.sourceWords = ipWords(ip);
    return this;
  }

  setDestinationIp(ip: Ip): this {
    this.destinationWords = ipWords(ip);
    return this;
  }

  /** The IPv4 source that is written, as a signed word; undefined when it stays. */
  get sourceWord(): number | undefined {
    return this.sourceWords?.[0];
  }

  /** The IPv4 destination that is written, as a signed word; undefined when it stays. */
  get destinationWord(): number | undefined {
    return this.destinationWords?.[0];
  }

  get changesSource(): boolean {
    return this.sourceWords !== undefined;
  }

  /** True when no byte changes. */
  get isEmpty(): boolean {
    return (
      this.sourceMac === undefined &&
      this.destinationMac === undefined &&
      this.sourceWords === undefined &&
      this.destinationWords === undefined &&
      this.sourcePort < 0 &&
      this.destinationPort < 0 &&
      this.ttlDecrements === 0
    );
  }

  /** Takes over what `later` changes; later changes win. */
  compose(later: Transposition): void {
    this.sourceMac = later.sourceMac ?? this.sourceMac;
    this.destinationMac = later.destinationMac ?? this.destinationMac;
    this.sourceWords = later.sourceWords ?? this.sourceWords;
    this.destinationWords = later.destinationWords ?? this.destinationWords;
    if (later.sourcePort >= 0) this.sourcePort = later.sourcePort;
    if (later.destinationPort >= 0) this.destinationPort = later.destinationPort;
    this.ttlDecrements += later.ttlDecrements;
    this.isTurned ||= later.isTurned;
  }

  /** Rewrites the packet that `headers` describes. Header offsets stay valid. */
  apply(bytes: Uint8Array, headers: Headers): void {
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
    for (let i = 0; i < this.ttlDecrements; i++) decrementTtl(bytes, headers);
  }

  private rewriteAddress(bytes: Uint8Array, headers: Headers, at: number, words: Int32Array): void {
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
}

/** The field for an updated checksum of any transport. */
function checksumField(headers: Headers, checksum: number): number {
  return headers.protocol === IpProtocol.udp ? udpChecksumField(checksum) : checksum;
}
