import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import {
  createEndpoint,
  createNetwork,
  deleteNetwork,
  getNetworkByName,
  listEndpoints,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { parseMac } from "#core/net/mac.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

function withSubnet(prefix: string, gateway: string): HostComputeNetwork {
  const routes = [{ NextHop: gateway, DestinationPrefix: gateway.includes(":") ? "::/0" : "0.0.0.0/0" }];
  return { ...CBR0, Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: prefix, Routes: routes }] }] };
}

function withPolicies(...policies: PolicyDocument[]): HostComputeNetwork {
  return { ...CBR0, Policies: policies };
}

async function refusal(node: HnsNode, network: HostComputeNetwork): Promise<unknown> {
  return createNetwork(node.client, network).catch((error: unknown) => error);
}

describe("creating a network", () => {
  it.each<[string, HostComputeNetwork, HcnErrorCode, string]>([
    [
      "HCN-060 a prefix with host bits",
      withSubnet("172.22.16.0/16", "172.22.16.1"),
      "HCN_E_INVALID_NETWORK",
      "write 172.22.0.0/16",
    ],
    [
      "a prefix that is none",
      withSubnet("10.244.2.0", "10.244.2.1"),
      "HCN_E_INVALID_NETWORK",
      "must be a CIDR",
    ],
    [
      "a gateway outside the prefix",
      withSubnet("10.244.2.0/24", "10.244.3.1"),
      "HCN_E_INVALID_NETWORK",
      "10.244.3.1",
    ],
    [
      "a gateway that is not an address",
      withSubnet("10.244.2.0/24", "gateway"),
      "HCN_E_INVALID_NETWORK",
      "must be an IP address",
    ],
    ["DHCP", { ...CBR0, Ipams: [{ Type: "Dhcp" }] }, "HCN_E_INVALID_NETWORK", "static addresses only"],
    [
      "HCN-059 an unknown adapter",
      withPolicies({ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 9" } }),
      "HCN_E_ADAPTER_NOT_FOUND",
      "the node has Ethernet",
    ],
    [
      "HCN-059 a switch's own vNIC",
      withPolicies({ Type: "NetAdapterName", Settings: { NetworkAdapterName: "vEthernet (Ethernet)" } }),
      "ERROR_INVALID_PARAMETER",
      "name the adapter behind it",
    ],
    [
      "an address that no adapter has",
      withPolicies({ Type: "ProviderAddress", Settings: { ProviderAddress: "10.9.9.9" } }),
      "HCN_E_ADAPTER_NOT_FOUND",
      "10.9.9.9",
    ],
    [
      "an unknown policy",
      withPolicies({ Type: "OutBoundNAT", Settings: {} }),
      "HCN_E_INVALID_POLICY_TYPE",
      "OutBoundNAT",
    ],
    [
      "a second adapter",
      withPolicies(
        { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
        { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
      ),
      "HCN_E_POLICY_ALREADY_EXISTS",
      "at most one",
    ],
    [
      "HCN-099 an unknown layer",
      withPolicies({
        Type: "LayerConstraint",
        Settings: { LayerId: "0fb28d70-306c-469d-9690-3245a82d882a" },
      }),
      "HCN_E_LAYER_NOT_FOUND",
      "no layer",
    ],
    [
      "a MAC range upside down",
      {
        ...CBR0,
        MacPool: { Ranges: [{ StartMacAddress: "00-15-5D-00-0F-FF", EndMacAddress: "00-15-5D-00-00-00" }] },
      },
      "HCN_E_INVALID_NETWORK",
      "MacPool.Ranges[0]",
    ],
  ])("%s is refused", async (_name, network, code, text) => {
    const node = hnsNode();
    const error = await refusal(node, network);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(text);
    expect(await node.client.enumerate("Network")).toEqual([]);
    expect(node.datapath.listSwitches()).toEqual([]);
  });

  it("HCN-058 a second network with the name is refused, and so is one with the id", async () => {
    const { client } = hnsNode();
    const first = await createNetwork(client, CBR0);
    await expect(createNetwork(client, CBR0)).rejects.toMatchObject({ code: "HCN_E_NETWORK_ALREADY_EXISTS" });
    await expect(createNetwork(client, { ...CBR0, Name: "other", ID: first.ID })).rejects.toMatchObject({
      code: "HCN_E_NETWORK_ALREADY_EXISTS",
    });
  });

  it("subnets that overlap are refused", async () => {
    const subnet = (prefix: string): object => ({
      IpAddressPrefix: prefix,
      Routes: [{ NextHop: prefix.replace(/0\/.*/, "1"), DestinationPrefix: "0.0.0.0/0" }],
    });
    const Ipams = [{ Subnets: [subnet("10.244.0.0/16"), subnet("10.244.2.0/24")] }] as never;
    expect(await refusal(hnsNode(), { ...CBR0, Ipams })).toMatchObject({
      code: "HCN_E_INVALID_NETWORK",
      detail: "The subnets 10.244.0.0/16 and 10.244.2.0/24 overlap",
    });
  });

  it("IPv6 needs a build that has it", async () => {
    const dual = withSubnet("fd00::/64", "fd00::1");
    expect(await refusal(hnsNode({ profile: "ws2019" }), dual)).toMatchObject({
      code: "HCN_E_INVALID_NETWORK",
    });
    expect((await createNetwork(hnsNode().client, dual)).Ipams?.[0]?.Subnets?.[0]?.IpAddressPrefix).toBe(
      "fd00::/64",
    );
  });

  it("the service picks MAC ranges of 4096 that networks do not share (hcn.md §4.3)", async () => {
    const { client } = hnsNode();
    const starts = new Set<string>();
    for (let index = 0; index < 20; index++) {
      const network = await createNetwork(client, { ...CBR0, Name: `net-${index}` });
      const range = network.MacPool?.Ranges?.[0];
      expect(range?.StartMacAddress).toMatch(/^00-15-5D-[0-9A-F]{2}-[0-9A-F]0-00$/);
      const size = parseMac(range?.EndMacAddress ?? "")! - parseMac(range?.StartMacAddress ?? "")!;
      expect(size).toBe(0xfff);
      starts.add(range?.StartMacAddress ?? "");
    }
    expect(starts.size).toBe(20);
  });

  it("enters the adapter in use when the request names none", async () => {
    const { Policies: _policies, ...network } = CBR0;
    const created = await createNetwork(hnsNode().client, network);
    expect(created.Policies).toEqual([
      { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
    ]);
  });

  it("ProviderAddress selects the adapter that has the address", async () => {
    const node = hnsNode({
      adapters: [
        { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" },
        { name: "Ethernet 2", address: "192.168.1.5/24", mac: "00-22-48-01-02-04" },
      ],
    });
    const network = await createNetwork(
      node.client,
      withPolicies({ Type: "ProviderAddress", Settings: { ProviderAddress: "192.168.1.5" } }),
    );
    expect(network.Policies?.[1]?.Settings).toEqual({ NetworkAdapterName: "Ethernet 2" });
    expect(await node.client.call("GET", `/networks/${network.ID}`, "")).toMatchObject({
      Output: { ManagementIP: "192.168.1.5" },
    });
  });

  it.each([
    ["ws2019", 9 * 2 ** 32 + 5],
    ["ws2022", 55834574851],
    ["ws2025", 15 * 2 ** 32 + 4],
  ])("HCN-105 on %s the object's version is %d", async (profile, version) => {
    expect((await createNetwork(hnsNode({ profile }).client, CBR0)).Version).toBe(version);
  });
});

describe("deleting a network", () => {
  it("HCN-049 takes its endpoints along, attached or not", async () => {
    const { client, datapath } = hnsNode();
    const network = await createNetwork(client, CBR0);
    await createEndpoint(client, network.ID, { Name: "detached" });
    const attached = await createEndpoint(client, network.ID, { Name: "cbr0_ep" });
    await client.call("POST", `/endpoints/${attached.ID}/attach`, '{"SystemType":"Host"}');
    await deleteNetwork(client, network.ID);
    expect(await listEndpoints(client)).toEqual([]);
    expect(datapath.listVnics()).toEqual([]);
    expect(datapath.listSwitches()).toEqual([]);
  });

  it("frees name, MAC range and addresses", async () => {
    const { client } = hnsNode();
    for (let round = 0; round < 3; round++) {
      const network = await createNetwork(client, CBR0);
      await createEndpoint(client, network.ID, {
        MacAddress: "0E-2A-0A-F4-02-0A",
        IpConfigurations: [{ IpAddress: "10.244.2.10" }],
        Policies: [{ Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080 } }],
      });
      await deleteNetwork(client, network.ID);
    }
    expect(await client.enumerate("Network")).toEqual([]);
  });
});

describe("changing a network", () => {
  const ROUTE = {
    Type: "RemoteSubnetRoute",
    Settings: {
      DestinationPrefix: "10.42.7.0/24",
      IsolationId: 4096,
      ProviderAddress: "192.168.1.213",
      DistributedRouterMacAddress: "0a-1b-2c-3d-4e-5f",
    },
  } as const;

  it("HCN-044 a RemoteSubnetRoute is visible after Add and gone after Remove", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    expect((await modifyNetworkPolicies(client, network.ID, "Add", [ROUTE])).Policies).toContainEqual(ROUTE);
    const matching = { Type: ROUTE.Type, Settings: { ...ROUTE.Settings, IsolationId: 9999 } };
    expect((await modifyNetworkPolicies(client, network.ID, "Remove", [matching])).Policies).toHaveLength(1);
  });

  it("HCN-045 HostRoute is visible after Add and gone after Remove", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const route = { Type: "HostRoute", Settings: {} };
    expect((await modifyNetworkPolicies(client, network.ID, "Add", [route])).Policies).toContainEqual(route);
    expect((await modifyNetworkPolicies(client, network.ID, "Remove", [route])).Policies).toHaveLength(1);
  });

  it("HCN-046 NetworkACL is visible after Add and gone after Remove, from HNS 15.0 on", async () => {
    const acl = { Type: "NetworkACL", Settings: { Action: "Block", Direction: "In", Priority: 300 } };
    const { client } = hnsNode({ profile: "ws2025" });
    const network = await createNetwork(client, CBR0);
    expect((await modifyNetworkPolicies(client, network.ID, "Add", [acl])).Policies).toContainEqual(acl);
    expect((await modifyNetworkPolicies(client, network.ID, "Remove", [acl])).Policies).toHaveLength(1);
    const older = hnsNode({ profile: "ws2022" }).client;
    const plain = await createNetwork(older, CBR0);
    await expect(modifyNetworkPolicies(older, plain.ID, "Add", [acl])).rejects.toMatchObject({
      code: "HCN_E_INVALID_POLICY_TYPE",
    });
  });

  it("HCN-085 nested sets need their members; a member stays; an unknown set is not removed; its Update changes nothing", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    const network = await createNetwork(client, CBR0);
    const base = {
      Type: "SetPolicy",
      Settings: { Id: "set-2", Name: "s", PolicyType: "IPSET", Values: "10.0.0.1" },
    };
    const nested = {
      Type: "SetPolicy",
      Settings: { Id: "ns", Name: "n", PolicyType: "NESTEDIPSET", Values: "set-2" },
    };
    const change = async (
      type: "Add" | "Remove" | "Update",
      policy: typeof base,
    ): Promise<HostComputeNetwork> => modifyNetworkPolicies(client, network.ID, type, [policy]);
    await expect(change("Add", nested)).rejects.toMatchObject({ code: "HCN_E_POLICY_NOT_FOUND" });
    await change("Add", base);
    await change("Add", nested);
    await expect(change("Remove", base)).rejects.toMatchObject({ code: "HCN_E_ENTITY_HAS_REFERENCES" });
    const changed = { ...base, Settings: { ...base.Settings, Values: "10.0.0.2" } };
    expect((await change("Update", changed)).Policies).toContainEqual(changed);
    const unknown = { ...base, Settings: { ...base.Settings, Id: "set-9" } };
    await expect(change("Remove", unknown)).rejects.toMatchObject({ code: "HCN_E_POLICY_NOT_FOUND" });
    expect((await change("Update", unknown)).Policies).toHaveLength(3);
    await change("Remove", nested);
    expect((await change("Remove", base)).Policies).toHaveLength(1);
  });

  it("a subnet comes and goes, but not while an endpoint has an address of it", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    const Subnets = [
      {
        IpAddressPrefix: "10.244.3.0/24",
        Routes: [{ NextHop: "10.244.3.1", DestinationPrefix: "0.0.0.0/0" }],
      },
    ];
    const request = { ResourceType: "Subnet", Settings: { Subnets } };
    await client.modify("Network", network.ID, { ...request, RequestType: "Add" });
    const endpoint = await createEndpoint(client, network.ID, {
      IpConfigurations: [{ IpAddress: "10.244.3.9" }],
    });
    expect(endpoint.Routes).toEqual([{ NextHop: "10.244.3.1", DestinationPrefix: "0.0.0.0/0" }]);
    await expect(
      client.modify("Network", network.ID, { ...request, RequestType: "Remove" }),
    ).rejects.toMatchObject({
      code: "HCN_E_ENTITY_HAS_REFERENCES",
    });
    await client.delete("Endpoint", endpoint.ID);
    await client.modify("Network", network.ID, { ...request, RequestType: "Remove" });
    expect((await getNetworkByName(client, "cbr0")).Ipams?.[0]?.Subnets).toHaveLength(1);
  });

  it("name resolution is replaced", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    await client.modify("Network", network.ID, {
      ResourceType: 0,
      RequestType: 2,
      Settings: { ServerList: ["10.96.0.11"] },
    });
    expect((await getNetworkByName(client, "cbr0")).Dns).toEqual({ ServerList: ["10.96.0.11"] });
  });

  it.each([
    [{ ResourceType: "Extension", RequestType: "Update", Settings: {} }, "HCN_E_INVALID_JSON"],
    [{ ResourceType: "Extension", RequestType: "Add", Settings: {} }, "HCN_E_REQUEST_UNSUPPORTED"],
    [{ ResourceType: "Policy", RequestType: "Reset", Settings: {} }, "HCN_E_REQUEST_UNSUPPORTED"],
    [{ RequestType: "Refresh" }, "HCN_E_REQUEST_UNSUPPORTED"],
    [{ ResourceType: "Policy", Settings: {} }, "HCN_E_REQUEST_UNSUPPORTED"],
    [
      {
        ResourceType: "Policy",
        RequestType: "Update",
        Settings: { Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }] },
      },
      "HCN_E_SHARED_SWITCH_MODIFICATION",
    ],
  ])("%j is refused", async (request, code) => {
    const { client } = hnsNode();
    const network = await createNetwork(client, CBR0);
    await expect(client.modify("Network", network.ID, request)).rejects.toMatchObject({ code });
    expect(await getNetworkByName(client, "cbr0")).toEqual(network);
  });
});

it("what is stored and has no effect stands in the network's health data", async () => {
  const network = await createNetwork(hnsNode().client, {
    ...withPolicies({ Type: "VxlanPort", Settings: { Port: 4789 } }),
    Flags: 1024,
    Ipams: [
      {
        Subnets: [
          {
            IpAddressPrefix: "10.244.2.0/24",
            Policies: [{ Type: "VLAN", Settings: { IsolationId: 100 } }],
            Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
          },
        ],
      },
    ],
  });
  expect(network.Health?.Data).toMatchObject({
    NotEnforced: [{ Type: "VxlanPort", Index: 0 }, { Type: "Flags" }],
  });
});
