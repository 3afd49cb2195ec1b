// The flows that ovn-northd 23.03.1 wrote for two switches, a router and stateless ACLs (test/live/ovn-trace.live.test.ts
// makes the same network): what becomes of a frame, as ovn-trace tells it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { type Ip, type Ipv4, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { buildArpFrame, buildTcpFrame } from "#core/wire/build-frame.ts";
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

describe("bad flows", () => {
  it.each([
    ["telepathy;", "telepathy is not an action (at character 1)"],
    ["igmp;", "the action igmp is not carried out"],
    ["clone { sctp_abort { output; }; }; next;", "the action sctp_abort is not carried out"],
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
