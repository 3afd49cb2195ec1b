/** The worked examples of hcn.md §9 that concern L2Bridge, endpoints, namespaces and queries: request in, answer out. */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../hcn/client.ts";
import { CBR0, type HnsNode, POD_ENDPOINT, hnsNode } from "../testing/hns-node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const GUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown;
const UPPER_GUID = expect.stringMatching(/^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/) as unknown;
const NUMBER = expect.any(Number) as unknown;

/** hcn.md §9.4 as it stands there, with the gateway .2. */
const NETWORK = {
  ...CBR0,
  Ipams: [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.244.2.0/24",
          Routes: [{ NextHop: "10.244.2.2", DestinationPrefix: "0.0.0.0/0" }],
        },
      ],
    },
  ],
} as const;

describe("hcn.md §9.4: L2Bridge with adapter", () => {
  it("comes back with ids, MAC pool, switch and one covering IP subnet", async () => {
    const { client } = hnsNode({ profile: "ws2025" });
    const id = await client.create("Network", NETWORK);
    expect(await client.query("Network", id, V2)).toEqual({
      ID: id,
      Name: "cbr0",
      Version: 64424509444,
      Health: {
        Data: { LastErrorCode: 0, LastUpdateTime: NUMBER },
        Extra: { LayeredOn: GUID, SwitchGuid: GUID },
      },
      SchemaVersion: { Major: 2, Minor: 0 },
      State: 1,
      Type: "L2Bridge",
      Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
      MacPool: {
        Ranges: [
          {
            StartMacAddress: expect.stringMatching(/^00-15-5D-..-.0-00$/) as unknown,
            EndMacAddress: expect.stringMatching(/^00-15-5D-..-.F-FF$/) as unknown,
          },
        ],
      },
      Dns: { Domain: "cluster.local", ServerList: ["10.96.0.10"] },
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              ID: GUID,
              IpAddressPrefix: "10.244.2.0/24",
              Routes: [{ NextHop: "10.244.2.2", DestinationPrefix: "0.0.0.0/0" }],
              IpSubnets: [{ ID: GUID, IpAddressPrefix: "10.244.2.0/24" }],
            },
          ],
        },
      ],
    });
  });

  it("lists the fields in the order of the schema", async () => {
    const { client } = hnsNode();
    const id = await client.create("Network", NETWORK);
    expect(Object.keys(await client.query("Network", id, V2))).toEqual([
      "ID",
      "Name",
      "Version",
      "Health",
      "SchemaVersion",
      "State",
      "Type",
      "Policies",
      "MacPool",
      "Dns",
      "Ipams",
    ]);
  });

  it("has a v1 view with the fields of Get-HnsNetwork", async () => {
    const { client } = hnsNode({ profile: "ws2019" });
    const id = await client.create("Network", NETWORK);
    expect(await client.query("Network", id, {})).toMatchObject({
      ActivityId: UPPER_GUID,
      AdditionalParams: {},
      CurrentEndpointCount: 0,
      DNSServerCompartment: 3,
      DrMacAddress: expect.stringMatching(/^00-15-5D-/) as unknown,
      Extensions: [
        { Id: "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A", IsEnabled: false },
        { Id: "E9B59CFA-2BE1-4B21-828F-B6FBDBDDC017", IsEnabled: true },
        { Id: "EA24CD6C-D17A-4348-9190-09F0D5BE83DD", IsEnabled: true },
      ],
      Flags: 0,
      ID: id.toUpperCase(),
      IPv6: false,
      LayeredOn: UPPER_GUID,
      ManagementIP: "10.0.2.15",
      MaxConcurrentEndpoints: 0,
      Name: "cbr0",
      NetworkAdapterName: "Ethernet",
      Policies: [],
      State: 1,
      Type: "L2Bridge",
      TotalEndpoints: 0,
    });
  });
});

