// Actions that make an answer of a question, or remember where it came from, as flows of ovn-northd 23.03 write them. What must
// come out stands in the RFCs and in ovn-sb(5); where those leave it open, in ovn-controller.
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildIpFrame, buildNdFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { emitDns, parseDns } from "#core/wire/dns/dns.ts";
import { Headers } from "#core/wire/headers.ts";
import { NdView, toNdRepr } from "#core/wire/icmpv6/nd.ts";
import type { Packet } from "#core/wire/packet.ts";
import { sctpChecksum } from "#core/wire/sctp.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { Chassis } from "./chassis.ts";
import { LogicalNetwork } from "./logical-network.ts";
import { type Passage, runLogicalFlows } from "./logical-pipeline.ts";
import type { Southbound } from "./southbound.ts";

const CLIENT = "50:54:00:00:00:02";
const ROUTER = "00:00:00:00:ff:01";
const BACK = `eth.dst = eth.src; eth.src = ${ROUTER}; outport = inport; flags.loopback = 1; output;`;

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

/** One switch with ports `a`, `b` and `c`, with these flows at its start, each `match` to `actions`. */
function networkOf(flows: Readonly<Record<string, string>>, more: Partial<Southbound> = {}): LogicalNetwork {
  const port = { datapath: "s", type: "", options: new Map(), portSecurity: [], mac: [], chassis: "" };
  const row = { datapaths: ["s"], stage: "", hint: "", source: "" } as const;
  return new LogicalNetwork({
    datapaths: [{ id: "s", name: "s", key: 1, kind: "switch", northbound: "", hasSourceZone: false }],
    ports: ["a", "b", "c"].map((name, index) => ({ ...port, name, key: index + 1 })),
    flows: [
      ...Object.entries(flows).map(([match, actions], index) => ({
        ...row,
        id: `flow${index}`,
        pipeline: "ingress" as const,
        table: 0,
        priority: 100 - index,
        match,
        actions,
      })),
      { ...row, id: "out", pipeline: "egress", table: 0, priority: 0, match: "1", actions: "output;" },
      {
        ...row,
        id: "none",
        pipeline: "ingress",
        table: 1,
        priority: 0,
        match: "1",
        actions: 'outport = "b"; output;',
      },
    ],
    groups: [],
    addressSets: [],
    portGroups: [],
    macBindings: [],
    loadBalancers: [],
    fdb: [],
    chassis: [],
    dns: [],
    ...more,
  });
}

interface Out {
  readonly port: string;
  readonly bytes: Uint8Array;
  readonly headers: Headers;
}

/** The one packet that goes out, whose checksums are right. */
function out({ endings }: Passage): Out {
  const [ending] = endings;
  if (endings.length !== 1 || ending?.kind !== "output") throw new Error(JSON.stringify(endings));
  const headers = new Headers();
  expect(headers.parse(ending.packet)).toBeUndefined();
  expect(verifyChecksums(ending.packet.bytes, headers)).toBeUndefined();
  return { port: ending.port, bytes: ending.packet.bytes, headers };
}

