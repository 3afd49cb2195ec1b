/** RuleType Host and L4WFPPROXY: what the firewall of a pod's compartment does (dataplane.md §2.14, §4, rows of §10). */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { modifyEndpointPolicies, modifyNetworkPolicies } from "#contracts/hcn/operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { TcpProbe } from "#dataplane/host/probes/probe.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import { fork } from "#core/base/fork.ts";
import { NO_LINK } from "#dataplane/host/ip/ip-output.ts";
import { buildIpFrame } from "#core/wire/build-frame.ts";

interface Pods {
  readonly world: DriverWorld;
  readonly network: string;
  readonly a: DriverPod;
  readonly b: DriverPod;
}

async function pods(
  policies: readonly PolicyDocument[] = [],
  type: "L2Bridge" | "Transparent" = "L2Bridge",
): Promise<Pods> {
  const world = new DriverWorld({ profile: "ws2025" });
  const network = await world.network(type, { prefix: "10.0.0.0/24", gateway: "10.0.0.1" });
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.50" }],
    Policies: [...policies],
  });
  const b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: "10.0.0.51" }] });
  return { world, network, a, b };
}

function acl(Action: string, Direction: string, fields: object = {}): PolicyDocument {
  return { Type: "ACL", Settings: { Action, Direction, RuleType: "Host", Protocols: "256", ...fields } };
}

describe("ACL with RuleType Host", () => {
  it("DT-149: decides behind the switch port, which lets the packet pass and lists no rule", async () => {
    const { world, a, b } = await pods([acl("Block", "In", { Priority: 100 })]);
    world.serve(a.compartment, "tcp", 80);
    const { codes, rows } = world.follow(b.compartment, "tcp", "10.0.0.50", 80);
    expect(codes).toEqual(["host-acl-blocked"]);
    expect(rows.at(-1)).toMatch(/^drop/);
    expect(a.compartment.drops.get("host-acl-blocked")).toBeGreaterThan(0);
    const port = world.datapath.listSwitches()[0]!.tables.findPortByIp(ip("10.0.0.50"))!;
    expect(port.vfp.drops.size).toBe(0);
    const rules = port.vfp.getLayer("ACL_ENDPOINT_LAYER")!.groups.flatMap((group) => group.rules);
    expect(rules.map(({ name }) => name)).toEqual(["Allow Out", "Allow In", "Allow Out", "Allow In"]);
  });

  it("answers pass although everything else is blocked on the way in", async () => {
    const { world, a, b } = await pods([acl("Block", "In", { Priority: 100 })]);
    world.serve(b.compartment, "tcp", 80);
    world.serve(b.compartment, "udp", 53);
    expect(world.ask(b.compartment, "icmp", "10.0.0.50")).toMatchObject({ outcome: "timed-out" });
    expect(world.ask(a.compartment, "tcp", "10.0.0.51", 80)).toMatchObject({ outcome: "answered" });
    expect(world.ask(a.compartment, "udp", "10.0.0.51", 53)).toMatchObject({ outcome: "answered" });
    expect(world.ask(a.compartment, "icmp", "10.0.0.51")).toMatchObject({ outcome: "answered" });
  });

  it("a packet has to pass both: Host on the way out before the switch, Switch on the port", async () => {
    const host = acl("Block", "Out", { RemotePorts: "80", Protocols: "6", Priority: 100 });
    const onSwitch = {
      Type: "ACL",
      Settings: { Action: "Block", Direction: "Out", RuleType: "Switch", RemotePorts: "81", Protocols: "6" },
    };
    const others = { Type: "ACL", Settings: { Action: "Allow", Direction: "Out", Priority: 65_500 } };
    const { world, a, b } = await pods([host, onSwitch, others]);
    for (const port of [80, 81, 82]) world.serve(b.compartment, "tcp", port);
    expect(world.follow(a.compartment, "tcp", "10.0.0.51", 80).codes).toEqual(["host-acl-blocked"]);
    expect(world.follow(a.compartment, "tcp", "10.0.0.51", 81).codes).toEqual(["acl-rule-blocked"]);
    expect(world.ask(a.compartment, "tcp", "10.0.0.51", 82)).toMatchObject({ outcome: "answered" });
  });

  it("the lower priority number wins; a change holds from the next packet on, also for a fork of the world", async () => {
    const { world, a, b } = await pods([
      acl("Block", "In", { Priority: 200 }),
      acl("Allow", "In", { Priority: 100, RemoteAddresses: "10.0.0.51" }),
    ]);
    world.serve(a.compartment, "udp", 53);
    world.serve(world.neighbour.root, "udp", 53);
    const asked = (from: Compartment): string => world.ask(from, "udp", "10.0.0.50", 53).outcome;
    expect(asked(b.compartment)).toBe("answered");
    expect(asked(world.neighbour.root)).toBe("timed-out");
    expect(() => fork(a.compartment)).not.toThrow();
    await modifyEndpointPolicies(world.client, a.endpoint, "Update", []);
    expect(asked(world.neighbour.root)).toBe("answered");
  });

  it("holds on Transparent networks too, whose ports have no rules; nothing is said to be stored only", async () => {
    const { world, a, b } = await pods(
      [acl("Block", "In", { Priority: 100, Protocols: "17" })],
      "Transparent",
    );
    world.serve(a.compartment, "udp", 53);
    expect(world.ask(b.compartment, "udp", "10.0.0.50", 53)).toMatchObject({ outcome: "timed-out" });
    expect(world.ask(b.compartment, "icmp", "10.0.0.50")).toMatchObject({ outcome: "answered" });
    expect(await world.client.query("Endpoint", a.endpoint)).not.toHaveProperty("Health.NotEnforced");
  });

  it("of a network, as NetworkACL, it is every endpoint's, from the next packet on", async () => {
    const { world, network, a, b } = await pods();
    world.serve(a.compartment, "udp", 53);
    const { Settings } = acl("Block", "In", { Priority: 100, Protocols: "17" });
    await modifyNetworkPolicies(world.client, network, "Add", [
      { Type: "NetworkACL", Settings: { ...Settings } },
    ]);
    expect(world.ask(b.compartment, "udp", "10.0.0.50", 53)).toMatchObject({ outcome: "timed-out" });
    expect(await world.client.query("Network", network)).not.toHaveProperty("Health.NotEnforced");
  });
});

