/**
 * What a way through the tables makes of the headers of a frame, in one step and in place: MACs, time to live, DSCP, addresses,
 * ports. Checksums are updated as the single steps would have done (RFC 1624), so that a wrong one stays wrong.
 */
import { readU16, writeU16 } from "#core/base/bytes.ts";
import { foldSum } from "#core/wire/checksum.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { transportChecksumOffset } from "#core/wire/transport-checksum.ts";
import { udpChecksumField } from "#core/wire/udp.ts";

/** What a checksum grows by when the words of `before` from `at` on become those of `after`. */
function growth(before: Uint8Array, after: Uint8Array, at: number, bytes: number): number {
  let sum = 0;
  for (let offset = at; offset < at + bytes; offset += 2) {
    const [old, now] = [readU16(before, offset), readU16(after, offset)];
    if (old !== now) sum += (~old & 0xffff) + now;
  }
  return sum;
}

function grow(checksum: number, by: number): number {
  let sum = (~checksum & 0xffff) + by;
  sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, index) => byte === b[index]);
}

export class FrameRewrite {
  private readonly link0: number;
  private readonly link1: number;
  private readonly link2: number;
  private readonly service: number;
  private readonly timeToLive: number;
  private readonly source: number;
  private readonly destination: number;
  /** The first word, or the identifier of an echo. */
  private readonly transport: number;
  private readonly ipGrowth: number;
  private readonly transportGrowth: number;
  private readonly isIcmp: boolean;
  private readonly isUdp: boolean;
  private readonly checksumAt: number;

  /** `headers` are those of `before`; `after` is as long. */
  private constructor(before: Packet, headers: Headers, after: Packet) {
    const { view } = after;
    const shift = after.start - before.start;
    const { ethernet, network, transport, protocol } = headers;
    this.isIcmp = protocol === IpProtocol.icmp;
    this.isUdp = protocol === IpProtocol.udp;
    this.checksumAt = transportChecksumOffset(protocol);
    this.link0 = view.getInt32(ethernet + shift);
    this.link1 = view.getInt32(ethernet + shift + 4);
    this.link2 = view.getInt32(ethernet + shift + 8);
    this.service = view.getUint8(network + shift + 1);
    this.timeToLive = view.getUint8(network + shift + 8);
    this.source = view.getInt32(network + shift + 12);
    this.destination = view.getInt32(network + shift + 16);
    this.transport = this.isIcmp ? view.getUint16(transport + shift + 4) : view.getInt32(transport + shift);
    const [old, now] = [before.frame, after.frame];
    const [ip, upper] = [network - ethernet, transport - ethernet];
    const addresses = growth(old, now, ip + 12, 8);
    this.ipGrowth = foldSum(growth(old, now, ip, 2) + growth(old, now, ip + 8, 2) + addresses);
    this.transportGrowth = foldSum(
      this.isIcmp ? growth(old, now, upper + 4, 2) : growth(old, now, upper, 4) + addresses,
    );
  }

  /** What makes `after` of `before`, whose headers are given; undefined when that is more than a rewrite can say. */
  static between(before: Packet, headers: Headers, after: Packet): FrameRewrite | "nothing" | undefined {
    if (before.length !== after.length) return undefined;
    if (isSame(before.frame, after.frame)) return "nothing";
    const rewrite = new FrameRewrite(before, headers, after);
    const tried = before.copy();
    const own = new Headers();
    own.parse(tried);
    rewrite.apply(tried, own);
    return isSame(tried.frame, after.frame) ? rewrite : undefined;
  }

  /** Rewrites a frame that has the same key. */
  apply(packet: Packet, { ethernet, network, transport }: Headers): void {
    const { view, bytes } = packet;
    view.setInt32(ethernet, this.link0);
    view.setInt32(ethernet + 4, this.link1);
    view.setInt32(ethernet + 8, this.link2);
    if (this.ipGrowth !== 0) {
      view.setUint8(network + 1, this.service);
      view.setUint8(network + 8, this.timeToLive);
      view.setInt32(network + 12, this.source);
      view.setInt32(network + 16, this.destination);
      writeU16(bytes, network + 10, grow(view.getUint16(network + 10), this.ipGrowth));
    }
    if (this.transportGrowth === 0) return;
    if (this.isIcmp) view.setUint16(transport + 4, this.transport);
    else view.setInt32(transport, this.transport);
    const at = transport + this.checksumAt;
    const checksum = view.getUint16(at);
    // RFC 768: zero means that the sender computed none.
    if (this.isUdp && checksum === 0) return;
    const grown = grow(checksum, this.transportGrowth);
    writeU16(bytes, at, this.isUdp ? udpChecksumField(grown) : grown);
  }
}
