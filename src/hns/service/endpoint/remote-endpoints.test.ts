import { beforeEach, describe, expect, it } from "vitest";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  deleteNetwork,
  getEndpointById,
  listEndpoints,
  listEndpointsOfNetwork,
} from "#contracts/hcn/operations.ts";
import { HOST_ATTACH, getHnsEndpoint, requestHns } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;

/** hcn.md §9.15, its request. */
const PEER = {
  IpConfigurations: [{ IpAddress: "10.42.9.37" }],
  MacAddress: "02-11-0a-2a-09-25",
  Flags: 1,
  Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: "192.168.1.214" } }],
} as const;

describe("remote endpoints (hcn.md §4.4)", () => {
  let node: HnsNode;
  let network: string;

  beforeEach(async () => {
    node = hnsNode();
    network = (await createNetwork(node.client, CBR0)).ID!;
  });

  it("HCN-067 HCN-068 hcn.md §9.15: an address outside the subnets is taken, length and name are filled in", async () => {
    const id = await node.client.create("Endpoint", { ...PEER, ...V2 }, { network });
    expect(await node.client.query("Endpoint", id, V2)).toEqual({
      ID: id,
      Name: "Ethernet",
      Version: 13 * 2 ** 32 + 3,
      Health: { Data: { LastErrorCode: 0, LastUpdateTime: expect.any(Number) as unknown }, Extra: {} },
      SchemaVersion: { Major: 2, Minor: 0 },
      State: 1,
      HostComputeNetwork: network,
      IpConfigurations: [{ IpAddress: "10.42.9.37", PrefixLength: 24 }],
      // On an L2Bridge network the service adds its own entry.
      Policies: [...PEER.Policies, { Type: "L2Driver", Settings: {} }],
      MacAddress: "02-11-0a-2a-09-25",
      Flags: 1,
    });
  });

  it("HCN-069 on L2Bridge it needs no ProviderAddress; a family without a subnet keeps its full length", async () => {
    const { Policies: _, ...bare } = PEER;
    const endpoint = await createEndpoint(node.client, network, {
      ...bare,
      IpConfigurations: [{ IpAddress: "fd00::9" }],
    });
    expect(endpoint.IpConfigurations).toEqual([{ IpAddress: "fd00::9", PrefixLength: 128 }]);
  });

  it("HCN-068 it may have the address of a local endpoint, which keeps it", async () => {
    const IpConfigurations = [{ IpAddress: "10.244.2.10" }];
    await createEndpoint(node.client, network, { IpConfigurations });
    const remote = await createEndpoint(node.client, network, { ...PEER, IpConfigurations });
    expect(remote.IpConfigurations).toEqual([{ IpAddress: "10.244.2.10", PrefixLength: 24 }]);
    await deleteEndpoint(node.client, remote.ID);
    await expect(createEndpoint(node.client, network, { IpConfigurations })).rejects.toMatchObject({
      code: "ERROR_OBJECT_ALREADY_EXISTS",
    });
  });

  it("a local endpoint may come to an address and a MAC that a remote one has", async () => {
    const IpConfigurations = [{ IpAddress: "10.244.2.10" }];
    const remote = await createEndpoint(node.client, network, { ...PEER, IpConfigurations });
    const local = await createEndpoint(node.client, network, {
      IpConfigurations,
      MacAddress: PEER.MacAddress,
    });
    await deleteEndpoint(node.client, remote.ID);
    expect(await getEndpointById(node.client, local.ID)).toEqual(local);
  });

  it("all may have one MAC, as old versions of kube-proxy gave them (hcn.md §4.3)", async () => {
    for (const IpAddress of ["10.42.9.1", "10.42.9.2"]) {
      await createEndpoint(node.client, network, {
        IpConfigurations: [{ IpAddress }],
        MacAddress: "00:11:22:33:44:55",
        Flags: 1,
      });
    }
    const macs = (await listEndpointsOfNetwork(node.client, network)).map((each) => each.MacAddress);
    expect(macs).toEqual(["00:11:22:33:44:55", "00:11:22:33:44:55"]);
  });

  it("is never attached: 0x803b0035 in a namespace, 0x803b000f at the host", async () => {
    const endpoint = await createEndpoint(node.client, network, PEER);
    const namespace = await createNamespace(node.client, "Host");
    await expect(addNamespaceEndpoint(node.client, namespace.ID, endpoint.ID)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_LOCAL",
    });
    for (const verb of ["attach", "detach"]) {
      const path = `/endpoints/${endpoint.ID}/${verb}`;
      expect(await node.client.call("POST", path, JSON.stringify(HOST_ATTACH))).toMatchObject({
        Success: false,
        ErrorCode: 0x803b000f,
      });
    }
    expect(node.datapath.listVnics()).toEqual([]);
  });

  it("v1 makes and shows it with IsRemoteEndpoint", async () => {
    const made = (await requestHns(node.client, "POST", "/endpoints/", {
      VirtualNetwork: network,
      IPAddress: "10.42.9.37",
      MacAddress: "02-11-0a-2a-09-25",
      IsRemoteEndpoint: true,
    })) as { readonly ID: string };
    expect(await getEndpointById(node.client, made.ID)).toMatchObject({ Flags: 1 });
    expect(await getHnsEndpoint(node.client, made.ID)).toMatchObject({
      IsRemoteEndpoint: true,
      IPAddress: "10.42.9.37",
      PrefixLength: 24,
    });
  });

  it("goes with its network, and holds no subnet back", async () => {
    await createEndpoint(node.client, network, {
      ...PEER,
      IpConfigurations: [{ IpAddress: "10.244.2.77" }],
    });
    await node.client.modify("Network", network, {
      ResourceType: "Subnet",
      RequestType: "Remove",
      Settings: { Subnets: [{ IpAddressPrefix: "10.244.2.0/24" }] },
    });
    await deleteNetwork(node.client, network);
    expect(await listEndpoints(node.client)).toEqual([]);
  });
});
