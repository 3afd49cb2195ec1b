import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PcapngWriter } from "#dataplane/device/pcapng.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { type Ip, type Ipv4, type Ipv6, parseInterfaceAddress, parseIp, parsePrefix } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { arbitraryTcpFields } from "../support/wire/arbitrary-frames.ts";
import { group, layer, makePort, rule } from "../support/dataplane/engine-kit.ts";
import { DATAPLANE_VECTORS } from "../support/wire/dataplane-vectors.ts";
import { makeRoutedPair } from "../support/dataplane/routed-pair.ts";
import {
  buildArpFrame,
  buildIcmpFrame,
  buildIcmpv6Frame,
  buildIpFrame,
  buildMldFrame,
  buildNdFrame,
  buildTcpFrame,
  buildUdpFrame,
} from "#core/wire/build-frame.ts";
import { type DnsMessage, emitDns } from "#core/wire/dns/dns.ts";
import {
  encapsulateGeneve,
  encapsulateNvgre,
  encapsulateStt,
  encapsulateVxlan,
} from "#core/wire/tunnels/encapsulation.ts";
import { listFields } from "#core/wire/text/fields.ts";
import { formatTcpFlags } from "#core/wire/text/format-message.ts";
import { Headers } from "#core/wire/headers.ts";
import { toOvnGeneveOption, toOvnSttContextId } from "#core/wire/tunnels/ovn-metadata.ts";
import { segmentTcp } from "#core/wire/segmentation.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { pushVlan } from "#core/wire/vlan.ts";

/** A frame with its name, which travels as the packet's comment. */
interface Named {
  readonly name: string;
  readonly frame: Uint8Array;
}

const ip = (text: string): Ip => parseIp(text)!;
const link = { sourceMac: parseMac("0E-2A-0A-F4-01-0A")!, destinationMac: parseMac("00-15-5D-AA-00-01")! };
const ip4 = {
  source: ip("10.244.1.10"),
  destination: ip("10.244.2.10"),
  ttl: 128,
  identification: 0x1234,
  isDontFragment: true,
};
const ip6 = {
  ...ip4,
  source: ip("fd00:1::a"),
  destination: ip("fd00:2::a"),
  flowLabel: 0x12345,
  dscp: 46,
  ecn: 1,
};
const nd = { ...ip6, ttl: 255, dscp: 0, ecn: 0 };
const payload = Uint8Array.from({ length: 33 }, (_, i) => i);
const tcp = {
  sourcePort: 49200,
  destinationPort: 50080,
  sequence: 0xffff_ff00,
  acknowledgment: 0x8000_0001,
  flags: TcpFlag.psh | TcpFlag.ack,
  window: 512,
};
const udp = { sourcePort: 50001, destinationPort: 50002 };
const outer = {
  link: { sourceMac: parseMac("00-15-5D-00-00-11")!, destinationMac: parseMac("00-15-5D-00-00-12")! },
  ip: { ...ip4, source: ip("10.0.0.11"), destination: ip("10.0.0.12") },
  sourcePort: 39041,
  vni: 4096,
};
const dns: DnsMessage = {
  id: 7,
  isResponse: true,
  opcode: 0,
  isAuthoritative: true,
  isTruncated: false,
  isRecursionDesired: true,
  isRecursionAvailable: true,
  rcode: 0,
  questions: [{ name: "web.default.svc.cluster.local", type: "A", class: "IN" }],
  answers: [
    { name: "web.default.svc.cluster.local", type: "A", ttlSeconds: 5, ip: ip("10.96.0.50") as Ipv4 },
    { name: "_http._tcp.web", type: "SRV", ttlSeconds: 5, priority: 0, weight: 1, port: 80, target: "a.web" },
    { name: "txt.web", type: "TXT", ttlSeconds: 5, strings: [Uint8Array.of(0x61, 0x62)] },
  ],
  authorities: [],
  additionals: [{ type: "OPT", udpPayloadBytesMax: 1232, isDnssecOk: false }],
};

