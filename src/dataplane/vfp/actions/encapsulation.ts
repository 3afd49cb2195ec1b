/**
 * The outer headers that a rule puts in front of a frame, as bytes that are written once: what differs from packet to
 * packet is lengths, the identification and the IPv4 checksum over them (dataplane.md §6.1, §6.4), and from flow to flow
 * the few bits that spread them over paths. All flows to one node therefore share one `OuterHeaders`.
 *
 * Windows sends TTL 128 and DF (observed). Inferred: DSCP 0 outside whatever it is inside (dataplane.md §2.15 leaves it
 * open), and a UDP source port from the inner headers, 1024 or above (dataplane.md §11, Q-13).
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { writeU16 } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type Ip, familyOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { finishSum, foldSum, sumWords } from "#core/wire/checksum.ts";
import { emitIp, emitLink, ipEtherType, ipLength, linkLength } from "#core/wire/emit-headers.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { NVGRE_HEADER_BYTES, emitNvgre } from "#core/wire/tunnels/nvgre.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { TunnelKind } from "#core/wire/tunnels/tunnel.ts";
import { UDP_HEADER_BYTES, emitUdp } from "#core/wire/udp.ts";
import { VXLAN_HEADER_BYTES, emitVxlan } from "#core/wire/tunnels/vxlan.ts";

/** Outer TTL of what Windows encapsulates (observed, dataplane.md §6.1). */
const OUTER_TTL = 128;
/** The last byte of NVGRE's key (dataplane.md §6.4). */
const NVGRE_FLOW_ID = 7;

/** What outer headers are made from. */
export interface OuterFields {
  readonly kind: TunnelKind;
  /** VNI or virtual subnet id. */
  readonly id: number;
  readonly source: Ip;
  /** Of the same family. */
  readonly destination: Ip;
  readonly sourceMac: Mac;
  readonly destinationMac: Mac;
  /** UDP ports of VXLAN. */
  readonly destinationPort: number;
  /** Spreads flows over paths: 32 bits of the inner headers. */
  readonly entropy: number;
}

/** Later changes to outer headers. */
export interface OuterChanges {
  readonly source?: Ip | undefined;
  readonly destination?: Ip | undefined;
  readonly sourceMac?: Mac | undefined;
  readonly destinationMac?: Mac | undefined;
  readonly dscp: number;
  readonly ttlDecrements: number;
}

/** The UDP source port for a hash (dataplane.md §11, Q-13). */
export function entropyPort(entropy: number): number {
  return 1_024 + ((entropy >>> 0) % 64_512);
}

/** What a flow adds to shared headers: a UDP source port, or NVGRE's flow id. */
export function flowBitsOf(kind: TunnelKind, entropy: number): number {
  return kind === "vxlan" ? entropyPort(entropy) : entropy & 0xff;
}

/** The headers that all flows of one kind to one place have in common. */
export class OuterHeaders {
  readonly fields: Omit<OuterFields, "entropy">;
  readonly dscp: number;
  readonly ttl: number;
  /** The headers with lengths, identification, IPv4 checksum and what a flow adds all zero. */
  private readonly template: Uint8Array;
  private readonly network: number;
  /** Where UDP or GRE is. */
  private readonly upper: number;
  /** Sum of the template's IPv4 header; -1 for IPv6. */
  private readonly headerSum: number;

  constructor(fields: Omit<OuterFields, "entropy">, dscp: number, ttl: number) {
    this.fields = fields;
    this.dscp = dscp;
    this.ttl = ttl;
    const { kind, id, source, destination, sourceMac, destinationMac } = fields;
    const ip = { source, destination, ttl, identification: 0, isDontFragment: true, dscp };
    const link = { sourceMac, destinationMac };
    const isVxlan = kind === "vxlan";
    const tunnelBytes = isVxlan ? UDP_HEADER_BYTES + VXLAN_HEADER_BYTES : NVGRE_HEADER_BYTES;
    this.network = linkLength(link);
    const upper = this.network + ipLength(ip);
    const bytes = new Uint8Array(upper + tunnelBytes);
    emitLink(link, ipEtherType(ip), bytes, 0);
    const protocol = isVxlan ? IpProtocol.udp : IpProtocol.gre;
    emitIp(ip, { protocol, payloadLength: 0 }, bytes, this.network);
    if (isVxlan) {
      emitUdp({ sourcePort: 0, destinationPort: fields.destinationPort }, 0, bytes, upper);
      emitVxlan(id, bytes, upper + UDP_HEADER_BYTES);
    } else {
      emitNvgre(id, 0, bytes, upper);
    }
    this.upper = upper;
    const isIpv4 = familyOf(source) === 4;
    if (isIpv4) {
      writeU16(bytes, this.network + 2, 0);
      writeU16(bytes, this.network + 10, 0);
    }
    this.headerSum = isIpv4 ? foldSum(sumWords(bytes, this.network, upper)) : -1;
    this.template = bytes;
  }

  /** Bytes that go in front of the frame. */
  get length(): number {
    return this.template.length;
  }

  isOf(fields: OuterFields, dscp: number, ttl: number): boolean {
    const own = this.fields;
    return (
      own.id === fields.id &&
      own.kind === fields.kind &&
      own.source === fields.source &&
      own.destination === fields.destination &&
      own.sourceMac === fields.sourceMac &&
      own.destinationMac === fields.destinationMac &&
      own.destinationPort === fields.destinationPort &&
      this.dscp === dscp &&
      this.ttl === ttl
    );
  }

