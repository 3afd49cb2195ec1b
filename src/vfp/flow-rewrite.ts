/**
 * A transposition for one IPv4 flow, worked out once.
 *
 * All packets of a unified flow have the same MACs, addresses and ports, so what a rewrite adds to their checksums is
 * the same, too: the sum of `~before + after` over all changed words (RFC 1624), folded to 16 bits. Applying is a few
 * stores and one addition per checksum.
 */
import { readU16, wordAt, writeU16, writeU32 } from "../base/bytes.ts";
import { foldSum } from "../wire/checksum.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import { decrementTtl } from "../wire/ttl.ts";
import { udpChecksumField } from "../wire/udp.ts";
import type { FlowKey } from "./flow-key.ts";
import { VXLAN_PROTOCOL } from "./flow-key.ts";
import { type Transposition, coveringChecksumOffset, writeDscp } from "./transposition.ts";

/** What replacing one 32-bit word adds to a one's-complement sum. */
function delta(before: number, after: number): number {
  const removed = (~(before >>> 16) & 0xffff) + (~before & 0xffff);
  return removed + ((after >>> 16) & 0xffff) + (after & 0xffff);
}

export class FlowRewrite {
  private readonly changesLink: boolean;
  /** The 12 bytes of both MACs as three words. */
  private readonly link0: number;
  private readonly link1: number;
  private readonly link2: number;
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
  private readonly dscp: number;

  /** `key` is the one the packets arrive with; of those that lose outer headers, the inner one. */
  constructor(key: FlowKey, transposition: Transposition) {
    const { words } = key;
    const source = wordAt(words, 2);
    const destination = wordAt(words, 3);
    const ports = wordAt(words, 1);
    this.source = transposition.newSource?.[0] ?? source;
    this.destination = transposition.newDestination?.[0] ?? destination;
    this.ports = key.hasPorts ? portsAfter(ports, transposition) : ports;
    this.changesAddresses = this.source !== source || this.destination !== destination;
    this.changesPorts = this.ports !== ports;
    const addressDelta =
      (this.source === source ? 0 : delta(source, this.source)) +
      (this.destination === destination ? 0 : delta(destination, this.destination));
    this.headerDelta = foldSum(addressDelta);
    this.transportDelta = foldSum(addressDelta + (this.changesPorts ? delta(ports, this.ports) : 0));
    const protocol = key.isTunnel && key.protocol === VXLAN_PROTOCOL ? IpProtocol.udp : key.protocol;
    this.checksumOffset = this.transportDelta === 0 ? -1 : coveringChecksumOffset(protocol);
    this.isUdp = protocol === IpProtocol.udp;
    this.ttlDecrements = transposition.ttlDecrements;
    this.dscp = transposition.dscp;
    const { sourceMac, destinationMac } = transposition;
    const at = key.tupleLength + 1;
    const middle = wordAt(words, at + 1);
    const destinationLow =
      destinationMac === undefined ? middle & ~0xffff : (destinationMac % 0x1_0000) << 16;
    const sourceHigh = sourceMac === undefined ? middle & 0xffff : Math.floor(sourceMac / 0x1_0000_0000);
    this.changesLink = sourceMac !== undefined || destinationMac !== undefined;
    this.link0 = destinationMac === undefined ? wordAt(words, at) : Math.floor(destinationMac / 0x1_0000) | 0;
    this.link1 = destinationLow | sourceHigh;
    this.link2 = sourceMac === undefined ? wordAt(words, at + 2) : (sourceMac % 0x1_0000_0000) | 0;
  }

  apply(bytes: Uint8Array, headers: Headers): void {
    if (this.changesLink) {
      writeU32(bytes, headers.ethernet, this.link0);
      writeU32(bytes, headers.ethernet + 4, this.link1);
      writeU32(bytes, headers.ethernet + 8, this.link2);
    }
    if (this.changesAddresses) {
      const { network } = headers;
      writeU32(bytes, network + 12, this.source);
      writeU32(bytes, network + 16, this.destination);
      writeU16(bytes, network + 10, addToChecksum(readU16(bytes, network + 10), this.headerDelta));
    }
    if (headers.transport >= 0) this.applyTransport(bytes, headers.transport);
    if (this.dscp >= 0) writeDscp(bytes, headers, this.dscp);
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
