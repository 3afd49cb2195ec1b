// The flows that ovn-northd 23.03.1 wrote for two switches, a router and stateless ACLs (test/live/ovn-trace.live.test.ts
// makes the same network): what becomes of a frame, as ovn-trace tells it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { type Ip, type Ipv4, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildArpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { type DhcpMessage, buildDhcp, parseDhcp } from "#core/wire/dhcp.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { verifyChecksums } from "#core/wire/transport-checksum.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { pushVlan } from "#core/wire/vlan.ts";
import { Chassis } from "./chassis.ts";
import { LogicalNetwork } from "./logical-network.ts";
import { type Passage, runLogicalFlows } from "./logical-pipeline.ts";
import { readDump } from "./ovsdb-tables.ts";
import { type LogicalFlowRow, type Southbound, toSouthbound } from "./southbound.ts";

const DUMP = toSouthbound(readDump(readFileSync("test/support/dataplane/southbound-dump.ndjson", "utf8")));
const P02 = "50:54:00:00:00:02";
const ROUTER = "00:00:00:00:ff:00";

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

interface Asked {
  readonly from?: string;
  readonly to?: string;
  readonly source?: string;
  readonly destination?: string;
  readonly port?: number;
  readonly ttl?: number;
}

function tcp({
  from = P02,
  to = ROUTER,
  source = "10.0.0.2",
  destination = "10.0.1.3",
  port = 80,
  ttl = 64,
}: Asked): Packet {
  return buildTcpFrame({
    link: { sourceMac: mac(from), destinationMac: mac(to) },
    ip: { source: ip(source), destination: ip(destination), ttl, identification: 1, isDontFragment: true },
    tcp: {
      sourcePort: 5_000,
      destinationPort: port,
      sequence: 1,
      acknowledgment: 0,
      flags: TcpFlag.syn,
      window: 1,
    },
  });
}

function told({ endings }: Passage): readonly string[] {
  return endings.map(
    (ending) => `${ending.kind} ${"port" in ending ? ending.port : "text" in ending ? ending.text : ""}`,
  );
}

const chassis = (): Chassis => new Chassis(new Set(), new VirtualClock());

/** For tests that change none of it. */
const network = new LogicalNetwork(DUMP);

function run(asked: Asked, through = network): Passage {
  return runLogicalFlows(through, chassis(), "p02", tcp(asked));
}

describe("a switch", () => {
  it("brings a frame to the port with its destination MAC", () => {
    expect(told(run({ to: "50:54:00:00:00:03", destination: "10.0.0.3" }))).toEqual(["output p03"]);
  });

  it.each([
    ["another MAC", { from: "50:54:00:00:00:03" }],
    ["another address", { source: "10.0.0.3" }],
  ])("CP-O46: %s than its port has ends at port security", (_title, asked) => {
    expect(told(run(asked))).toEqual([expect.stringMatching(/^drop ls_in_apply_port_sec, priority 50/)]);
  });

  it.each([
    ["a VLAN tag", (packet: Packet) => pushVlan(packet, { id: 5 })],
    ["a multicast source", (packet: Packet) => packet.bytes.set([1], packet.start + 6)],
  ])("CP-O25: %s is dropped", (_title, change) => {
    const packet = tcp({});
    change(packet);
    const passage = runLogicalFlows(network, chassis(), "p02", packet);
    expect(told(passage)).toEqual([expect.stringMatching(/^drop ls_in_check_port_sec, priority 100/)]);
  });

  it.each(["10.0.0.1", "10.0.0.3"])("CP-O23: answers ARP for %s, and no other port sees it", (target) => {
    const packet = buildArpFrame({
      link: { sourceMac: mac(P02), destinationMac: mac("ff:ff:ff:ff:ff:ff") },
      arp: {
        operation: "request",
        senderMac: mac(P02),
        senderIp: ip("10.0.0.2") as Ipv4,
        targetIp: ip(target) as Ipv4,
      },
    });
    const { endings } = runLogicalFlows(network, chassis(), "p02", packet);
    expect(endings).toMatchObject([{ kind: "output", port: "p02" }]);
    const [answer] = endings;
    expect(answer?.kind === "output" && describeFrame(answer.packet.frame)).toContain(target);
  });
});

