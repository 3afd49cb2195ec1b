/** Networks that stand on one switch (hcn.md §4.1; the start scripts' network External). */
import { describe, expect, it } from "vitest";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { createNetwork, getNetworkById } from "#contracts/hcn/operations.ts";
import { type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const TWO_CARDS = [
  { name: "Ethernet", address: "192.168.56.11/24", mac: "00-22-48-01-02-03" },
  { name: "Ethernet 2", address: "10.0.0.11/24", mac: "00-22-48-01-02-04" },
] as const;

function overlay(Name: string, subnet: string, IsolationId: number, adapter?: string): HostComputeNetwork {
  const NextHop = subnet.replace(/\.0\/.*$/, ".1");
  return {
    Name,
    Type: "Overlay",
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: subnet,
            Routes: [{ NextHop, DestinationPrefix: "0.0.0.0/0" }],
            Policies: [{ Type: "VSID", Settings: { IsolationId } }],
          },
        ],
      },
    ],
    ...(adapter !== undefined && {
      Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: adapter } }],
    }),
  };
}

async function made(node: HnsNode, network: HostComputeNetwork): Promise<Readonly<Record<string, unknown>>> {
  const { ID } = await createNetwork(node.client, network);
  const { Policies = [] } = await getNetworkById(node.client, ID);
  const setting = (type: string, field: string): unknown =>
    Policies.find(({ Type }) => Type === type)?.Settings?.[field];
  return {
    adapter: setting("NetAdapterName", "NetworkAdapterName"),
    address: setting("ProviderAddress", "ProviderAddress"),
    router: setting("DrMacAddress", "Address"),
  };
}

describe("a network that names no adapter", () => {
  it("takes the first one on a bare node", async () => {
    const node = hnsNode({ adapters: TWO_CARDS });
    expect(await made(node, overlay("vxlan0", "10.244.1.0/24", 4096))).toMatchObject({
      adapter: "Ethernet",
      address: "192.168.56.11",
    });
  });

  it("joins the switch of External, wherever that stands, and has the MAC of its router", async () => {
    const node = hnsNode({ adapters: TWO_CARDS });
    const external = await made(node, overlay("External", "192.168.255.0/30", 9999, "Ethernet 2"));
    const flannel = await made(node, overlay("vxlan0", "10.244.1.0/24", 4096));
    expect(flannel).toEqual(external);
    expect(flannel).toMatchObject({ adapter: "Ethernet 2", address: "10.0.0.11" });
  });

  it("has another router on the switch of another adapter", async () => {
    const node = hnsNode({ adapters: TWO_CARDS });
    const one = await made(node, overlay("one", "10.244.1.0/24", 4096, "Ethernet"));
    const other = await made(node, overlay("other", "10.244.2.0/24", 4097, "Ethernet 2"));
    expect(other["router"]).not.toBe(one["router"]);
  });
});
