/** Rows R1 to R9 of control-planes.md §10.4, on a control plane in memory and under virtual time. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { Prng } from "#core/base/prng.ts";
import { MemoryKube } from "../memory/memory-kube.ts";
import { MemoryKubeSource } from "../memory/memory-kube-source.ts";
import { loadManifests } from "../load/load-manifests.ts";
import { type Prefix, parsePrefix } from "#core/net/ip.ts";
import { AzureRoutes } from "./azure/azure-routes.ts";
import { type AzureRoute, MemoryRouteTables } from "./azure/delayed-route-updater.ts";
import {
  type CloudRoute,
  DONE,
  type Outcome,
  type RouteListing,
  type RouteOperation,
  type RoutesProvider,
  failedWith,
} from "./cloud-route.ts";
import { RoutesController } from "./routes-controller.ts";

const TABLE = "agentpool-routetable";
const BOTH_FAMILIES = ["10.244.0.0/16", "fd00:244::/48"];

interface NodeSketch {
  readonly podCIDRs?: readonly string[];
  readonly addresses?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** A cloud whose orders end at once, with the outcomes that a test lays out; it notes what it was asked. */
class ScriptedCloud implements RoutesProvider {
  readonly calls: string[] = [];
  routes: CloudRoute[];
  /** Taken one by one for creations; then all succeed. */
  readonly outcomes: Outcome[] = [];

  constructor(routes: readonly CloudRoute[] = []) {
    this.routes = [...routes];
  }

  observeNodes(): void {}

  listRoutes(): RouteListing {
    return { state: "listed", routes: [...this.routes] };
  }

  createRoute(nameHint: string, route: CloudRoute): RouteOperation {
    this.calls.push(`create ${nameHint} ${route.targetNode} ${route.destinationCidr}`);
    const outcome = this.outcomes.shift() ?? DONE;
    if (outcome.state === "done") this.routes.push(route);
    return { outcome };
  }

  deleteRoute(route: CloudRoute): RouteOperation {
    this.calls.push(`delete ${route.name} ${route.destinationCidr}`);
    this.routes = this.routes.filter(
      ({ name, destinationCidr }) => name !== route.name || destinationCidr !== route.destinationCidr,
    );
    return { outcome: DONE };
  }

  advance(): number | undefined {
    return undefined;
  }
}

class World<Provider extends RoutesProvider = RoutesProvider> {
  readonly kube = new MemoryKube(new Prng(1), { clusterCIDRs: [], serviceCIDRs: [] });
  readonly provider: Provider;
  readonly controller: RoutesController;
  readonly findings: string[] = [];
  nowMs = 0;
  private dueAtMs = 0;

  constructor(provider: Provider, clusterCidrs: readonly string[] = ["10.244.0.0/16"]) {
    this.provider = provider;
    this.controller = new RoutesController({
      provider,
      clusterCidrs: clusterCidrs.map((text) => parsePrefix(text) as Prefix),
      prng: new Prng(1),
      epochMs: Date.UTC(2026, 0, 2, 3, 4, 5),
    });
  }

  get source(): MemoryKubeSource {
    return new MemoryKubeSource(this.kube);
  }

  node(name: string, { podCIDRs = [], addresses = [], labels = {} }: NodeSketch = {}): void {
    const spec = podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0], podCIDRs };
    const status = { addresses: addresses.map((address) => ({ type: "InternalIP", address })) };
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels, uid: `uid-${name}` },
      spec,
      status,
    };
    this.kube.apply(loadManifests([{ name: `${name}.json`, text: JSON.stringify(node) }]).objects);
  }

  /** All that happens up to and including a time. */
  async runUntil(endMs: number): Promise<void> {
    while (this.dueAtMs <= endMs) {
      this.nowMs = this.dueAtMs;
      const { nextInMs, findings } = await this.controller.advance(this.nowMs, this.source);
      this.findings.push(...findings.map(({ code }) => code));
      this.dueAtMs = this.nowMs + Math.max(nextInMs, 1);
    }
  }

  /** `False RouteCreated`; undefined without the condition. */
  condition(name: string): string | undefined {
    const condition = this.kube
      .get("Node", "", name)
      ?.status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
    return condition && `${condition.status} ${condition.reason}: ${condition.message}`;
  }
}