describe("a router", () => {
  it("routes: new MACs, one hop less, right checksums; the frame that came stays as it is", () => {
    const packet = tcp({});
    const before = packet.frame.slice();
    const { endings } = runLogicalFlows(network, chassis(), "p02", packet);
    expect(packet.frame).toEqual(before);
    const [ending] = endings;
    if (ending?.kind !== "output") throw new Error("it does not go out");
    expect(ending.port).toBe("p13");
    const { bytes, start } = ending.packet;
    expect([...bytes.subarray(start, start + 12)]).toEqual([0x50, 0x54, 0, 0, 1, 3, 0, 0, 0, 0, 0xff, 1]);
    expect(bytes[start + 22]).toBe(63);
    const headers = new Headers();
    headers.parse(ending.packet);
    expect(verifyChecksums(bytes, headers)).toBeUndefined();
  });

  it("CP-O21: drops what is not for the MAC of its port", () => {
    // Broadcast reaches the router's port and p03; the router takes no broadcast IP.
    const ended = told(run({ to: "ff:ff:ff:ff:ff:ff" }));
    expect(ended).toContain("output p03");
    expect(ended).toContainEqual(expect.stringMatching(/^drop lr_in_ip_input, priority 50/));
  });

  it("drops what no route leads to, and says so", () => {
    expect(told(run({ destination: "10.0.9.9" }))).toEqual([
      expect.stringMatching(/^drop lr_in_ip_routing, /),
    ]);
  });

  it("CP-O22: drops packets that claim an address of the router", () => {
    const packet = tcp({ from: "50:54:00:00:00:09", source: "10.0.0.255" });
    const passage = runLogicalFlows(network, chassis(), "sw0-lr0", packet);
    expect(told(passage)[0]).toMatch(/^drop /);
  });
});

describe("an ACL", () => {
  it("CP-O12: lets one port through at priority 2001, and drops the rest at 2000", () => {
    expect(told(run({ destination: "10.0.1.2" }))).toEqual(["output p12"]);
    expect(told(run({ destination: "10.0.1.2", port: 81 }))).toEqual([
      expect.stringMatching(/^drop ls_out_acl, priority 2000/),
    ]);
  });

  it("CP-O45: looks its port group up by the key of the datapath; a change of the group costs that group", () => {
    const { key } = defined(
      DUMP.datapaths.find(({ name }) => name === "sw1"),
      "the switch",
    );
    const changed = new LogicalNetwork(DUMP);
    changed.setPortGroup({ name: `${key}_web`, members: ["p13"] });
    expect(told(run({ destination: "10.0.1.2", port: 81 }, changed))).toEqual(["output p12"]);
    expect(told(run({ destination: "10.0.1.3", port: 81 }, changed))).toEqual([
      expect.stringMatching(/^drop ls_out_acl, priority 2000/),
    ]);
  });
});

function withFlow(fields: Partial<LogicalFlowRow>): Southbound {
  const datapath = defined(
    DUMP.datapaths.find(({ name }) => name === "sw0"),
    "the switch",
  );
  const flow: LogicalFlowRow = {
    id: "feedbeef-0000-0000-0000-000000000000",
    datapaths: [datapath.id],
    pipeline: "ingress",
    table: 0,
    priority: 60_000,
    match: "tcp.dst == 7",
    actions: "next;",
    stage: "ls_in_check_port_sec",
    hint: "",
    source: "northd.c:1",
    ...fields,
  };
  return { ...DUMP, flows: [flow, ...DUMP.flows] };
}

