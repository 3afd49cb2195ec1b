import { describe, expect, it } from "vitest";
import { parseIp } from "../../net/ip.ts";
import { parseMac } from "../../net/mac.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { buildIcmpFrame, buildTcpFrame } from "../build-frame.ts";
import { type FieldChange, type FieldValue, diffFields, listFields } from "./fields.ts";
import { Packet } from "../packet.ts";
import { popVlan, pushVlan } from "../vlan.ts";

const { V1, V2, V3, V6, V7 } = DATAPLANE_VECTORS;

function valueOf(fields: readonly FieldValue[], name: string): string | undefined {
  return fields.find(({ field }) => field === name)?.value;
}

/** Changes as lines: `field before → after`, `+ field after`, `- field before`. */
function lines(changes: readonly FieldChange[]): string[] {
  return changes.map(({ field, before, after }) => {
    if (before === undefined) return `+ ${field} ${after}`;
    return after === undefined ? `- ${field} ${before}` : `${field} ${before} → ${after}`;
  });
}

const difference = (before: Uint8Array, after: Uint8Array): string[] =>
  lines(diffFields(listFields(before), listFields(after)));

describe("listFields", () => {
  it("names the fields of a SYN as tshark does", () => {
    expect(listFields(V1).map(({ field, value }) => `${field}=${value}`)).toEqual([
      "eth.dst=00-15-5D-AA-00-01",
      "eth.src=0E-2A-0A-F4-01-0A",
      "eth.type=0x0800",
      "ip.hdr_len=20",
      "ip.dsfield.dscp=0",
      "ip.dsfield.ecn=0",
      "ip.len=52",
      "ip.id=0x1234",
      "ip.flags.df=1",
      "ip.flags.mf=0",
      "ip.frag_offset=0",
      "ip.ttl=128",
      "ip.proto=6",
      "ip.checksum=0xd200",
      "ip.src=10.244.1.10",
      "ip.dst=10.96.0.50",
      "tcp.srcport=49200",
      "tcp.dstport=80",
      "tcp.seq_raw=16909060",
      "tcp.ack_raw=0",
      "tcp.hdr_len=32",
      "tcp.flags=SYN ECE CWR",
      "tcp.window_size_value=64860",
      "tcp.checksum=0x960f",
      "tcp.urgent_pointer=0",
      "tcp.options.mss_val=1410",
      "tcp.options.wscale.shift=8",
      "tcp.options.sack_perm=1",
      "tcp.len=0",
    ]);
  });

  it("puts the tunnelled frame behind inner.", () => {
    const fields = listFields(V3);
    expect(valueOf(fields, "ip.dst")).toBe("10.0.0.12");
    expect(valueOf(fields, "vxlan.vni")).toBe("4096");
    expect(valueOf(fields, "inner.eth.dst")).toBe("00-15-5D-AA-00-02");
    expect(valueOf(fields, "inner.ip.ttl")).toBe("127");
    expect(valueOf(fields, "inner.tcp.dstport")).toBe("8080");
  });

  it("puts what an ICMP error quotes behind embedded.", () => {
    const error = buildIcmpFrame({
      link: { sourceMac: parseMac("02-00-00-00-00-01")!, destinationMac: parseMac("02-00-00-00-00-02")! },
      ip: {
        source: parseIp("10.0.0.1")!,
        destination: parseIp("10.244.1.10")!,
        ttl: 64,
        identification: 0,
        isDontFragment: false,
      },
      icmp: { type: "time-exceeded", code: 0, invoking: V1.subarray(14, 14 + 28) },
    });
    const fields = listFields(error.frame);
    expect(valueOf(fields, "icmp.type")).toBe("11");
    expect(valueOf(fields, "embedded.ip.dst")).toBe("10.96.0.50");
    expect(valueOf(fields, "embedded.tcp.dstport")).toBe("80");
    expect(valueOf(fields, "embedded.tcp.checksum")).toBeUndefined();
  });

  it("keeps what stands in front of a broken header", () => {
    expect(listFields(V1.subarray(0, 30)).at(-1)).toEqual({ field: "malformed", value: "ipv4-truncated" });
    expect(listFields(new Uint8Array(0))).toEqual([{ field: "malformed", value: "ethernet-truncated" }]);
  });
});