  /** Puts the headers in front of the frame; `headers` then describes them. `flowBits` are those of `flowBitsOf`. */
  apply(packet: Packet, headers: Headers, identification: number, flowBits: number): void {
    const { template, network, upper } = this;
    const innerBytes = packet.length;
    packet.prepend(template.length);
    if (packet.segmentBytes > 0) packet.outerBytes += template.length;
    const { view, start } = packet;
    packet.bytes.set(template, start);
    const ip = start + network;
    const ipBytes = template.length - network + innerBytes;
    if (this.headerSum >= 0) {
      view.setUint16(ip + 2, ipBytes);
      view.setUint16(ip + 4, identification);
      view.setUint16(ip + 10, finishSum(this.headerSum + ipBytes + identification));
    } else {
      view.setUint16(ip + 4, ipBytes - 40);
    }
    const isUdp = this.fields.kind === "vxlan";
    if (isUdp) {
      view.setUint16(start + upper, flowBits);
      view.setUint16(start + upper + 4, template.length - upper + innerBytes);
    } else {
      view.setUint8(start + upper + NVGRE_FLOW_ID, flowBits);
    }
    const family = this.headerSum >= 0 ? 4 : 6;
    const protocol = isUdp ? IpProtocol.udp : IpProtocol.gre;
    headers.describe(start, packet.end, family, protocol, start + upper);
  }
}

/** A port's shared outer headers. Bounded: when there are too many, it begins anew. */
export class OuterHeadersTable {
  private readonly byDestination = new Map<Ip, OuterHeaders[]>();
  private count = 0;

  get(fields: OuterFields, dscp: number, ttl: number): OuterHeaders {
    const known = this.byDestination.get(fields.destination);
    const found = known?.find((each) => each.isOf(fields, dscp, ttl));
    if (found !== undefined) return found;
    if (this.count >= LIMITS.outerHeadersPerPortMax) this.clear();
    const { entropy: _flow, ...shared } = fields;
    const made = new OuterHeaders(shared, dscp, ttl);
    addToList(this.byDestination, fields.destination, made);
    this.count++;
    return made;
  }

  private clear(): void {
    this.byDestination.clear();
    this.count = 0;
  }
}

/** Outer headers of one flow. */
export class Encapsulation {
  readonly headers: OuterHeaders;
  /** What `flowBitsOf` made of the flow's own entropy. */
  readonly flowBits: number;
  readonly fields: OuterFields;
  private readonly table: OuterHeadersTable;

  constructor(table: OuterHeadersTable, fields: OuterFields, dscp = 0, ttl: number = OUTER_TTL) {
    this.table = table;
    this.fields = fields;
    this.headers = table.get(fields, dscp, ttl);
    this.flowBits = flowBitsOf(fields.kind, fields.entropy);
  }

  get dscp(): number {
    return this.headers.dscp;
  }

  get ttl(): number {
    return this.headers.ttl;
  }

  /** Bytes that go in front of the frame. */
  get length(): number {
    return this.headers.length;
  }

  /** The same headers with later changes in them. */
  with(changes: OuterChanges): Encapsulation {
    const { fields } = this;
    return new Encapsulation(
      this.table,
      {
        ...fields,
        source: changes.source ?? fields.source,
        destination: changes.destination ?? fields.destination,
        sourceMac: changes.sourceMac ?? fields.sourceMac,
        destinationMac: changes.destinationMac ?? fields.destinationMac,
      },
      changes.dscp < 0 ? this.dscp : changes.dscp,
      this.ttl - changes.ttlDecrements,
    );
  }

  /** Puts the headers in front of the frame; `headers` then describes them. */
  apply(packet: Packet, headers: Headers, identification: number): void {
    this.headers.apply(packet, headers, identification, this.flowBits);
  }
}

// Spaces: which provider address, MAC and tunnel number stand for a customer's address (dataplane.md §1.7). A space is an
// immutable value that ports share; HNS has one per network and family, named `<networkGuid>` and `<networkGuid>_V6`.

/** One mapping. */
export interface Mapping {
  readonly customerAddress: Ip;
  readonly providerAddress: Ip;
  /** The customer's MAC. */
  readonly mac: Mac;
  /** Default: that of the rule that asks. */
  readonly tni?: number;
}

export class MappingSpace {
  readonly name: string;
  private readonly byAddress: ReadonlyMap<Ip, Mapping>;
  private readonly byMac: ReadonlyMap<Mac, Mapping>;

  private constructor(name: string, mappings: readonly Mapping[]) {
    this.name = name;
    this.byAddress = new Map(mappings.map((mapping) => [mapping.customerAddress, mapping]));
    this.byMac = new Map(mappings.map((mapping) => [mapping.mac, mapping]));
    Object.freeze(this);
  }

  /** Of several mappings of one address, or one MAC, the last counts. */
  static of(name: string, mappings: readonly Mapping[]): MappingSpace {
    return new MappingSpace(
      name,
      mappings.map((mapping) => Object.freeze({ ...mapping })),
    );
  }

  get size(): number {
    return this.byAddress.size;
  }

  find(customerAddress: Ip): Mapping | undefined {
    return this.byAddress.get(customerAddress);
  }

  findByMac(mac: Mac): Mapping | undefined {
    return this.byMac.get(mac);
  }

  list(): Mapping[] {
    return [...this.byAddress.values()];
  }
}
