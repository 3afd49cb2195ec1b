import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import {
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteEndpoint,
  getEndpointById,
  getEndpointByName,
  getNamespaceEndpointIds,
  listEndpoints,
  addNamespaceEndpoint,
  modifyEndpointPolicies,
  queryBy,
} from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, POD_ENDPOINT, hnsNode } from "#test/support/hns/hns-node.ts";

async function nodeWithNetwork(profile = "ws2022"): Promise<HnsNode & { networkId: string }> {
  const node = hnsNode({ profile });
  const network = await createNetwork(node.client, CBR0);
  return { ...node, networkId: network.ID };
}

function withPolicies(...Policies: PolicyDocument[]): HostComputeEndpoint {
  return { Policies };
}

const nat = (Settings: PolicyDocument["Settings"]): PolicyDocument => ({
  Type: "OutBoundNAT",
  Settings: Settings!,
});
const mapping = (port: number, more: object = {}): PolicyDocument => ({
  Type: "PortMapping",
  Settings: { Protocol: 6, InternalPort: 80, ExternalPort: port, ...more },
});
const acl = (more: object): PolicyDocument => ({
  Type: "ACL",
  Settings: { Action: "Allow", Direction: "In", ...more },
});

describe("creating an endpoint", () => {
  it.each<[string, HostComputeEndpoint, HcnErrorCode, string]>([
    [
      "HCN-057 an address outside the subnets",
      { IpConfigurations: [{ IpAddress: "10.9.9.9" }] },
      "HCN_E_INVALID_IP",
      "10.244.2.0/24",
    ],
    [
      "HCN-057 the gateway",
      { IpConfigurations: [{ IpAddress: "10.244.2.1" }] },
      "HCN_E_ADDR_INVALID_OR_RESERVED",
      "the gateway",
    ],
    [
      "HCN-057 the network address",
      { IpConfigurations: [{ IpAddress: "10.244.2.0" }] },
      "HCN_E_ADDR_INVALID_OR_RESERVED",
      "the network address",
    ],
    [
      "HCN-057 the broadcast address",
      { IpConfigurations: [{ IpAddress: "10.244.2.255" }] },
      "HCN_E_ADDR_INVALID_OR_RESERVED",
      "the broadcast address",
    ],
    [
      "an address that is none",
      { IpConfigurations: [{ IpAddress: "10.244.2" }] },
      "HCN_E_INVALID_IP",
      "10.244.2",
    ],
    [
      "two addresses of a family",
      { IpConfigurations: [{ IpAddress: "10.244.2.5" }, { IpAddress: "10.244.2.6" }] },
      "HCN_E_INVALID_ENDPOINT",
      "one of each",
    ],
    ["a multicast MAC", { MacAddress: "01-00-5E-00-00-01" }, "HCN_E_INVALID_ENDPOINT", "unicast MAC"],
    [
      "the host's MAC",
      { MacAddress: "00-22-48-01-02-03" },
      "ERROR_OBJECT_ALREADY_EXISTS",
      "adapter Ethernet",
    ],
    ["a remote endpoint without an address", { Flags: 1 }, "HCN_E_INVALID_ENDPOINT", "needs an address"],
    [
      "a remote endpoint with a policy for a port",
      { Flags: 1, IpConfigurations: [{ IpAddress: "10.244.9.9" }], ...withPolicies(mapping(8080)) },
      "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION",
      "ProviderAddress only",
    ],
    ["DHCP", { Flags: 32 }, "HCN_E_INVALID_ENDPOINT", "static addresses only"],
    [
      "an unknown policy",
      withPolicies({ Type: "ROUTE", Settings: {} }),
      "HCN_E_INVALID_POLICY_TYPE",
      "ROUTE",
    ],
    [
      "HCN-061 an exception with host bits",
      withPolicies(nat({ Exceptions: ["10.96.0.1/12"] })),
      "HCN_E_INVALID_POLICY",
      "10.96.0.1/12",
    ],
    [
      "HCN-062 the address Any",
      withPolicies(acl({ RemoteAddresses: "Any" })),
      "HCN_E_INVALID_POLICY",
      "leave it out",
    ],
    [
      "a set that is not there",
      withPolicies(acl({ RemoteAddresses: "ns-prod" })),
      "HCN_E_POLICY_NOT_FOUND",
      "ns-prod",
    ],
    [
      "an internal port of zero",
      withPolicies(mapping(8080, { InternalPort: 0 })),
      "HCN_E_INVALID_INTERNAL_PORT",
      "InternalPort",
    ],
    ["one host port twice", withPolicies(mapping(8080), mapping(8080)), "HCN_E_PORT_ALREADY_EXISTS", "8080"],
    [
      "two InterfaceParameters",
      withPolicies(
        { Type: "InterfaceParameters", Settings: { Mtu: 1400 } },
        { Type: "InterfaceParameters", Settings: { Mtu: 1300 } },
      ),
      "HCN_INTERFACEPARAMETERS_ALREADY_APPLIED",
      "InterfaceParameters",
    ],
    [
      "a route of two families",
      { Routes: [{ NextHop: "fd00::1", DestinationPrefix: "0.0.0.0/0" }] },
      "HCN_E_INVALID_ENDPOINT",
      "another family",
    ],
  ])("%s is refused and nothing is made", async (_name, document, code, text) => {
    const { client, networkId } = await nodeWithNetwork();
    const error = await createEndpoint(client, networkId, document).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(text);
    expect(await client.enumerate("Endpoint")).toEqual([]);
  });

  it("HCN-022 a namespace may not be set, neither by the helper nor in the document", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const document = { HostComputeNamespace: "0fb28d70-306c-469d-9690-3245a82d882a" };
    await expect(createEndpoint(client, networkId, document)).rejects.toThrow("is read only");
    await expect(
      client.create(
        "Endpoint",
        { ...document, SchemaVersion: { Major: 2, Minor: 0 } },
        { network: networkId },
      ),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_ENDPOINT" });
  });

  it("an unknown network is not found", async () => {
    const { client } = await nodeWithNetwork();
    await expect(createEndpoint(client, "0fb28d70-306c-469d-9690-3245a82d882a", {})).rejects.toMatchObject({
      code: "HCN_E_NETWORK_NOT_FOUND",
    });
  });

  it("HCN-061 Server 2019 takes exceptions with host bits", async () => {
    const { client, networkId } = await nodeWithNetwork("ws2019");
    const endpoint = await createEndpoint(
      client,
      networkId,
      withPolicies(nat({ Exceptions: ["10.96.0.1/12"] })),
    );
    expect(endpoint.Policies?.[0]?.Settings).toEqual({ Exceptions: ["10.96.0.1/12"] });
  });

  it("HCN-063 a second endpoint with the address is refused: host-local gave out the bridge endpoint's", async () => {
    const { client, networkId } = await nodeWithNetwork();
    await createEndpoint(client, networkId, { IpConfigurations: [{ IpAddress: "10.244.2.2" }] });
    await expect(
      createEndpoint(client, networkId, { IpConfigurations: [{ IpAddress: "10.244.2.2" }] }),
    ).rejects.toMatchObject({ code: "ERROR_OBJECT_ALREADY_EXISTS", hresult: 0x80071392 });
  });

  it("HCN-034 a host port that another endpoint maps is refused, unless both listen on addresses of their own", async () => {
    const { client, networkId } = await nodeWithNetwork();
    await createEndpoint(client, networkId, withPolicies(mapping(8080)));
    await expect(createEndpoint(client, networkId, withPolicies(mapping(8080)))).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
    });
    await createEndpoint(client, networkId, withPolicies(mapping(8080, { Protocol: 17 })));
    await createEndpoint(client, networkId, withPolicies(mapping(8081, { VIP: "10.0.2.15" })));
    await createEndpoint(client, networkId, withPolicies(mapping(8081, { VIP: "10.0.2.16" })));
    await createEndpoint(client, networkId, withPolicies(mapping(8080, { Flags: 2 })));
  });

  it("a host port of zero is chosen by the service and read back", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, withPolicies(mapping(0), mapping(0)));
    const ports = endpoint.Policies?.map((policy) => policy.Settings?.["ExternalPort"]) ?? [];
    expect(ports[0]).toBeGreaterThan(1023);
    expect(ports[0]).not.toBe(ports[1]);
  });

  it("an address asked for without its length gets that of the subnet", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, {
      IpConfigurations: [{ IpAddress: "10.244.2.7" }],
    });
    expect(endpoint.IpConfigurations?.[0]).toMatchObject({ IpAddress: "10.244.2.7", PrefixLength: 24 });
  });

  it("without routes it gets the default route of its subnet (hcn.md §2.3)", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, {});
    expect(endpoint.Routes).toEqual([{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }]);
  });

  it("what win-bridge sends without IPAM counts as nothing (CNI-EX-A11)", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, {
      IpConfigurations: [{}],
      Routes: [{ DestinationPrefix: "::/0" }],
      Dns: {},
    });
    expect(endpoint.IpConfigurations).toHaveLength(1);
    expect(endpoint.Routes).toEqual([{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }]);
  });

  it("a network without subnets has no address to give", async () => {
    const { client } = hnsNode();
    const { Ipams: _ipams, ...bare } = CBR0;
    const network = await createNetwork(client, bare);
    await expect(createEndpoint(client, network.ID, {})).rejects.toMatchObject({
      code: "HCN_E_SUBNET_NOT_FOUND",
    });
  });

  it("all 253 free addresses of a /24 are handed out once, then there are none", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const addresses = new Set<string>();
    for (let index = 0; index < 253; index++) {
      const endpoint = await createEndpoint(client, networkId, {});
      addresses.add(endpoint.IpConfigurations?.[0]?.IpAddress ?? "");
    }
    expect(addresses.size).toBe(253);
    await expect(createEndpoint(client, networkId, {})).rejects.toThrow(
      "No address is left in 10.244.2.0/24",
    );
    const [first] = await listEndpoints(client);
    await deleteEndpoint(client, first!.ID);
    const again = await createEndpoint(client, networkId, {});
    expect(again.IpConfigurations).toEqual(first?.IpConfigurations);
  });

  it("the addresses of the node are nobody else's", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, {
      ...CBR0,
      Ipams: [
        {
          Subnets: [
            {
              IpAddressPrefix: "10.0.2.0/24",
              Routes: [{ NextHop: "10.0.2.1", DestinationPrefix: "0.0.0.0/0" }],
            },
          ],
        },
      ],
    });
    await expect(
      createEndpoint(client, network.ID, { IpConfigurations: [{ IpAddress: "10.0.2.15" }] }),
    ).rejects.toThrow("an address of the node");
  });

  it("HCN-051 a dual-stack endpoint keeps both addresses, or gets one of each family", async () => {
    const { client } = hnsNode();
    const subnet = (prefix: string, gateway: string, any: string): object => ({
      IpAddressPrefix: prefix,
      Routes: [{ NextHop: gateway, DestinationPrefix: any }],
    });
    const network = await createNetwork(client, {
      ...CBR0,
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            subnet("192.168.128.0/20", "192.168.128.1", "0.0.0.0/0"),
            subnet("fd00::100/120", "fd00::101", "::/0"),
          ],
        },
      ],
    });
    const asked = await createEndpoint(client, network.ID, {
      IpConfigurations: [
        { IpAddress: "192.168.128.4", PrefixLength: 20 },
        { IpAddress: "fd00::106", PrefixLength: 120 },
      ],
    });
    expect(asked.IpConfigurations).toMatchObject([
      { IpAddress: "192.168.128.4", PrefixLength: 20 },
      { IpAddress: "fd00::106", PrefixLength: 120 },
    ]);
    const given = await createEndpoint(client, network.ID, {});
    expect(given.IpConfigurations?.map((config) => config.PrefixLength)).toEqual([20, 120]);
    expect(given.Routes?.map((route) => route.NextHop)).toEqual(["192.168.128.1", "fd00::101"]);
  });

  it("HCN-019 two endpoints with one name coexist; the first wins", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const first = await createEndpoint(client, networkId, { Name: "web" });
    await createEndpoint(client, networkId, { Name: "web" });
    expect((await getEndpointByName(client, "web")).ID).toBe(first.ID);
  });

  it("an endpoint without a name is called Ethernet", async () => {
    const { client, networkId } = await nodeWithNetwork();
    expect((await createEndpoint(client, networkId, {})).Name).toBe("Ethernet");
  });

  it.each(["02-11-0a-f0-00-0b", "00:11:22:33:44:55"])(
    "the MAC %s comes back as it was written",
    async (MacAddress) => {
      const { client, networkId } = await nodeWithNetwork();
      expect((await createEndpoint(client, networkId, { MacAddress })).MacAddress).toBe(MacAddress);
    },
  );

  it("the same seed gives the same ids, addresses and MACs", async () => {
    const documents: unknown[] = [];
    for (let round = 0; round < 2; round++) {
      const { client, networkId } = await nodeWithNetwork();
      documents.push(await createEndpoint(client, networkId, POD_ENDPOINT));
    }
    expect(documents[0]).toEqual(documents[1]);
  });
});