describe("diffFields tells what a step rewrote", () => {
  it("DATAPLANE-V1 to V2: load balancing changes destination and checksums", () => {
    expect(difference(V1, V2)).toEqual([
      "ip.checksum 0xd200 → 0xcf94",
      "ip.dst 10.96.0.50 → 10.244.2.10",
      "tcp.dstport 80 → 8080",
      "tcp.checksum 0x960f → 0x7463",
    ]);
  });

  it("DATAPLANE-V2 to V3: encapsulation adds outer headers and changes three inner fields", () => {
    const changes = difference(V2, V3);
    expect(changes.filter((line) => line.includes("inner."))).toEqual([
      "inner.eth.dst 00-15-5D-AA-00-01 → 00-15-5D-AA-00-02",
      "inner.ip.ttl 128 → 127",
      "inner.ip.checksum 0xcf94 → 0xd094",
    ]);
    expect(changes).toContain("+ vxlan.vni 4096");
    expect(changes).toContain("+ ip.src 10.0.0.11");
    expect(changes.filter((line) => line.startsWith("-"))).toEqual([]);
  });

  it("DATAPLANE-V3: taking the outer headers off shows them as gone, and nothing else", () => {
    const changes = difference(V3, V3.subarray(50));
    expect(changes).toContain("- vxlan.vni 4096");
    expect(changes.every((line) => line.startsWith("- ") && !line.includes("inner."))).toBe(true);
  });

  it("DATAPLANE-V6 to V7: outbound NAT", () => {
    expect(difference(V6, V7)).toEqual([
      "eth.dst 00-15-5D-AA-00-01 → 52-54-00-00-00-01",
      "eth.src 0E-2A-0A-F4-01-0A → 00-15-5D-00-00-11",
      "ip.checksum 0xa087 → 0xa27a",
      "ip.src 10.244.1.10 → 10.0.0.11",
      "tcp.srcport 49201 → 50048",
      "tcp.checksum 0x672f → 0x65d3",
    ]);
  });

  it("a tag that is pushed and popped", () => {
    const packet = Packet.fromFrame(V1);
    pushVlan(packet, { id: 100, priority: 3 });
    const tagged = packet.frame.slice();
    expect(difference(V1, tagged)).toEqual([
      "eth.type 0x0800 → 0x8100",
      "+ vlan.priority 3",
      "+ vlan.dei 0",
      "+ vlan.id 100",
      "+ vlan.etype 0x0800",
    ]);
    expect(popVlan(packet)).toBe(true);
    expect(difference(V1, packet.frame)).toEqual([]);
    expect(popVlan(packet)).toBe(false);
  });

  it("equal frames have no difference, and each name occurs once", () => {
    for (const frame of Object.values(DATAPLANE_VECTORS)) {
      const fields = listFields(frame);
      expect(diffFields(fields, fields)).toEqual([]);
      expect(new Set(fields.map(({ field }) => field)).size).toBe(fields.length);
    }
  });

  it("an MSS that is clamped", () => {
    const base = {
      link: { sourceMac: parseMac("02-00-00-00-00-01")!, destinationMac: parseMac("02-00-00-00-00-02")! },
      ip: {
        source: parseIp("fd00::1")!,
        destination: parseIp("fd00::2")!,
        ttl: 64,
        identification: 0,
        isDontFragment: true,
      },
    };
    const syn = (mssBytes: number): Uint8Array =>
      buildTcpFrame({
        ...base,
        tcp: {
          sourcePort: 1,
          destinationPort: 2,
          sequence: 3,
          acknowledgment: 0,
          flags: 2,
          window: 4,
          options: [{ kind: "mss", mssBytes }],
        },
      }).frame;
    expect(difference(syn(1440), syn(1390))[1]).toBe("tcp.options.mss_val 1440 → 1390");
  });
});

