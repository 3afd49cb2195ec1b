import { describe, expect, it } from "vitest";
import { type Ip, type Ipv4, type Ipv6, parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import {
  buildArpFrame,
  buildEthernetFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "../build-frame.ts";
import { describeFrame, formatFrame } from "./format.ts";
import { TcpFlag } from "../tcp.ts";

const ip = (text: string): Ip => parseIp(text)!;
const link = { sourceMac: parseMac("0E-2A-0A-F4-01-0A")!, destinationMac: parseMac("00-15-5D-AA-00-01")! };
const ip4 = {
  source: ip("10.244.1.10"),
  destination: ip("10.244.2.10"),
  ttl: 128,
  identification: 1,
  isDontFragment: true,
};
const ip6 = { ...ip4, source: ip("fd00:1::a"), destination: ip("fd00:2::a") };
const tcp = {
  sourcePort: 49200,
  destinationPort: 8080,
  sequence: 1,
  acknowledgment: 2,
  flags: TcpFlag.psh | TcpFlag.ack,
  window: 512,
};
const payload = new Uint8Array(12);
const quoted = buildTcpFrame({ link, ip: ip4, tcp }).frame.subarray(14);
const quotedV6 = buildUdpFrame({ link, ip: ip6, udp: { sourcePort: 5, destinationPort: 53 }, payload });
const target = ip("fd00:1::1") as Ipv6;
const senderIp = ip("10.244.1.10") as Ipv4;
const targetIp = ip("10.244.1.1") as Ipv4;
const senderMac = link.sourceMac;

describe("describeFrame says in one line what a frame is", () => {
  it.each([
    { frame: DATAPLANE_VECTORS.V2, text: "TCP 10.244.1.10:49200 → 10.244.2.10:8080 SYN ECE CWR" },
    {
      frame: DATAPLANE_VECTORS.V3,
      text: "VXLAN 4096 10.0.0.11 → 10.0.0.12 [TCP 10.244.1.10:49200 → 10.244.2.10:8080 SYN ECE CWR]",
    },
    {
      frame: buildTcpFrame({ link, ip: ip4, tcp, payload }).frame,
      text: "TCP 10.244.1.10:49200 → 10.244.2.10:8080 PSH ACK 12 bytes",
    },
    {
      frame: buildTcpFrame({ link: { ...link, vlan: { id: 7 } }, ip: ip6, tcp: { ...tcp, flags: 0 } }).frame,
      text: "TCP [fd00:1::a]:49200 → [fd00:2::a]:8080 no flags",
    },
    {
      frame: buildUdpFrame({ link, ip: ip4, udp: { sourcePort: 1, destinationPort: 53 }, payload }).frame,
      text: "UDP 10.244.1.10:1 → 10.244.2.10:53 12 bytes",
    },
    {
      frame: buildIcmpFrame({
        link,
        ip: ip4,
        icmp: { type: "echo-request", identifier: 1, sequence: 5, payload },
      }).frame,
      text: "ICMP 10.244.1.10 → 10.244.2.10 echo request id 1 seq 5",
    },
    {
      frame: buildIcmpFrame({
        link,
        ip: ip4,
        icmp: { type: "fragmentation-needed", mtuBytes: 1450, invoking: quoted.subarray(0, 28) },
      }).frame,
      text: "ICMP 10.244.1.10 → 10.244.2.10 fragmentation needed, MTU 1450 [TCP 10.244.1.10:49200 → 10.244.2.10:8080]",
    },
    {
      frame: buildIcmpFrame({
        link,
        ip: ip4,
        icmp: { type: "destination-unreachable", code: 3, invoking: new Uint8Array(0) },
      }).frame,
      text: "ICMP 10.244.1.10 → 10.244.2.10 port unreachable [malformed frame: the frame ends inside its IPv4 header]",
    },
    {
      frame: buildIcmpv6Frame({
        link,
        ip: ip6,
        icmpv6: { type: "destination-unreachable", code: 4, invoking: quotedV6.frame.subarray(14, 14 + 48) },
      }).frame,
      text: "ICMPv6 fd00:1::a → fd00:2::a port unreachable [UDP [fd00:1::a]:5 → [fd00:2::a]:53 0 bytes]",
    },
    {
      frame: buildNdFrame({
        link,
        ip: { ...ip6, ttl: 255 },
        nd: {
          type: "neighbor-solicitation",
          target,
          options: [{ kind: "source-link-layer", mac: senderMac }],
        },
      }).frame,
      text: "ND who has fd00:1::1? from 0E-2A-0A-F4-01-0A",
    },
    {
      frame: buildNdFrame({
        link,
        ip: { ...ip6, ttl: 255 },
        nd: {
          type: "neighbor-advertisement",
          target,
          isRouter: true,
          isSolicited: true,
          isOverride: false,
          options: [{ kind: "target-link-layer", mac: senderMac }],
        },
      }).frame,
      text: "ND fd00:1::1 is at 0E-2A-0A-F4-01-0A (router, solicited)",
    },
    {
      frame: buildArpFrame({ link, arp: { operation: "request", senderMac, senderIp, targetIp } }).frame,
      text: "ARP who has 10.244.1.1? tell 10.244.1.10",
    },
    {
      frame: buildArpFrame({ link, arp: { operation: "request", senderMac, senderIp: 0 as Ipv4, targetIp } })
        .frame,
      text: "ARP probe for 10.244.1.1",
    },
    {
      frame: buildArpFrame({ link, arp: { operation: "request", senderMac, senderIp, targetIp: senderIp } })
        .frame,
      text: "ARP announcement of 10.244.1.10 at 0E-2A-0A-F4-01-0A",
    },
    {
      frame: buildArpFrame({
        link,
        arp: { operation: "reply", senderMac, senderIp, targetMac: link.destinationMac, targetIp },
      }).frame,
      text: "ARP 10.244.1.10 is at 0E-2A-0A-F4-01-0A",
    },
    {
      frame: buildIpFrame({
        link,
        ip: ip4,
        protocol: 17,
        payload,
        fragment: { offset: 1480, hasMore: false },
      }).frame,
      text: "UDP 10.244.1.10 → 10.244.2.10 fragment at 1480, last",
    },
    {
      frame: buildIpFrame({
        link,
        ip: ip6,
        protocol: 6,
        payload,
        fragment: { offset: 8, hasMore: true },
      }).frame,
      text: "TCP fd00:1::a → fd00:2::a fragment at 8, more follow",
    },
    {
      frame: buildIpFrame({ link, ip: ip4, protocol: 47, payload }).frame,
      text: "GRE 10.244.1.10 → 10.244.2.10",
    },
    {
      frame: buildIpFrame({ link, ip: ip4, protocol: 99, payload }).frame,
      text: "protocol 99 10.244.1.10 → 10.244.2.10",
    },
    {
      frame: buildEthernetFrame({ link, etherType: 0x88cc, payload }).frame,
      text: "ethertype 0x88cc 0E-2A-0A-F4-01-0A → 00-15-5D-AA-00-01 26 bytes",
    },
    {
      frame: new Uint8Array(5),
      text: "malformed frame: the frame is shorter than an Ethernet header (14 bytes)",
    },
  ])("$text", ({ frame, text }) => {
    expect(describeFrame(frame)).toBe(text);
  });
});

describe("formatFrame says one line per header", () => {
  it("a tunnelled SYN", () => {
    expect(formatFrame(DATAPLANE_VECTORS.V3)).toEqual([
      "Ethernet 00-15-5D-00-00-11 → 00-15-5D-00-00-12 IPv4",
      "IPv4 10.0.0.11 → 10.0.0.12 UDP ttl 128 id 0x7001 DF length 102 checksum 0x766f",
      "UDP 39041 → 4789 length 82 checksum 0x0000",
      "VXLAN VNI 4096",
      "Ethernet 0E-2A-0A-F4-01-0A → 00-15-5D-AA-00-02 IPv4",
      "IPv4 10.244.1.10 → 10.244.2.10 TCP ttl 127 id 0x1234 DF length 52 checksum 0xd094",
      "TCP 49200 → 8080 SYN ECE CWR seq 16909060 ack 0 window 64860 checksum 0x7463 options mss 1410, window scale 8, sack permitted",
    ]);
  });

  it("a tagged IPv6 packet with extension headers", () => {
    const packet = buildUdpFrame({
      link: { ...link, vlan: { id: 100, priority: 5, isDropEligible: true } },
      ip: { ...ip6, dscp: 46, ecn: 1, flowLabel: 0xabc, extensions: [{ type: 0, data: new Uint8Array(6) }] },
      udp: { sourcePort: 1, destinationPort: 2 },
      payload,
      checksum: "none",
    });
    expect(formatFrame(packet.frame)).toEqual([
      "Ethernet 0E-2A-0A-F4-01-0A → 00-15-5D-AA-00-01 802.1Q",
      "802.1Q VLAN 100 priority 5 drop eligible IPv6",
      "IPv6 fd00:1::a → fd00:2::a next hop-by-hop options hop limit 128 dscp 46 ecn 1 flow 0x00abc payload 28",
      "IPv6 extension hop-by-hop options 8 bytes",
      "UDP 1 → 2 length 20 checksum 0x0000",
    ]);
  });

  it("a frame that ends too early names the header that is broken", () => {
    expect(formatFrame(DATAPLANE_VECTORS.V2.subarray(0, 40))).toEqual([
      "Ethernet 0E-2A-0A-F4-01-0A → 00-15-5D-AA-00-01 IPv4",
      "malformed: the IPv4 total length is below the header length or reaches beyond the frame",
    ]);
  });
});
