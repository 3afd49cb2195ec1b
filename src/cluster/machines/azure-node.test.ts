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
  return (await inventoryEndpoints(session.cluster)).flatMap(({ object }) => object.Name ?? []);
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
