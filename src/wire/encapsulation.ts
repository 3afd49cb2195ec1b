/** VXLAN encapsulation in place: outer headers go into a packet's headroom, and come off by moving its start. */
import {
  type IpFields,
  type LinkFields,
  emitIp,
  emitLink,
  ipEtherType,
  ipLength,
  linkLength,
} from "./emit-headers.ts";
import type { Headers } from "./headers.ts";
import { IpProtocol } from "./ip-protocol.ts";
import type { MalformedReason } from "./malformed.ts";
import type { Packet } from "./packet.ts";
import { UDP_HEADER_BYTES, UdpView, emitUdp } from "./udp.ts";
import { VXLAN_HEADER_BYTES, VXLAN_PORT, VxlanView, emitVxlan } from "./vxlan.ts";

/** The outer headers of a VXLAN packet. The UDP checksum is zero, as RFC 7348 asks (dataplane.md §6.1). */
export interface VxlanOuter {
  readonly link: LinkFields;
  /** dataplane.md §6.1: Windows sends TTL 128 and DF. */
  readonly ip: IpFields;
  /** Spreads flows over paths: a hash of the inner headers. */
  readonly sourcePort: number;
  /** 24 bits. */
  readonly vni: number;
}

/** Puts outer headers in front of the frame of `packet`. Headers parsed before no longer hold. */
export function encapsulateVxlan(packet: Packet, outer: VxlanOuter): void {
  const { link, ip, sourcePort, vni } = outer;
  const udpPayload = VXLAN_HEADER_BYTES + packet.length;
  const payloadLength = UDP_HEADER_BYTES + udpPayload;
  packet.prepend(linkLength(link) + ipLength(ip) + UDP_HEADER_BYTES + VXLAN_HEADER_BYTES);
  const { bytes } = packet;
  let at = packet.start;
  at += emitLink(link, ipEtherType(ip), bytes, at);
  at += emitIp(ip, { protocol: IpProtocol.udp, payloadLength }, bytes, at);
  at += emitUdp({ sourcePort, destinationPort: VXLAN_PORT }, udpPayload, bytes, at);
  emitVxlan(vni, bytes, at);
}

/** True when `headers` show a whole UDP datagram to the port of VXLAN. */
export function isVxlan(bytes: Uint8Array, headers: Headers): boolean {
  if (headers.protocol !== IpProtocol.udp || headers.transport < 0 || headers.isFragment) return false;
  const view = UdpView.parse(bytes, headers.transport, headers.end);
  return typeof view !== "string" && view.destinationPort === VXLAN_PORT;
}

/**
 * Takes the outer headers off a packet for which `isVxlan` holds: its frame is then the inner one. Headers parsed before
 * no longer hold.
 * @returns the VNI, or why the packet was left as it is.
 */
export function decapsulateVxlan(packet: Packet, headers: Headers): number | MalformedReason {
  const udp = UdpView.parse(packet.bytes, headers.transport, headers.end);
  if (typeof udp === "string") return udp;
  const vxlan = VxlanView.parse(packet.bytes, udp.payloadStart, udp.payloadEnd);
  if (typeof vxlan === "string") return vxlan;
  packet.start = vxlan.payloadStart;
  packet.end = udp.payloadEnd;
  return vxlan.vni;
}
