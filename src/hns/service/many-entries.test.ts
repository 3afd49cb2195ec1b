// One request may name thousands of entries of an object that has as many: it costs what they cost, and holds no other one.
import { beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { createEndpoint, createNetwork, getEndpointById, getNetworkById } from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const POLICIES = 3_000;
const OTHERS = 10_000;
/** Ten times what each takes; looking at each pair of policies takes ten seconds. */
const SECONDS_MAX = 1;

let node: HnsNode;
let networkId: Guid;
beforeEach(async () => {
  node = hnsNode();
  networkId = (await createNetwork(node.client, CBR0)).ID;
});

const listOf = (length: number, item: (index: number) => JsonObject): readonly JsonObject[] =>
  Array.from({ length }, (_, index) => item(index));

function prefixOf(index: number, length: number): string {
  return `20.${index >> 8}.${index & 255}.0/${length}`;
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Adds all, removes all but the first in another order. @returns the seconds of the processor that both take. */
async function addAndRemove(
  kind: "Network" | "Endpoint",
  id: Guid,
  resource: string,
  settings: (entries: readonly JsonObject[]) => JsonObject,
  entries: readonly JsonObject[],
): Promise<number> {
  const change = (request: string, some: readonly JsonObject[]): Promise<void> =>
    node.client.modify(kind, id, {
      RequestType: request,
      ResourceType: resource,
      Settings: settings(some),
    });
  return secondsOf(async () => {
    await change("Add", entries);
    await change("Remove", entries.slice(1).toReversed());
  });
}

const inPolicies = (Policies: readonly JsonObject[]): JsonObject => ({ Policies });

describe("thousands of entries that come and go cost what they are", () => {
  it.each<[type: string, settings: (index: number) => JsonObject]>([
    [
      "ACL",
      (index) => ({
        Action: "Allow",
        Direction: "In",
        RuleType: "Switch",
        LocalPorts: `${index + 1}`,
        Priority: index + 1,
      }),
    ],
    ["PortMapping", (index) => ({ Protocol: 6, InternalPort: 80, ExternalPort: index + 1 })],
    ["SDNRoute", (index) => ({ DestinationPrefix: prefixOf(index, 24), NeedEncap: true })],
  ])("policies of an endpoint: %s", async (Type, settings) => {
    const { ID } = await createEndpoint(node.client, networkId, { Name: "web" });
    const entries = listOf(POLICIES, (index) => ({ Type, Settings: settings(index) }));
    expect(await addAndRemove("Endpoint", ID, "Policy", inPolicies, entries)).toBeLessThan(SECONDS_MAX);
    const { Policies = [] } = await getEndpointById(node.client, ID);
    const left = Policies.filter((policy) => policy.Type === Type);
    expect(left).toHaveLength(1);
    expect(left[0]).toMatchObject({ Settings: settings(0) });
  });

  it("address sets of a network", async () => {
    const entries = listOf(OTHERS, (index) => ({
      Type: "SetPolicy",
      Settings: { Id: `set-${index}`, Name: `set-${index}`, PolicyType: "IPSET", Values: "10.0.0.1" },
    }));
    expect(await addAndRemove("Network", networkId, "Policy", inPolicies, entries)).toBeLessThan(SECONDS_MAX);
    const { Policies = [] } = await getNetworkById(node.client, networkId);
    expect(Policies.filter(({ Type }) => Type === "SetPolicy")).toMatchObject([
      { Settings: { Id: "set-0" } },
    ]);
  });

  it("subnets of a network", async () => {
    const entries = listOf(OTHERS, (index) => ({ IpAddressPrefix: prefixOf(index, 24) }));
    const inSubnets = (Subnets: readonly JsonObject[]): JsonObject => ({ Subnets });
    expect(await addAndRemove("Network", networkId, "Subnet", inSubnets, entries)).toBeLessThan(SECONDS_MAX);
    const { Subnets = [] } = (await getNetworkById(node.client, networkId)).Ipams?.[0] ?? {};
    expect(Subnets.map(({ IpAddressPrefix }) => IpAddressPrefix)).toEqual(["10.244.2.0/24", "20.0.0.0/24"]);
  });

  it("blocks of a subnet; one that shares addresses with the last is still refused", async () => {
    const wide = { IpAddressPrefix: "20.0.0.0/8", IpSubnets: [{ IpAddressPrefix: "20.255.0.0/16" }] };
    const Routes = [{ NextHop: "20.0.0.1", DestinationPrefix: "0.0.0.0/0" }];
    const Ipams = [{ Type: "Static", Subnets: [{ ...wide, Routes }] } as const];
    node = hnsNode();
    const made = await createNetwork(node.client, { ...CBR0, Ipams });
    const SubnetId = made.Ipams?.[0]?.Subnets?.[0]?.ID ?? "";
    const inBlocks = (IpSubnets: readonly JsonObject[]): JsonObject => ({ SubnetId, IpSubnets });
    const entries = listOf(OTHERS, (index) => ({ IpAddressPrefix: prefixOf(index, 24) }));
    expect(await addAndRemove("Network", made.ID, "IPSubnet", inBlocks, entries)).toBeLessThan(SECONDS_MAX);
    const blocks = (await getNetworkById(node.client, made.ID)).Ipams?.[0]?.Subnets?.[0]?.IpSubnets ?? [];
    expect(blocks.map(({ IpAddressPrefix }) => IpAddressPrefix)).toEqual(["20.255.0.0/16", "20.0.0.0/24"]);
    const twice = [...entries.slice(1, 20), { IpAddressPrefix: "20.0.19.128/25" }];
    const add = { RequestType: "Add", ResourceType: "IPSubnet", Settings: inBlocks(twice) };
    await expect(node.client.modify("Network", made.ID, add)).rejects.toMatchObject({
      code: "HCN_E_INVALID_IP_SUBNET",
      detail: "IpSubnets[19] 20.0.19.128/25 overlaps the block 20.0.19.0/24",
    });
  });
});
