// Nodes of Azure in a cluster: azure-vnet adopts the L2Tunnel network and gives pods addresses of the node's adapter.
import { describe, expect, it } from "vitest";
import { inventoryEndpoints, inventoryNetworks } from "../views/inventory.ts";
import {
  type SessionWorld,
  apply,
  ask,
  deployment,
  openSessionWorld,
  podOf,
  podsOf,
  remove,
} from "#test/support/cluster/session-world.ts";

function text(network: string): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: test }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.240.0.4, podCIDR: 10.240.1.0/28 }
  - { name: win-2, os: windows, build: ws2025, address: 10.240.0.5, podCIDR: 10.240.2.0/28, compat: hardened }
underlay: { subnet: 10.240.0.0/16 }
network:
${network}
`;
}

const FIXED = `
pods:
  - { name: fixed, node: win-1, address: 10.240.1.7 }
`;

const ON_TUNNEL = "  { plugin: azure-vnet, driver: L2Tunnel, name: azure }";
const ON_BRIDGE = "  { plugin: azure-vnet, driver: L2Bridge, shape: node-subnet, name: azure }";
const WITH_CNS = `
  plugin: azure-vnet
  driver: L2Tunnel
  name: azure
  cni:
    conflist:
      cniVersion: "1.0.0"
      name: azure
      plugins:
        - type: azure-vnet
          executionMode: v4swift
          capabilities: { portMappings: true, dns: true }
          ipam: { type: azure-cns }
          windowsSettings: { hnsTimeoutDurationInSeconds: 120 }`;

async function endpointNames({ session }: SessionWorld): Promise<readonly string[]> {
  // Endpoints of kube-proxy, for the API server and for pods elsewhere, are remote ones.
  return (await inventoryEndpoints(session.cluster)).flatMap(({ object: { Name, Flags = 0 } }) =>
    Name === undefined || (Flags & 1) === 1 ? [] : [Name],
  );
}

describe.each([
  ["L2Tunnel", ON_TUNNEL],
  ["L2Bridge", ON_BRIDGE],
  ["L2Tunnel with CNS", WITH_CNS],
])("azure-vnet on %s", (driver, network) => {
  it("CNI-145 takes the network that is there; pods reach each other, and are gone without a trace", async () => {
    const world = await openSessionWorld(text(network), deployment("web", "windows", 6));
    const types = (await inventoryNetworks(world.session.cluster)).map(({ object }) => object.Type);
    expect(types).toEqual([driver, driver].map((each) => each.split(" ")[0]));
    const pods = podsOf(world, "web");
    const addresses = pods.map(({ status }) => status?.podIP ?? "");
    expect(addresses.toSorted()).toEqual([
      "10.240.1.3",
      "10.240.1.4",
      "10.240.1.5",
      "10.240.2.3",
      "10.240.2.4",
      "10.240.2.5",
    ]);
    expect((await endpointNames(world)).every((name) => /^[0-9a-f]{8}-eth0$/.test(name))).toBe(true);
    const [from, to] = [podOf(world, "web", "win-1"), podOf(world, "web", "win-2")];
    expect(ask(world, from, to, { port: 8080 })).toMatch(/^web saw 10\.240\.1\./);
    await remove(world, "deployment/web");
    expect(await endpointNames(world)).toEqual([]);
    await apply(world, deployment("again", "windows", 20));
    // Twelve addresses on each node.
    const running = podsOf(world, "again").filter(({ status }) => status?.podIP !== undefined);
    expect(running.length).toBe(20);
  });
});

it("a pod has the address that the file gives it; CNS cannot be told, and the pod stays without", async () => {
  for (const network of [ON_TUNNEL, ON_BRIDGE]) {
    const world = await openSessionWorld(text(network) + FIXED);
    expect(podsOf(world, "fixed")[0]?.status?.podIP).toBe("10.240.1.7");
  }
  const world = await openSessionWorld(text(WITH_CNS) + FIXED);
  expect(JSON.stringify(world.begun)).toContain(
    "the plugin gave the pod 10.240.1.3, and its address in the cluster file is 10.240.1.7",
  );
  expect(await endpointNames(world)).toEqual([]);
});

/** Nodes of AKS whose pods have single addresses, or a range of their own. */
const AKS = (network: string, [win, other, linux]: readonly [string, string, string]): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: test }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.224.0.35, ${win} }
  - { name: win-2, os: windows, build: ws2025, address: 10.224.0.66, ${other} }
  - { name: linux-1, os: linux, address: 10.224.0.4, ${linux} }
underlay: { subnet: 10.224.0.0/16 }
network: { plugin: azure-vnet, name: azure, ${network} }
`;