// Frames written by hand, by the figures of the standards; names are those of tshark's fields.
describe("every field of", () => {
  const ETHERNET = "00155daa0001 0e2a0af4010a";
  const ETHERNET_FIELDS = ["eth.dst=00-15-5D-AA-00-01", "eth.src=0E-2A-0A-F4-01-0A"];
  const IPV6_ADDRESSES = "fe800000000000000000000000000001 fe800000000000000000000000000002";
  const IPV6_END = ["ipv6.src=fe80::1", "ipv6.dst=fe80::2"];
  const ipv6 = (length: string, next: string): string =>
    `${ETHERNET} 86dd 6b812345 ${length} ${next} ff ${IPV6_ADDRESSES}`;
  const ipv6Fields = (length: number, next: number): readonly string[] => [
    ...ETHERNET_FIELDS,
    "eth.type=0x86dd",
    "ipv6.tclass.dscp=46",
    "ipv6.tclass.ecn=0",
    "ipv6.flow=0x12345",
    `ipv6.plen=${length}`,
    `ipv6.nxt=${next}`,
    "ipv6.hlim=255",
    ...IPV6_END,
  ];
  const ipv4 = (length: string, protocol: string): string =>
    `${ETHERNET} 0800 45b9 ${length} 1234 4000 7f ${protocol} 0000 0af4010a 0a600032`;
  const ipv4Fields = (length: number, protocol: number): readonly string[] => [
    ...ETHERNET_FIELDS,
    "eth.type=0x0800",
    "ip.hdr_len=20",
    "ip.dsfield.dscp=46",
    "ip.dsfield.ecn=1",
    `ip.len=${length}`,
    "ip.id=0x1234",
    "ip.flags.df=1",
    "ip.flags.mf=0",
    "ip.frag_offset=0",
    "ip.ttl=127",
    `ip.proto=${protocol}`,
    "ip.checksum=0x0000",
    "ip.src=10.244.1.10",
    "ip.dst=10.96.0.50",
  ];

  it.each([
    [
      "an ARP request (RFC 826)",
      `${ETHERNET} 0806 0001 0800 06 04 0001 0e2a0af4010a 0af4010a 000000000000 0af40101`,
      [
        ...ETHERNET_FIELDS,
        "eth.type=0x0806",
        "arp.opcode=1",
        "arp.src.hw_mac=0E-2A-0A-F4-01-0A",
        "arp.src.proto_ipv4=10.244.1.10",
        "arp.dst.hw_mac=00-00-00-00-00-00",
        "arp.dst.proto_ipv4=10.244.1.1",
      ],
    ],
    [
      "a neighbour solicitation (RFC 4861 §4.3)",
      `${ipv6("0020", "3a")} 87 00 1234 00000000 fe800000000000000000000000000009 01 01 0e2a0af4010a`,
      [
        ...ipv6Fields(32, 58),
        "icmpv6.type=135",
        "icmpv6.code=0",
        "icmpv6.checksum=0x1234",
        "icmpv6.nd.ns.target_address=fe80::9",
        "icmpv6.opt.src_linkaddr=0E-2A-0A-F4-01-0A",
      ],
    ],
    [
      "a neighbour advertisement (RFC 4861 §4.4)",
      `${ipv6("0020", "3a")} 88 00 1234 a0000000 fe800000000000000000000000000009 02 01 0e2a0af4010a`,
      [
        ...ipv6Fields(32, 58),
        "icmpv6.type=136",
        "icmpv6.code=0",
        "icmpv6.checksum=0x1234",
        "icmpv6.nd.na.flag.r=1",
        "icmpv6.nd.na.flag.s=0",
        "icmpv6.nd.na.flag.o=1",
        "icmpv6.nd.na.target_address=fe80::9",
        "icmpv6.opt.target_linkaddr=0E-2A-0A-F4-01-0A",
      ],
    ],
    [
      "an echo over IPv6 (RFC 4443 §4.1)",
      `${ipv6("0008", "3a")} 80 00 1234 0102 0304`,
      [
        ...ipv6Fields(8, 58),
        "icmpv6.type=128",
        "icmpv6.code=0",
        "icmpv6.checksum=0x1234",
        "icmpv6.echo.identifier=258",
        "icmpv6.echo.sequence_number=772",
      ],
    ],
    [
      "a later fragment over IPv6 (RFC 8200 §4.5)",
      `${ipv6("0010", "2c")} 11 00 0009 89abcdef 0102030405060708`,
      [
        ...ipv6Fields(16, 44),
        "ipv6.fraghdr.nxt=17",
        "ipv6.fraghdr.offset=8",
        "ipv6.fraghdr.more=1",
        "ipv6.fraghdr.ident=0x89abcdef",
      ],
    ],
    [
      "an echo (RFC 792)",
      `${ipv4("001c", "01")} 08 00 abcd 0102 0304`,
      [
        ...ipv4Fields(28, 1),
        "icmp.type=8",
        "icmp.code=0",
        "icmp.checksum=0xabcd",
        "icmp.ident=258",
        "icmp.seq=772",
      ],
    ],
    [
      "a UDP datagram (RFC 768)",
      `${ipv4("001e", "11")} 1388 0035 000a beef 0102`,
      [...ipv4Fields(30, 17), "udp.srcport=5000", "udp.dstport=53", "udp.length=10", "udp.checksum=0xbeef"],
    ],
    [
      "TCP options: time stamps, a SACK, and of two window scales the first (RFC 7323, RFC 2018)",
      `${ipv4("0048", "06")} 1388 0050 00000001 00000002 d011 0100 beef 0003 0101 080a 00000007 00000008 0101 050a 00000009 0000000a 030305 030306 0000`,
      [
        ...ipv4Fields(72, 6),
        "tcp.srcport=5000",
        "tcp.dstport=80",
        "tcp.seq_raw=1",
        "tcp.ack_raw=2",
        "tcp.hdr_len=52",
        "tcp.flags=FIN ACK",
        "tcp.window_size_value=256",
        "tcp.checksum=0xbeef",
        "tcp.urgent_pointer=3",
        "tcp.options.timestamp.tsval=7",
        "tcp.options.timestamp.tsecr=8",
        "tcp.options.sack=9-10",
        "tcp.options.wscale.shift=5",
        "tcp.len=0",
      ],
    ],
  ])("%s", (_what, hex, expected) => {
    const frame = Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
    expect(listFields(frame).map(({ field, value }) => `${field}=${value}`)).toEqual(expected);
  });
});
