// Defects of overlay networks (dataplane.md §9): without each one it is good, with it as users met it.
import { beforeEach, describe, expect, it } from "vitest";
import {
  createEndpoint,
  createLoadBalancer,
  deleteNetwork,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { OVERLAY_MACS } from "#test/support/dataplane/overlay-stages.ts";
import { Ear, type OverlayPod, OverlayWorld, remoteSubnet } from "#test/support/dataplane/overlay-world.ts";
import { ip } from "#test/support/dataplane/driver-world.ts";

const { W1dr, W2dr } = OVERLAY_MACS;
const HOST_ROUTE = { Type: "HostRoute", Settings: {} };
const NAT = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] } };

let world: OverlayWorld;
let a: OverlayPod;
let c: OverlayPod;

async function boot(profile: string, vni = 4_096, quirks: readonly QuirkName[] = []): Promise<void> {
  world = new OverlayWorld(profile, 1_500, Object.fromEntries(quirks.map((name) => [name, "on"])));
  await world.w1.overlay("10.244.1.0/24", {
    router: W1dr,
    vni,
    policies: [HOST_ROUTE, remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr, vni)],
  });
  await world.w2.overlay("10.244.2.0/24", {
    router: W2dr,
    vni,
    policies: [HOST_ROUTE, remoteSubnet("10.244.1.0/24", "10.0.0.11", W1dr, vni)],
  });
  a = await world.w1.pod("10.244.1.10", { Policies: [NAT] });
  c = await world.w2.pod("10.244.2.10", { Policies: [NAT] });
  world.serve(a.compartment, 8080);
  world.serve(c.compartment, 8080);
}

beforeEach(async () => boot("ws2022"));

function set(name: QuirkName, setting: QuirkSetting = "on"): void {
  for (const node of [world.w1, world.w2]) node.service.setQuirk(name, setting);
}

/** True when C answers A. */
function answers(from = a, to = "10.244.2.10"): boolean {
  return world.walk(from.compartment, to, 8080).heard.length > 0;
}

/** The same without anybody who follows the packet: a trace walks the layers, whatever flows there are. */
function asksUnfollowed(port = 50_000): boolean {
  const ear = new Ear(false);
  const socket = a.compartment.udp.bind({ owner: ear, port });
  if (typeof socket === "string") throw new Error(socket);
  socket.send({ destination: ip("10.244.2.10"), port: 8080, bytes: Uint8Array.of(1) });
  world.run();
  socket.close();
  return ear.heard.length > 0;
}

