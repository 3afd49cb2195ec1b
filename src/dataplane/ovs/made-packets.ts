/**
 * Packets that a chassis makes for an action: `arp`, `nd_ns`, `nd_na`, `icmp4`, `icmp6`, `tcp_reset`,
 * `sctp_abort`, `reject` (ovn-sb(5),
 * Logical_Flow, "actions"). Sizes and values that the page leaves open are those of ovn-controller 23.03
 * (controller/pinctrl.c).
 */
import { readU32 } from "#core/base/bytes.ts";
import type { Ip, Ipv4, Ipv6 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import {
  buildArpFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildNdFrame,
  buildTcpFrame,
} from "#core/wire/build-frame.ts";
import { multicastMac } from "#core/wire/ethernet.ts";
import { IcmpUnreachable } from "#core/wire/icmp.ts";
import { Icmpv6Unreachable } from "#core/wire/icmpv6/icmpv6.ts";
import { ND_HOP_LIMIT, solicitedNodeMulticast } from "#core/wire/icmpv6/nd.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { buildSctpAbort } from "#core/wire/sctp.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { PacketFields } from "./packet-fields.ts";

/** Bytes of the packet that an ICMP error is about, with Ethernet, IP and ICMP headers taken off 576 and 1280. */
const INVOKING_BYTES_MAX = { 4: 576 - 42, 6: 1280 - 62 } as const;
const REFUSAL_TTL = 63;
const ICMP_TTL = 255;
const ICMP_UNREACHABLE = 3n;
const ICMPV6_UNREACHABLE = 1n;

type Maker = (fields: PacketFields) => Packet | undefined;

function macIn(fields: PacketFields, name: "eth.src" | "eth.dst"): Mac {
  return Number(fields.read(name)) as Mac;
}

function linkOf(
  fields: PacketFields,
  isBack: boolean,
): { readonly sourceMac: Mac; readonly destinationMac: Mac } {
  const [source, destination] = [macIn(fields, "eth.src"), macIn(fields, "eth.dst")];
  return isBack
    ? { sourceMac: destination, destinationMac: source }
    : { sourceMac: source, destinationMac: destination };
}

function addressesOf(
  fields: PacketFields,
  isBack: boolean,
): { readonly source: Ip; readonly destination: Ip } {
  const ends =
    fields.family === 4
      ? ([Number(fields.read("ip4.src")) as Ipv4, Number(fields.read("ip4.dst")) as Ipv4] as const)
      : ([fields.read("ip6.src") as Ipv6, fields.read("ip6.dst") as Ipv6] as const);
  return isBack ? { source: ends[1], destination: ends[0] } : { source: ends[0], destination: ends[1] };
}

function icmpError(fields: PacketFields, isBack: boolean, hasPortCode: boolean): Packet | undefined {
  const { family, headers, packet } = fields;
  if (family === 0) return undefined;
  const length = Math.min(headers.end - headers.network, INVOKING_BYTES_MAX[family]);
  const invoking = packet.bytes.slice(headers.network, headers.network + length);
  const link = linkOf(fields, isBack);
  const ip = { ...addressesOf(fields, isBack), ttl: ICMP_TTL, identification: 0, isDontFragment: true };
  const isPort = hasPortCode && headers.protocol === IpProtocol.udp;
  if (family === 4) {
    const code = isPort ? IcmpUnreachable.port : IcmpUnreachable.host;
    return buildIcmpFrame({ link, ip, icmp: { type: "destination-unreachable", code, invoking } });
  }
  const code = isPort ? Icmpv6Unreachable.port : Icmpv6Unreachable.prohibited;
  return buildIcmpv6Frame({ link, ip, icmpv6: { type: "destination-unreachable", code, invoking } });
}

function tcpReset(fields: PacketFields, isBack: boolean): Packet | undefined {
  const { headers, packet } = fields;
  if (headers.protocol !== IpProtocol.tcp || headers.transport < 0) return undefined;
  const acknowledgment = (readU32(packet.bytes, headers.transport + 4) + 1) >>> 0;
  return buildTcpFrame({
    link: linkOf(fields, isBack),
    ip: {
      ...addressesOf(fields, isBack),
      ttl: REFUSAL_TTL,
      identification: 0,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: Number(fields.read("tcp.dst")),
      destinationPort: Number(fields.read("tcp.src")),
      sequence: 0,
      acknowledgment,
      flags: TcpFlag.rst | TcpFlag.ack,
      window: 0,
    },
  });
}

function sctpAbort(fields: PacketFields, isBack: boolean): Packet | undefined {
  const { headers, packet } = fields;
  if (headers.protocol !== IpProtocol.sctp || headers.fragmentOffset !== 0) return undefined;
  const payload = buildSctpAbort(packet.bytes, headers.upper, headers.end);
  if (payload === undefined) return undefined;
  return buildIpFrame({
    link: linkOf(fields, isBack),
    ip: { ...addressesOf(fields, isBack), ttl: REFUSAL_TTL, identification: 0, isDontFragment: true },
    protocol: IpProtocol.sctp,
    payload,
  });
}

/** Nothing answers a reset or an unreachable destination (pinctrl.c, `pinctrl_handle_reject_ignore_pkt`). */
function isRefusal(fields: PacketFields): boolean {
  if (fields.headers.protocol === IpProtocol.tcp)
    return (fields.read("tcp.flags") & BigInt(TcpFlag.rst)) !== 0n;
  if (fields.headers.protocol === IpProtocol.icmp) return fields.read("icmp4.type") === ICMP_UNREACHABLE;
  return fields.headers.protocol === IpProtocol.icmpv6 && fields.read("icmp6.type") === ICMPV6_UNREACHABLE;
}

function reject(fields: PacketFields): Packet | undefined {
  if (isRefusal(fields)) return undefined;
  if (fields.headers.protocol === IpProtocol.sctp) return sctpAbort(fields, true);
  return fields.headers.protocol === IpProtocol.tcp ? tcpReset(fields, true) : icmpError(fields, true, true);
}

function arp(fields: PacketFields): Packet | undefined {
  if (fields.family !== 4) return undefined;
  const { source, destination } = addressesOf(fields, false);
  return buildArpFrame({
    link: linkOf(fields, false),
    arp: {
      operation: "request",
      senderMac: macIn(fields, "eth.src"),
      senderIp: source as Ipv4,
      targetIp: destination as Ipv4,
    },
  });
}

function neighborAdvertisement(fields: PacketFields, isRouter: boolean): Packet | undefined {
  if (fields.family !== 6) return undefined;
  const target = fields.read("nd.target") as Ipv6;
  const link = linkOf(fields, true);
  return buildNdFrame({
    link,
    ip: {
      source: target,
      destination: fields.read("ip6.src") as Ipv6,
      ttl: ND_HOP_LIMIT,
      identification: 0,
      isDontFragment: false,
    },
    nd: {
      type: "neighbor-advertisement",
      target,
      isRouter,
      isSolicited: true,
      isOverride: true,
      options: [{ kind: "target-link-layer", mac: link.sourceMac }],
    },
  });
}

/** The link-local address that a MAC has (RFC 4291, appendix A). */
function linkLocalOf(mac: Mac): Ipv6 {
  const bits = BigInt(mac) ^ 0x0200_0000_0000n;
  const identifier = ((bits >> 24n) << 40n) | 0xff_fe00_0000n | (bits & 0xff_ffffn);
  return ((0xfe80n << 112n) | identifier) as Ipv6;
}

function neighborSolicitation(fields: PacketFields): Packet | undefined {
  if (fields.family !== 6) return undefined;
  const target = fields.read("ip6.dst") as Ipv6;
  const destination = solicitedNodeMulticast(target);
  const sourceMac = macIn(fields, "eth.src");
  return buildNdFrame({
    link: { sourceMac, destinationMac: multicastMac(destination) },
    ip: {
      source: linkLocalOf(sourceMac),
      destination,
      ttl: ND_HOP_LIMIT,
      identification: 0,
      isDontFragment: false,
    },
    nd: { type: "neighbor-solicitation", target, options: [{ kind: "source-link-layer", mac: sourceMac }] },
  });
}

const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ["arp", arp],
  ["nd_ns", neighborSolicitation],
  ["nd_na", (fields) => neighborAdvertisement(fields, false)],
  ["nd_na_router", (fields) => neighborAdvertisement(fields, true)],
  ["icmp4", (fields) => icmpError(fields, false, false)],
  ["icmp4_error", (fields) => icmpError(fields, false, false)],
  ["icmp6", (fields) => icmpError(fields, false, false)],
  ["icmp6_error", (fields) => icmpError(fields, false, false)],
  ["tcp_reset", (fields) => tcpReset(fields, false)],
  ["sctp_abort", (fields) => sctpAbort(fields, false)],
  ["reject", reject],
]);

/** The packet that action `name` makes of the one at hand; undefined when it makes none of it. */
export function makePacket(name: string, fields: PacketFields): Packet | undefined {
  return MAKERS.get(name)?.(fields);
}