describe("ip.ttl--", () => {
  // ovn-sb(5): where it would leave zero, the packet halts and no further action is carried out. northd's own flows match
  // such packets before; ovn-trace goes on with them.
  const through = new LogicalNetwork(withFlow({ actions: "ip.ttl--; next;" }));

  it.each([0, 1])("ends a packet with %i left, and nothing after it is carried out", (ttl) => {
    const asked = { to: "50:54:00:00:00:03", destination: "10.0.0.3", port: 7, ttl };
    expect(told(run(asked, through))).toEqual(["drop the time to live is over"]);
  });

  it("takes one from a packet with more, which goes on", () => {
    const asked = { to: "50:54:00:00:00:03", destination: "10.0.0.3", port: 7, ttl: 2 };
    const { endings } = run(asked, through);
    const [ending] = endings;
    if (ending?.kind !== "output") throw new Error("it does not go out");
    expect(endings).toHaveLength(1);
    expect(ending.port).toBe("p03");
    expect(ending.packet.bytes[ending.packet.start + 22]).toBe(1);
  });
});

describe("push and pop", () => {
  const swap = "push(tcp.src); push(tcp.dst); pop(tcp.src); pop(tcp.dst); next;";

  it("exchange what they hold, the last first, and leave checksums right", () => {
    const through = new LogicalNetwork(withFlow({ actions: swap }));
    const { endings } = run({ to: "50:54:00:00:00:03", destination: "10.0.0.3", port: 7 }, through);
    const [ending] = endings;
    if (ending?.kind !== "output") throw new Error("it does not go out");
    expect(describeFrame(ending.packet.frame)).toContain(":7 → 10.0.0.3:5000");
    const headers = new Headers();
    headers.parse(ending.packet);
    expect(verifyChecksums(ending.packet.bytes, headers)).toBeUndefined();
  });

  it("take nothing from an empty stack", () => {
    const through = new LogicalNetwork(withFlow({ actions: "pop(tcp.src); next;" }));
    const { endings } = run({ to: "50:54:00:00:00:03", destination: "10.0.0.3", port: 7 }, through);
    expect(endings[0]?.kind === "output" && describeFrame(endings[0].packet.frame)).toContain(":5000 → ");
  });
});