const CREATED = "False RouteCreated: RouteController created a route";
const NOT_CREATED = "True NoRouteCreated: RouteController failed to create a route";

function routeTo(name: string, destinationCidr: string, more: Partial<CloudRoute> = {}): CloudRoute {
  return { name, targetNode: name, destinationCidr, ...more };
}

interface AzureWorld extends World<AzureRoutes> {
  readonly tables: MemoryRouteTables;
}

function azure(
  privateIps: Readonly<Record<string, readonly string[]>>,
  { isDualStack = false, routes = [] as readonly AzureRoute[] } = {},
): AzureWorld {
  const tables = new MemoryRouteTables();
  tables.put({ name: TABLE, location: "westeurope", routes, etag: "" }, 0);
  tables.putCount = 0;
  const provider = new AzureRoutes({
    tables,
    tableName: TABLE,
    location: "westeurope",
    isDualStack,
    privateIps: new Map(Object.entries(privateIps)),
  });
  return Object.assign(new World(provider, BOTH_FAMILIES), { tables });
}

function appliance(name: string, addressPrefix: string, nextHopIpAddress: string): AzureRoute {
  return { name, addressPrefix, nextHopType: "VirtualAppliance", nextHopIpAddress };
}

describe("the Routes controller", () => {
  it("CP-R1: a node with podCIDR and no route gets one, and then the condition RouteCreated", async () => {
    const world = new World(new ScriptedCloud());
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    const uid = world.kube.get("Node", "", "node1")?.metadata.uid;
    await world.runUntil(0);
    expect(world.provider.calls).toEqual([`create ${uid} node1 10.244.1.0/24`]);
    expect(world.condition("node1")).toBe(CREATED);
    await world.runUntil(60_000);
    expect(world.provider.calls).toHaveLength(1);
  });

  it("CP-R1: on Azure the condition comes when the write of the table has taken effect", async () => {
    const world = azure({ node1: ["10.0.0.4"] });
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(29_999);
    expect(world.tables.get(TABLE)?.routes).toEqual([]);
    await world.runUntil(30_000);
    expect(world.tables.get(TABLE)?.routes).toEqual([appliance("node1", "10.244.1.0/24", "10.0.0.4")]);
    await world.runUntil(59_999);
    expect(world.condition("node1")).toBeUndefined();
    await world.runUntil(60_000);
    expect(world.condition("node1")).toBe(CREATED);
  });

  it("CP-R2: the route of a node that is gone goes inside of the cluster's range, and stays outside", async () => {
    const world = new World(
      new ScriptedCloud([routeTo("gone", "10.244.7.0/24"), routeTo("gone", "192.168.7.0/24")]),
    );
    await world.runUntil(0);
    expect(world.provider.calls).toEqual(["delete gone 10.244.7.0/24"]);
  });

  it("CP-R2: a blackhole goes although its node wants it, and a range that reaches into the cluster's counts", async () => {
    const world = new World(
      new ScriptedCloud([
        routeTo("node1", "10.244.1.0/24", { isBlackhole: true }),
        routeTo("wide", "10.240.0.0/12"),
        routeTo("wider", "10.0.0.0/8"),
        routeTo("six", "fd00::/64"),
      ]),
    );
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(0);
    // Only first and last address are looked at: 10.240.0.0 and 10.255.255.255 lie outside, as 10.0.0.0 does.
    expect(world.provider.calls).toEqual(["delete node1 10.244.1.0/24"]);
  });

  it("CP-R3: a creation that fails is an Event and NetworkUnavailable", async () => {
    const world = new World(new ScriptedCloud());
    world.provider.outcomes.push(failedWith({ code: "route-table-full", message: "no more routes" }));
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    const uid = world.kube.get("Node", "", "node1")?.metadata.uid;
    await world.runUntil(0);
    expect(world.condition("node1")).toBe(NOT_CREATED);
    expect(world.kube.objects("Event")).toMatchObject([
      {
        metadata: { namespace: "default" },
        type: "Warning",
        reason: "FailedToCreateRoute",
        involvedObject: { kind: "Node", name: "node1" },
        source: { component: "route_controller" },
        message: `Could not create route ${uid} 10.244.1.0/24 for node node1 after 0s: no more routes`,
      },
    ]);
    expect(world.findings).toEqual(["route-table-full"]);
    // The next round, ten seconds later, tries again.
    await world.runUntil(10_000);
    expect(world.condition("node1")).toBe(CREATED);
  });

  it("CP-R3: conflicts are tried five times, some 100 ms apart, and then given up", async () => {
    const world = new World(new ScriptedCloud());
    for (let i = 0; i < 5; i++)
      world.provider.outcomes.push(
        failedWith({ code: "route-table-changed", message: "changed", isConflict: true }),
      );
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(0);
    expect([world.provider.calls.length, world.condition("node1")]).toEqual([1, undefined]);
    await world.runUntil(9_000);
    expect([world.provider.calls.length, world.condition("node1")]).toEqual([5, NOT_CREATED]);
  });

  it.each([
    ["10.0.0.4", []],
    ["10.0.0.9", ["delete node1 10.244.1.0/24", "create node1 10.244.1.0/24"]],
  ])("CP-R4: a route to %s, of a node with 10.0.0.4 and 10.0.0.5", async (gatewayAddress, expected) => {
    const world = new World(
      new ScriptedCloud([routeTo("node1", "10.244.1.0/24", { gatewayAddress, enablesNodeAddresses: true })]),
    );
    world.node("node1", { podCIDRs: ["10.244.1.0/24"], addresses: ["10.0.0.4", "10.0.0.5"] });
    await world.runUntil(0);
    const calls = world.provider.calls.map((call) => call.replace(/^create \S+/, "create"));
    expect(calls).toEqual(expected);
    expect(world.condition("node1")).toBe(CREATED);
  });

  it.each([
    [["10.0.0.5", "10.0.0.4"], 0],
    [["10.0.0.4"], 2],
  ])("CP-R4: without a gateway all addresses count, in any order: %j", async (addresses, calls) => {
    const targetNodeAddresses = addresses.map((address) => ({ type: "InternalIP", address }));
    const world = new World(
      new ScriptedCloud([
        routeTo("node1", "10.244.1.0/24", { enablesNodeAddresses: true, targetNodeAddresses }),
      ]),
    );
    world.node("node1", { podCIDRs: ["10.244.1.0/24"], addresses: ["10.0.0.4", "10.0.0.5"] });
    await world.runUntil(0);
    expect(world.provider.calls).toHaveLength(calls);
  });

  it("CP-R9: a node without podCIDR and route is left alone; with a route it loses that, and is unavailable", async () => {
    const world = new World(new ScriptedCloud([routeTo("routed", "10.244.9.0/24")]));
    world.node("node1");
    world.node("routed");
    await world.runUntil(0);
    expect(world.provider.calls).toEqual(["delete routed 10.244.9.0/24"]);
    expect(world.condition("node1")).toBeUndefined();
    expect(world.condition("routed")).toBe(NOT_CREATED);
  });

  it("keeps and makes routes while the API server is away, for the nodes that it knows", async () => {
    const world = new World(new ScriptedCloud());
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(10_000);
    world.provider.routes = [routeTo("gone", "10.244.9.0/24")];
    const away = world.source;
    await away.close();
    const { findings } = await world.controller.advance(20_000, away);
    expect(findings.map(({ code }) => code)).toEqual(["kubernetes-unreachable"]);
    expect(world.provider.routes).toMatchObject([{ targetNode: "node1", destinationCidr: "10.244.1.0/24" }]);
  });

  it("needs a range of the cluster", () => {
    expect(() => new World(new ScriptedCloud(), [])).toThrow("Must specify clusterCIDR");
  });

  it("keeps to 200 orders at a time", async () => {
    const privateIps: Record<string, readonly string[]> = {};
    for (let i = 0; i < 250; i++) privateIps[`node${i}`] = [`10.0.1.${i}`];
    const world = azure(privateIps);
    for (let i = 0; i < 250; i++) world.node(`node${i}`, { podCIDRs: [`10.244.${i}.0/24`] });
    await world.runUntil(30_000);
    expect(world.tables.get(TABLE)?.routes).toHaveLength(200);
    await world.runUntil(90_000);
    expect(world.tables.get(TABLE)?.routes).toHaveLength(250);
    expect(world.tables.putCount).toBe(2);
  });

  it("a fork goes on from where it was, and changes nothing of the first", async () => {
    const world = azure({ node1: ["10.0.0.4"] });
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(20_000);
    const copy = fork(world);
    await copy.runUntil(60_000);
    expect(copy.condition("node1")).toBe(CREATED);
    expect(world.tables.get(TABLE)?.routes).toEqual([]);
    await world.runUntil(60_000);
    expect(world.tables.get(TABLE)).toEqual(copy.tables.get(TABLE));
  });
});

