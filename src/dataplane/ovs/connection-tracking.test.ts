// The flows that ovn-northd 23.03.1 wrote for two switches with ACLs, load balancers and a router between them, and flows of
// our own: what becomes of packets whose connections are tracked (ovn-sb(5), "actions"; ovn-northd(8)).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { fork } from "#core/base/fork.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { type Asked, LogicalWorld, recorded } from "#test/support/dataplane/logical-world.ts";
import type { LogicalFlowRow, Southbound } from "./southbound.ts";

const DUMP = recorded("southbound-services");
const ROUTER = "00:00:00:00:ff:00";
const NO_ANSWER = TcpFlag.syn | TcpFlag.ack;

function from(last: number): Pick<Asked, "inport" | "from" | "source"> {
  return { inport: `p0${last}`, from: `50:54:00:00:00:0${last}`, source: `10.0.0.${last}` };
}

function to(last: number): Pick<Asked, "to" | "destination"> {
  return { to: `50:54:00:00:00:0${last}`, destination: `10.0.0.${last}` };
}

const world = (southbound: Southbound = DUMP): LogicalWorld => new LogicalWorld(southbound);

describe("an allow-related ACL", () => {
  it("CP-O13: lets answers back although the port's default is to drop", () => {
    const w = world();
    expect(w.send({ ...from(4), ...to(2), port: 8080 })).toEqual([
      "p02: 10.0.0.4:5000 > 10.0.0.2:8080 tcp 0x2 ttl 64",
    ]);
    // The pod behind the default deny opens a connection, and gets the answer.
    expect(w.send({ ...from(2), ...to(4), sourcePort: 6_000 })).toEqual([
      "p04: 10.0.0.2:6000 > 10.0.0.4:80 tcp 0x2 ttl 64",
    ]);
    const answer = { ...from(4), ...to(2), sourcePort: 80, port: 6_000, flags: NO_ANSWER };
    expect(w.send(answer)).toEqual(["p02: 10.0.0.4:80 > 10.0.0.2:6000 tcp 0x12 ttl 64"]);
    // Nobody asked for this one.
    expect(w.send({ ...answer, port: 6_001 })).toEqual([
      expect.stringMatching(/^drop: ls_\w+_acl, priority 65532/),
    ]);
  });

  it("an answer that comes when the connection is forgotten is one that nobody asked for", () => {
    const w = world();
    w.send({ ...from(2), ...to(4), protocol: "udp", sourcePort: 6_000, port: 7_777 });
    const answer: Asked = { ...from(4), ...to(2), protocol: "udp", sourcePort: 7_777, port: 6_000 };
    w.clock.runUntil(29_000);
    expect(w.send(answer)).toEqual(["p02: 10.0.0.4:7777 > 10.0.0.2:6000 udp ttl 64"]);
    // An answer makes a stream of it, which is remembered for longer.
    w.clock.runUntil(29_000 + 120_001);
    expect(w.send(answer)).toEqual([expect.stringMatching(/^drop: ls_out_acl, priority 2000/)]);
  });

  it("CP-O14: taken away from an established connection marks it as blocked; then answers are dropped, too", () => {
    const w = world();
    const syn: Asked = { ...from(4), ...to(2), port: 9_090 };
    const answer: Asked = { ...from(2), ...to(4), sourcePort: 9_090, port: 5_000, flags: NO_ANSWER };
    expect(w.send(syn)).toHaveLength(1);
    expect(w.send(answer)).toEqual(["p04: 10.0.0.2:9090 > 10.0.0.4:5000 tcp 0x12 ttl 64"]);
    // The same chassis under flows without the ACL that allowed it.
    const isAllow = ({ match }: LogicalFlowRow): boolean => match.includes("8080, 9090");
    const changed = world({ ...DUMP, flows: DUMP.flows.filter((flow) => !isAllow(flow)) });
    Object.assign(changed, { chassis: w.chassis });
    expect(changed.send({ ...syn, flags: TcpFlag.ack })).toEqual([
      expect.stringMatching(/^drop: ls_out_acl, priority 2000/),
    ]);
    expect(w.chassis.zones.list("port p02", w.clock.nowMs).map(({ mark }) => mark)).toEqual([1n]);
    expect(changed.send({ ...answer, flags: TcpFlag.ack })).toEqual([
      expect.stringMatching(/^drop: ls_in_acl, priority 65532/),
    ]);
  });

  it("every port has connections of its own", () => {
    const w = world();
    w.send({ ...from(4), ...to(2), port: 8080 });
    for (const port of ["p02", "p04"]) expect(w.chassis.zones.list(`port ${port}`, 0)).toHaveLength(1);
    expect(w.chassis.zones.list("port p03", 0)).toEqual([]);
  });
});