function segmentsOf(): Named[] {
  const whole = buildTcpFrame({ link, ip: ip4, tcp, payload: new Uint8Array(3000) });
  const headers = new Headers();
  headers.parse(whole);
  return segmentTcp(whole, headers, 1410).map(({ frame }, index) => ({ name: `segment ${index}`, frame }));
}

function tunnelled(family: 4 | 6): Uint8Array {
  const packet = buildUdpFrame({ link, ip: ip4, udp, payload });
  const outerIp =
    family === 4 ? outer.ip : { ...ip6, source: ip("fd00:b::11"), destination: ip("fd00:b::12") };
  encapsulateVxlan(packet, { ...outer, ip: outerIp });
  return packet.frame;
}

const ovnKeys = { datapath: 6, ingressPort: 1, egressPort: 3 };

function inGeneve(family: 4 | 6): Uint8Array {
  const packet = buildTcpFrame({ link, ip: ip4, tcp, payload });
  const outerIp =
    family === 4 ? outer.ip : { ...ip6, source: ip("fd00:b::11"), destination: ip("fd00:b::12") };
  encapsulateGeneve(packet, { ...outer, ip: outerIp, vni: 6, options: [toOvnGeneveOption(ovnKeys)] });
  return packet.frame;
}

function inNvgre(family: 4 | 6): Uint8Array {
  const packet = buildTcpFrame({ link, ip: ip4, tcp, payload });
  const outerIp =
    family === 4 ? outer.ip : { ...ip6, source: ip("fd00:b::11"), destination: ip("fd00:b::12") };
  encapsulateNvgre(packet, { link: outer.link, ip: outerIp, virtualSubnetId: 4096, flowId: 42 });
  return packet.frame;
}

/** One segment that holds the whole frame. */
function inStt(): Uint8Array {
  const packet = buildTcpFrame({ link, ip: ip4, tcp, payload });
  const stt = { flags: 0, layer4Offset: 0, mssBytes: 0, vlanTag: 0, contextId: toOvnSttContextId(ovnKeys) };
  const segments = encapsulateStt(packet, stt, { ...outer, packetId: 7, segmentBytesMax: 1460 });
  return segments![0]!.frame;
}

/** What the match-action engine makes of a frame: the first packet of a flow, and the second, which hits it. */
function fromEngine(encapsulation: "vxlan" | "nvgre", providerAddress: string): Named[] {
  const port = makePort([layer("ENCAP", 40, { isStateful: false })]);
  port.address = {
    providerIpv4: ip("10.0.0.11") as Ipv4,
    providerIpv6: ip("fd00:b::11") as Ipv6,
    customerAddresses: [],
    fakeMac: outer.link.sourceMac,
    flags: 0,
  };
  const route = rule(
    "remote",
    {
      type: "routeencap",
      encapsulation,
      tni: 4096,
      destinations: [{ providerAddress: ip(providerAddress), innerMac: link.destinationMac }],
      decrementTtl: true,
    },
    { mssDelta: 50 },
  );
  const mark = rule("mark", { type: "mark", dscp: 46 }, { isTerminating: false });
  port.setGroups("ENCAP", [group([mark]), group([route], { priority: 2 })]);
  return ["first", "second"].map((which) => {
    const packet = buildTcpFrame({ link, ip: ip4, tcp, payload });
    const headers = new Headers();
    headers.parse(packet);
    port.process("out", packet, headers, 0);
    return { name: `engine, ${encapsulation} to ${providerAddress}, ${which}`, frame: packet.frame };
  });
}

function tagged(): Uint8Array {
  const packet = buildTcpFrame({ link, ip: ip4, tcp });
  pushVlan(packet, { id: 100, priority: 5 });
  return packet.frame;
}

const quoted = buildUdpFrame({ link, ip: ip4, udp, payload }).frame.subarray(14);
const quotedTcp = buildTcpFrame({ link, ip: ip4, tcp }).frame.subarray(14);
const quotedV6 = buildUdpFrame({ link, ip: ip6, udp, payload }).frame.subarray(14);
const target = ip("fd00:2::a") as Ipv6;

/**
 * One segment that holds all. STT is known by its looks, and looks like TCP: without being asked, tshark checks it as
 * TCP, its checksum included; as STT it has a test of its own.
 */
const STT: Named = { name: "STT", frame: inStt() };