describe("routes of Azure", () => {
  it("CP-R5: with two families a route's name holds its range", async () => {
    const world = azure({ node1: ["10.0.0.4", "fd00:10::4"] }, { isDualStack: true });
    world.node("node1", { podCIDRs: ["10.244.1.0/24", "fd00:244:0:1::/64"] });
    await world.runUntil(60_000);
    expect(world.tables.get(TABLE)?.routes).toEqual([
      appliance("node1____102441024", "10.244.1.0/24", "10.0.0.4"),
      appliance("node1____fd002440164", "fd00:244:0:1::/64", "fd00:10::4"),
    ]);
    expect(world.condition("node1")).toBe(CREATED);
  });

  it("CP-R5: names of the other kind are cleaned up with the next write, those of known nodes alone", async () => {
    const world = azure(
      { node1: ["10.0.0.4"] },
      {
        isDualStack: true,
        routes: [
          appliance("node1", "192.168.1.0/24", "10.0.0.4"),
          appliance("proxy", "192.168.2.0/24", "10.0.0.9"),
        ],
      },
    );
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(60_000);
    expect(world.tables.get(TABLE)?.routes.map(({ name }) => name)).toEqual(["proxy", "node1____102441024"]);
  });

  it("CP-R6: every route of the table is told; a hand-made one outside of the cluster's range stays", async () => {
    const byHand = [
      appliance("node1", "192.168.50.0/24", "10.0.0.99"),
      appliance("firewall", "10.244.200.0/24", "10.0.0.99"),
    ];
    const world = azure({ node2: ["10.0.0.5"] }, { routes: byHand });
    expect(world.provider.listRoutes(0)).toEqual({
      state: "listed",
      routes: [routeTo("node1", "192.168.50.0/24"), routeTo("firewall", "10.244.200.0/24")],
    });
    world.node("node2", { podCIDRs: ["10.244.2.0/24"] });
    await world.runUntil(60_000);
    // The trap of §6.6: inside of the range a route whose name is no node's is taken away.
    expect(world.tables.get(TABLE)?.routes).toEqual([
      appliance("node1", "192.168.50.0/24", "10.0.0.99"),
      appliance("node2", "10.244.2.0/24", "10.0.0.5"),
    ]);
  });

  it("CP-R7: an unmanaged node costs no call, and its range is told as if it had a route", async () => {
    const world = azure({});
    world.node("onprem", {
      podCIDRs: ["10.244.3.0/24"],
      labels: { "kubernetes.azure.com/managed": "false" },
    });
    await world.runUntil(120_000);
    expect(world.tables.putCount).toBe(0);
    expect(world.provider.listRoutes(world.nowMs)).toEqual({
      state: "listed",
      routes: [routeTo("onprem", "10.244.3.0/24")],
    });
    expect(world.condition("onprem")).toBe(CREATED);
  });

  it("CP-R8: two operations within the interval are one write", async () => {
    const world = azure(
      { node1: ["10.0.0.4"], node2: ["10.0.0.5"] },
      { routes: [appliance("gone", "10.244.9.0/24", "10.0.0.9")] },
    );
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    world.node("node2", { podCIDRs: ["10.244.2.0/24"] });
    await world.runUntil(60_000);
    expect(world.tables.get(TABLE)?.routes.map(({ name }) => name)).toEqual(["node1", "node2"]);
    expect(world.tables.putCount).toBe(1);
  });

  it("CP-R8: what stands in the table already is not written", async () => {
    const world = azure(
      { node1: ["10.0.0.4"] },
      { routes: [appliance("NODE1", "10.244.1.0/24", "10.0.0.4")] },
    );
    world.provider.observeNodes([]);
    world.provider.advance(0);
    const operation = world.provider.createRoute("", routeTo("node1", "10.244.1.0/24"));
    world.provider.advance(30_000);
    expect([operation.outcome, world.tables.putCount]).toEqual([DONE, 0]);
  });

  it("CP-A15: the 401st route is refused, with Event and condition", async () => {
    const routes = Array.from({ length: 400 }, (_, i) =>
      appliance(`r${i}`, `172.${16 + (i >> 8)}.${i & 255}.0/24`, "10.0.0.9"),
    );
    const world = azure({ node1: ["10.0.0.4"] }, { routes });
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(30_000);
    expect(world.tables.get(TABLE)?.routes).toHaveLength(400);
    expect(world.condition("node1")).toBe(NOT_CREATED);
    expect(world.findings).toEqual(["route-table-full"]);
    expect(world.kube.objects("Event").map(({ message = "" }) => message.replace(/^.* for /, ""))).toEqual([
      "node node1 after 30s: route table agentpool-routetable would have 401 routes: more than 400 are not allowed",
    ]);
  });

  it("a machine without an address of the family gets no route", async () => {
    const world = azure({ node1: ["10.0.0.4"] }, { isDualStack: true });
    world.node("node1", { podCIDRs: ["fd00:244:0:1::/64"] });
    await world.runUntil(0);
    expect(world.condition("node1")).toBe(NOT_CREATED);
    expect(world.findings).toEqual(["route-without-next-hop"]);
  });

  it("a table that somebody else has changed meanwhile is not overwritten", async () => {
    const world = azure({ node1: ["10.0.0.4"], node2: ["10.0.0.5"] });
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(20_000);
    const byHand = appliance("by-hand", "192.168.9.0/24", "10.0.0.9");
    world.tables.put({ name: TABLE, location: "westeurope", routes: [byHand], etag: "" }, 0);
    await world.runUntil(30_000);
    expect(world.tables.get(TABLE)?.routes).toEqual([byHand]);
    expect(world.condition("node1")).toBe(NOT_CREATED);
    await world.runUntil(90_000);
    expect(world.tables.get(TABLE)?.routes.map(({ name }) => name)).toEqual(["by-hand", "node1"]);
    expect(world.condition("node1")).toBe(CREATED);
  });

  it("the table is made with its first use", async () => {
    const tables = new MemoryRouteTables();
    const provider = new AzureRoutes({
      tables,
      tableName: TABLE,
      location: "westeurope",
      isDualStack: false,
      privateIps: new Map([["node1", ["10.0.0.4"]]]),
    });
    const world = new World(provider);
    world.node("node1", { podCIDRs: ["10.244.1.0/24"] });
    await world.runUntil(30_000);
    expect(tables.get(TABLE)).toMatchObject({ location: "westeurope", routes: [{ name: "node1" }] });
  });

  it("with two families a deletion takes the old name away, too, in a second write", async () => {
    const world = azure(
      {},
      {
        isDualStack: true,
        routes: [
          appliance("gone____102441024", "10.244.1.0/24", "10.0.0.4"),
          appliance("gone", "192.168.1.0/24", "10.0.0.4"),
        ],
      },
    );
    await world.runUntil(30_000);
    expect(world.tables.get(TABLE)?.routes.map(({ name }) => name)).toEqual(["gone"]);
    await world.runUntil(120_000);
    expect(world.tables.get(TABLE)?.routes).toEqual([]);
  });
});
