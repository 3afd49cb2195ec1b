// Nodes in a virtual network of Azure: which rule and which route decide about a packet (control-planes.md §6.2 to §6.4).
import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import type { Cluster } from "./cluster.ts";
import { findTraceEnd } from "./trace/find-trace-end.ts";
import { tracePacket } from "./trace/trace.ts";
import type { VirtualNetwork } from "#dataplane/fabric/azure/virtual-network.ts";
import { openSessionWorld, remove } from "#test/support/cluster/session-world.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";

interface Given {
  readonly driver?: "L2Bridge" | "L2Tunnel";
  /** Rules of the subnet's group, in flow style; undefined: it has no group. */
  readonly subnetRules?: readonly string[];
  readonly nicRules?: readonly string[];
  readonly routes?: readonly string[];
  readonly learned?: readonly string[];
  readonly spaces?: readonly string[];
  readonly forwards?: boolean;
  /** Default none. */
  readonly networkRoutes?: "cloud" | "none";
  /** In flow style, without its braces. */
  readonly serviceTag?: string;
  /** How long Azure refuses writes; default not at all. */
  readonly throttledSeconds?: number;
  /** `win-2` is a Linux node, as kubenet leaves it: a bridge and the way to the subnet's gateway. */
  readonly hasLinuxNode?: boolean;
  /** False: the Node of win-2 has no podCIDR. */
  readonly isAllocated?: boolean;
  /** Pods of win-2 have a range that Azure does not know. */
  readonly hasOwnRanges?: boolean;
}

function group(name: string, rules: readonly string[] | undefined): readonly string[] {
  return rules === undefined
    ? []
    : [`{name: ${name}, rules: [${rules.map((rule) => `{${rule}}`).join(", ")}]}`];
}

function text(given: Given): string {
  const {
    subnetRules,
    nicRules,
    routes = [],
    learned = [],
    spaces = ["10.240.0.0/16"],
    hasOwnRanges,
  } = given;
  const [first, second] = hasOwnRanges === true ? ["10.244.1", "10.244.2"] : ["10.240.1", "10.240.2"];
  const groups = [...group("of-subnet", subnetRules), ...group("of-nic", nicRules)];
  const nic = [
    `ipForwarding: ${given.forwards === true}`,
    ...(nicRules === undefined ? [] : ["securityGroup: of-nic"]),
    "applicationGroups: [nodes]",
  ].join(", ");
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: azure}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.240.0.4, podCIDR: ${first}.0/24}
  - {name: win-2, os: ${given.hasLinuxNode === true ? "linux" : "windows, build: ws2022"}, address: 10.240.0.5, podCIDR: ${second}.0/24, podCIDRAllocated: ${given.isAllocated !== false}}
network:
  plugin: ${hasOwnRanges === true ? "win-bridge" : "azure-vnet"}
  driver: ${given.driver ?? "L2Bridge"}
  shape: ${hasOwnRanges === true ? "own-subnet" : "node-subnet"}
  routes: ${given.networkRoutes ?? "none"}
underlay:
  subnet: 10.240.0.0/16
  azure:
    addressSpace: [${spaces.join(", ")}]
    throttledSeconds: ${given.throttledSeconds ?? 0}
    serviceTags: [${given.serviceTag === undefined ? "" : `{${given.serviceTag}}`}]
    learned: [${learned.join(", ")}]
    securityGroups: [${groups.join(", ")}]
    routeTables: [{name: table, routes: [${routes.map((route) => `{${route}}`).join(", ")}]}]
    subnets:
      - {name: nodes, prefix: 10.240.0.0/16, routeTable: table${subnetRules === undefined ? "" : ", securityGroup: of-subnet"}}
    interfaces:
      - {node: win-1, ${nic}}
      - {node: win-2, ${nic}}
pods:
  - {name: a, node: win-1, address: ${first}.10}
  - {name: b, node: win-1, address: ${first}.11}
  - {name: c, node: win-2, address: ${second}.10, ports: [{port: 8080}, {port: 9000, protocol: UDP}]}