/** Every kind of frame that the builders make. */
const FRAMES: readonly Named[] = [
  ...Object.entries(DATAPLANE_VECTORS).map(([name, frame]) => ({ name: `DATAPLANE-${name}`, frame })),
  ...segmentsOf(),
  { name: "TCP in IPv4 with payload", frame: buildTcpFrame({ link, ip: ip4, tcp, payload }).frame },
  {
    name: "SYN with all options",
    frame: buildTcpFrame({
      link,
      ip: ip4,
      tcp: {
        ...tcp,
        flags: TcpFlag.syn,
        acknowledgment: 0,
        options: [
          { kind: "mss", mssBytes: 1410 },
          { kind: "window-scale", shift: 8 },
          { kind: "sack-permitted" },
          { kind: "timestamps", value: 1, echo: 0 },
        ],
      },
    }).frame,
  },
  {
    name: "selective acknowledgment",
    frame: buildTcpFrame({
      link,
      ip: ip4,
      tcp: {
        ...tcp,
        options: [
          { kind: "nop" },
          { kind: "nop" },
          { kind: "sack", blocks: [{ left: 0x8000_1000, right: 0x8000_2000 }] },
          { kind: "timestamps", value: 1, echo: 0xffff_ffff },
        ],
      },
    }).frame,
  },
  { name: "TCP in IPv6", frame: buildTcpFrame({ link, ip: ip6, tcp, payload }).frame },
  { name: "a tagged frame", frame: tagged() },
  {
    name: "a frame built with a tag",
    frame: buildUdpFrame({
      link: { ...link, vlan: { id: 7, priority: 3, isDropEligible: true } },
      ip: ip4,
      udp,
      payload,
    }).frame,
  },
  { name: "UDP in IPv4", frame: buildUdpFrame({ link, ip: ip4, udp, payload }).frame },
  {
    name: "UDP without checksum",
    frame: buildUdpFrame({ link, ip: ip4, udp, payload, checksum: "none" }).frame,
  },
  { name: "UDP in IPv6", frame: buildUdpFrame({ link, ip: ip6, udp, payload }).frame },
  {
    name: "UDP behind IPv6 extension headers",
    frame: buildUdpFrame({
      link,
      ip: {
        ...ip6,
        extensions: [
          { type: 0, data: new Uint8Array(0) },
          { type: 60, data: new Uint8Array(6) },
        ],
      },
      udp,
      payload,
    }).frame,
  },
  {
    name: "UDP behind an IPv4 router alert",
    frame: buildUdpFrame({ link, ip: { ...ip4, ipv4Options: Uint8Array.of(148, 4, 0, 0) }, udp, payload })
      .frame,
  },
  {
    name: "DNS",
    frame: buildUdpFrame({
      link,
      ip: ip4,
      udp: { sourcePort: 53, destinationPort: 50003 },
      payload: emitDns(dns),
    }).frame,
  },
  {
    name: "an IPv4 fragment",
    frame: buildIpFrame({
      link,
      ip: { ...ip4, isDontFragment: false },
      protocol: 17,
      payload: new Uint8Array(64),
      fragment: { offset: 1480, hasMore: true },
    }).frame,
  },
  {
    name: "an IPv6 fragment",
    frame: buildIpFrame({
      link,
      ip: { ...ip6, identification: 0x89abcdef },
      protocol: 17,
      payload: new Uint8Array(64),
      fragment: { offset: 1448, hasMore: false },
    }).frame,
  },
  {
    name: "ICMP echo request",
    frame: buildIcmpFrame({
      link,
      ip: ip4,
      icmp: { type: "echo-request", identifier: 1, sequence: 5, payload },
    }).frame,
  },
  {
    name: "ICMP echo reply",
    frame: buildIcmpFrame({
      link,
      ip: ip4,
      icmp: { type: "echo-reply", identifier: 1, sequence: 5, payload },
    }).frame,
  },
  {
    name: "ICMP port unreachable",
    frame: buildIcmpFrame({
      link,
      ip: ip4,
      icmp: { type: "destination-unreachable", code: 3, invoking: quoted.subarray(0, 28) },
    }).frame,
  },
  {
    name: "ICMP fragmentation needed",
    frame: buildIcmpFrame({
      link,
      ip: ip4,
      icmp: { type: "fragmentation-needed", mtuBytes: 1450, invoking: quotedTcp },
    }).frame,
  },
  {
    name: "ICMP time exceeded",
    frame: buildIcmpFrame({
      link,
      ip: ip4,
      icmp: { type: "time-exceeded", code: 0, invoking: quotedTcp.subarray(0, 28) },
    }).frame,
  },
  {
    name: "ICMPv6 echo request",
    frame: buildIcmpv6Frame({
      link,
      ip: ip6,
      icmpv6: { type: "echo-request", identifier: 1, sequence: 5, payload },
    }).frame,
  },
  {
    name: "ICMPv6 port unreachable",
    frame: buildIcmpv6Frame({
      link,
      ip: ip6,
      icmpv6: { type: "destination-unreachable", code: 4, invoking: quotedV6 },
    }).frame,
  },
  {
    name: "ICMPv6 packet too big",
    frame: buildIcmpv6Frame({
      link,
      ip: ip6,
      icmpv6: { type: "packet-too-big", mtuBytes: 1400, invoking: quotedV6 },
    }).frame,
  },
  {
    name: "neighbour solicitation",
    frame: buildNdFrame({
      link,
      ip: nd,
      nd: {
        type: "neighbor-solicitation",
        target,
        options: [{ kind: "source-link-layer", mac: link.sourceMac }],
      },
    }).frame,
  },
  {
    name: "neighbour advertisement",
    frame: buildNdFrame({
      link,
      ip: nd,
      nd: {
        type: "neighbor-advertisement",
        target,
        isRouter: true,
        isSolicited: true,
        isOverride: false,
        options: [{ kind: "target-link-layer", mac: link.sourceMac }],
      },
    }).frame,
  },
  {
    name: "multicast listener query",
    frame: buildMldFrame({
      link,
      source: ip("fe80::1") as Ipv6,
      destination: ip("ff02::1") as Ipv6,
      mld: {
        type: "query",
        maxResponseMs: 10_000,
        group: ip("::") as Ipv6,
        robustness: 2,
        intervalSeconds: 125,
        sources: [],
      },
    }).frame,
  },
  {
    name: "multicast listener report",
    frame: buildMldFrame({
      link,
      source: ip("fe80::a") as Ipv6,
      destination: ip("ff02::16") as Ipv6,
      mld: {
        type: "report",
        records: [
          { kind: "to-exclude", group: ip("ff02::1:ff00:10") as Ipv6, sources: [] },
          { kind: "allow", group: ip("ff3e::8000:1") as Ipv6, sources: [ip("2001:db8::1") as Ipv6] },
        ],
      },
    }).frame,
  },
  {
    name: "router solicitation",
    frame: buildNdFrame({
      link,
      ip: nd,
      nd: { type: "router-solicitation", options: [{ kind: "source-link-layer", mac: link.sourceMac }] },
    }).frame,
  },
  {
    name: "router advertisement",
    frame: buildNdFrame({
      link,
      ip: { ...nd, source: ip("fe80::1") },
      nd: {
        type: "router-advertisement",
        hopLimit: 64,
        isManaged: false,
        isOtherConfigured: true,
        lifetimeSeconds: 1800,
        reachableMs: 0,
        retransmitMs: 0,
        options: [
          { kind: "mtu", mtuBytes: 1500 },
          {
            kind: "prefix-information",
            prefix: parsePrefix("fd00:1::/64")!,
            isOnLink: true,
            isAutonomous: true,
            validSeconds: 3600,
            preferredSeconds: 1800,
          },
          { kind: "recursive-dns-servers", lifetimeSeconds: 300, servers: [target] },
        ],
      },
    }).frame,
  },
  {
    name: "ARP request",
    frame: buildArpFrame({
      link,
      arp: {
        operation: "request",
        senderMac: link.sourceMac,
        senderIp: ip4.source as Ipv4,
        targetIp: ip4.destination as Ipv4,
      },
    }).frame,
  },
  {
    name: "ARP reply",
    frame: buildArpFrame({
      link,
      arp: {
        operation: "reply",
        senderMac: link.sourceMac,
        senderIp: ip4.source as Ipv4,
        targetMac: link.destinationMac,
        targetIp: ip4.destination as Ipv4,
      },
    }).frame,
  },
  { name: "VXLAN over IPv4", frame: tunnelled(4) },
  { name: "VXLAN over IPv6", frame: tunnelled(6) },
  { name: "GENEVE over IPv4", frame: inGeneve(4) },
  { name: "GENEVE over IPv6", frame: inGeneve(6) },
  { name: "NVGRE over IPv4", frame: inNvgre(4) },
  { name: "NVGRE over IPv6", frame: inNvgre(6) },
  STT,
  ...fromEngine("vxlan", "10.0.0.12"),
  ...fromEngine("vxlan", "fd00:b::12"),
  ...fromEngine("nvgre", "10.0.0.12"),
  ...fromEngine("nvgre", "fd00:b::12"),
];