describe("changing an endpoint's policies", () => {
  it("Add appends, Remove takes equal ones away, Update replaces, {} clears (hcn.md §5.3)", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, withPolicies(nat({})));
    const types = async (): Promise<unknown> =>
      (await getEndpointById(client, endpoint.ID)).Policies?.map((policy) => policy.Type);
    expect(await types()).toEqual(["OutBoundNAT", "L2Driver"]);
    await modifyEndpointPolicies(client, endpoint.ID, "Add", [acl({ Priority: 300 })]);
    expect(await types()).toEqual(["OutBoundNAT", "L2Driver", "ACL"]);
    await modifyEndpointPolicies(client, endpoint.ID, "Remove", [acl({ Priority: "300" })]);
    expect(await types()).toEqual(["OutBoundNAT", "L2Driver"]);
    await modifyEndpointPolicies(client, endpoint.ID, "Update", [mapping(8080)]);
    expect(await types()).toEqual(["PortMapping"]);
    await modifyEndpointPolicies(client, endpoint.ID, "Update", [{} as PolicyDocument]);
    expect(await types()).toBeUndefined();
  });

  it("an Update that is refused changes nothing, and frees no port", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, withPolicies(mapping(8080)));
    const before = await getEndpointById(client, endpoint.ID);
    await expect(
      modifyEndpointPolicies(client, endpoint.ID, "Update", [acl({}), { Type: "Nonsense" }]),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_POLICY_TYPE" });
    await expect(modifyEndpointPolicies(client, endpoint.ID, "Add", [mapping(8080)])).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
    });
    expect(await getEndpointById(client, endpoint.ID)).toEqual(before);
    await expect(createEndpoint(client, networkId, withPolicies(mapping(8080)))).rejects.toMatchObject({
      code: "HCN_E_PORT_ALREADY_EXISTS",
    });
    await modifyEndpointPolicies(client, endpoint.ID, "Update", [mapping(8081)]);
    await createEndpoint(client, networkId, withPolicies(mapping(8080)));
  });

  it("HCN-033 HCN-032 TierAcl and L4WFPPROXY are accepted and visible, and nothing of them is without effect", async () => {
    const { client, networkId } = await nodeWithNetwork("ws2025");
    const tier = {
      Type: "TierAcl",
      Settings: {
        Name: "infra",
        Direction: "In",
        Order: 100,
        TierAclRules: [
          { Id: "r1", Protocols: "6", LocalPorts: "8080", TierAclRuleAction: "Pass", Priority: 200 },
          { Id: "r2", TierAclRuleAction: "Block", Priority: 65499 },
        ],
      },
    };
    const proxy = {
      Type: "L4WFPPROXY",
      Settings: { InboundProxyPort: "15006", OutboundProxyPort: "15001", UserSID: "S-1-5-18" },
    };
    const endpoint = await createEndpoint(client, networkId, withPolicies(tier, proxy));
    expect(endpoint.Policies?.slice(0, 2)).toEqual([tier, proxy]);
    expect(endpoint.Health?.Data).not.toHaveProperty("NotEnforced");
  });

  it("HCN-032 a policy that the build does not know yet is an unknown type", async () => {
    const { client, networkId } = await nodeWithNetwork("2004");
    await expect(
      createEndpoint(client, networkId, withPolicies({ Type: "L4WFPPROXY", Settings: {} })),
    ).rejects.toThrow("which HNS 11.10 (2004) does not know");
  });

  it.each<[string, PolicyDocument, string | undefined]>([
    ["a mapping without LocalRoutedVip", mapping(8080), undefined],
    ["a mapping with it", mapping(8080, { Flags: 1 }), undefined],
    ["a mapping for IPv6", mapping(8080, { Flags: 3 }), undefined],
    ["a Host rule", acl({ RuleType: "Host" }), undefined],
    [
      "a proxy without a port",
      { Type: "L4WFPPROXY", Settings: { UserSID: "S-1-5-18" } },
      "neither InboundProxyPort nor OutboundProxyPort",
    ],
    ["encryption", { Type: "Encryption", Settings: { EncryptionMethodType: "Ipsec" } }, "does not act on it"],
    [
      "the adapter of its network",
      { Type: "InterfaceConstraint", Settings: { InterfaceAlias: "Ethernet" } },
      undefined,
    ],
    [
      "another adapter",
      { Type: "InterfaceConstraint", Settings: { InterfaceAlias: "Ethernet 2" } },
      "the endpoint's network is on adapter Ethernet, and endpoints have no other",
    ],
    [
      "an adapter by its index",
      { Type: "InterfaceConstraint", Settings: { InterfaceIndex: 7 } },
      "adapters are found by InterfaceAlias",
    ],
    ["a Switch rule", acl({ RuleType: "Switch" }), undefined],
    ["OutBoundNAT for IPv6", nat({ Flags: 2 }), "IPv6 is not translated"],
    ["OutBoundNAT", nat({}), undefined],
    ["QOS", { Type: "QOS", Settings: { MaximumOutgoingBandwidthInBytes: 125000000 } }, undefined],
  ])("%s: the health data say what has no effect", async (_name, policy, reason) => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, withPolicies(policy));
    const text = JSON.stringify(endpoint.Health?.Data);
    if (reason === undefined) expect(text).not.toContain("NotEnforced");
    else expect(text).toContain(reason);
  });

  it("HCN-096 Refresh without settings succeeds", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, {});
    await client.modify("Endpoint", endpoint.ID, { RequestType: "Refresh" });
    await expect(
      client.modify("Endpoint", endpoint.ID, { ResourceType: "Port", RequestType: "Update", Settings: {} }),
    ).rejects.toMatchObject({ code: "HCN_E_REQUEST_UNSUPPORTED" });
  });
});