describe("tunnels", () => {
  it("F-07 DT-040 encap-route-rules-missing: what is for the other node leaves without a tunnel", () => {
    expect(answers()).toBe(true);
    world.w1.service.setQuirk("encap-route-rules-missing", "on");
    expect(answers()).toBe(false);
    const onWire = world.stages().filter(({ at }) => at === "wire");
    expect(onWire).toHaveLength(1);
    expect(onWire[0]!.outer).toBeUndefined();
    expect(onWire[0]!.ip).toBe("A→C");
    world.w1.service.setQuirk("encap-route-rules-missing", "off");
    expect(answers()).toBe(true);
  });

  it("F-34 low-virtual-subnet-silent: identifier 1 carries nothing, 4096 does", async () => {
    await boot("ws2022", 1);
    expect(answers()).toBe(true);
    set("low-virtual-subnet-silent");
    expect(answers()).toBe(false);
    await boot("ws2022", 4_096, ["low-virtual-subnet-silent"]);
    expect(answers()).toBe(true);
  });

  it("F-35 vxlan-port-taken: pods of one node reach each other, those of different nodes do not", async () => {
    const b = await world.w1.pod("10.244.1.11", { Policies: [NAT] });
    world.serve(b.compartment, 8080);
    set("vxlan-port-taken");
    expect([answers(), answers(a, "10.244.1.11")]).toEqual([false, true]);
    expect(world.drops()).toEqual([]);
    answers();
    expect(world.drops()).toEqual(["vxlan-port-taken"]);
    set("vxlan-port-taken", "off");
    expect(answers()).toBe(true);
  });

  it("F-33 encap-overhead-ignored: what fills the adapter's MTU does not fit with the tunnel around it", async () => {
    const mtuOf = (pod: OverlayPod): number => pod.compartment.listInterfaces()[0]!.mtuBytes;
    expect(mtuOf(a)).toBe(1_450);
    await boot("ws2022", 4_096, ["encap-overhead-ignored"]);
    expect(mtuOf(a)).toBe(1_500);
    expect(answers()).toBe(true);
    const socket = a.compartment.udp.bind({ owner: { udpReceived() {}, udpFailed() {} } });
    if (typeof socket === "string") throw new Error(socket);
    world.listener.heard.length = 0;
    socket.send({ destination: ip("10.244.2.10"), port: 8080, bytes: new Uint8Array(1_472), tag: 1 });
    world.run();
    expect(world.drops()).toEqual(["mtu-exceeded"]);
  });

  it("F-03 encap-layer-rebuilt: a flow that begins while the network changes stays wrong until it ends", async () => {
    world.walk(a.compartment, "10.244.2.10", 8080);
    const change = async (): Promise<void> => {
      const route = remoteSubnet("10.244.9.0/24", "10.0.0.21", OVERLAY_MACS.L1v);
      await modifyNetworkPolicies(world.w2.client, world.w2.network, "Add", [route]);
      const extra = await world.w2.pod("10.244.2.11");
      expect(extra.endpoint).toBeDefined();
    };
    await change();
    expect(world.ask(a.compartment, "10.244.2.10", 8080).heard).toHaveLength(1);
    await boot("ws2022", 4_096, ["encap-layer-rebuilt"]);
    world.walk(a.compartment, "10.244.2.10", 8080);
    await change();
    // The gap is 0.3 to 32 ms long; this question is asked in it.
    expect(asksUnfollowed()).toBe(false);
    // It is over, and the flow goes on without the layer. Others are as they should be.
    expect([asksUnfollowed(), asksUnfollowed(50_001)]).toEqual([false, true]);
    world.clock.runUntil(world.clock.nowMs + 300_000);
    expect(asksUnfollowed()).toBe(true);
  });
});

describe("the distributed router", () => {
  /** How many rules the router's port of W2 has. */
  function routerRules(): number {
    const port = world.w2.datapath
      .listSwitches()[0]!
      .listPorts()
      .find(({ kind }) => kind === "router");
    return (port?.vfp.layers ?? []).flatMap(({ groups }) => groups).reduce((sum, { size }) => sum + size, 0);
  }

  it("F-08 overlay-routes-need-a-pod: a node without pods takes nothing out of tunnels, with the first one it does", async () => {
    world = new OverlayWorld("ws2022", 1_500, { "overlay-routes-need-a-pod": "on" });
    await world.w2.overlay("10.244.2.0/24", { router: W2dr });
    expect(routerRules()).toBe(0);
    await world.w2.pod("10.244.2.10");
    expect(routerRules()).toBeGreaterThan(0);
    world = new OverlayWorld("ws2022");
    await world.w2.overlay("10.244.2.0/24", { router: W2dr });
    expect(routerRules()).toBeGreaterThan(0);
  });

  it("F-50 network-space-removed-late: the router's port goes half a minute and more after its network", async () => {
    const portOf = (network: string): unknown =>
      world.w1.datapath
        .listSwitches()[0]!
        .listPorts()
        .find(({ name }) => name === `DrPort ${network}`);
    const make = async (): Promise<string> => {
      const first = world.w1.network;
      const id = await world.w1.overlay("10.245.1.0/24", { name: "other", vni: 5_000 });
      world.w1.network = first;
      return id;
    };
    const plain = await make();
    await deleteNetwork(world.w1.client, plain);
    expect(portOf(plain)).toBeUndefined();
    set("network-space-removed-late");
    const late = await make();
    await deleteNetwork(world.w1.client, late);
    world.clock.runUntil(world.clock.nowMs + 29_999);
    expect(portOf(late)).toBeDefined();
    world.clock.runUntil(world.clock.nowMs + 30_001);
    expect(portOf(late)).toBeUndefined();
  });

  it("overlay-decap-lost-at-restart: after KB4565349 a restart of the service cuts pods off from tunnels", async () => {
    await boot("ws2019.1397");
    expect(answers()).toBe(true);
    await world.w2.client.faults.restart("keep");
    expect(answers()).toBe(false);
    await boot("ws2019.1518");
    await world.w2.client.faults.restart("keep");
    expect(answers()).toBe(true);
  });
});