describe("a load balancer", () => {
  const vip = { to: ROUTER, destination: "10.96.0.10" };

  it("CP-O16: sends a connection to a back end, always the same, and puts the address back in answers", () => {
    const w = world();
    const reached = new Set<string>();
    for (let sourcePort = 5_000; sourcePort < 5_020; sourcePort++) {
      const [first] = w.send({ ...from(4), ...vip, sourcePort });
      const [again] = w.send({ ...from(4), ...vip, sourcePort });
      expect(again).toBe(first);
      const [port = "", target = ""] = defined(first, "an ending").split(/: .* > | tcp/);
      reached.add(`${port} ${target}`);
    }
    expect([...reached].toSorted()).toEqual(["p02 10.0.0.2:8080", "p12 10.0.1.2:8080"]);
    const toP02 = [...Array(20).keys()]
      .map((step) => 5_000 + step)
      .find((sourcePort) => w.send({ ...from(4), ...vip, sourcePort })[0]?.startsWith("p02"));
    const port = defined(toP02, "a connection to p02");
    const answer: Asked = {
      ...from(2),
      to: "50:54:00:00:00:04",
      destination: "10.0.0.4",
      sourcePort: 8_080,
      port,
      flags: NO_ANSWER,
    };
    expect(w.send(answer)).toEqual([`p04: 10.96.0.10:80 > 10.0.0.4:${port} tcp 0x12 ttl 64`]);
  });

  it("CP-O16: a back end that reaches itself sees the address of options:hairpin_snat_ip, and its answer comes back", () => {
    const w = world();
    const asked: Asked = { ...from(2), ...vip, protocol: "udp", sourcePort: 5_353, port: 53 };
    expect(w.send(asked)).toEqual(["p02: 169.254.169.5:5353 > 10.0.0.2:53 udp ttl 64"]);
    const answer: Asked = {
      ...from(2),
      to: ROUTER,
      destination: "169.254.169.5",
      protocol: "udp",
      sourcePort: 53,
      port: 5_353,
    };
    expect(w.send(answer)).toEqual(["p02: 10.96.0.10:53 > 10.0.0.2:5353 udp ttl 64"]);
  });

  it("CP-O17: without back ends and with reject=true it resets TCP and tells UDP that the port is unreachable", () => {
    const none = { to: ROUTER, destination: "10.96.0.11" };
    expect(world().send({ ...from(4), ...none })).toEqual([
      "p04: 10.96.0.11:80 > 10.0.0.4:5000 tcp 0x14 ttl 63",
    ]);
  });

  it("CP-O15: an egress ACL that comes after it sees the back end", () => {
    const w = world();
    for (const sourcePort of [5_000, 5_001, 5_002])
      expect(w.send({ ...from(3), ...vip, sourcePort })).toEqual([
        expect.stringMatching(/^drop: ls_in_acl_after_lb, priority 2000/),
      ]);
    expect(w.send({ ...from(3), ...to(4), port: 8_080 })).toHaveLength(1);
  });
});