describe("put_dhcp_opts", () => {
  // As northd writes it for a port with DHCPv4 options (ovn-northd(8), ls_in_dhcp_options and ls_in_dhcp_response).
  const OPTIONS =
    "offerip = 10.0.0.2, lease_time = 3600, netmask = 255.255.255.0, router = 10.0.0.1, server_id = 10.0.0.1, " +
    'dns_server = {10.0.0.53, 10.0.0.54}, domain_name = "example.org", mtu = 1400';
  const answering =
    `reg0[3] = put_dhcp_opts(${OPTIONS}); eth.dst = eth.src; eth.src = ${ROUTER}; ip4.src = 10.0.0.1; ` +
    "udp.src = 67; udp.dst = 68; outport = inport; flags.loopback = 1; output;";

  function ask(
    message: Partial<DhcpMessage>,
    actions = answering,
    change?: (bytes: Uint8Array) => void,
  ): Passage {
    const asked = {
      type: "discover",
      transaction: 7,
      clientMac: mac(P02),
      yourIp: ip("0.0.0.0") as Ipv4,
    } as const;
    const payload = buildDhcp({ ...asked, ...message });
    change?.(payload);
    const packet = buildUdpFrame({
      link: { sourceMac: mac(P02), destinationMac: mac("ff:ff:ff:ff:ff:ff") },
      ip: {
        source: ip("0.0.0.0"),
        destination: ip("255.255.255.255"),
        ttl: 64,
        identification: 1,
        isDontFragment: false,
      },
      udp: { sourcePort: 68, destinationPort: 67 },
      payload,
    });
    const asking = withFlow({ match: "udp.src == 68 && udp.dst == 67", actions });
    // northd lets the answer past the ACLs of the port.
    const acl = defined(
      DUMP.flows.find(
        ({ stage, datapaths }) => stage === "ls_out_acl" && datapaths[0] === asking.flows[0]?.datapaths[0],
      ),
      "a flow of ACLs",
    );
    const passing = {
      ...acl,
      id: "feedcafe",
      priority: 34_000,
      match: "udp.src == 67 && udp.dst == 68",
      actions: "next;",
    };
    const through = new LogicalNetwork({ ...asking, flows: [...asking.flows, passing] });
    return runLogicalFlows(through, chassis(), "p02", packet);
  }

  /** The packet that goes back to the port. */
  function answerPacket({ endings }: Passage): { readonly to: string; readonly message: Uint8Array } {
    const [ending] = endings;
    if (ending?.kind !== "output" || ending.port !== "p02") throw new Error("nothing goes back");
    const headers = new Headers();
    headers.parse(ending.packet);
    const { bytes, end } = ending.packet;
    expect(verifyChecksums(bytes, headers)).toBeUndefined();
    const to = bytes.slice(headers.network + 16, headers.network + 20).join(".");
    return { to, message: bytes.slice(headers.transport + 8, end) };
  }

  /** The DHCP message that goes back to the port. */
  function answer(passage: Passage): Uint8Array {
    return answerPacket(passage).message;
  }

  const lease = {
    transaction: 7,
    clientMac: mac(P02),
    yourIp: ip("10.0.0.2"),
    serverId: ip("10.0.0.1"),
    leaseSeconds: 3_600,
    subnetMask: ip("255.255.255.0"),
    router: ip("10.0.0.1"),
    dnsServers: [ip("10.0.0.53"), ip("10.0.0.54")],
  };

  it.each([
    ["a question", {}, "offer"],
    ["a request for what was offered", { type: "request", requestedIp: ip("10.0.0.2") as Ipv4 }, "ack"],
    ["a request to keep it", { type: "request", clientIp: ip("10.0.0.2") as Ipv4 }, "ack"],
  ] as const)("answers %s with the lease", (_title, message, type) => {
    expect(parseDhcp(answer(ask(message)))).toMatchObject({ type, ...lease });
  });

  it("refuses another address than that of the port", () => {
    const found = parseDhcp(answer(ask({ type: "request", requestedIp: ip("10.0.0.9") as Ipv4 })));
    expect(found).toMatchObject({ type: "nak", yourIp: 0 });
    expect(found?.leaseSeconds).toBeUndefined();
  });

  // What follows is read in ovn-controller (controller/pinctrl.c, pinctrl_handle_put_dhcp_opts).
  it("answers INFORM without an address, a netmask and the times of a lease", () => {
    const found = parseDhcp(answer(ask({}, answering, (bytes) => bytes.set([53, 1, 8], 240))));
    expect(found).toMatchObject({
      type: "ack",
      yourIp: 0,
      router: lease.router,
      dnsServers: lease.dnsServers,
    });
    expect([found?.subnetMask, found?.leaseSeconds]).toEqual([undefined, undefined]);
  });

  it.each([
    ["of the action", "10.0.0.7", answering.replace("offerip", "next_server = 10.0.0.7, offerip")],
    ["of the request, where the action names none", "10.0.0.9", answering],
  ])("names the next server %s", (_title, expected, actions) => {
    const message = answer(ask({}, actions, (bytes) => bytes.set([10, 0, 0, 9], 20)));
    expect(message.slice(20, 24).join(".")).toBe(expected);
  });

  it("refuses without a next server", () => {
    const request = { type: "request", requestedIp: ip("10.0.0.9") as Ipv4 } as const;
    const message = answer(ask(request, answering, (bytes) => bytes.set([10, 0, 0, 9], 20)));
    expect(message.slice(20, 24).join(".")).toBe("0.0.0.0");
    expect(message.slice(240)).toEqual(Uint8Array.of(53, 1, 6, 0, 0, 0, 0, 255, 0, 0, 0, 0));
  });

  it.each([
    ["to the address that is offered", 0x00, "10.0.0.2"],
    ["to all, where the client asks for that", 0x80, "255.255.255.255"],
  ])("goes %s", (_title, flags, to) => {
    expect(answerPacket(ask({}, answering, (bytes) => bytes.set([flags], 10))).to).toBe(to);
  });

  it("writes texts and numbers by their length (RFC 2132)", () => {
    const text = Buffer.from(answer(ask({}))).toString("latin1");
    expect(text).toContain("\x0f\x0bexample.org\x1a\x02\x05\x78");
  });

  it("leaves a packet that is no request as it is, and says 0", () => {
    const actions = `reg0[3] = put_dhcp_opts(${OPTIONS}); next;`;
    const through = new LogicalNetwork(withFlow({ actions: `reg0[3] = 1; ${actions}` }));
    expect(told(run({ to: "50:54:00:00:00:03", destination: "10.0.0.3", port: 7 }, through))).toEqual([
      "output p03",
    ]);
  });

  it("refuses an option that it cannot write, by name", () => {
    const actions = "reg0[3] = put_dhcp_opts(offerip = 10.0.0.2, telepathy_server = 10.0.0.4); next;";
    expect(told(ask({}, actions))).toEqual([
      expect.stringContaining("put_dhcp_opts with the option telepathy_server"),
    ]);
  });

  /** The bytes that an option adds to the answer. */
  function written(option: string): readonly number[] {
    const actions = answering.replace("mtu = 1400", `mtu = 1400, ${option}`);
    const message = [...answer(ask({}, actions))];
    const start = message.findIndex((_byte, at) => message.slice(at, at + 4).join() === "26,2,5,120");
    const end = message.lastIndexOf(255);
    // Behind the length of packets, and before four zeros and the end.
    return message.slice(start + 4, end - 4);
  }

  it.each([
    ["classless_static_route", 121],
    ["ms_classless_static_route", 249],
  ])("%s has the bytes of a destination that count, and its router (RFC 3442)", (name, code) => {
    const routes =
      "{0.0.0.0/0, 10.0.0.1, 10.0.0.0/8, 10.0.0.2, 10.17.0.0/16, 10.0.0.3, 10.229.0.128/25, 10.0.0.4, 10.198.122.47, 10.0.0.5}";
    const expected = [
      [0, 10, 0, 0, 1],
      [8, 10, 10, 0, 0, 2],
      [16, 10, 17, 10, 0, 0, 3],
      [25, 10, 229, 0, 128, 10, 0, 0, 4],
      [32, 10, 198, 122, 47, 10, 0, 0, 5],
    ].flat();
    expect(written(`${name} = ${routes}`)).toEqual([code, expected.length, ...expected]);
  });

  it("domain_search_list is compressed, as in the example of RFC 3397", () => {
    const text = "\x03eng\x05apple\x03com\x00\x09marketing\xc0\x04";
    const expected = [119, text.length, ...Buffer.from(text, "latin1")];
    expect(written('domain_search_list = "eng.apple.com,marketing.apple.com"')).toEqual(expected);
  });
});