/** Sends an IPv4 packet of any protocol with eight bytes of payload. */
function sendRaw(from: Compartment, to: string, protocol: number): void {
  const path = from.output.findPath(ip(to))!;
  const header = from.output.header(path, { isDontFragment: true });
  const frame = { link: NO_LINK, ip: header, protocol, payload: new Uint8Array(8) };
  from.output.send(buildIpFrame(frame), path);
}

describe("other IP protocols", () => {
  it("DT-155: GRE to a pod without ACLs is denied on the way in, without an answer", async () => {
    const { world, a, b } = await pods();
    world.ask(b.compartment, "icmp", "10.0.0.50");
    sendRaw(b.compartment, "10.0.0.50", 47);
    world.run(10);
    expect(a.compartment.drops.get("host-firewall-protocol-denied")).toBe(1);
    expect(a.compartment.drops.get("protocol-unknown")).toBe(0);
  });

  it("a Host rule that allows the protocol lets it through to the stack", async () => {
    const { world, a, b } = await pods([acl("Allow", "In", { Protocols: "47", Priority: 100 })]);
    world.ask(b.compartment, "icmp", "10.0.0.50");
    sendRaw(b.compartment, "10.0.0.50", 47);
    world.run(10);
    expect(a.compartment.drops.get("host-firewall-protocol-denied")).toBe(0);
    expect(a.compartment.drops.get("protocol-unknown")).toBe(1);
  });
});

/** The SID of the built-in account NETWORK SERVICE, as in dataplane.md §10. */
const PROXY_USER = "S-1-5-20";

const PROXY = {
  Type: "L4WFPPROXY",
  Settings: {
    InboundProxyPort: "15006",
    OutboundProxyPort: "15001",
    FilterTuple: { Protocols: "6", Priority: 1 },
    UserSID: PROXY_USER,
    InboundExceptions: { PortExceptions: ["4192"] },
    OutboundExceptions: { IpAddressExceptions: ["10.96.0.1"], PortExceptions: ["443"] },
  },
} as const;

