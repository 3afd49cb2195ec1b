/** QOS and L4Proxy on packets: what an endpoint's port does with them (dataplane.md §2.14). */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { modifyEndpointPolicies, modifyNetworkPolicies } from "#contracts/hcn/operations.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { UdpOwner } from "#dataplane/host/udp.ts";
import { type DriverPod, DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";

const POD_NET = { prefix: "10.0.0.0/24", gateway: "10.0.0.1" };
const PROXY = "10.0.0.51";

interface Bridge {
  readonly world: DriverWorld;
  readonly network: string;
  readonly a: DriverPod;
  readonly proxy: DriverPod;
}

/** A node with an L2Bridge network: pod A with `policies`, and a pod that serves as proxy. */
async function bridge(policies: readonly PolicyDocument[] = []): Promise<Bridge> {
  const world = new DriverWorld({ profile: "ws2022" });
  const network = await world.network("L2Bridge", POD_NET);
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.50" }],
    Policies: [...policies],
  });
  const proxy = await world.pod("P", network, { IpConfigurations: [{ IpAddress: PROXY }] });
  return { world, network, a, proxy };
}

const NOBODY: UdpOwner = { udpReceived: () => {}, udpFailed: () => {} };

/** Sends `count` datagrams of 958 bytes of payload (1000 with all headers) in one moment. */
function flood(from: Compartment, to: string, count: number): void {
  const socket = from.udp.bind({ owner: NOBODY });
  if (typeof socket === "string") throw new Error(socket);
  for (let sent = 0; sent < count; sent++)
    socket.send({ destination: ip(to), port: 9, bytes: new Uint8Array(958) });
}

const QOS = { Type: "QOS", Settings: { MaximumOutgoingBandwidthInBytes: 10_000 } };

describe("QOS", () => {
  it("DT-178: a burst of a second passes at once, then the rate holds, and what would wait too long is dropped", async () => {
    const { world, a } = await bridge([QOS]);
    // ARP is settled, and the bucket full again.
    world.ask(a.compartment, "icmp", "10.0.0.1");
    world.run(5_000);
    const passed = (ms: number, work: () => void = () => {}): number =>
      world.uplinkRows(() => {
        work();
        world.run(ms);
      }).length;
    // 10 000 bytes pass, 2 500 wait: the eleventh for 100 ms, the twelfth for 200 ms.
    expect(passed(1, () => flood(a.compartment, "203.0.113.10", 20))).toBe(10);
    expect(passed(100)).toBe(1);
    expect(passed(500)).toBe(1);
    const port = world.datapath.listSwitches()[0]!.tables.findPortByIp(ip("10.0.0.50"))!;
    expect(port.vfp.drops.get("bandwidth-exceeded")).toBe(8);
  });

  it("DT-178: what comes in is not limited", async () => {
    const { world, a, proxy } = await bridge([QOS]);
    world.ask(proxy.compartment, "icmp", "10.0.0.50");
    const port = world.datapath.listSwitches()[0]!.tables.findPortByIp(ip("10.0.0.50"))!;
    const before = port.counters.in.packets;
    flood(proxy.compartment, "10.0.0.50", 30);
    world.run(1);
    expect(port.counters.in.packets - before).toBe(30);
    expect(a.compartment.drops.get("port-not-listening")).toBe(30);
  });

  it("the layer comes and goes with the policy, and nothing is said to be stored only", async () => {
    const { world, a } = await bridge();
    const { vfp } = world.datapath.listSwitches()[0]!.tables.findPortByIp(ip("10.0.0.50"))!;
    expect(vfp.isLayerPresent("QOS_LAYER")).toBe(false);
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [QOS]);
    expect(vfp.isLayerPresent("QOS_LAYER")).toBe(true);
    expect(vfp.getLayer("QOS_LAYER")?.groups[0]?.rules[0]?.provenance).toEqual({
      object: "HostComputeEndpoint",
      id: a.endpoint,
      name: "a",
      policy: { type: "QOS", index: 1 },
    });
    expect(await world.client.query("Endpoint", a.endpoint)).not.toHaveProperty("Health.NotEnforced");
    await modifyEndpointPolicies(world.client, a.endpoint, "Remove", [QOS]);
    expect(vfp.isLayerPresent("QOS_LAYER")).toBe(false);
  });
});

describe("QOS on a switch without VFP", () => {
  it("limits what an endpoint of a Transparent network sends, too, from the change on", async () => {
    const world = new DriverWorld();
    const network = await world.network("Transparent", POD_NET);
    const a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: "10.0.0.50" }] });
    world.ask(a.compartment, "icmp", "10.0.0.1");
    const sent = (): number =>
      world.uplinkRows(() => {
        flood(a.compartment, "203.0.113.10", 20);
        world.run(1);
      }).length;
    expect(sent()).toBe(20);
    await modifyEndpointPolicies(world.client, a.endpoint, "Add", [QOS]);
    expect(sent()).toBe(10);
    expect(await world.client.query("Endpoint", a.endpoint)).not.toHaveProperty("Health.NotEnforced");
  });
});