describe("deleting an endpoint", () => {
  it("takes an attached one out of its namespace", async () => {
    const { client, networkId, datapath } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, {});
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, endpoint.ID);
    expect(datapath.listVnics()).toHaveLength(1);
    await deleteEndpoint(client, endpoint.ID);
    expect(datapath.listVnics()).toEqual([]);
    expect(await getNamespaceEndpointIds(client, namespace.ID)).toEqual([]);
  });

  it("HCN-081 a second time is the code that CNI plugins take for success", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const endpoint = await createEndpoint(client, networkId, {});
    await deleteEndpoint(client, endpoint.ID);
    await expect(deleteEndpoint(client, endpoint.ID)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
  });
});

describe("filters (hcn.md §5.1)", () => {
  it("compare fields of v1 and v2 documents; all have to hold; unknown ones match nothing", async () => {
    const { client, networkId } = await nodeWithNetwork();
    const a = await createEndpoint(client, networkId, { Name: "a", MacAddress: "00-15-5D-00-00-01" });
    const b = await createEndpoint(client, networkId, { Name: "b" });
    const both = [a.ID, b.ID];
    const namespace = await createNamespace(client);
    await addNamespaceEndpoint(client, namespace.ID, b.ID);
    await client.modify("Namespace", namespace.ID, {
      ResourceType: "Container",
      RequestType: "Add",
      Settings: { ContainerId: "c1" },
    });
    const find = async (filter: Record<string, string | number>): Promise<readonly string[]> =>
      client.enumerate("Endpoint", queryBy(filter));
    expect(await find({ VirtualNetwork: networkId })).toEqual(both);
    expect(await find({ HostComputeNetwork: networkId.toUpperCase() })).toEqual(both);
    expect(await find({ VirtualNetworkName: "cbr0" })).toEqual(both);
    expect(await find({ State: 3 })).toEqual([b.ID]);
    expect(await find({ VirtualNetwork: networkId, Name: "a" })).toEqual([a.ID]);
    expect(await find({ IPAddress: a.IpConfigurations?.[0]?.IpAddress ?? "" })).toEqual([]);
    expect(await client.enumerate("Endpoint", { Filter: "" })).toEqual(both);
  });
});