describe("L4WFPPROXY", () => {
  /** Pod A with a proxy that listens on both ports under two names, and an outside host that serves. */
  async function meshed(policy: PolicyDocument = PROXY): Promise<Pods> {
    const made = await pods([policy]);
    const { world, a } = made;
    for (const port of [15_001, 15_006]) {
      const { name } = a.compartment;
      a.compartment.name = `proxy ${port}`;
      world.serve(a.compartment, "tcp", port);
      a.compartment.name = name;
    }
    for (const port of [80, 443]) world.x.serve("tcp", port);
    return made;
  }

  function connect(world: DriverWorld, from: Compartment, to: string, port: number, user?: string): string {
    const probe = new TcpProbe({
      compartment: from,
      destination: ip(to),
      port,
      ...(user !== undefined && { user }),
    });
    probe.start();
    for (let ran = 0; probe.result === undefined && ran < 200; ran++) world.run(100);
    return probe.result?.outcome === "answered" ? probe.result.answer.trim() : `${probe.result?.outcome}`;
  }

  it("DT-175: a process of another user that connects out reaches OutboundProxyPort on 127.0.0.1", async () => {
    const { world, a } = await meshed();
    expect(connect(world, a.compartment, "203.0.113.10", 80)).toMatch(/^proxy 15001.* saw 127\.0\.0\.1:/);
    expect(connect(world, a.compartment, "203.0.113.10", 80, "S-1-5-18")).toMatch(/^proxy 15001/);
    expect(world.uplinkRows(() => connect(world, a.compartment, "203.0.113.10", 80))).toEqual([]);
  });

  it("DT-176: a process of UserSID, the proxy itself, is not redirected", async () => {
    const { world, a } = await meshed();
    expect(connect(world, a.compartment, "203.0.113.10", 80, PROXY_USER)).not.toContain("proxy");
  });

  it("DT-177: a connection to an excepted port reaches who listens there, any other the proxy", async () => {
    const { world, a, b } = await meshed();
    for (const port of [80, 4192]) world.serve(a.compartment, "tcp", port);
    expect(connect(world, b.compartment, "10.0.0.50", 4192)).toMatch(/^pod A.* saw 10\.0\.0\.51:/);
    expect(connect(world, b.compartment, "10.0.0.50", 80)).toMatch(/^proxy 15006.* saw 10\.0\.0\.51:/);
  });

  it("exceptions of the way out: addresses and ports", async () => {
    const { world, a } = await meshed();
    expect(connect(world, a.compartment, "203.0.113.10", 443)).not.toContain("proxy");
    expect(connect(world, a.compartment, "10.96.0.1", 80)).toBe("unreachable");
  });

  it("the proxy can ask where a connection was going, until it is over", async () => {
    const { a } = await meshed();
    const owner = { tcpConnected() {}, tcpData() {}, tcpPeerFinished() {}, tcpClosed() {} };
    const connection = a.compartment.tcp.connect({ destination: ip("203.0.113.10"), port: 80, owner });
    if (typeof connection === "string") throw new Error(connection);
    const original = (): unknown => a.compartment.filtering!.originalDestinationOf(connection.localPort);
    expect(original()).toEqual({ ip: ip("203.0.113.10"), port: 80 });
    connection.abort();
    expect(original()).toBeUndefined();
  });

  it("what the pod says to itself is left alone, UDP and ping too", async () => {
    const { world, a, b } = await meshed();
    world.serve(a.compartment, "tcp", 80);
    world.serve(b.compartment, "udp", 53);
    expect(connect(world, a.compartment, "10.0.0.50", 80)).toContain("pod A");
    expect(world.ask(a.compartment, "udp", "10.0.0.51", 53)).toMatchObject({ outcome: "answered" });
    expect(world.ask(a.compartment, "icmp", "10.0.0.51")).toMatchObject({ outcome: "answered" });
  });

  it("a followed connection says why it goes to the proxy, and which policy asked for it", async () => {
    const { world, a, b } = await meshed();
    expect(world.follow(a.compartment, "tcp", "203.0.113.10", 80).rows[0]).toMatch(/^translate A/);
    expect(world.follow(b.compartment, "tcp", "10.0.0.50", 80).rows).toContainEqual(
      expect.stringMatching(/^translate A .* B→A \| p→80/),
    );
  });

  it("without the proxy connections are refused, and with the policy gone they go where they should", async () => {
    const { world, a } = await pods([PROXY]);
    world.x.serve("tcp", 80);
    expect(connect(world, a.compartment, "203.0.113.10", 80)).toBe("refused");
    await modifyEndpointPolicies(world.client, a.endpoint, "Update", []);
    expect(connect(world, a.compartment, "203.0.113.10", 80)).not.toBe("refused");
  });
});