describe("AutomaticDNS", () => {
  it("gives endpoints that name no servers those of the node", async () => {
    const world = new DriverWorld();
    world.node.root.dns = { domain: "", search: [], servers: [ip("10.0.0.53")] };
    const Policies = [{ Type: "AutomaticDNS", Settings: { Enable: true } }];
    const network = await world.network("L2Bridge", POD_NET, { Policies });
    const a = await world.pod("A", network, { IpConfigurations: [{ IpAddress: "10.0.0.50" }] });
    const Dns = { ServerList: ["10.96.0.10"], Domain: "cluster.local" };
    const b = await world.pod("B", network, { IpConfigurations: [{ IpAddress: "10.0.0.51" }], Dns });
    expect(a.compartment.dns.servers).toEqual([ip("10.0.0.53")]);
    expect(b.compartment.dns.servers).toEqual([ip("10.96.0.10")]);
    expect(await world.client.query("Network", network)).not.toHaveProperty("Health.NotEnforced");
  });
});

/** Who answers A's question to a TCP port, in the identification server's words. */
function answerTo(world: DriverWorld, from: Compartment, to: string, port: number): string {
  const result = world.ask(from, "tcp", to, port);
  return result.outcome === "answered" ? result.answer.trim() : result.outcome;
}

describe("L4Proxy", () => {
  const selected = {
    Type: "L4Proxy",
    Settings: { IP: "203.0.113.0/24", Port: "443", Protocol: 6, Destination: `${PROXY}:8888` },
  };

  it("Destination is the proxy; IP, Port and Protocol say which connections it gets; answers keep their address", async () => {
    const { world, a, proxy } = await bridge([selected]);
    world.serve(proxy.compartment, "tcp", 8888);
    world.x.serve("tcp", 80);
    expect(answerTo(world, a.compartment, "203.0.113.10", 443)).toMatch(/^pod P .*saw 10\.0\.0\.50:/);
    expect(answerTo(world, a.compartment, "203.0.113.10", 80)).not.toContain("pod P");
    const { rows } = world.follow(a.compartment, "tcp", "203.0.113.10", 443);
    expect(rows).toContain("deliver P | Am→Pm | A→P | p→8888 | 128");
    expect(rows.at(-1)).toMatch(/^reply deliver A \| .* \| X→A \| 443→p/);
  });

  it("without Destination the proxy is IP and Port, and gets all but the exceptions", async () => {
    const all = { Type: "L4Proxy", Settings: { IP: PROXY, Port: "8888", Exceptions: ["10.0.0.12"] } };
    const { world, a, proxy } = await bridge([all]);
    world.serve(proxy.compartment, "tcp", 8888);
    world.serve(world.neighbour.root, "tcp", 80);
    expect(answerTo(world, a.compartment, "203.0.113.10", 8080)).toContain("pod P");
    expect(answerTo(world, a.compartment, PROXY, 8888)).toContain("pod P");
    expect(answerTo(world, a.compartment, "10.0.0.12", 80)).not.toContain("pod P");
  });

  it("of a network it holds for every endpoint but the proxy itself, from the next packet on", async () => {
    const { world, network, a, proxy } = await bridge();
    world.serve(proxy.compartment, "tcp", 8888);
    expect(answerTo(world, a.compartment, "203.0.113.10", 443)).toBe("refused");
    await modifyNetworkPolicies(world.client, network, "Add", [selected]);
    expect(answerTo(world, a.compartment, "203.0.113.10", 443)).toContain("pod P");
    expect(answerTo(world, proxy.compartment, "203.0.113.10", 443)).toBe("refused");
    await modifyNetworkPolicies(world.client, network, "Remove", [selected]);
    expect(answerTo(world, a.compartment, "203.0.113.10", 443)).toBe("refused");
  });

  it("OutboundNAT: the proxy sees the node's address", async () => {
    const translated = {
      ...selected,
      Settings: { ...selected.Settings, Destination: "10.0.0.12:8888", OutboundNAT: true },
    };
    const { world, a } = await bridge([translated]);
    world.serve(world.neighbour.root, "tcp", 8888);
    expect(answerTo(world, a.compartment, "203.0.113.10", 443)).toMatch(/saw 10\.0\.0\.11:/);
  });

  it("a proxy at 127.0.0.1 is behind no switch port: health data say so", async () => {
    const loopback = { ...selected, Settings: { ...selected.Settings, Destination: "127.0.0.1:8888" } };
    const { world, a } = await bridge([loopback]);
    expect(await world.client.query("Endpoint", a.endpoint)).toMatchObject({
      Health: {
        NotEnforced: [{ Type: "L4Proxy", Reason: expect.stringContaining("127.0.0.1") as string }],
      },
    });
  });
});