`;
}

/** What became of a connection attempt, and what the fabric said on its way there. */
function ask(cluster: Cluster, from: string, to: string): readonly [string, readonly string[]] {
  const { report } = tracePacket(cluster, { from, to, protocol: "tcp", port: 8_080 });
  const { forward, reply } = report;
  const steps = [...(forward?.steps ?? []), ...(reply?.steps ?? [])];
  const told = steps.filter(({ node }) => node === "fabric").map((step) => step.text);
  const drop = steps.find(({ kind }) => kind === "drop");
  return [report.verdict === "answered" ? "answered" : (drop?.code ?? report.verdict), told];
}

const IN = "direction: Inbound, protocol: Tcp";
const OUT = "direction: Outbound, protocol: Tcp";

describe("security groups", () => {
  it("CP-A3: of two rules that match, the one with the smaller priority decides", async () => {
    const rules = [
      `name: allow, priority: 300, access: Allow, ${IN}`,
      `name: deny, priority: 200, access: Deny, ${IN}`,
    ];
    const [verdict, told] = ask(await openTestCluster(text({ subnetRules: rules })), "pod/a", "pod/c");
    expect(verdict).toBe("azure-security-rule-denied");
    expect(told.at(-1)).toBe(
      "rule 200 deny of security group of-subnet (subnet nodes, inbound) denies the flow",
    );
  });

  it("CP-A4: without rules of its own a group lets in the virtual network, and not the Internet", async () => {
    const cluster = await openTestCluster(text({ subnetRules: [], nicRules: [] }));
    const [inside, told] = ask(cluster, "node/win-1", "pod/c");
    expect(inside).toBe("answered");
    expect(told.slice(0, 5)).toEqual([
      "adapter of win-1: rule 65000 AllowVnetOutBound of of-nic allows",
      "subnet nodes: rule 65000 AllowVnetOutBound of of-subnet allows",
      "route 10.240.0.0/16 of subnet nodes (Default): VnetLocal",
      "subnet nodes: rule 65000 AllowVnetInBound of of-subnet allows",
      "adapter of win-2: rule 65000 AllowVnetInBound of of-nic allows",
    ]);
    const [outside, why] = ask(cluster, "external", "pod/c");
    expect(outside).toBe("azure-security-rule-denied");
    expect(why).toEqual([
      "rule 65500 DenyAllInBound of security group of-subnet (subnet nodes, inbound) denies the flow",
    ]);
  });

  it("CP-A4: both levels let packets out to the Internet", async () => {
    const cluster = await openTestCluster(text({ subnetRules: [], nicRules: [] }));
    const { report } = tracePacket(cluster, { from: "pod/a", to: "external", protocol: "tcp", port: 80 });
    expect(report.verdict).toBe("answered");
    const told = report.forward?.steps.filter(({ node }) => node === "fabric").map((step) => step.text);
    expect(told?.slice(0, 3)).toEqual([
      "adapter of win-1: rule 65001 AllowInternetOutBound of of-nic allows",
      "subnet nodes: rule 65001 AllowInternetOutBound of of-subnet allows",
      "route 0.0.0.0/0 of subnet nodes (Default): Internet",
    ]);
  });

  it.each([
    ["inbound", IN, "rule 100 stop of security group of-subnet (subnet nodes, inbound) denies the flow"],
    ["outbound", OUT, "rule 100 stop of security group of-nic (adapter of win-1, outbound) denies the flow"],
  ])("CP-A5: %s, one level allows and the other denies", async (_, direction, denied) => {
    const stop = [`name: stop, priority: 100, access: Deny, ${direction}`];
    const go = [`name: go, priority: 100, access: Allow, ${direction}`];
    const atNic = direction === OUT;
    const given = atNic ? { subnetRules: go, nicRules: stop } : { subnetRules: stop, nicRules: go };
    const [verdict, told] = ask(await openTestCluster(text(given)), "pod/a", "pod/c");
    expect(verdict).toBe("azure-security-rule-denied");
    // The level that denies is asked first, and the other one never.
    expect(told.at(-1)).toBe(denied);
    expect(told.filter((each) => each.includes("rule 100 go"))).toEqual([]);
  });

  it("CP-A6: the answer of an inbound flow passes, though the receiver may send nothing by itself", async () => {
    const silent = `name: silent, priority: 100, access: Deny, ${OUT}, source: [10.240.2.10]`;
    const cluster = await openTestCluster(text({ subnetRules: [silent] }));
    const [verdict, told] = ask(cluster, "pod/a", "pod/c");
    expect(verdict).toBe("answered");
    expect(told).toContain("win-2: outbound packet of a flow that was allowed");
    expect(ask(cluster, "pod/c", "pod/a")[0]).toBe("azure-security-rule-denied");
  });

  it("CP-A8: a prefix of a user-defined route is part of the tag VirtualNetwork", async () => {
    const routes = [
      "name: win-1, to: 10.244.1.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.4",
      "name: win-2, to: 10.244.2.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.5",
    ];
    const given = { hasOwnRanges: true, forwards: true, subnetRules: [] };
    expect(ask(await openTestCluster(text({ ...given, routes })), "pod/a", "pod/c")[0]).toBe("answered");
    const [verdict, told] = ask(await openTestCluster(text(given)), "pod/a", "pod/c");
    expect(verdict).toBe("azure-security-rule-denied");
    expect(told.at(-1)).toContain("rule 65500 DenyAllOutBound of security group of-subnet");
  });
});

describe("service tags", () => {
  const deny = (destination: string): string =>
    `name: stop, priority: 100, access: Deny, ${OUT}, destination: [${destination}]`;

  it("of a service stand for the ranges that the file gives them", async () => {
    const serviceTag = "name: Storage.WestEurope, ranges: [203.0.113.0/24]";
    const rules = [deny("Storage.WestEurope")];
    const cluster = await openTestCluster(text({ serviceTag, subnetRules: rules }));
    const [verdict, told] = ask(cluster, "pod/a", "external");
    expect(verdict).toBe("azure-security-rule-denied");
    expect(told.at(-1)).toBe(
      "rule 100 stop of security group of-subnet (subnet nodes, outbound) denies the flow",
    );
    expect(ask(cluster, "pod/a", "pod/c")[0]).toBe("answered");
    const other = serviceTag.replace("203.0.113.0/24", "198.51.100.0/24");
    const elsewhere = await openTestCluster(text({ serviceTag: other, subnetRules: rules }));
    expect(ask(elsewhere, "pod/a", "external")[0]).not.toBe("azure-security-rule-denied");
  });

  it.each([
    ["AzurePlatformDNS", "168.63.129.16"],
    ["AzurePlatformIMDS", "169.254.169.254"],
  ])("of the platform: no rule reaches it but one of %s", async (tag, address) => {
    const told = async (destination: string): Promise<string> =>
      ask(await openTestCluster(text({ subnetRules: [deny(destination)] })), "node/win-1", address)[0];
    expect(await told(`"*"`)).not.toBe("azure-security-rule-denied");
    expect(await told(`${address}/32`)).not.toBe("azure-security-rule-denied");
    expect(await told(tag)).toBe("azure-security-rule-denied");
    const twin = tag === "AzurePlatformDNS" ? "AzurePlatformIMDS" : "AzurePlatformDNS";
    expect(await told(twin)).not.toBe("azure-security-rule-denied");
  });
});

describe("routes", () => {
  const route = (name: string, to: string, type: string): string =>
    `name: ${name}, to: ${to}, nextHopType: ${type}`;

  it("CP-A9: of /16 VnetLocal and /24 None the longer prefix drops the packet", async () => {
    const routes = [route("all", "10.240.0.0/16", "VnetLocal"), route("hole", "10.240.2.0/24", "None")];
    const [verdict, told] = ask(await openTestCluster(text({ routes })), "pod/a", "pod/c");
    expect(verdict).toBe("azure-route-none");
    expect(told.at(-1)).toBe("route 10.240.2.0/24 hole of subnet nodes (User) has no next hop");
    expect(ask(await openTestCluster(text({ routes: routes.slice(0, 1) })), "pod/a", "pod/c")[0]).toBe(
      "answered",
    );
  });

  it("CP-A10: with one prefix a user's route wins against a learned one, and that against Azure's", async () => {
    const told = async (given: Given): Promise<string | undefined> => {
      const [, texts] = ask(await openTestCluster(text(given)), "pod/a", "203.0.113.10");
      return texts.find((each) => each.startsWith("route "));
    };
    const learned = ["0.0.0.0/0"];
    expect(await told({})).toBe("route 0.0.0.0/0 of subnet nodes (Default): Internet");
    expect(await told({ learned })).toBe(
      "route 0.0.0.0/0 of subnet nodes (VirtualNetworkGateway): VirtualNetworkGateway",
    );
    expect(await told({ learned, routes: [route("mine", "0.0.0.0/0", "Internet")] })).toBe(
      "route 0.0.0.0/0 mine of subnet nodes (User): Internet",
    );
  });

  it("CP-A11: the virtual network's own range wins against a longer learned one", async () => {
    const [verdict, told] = ask(
      await openTestCluster(text({ learned: ["10.240.2.0/24"] })),
      "pod/a",
      "pod/c",
    );
    expect(verdict).toBe("answered");
    expect(told[0]).toBe("route 10.240.0.0/16 of subnet nodes (Default): VnetLocal");
  });

  it("CP-A12: a user's longer prefix wins inside of the virtual network", async () => {
    const routes = ["name: inspect, to: 10.240.2.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.5"];
    const [verdict, told] = ask(await openTestCluster(text({ routes })), "pod/a", "pod/c");
    expect(verdict).toBe("answered");
    expect(told[0]).toBe("route 10.240.2.0/24 inspect of subnet nodes (User): VirtualAppliance 10.240.0.5");
  });

  it("CP-A13: an adapter without IP forwarding neither takes nor sends for others", async () => {
    const routes = [
      "name: win-1, to: 10.244.1.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.4",
      "name: win-2, to: 10.244.2.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.5",
    ];
    const cluster = await openTestCluster(text({ hasOwnRanges: true, routes }));
    const [sent, sender] = ask(cluster, "pod/a", "pod/c");
    expect(sent).toBe("azure-ip-forwarding-off");
    expect(sender.at(-1)).toBe("win-1 has no 10.244.1.10 and no IP forwarding");
    const [taken, receiver] = ask(cluster, "node/win-1", "pod/c");
    expect(taken).toBe("azure-ip-forwarding-off");
    expect(receiver.at(-1)).toBe("the adapter of win-2 has no IP forwarding");
  });

  it("a route to an address that nobody has ends the packet", async () => {
    const routes = ["name: gone, to: 10.240.2.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.99"];
    const [verdict, told] = ask(await openTestCluster(text({ routes })), "pod/a", "pod/c");
    expect(verdict).toBe("azure-next-hop-missing");
    expect(told.at(-1)).toBe("nobody has the next hop of route 10.240.2.0/24 gone of subnet nodes (User)");
  });

  it("two tables that send a packet in a circle do it until its TTL is over", async () => {
    const routes = ["name: loop, to: 10.244.9.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.5"];
    const given = { hasOwnRanges: true, forwards: true, routes };
    expect(ask(await openTestCluster(text(given)), "node/win-1", "10.244.9.9")[0]).toBe("ttl-expired");
  });

  it("CP-A14: a virtual network that is the reserved range has it for its own", async () => {
    const spaces = ["10.0.0.0/8"];
    const cluster = await openTestCluster(text({ spaces }));
    const routes = rulesOf(cluster).effectiveRoutes("win-1");
    const told = routes.map(({ prefix, nextHopType }) => `${formatPrefix(prefix)} ${nextHopType}`);
    expect(told).toEqual([
      "10.0.0.0/8 VnetLocal",
      "0.0.0.0/0 Internet",
      "172.16.0.0/12 None",
      "192.168.0.0/16 None",
      "100.64.0.0/10 None",
    ]);
    expect(ask(cluster, "pod/a", "10.77.0.1")[0]).toBe("no-route");
    expect(ask(await openTestCluster(text({})), "pod/a", "172.16.0.1")[0]).toBe("azure-route-none");
  });
});

describe("a packet for many", () => {
  it("CP-A16: is delivered to nobody", async () => {
    const { report } = tracePacket(await openTestCluster(text({})), {
      from: "node/win-1",
      to: "224.0.0.251",
      protocol: "udp",
      port: 5_353,
    });
    expect(report.forward?.steps.at(-1)).toMatchObject({ kind: "drop", code: "broadcast-not-delivered" });
  });
});

describe("pods of one node", () => {
  const rules = [
    `name: apart, priority: 100, access: Deny, ${IN}, source: [10.240.1.10], destination: [10.240.1.11]`,
  ];

  it("are under the rules of the fabric on an L2Tunnel network, and not on L2Bridge", async () => {
    const tunnel = await openTestCluster(text({ driver: "L2Tunnel", subnetRules: rules }));
    expect(ask(tunnel, "pod/a", "pod/b")[0]).toBe("azure-security-rule-denied");
    expect(ask(tunnel, "pod/b", "pod/a")[0]).toBe("answered");
    const bridge = await openTestCluster(text({ driver: "L2Bridge", subnetRules: rules }));
    expect(ask(bridge, "pod/a", "pod/b")).toEqual(["answered", []]);
  });
});

describe("flows", () => {
  it("CP-A7: live on when the rule goes that let them in; new ones do not begin", async () => {
    // The node asks, whose address is not translated.
    const rule = (access: string, priority: number): string =>
      `name: ${access}, priority: ${priority}, access: ${access}, direction: Inbound, destination: [10.240.2.10]`;
    const cluster = await openTestCluster(text({ subnetRules: [rule("Allow", 100), rule("Deny", 200)] }));
    const sender = findTraceEnd(cluster, "node/win-1").compartment!;
    const { ip: destination } = findTraceEnd(cluster, "pod/c");
    const heard: number[] = [];
    /** One datagram from that port to the pod, which answers; an answer adds the port to `heard`. */
    const send = (port: number): void => {
      const owner = { udpReceived: () => void heard.push(port), udpFailed: () => undefined };
      const socket = sender.udp.bind({ owner, port });
      if (typeof socket === "string") throw new Error(socket);
      socket.send({ destination, port: 9_000, bytes: new Uint8Array(1) });
      cluster.clock.runUntil(cluster.clock.nowMs + 1_000);
      socket.close();
    };
    send(5_000);
    const [subnet] = cluster.file.underlay.azure?.subnets ?? [];
    const rules = subnet?.securityGroup?.rules.filter(({ access }) => access === "Deny") ?? [];
    rulesOf(cluster).setSecurityGroup("nodes", { name: "of-subnet", rules });
    send(5_000);
    send(5_001);
    expect(heard).toEqual([5_000, 5_000]);
  });
});

describe("routes of the cloud provider", () => {
  const CLOUD: Given = { hasOwnRanges: true, forwards: true, subnetRules: [], networkRoutes: "cloud" };
  const userRoutes = (cluster: Cluster): readonly string[] =>
    rulesOf(cluster)
      .effectiveRoutes("win-1")
      .filter(({ source }) => source === "User")
      .map(({ name = "", prefix, nextHop }) => `${name} ${formatPrefix(prefix)} ${formatIp(nextHop!)}`);
  const BOTH = ["win-1 10.244.1.0/24 10.240.0.4", "win-2 10.244.2.0/24 10.240.0.5"];

  it("lead to the pods of each node, and nothing else does", async () => {
    const cluster = await openTestCluster(text(CLOUD));
    expect(userRoutes(cluster)).toEqual(BOTH);
    expect(ask(cluster, "pod/a", "pod/c")[0]).toBe("answered");
    const without = await openTestCluster(text({ ...CLOUD, networkRoutes: "none" }));
    expect(ask(without, "pod/a", "pod/c")[0]).toBe("azure-security-rule-denied");
  });

  it("lead to the pods of a Linux node, too, which reaches the others by its subnet's gateway alone", async () => {
    const cluster = await openTestCluster(text({ ...CLOUD, hasLinuxNode: true }));
    expect(userRoutes(cluster)).toEqual(BOTH);
    const [there, told] = ask(cluster, "pod/a", "pod/c");
    expect(there).toBe("answered");
    expect(told).toContain("route 10.244.2.0/24 win-2 of subnet nodes (User): VirtualAppliance 10.240.0.5");
    const routes = cluster.nodes[1]!.host.root.listRoutes().map(({ prefix }) => formatPrefix(prefix));
    expect(routes).not.toContain("10.244.1.0/24");
    const { report } = tracePacket(cluster, { from: "pod/c", to: "pod/a", protocol: "tcp", port: 8_080 });
    expect(report.verdict).toBe("answered");
    const without = { ...CLOUD, hasLinuxNode: true, networkRoutes: "none" } as const;
    expect(ask(await openTestCluster(text(without)), "pod/a", "pod/c")[0]).toBe("azure-security-rule-denied");
  });

  it("of flannel's host-gw are two: flanneld leads in the nodes, the controller in the cloud, and both are needed", async () => {
    const flannel = (routes: string): string =>
      text({ ...CLOUD, hasLinuxNode: true })
        .replace("plugin: win-bridge", "plugin: flannel\n  backend: host-gw")
        .replace(/  routes: cloud\n/, routes)
        .replaceAll(/, address: 10\.244[.0-9]+/g, "");
    const { cluster } = (await openSessionWorld(flannel("  routes: cloud\n"))).session;
    expect(userRoutes(cluster)).toEqual(BOTH);
    const routes = cluster.nodes[0]!.host.root.listRoutes();
    expect(routes.map(({ prefix, nextHop }) => `${formatPrefix(prefix)} ${nextHop}`)).toContain(
      `10.244.2.0/24 ${cluster.nodes[1]!.spec.address}`,
    );
    const [there, told] = ask(cluster, "pod/a", "pod/c");
    expect(there).toBe("answered");
    expect(told).toContain("route 10.244.2.0/24 win-2 of subnet nodes (User): VirtualAppliance 10.240.0.5");
    // The gateway's MAC is Azure's for every address: where a route of a node leads does not count outside of it.
    const without = await openSessionWorld(flannel(""));
    expect(ask(without.session.cluster, "pod/a", "pod/c")[0]).toBe("azure-security-rule-denied");
  });

  it("are not written while Azure throttles, for an hour: told of the nodes, nothing led wrongly, and then they are", async () => {
    const { subnetRules: _, ...open } = CLOUD;
    const world = await openSessionWorld(text({ ...open, throttledSeconds: 3_600 }));
    const { cluster } = world.session;
    const troubles = world.session.troubles().filter(({ code }) => code === "route-api-throttled");
    expect(troubles.map(({ reference }) => reference)).toEqual(["node/win-1", "node/win-2"]);
    expect(troubles[0]?.text).toMatch(/too many requests \(429\), to be tried again after 3[0-9]{3} s/);
    expect(ask(cluster, "pod/a", "pod/c")[0]).toBe("no-route");
    await world.session.passTime(1_800_000);
    expect(userRoutes(cluster)).toEqual([]);
    await world.session.passTime(1_900_000);
    expect(userRoutes(cluster)).toEqual(BOTH);
    expect(ask(cluster, "pod/a", "pod/c")[0]).toBe("answered");
    expect(world.session.troubles()).toEqual([]);
  });

  it("CP-R9 do not lead to a node whose Node has no podCIDR, without an Event, and its pods are not reached", async () => {
    const { subnetRules: _, ...open } = CLOUD;
    const world = await openSessionWorld(text({ ...open, isAllocated: false }));
    const { cluster } = world.session;
    expect(userRoutes(cluster)).toEqual(BOTH.slice(0, 1));
    const troubles = world.session.troubles().map(({ reference, code }) => `${reference} ${code}`);
    expect(troubles).toEqual(["node/win-2 node-without-pod-cidr"]);
    const node = world.session.listObjects("Node").find(({ metadata }) => metadata.name === "win-2");
    expect(JSON.stringify(node)).not.toContain("NetworkUnavailable");
    expect(ask(cluster, "pod/a", "pod/c")[0]).toBe("no-route");
    expect(ask(cluster, "pod/a", "node/win-2")[0]).not.toBe("no-route");
  });

  it("are a minute old before they are there, and go with their Node", async () => {
    const world = await openSessionWorld(text(CLOUD));
    const { cluster } = world.session;
    expect(userRoutes(cluster)).toEqual(BOTH);
    // The controller looks every ten seconds; Azure's writes are 30 seconds apart, and the table is read again after 120.
    expect(cluster.clock.nowMs).toBeGreaterThanOrEqual(30_000);
    await remove(world, "node/win-2");
    await world.session.passTime(10_000);
    await world.session.passTime(180_000);
    expect(userRoutes(cluster)).toEqual(BOTH.slice(0, 1));
    expect(world.session.troubles().filter(({ reference }) => reference === "node/win-2")).not.toEqual([]);
  });

  it("a hand-made one inside of the cluster's range goes, one outside of it stays", async () => {
    const routes = [
      "name: mine, to: 10.244.9.0/24, nextHopType: None",
      "name: theirs, to: 10.9.0.0/24, nextHopType: VirtualAppliance, nextHop: 10.240.0.5",
    ];
    const world = await openSessionWorld(text({ ...CLOUD, routes }));
    await world.session.passTime(180_000);
    expect(userRoutes(world.session.cluster).toSorted()).toEqual(["theirs 10.9.0.0/24 10.240.0.5", ...BOTH]);
  });

  it("that do not fit into the table are told of their nodes, and packets show it", async () => {
    const routes = Array.from(
      { length: 399 },
      (_, index) => `name: r${index}, to: 10.${100 + (index >> 8)}.${index & 255}.0/24, nextHopType: None`,
    );
    const { subnetRules: _, ...open } = CLOUD;
    const { session } = await openSessionWorld(text({ ...open, routes }));
    const troubles = session.troubles().filter(({ code }) => code === "route-table-full");
    expect(troubles.map(({ reference }) => reference)).toEqual(["node/win-1", "node/win-2"]);
    expect(ask(session.cluster, "pod/a", "pod/c")[0]).toBe("no-route");
  });
});

function rulesOf(cluster: Cluster): VirtualNetwork {
  return (cluster.underlay.physicalHost as unknown as { readonly rules: VirtualNetwork }).rules;
}