describe("a router", () => {
  it.each<[string, Partial<Asked>, string]>([
    ["TCP with a reset", { protocol: "tcp" }, "p04: 10.0.0.1:80 > 10.0.0.4:5000 tcp 0x14 ttl 62"],
    ["UDP with port unreachable", { protocol: "udp" }, "p04: 10.0.0.1 > 10.0.0.4 icmp 3/3 ttl 254"],
    ["an echo with its reply", { protocol: "icmp" }, "p04: 10.0.0.1 > 10.0.0.4 icmp 0/0 ttl 254"],
  ])("CP-O19: answers %s", (_title, change, answer) => {
    expect(world().send({ ...from(4), to: ROUTER, destination: "10.0.0.1", ...change })).toEqual([answer]);
  });

  it("CP-O20: answers a packet whose time to live is over, with the start of it", () => {
    const w = world();
    const { endings } = w.pass({ ...from(4), to: ROUTER, destination: "10.0.1.2", ttl: 1 });
    const [ending] = endings;
    if (ending?.kind !== "output") throw new Error("it does not go out");
    expect(w.send({ ...from(4), to: ROUTER, destination: "10.0.1.2", ttl: 1, sourcePort: 5_001 })).toEqual([
      "p04: 10.0.0.1 > 10.0.0.4 icmp 11/0 ttl 254",
    ]);
    const { bytes, start } = ending.packet;
    // Behind Ethernet, IP and ICMP: the IP header of the packet that it is about, to 10.0.1.2.
    expect([...bytes.subarray(start + 42 + 16, start + 42 + 20)]).toEqual([10, 0, 1, 2]);
  });
});

describe("an ACL that rejects", () => {
  it("answers with a reset, and not a reset with another one", () => {
    const w = world();
    expect(w.send({ ...from(4), ...to(3), port: 7 })).toEqual([
      "p04: 10.0.0.3:7 > 10.0.0.4:5000 tcp 0x14 ttl 63",
    ]);
    expect(w.send({ ...from(4), ...to(3), port: 7, flags: TcpFlag.rst })).not.toContainEqual(
      expect.stringContaining("p04"),
    );
  });
});

/** Flows of our own in front of those of a switch. */
function withFlows(...rows: readonly Partial<LogicalFlowRow>[]): LogicalWorld {
  const datapath = defined(
    DUMP.datapaths.find(({ name }) => name === "sw0"),
    "the switch",
  ).id;
  const flows = rows.map((row, index) => ({
    id: `feed000${index}-0000-0000-0000-000000000000`,
    datapaths: [datapath],
    pipeline: "ingress" as const,
    table: index,
    priority: 60_000,
    match: "tcp.dst == 99",
    actions: "next;",
    stage: `own_${index}`,
    hint: "",
    source: "",
    ...row,
  }));
  return world({ ...DUMP, flows: [...flows, ...DUMP.flows] });
}