/**
 * TCP segments with any fields, of both families, from a fixed seed. Those with a payload keep to ports that no
 * dissector listens on. Urgent data and experimental options have dissectors of their own and are left out, as are
 * options that occur twice.
 */
const ANY_TCP: readonly Named[] = fc
  .sample(fc.tuple(arbitraryTcpFields, fc.boolean(), fc.nat(64)), { numRuns: 200, seed: 1 })
  .map(([fields, isV6, length], index) => {
    const kinds = (fields.options ?? []).map(({ kind }) => kind);
    const options = (fields.options ?? []).filter(
      ({ kind }, at) => kind !== "unknown" && (kind === "nop" || kinds.indexOf(kind) === at),
    );
    const ports = index % 2 === 0 ? {} : { sourcePort: tcp.sourcePort, destinationPort: tcp.destinationPort };
    const own = { ...fields, ...ports, options, urgentPointer: 0, flags: fields.flags & ~TcpFlag.urg };
    const frame = buildTcpFrame({
      link,
      ip: isV6 ? ip6 : ip4,
      tcp: own,
      payload: new Uint8Array(index % 2 === 0 ? 0 : length),
    });
    return { name: `any TCP segment ${index}`, frame: frame.frame };
  });

const OPTIONS = [
  "-o",
  "ip.check_checksum:TRUE",
  "-o",
  "tcp.check_checksum:TRUE",
  "-o",
  "udp.check_checksum:TRUE",
  "-o",
  "tcp.analyze_sequence_numbers:FALSE",
  // RFC 6935 allows a zero checksum to tunnels, such as VXLAN over IPv6.
  "-o",
  "udp.ignore_ipv6_zero_checksum:TRUE",
  "-o",
  "ip.defragment:FALSE",
  "-o",
  "ipv6.defragment:FALSE",
];
const STATUS = [
  "ip.checksum.status",
  "tcp.checksum.status",
  "udp.checksum.status",
  "icmp.checksum.status",
  "icmpv6.checksum.status",
];
/** tshark's numbers of a checksum status. */
const BAD = "0";
const EXPERT_WARNING = 0x60_0000;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-tshark-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function tshark(args: readonly string[]): string {
  try {
    return execFileSync("tshark", args, {
      encoding: "utf8",
      maxBuffer: 64 << 20,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      throw new Error("tshark is missing: apt-get install tshark", { cause: error });
    }
    throw error;
  }
}

function capture(frames: readonly Named[]): string {
  const writer = new PcapngWriter({ epochMs: Date.UTC(2025, 0, 1) });
  const uplink = writer.addInterface({ name: "w1/uplink", description: "the uplink of w1" });
  for (const [index, { name, frame }] of frames.entries()) {
    writer.writePacket({
      interface: uplink,
      timestampMs: index + 0.000_001,
      frame,
      comment: name,
      direction: "out",
    });
  }
  const file = join(folder, `${frames.length}-${frames[0]?.name ?? "none"}.pcapng`.replaceAll(" ", "-"));
  writeFileSync(file, writer.bytes());
  return file;
}

/** What tshark says about the named fields of each frame; a field may occur more than once. */
function dissect(
  frames: readonly Named[],
  fields: readonly string[],
  options: readonly string[] = [],
): Map<string, string[]>[] {
  const wanted = fields.flatMap((field) => ["-e", field]);
  const shape = ["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=|"];
  const text = tshark(["-r", capture(frames), ...OPTIONS, ...options, ...shape, ...wanted]);
  const lines = text.split("\n").slice(0, -1);
  expect(lines).toHaveLength(frames.length);
  return lines.map((line) => {
    const cells = line.split("\t");
    return new Map(fields.map((field, index) => [field, cells[index] ? cells[index].split("|") : []]));
  });
}

/** Names of ours that tshark does not have, and the sequence number of a quoted segment, which it leaves out. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "malformed",
  "tcp.options.sack",
  "tcp.options.sack_perm",
  "embedded.tcp.seq_raw",
]);

/** A value of tshark in our words. */
function inOurWords(field: string, value: string): string {
  if (field === "tcp.flags") return formatTcpFlags(Number(value) & 0xff);
  if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(value)) return value.toUpperCase().replaceAll(":", "-");
  // tshark 4 gives units of 8 bytes.
  if (field === "ip.frag_offset" || field === "ipv6.fraghdr.offset") return String(Number(value) * 8);
  if (value === "True" || value === "False") return value === "True" ? "1" : "0";
  return value;
}

