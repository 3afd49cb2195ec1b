/**
 * A transposition for one IPv4 flow, worked out once.
 *
 * All packets of a unified flow have the same MACs, addresses and ports, so what a rewrite adds to their checksums is
 * the same, too: the sum of `~before + after` over all changed words (RFC 1624), folded to 16 bits. Applying is a few
 * stores and one addition per checksum.
 */
import { readU16, wordAt, writeU16, writeU32 } from "../base/bytes.ts";
import type { Mac } from "../net/mac.ts";
import { foldSum } from "../wire/checksum.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import { decrementTtl } from "../wire/ttl.ts";
import { udpChecksumField } from "../wire/udp.ts";
import type { FlowKey } from "./flow-key.ts";
import { type Transposition, coveringChecksumOffset } from "./transposition.ts";

/** What replacing one 32-bit word adds to a one's-complement sum. */
function delta(before: number, after: number): number {
  const removed = (~(before >>> 16) & 0xffff) + (~before & 0xffff);
  return removed + ((after >>> 16) & 0xffff) + (after & 0xffff);
}

function upper16(mac: Mac): number {
  return Math.floor(mac / 0x1_0000_0000);
}

export class FlowRewrite {
  /** The 12 bytes of both MACs as three words; undefined when neither changes. */
  private readonly link: Int32Array | undefined;
  private readonly source: number;
  private readonly destination: number;
  private readonly ports: number;
  private readonly changesAddresses: boolean;
  private readonly changesPorts: boolean;
  private readonly headerDelta: number;
  private readonly transportDelta: number;
  private readonly checksumOffset: number;
  private readonly isUdp: boolean;
  private readonly ttlDecrements: number;

  /** `key` is the one the packets arrive with. */
  constructor(key: FlowKey, transposition: Transposition) {
    const { words } = key;
    const source = wordAt(words, 2);
    const destination = wordAt(words, 3);
    const ports = wordAt(words, 1);
    this.source = transposition.sourceWord ?? source;
    this.destination = transposition.destinationWord ?? destination;
    this.ports = key.hasPorts ? portsAfter(ports, transposition) : ports;
    this.changesAddresses = this.source !== source || this.destination !== destination;
    this.changesPorts = this.ports !== ports;
    const addressDelta =
      (this.source === source ? 0 : delta(source, this.source)) +
      (this.destination === destination ? 0 : delta(destination, this.destination));
    this.headerDelta = foldSum(addressDelta);
    this.transportDelta = foldSum(addressDelta + (this.changesPorts ? delta(ports, this.ports) : 0));
    this.checksumOffset = this.transportDelta === 0 ? -1 : coveringChecksumOffset(key.protocol);
    this.isUdp = key.protocol === IpProtocol.udp;
    this.ttlDecrements = transposition.ttlDecrements;
    this.link = linkAfter(words, key.tupleLength + 1, transposition);
  }

  apply(bytes: Uint8Array, headers: Headers): void {
    const { link } = this;
    if (link !== undefined) {
      writeU32(bytes, headers.ethernet, wordAt(link, 0));
      writeU32(bytes, headers.ethernet + 4, wordAt(link, 1));
      writeU32(bytes, headers.ethernet + 8, wordAt(link, 2));
    }
    if (this.changesAddresses) {
      const { network } = headers;
      writeU32(bytes, network + 12, this.source);
      writeU32(bytes, network + 16, this.destination);
      writeU16(bytes, network + 10, addToChecksum(readU16(bytes, network + 10), this.headerDelta));
    }
    if (headers.transport >= 0) this.applyTransport(bytes, headers.transport);
    for (let i = 0; i < this.ttlDecrements; i++) decrementTtl(bytes, headers);
  }

  private applyTransport(bytes: Uint8Array, transport: number): void {
    if (this.changesPorts) writeU32(bytes, transport, this.ports);
    if (this.checksumOffset < 0) return;
    const field = transport + this.checksumOffset;
    const before = readU16(bytes, field);
    // RFC 768: zero means that the sender computed none; it stays so.
    if (this.isUdp && before === 0) return;
    const after = addToChecksum(before, this.transportDelta);
    writeU16(bytes, field, this.isUdp ? udpChecksumField(after) : after);
  }
}

/** The field after `sum` was added to what it covers. */
function addToChecksum(checksum: number, sum: number): number {
  const total = (~checksum & 0xffff) + sum;
  return ~((total & 0xffff) + (total >>> 16)) & 0xffff;
}

function portsAfter(ports: number, transposition: Transposition): number {
  const source = transposition.sourcePort >= 0 ? transposition.sourcePort : ports >>> 16;
  const destination = transposition.destinationPort >= 0 ? transposition.destinationPort : ports & 0xffff;
  return (source << 16) | destination;
}

function linkAfter(words: Int32Array, at: number, transposition: Transposition): Int32Array | undefined {
  const { sourceMac, destinationMac } = transposition;
  if (sourceMac === undefined && destinationMac === undefined) return undefined;
  const link = words.slice(at, at + 3);
  if (destinationMac !== undefined) {
    link[0] = Math.floor(destinationMac / 0x1_0000) | 0;
    link[1] = ((destinationMac % 0x1_0000) << 16) | (wordAt(link, 1) & 0xffff);
  }
  if (sourceMac !== undefined) {
    link[1] = (wordAt(link, 1) & 0xffff_0000) | upper16(sourceMac);
    link[2] = (sourceMac % 0x1_0000_0000) | 0;
  }
  return link;
}
