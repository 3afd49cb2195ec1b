/** Which addresses endpoints get and which nobody gets (hcn.md §4.2, §11.1). */
import { describe, expect, it } from "vitest";
import type { HostComputeNetwork, IpSubnet } from "#contracts/hcn/documents/network.ts";
import { createEndpoint, createNetwork } from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import { Prng } from "#core/base/prng.ts";
import { type AllocationOrder, chooseMac, chooseMacRange } from "./address-pool.ts";

interface Fields {
  readonly type?: HostComputeNetwork["Type"];
  readonly blocks?: readonly IpSubnet[];
  readonly flags?: number;
  readonly order?: AllocationOrder;
}

/** A node with a network of one subnet; its gateway is the first address. */
async function nodeWith(
  prefix: string,
  fields: Fields = {},
): Promise<{ node: HnsNode; id: string; take: (address?: string) => Promise<string> }> {
  const node = hnsNode({ networking: { allocationOrder: fields.order ?? "lowest-first" } });
  const gateway = prefix.replace(/(\d+)\/.*/, (_text, last: string) => String(Number(last) + 1));
  const { ID } = await createNetwork(node.client, {
    Name: "n",
    Type: fields.type ?? "L2Bridge",
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: prefix,
            Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }],
            ...(fields.blocks !== undefined && { IpSubnets: fields.blocks }),
            ...(fields.flags !== undefined && { Flags: fields.flags }),
          },
        ],
      },
    ],
  });
  const take = async (address?: string): Promise<string> => {
    const wanted = address === undefined ? {} : { IpConfigurations: [{ IpAddress: address }] };
    const endpoint = await createEndpoint(node.client, ID, wanted);
    return endpoint.IpConfigurations?.[0]?.IpAddress ?? "";
  };
  return { node, id: ID, take };
}

describe("reserved addresses", () => {
  it.each([
    ["the network address", "10.244.2.0"],
    ["the gateway", "10.244.2.1"],
    ["the broadcast address", "10.244.2.255"],
  ])("%s is refused to an endpoint that asks for it", async (_name, address) => {
    const { take } = await nodeWith("10.244.2.0/24");
    await expect(take(address)).rejects.toMatchObject({
      code: "HCN_E_ADDR_INVALID_OR_RESERVED",
      hresult: 0x803b002f,
    });
    expect(await take("10.244.2.2")).toBe("10.244.2.2");
    expect(await take("10.244.2.254")).toBe("10.244.2.254");
  });

  it("DoNotReserveGatewayAddress (1) frees the gateway", async () => {
    const { take } = await nodeWith("10.244.2.0/24", { flags: 1 });
    expect(await take("10.244.2.1")).toBe("10.244.2.1");
  });

  it("an address of the node is nobody's, even in its own subnet", async () => {
    const { take } = await nodeWith("10.0.2.0/24");
    await expect(take("10.0.2.15")).rejects.toMatchObject({ code: "HCN_E_ADDR_INVALID_OR_RESERVED" });
  });

  it.each([
    [0, "10.244.2.64", "10.244.2.127"],
    [1, "10.244.2.64", undefined],
    [2, undefined, "10.244.2.127"],
    [3, undefined, undefined],
  ])("a block with Flags %d gives out its first address %s and its last %s", async (Flags, first, last) => {
    const { take } = await nodeWith("10.244.2.0/24", {
      blocks: [{ IpAddressPrefix: "10.244.2.64/26", Flags }],
    });
    for (const [address, expected] of [
      ["10.244.2.64", first],
      ["10.244.2.127", last],
    ] as const) {
      const taken = take(address);
      if (expected === undefined)
        await expect(taken).rejects.toMatchObject({ code: "HCN_E_ADDR_INVALID_OR_RESERVED" });
      else expect(await taken).toBe(expected);
    }
  });
});

describe("the order of allocation", () => {
  it("lowest-first gives the lowest free address, also one that came back", async () => {
    const { node, id, take } = await nodeWith("10.244.2.0/24");
    expect([await take(), await take(), await take("10.244.2.5"), await take(), await take()]).toEqual([
      "10.244.2.2",
      "10.244.2.3",
      "10.244.2.5",
      "10.244.2.4",
      "10.244.2.6",
    ]);
    const [endpoint] = await node.client.enumerate("Endpoint");
    await node.client.delete("Endpoint", endpoint!);
    expect(await take()).toBe("10.244.2.2");
    expect(await take()).toBe("10.244.2.7");
    expect(id).not.toBe("");
  });

  it("random scatters, and equal seeds give equal addresses", async () => {
    const draw = async (): Promise<readonly string[]> => {
      const { take } = await nodeWith("172.16.0.0/20", { order: "random", type: "NAT" });
      const found: string[] = [];
      for (let index = 0; index < 8; index++) found.push(await take());
      return found;
    };
    const [first, second] = [await draw(), await draw()];
    expect(first).toEqual(second);
    expect(new Set(first).size).toBe(8);
    expect(first.every((address) => address.startsWith("172.16.0."))).toBe(false);
  });

  it.each(["random", "lowest-first"] as const)("%s gives all addresses, and then none", async (order) => {
    const { take } = await nodeWith("10.244.2.0/29", { order });
    const taken = new Set<string>();
    for (let index = 0; index < 5; index++) taken.add(await take());
    expect([...taken].sort()).toEqual([2, 3, 4, 5, 6].map((last) => `10.244.2.${last}`));
    await expect(take()).rejects.toMatchObject({ code: "HCN_E_ADDR_INVALID_OR_RESERVED" });
  });

  it("a second block serves when the first is used up", async () => {
    const { take } = await nodeWith("10.244.2.0/24", {
      blocks: [{ IpAddressPrefix: "10.244.2.0/30" }, { IpAddressPrefix: "10.244.2.128/30" }],
    });
    expect([await take(), await take(), await take()]).toEqual(["10.244.2.2", "10.244.2.3", "10.244.2.128"]);
  });

  it("large subnets have all their addresses", async () => {
    const { take } = await nodeWith("10.0.0.0/8", { order: "random", type: "NAT" });
    const found = await Promise.all(Array.from({ length: 6 }, async () => take()));
    // Inside the first 65 536 addresses all six would begin with 10.0.
    expect(found.some((address) => !address.startsWith("10.0."))).toBe(true);
  });
});

it("an L2Bridge network without a subnet has no addresses to give", async () => {
  const { client } = hnsNode();
  const { Ipams: _ipams, ...network } = CBR0;
  const { ID } = await createNetwork(client, network);
  await expect(createEndpoint(client, ID, { Name: "e" })).rejects.toMatchObject({
    code: "HCN_E_SUBNET_NOT_FOUND",
  });
});

describe("MAC addresses that HNS chooses", () => {
  // Each 256th number of chance is one: a router with the MAC of another machine's adapter gets that machine's frames.
  it.each(Array.from({ length: 8 }, (_, seed) => seed))(
    "are never those of machines' adapters, seed %i",
    (seed) => {
      const prng = new Prng(seed);
      const macs = Array.from({ length: 1_000 }, () => [
        chooseMac(prng),
        chooseMacRange([], prng).first,
      ]).flat();
      expect(macs.filter((mac) => mac < 0x0015_5d01_0000 || mac > 0x0015_5dff_ffff)).toEqual([]);
    },
  );
});
