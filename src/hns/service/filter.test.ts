/** Filters of queries: hcn.md §5.1, and what §11.10 leaves open. */
import { describe, expect, it } from "vitest";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { addNamespaceEndpoint, createNamespace } from "#contracts/hcn/operations.ts";
import { type FaultyNode, faultyNode } from "#test/support/hns/faulty-node.ts";

async function found(node: FaultyNode, kind: HcnObjectKind, filter: JsonObject): Promise<number> {
  const query = { SchemaVersion: { Major: 2, Minor: 0 }, Filter: JSON.stringify(filter) };
  return (await node.client.enumerate(kind, query)).length;
}

describe("the documented keys", () => {
  it.each<[HcnObjectKind, (node: FaultyNode) => JsonObject, number]>([
    ["Network", ({ network }) => ({ ID: network }), 1],
    ["Network", ({ network }) => ({ ID: network.toUpperCase() }), 1],
    ["Network", () => ({ Name: "cbr0" }), 1],
    ["Network", () => ({ Name: "CBR0" }), 0],
    ["Network", () => ({ Type: "L2Bridge" }), 1],
    ["Network", () => ({ Flags: 0 }), 1],
    ["Network", () => ({ Flags: 8 }), 0],
    ["Endpoint", ({ endpoints }) => ({ ID: endpoints[1] }), 1],
    ["Endpoint", () => ({ Name: "pod-10" }), 1],
    ["Endpoint", ({ network }) => ({ VirtualNetwork: network }), 2],
    ["Endpoint", ({ network }) => ({ HostComputeNetwork: network.toUpperCase() }), 2],
    ["Endpoint", () => ({ VirtualNetworkName: "cbr0" }), 2],
    ["Endpoint", () => ({ State: 1 }), 2],
    ["Endpoint", () => ({ State: 3 }), 0],
    ["Endpoint", () => ({ VirtualMachine: "641313e1-7ae8-4ddb-94e5-3215f3a0b218" }), 0],
    ["LoadBalancer", ({ network }) => ({ HostComputeNetwork: network }), 1],
    ["LoadBalancer", () => ({ State: 2 }), 1],
    ["Namespace", () => ({ Type: "HostDefault" }), 1],
    ["Namespace", () => ({ IsDefault: true }), 1],
  ])("%s %s: %d", async (kind, filter, count) => {
    const node = await faultyNode();
    await node.balance(80);
    expect(await found(node, kind, filter(node))).toBe(count);
  });

  it("State follows the endpoint: 2 and 3 where a container has it, 1 in a namespace without any", async () => {
    const node = await faultyNode();
    const namespace = (await createNamespace(node.client)).ID ?? "";
    await addNamespaceEndpoint(node.client, namespace, node.endpoints[0] ?? "");
    expect(await found(node, "Endpoint", { HostComputeNamespace: namespace })).toBe(1);
    expect(await found(node, "Endpoint", { State: 1 })).toBe(2);
  });
});

describe("what §11.10 leaves open", () => {
  it.each<[string, (node: FaultyNode) => JsonObject, number]>([
    ["several keys all hold", ({ network }) => ({ VirtualNetwork: network, Name: "pod-10" }), 1],
    ["one that does not hold excludes", ({ network }) => ({ VirtualNetwork: network, Name: "pod-12" }), 0],
    ["an unknown key matches nothing", () => ({ Colour: "blue" }), 0],
    ["an unknown key beside a known one matches nothing", () => ({ Name: "pod-10", Colour: "blue" }), 0],
    ["a key that every object inherits is unknown", () => ({ constructor: {} }), 0],
    ["an address cannot be searched for in a list", () => ({ IpConfigurations: "10.244.2.10" }), 0],
    ["nor in part of its objects", () => ({ IpConfigurations: [{ IpAddress: "10.244.2.10" }] }), 0],
    ["a number is not text", () => ({ State: "1" }), 0],
    ["a value of another type matches nothing", () => ({ Name: ["pod-10"] }), 0],
    ["null asks for a value that is null", () => ({ Name: null }), 0],
    ["an empty filter matches all", () => ({}), 2],
  ])("%s", async (_what, filter, count) => {
    const node = await faultyNode();
    expect(await found(node, "Endpoint", filter(node))).toBe(count);
  });

  it.each([
    [8, 8, 1],
    [9, 8, 0],
    [9, 1, 0],
    [9, 9, 1],
  ])("flags %d, filter %d: %d; a filter on flags is no mask", async (flags, wanted, count) => {
    const node = await faultyNode();
    await node.client.create("Network", {
      Name: "nat",
      Type: "NAT",
      Flags: flags,
      SchemaVersion: { Major: 2, Minor: 0 },
    });
    expect(await found(node, "Network", { Flags: wanted })).toBe(count);
  });

  it.each(["{", "[]", '"Name"', "7", "null"])("the filter %s is no JSON object", async (Filter) => {
    const { client } = await faultyNode();
    await expect(client.enumerate("Endpoint", { Filter })).rejects.toMatchObject({
      code: "HCN_E_INVALID_JSON",
    });
  });

  it.each([undefined, "", "{}"])("the filter %j is everything", async (Filter) => {
    const { client } = await faultyNode();
    expect(await client.enumerate("Endpoint", Filter === undefined ? {} : { Filter })).toHaveLength(2);
  });
});