/** Numbers by value: tshark pads hexadecimal in its own ways. */
function comparable(value: string): string {
  return /^0x[0-9a-f]+$/.test(value) ? String(Number(value)) : value;
}

/** Our fields of a frame by tshark's name, in order; the frame inside a tunnel and the quoted packet count on. */
function ourFields(frame: Uint8Array): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  const listed = listFields(frame);
  // tshark knows no TCP in an STT segment.
  const isStt = listed.some(({ field }) => field === "stt.pkt_len");
  for (const { field, value } of listed) {
    if (isStt && field.startsWith("tcp.")) continue;
    const name = field.replace(/^(inner\.|embedded\.)+/, "");
    if (!OWN_FIELDS.has(name) && !OWN_FIELDS.has(field)) addToList(fields, name, comparable(value));
  }
  return fields;
}

function compareFields(frames: readonly Named[], options: readonly string[] = []): void {
  const ours = frames.map(({ frame }) => ourFields(frame));
  const names = [...new Set(ours.flatMap((fields) => [...fields.keys()]))];
  const theirs = dissect(frames, names, options);
  for (const [index, { name }] of frames.entries()) {
    for (const [field, values] of ours[index]!) {
      const found = (theirs[index]!.get(field) ?? []).map((value) => comparable(inOurWords(field, value)));
      // tshark reads on in a quoted packet where we stop behind its ports.
      expect(found.slice(0, values.length), `${field} of ${name}`).toEqual(values);
    }
  }
}