describe("actions by themselves", () => {
  const asked: Asked = { ...from(4), ...to(3), port: 99 };
  const out = 'outport = "p03"; next(pipeline=egress, table=9);';

  it("ct_commit writes marks and labels, from constants and registers, and ct_next shows them", () => {
    const w = withFlows(
      { actions: "reg3 = 7; ct_next;" },
      {
        match: "tcp.dst == 99 && ct.new",
        actions: "ct_commit { ct_mark = 0x20; ct_label.label = reg3; }; next;",
      },
      { actions: out },
    );
    w.send(asked);
    const [connection] = w.chassis.zones.list("port p04", 0);
    expect(connection).toMatchObject({ mark: 0x20n, label: 7n << 96n });
    const step = w.pass(asked).steps.find(({ kind }) => kind === "tracked");
    expect(step).toMatchObject({ mark: 0x20n, label: 7n << 96n, state: "new|trk" });
  });

  it("ct_snat gives a new connection its source, and ct_snat without an address gives answers theirs back", () => {
    const w = withFlows({ match: "tcp.dst == 99", actions: "ct_snat(10.9.9.9);" }, { actions: out }, {});
    const back = withFlows(
      { match: "tcp.src == 99", actions: "ct_snat;" },
      { match: "tcp.src == 99", actions: 'outport = "p04"; next(pipeline=egress, table=9);' },
    );
    expect(w.send(asked)).toEqual(["p03: 10.9.9.9:5000 > 10.0.0.3:99 tcp 0x2 ttl 64"]);
    // Another client with the same port gets another one.
    expect(w.send({ ...asked, source: "10.0.0.5" })).toEqual([
      "p03: 10.9.9.9:5001 > 10.0.0.3:99 tcp 0x2 ttl 64",
    ]);
    Object.assign(back, { chassis: w.chassis });
    const answer: Asked = {
      ...from(3),
      to: ROUTER,
      destination: "10.9.9.9",
      sourcePort: 99,
      port: 5_001,
      flags: NO_ANSWER,
    };
    expect(back.send(answer)).toEqual([
      "p04: 10.0.0.3:99 > 10.0.0.5:5001 tcp 0x12 ttl 64".replace("5001 tcp", "5000 tcp"),
    ]);
  });

  it("ct_dnat leads a new connection elsewhere, and ct_clear forgets what was found", () => {
    const w = withFlows(
      { actions: "ct_dnat(10.0.0.2);" },
      { match: "tcp.dst == 99 && ct.dnat", actions: "ct_clear; next;" },
      { match: "tcp.dst == 99 && !ct.trk", actions: out },
    );
    expect(w.send(asked)).toEqual(["p03: 10.0.0.4:5000 > 10.0.0.2:99 tcp 0x2 ttl 64"]);
  });

  it("check_pkt_larger counts the frame", () => {
    const w = withFlows(
      { actions: "reg9[1] = check_pkt_larger(100); next;" },
      { match: "tcp.dst == 99 && reg9[1]", actions: "drop;" },
      { actions: out },
    );
    expect(w.send({ ...asked, payloadBytes: 46 })).toEqual([expect.stringContaining("p03:")]);
    expect(w.send({ ...asked, payloadBytes: 47 })).toEqual([expect.stringContaining("drop: own_1")]);
  });

  it("put_fdb remembers a port that lookup_fdb and get_fdb find", () => {
    const w = withFlows(
      { actions: "reg0[11] = lookup_fdb(inport, eth.src); next;" },
      { match: "tcp.dst == 99 && reg0[11] == 0", actions: "put_fdb(inport, eth.src); next;" },
      { actions: "outport = get_fdb(eth.src); flags.loopback = 1; next;" },
      { match: 'tcp.dst == 99 && outport == "none"', actions: "drop;" },
      { actions: "next(pipeline=egress, table=9);", table: 3, priority: 50_000 },
    );
    expect(w.send(asked)).toEqual([expect.stringContaining("p04:")]);
    expect(
      w.pass(asked).steps.filter((step) => step.kind === "flow" && step.flow.row.stage === "own_1"),
    ).toEqual([]);
  });

  it("commit_lb_aff keeps a client at a back end until it was idle, and chk_lb_aff has it in registers", () => {
    const w = withFlows(
      { match: "udp.dst == 53", actions: "reg9[6] = chk_lb_aff(); next;" },
      { match: "reg9[6] == 1 && reg4 == 10.0.0.2 && reg8[0..15] == 5353", actions: "drop;" },
      {
        table: 1,
        match: "udp.dst == 53",
        priority: 50_000,
        actions:
          'commit_lb_aff(vip = "10.0.0.3:53", backend = "10.0.0.2:5353", proto = udp, timeout = 30); next;',
      },
      { table: 2, match: "udp.dst == 53", actions: out },
    );
    const query: Asked = { ...asked, protocol: "udp", port: 53 };
    expect(w.send(query)).toEqual([expect.stringContaining("p03:")]);
    expect(w.send({ ...query, sourcePort: 6_000 })).toEqual([expect.stringContaining("drop: own_1")]);
    expect(w.send({ ...query, source: "10.0.0.9" })).toEqual([expect.stringContaining("p03:")]);
    w.clock.runUntil(30_000);
    expect(w.send(query)).toEqual([expect.stringContaining("p03:")]);
  });

  it("connection tracking is for IP packets alone: a flow with it matches no other", () => {
    const w = withFlows({ match: "1", actions: "ct_next;" });
    const flow = w.network.flowsOf(
      defined(
        DUMP.datapaths.find(({ name }) => name === "sw0"),
        "the switch",
      ).id,
      "ingress",
      0,
    )[0];
    expect(flow?.match).toMatchObject({ kind: "and" });
  });
});

it("a fork has connections of its own", () => {
  const w = world();
  w.send({ ...from(2), ...to(4), sourcePort: 6_000 });
  const copy = fork(w);
  const answer: Asked = { ...from(4), ...to(2), sourcePort: 80, port: 6_000, flags: NO_ANSWER };
  expect(copy.send(answer)).toEqual(w.send(answer));
  copy.send({ ...from(2), ...to(4), sourcePort: 6_001 });
  expect(w.chassis.zones.list("port p02", 0)).toHaveLength(1);
});