describe("hcn.md §9.19: a ClusterIP with DSR", () => {
  const ids = ["78c19c4d-7edf-43bd-ab2a-5ccf97f214fe", "903b10f3-d93f-4b26-aa76-e28d60401298"] as const;
  const request = {
    HostComputeEndpoints: ids,
    SourceVIP: "10.42.6.3",
    FrontendVIPs: ["172.30.0.1"],
    PortMappings: [{ Protocol: 6, InternalPort: 6443, ExternalPort: 443, DistributionType: 2 }],
    Flags: 1,
    ...V2,
  } as const;
  const id = "3599612c-54b4-4b9d-9258-4fc5e2100549";

  async function balanced(): Promise<HnsNode & { readonly network: string }> {
    const node = hnsNode({ profile: "ws2025", version: { Major: 15, Minor: 5 } });
    const network = await node.client.create("Network", NETWORK);
    for (const endpoint of ids) await node.client.create("Endpoint", V2, { id: endpoint, network });
    await node.client.create("LoadBalancer", request, { id });
    return { ...node, network };
  }

  it("comes back with version and state, its endpoints in upper case", async () => {
    const { client, network } = await balanced();
    expect(await client.query("LoadBalancer", id, V2)).toEqual({
      ...request,
      ID: id,
      Version: 64424509445,
      Health: { Data: { LastErrorCode: 0, LastUpdateTime: NUMBER } },
      State: 2,
      HostComputeNetwork: network,
      HostComputeEndpoints: ["78C19C4D-7EDF-43BD-AB2A-5CCF97F214FE", "903B10F3-D93F-4B26-AA76-E28D60401298"],
    });
  });

  it("has a twin in v1: a policy list", async () => {
    const { client, network } = await balanced();
    expect(await client.query("LoadBalancer", id, {})).toEqual({
      ActivityId: UPPER_GUID,
      AdditionalParams: {},
      Flags: 0,
      Health: { LastErrorCode: 0, LastUpdateTime: NUMBER },
      HostComputeNetwork: network.toUpperCase(),
      ID: "3599612C-54B4-4B9D-9258-4FC5E2100549",
      IsApplied: true,
      State: 2,
      Policies: [
        {
          Type: "ELB",
          Protocol: 6,
          InternalPort: 6443,
          ExternalPort: 443,
          SourceVIP: "10.42.6.3",
          VIPs: ["172.30.0.1"],
          IsDSR: true,
        },
      ],
      References: [`/endpoints/${ids[0]}`, `/endpoints/${ids[1]}`],
      Version: 64424509445,
    });
  });

  it("takes the complete document with one back end less", async () => {
    const { client } = await balanced();
    await client.modify("LoadBalancer", id, { ...request, ID: id, HostComputeEndpoints: [ids[0]] });
    expect(await client.query("LoadBalancer", id, V2)).toMatchObject({
      HostComputeEndpoints: ["78C19C4D-7EDF-43BD-AB2A-5CCF97F214FE"],
    });
  });

  it.each([
    [
      "NodePort",
      {
        HostComputeEndpoints: [ids[0]],
        SourceVIP: "10.42.6.3",
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 31234, Flags: 2 }],
        ...V2,
      },
    ],
    [
      "external IP",
      {
        HostComputeEndpoints: [ids[0]],
        SourceVIP: "10.42.6.3",
        FrontendVIPs: ["203.0.113.10"],
        Flags: 1,
        PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80, Flags: 24 }],
        ...V2,
      },
    ],
  ])("the %s variant is kept as it is written", async (_name, document) => {
    const { client } = await balanced();
    const made = await client.create("LoadBalancer", document);
    expect(await client.query("LoadBalancer", made, V2)).toMatchObject({
      ...document,
      HostComputeEndpoints: [ids[0].toUpperCase()],
    });
  });
});

