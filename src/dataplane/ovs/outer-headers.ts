/**
 * Outer headers of GENEVE for packets whose way is known: put in front as they were in front of the packet before, and taken off
 * where they are laid out as a chassis of OVN writes them. Neither copies the frame or allocates; any other layout is left to
 * `chassis-tunnels.ts`.
 */
import { readU16, writeU16 } from "#core/base/bytes.ts";
import { foldSum } from "#core/wire/checksum.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { GENEVE_PORT } from "#core/wire/tunnels/geneve.ts";
import type { OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import { computeTransportChecksum } from "#core/wire/transport-checksum.ts";
import { UDP_HEADER_BYTES } from "#core/wire/udp.ts";

/** Ethernet, IPv4 without options, UDP, and GENEVE with OVN's option. */
const OUTER_BYTES = 58;
const AT = {
  etherType: 12,
  ip: 14,
  ipLength: 16,
  protocol: 23,
  ipChecksum: 24,
  udp: 34,
  udpLength: 38,
  udpChecksum: 40,
} as const;
/** Version 0, two words of options, one of them critical, and an Ethernet frame behind them (RFC 8926, 3.4). */
const GENEVE_WORD = 0x0240_6558;
/** OVN's option: class 0x0102, type 0x80, one word (ovn-architecture(7), "Tunnel Encapsulations"). */
const OPTION_WORD = 0x0102_8001;
const GENEVE_BYTES = 16;

/** What stands in front of the packets of one way. */
export class OuterHeaders {
  private readonly bytes: Uint8Array;
  /** The sum of the IP header without its length, which is another one for each packet. */
  private readonly ipSum: number;
  /** The other end wants checksums of UDP (ovn-sb(5), Encap, `options:csum`): each packet has one of its own. */
  private readonly hasChecksum: boolean;

  private constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    let sum = 0;
    for (let at: number = AT.ip; at < AT.ip + 20; at += 2)
      if (at !== AT.ipLength && at !== AT.ipChecksum) sum += readU16(bytes, at);
    this.ipSum = sum;
    this.hasChecksum = readU16(bytes, AT.udpChecksum) !== 0;
  }

  /** Those in front of a frame of `innerBytes`; undefined where they are laid out in another way. */
  static inFrontOf(innerBytes: number, { frame }: Packet): OuterHeaders | undefined {
    const isGeneve =
      frame.length === OUTER_BYTES + innerBytes &&
      readU16(frame, AT.etherType) === EtherType.ipv4 &&
      frame[AT.protocol] === IpProtocol.udp;
    return isGeneve ? new OuterHeaders(frame.slice(0, OUTER_BYTES)) : undefined;
  }

  /** Puts them in front of a packet that goes the same way. Headers parsed before no longer hold. */
  prependTo(packet: Packet): void {
    packet.prepend(OUTER_BYTES);
    const { bytes, start, length } = packet;
    bytes.set(this.bytes, start);
    const ipLength = length - AT.ip;
    writeU16(bytes, start + AT.ipLength, ipLength);
    writeU16(bytes, start + AT.ipChecksum, ~foldSum(this.ipSum + ipLength) & 0xffff);
    writeU16(bytes, start + AT.udpLength, length - AT.udp);
    if (!this.hasChecksum) return;
    const udp = start + AT.udp;
    const checksum = computeTransportChecksum(bytes, start + AT.ip, 4, IpProtocol.udp, udp, start + length);
    writeU16(bytes, start + AT.udpChecksum, checksum);
  }
}

/** The keys of a packet that came through a tunnel, and where the frame in it is. One for all packets. */
export class TunnelArrival implements OvnTunnelKeys {
  datapath = 0;
  ingressPort = 0;
  egressPort = 0;
  /** The frame inside. */
  start = 0;
  end = 0;

  /** @returns false for what is not laid out as a chassis of OVN does it */
  read({ view }: Packet, headers: Headers): boolean {
    const { transport, end } = headers;
    if (headers.protocol !== IpProtocol.udp || transport < 0 || headers.isFragment) return false;
    const geneve = transport + UDP_HEADER_BYTES;
    if (geneve + GENEVE_BYTES > end || view.getUint16(transport + 2) !== GENEVE_PORT) return false;
    if (view.getInt32(geneve) !== GENEVE_WORD || view.getInt32(geneve + 8) !== OPTION_WORD) return false;
    const udpEnd = transport + view.getUint16(transport + 4);
    if (udpEnd > end || udpEnd < geneve + GENEVE_BYTES) return false;
    this.datapath = view.getUint32(geneve + 4) >>> 8;
    this.ingressPort = view.getUint16(geneve + 12) & 0x7fff;
    this.egressPort = view.getUint16(geneve + 14);
    this.start = geneve + GENEVE_BYTES;
    this.end = udpEnd;
    return true;
  }
}
