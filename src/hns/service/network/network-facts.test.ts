/** What appears some time after a network was made (hcn.md §4.1, §9.5). */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { HostComputeNetwork, NetworkType } from "#contracts/hcn/documents/network.ts";
import { createNetwork, getNetworkById, modifyNetworkPolicies } from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const DELAY_MS = 2_000;

function slowNode(): HnsNode {
  return hnsNode({ networking: { addressDelayMs: DELAY_MS } });
}

/** The request of hcn.md §9.5. */
const FLANNEL = {
  Name: "flannel.4096",
  Type: "Overlay",
  Flags: 8,
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.42.6.0/24",
          Routes: [{ NextHop: "10.42.6.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
        },
      ],
    },
  ],
  Policies: [
    { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
    { Type: "VxlanPort", Settings: { Port: 4789 } },
  ],
} as const satisfies HostComputeNetwork;

async function v1(node: HnsNode, id: string): Promise<JsonObject> {
  return (await node.client.call("GET", `/networks/${id}`, ""))["Output"] as JsonObject;
}

function typesOf(network: HostComputeNetwork): readonly string[] {
  return (network.Policies ?? []).map((policy) => policy.Type);
}

describe("the late fields", () => {
  it("of hcn.md §9.5 stand behind the adapter's name", async () => {
    const node = slowNode();
    const network = await createNetwork(node.client, FLANNEL);
    expect(typesOf(network)).toEqual(["NetAdapterName", "VxlanPort"]);
    node.clock.runUntil(DELAY_MS - 1);
    expect(await getNetworkById(node.client, network.ID)).toEqual(network);
    node.clock.runUntil(DELAY_MS);
    const later = await getNetworkById(node.client, network.ID);
    expect(typesOf(later)).toEqual(["NetAdapterName", "ProviderAddress", "DrMacAddress", "VxlanPort"]);
  });

  it.each<[NetworkType, readonly string[]]>([
    ["L2Bridge", ["DrMacAddress", "ManagementIP"]],
    ["L2Tunnel", ["DrMacAddress", "ManagementIP"]],
    ["Overlay", ["DrMacAddress", "ManagementIP"]],
    ["Transparent", ["ManagementIP"]],
    ["NAT", []],
    ["Internal", []],
    ["Private", []],
  ])("of a network of type %s in v1: %j", async (Type, fields) => {
    const node = slowNode();
    const { ID } = await createNetwork(node.client, { ...FLANNEL, Type, Policies: [] });
    const before = Object.keys(await v1(node, ID));
    node.clock.runUntil(DELAY_MS);
    const after = Object.keys(await v1(node, ID));
    expect(after.filter((field) => !before.includes(field))).toEqual(fields);
  });

  it("that a request names are there at once, and are not repeated", async () => {
    const node = slowNode();
    const given = [
      { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.2.15" } },
      { Type: "DrMacAddress", Settings: { Address: "00-15-5D-0C-3E-8F" } },
    ];
    const { ID } = await createNetwork(node.client, { ...FLANNEL, Policies: given });
    node.clock.runUntil(DELAY_MS);
    const { Policies } = await getNetworkById(node.client, ID);
    expect(Policies?.slice(0, 2)).toEqual(given);
    expect(Policies).toHaveLength(3);
    expect(await v1(node, ID)).toMatchObject({ DrMacAddress: "00-15-5D-0C-3E-8F" });
  });

  it("of a network that joins a switch come with those of the switch", async () => {
    const node = slowNode();
    await createNetwork(node.client, FLANNEL);
    node.clock.runUntil(1_500);
    const second = await createNetwork(node.client, { ...FLANNEL, Name: "second" });
    expect(typesOf(second)).not.toContain("ProviderAddress");
    node.clock.runUntil(DELAY_MS);
    expect(typesOf(await getNetworkById(node.client, second.ID))).toContain("ProviderAddress");
    const third = await createNetwork(node.client, { ...FLANNEL, Name: "third" });
    expect(typesOf(third)).toContain("ProviderAddress");
  });

  it("are no policies of the network: an Update of others leaves them where they are", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, FLANNEL);
    const port = { Type: "VxlanPort", Settings: { Port: 4790 } };
    const after = await modifyNetworkPolicies(node.client, ID, "Update", [port]);
    expect(typesOf(after)).toEqual(["NetAdapterName", "ProviderAddress", "DrMacAddress", "VxlanPort"]);
  });
});

describe("the moment at which they come", () => {
  it("raises the revision once: equal numbers mean equal objects", async () => {
    const node = slowNode();
    const { ID } = await createNetwork(node.client, CBR0);
    const made = node.service.revision;
    expect(node.service.nextMomentMs).toBe(DELAY_MS);
    node.clock.runUntil(DELAY_MS - 1);
    expect(node.service.revision).toBe(made);
    node.clock.runUntil(DELAY_MS);
    expect(node.service.revision).toBe(made + 1);
    expect(node.service.nextMomentMs).toBeUndefined();
    node.clock.runUntil(10 * DELAY_MS);
    expect(node.service.revision).toBe(made + 1);
    expect(await v1(node, ID)).toMatchObject({ ManagementIP: "10.0.2.15" });
  });

  it("comes in a fork of the world as in the world", async () => {
    const world = slowNode();
    const { ID } = await createNetwork(world.client, FLANNEL);
    const { service, clock } = fork({ service: world.service, clock: world.clock });
    clock.runUntil(DELAY_MS);
    const query = { SchemaVersion: { Major: 2, Minor: 0 } };
    expect(service.query("Network", ID, query)["Policies"]).toHaveLength(4);
    expect(world.service.query("Network", ID, query)["Policies"]).toHaveLength(2);
  });

  it("lies behind a service that was restored", async () => {
    const before = slowNode();
    const { ID } = await createNetwork(before.client, FLANNEL);
    before.clock.runUntil(DELAY_MS);
    const shown = await getNetworkById(before.client, ID);
    const after = hnsNode({ seed: 2, networking: { addressDelayMs: DELAY_MS } });
    after.clock.runUntil(DELAY_MS);
    expect(after.service.restore(before.service.export())).toEqual([]);
    expect(await getNetworkById(after.client, ID)).toEqual(shown);
  });
});