describe("bad flows", () => {
  it.each([
    ["telepathy;", "telepathy is not an action (at character 1)"],
    ["ct_lb_mark_local;", "the action ct_lb_mark_local is not carried out"],
    ["clone { flood_remote; }; next;", "the action flood_remote is not carried out"],
  ])("%s is refused by name, and the others work", (actions, reason) => {
    const changed = new LogicalNetwork(withFlow({ actions }));
    expect(told(run({ port: 7 }, changed))).toEqual([
      `refused ls_in_check_port_sec, priority 60000, uuid feedbeef: ${reason}`,
    ]);
    expect(told(run({}, changed))).toEqual(["output p13"]);
  });

  it("a match that cannot be read leaves its flow out, with the reason", () => {
    const changed = new LogicalNetwork(withFlow({ match: "tcp.dst = 7" }));
    expect(changed.unreadable.map(({ problem }) => problem)).toEqual([
      "tcp.dst needs a comparison: it is more than one bit (at character 1)",
    ]);
    expect(told(run({ port: 7 }, changed))).toEqual(["output p13"]);
  });

  it.each(["next(table=0);", "clone { next(table=0); }; next(table=0);"])(
    "%s goes round and is stopped",
    (actions) => {
      const changed = new LogicalNetwork(withFlow({ actions }));
      expect(told(run({ port: 7 }, changed))).toEqual([expect.stringMatching(/^loop /)]);
    },
  );
});