describe("tshark", () => {
  it("finds no malformed packet, no wrong checksum and no warning in well-formed traffic", () => {
    const frames = [...FRAMES, ...ANY_TCP];
    const fields = ["frame.comment", "_ws.malformed", "_ws.expert.severity", ...STATUS];
    for (const [index, found] of dissect(frames, fields).entries()) {
      const name = frames[index]!.name;
      expect(found.get("frame.comment"), name).toEqual([name]);
      expect(found.get("_ws.malformed"), name).toEqual([]);
      // Any values together make no sense as TCP, which tshark remarks.
      const severities = index < FRAMES.length ? (found.get("_ws.expert.severity") ?? []).map(Number) : [];
      expect(Math.max(0, ...severities), `severity of ${name}`).toBeLessThan(EXPERT_WARNING);
      for (const status of STATUS) expect(found.get(status), `${status} of ${name}`).not.toContain(BAD);
    }
  });

  it("finds no fault with what a host and a router of IPv6 say to each other", () => {
    const pair = makeRoutedPair();
    const { routerToClient: router, client } = pair;
    router.compartment.addAddress(router.netInterface, parseInterfaceAddress("fd00:1::1/64")!);
    router.compartment.advertiseRouter(router.netInterface, {
      prefixes: [{ prefix: parsePrefix("fd00:1::/64")! }],
      mtuBytes: 1_400,
      dnsServers: [ip("fd00:1::53") as Ipv6],
    });
    client.compartment.discoverRouters(client.netInterface);
    pair.env.clock.runUntil(pair.env.clock.nowMs + 10_000);
    const frames = [...client.capture.frames, ...router.capture.frames].map(({ frame }, index) => ({
      name: `frame ${index}`,
      frame,
    }));
    const fields = ["icmpv6.type", "_ws.malformed", "_ws.expert.severity", "icmpv6.checksum.status"];
    const types = new Set<string>();
    for (const found of dissect(frames, fields)) {
      for (const type of found.get("icmpv6.type") ?? []) types.add(type);
      expect(found.get("_ws.malformed")).toEqual([]);
      const severities = (found.get("_ws.expert.severity") ?? []).map(Number);
      expect(Math.max(0, ...severities)).toBeLessThan(EXPERT_WARNING);
      expect(found.get("icmpv6.checksum.status")).not.toContain(BAD);
    }
    // Solicitations and advertisements of routers, of neighbours, and reports of listeners.
    expect([...types].toSorted()).toEqual(["133", "134", "135", "143"]);
  });

  it("did check: each kind of checksum is good in its frame", () => {
    const names = ["TCP in IPv6", "UDP in IPv4", "ICMP echo request", "ICMPv6 echo request", "STT"];
    const frames = names.map((name) => FRAMES.find((frame) => frame.name === name)!);
    const found = dissect(frames, STATUS).map((fields) => STATUS.map((status) => fields.get(status)!.join()));
    expect(found).toEqual([
      ["", "1", "", "", ""],
      ["1", "", "1", "", ""],
      ["1", "", "", "1", ""],
      ["", "", "", "", "1"],
      ["1", "1", "", "", ""],
    ]);
  });

  it("would find what is wrong: a changed byte, and a cut header", () => {
    const wrong = DATAPLANE_VECTORS.V1.slice();
    wrong[57] = 0x83;
    const cut = buildIpFrame({ link, ip: ip4, protocol: 6, payload: new Uint8Array(8) }).frame;
    const [first, second] = dissect(
      [
        { name: "wrong", frame: wrong },
        { name: "cut", frame: cut },
      ],
      ["tcp.checksum.status", "_ws.malformed"],
    );
    expect(first!.get("tcp.checksum.status")).toEqual([BAD]);
    expect(second!.get("_ws.malformed")).not.toEqual([]);
  });

  it("reads the same fields as we do, by the same names", () => {
    expect(() => compareFields(FRAMES.filter((frame) => frame !== STT))).not.toThrow();
  });

  it("reads the same fields of STT and of the frame in it", () => {
    expect(() => compareFields([STT], ["-o", "ip.try_heuristic_first:TRUE"])).not.toThrow();
  });

  it("reads the same fields of TCP segments with any values", () => {
    expect(() => compareFields(ANY_TCP)).not.toThrow();
  });

  it("reads the interface, the comment, the direction and nanoseconds", () => {
    const frames = FRAMES.slice(0, 2);
    const fields = [
      "frame.interface_name",
      "frame.interface_description",
      "frame.comment",
      "frame.time_epoch",
      "frame.packet_flags_direction",
    ];
    expect(
      dissect(frames, fields).map((found) => fields.map((field) => comparable(found.get(field)!.join()))),
    ).toEqual([
      ["w1/uplink", "the uplink of w1", "DATAPLANE-V1", "1735689600.000000001", "2"],
      ["w1/uplink", "the uplink of w1", "DATAPLANE-V2", "1735689600.001000001", "2"],
    ]);
  });

  it("reads our DNS answer", () => {
    const frame = FRAMES.find(({ name }) => name === "DNS")!;
    const fields = [
      "dns.qry.name",
      "dns.a",
      "dns.srv.port",
      "dns.srv.target",
      "dns.txt",
      "dns.count.answers",
    ];
    const [found] = dissect([frame], fields);
    expect(fields.map((field) => found!.get(field)!.join())).toEqual([
      "web.default.svc.cluster.local",
      "10.96.0.50",
      "80",
      "a.web",
      "ab",
      "3",
    ]);
  });
});