/** A pod of a dump, with its address. */
const DUMPED = (name: string, node: string, ip: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, uid: u-${name}, labels: { app: ${name} } }
spec: { nodeName: ${node}, containers: [{ name: c, image: i, ports: [{ containerPort: 80 }] }] }
status: { phase: Running, podIP: ${ip}, podIPs: [{ ip: ${ip} }], conditions: [{ type: Ready, status: "True" }] }
---`;

describe.each([
  [
    "the nodes' subnet",
    AKS("shape: node-subnet", [
      "podAddresses: [10.224.0.36-10.224.0.65]",
      "podAddresses: [10.224.0.67-10.224.0.96, 10.224.0.30]",
      "podAddresses: [10.224.0.5-10.224.0.29]",
    ]),
    ["10.224.0.41", "10.224.0.30", "10.224.0.17"],
    // The pod's answer leaves with the node's address.
    "timed-out",
  ],
  [
    "a subnet for pods",
    AKS("shape: pod-subnet, clusterCIDR: 10.241.0.0/16", [
      "podAddresses: [10.241.0.4-10.241.0.19, 10.241.0.52-10.241.0.67]",
      "podAddresses: [10.241.0.20-10.241.0.35]",
      "podAddresses: [10.241.0.36-10.241.0.51]",
    ]),
    ["10.241.0.60", "10.241.0.21", "10.241.0.44"],
    "timed-out",
  ],
  [
    "an overlay",
    AKS("shape: own-subnet", ["podCIDR: 10.244.1.0/24", "podCIDR: 10.244.2.0/24", "podCIDR: 10.244.0.0/24"]),
    ["10.244.1.2", "10.244.2.251", "10.244.0.9"],
    "unreachable",
  ],
])("pods of AKS in %s", (_where, cluster, [first = "", second = "", third = ""], fromOutside) => {
  it("have the addresses of the dump, and reach each other, their nodes and their Service", async () => {
    const service = `
apiVersion: v1
kind: Service
metadata: { name: cart }
spec: { selector: { app: cart }, ports: [{ port: 80 }] }
---`;
    const pods =
      DUMPED("shop", "win-1", first) + DUMPED("orders", "win-2", second) + DUMPED("cart", "linux-1", third);
    const world = await openSessionWorld(cluster, pods + service);
    expect(
      podsOf(world, "").map(({ metadata, status }) => `${metadata.name} ${status?.podIP ?? ""}`),
    ).toEqual(expect.arrayContaining([`cart ${third}`, `orders ${second}`, `shop ${first}`]));
    const [shop, orders, cart] = ["pod/shop", "pod/orders", "pod/cart"] as const;
    expect(ask(world, shop, orders)).toBe(`orders saw ${first}`);
    expect(ask(world, orders, cart)).toBe(`cart saw ${second}`);
    expect(ask(world, cart, shop)).toBe(`shop saw ${third}`);
    // Without DSR load balancers of Windows answer from the node's address.
    expect(ask(world, shop, "service/cart")).toBe("cart saw 10.224.0.35");
    // kube-proxy masquerades a pod that reaches itself, with an address of its node.
    expect(ask(world, cart, "service/cart")).toMatch(/^cart saw /);
    for (const node of ["node/win-1", "node/win-2", "node/linux-1"])
      expect(ask(world, node, shop)).toMatch(/^shop saw 10\.224\.0\.(35|66|4)$/);
    expect(ask(world, shop, "external")).toBe("external saw 10.224.0.35");
    expect(ask(world, "external", shop)).toBe(fromOutside);
  });

  it("come and go beside them, with addresses that no other pod has", async () => {
    const world = await openSessionWorld(cluster, DUMPED("shop", "win-1", first));
    await apply(world, deployment("web", "windows", 6) + deployment("api", "linux", 4));
    const addresses = podsOf(world, "").flatMap(({ status }) => status?.podIP ?? []);
    expect(addresses).toHaveLength(13);
    expect(new Set(addresses).size).toBe(13);
    expect(ask(world, podOf(world, "api"), podOf(world, "web"), { port: 8080 })).toMatch(/^web saw /);
    await remove(world, "deployment/api");
    await apply(world, deployment("again", "linux", 4));
    expect(ask(world, "pod/shop", podOf(world, "again"), { port: 8080 })).toBe(`again saw ${first}`);
  });
});