describe("the source address of load balancers", () => {
  it.each([
    ["10.244.1.2", true],
    ["10.244.1.0", false],
  ])("DT-112 F-06 SourceVIP %s: a back end of this node answers %s", async (sourceVip, isAnswered) => {
    const route = { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } };
    const client = await world.w1.pod("10.244.1.12", { Policies: [NAT, route] });
    await createEndpoint(world.w1.client, world.w1.network, {
      IpConfigurations: [{ IpAddress: "10.244.1.2" }],
      MacAddress: "00-15-5D-00-00-11",
    });
    await createLoadBalancer(world.w1.client, {
      HostComputeEndpoints: [a.endpoint],
      FrontendVIPs: ["10.96.0.50"],
      PortMappings: [{ Protocol: 17, ExternalPort: 80, InternalPort: 8_080 }],
      SourceVIP: sourceVip,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    const { heard } = world.walk(client.compartment, "10.96.0.50", 80);
    expect(heard).toEqual(isAnswered ? ["10.96.0.50:80"] : []);
  });
});

describe("overlay-nodeport-ws2022", () => {
  /** Asks node port 30080 of W1 from outside. */
  async function nodePort(profile: string, isLocal: boolean): Promise<boolean> {
    await boot(profile);
    const remote = await createEndpoint(world.w1.client, world.w1.network, {
      IpConfigurations: [{ IpAddress: "10.244.2.10" }],
      MacAddress: "02-11-0A-F4-02-0A",
      Flags: 1,
      Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.0.12" } }],
    });
    await createEndpoint(world.w1.client, world.w1.network, {
      IpConfigurations: [{ IpAddress: "10.244.1.2" }],
      MacAddress: "00-15-5D-00-00-11",
    });
    // As kube-proxy makes it: with a local traffic policy DSR, and its own pods alone (kube-proxy.md §3.2).
    await createLoadBalancer(world.w1.client, {
      HostComputeEndpoints: isLocal ? [a.endpoint] : [a.endpoint, remote.ID],
      FrontendVIPs: [],
      PortMappings: [{ Protocol: 17, ExternalPort: 30_080, InternalPort: 8_080, Flags: 18 }],
      SourceVIP: "10.244.1.2",
      Flags: isLocal ? 1 : 0,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    const outside = world.underlay.getOutsideHost("X")!.compartment;
    return world.walk(outside, "10.0.0.11", 30_080).heard.length > 0;
  }

  it.each([
    ["ws2019", false, true],
    ["ws2022", false, false],
    ["ws2022", true, true],
    ["ws2025", false, true],
  ])("%s, externalTrafficPolicy Local %s: works %s", async (profile, isLocal, works) => {
    expect(await nodePort(profile, isLocal)).toBe(works);
    expect(world.drops()).toEqual(works ? [] : ["node-port-on-overlay-server-2022"]);
  });

  it("F-47 the node itself reaches its node port where outside clients do", async () => {
    await nodePort("ws2025", false);
    expect(world.walk(world.w1.host.root, "10.0.0.11", 30_080).heard).toHaveLength(1);
  });

  // The answer of the pod is turned back at its own port, so it must not be in a tunnel there.
  it.each(["ws2022", "ws2025"])("F-47 %s: with a local traffic policy, too", async (profile) => {
    await nodePort(profile, true);
    expect(world.walk(world.w1.host.root, "10.0.0.11", 30_080).heard).toEqual(["10.0.0.11:30080"]);
    expect(world.drops()).toEqual([]);
  });

  it("WALK-O-9 the node still reaches the pod's own port and address", async () => {
    await nodePort("ws2025", true);
    expect(world.walk(world.w1.host.root, "10.244.1.10", 8_080).heard).toEqual(["10.244.1.10:8080"]);
  });

  it("works on Server 2022 without the defect", async () => {
    await nodePort("ws2022", false);
    world.w1.service.setQuirk("overlay-nodeport-ws2022", "off");
    const outside = world.underlay.getOutsideHost("X")!.compartment;
    expect(world.walk(outside, "10.0.0.11", 30_080).heard).toHaveLength(1);
  });
});