function send(
  network: LogicalNetwork,
  packet: Packet,
  chassis = new Chassis(new Set(), new VirtualClock()),
): Passage {
  return runLogicalFlows(network, chassis, "a", packet);
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("put_nd_ra_opts", () => {
  function solicit(
    source: string,
    type: "router-solicitation" | "neighbor-solicitation" = "router-solicitation",
  ): Packet {
    const options = [] as const;
    const nd =
      type === "router-solicitation" ? { type, options } : { type, target: ip("fe80::1") as never, options };
    return buildNdFrame({
      link: { sourceMac: mac(CLIENT), destinationMac: mac("33:33:00:00:00:02") },
      ip: {
        source: ip(source),
        destination: ip("ff02::2"),
        ttl: 255,
        identification: 0,
        isDontFragment: false,
      },
      nd,
    });
  }
  const put = (options: string): LogicalNetwork =>
    networkOf({
      icmp6: `reg0[5] = put_nd_ra_opts(${options}); ip6.dst = ip6.src; ip6.src = fe80::1; ${BACK}`,
    });
  const advertisement = (options: string, source = "fe80::2"): { out: Out; bytes: Uint8Array } => {
    const answer = out(send(put(options), solicit(source)));
    return { out: answer, bytes: answer.bytes.slice(answer.headers.transport, answer.headers.end) };
  };

  it("answers a solicitation with prefix, MTU and the router's MAC (RFC 4861 §4.2)", () => {
    const { out: answer, bytes } = advertisement(
      `addr_mode = "slaac", slla = ${ROUTER}, mtu = 1450, prefix = aef0::/64`,
    );
    expect(answer.port).toBe("a");
    const view = NdView.parse(bytes);
    if (typeof view === "string") throw new Error(view);
    expect(toNdRepr(view)).toEqual({
      type: "router-advertisement",
      hopLimit: 255,
      isManaged: false,
      isOtherConfigured: false,
      lifetimeSeconds: 0xffff,
      reachableMs: 0,
      retransmitMs: 0,
      options: [
        { kind: "source-link-layer", mac: mac(ROUTER) },
        { kind: "mtu", mtuBytes: 1_450 },
        {
          kind: "prefix-information",
          prefix: { address: ip("aef0::"), length: 64 },
          isOnLink: true,
          isAutonomous: true,
          validSeconds: 0xffff_ffff,
          preferredSeconds: 0xffff_ffff,
        },
      ],
    });
  });

  it.each([
    ["slaac", 0x00, 0xc0],
    ["dhcpv6_stateful", 0x80, 0x80],
    ["dhcpv6_stateless", 0x40, 0xc0],
  ])("%s: flags M and O of the message, L and A of the prefix", (mode, flags, prefixFlags) => {
    const { bytes } = advertisement(`addr_mode = "${mode}", slla = ${ROUTER}, prefix = aef0::/64`);
    expect([bytes[5], bytes[16 + 8 + 3]]).toEqual([flags, prefixFlags]);
  });

  it("writes preference, servers, search list and routes (RFC 4191, RFC 8106)", () => {
    const { bytes } = advertisement(
      `addr_mode = "slaac", slla = ${ROUTER}, router_preference = "LOW", rdnss = aef0::53, dnssl = "ovn.org,a.b", ` +
        'route_info = "HIGH-aef1::11/48,LOW-aef2::/96", prefix = aef0::/64',
    );
    expect(bytes[5]).toBe(0x18);
    const options = hex(bytes.subarray(24, bytes.length - 32));
    expect(options).toBe(
      "19030000ffffffffaef000000000000000000000000000531f030000ffffffff036f766e036f7267000161016200000018023008ffffffffaef100000000000018036018ffffffffaef20000000000000000000000000000",
    );
  });

  it("answers all nodes where the host has no address yet", () => {
    const { out: answer } = advertisement(`addr_mode = "slaac", slla = ${ROUTER}, prefix = aef0::/64`, "::");
    const { bytes, headers } = answer;
    expect(hex(bytes.subarray(headers.network + 24, headers.network + 40))).toBe(
      "ff020000000000000000000000000001",
    );
  });

  it("leaves what is no router solicitation as it is, and says 0", () => {
    const network = networkOf({ icmp6: `reg0[5] = 1; reg0[5] = put_nd_ra_opts(addr_mode = "slaac"); next;` });
    const packet = solicit("fe80::2", "neighbor-solicitation");
    const answer = out(send(network, packet));
    expect(answer.port).toBe("b");
    expect(answer.bytes.subarray(answer.headers.ethernet, answer.headers.end)).toEqual(packet.frame);
  });
});

describe("put_dhcpv6_opts", () => {
  const OPTIONS =
    `ia_addr = aef0::4, server_id = ${ROUTER}, dns_server = {aef0::53, aef0::54}, domain_search = "ovn.org", ` +
    'bootfile_name = "https://boot/ipxe", bootfile_name_alt = "https://boot/first", fqdn = "vm1.ovn.org"';
  const network = networkOf({
    "udp.src == 546 && udp.dst == 547": `reg0[3] = put_dhcpv6_opts(${OPTIONS}); ip6.dst = ip6.src; ip6.src = fe80::1; udp.src = 547; udp.dst = 546; ${BACK}`,
    udp: `reg0[3] = 1; reg0[3] = put_dhcpv6_opts(${OPTIONS}); next;`,
  });
  const CLIENT_ID = "0001000a00030001505400000002";
  const IA_NA = "0003000c0000002a00000e1000001518";
  const ask = (message: string, ports: readonly [number, number] = [546, 547]): Packet =>
    buildUdpFrame({
      link: { sourceMac: mac(CLIENT), destinationMac: mac("33:33:00:01:00:02") },
      ip: {
        source: ip("fe80::2"),
        destination: ip("ff02::1:2"),
        ttl: 1,
        identification: 0,
        isDontFragment: false,
      },
      udp: { sourcePort: ports[0], destinationPort: ports[1] },
      payload: Uint8Array.from(Buffer.from(message, "hex")),
    });
  const answer = (message: string): string => {
    const { bytes, headers, port } = out(send(network, ask(message)));
    expect(port).toBe("a");
    return hex(bytes.subarray(headers.payload, headers.end));
  };
  const SERVER_ID = "0002000a0003000100000000ff01";
  const LEASE = "000300280000002affffffffffffffff00050018aef00000000000000000000000000004ffffffffffffffff";
  const DNS = "00170020aef00000000000000000000000000053aef00000000000000000000000000054";
  // ovn-controller writes the whole name as one label.
  const SEARCH = "0018000907" + hex(Buffer.from("ovn.org")) + "00";
  const FIRST = `003b0012${hex(Buffer.from("https://boot/first"))}`;

  it.each([
    ["SOLICIT by ADVERTISE", "01", "02"],
    ["REQUEST by REPLY", "03", "07"],
    ["CONFIRM by REPLY", "04", "07"],
    ["DECLINE by REPLY", "09", "07"],
  ])("answers %s with the address, without end (RFC 8415)", (_title, asked, answered) => {
    expect(answer(`${asked}00abcd${CLIENT_ID}${IA_NA}`)).toBe(
      `${answered}00abcd${CLIENT_ID}${LEASE}${SERVER_ID}${DNS}${SEARCH}${FIRST}`,
    );
  });

  it("answers who asks for information alone without an address", () => {
    expect(answer(`0b00abcd${CLIENT_ID}`)).toBe(`0700abcd${CLIENT_ID}${SERVER_ID}${DNS}${SEARCH}${FIRST}`);
  });

  it("answers RELEASE by its success", () => {
    expect(answer(`0800abcd${CLIENT_ID}${IA_NA}`)).toBe(`0700abcd${CLIENT_ID}${SERVER_ID}000d00020000`);
  });

  it("gives iPXE its own file, and who tells its name the name that counts (RFC 4704)", () => {
    const userClass = `000f00060004${hex(Buffer.from("iPXE"))}`;
    const fqdn = "0027000101";
    expect(answer(`0b00abcd${CLIENT_ID}${userClass}${fqdn}`)).toBe(
      `0700abcd${CLIENT_ID}${SERVER_ID}${DNS}${SEARCH}003b0011${hex(Buffer.from("https://boot/ipxe"))}` +
        "0027000e0603766d31036f766e036f726700",
    );
  });

  it.each([
    ["RENEW", `0500abcd${CLIENT_ID}${IA_NA}`],
    ["a SOLICIT without a client", `0100abcd${IA_NA}`],
    ["a SOLICIT that asks for no address", `0100abcd${CLIENT_ID}`],
    ["a client that is cut short", `0100abcd0001000a0003`],
    ["an empty message", ""],
  ])("leaves %s as it is, and says 0", (_title, message) => {
    const packet = ask(message, [546, 548]);
    const left = out(send(network, packet));
    expect(left.port).toBe("b");
    expect(left.bytes.subarray(left.headers.ethernet, left.headers.end)).toEqual(packet.frame);
  });
});

describe("dns_lookup", () => {
  const RECORDS = new Map([
    ["vm1.ovn.org", "10.0.0.4 aef0::4"],
    ["vm2.ovn.org", "10.0.0.5"],
    ["4.0.0.10.in-addr.arpa", "vm1.ovn.org"],
  ]);
  const network = networkOf(
    {
      "udp.dst == 53": `reg0[4] = dns_lookup(); next;`,
    },
    {
      dns: [
        { datapaths: ["s"], records: RECORDS },
        { datapaths: ["other"], records: new Map([["far.org", "10.9.9.9"]]) },
      ],
    },
  );
  const message = (name: string, type: string) => ({
    id: 7,
    isResponse: false,
    opcode: 0,
    isAuthoritative: false,
    isTruncated: false,
    isRecursionDesired: true,
    isRecursionAvailable: false,
    rcode: 0,
    questions: [{ name, type, class: "IN" }],
    answers: [],
    authorities: [],
    additionals: [],
  });
  const ask = (payload: Uint8Array, isIpv6 = false): Packet =>
    buildUdpFrame({
      link: { sourceMac: mac(CLIENT), destinationMac: mac(ROUTER) },
      ip: {
        source: ip(isIpv6 ? "aef0::2" : "10.0.0.2"),
        destination: ip(isIpv6 ? "aef0::53" : "10.0.0.53"),
        ttl: 64,
        identification: 9,
        isDontFragment: true,
      },
      udp: { sourcePort: 5_000, destinationPort: 53 },
      payload,
    });
  const answer = (name: string, type: string, isIpv6 = false): unknown => {
    const { bytes, headers } = out(send(network, ask(emitDns(message(name, type)), isIpv6)));
    return parseDns(bytes.slice(headers.payload, headers.end));
  };
  const record = { name: "vm1.ovn.org", ttlSeconds: 3_600 };

  it.each([
    ["A", "VM1.ovn.org", false, [{ ...record, name: "VM1.ovn.org", type: "A", ip: ip("10.0.0.4") }]],
    ["AAAA", "vm1.ovn.org", true, [{ ...record, type: "AAAA", ip: ip("aef0::4") }]],
    [
      "PTR",
      "4.0.0.10.in-addr.arpa",
      false,
      [{ name: "4.0.0.10.in-addr.arpa", ttlSeconds: 3_600, type: "PTR", target: "vm1.ovn.org" }],
    ],
  ] as const)("answers %s of %s in the packet itself", (type, name, isIpv6, answers) => {
    expect(answer(name, type, isIpv6)).toEqual({
      ...message(name, type),
      isResponse: true,
      answers,
    });
  });

  it.each([
    ["a name of another switch", "far.org", "A"],
    ["a name that no row has", "nobody.org", "A"],
    ["a type that no address is of", "vm2.ovn.org", "AAAA"],
    ["a type that it does not know", "vm1.ovn.org", "MX"],
  ])("leaves %s as it is", (_title, name, type) => {
    expect(answer(name, type)).toEqual(message(name, type));
  });

  it.each([
    ["an answer", (bytes: Uint8Array) => bytes.set([0x81], 2)],
    ["no question", (bytes: Uint8Array) => bytes.set([0, 0], 4)],
    ["records behind the question", (bytes: Uint8Array) => bytes.set([0, 1], 10)],
    ["a label longer than the message", (bytes: Uint8Array) => bytes.set([63], 12)],
  ])("leaves %s as it is", (_title, change) => {
    const asked = emitDns(message("vm1.ovn.org", "A"));
    change(asked);
    const packet = ask(asked);
    const left = out(send(network, packet));
    expect(left.bytes.subarray(left.headers.ethernet, left.headers.end)).toEqual(packet.frame);
  });
});

describe("sctp_abort", () => {
  const network = networkOf({
    "sctp.dst == 7":
      "sctp_abort { eth.dst <-> eth.src; ip4.dst <-> ip4.src; outport = inport; flags.loopback = 1; output; };",
    "sctp.dst == 8": "reject { outport = inport; flags.loopback = 1; output; };",
    "sctp.dst == 9": "sctp.dst = 10; next;",
  });
  const INIT = "01000014112233440000ffff0001000100000001";
  const sctp = (tag: string, chunk: string, port = 7): Packet => {
    const payload = Uint8Array.from(
      Buffer.from(`1388${port.toString(16).padStart(4, "0")}${tag}00000000${chunk}`, "hex"),
    );
    const checksum = sctpChecksum(payload, 0, payload.length);
    payload.set(Buffer.from(checksum.toString(16).padStart(8, "0"), "hex"), 8);
    return buildIpFrame({
      link: { sourceMac: mac(CLIENT), destinationMac: mac(ROUTER) },
      ip: {
        source: ip("10.0.0.2"),
        destination: ip("10.0.0.1"),
        ttl: 64,
        identification: 0,
        isDontFragment: true,
      },
      protocol: 132,
      payload,
    });
  };

  it("CRC32c of 32 zeros is that of RFC 3720, appendix B.4", () => {
    expect(sctpChecksum(new Uint8Array(32), 0, 32).toString(16)).toBe("aa36918a");
  });

  it.each([
    ["an INIT with its own tag (RFC 9260 §8.4, 3)", 7, "00000000", INIT, "11223344", "00"],
    [
      "another chunk with the tag of the packet, and says so (§8.4, 8)",
      7,
      "55667788",
      "0e000004",
      "55667788",
      "01",
    ],
    ["what `reject` refuses", 8, "00000000", INIT, "11223344", "00"],
  ])("answers %s", (_title, port, tag, chunk, answered, flags) => {
    const { bytes, headers } = out(send(network, sctp(tag, chunk, port)));
    const answer = bytes.slice(headers.upper, headers.end);
    const checksum = sctpChecksum(answer, 0, answer.length).toString(16).padStart(8, "0");
    expect(hex(answer)).toBe(`000${port}1388${answered}${checksum}06${flags}0004`);
    expect(hex(bytes.subarray(headers.network + 12, headers.network + 20))).toBe("0a0000010a000002");
  });

  it.each([
    ["an ABORT", "06000004"],
    ["an INIT that is cut short", "0100001411223344"],
    ["no chunk", ""],
  ])("answers nothing to %s", (_title, chunk) => {
    expect(send(network, sctp("00000000", chunk)).endings).toMatchObject([{ kind: "drop" }]);
  });

  it("a port that a flow changes has a right checksum afterwards", () => {
    const { bytes, headers } = out(send(network, sctp("00000000", INIT, 9)));
    const left = bytes.slice(headers.upper, headers.end);
    expect([left[3], hex(left.subarray(8, 12))]).toEqual([
      10,
      sctpChecksum(left, 0, left.length).toString(16).padStart(8, "0"),
    ]);
  });
});

function tcp(source: string, destination: string, ports: readonly [number, number], from = CLIENT): Packet {
  return buildTcpFrame({
    link: { sourceMac: mac(from), destinationMac: mac(ROUTER) },
    ip: {
      source: ip(source),
      destination: ip(destination),
      ttl: 64,
      identification: 1,
      isDontFragment: true,
    },
    tcp: {
      sourcePort: ports[0],
      destinationPort: ports[1],
      sequence: 1,
      acknowledgment: 0,
      flags: TcpFlag.syn,
      window: 1,
    },
  });
}

describe("fwd_group", () => {
  const network = networkOf({ tcp: 'fwd_group(liveness="true",childports="b","c");' });
  const portOf = (port: number): string => out(send(network, tcp("10.0.0.2", "10.0.0.9", [port, 80]))).port;

  it("spreads connections over its ports, each of them always to the same one", () => {
    const ports = Array.from({ length: 40 }, (_, index) => portOf(5_000 + index));
    expect(new Set(ports)).toEqual(new Set(["b", "c"]));
    expect(Array.from({ length: 40 }, (_, index) => portOf(5_000 + index))).toEqual(ports);
  });

  it("drops where none of its ports exists", () => {
    const without = networkOf({ tcp: 'fwd_group(childports="x");' });
    expect(send(without, tcp("10.0.0.2", "10.0.0.9", [5_000, 80])).endings).toMatchObject([
      { kind: "drop", text: "no port of the forwarding group exists" },
    ]);
  });
});

describe("commit_ecmp_nh", () => {
  // What was found decides on the port.
  const deciding = new LogicalNetwork(networkRows());

  function networkRows(): Southbound {
    const row = { datapaths: ["s"], stage: "", hint: "", source: "", pipeline: "ingress" as const };
    const port = { datapath: "s", type: "", options: new Map(), portSecurity: [], mac: [], chassis: "" };
    const flow = (id: string, table: number, priority: number, match: string, actions: string) => ({
      ...row,
      id,
      table,
      priority,
      match,
      actions,
    });
    return {
      datapaths: [{ id: "s", name: "s", key: 1, kind: "router", northbound: "", hasSourceZone: false }],
      ports: ["a", "b", "c"].map((name, index) => ({ ...port, name, key: index + 1 })),
      flows: [
        flow("1", 0, 3, "tcp.dst == 80 && ip.ttl == 64", "commit_ecmp_nh(ipv6 = false, proto = tcp); next;"),
        flow("2", 0, 2, "tcp.dst == 80", "reg9[5] = chk_ecmp_nh_mac(); next;"),
        flow("3", 0, 1, "tcp.src == 80", "reg9[5] = chk_ecmp_nh(); next;"),
        flow("4", 1, 1, "reg9[5] == 1", 'outport = "b"; output;'),
        flow("5", 1, 0, "1", 'outport = "c"; output;'),
        { ...flow("6", 0, 0, "1", "output;"), pipeline: "egress" },
      ],
      groups: [],
      addressSets: [],
      portGroups: [],
      macBindings: [],
      loadBalancers: [],
      fdb: [],
      chassis: [],
      dns: [],
    };
  }

  const first = tcp("10.0.0.2", "10.0.0.9", [5_000, 80]);
  const later = (from = CLIENT): Packet => {
    const packet = tcp("10.0.0.2", "10.0.0.9", [5_000, 80], from);
    packet.bytes[packet.start + 22] = 63;
    packet.bytes[packet.start + 24] = (packet.bytes[packet.start + 24] ?? 0) + 1;
    return packet;
  };
  const answer = tcp("10.0.0.9", "10.0.0.2", [80, 5_000]);

  it("knows the answers of a connection, and its packets from the same next hop alone", () => {
    const chassis = new Chassis(new Set(), new VirtualClock());
    const portOf = (packet: Packet): string => out(send(deciding, packet, chassis)).port;
    expect([portOf(answer), portOf(later())]).toEqual(["c", "c"]);
    portOf(first);
    expect([portOf(answer), portOf(later()), portOf(later("50:54:00:00:00:09"))]).toEqual(["b", "b", "c"]);
    expect(portOf(tcp("10.0.0.9", "10.0.0.2", [80, 5_001]))).toBe("c");
  });

  it("forgets after 20 seconds without a packet, and after 30 in any case", () => {
    const clock = new VirtualClock();
    const chassis = new Chassis(new Set(), clock);
    const portOf = (packet: Packet): string => out(send(deciding, packet, chassis)).port;
    portOf(first);
    clock.runUntil(19_000);
    expect(portOf(answer)).toBe("b");
    clock.runUntil(29_999);
    expect(portOf(answer)).toBe("b");
    clock.runUntil(30_000);
    expect(portOf(answer)).toBe("c");
    portOf(first);
    clock.runUntil(50_000);
    expect(portOf(answer)).toBe("c");
  });
});

describe("bind_vport", () => {
  it("makes the virtual port one of this chassis, until the port behind it leaves", () => {
    const port = { datapath: "s", type: "", options: new Map(), portSecurity: [], mac: [], chassis: "" };
    const network = networkOf(
      {
        "tcp.dst == 1": 'bind_vport("vip", inport); next;',
        'tcp.dst == 2 && is_chassis_resident("vip")': 'outport = "c"; output;',
        tcp: "next;",
      },
      {
        ports: ["a", "b", "c", "vip"].map((name, index) => ({
          ...port,
          name,
          key: index + 1,
          type: name === "vip" ? "virtual" : "",
        })),
      },
    );
    const chassis = new Chassis(new Set(["a", "b", "c"]), new VirtualClock());
    const portOf = (number: number): string =>
      out(send(network, tcp("10.0.0.2", "10.0.0.9", [5_000, number]), chassis)).port;
    expect(portOf(2)).toBe("b");
    portOf(1);
    expect(portOf(2)).toBe("c");
    expect(chassis.virtualPorts).toEqual(new Map([["vip", "a"]]));
    chassis.settle(new Set(["a", "b", "c"]));
    expect(portOf(2)).toBe("c");
    chassis.settle(new Set(["b", "c"]));
    expect(chassis.virtualPorts).toEqual(new Map());
    expect(portOf(2)).toBe("b");
  });
});