describe("hcn.md §9.11, §9.12: endpoints", () => {
  it("an endpoint without an address gets one, with the default route of the subnet", async () => {
    const { client } = hnsNode();
    const network = await client.create("Network", CBR0);
    const request = {
      Name: "default-web_nat",
      HostComputeNetwork: network,
      Dns: { ServerList: ["192.168.1.15"] },
      ...V2,
    };
    const id = await client.create("Endpoint", request, { network });
    const address = expect.stringMatching(/^10\.244\.2\.\d+$/) as unknown;
    expect(await client.query("Endpoint", id, V2)).toEqual({
      ID: id,
      Name: "default-web_nat",
      Version: 55834574851,
      Health: { Data: { LastErrorCode: 0, LastUpdateTime: NUMBER }, Extra: {} },
      SchemaVersion: { Major: 2, Minor: 0 },
      State: 1,
      HostComputeNetwork: network,
      Policies: [{ Type: "L2Driver", Settings: {} }],
      IpConfigurations: [{ IpAddress: address, PrefixLength: 24, IpSubnetId: GUID }],
      Dns: { ServerList: ["192.168.1.15"] },
      Routes: [{ NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" }],
      MacAddress: expect.stringMatching(/^00-15-5D-/) as unknown,
    });
    expect(await client.query("Endpoint", id, {})).toMatchObject({
      ID: id,
      Name: "default-web_nat",
      AdditionalParams: {},
      State: 1,
      VirtualNetwork: network,
      VirtualNetworkName: "cbr0",
      IPAddress: address,
      PrefixLength: 24,
      GatewayAddress: "10.244.2.1",
      IPSubnetId: GUID,
      DNSServerList: "192.168.1.15",
      Namespace: { ID: "00000000-0000-0000-0000-000000000000" },
      SharedContainers: [],
    });
  });

  it("a pod endpoint with the usual CNI policies comes back as it was asked for, and L2Driver", async () => {
    const { client } = hnsNode();
    const network = await client.create("Network", CBR0);
    const id = await client.create("Endpoint", POD_ENDPOINT, { network });
    const { Policies, IpConfigurations, ...rest } = POD_ENDPOINT;
    expect(await client.query("Endpoint", id, V2)).toMatchObject({
      ...rest,
      Policies: [...Policies, { Type: "L2Driver", Settings: {} }],
      IpConfigurations: [{ ...IpConfigurations[0], IpSubnetId: GUID }],
    });
  });
});

describe("hcn.md §9.16: namespaces", () => {
  it("a namespace with an endpoint", async () => {
    const { client } = hnsNode();
    const network = await client.create("Network", CBR0);
    const endpoint = await client.create("Endpoint", POD_ENDPOINT, { network });
    const id = await client.create("Namespace", { Type: "Host", ...V2 });
    const change = (RequestType: string): JsonObject => ({
      ResourceType: "Endpoint",
      RequestType,
      Settings: { EndpointId: endpoint },
    });
    await client.modify("Namespace", id, change("Add"));
    expect(await client.query("Namespace", id, V2)).toMatchObject({
      ID: id,
      Version: 55834574851,
      Health: {
        Extra: {
          Resources: {
            AdditionalParams: {},
            AllocationOrder: 1,
            Allocators: [
              {
                AdditionalParams: {},
                AllocationOrder: 0,
                CompartmentGuid: UPPER_GUID,
                CompartmentId: 2,
                CompartmentType: 0,
                Flags: 0,
                Health: { LastErrorCode: 0, LastUpdateTime: NUMBER },
                ID: UPPER_GUID,
                IsPolicy: false,
                State: 3,
                Tag: "Network Compartment",
              },
            ],
            Flags: 0,
            ID: UPPER_GUID,
            State: 1,
          },
        },
      },
      SchemaVersion: { Major: 2, Minor: 0 },
      State: 1,
      NamespaceId: 2,
      NamespaceGuid: GUID,
      Type: "Host",
      Resources: [{ Type: "Endpoint", Data: { Id: endpoint } }],
    });
    const again = await client.modify("Namespace", id, change("Add")).catch((error: unknown) => error);
    expect((again as { toRecord(): unknown }).toRecord()).toEqual({
      Success: false,
      Error: "This requested operation is invalid as endpoint is already part of a network namespace. ",
      ErrorCode: 2151350315,
    });
    await client.modify("Namespace", id, change("Remove"));
    expect(await client.query("Namespace", id, V2)).not.toHaveProperty("Resources");
  });
});

describe("hcn.md §9.17: a policy update", () => {
  it("leaves exactly the given list, with sets that were added before", async () => {
    // Sets of sets are there from HNS 15.0 on (hcn.md §7.1).
    const { client } = hnsNode({ profile: "ws2025" });
    const network = await client.create("Network", CBR0);
    const id = await client.create("Endpoint", POD_ENDPOINT, { network });
    await client.modify("Network", network, {
      ResourceType: "Policy",
      RequestType: "Add",
      Settings: {
        Policies: [
          {
            Type: "SetPolicy",
            Settings: { Id: "set-2", Name: "ip-set", PolicyType: "IPSET", Values: "10.42.6.20,10.42.6.21" },
          },
          {
            Type: "SetPolicy",
            Settings: { Id: "ns-prod", Name: "ns-prod", PolicyType: "NESTEDIPSET", Values: "set-2" },
          },
        ],
      },
    });
    const Policies = [
      {
        Type: "ACL",
        Settings: {
          Id: "azure-acl-ns-x",
          Protocols: "6",
          Action: "Block",
          Direction: "In",
          RemoteAddresses: "ns-prod,set-2",
          LocalPorts: "8080",
          RuleType: "Switch",
          Priority: 201,
        },
      },
      { Type: "ACL", Settings: { Action: "Allow", Direction: "Out", Priority: 65500 } },
      { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080 } },
    ];
    await client.modify("Endpoint", id, {
      ResourceType: "Policy",
      RequestType: "Update",
      Settings: { Policies },
    });
    expect((await client.query("Endpoint", id, V2))["Policies"]).toEqual(Policies);
  });
});

describe("hcn.md §9.22: queries", () => {
  it("by name, by network, in v1 form with details, by state, by flags", async () => {
    const { client } = hnsNode();
    const network = await client.create("Network", { ...CBR0, Flags: 328 });
    const endpoint = await client.create("Endpoint", POD_ENDPOINT, { network });
    const query = (filter: object, minor = 0): JsonObject => ({
      SchemaVersion: { Major: 2, Minor: minor },
      Filter: JSON.stringify(filter),
    });
    expect(await client.enumerate("Network", query({ Name: "cbr0" }))).toEqual([network]);
    expect(await client.enumerate("Endpoint", query({ VirtualNetwork: network }))).toEqual([endpoint]);
    expect(await client.enumerate("Endpoint", query({ State: 3 }))).toEqual([]);
    const detailed = { SchemaVersion: { Major: 1, Minor: 0 }, Flags: 1, Filter: "{}" };
    expect(await client.enumerate("Network", detailed)).toEqual([network]);
    for (const asked of [detailed, { ...V2, Flags: 1 }])
      expect(await client.query("Network", network, asked)).toHaveProperty("Layer.Resources.Allocators");
    expect(await client.enumerate("Network", query({ Flags: 328 }, 16))).toEqual([network]);
  });
});

describe("hcn.md §9.23: a v1 conversation", () => {
  it("moby's endpoint", async () => {
    const { client } = hnsNode({ profile: "ws2019" });
    const body = {
      Name: "external",
      Type: "L2Bridge",
      Subnets: [{ AddressPrefix: "10.0.1.0/24", GatewayAddress: "10.0.1.1" }],
    };
    const made = await client.call("POST", "/networks/", JSON.stringify(body));
    const network = (made["Output"] as JsonObject)["ID"];
    const endpoint = {
      Name: "default_mak6",
      VirtualNetwork: network,
      MacAddress: "0a-00-00-00-00-3b",
      IPAddress: "10.0.1.5",
      PrefixLength: 24,
    };
    expect(await client.call("POST", "/endpoints/", JSON.stringify(endpoint))).toMatchObject({
      Success: true,
      Output: {
        ActivityId: UPPER_GUID,
        AdditionalParams: {},
        GatewayAddress: "10.0.1.1",
        ID: UPPER_GUID,
        IPAddress: "10.0.1.5",
        MacAddress: "0a-00-00-00-00-3b",
        Name: "default_mak6",
        PrefixLength: 24,
        SharedContainers: [],
        State: 1,
        Type: "L2Bridge",
        VirtualNetwork: network,
        VirtualNetworkName: "external",
      },
    });
  });

  it("an adapter that is not there (hcn.md §9.24)", async () => {
    const body = {
      Name: "external",
      Type: "L2Bridge",
      NetworkAdapterName: "Ethernet 7",
      Subnets: [{ AddressPrefix: "10.0.1.0/24", GatewayAddress: "10.0.1.1" }],
    };
    expect(await hnsNode().client.call("POST", "/networks/", JSON.stringify(body))).toEqual({
      Error: "An adapter was not found. ",
      ErrorCode: 2151350278,
      Success: false,
    });
  });
});
