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
