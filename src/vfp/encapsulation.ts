/**
 * The outer headers that a rule puts in front of a frame, as bytes that are written once per flow: what differs from
 * packet to packet is lengths, the identification and the IPv4 checksum over them (dataplane.md §6.1, §6.4).
 *
 * Windows sends TTL 128 and DF (observed). Inferred: DSCP 0 outside whatever it is inside (dataplane.md §2.15 leaves it
 * open), and a UDP source port from the inner headers, 1024 or above (dataplane.md §11, Q-13).
 */
import { writeU16 } from "../base/bytes.ts";
import { type Ip, familyOf } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import { finishSum, foldSum, sumWords } from "../wire/checksum.ts";
import { emitIp, emitLink, ipEtherType, ipLength, linkLength } from "../wire/emit-headers.ts";
import type { Headers } from "../wire/headers.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";
import { NVGRE_HEADER_BYTES, emitNvgre } from "../wire/nvgre.ts";
import type { Packet } from "../wire/packet.ts";
import type { TunnelKind } from "../wire/tunnel.ts";
import { UDP_HEADER_BYTES, emitUdp } from "../wire/udp.ts";
import { VXLAN_HEADER_BYTES, emitVxlan } from "../wire/vxlan.ts";

/** Outer TTL of what Windows encapsulates (observed, dataplane.md §6.1). */
const OUTER_TTL = 128;

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

export class Encapsulation {
  readonly fields: OuterFields;
  readonly dscp: number;
  readonly ttl: number;
  /** The headers with lengths, identification and IPv4 checksum zero. */
  private readonly template: Uint8Array;
  private readonly network: number;
  /** Where UDP or GRE is. */
  private readonly upper: number;
  /** Sum of the template's IPv4 header. */
  private readonly headerSum: number;

  constructor(fields: OuterFields, dscp = 0, ttl: number = OUTER_TTL) {
    this.fields = fields;
    this.dscp = dscp;
    this.ttl = ttl;
    const { kind, id, source, destination, sourceMac, destinationMac, entropy } = fields;
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
      emitUdp({ sourcePort: entropyPort(entropy), destinationPort: fields.destinationPort }, 0, bytes, upper);
      emitVxlan(id, bytes, upper + UDP_HEADER_BYTES);
    } else {
      emitNvgre(id, entropy & 0xff, bytes, upper);
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

  /** The same headers with later changes in them. */
  with(changes: OuterChanges): Encapsulation {
    const { fields } = this;
    return new Encapsulation(
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
    const { template, network } = this;
    const innerBytes = packet.length;
    packet.prepend(template.length);
    const { bytes, start } = packet;
    bytes.set(template, start);
    const ip = start + network;
    const ipBytes = template.length - network + innerBytes;
    if (this.headerSum >= 0) {
      writeU16(bytes, ip + 2, ipBytes);
      writeU16(bytes, ip + 4, identification);
      writeU16(bytes, ip + 10, finishSum(this.headerSum + ipBytes + identification));
    } else {
      writeU16(bytes, ip + 4, ipBytes - 40);
    }
    const { upper } = this;
    const isUdp = this.fields.kind === "vxlan";
    if (isUdp) writeU16(bytes, start + upper + 4, template.length - upper + innerBytes);
    const family = this.headerSum >= 0 ? 4 : 6;
    const protocol = isUdp ? IpProtocol.udp : IpProtocol.gre;
    headers.describe(start, packet.end, family, protocol, start + upper);
  }
}
