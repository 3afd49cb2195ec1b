/** The rows of hcn.md §10 about networks, each as its client does it. */
import { describe, expect, it } from "vitest";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { HcnNotFoundError } from "#contracts/hcn/error.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import {
  createEndpoint,
  createNetwork,
  deleteNetwork,
  getNetworkById,
  getNetworkByName,
  listEndpointsOfNetwork,
  listNetworks,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const UNKNOWN = "11111111-2222-4333-8444-555555555555";
const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function route(gateway: string): { readonly NextHop: string; readonly DestinationPrefix: string } {
  return { NextHop: gateway, DestinationPrefix: gateway.includes(":") ? "::/0" : "0.0.0.0/0" };
}

/** hcsshim's test networks (hcnutils_test.go, hcn.md §9.2). */
const NAT: HostComputeNetwork = {
  Name: "nat-fixed",
  Type: "NAT",
  MacPool: { Ranges: [{ StartMacAddress: "00-15-5D-52-C0-00", EndMacAddress: "00-15-5D-52-CF-FF" }] },
  Ipams: [
    {
      Type: "Static",
      Subnets: [{ IpAddressPrefix: "192.168.100.0/24", Routes: [route("192.168.100.1")] }],
    },
  ],
};

function overlay(name: string, vsid: number, prefix = "192.168.100"): HostComputeNetwork {
  return {
    Name: name,
    Type: "Overlay",
    Flags: 8,
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: `${prefix}.0/24`,
            Routes: [route(`${prefix}.1`)],
            Policies: [{ Type: "VSID", Settings: { IsolationId: vsid } }],
          },
        ],
      },
    ],
  };
}

/** What every v1 object has. */
interface V1Object extends JsonObject {
  readonly ID: string;
  readonly Type: string;
}

/** multipass' network: v2, a subnet without routes. */
const ICS: JsonObject = {
  Name: "multipass-test",
  Type: "ICS",
  Ipams: [{ Type: "static", Subnets: [{ Policies: [], IpAddressPrefix: "172.50.224.0/20" }] }],
  Flags: 0,
  SchemaVersion: { Major: 2, Minor: 2 },
};

async function v1(node: HnsNode, method: "GET" | "POST", path: string, body?: JsonValue): Promise<V1Object> {
  return (await requestHns(node.client, method, path, body as JsonObject | undefined)) as V1Object;
}

function typesOf(network: HostComputeNetwork): readonly string[] {
  return (network.Policies ?? []).map((policy) => policy.Type);
}

describe("hcsshim", () => {
  it("HCN-004: a NAT network with an explicit /24 and MacPool is created and deleted", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, NAT);
    expect(network.MacPool).toEqual(NAT.MacPool);
    expect(network.Ipams).toMatchObject(NAT.Ipams!);
    const endpoint = await createEndpoint(client, network.ID, { Name: "e" });
    expect(endpoint.MacAddress).toMatch(/^00-15-5D-52-C/);
    await deleteNetwork(client, network.ID);
    expect(await listNetworks(client)).toEqual([]);
  });

  it("HCN-005: a query of a NAT network omits Type, and the client gets NAT", async () => {
    const { client } = hnsNode();
    const id = (await createNetwork(client, NAT)).ID;
    expect(await client.query("Network", id, V2)).not.toHaveProperty("Type");
    expect((await getNetworkById(client, id)).Type).toBe("NAT");
    expect(await client.query("Network", id, { SchemaVersion: { Major: 1, Minor: 0 } })).toMatchObject({
      Type: "NAT",
    });
  });

  it("HCN-006: by name finds the network; an unknown name is the client's not-found", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, NAT);
    expect((await getNetworkByName(client, "nat-fixed")).ID).toBe(network.ID);
    expect(await client.enumerate("Network", { ...V2, Filter: '{"Name":"missing"}' })).toEqual([]);
    await expect(getNetworkByName(client, "missing")).rejects.toBeInstanceOf(HcnNotFoundError);
  });

  it("HCN-007: enumeration with a filter for an unknown id succeeds with an empty array", async () => {
    const { client } = hnsNode();
    await createNetwork(client, NAT);
    expect(await client.enumerate("Network", { ...V2, Filter: JSON.stringify({ ID: UNKNOWN }) })).toEqual([]);
    await expect(getNetworkById(client, UNKNOWN)).rejects.toBeInstanceOf(HcnNotFoundError);
  });

  it("HCN-008: every enumerated id can be opened", async () => {
    const { client } = hnsNode();
    expect(await client.enumerate("Network")).toEqual([]);
    await createNetwork(client, NAT);
    await createNetwork(client, overlay("ovl", 5000, "10.42.6"));
    const ids = await client.enumerate("Network");
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(await client.query("Network", id, V2)).toMatchObject({ ID: id });
  });

  it("HCN-016: a v1 document is accepted by create and comes back as v2", async () => {
    const { client } = hnsNode();
    const id = await client.create("Network", {
      Name: "nat-fixed",
      Type: "NAT",
      MacPools: [{ StartMacAddress: "00-15-5D-52-C0-00", EndMacAddress: "00-15-5D-52-CF-FF" }],
      Subnets: [{ AddressPrefix: "192.168.100.0/24", GatewayAddress: "192.168.100.1" }],
    });
    expect(await getNetworkById(client, id)).toMatchObject({ ...NAT, SchemaVersion: { Major: 2, Minor: 0 } });
  });

  it("HCN-042: a network can be deleted while an endpoint exists, and takes endpoints and routes along", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, overlay("ovl", 5000));
    const [one, two] = [
      await createEndpoint(client, network.ID, { Name: "one" }),
      await createEndpoint(client, network.ID, { Name: "two" }),
    ];
    await client.create("SdnRoute", {
      ...V2,
      HostComputeEndpoints: [one.ID],
      Setting: [{ DestinationPrefix: "169.254.169.254/24", NextHop: "127.10.0.33" }],
    });
    await client.delete("Endpoint", one.ID);
    await deleteNetwork(client, network.ID);
    expect(await client.enumerate("Endpoint")).toEqual([]);
    expect(await client.enumerate("SdnRoute")).toEqual([]);
    await expect(client.query("Endpoint", two.ID, V2)).rejects.toMatchObject({
      code: "HCN_E_ENDPOINT_NOT_FOUND",
    });
  });

  it("HCN-043: an Overlay network with VSID 5000 returns its flag 8", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, overlay("ovl", 5000));
    expect((await getNetworkById(client, network.ID)).Flags).toBe(8);
  });

  it("HCN-044, HCN-045: RemoteSubnetRoute and HostRoute come to an Overlay network and go", async () => {
    const { client } = hnsNode();
    const { ID } = await createNetwork(client, overlay("ovl", 5000));
    const remote = {
      Type: "RemoteSubnetRoute",
      Settings: {
        DestinationPrefix: "192.168.2.0/24",
        IsolationId: 5000,
        ProviderAddress: "1.1.1.1",
        DistributedRouterMacAddress: "00-12-34-56-78-9a",
      },
    };
    const host = { Type: "HostRoute", Settings: {} };
    for (const policy of [remote, host]) {
      expect((await modifyNetworkPolicies(client, ID, "Add", [policy])).Policies).toContainEqual(policy);
      expect((await modifyNetworkPolicies(client, ID, "Remove", [policy])).Policies).not.toContainEqual(
        policy,
      );
    }
  });

  it("HCN-051: a dual-stack NAT network; an endpoint keeps both addresses and lengths", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, {
      Name: "lcow-test-nat",
      Type: "NAT",
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            { IpAddressPrefix: "192.168.128.0/20", Routes: [route("192.168.128.1")] },
            { IpAddressPrefix: "fd00::100/120", Routes: [route("fd00::101")] },
          ],
        },
      ],
    });
    const IpConfigurations = [
      { IpAddress: "192.168.128.4", PrefixLength: 20 },
      { IpAddress: "fd00::106", PrefixLength: 120 },
    ];
    const endpoint = await createEndpoint(client, network.ID, { Name: "lcow", IpConfigurations });
    expect(endpoint.IpConfigurations).toMatchObject(IpConfigurations);
  });

  it("HCN-053: a deleted network is not found 2 s later and does not come back", async () => {
    const { client, clock } = hnsNode({ networking: { addressDelayMs: 1_000 } });
    const network = await createNetwork(client, overlay("ovl", 5000));
    await deleteNetwork(client, network.ID);
    clock.runUntil(clock.nowMs + 2_000);
    await expect(getNetworkById(client, network.ID)).rejects.toBeInstanceOf(HcnNotFoundError);
    expect(await client.enumerate("Network")).toEqual([]);
  });
});

describe("multipass", () => {
  it("HCN-009: enumerated GUIDs are lower-case without braces", async () => {
    const { client } = hnsNode();
    await client.create("Network", ICS, { id: "B70C479D-F808-4053-AAFA-705BC15B6D68" });
    expect(await client.enumerate("Network", {})).toEqual(["b70c479d-f808-4053-aafa-705bc15b6d68"]);
    await createNetwork(client, NAT);
    for (const id of await client.enumerate("Network")) expect(id).toMatch(GUID);
  });

  it("HCN-010: an explicit GUID is honoured, deletes by it, and is not enumerated any more", async () => {
    const { client } = hnsNode();
    const id = "b70c479d-f808-4053-aafa-705bc15b6d68";
    expect(await client.create("Network", ICS, { id })).toBe(id);
    await client.delete("Network", id.toUpperCase());
    expect(await client.enumerate("Network")).toEqual([]);
  });

  it("HCN-011: an ICS network with one subnet and no routes is accepted", async () => {
    const { client } = hnsNode();
    const id = await client.create("Network", ICS);
    expect(await client.query("Network", id, V2)).toMatchObject({
      Type: "ICS",
      Ipams: [{ Type: "Static", Subnets: [{ IpAddressPrefix: "172.50.224.0/20" }] }],
    });
  });

  it("HCN-012: a query with {} gives v1 fields", async () => {
    const { client } = hnsNode();
    const id = await client.create("Network", ICS);
    expect(await client.query("Network", id, {})).toMatchObject({
      Name: "multipass-test",
      Type: "ICS",
      ID: id.toUpperCase(),
    });
  });

  it("HCN-013: the zero GUID cannot be opened", async () => {
    const { client } = hnsNode();
    await expect(client.query("Network", "00000000-0000-0000-0000-000000000000", {})).rejects.toMatchObject({
      code: "HCN_E_NETWORK_NOT_FOUND",
    });
  });

  it("HCN-015: deleting a network that does not exist fails and changes nothing", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, NAT);
    await expect(client.delete("Network", UNKNOWN)).rejects.toMatchObject({
      code: "HCN_E_NETWORK_NOT_FOUND",
    });
    expect(await client.enumerate("Network")).toEqual([network.ID]);
  });
});

describe("refusals that users have met", () => {
  it("HCN-058: after a duplicate name or id WSL opens the existing network", async () => {
    const { client } = hnsNode();
    const id = "b95d0c5e-57d4-412b-b571-18a81a16e005";
    await client.create("Network", { ...ICS, Name: "WSL" }, { id });
    for (const [document, wanted] of [
      [{ ...ICS, Name: "WSL" }, undefined],
      [{ ...ICS, Name: "other" }, id],
    ] as const) {
      const refused = client.create("Network", document, wanted === undefined ? {} : { id: wanted });
      await expect(refused).rejects.toMatchObject({ code: "HCN_E_NETWORK_ALREADY_EXISTS" });
    }
    expect((await getNetworkById(client, id)).Name).toBe("WSL");
  });

  it.each([
    ["no adapter of that name", "Ethernet 9", "HCN_E_ADAPTER_NOT_FOUND"],
    ["a switch's vNIC", "vEthernet (Ethernet)", "ERROR_INVALID_PARAMETER"],
    ["a virtual adapter", "Tunnel", "ERROR_INVALID_PARAMETER"],
    ["an adapter with a switch that Hyper-V's manager made", "Ethernet 2", "ERROR_INVALID_PARAMETER"],
    ["a Wi-Fi adapter", "Wi-Fi", "ERROR_INVALID_PARAMETER"],
  ])("HCN-059: %s", async (_name, adapter, code) => {
    const { client } = hnsNode({
      adapters: [
        { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" },
        { name: "Tunnel", address: "10.8.0.2/24", mac: "00-22-48-01-02-04", isVirtual: true },
        { name: "Ethernet 2", address: "10.1.2.15/24", mac: "00-22-48-01-02-05", outsideSwitch: "LAN" },
        { name: "Wi-Fi", address: "10.2.2.15/24", mac: "00-22-48-01-02-06", medium: "wireless" },
      ],
    });
    const Policies = [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: adapter } }];
    await expect(createNetwork(client, { ...CBR0, Policies })).rejects.toMatchObject({ code });
  });

  it.each(["NAT", "L2Bridge", "ICS", "Transparent"] as const)(
    "HCN-060: a prefix with host bits on a network of type %s",
    async (Type) => {
      const { client } = hnsNode();
      const Subnets = [{ IpAddressPrefix: "172.22.16.0/16", Routes: [route("172.22.16.1")] }];
      await expect(createNetwork(client, { Name: "n", Type, Ipams: [{ Subnets }] })).rejects.toMatchObject({
        code: "HCN_E_INVALID_NETWORK",
        hresult: 0x803b000a,
      });
    },
  );
});

describe("flannel", () => {
  it("HCN-070: ProviderAddress and DrMacAddress appear on the Overlay network within 5 s", async () => {
    const { client, clock } = hnsNode({ networking: { addressDelayMs: 2_000 } });
    const network = await createNetwork(client, overlay("flannel.4096", 4096));
    expect(typesOf(network)).toEqual(["NetAdapterName"]);
    let polls = 0;
    let found: readonly string[] = [];
    while (!found.includes("ProviderAddress") && polls++ < 10) {
      clock.runUntil(clock.nowMs + 500);
      found = typesOf(await getNetworkById(client, network.ID));
    }
    expect(found).toEqual(["NetAdapterName", "ProviderAddress", "DrMacAddress"]);
    expect(polls).toBe(4);
    const policies = (await getNetworkById(client, network.ID)).Policies!;
    expect(policies[1]?.Settings).toEqual({ ProviderAddress: "10.0.2.15" });
    expect(policies[2]?.Settings?.["Address"]).toMatch(/^00-15-5D(-[0-9A-F]{2}){3}$/);
  });

  it("HCN-089: a stale route to a subnet is replaced when its MAC or VNI changes; HNS takes any VNI", async () => {
    const { client } = hnsNode();
    // That a VNI is 4096 or more is flannel's own rule.
    const { ID } = await createNetwork(client, overlay("flannel.100", 100));
    const routeTo = (mac: string, vni: number) => ({
      Type: "RemoteSubnetRoute",
      Settings: {
        DestinationPrefix: "10.42.7.0/24",
        IsolationId: vni,
        ProviderAddress: "192.168.1.213",
        DistributedRouterMacAddress: mac,
      },
    });
    const stale = routeTo("0a-1b-2c-3d-4e-5f", 4096);
    const fresh = routeTo("0a-1b-2c-3d-4e-60", 4097);
    await modifyNetworkPolicies(client, ID, "Add", [stale]);
    await modifyNetworkPolicies(client, ID, "Remove", [stale]);
    const after = await modifyNetworkPolicies(client, ID, "Add", [fresh]);
    expect(after.Policies?.filter((policy) => policy.Type === "RemoteSubnetRoute")).toEqual([fresh]);
  });

  it.each([
    ["L2Bridge", "192.168.255.0/30", "192.168.255.1", undefined],
    ["Overlay", "192.168.255.0/30", "192.168.255.1", 9999],
  ] as const)(
    "HCN-090: the helper network External of type %s makes the switch, and the real one joins it",
    async (Type, prefix, gateway, vsid) => {
      const { client, datapath } = hnsNode();
      const Policies = vsid === undefined ? [] : [{ Type: "VSID", VSID: vsid }];
      await client.call(
        "POST",
        "/networks",
        JSON.stringify({
          Name: "External",
          Type: Type.toLowerCase(),
          Subnets: [{ AddressPrefix: prefix, GatewayAddress: gateway, Policies }],
        }),
      );
      const [made] = datapath.listSwitches();
      const real = Type === "Overlay" ? overlay("vxlan0", 4096, "10.244.2") : CBR0;
      const network = await createNetwork(client, real);
      expect(network.Health?.Extra).toMatchObject({ SwitchGuid: made });
      expect(datapath.listSwitches()).toEqual([made]);
    },
  );
});

describe("kube-proxy and the plugins", () => {
  it.each([
    ["overlay", "Overlay"],
    ["L2BRIDGE", "L2Bridge"],
    ["l2tunnel", "L2Tunnel"],
    ["nat", "NAT"],
    ["transparent", "Transparent"],
  ])("HCN-071: type %s comes back as %s in v1", async (sent, canonical) => {
    const node = hnsNode();
    const Policies = sent === "overlay" ? [{ Type: "VSID", VSID: 4096 }] : [];
    const Subnets = [{ AddressPrefix: "10.244.2.0/24", GatewayAddress: "10.244.2.1", Policies }];
    const made = await v1(node, "POST", "/networks", { Name: "n", Type: sent, Subnets });
    expect(made.Type).toBe(canonical);
    expect(await v1(node, "GET", `/networks/${made.ID.toLowerCase()}`)).toMatchObject({
      Type: canonical,
    });
  });

  it("HCN-078: win-overlay finds ManagementIP and the gateway in the v1 network", async () => {
    const node = hnsNode({ networking: { addressDelayMs: 2_000 } });
    const network = await createNetwork(node.client, overlay("vxlan0", 4096, "10.244.2"));
    const path = `/networks/${network.ID}`;
    expect(await v1(node, "GET", path)).not.toHaveProperty("ManagementIP");
    node.clock.runUntil(2_000);
    expect(await v1(node, "GET", path)).toMatchObject({
      ManagementIP: "10.0.2.15",
      Subnets: [{ GatewayAddress: "10.244.2.1" }],
    });
  });

  it.each(["L2Bridge", "L2Tunnel"] as const)(
    "HCN-079: win-bridge finds type %s and the routes of the first subnet",
    async (Type) => {
      const { client } = hnsNode();
      const network = await createNetwork(client, { ...CBR0, Type });
      expect(network.Type).toBe(Type);
      expect(network.Ipams?.[0]?.Subnets?.[0]?.Routes).toEqual([route("10.244.2.1")]);
    },
  );

  it("HCN-092: moby's overlay makes peers as remote endpoints with PA, and takes AutomaticDNS", async () => {
    const node = hnsNode();
    const network = await v1(node, "POST", "/networks", {
      Name: "ovl",
      Type: "overlay",
      Subnets: [
        {
          AddressPrefix: "10.0.1.0/24",
          GatewayAddress: "10.0.1.1",
          Policies: [{ Type: "VSID", VSID: 4097 }],
        },
      ],
      NetworkAdapterName: "Ethernet",
      AutomaticDNS: true,
    });
    expect(network["AutomaticDNS"]).toBe(true);
    const peer = await v1(node, "POST", "/endpoints", {
      Name: "ep-peer",
      VirtualNetwork: network.ID,
      MacAddress: "02-42-0a-00-01-05",
      IPAddress: "10.0.1.5",
      IsRemoteEndpoint: true,
      Policies: [{ Type: "PA", PA: "10.0.2.16" }],
    });
    expect(peer).toMatchObject({
      IsRemoteEndpoint: true,
      Policies: [{ Type: "PA", PA: "10.0.2.16" }],
    });
    const [found] = await listEndpointsOfNetwork(node.client, network.ID);
    expect(found).toMatchObject({ Flags: 1, IpConfigurations: [{ IpAddress: "10.0.1.5" }] });
  });

  it("HCN-091: moby adopts the network nat that is there, and finds its type in lower case", async () => {
    const node = hnsNode();
    const any = [{ AddressPrefix: "0.0.0.0/0", GatewayAddress: "0.0.0.0" }];
    const first = await v1(node, "POST", "/networks", { Name: "nat", Type: "nat", Subnets: any });
    const networks = (await v1(node, "GET", "/networks/")) as unknown as readonly V1Object[];
    const adopted = networks.find((network) => network.Type.toLowerCase() === "nat");
    expect(adopted?.ID).toBe(first.ID);
    await expect(
      v1(node, "POST", "/networks", { Name: "nat", Type: "nat", Subnets: any }),
    ).rejects.toMatchObject({ code: "HCN_E_NETWORK_ALREADY_EXISTS" });
  });
});

describe("HCN-091 docker on a node that has networks", () => {
  it.each(["nat", "NAT", "Nat"])(
    "type %s of a request is one type, which answers spell NAT",
    async (Type) => {
      const node = hnsNode();
      const Subnets = [{ AddressPrefix: "0.0.0.0/0", GatewayAddress: "0.0.0.0" }];
      const made = await v1(node, "POST", "/networks", { Name: "nat", Type, Subnets });
      const listed = (await v1(node, "GET", "/networks/")) as unknown as readonly V1Object[];
      expect(listed.map((network) => [network.ID, network["Name"], network.Type])).toEqual([
        [made.ID, "nat", "NAT"],
      ]);
    },
  );

  it("adopts the network nat that HCN made: its subnet, and endpoints in it", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, { ...NAT, Name: "nat" });
    const listed = (await v1(node, "GET", "/networks/")) as unknown as readonly V1Object[];
    expect(listed).toMatchObject([
      {
        // v1 of this build writes capital letters (hcn.md §2.12).
        ID: ID.toUpperCase(),
        Name: "nat",
        Type: "NAT",
        Subnets: [{ AddressPrefix: "192.168.100.0/24", GatewayAddress: "192.168.100.1" }],
      },
    ]);
    const endpoint = await v1(node, "POST", "/endpoints/", { Name: "web", VirtualNetwork: ID });
    expect(endpoint).toMatchObject({
      VirtualNetwork: ID,
      GatewayAddress: "192.168.100.1",
      PrefixLength: 24,
    });
    expect(endpoint["IPAddress"]).toMatch(/^192\.168\.100\.\d+$/);
    expect(await listEndpointsOfNetwork(node.client, ID)).toMatchObject([{ ID: endpoint.ID.toLowerCase() }]);
  });

  it("0.0.0.0/0 takes a free subnet beside those that are there", async () => {
    const node = hnsNode();
    await createNetwork(node.client, NAT);
    const any = [{ AddressPrefix: "0.0.0.0/0", GatewayAddress: "0.0.0.0" }];
    const made = await v1(node, "POST", "/networks", { Name: "nat", Type: "nat", Subnets: any });
    const [subnet] = made["Subnets"] as unknown as readonly Record<string, string>[];
    expect(subnet?.["AddressPrefix"]).toMatch(/^172\.(1[6-9]|2\d|3[01])\.\d+\.0\/20$/);
    expect(subnet?.["GatewayAddress"]).toBe(subnet?.["AddressPrefix"]?.replace(/\.0\/20$/, ".1"));
  });
});

it("v1 counts the endpoints that are, that were at once, and that ever were (hcn.md §2.12)", async () => {
  const node = hnsNode();
  const network = await createNetwork(node.client, NAT);
  const counts = async (): Promise<JsonObject> => v1(node, "GET", `/networks/${network.ID}`);
  expect(await counts()).toMatchObject({
    CurrentEndpointCount: 0,
    MaxConcurrentEndpoints: 0,
    TotalEndpoints: 0,
  });
  const ids = [];
  for (const name of ["a", "b", "c"])
    ids.push((await createEndpoint(node.client, network.ID, { Name: name })).ID);
  for (const id of ids) await node.client.delete("Endpoint", id);
  await createEndpoint(node.client, network.ID, { Name: "d" });
  expect(await counts()).toMatchObject({
    CurrentEndpointCount: 1,
    MaxConcurrentEndpoints: 3,
    TotalEndpoints: 4,
  });
});

describe("ncproxy, azure, antrea, WSL", () => {
  it("HCN-099: a LayerConstraint network is put on the switch whose LayeredOn it names", async () => {
    const { client, datapath } = hnsNode();
    const base = await createNetwork(client, CBR0);
    const extra = base.Health?.Extra;
    const layer = isJsonObject(extra) ? (extra["LayeredOn"] ?? null) : null;
    const constrained = (id: JsonValue): HostComputeNetwork => ({
      Name: "ncproxy",
      Type: "Transparent",
      Policies: [{ Type: "LayerConstraint", Settings: { LayerId: id } }],
    });
    await expect(createNetwork(client, constrained(UNKNOWN))).rejects.toMatchObject({
      code: "HCN_E_LAYER_NOT_FOUND",
    });
    const network = await createNetwork(client, constrained(layer));
    expect(network.Health?.Extra).toMatchObject({ LayeredOn: layer });
    expect(datapath.listSwitches()).toHaveLength(1);
    await deleteNetwork(client, base.ID);
    expect(datapath.listSwitches()).toHaveLength(1);
    await deleteNetwork(client, network.ID);
    expect(datapath.listSwitches()).toEqual([]);
  });

  it("HCN-100: azure's APIPA network on a loopback adapter, with ACLs at 1000 and 2000", async () => {
    const { client } = hnsNode({
      adapters: [
        { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" },
        { name: "Ethernet 3", address: "169.254.128.1/17", mac: "02-00-4C-4F-4F-50" },
      ],
    });
    const network = await createNetwork(client, {
      Name: "HostNCApipaNetwork",
      Type: "L2Bridge",
      Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 3" } }],
      Ipams: [
        {
          Type: "Static",
          Subnets: [{ IpAddressPrefix: "169.254.128.0/17", Routes: [route("169.254.128.2")] }],
        },
      ],
    });
    const acl = (Action: string, Priority: number) => ({
      Type: "ACL",
      Settings: { Protocols: "6", Action, Direction: "In", RuleType: "Switch", Priority },
    });
    const endpoint = await createEndpoint(client, network.ID, {
      Name: "HostNCApipaEndpoint",
      IpConfigurations: [{ IpAddress: "169.254.128.7", PrefixLength: 17 }],
      Policies: [acl("Allow", 1000), acl("Block", 2000)],
    });
    expect(endpoint.Routes).toEqual([route("169.254.128.2")]);
    const priorities = endpoint.Policies?.map((policy) => policy.Settings?.["Priority"]);
    expect(priorities?.slice(0, 2)).toEqual([1000, 2000]);
  });

  it("HCN-102: antrea's Transparent network on a named uplink; its OVS extension is turned on", async () => {
    const ovs = "583cc151-73ec-4a6a-8b47-578297ad7623";
    const node = hnsNode({ networking: { switchExtensions: [{ id: ovs, name: "Open vSwitch Extension" }] } });
    const network = await v1(node, "POST", "/networks", {
      Name: "antrea-hnsnetwork",
      Type: "Transparent",
      NetworkAdapterName: "Ethernet",
      ManagementIP: "10.0.2.15/24",
      SourceMac: "00-22-48-01-02-03",
      Subnets: [{ AddressPrefix: "10.244.3.0/24", GatewayAddress: "10.244.3.1" }],
    });
    expect(network).toMatchObject({ ManagementIP: "10.0.2.15", NetworkAdapterName: "Ethernet" });
    const body = { Extensions: [{ Id: ovs.toUpperCase(), IsEnabled: true }] };
    const after = await v1(node, "POST", `/networks/${network.ID}`, body);
    expect(after["Extensions"]).toContainEqual({
      Id: ovs.toUpperCase(),
      IsEnabled: true,
      Name: "Open vSwitch Extension",
    });
    const none = hnsNode({ adapters: [] });
    await expect(
      v1(none, "POST", "/networks", { Name: "antrea-hnsnetwork", Type: "Transparent" }),
    ).rejects.toMatchObject({ code: "HCN_E_ADAPTER_NOT_FOUND" });
  });

  it("HCN-095: a query for flow steering makes mirrored networks later; callbacks tell of them", async () => {
    const node = hnsNode({
      profile: "ws2025",
      networking: { addressDelayMs: 1_000 },
      adapters: [
        { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" },
        { name: "Wi-Fi", address: "10.2.2.15/24", mac: "00-22-48-01-02-06", medium: "wireless" },
      ],
    });
    const heard: JsonValue[] = [];
    const listener = (each: { readonly type: number; readonly data: JsonObject }): void => {
      if (each.type === 2) heard.push(each.data["Flags"] ?? null);
    };
    const unsubscribe = node.client.subscribe(listener);
    const filter = { SchemaVersion: { Major: 2, Minor: 16 }, Filter: '{"Flags":328}' };
    expect(await node.client.enumerate("Network", filter)).toEqual([]);
    expect(node.service.nextMomentMs).toBe(1_000);
    node.clock.runUntil(1_000);
    await node.client.flush();
    expect(heard).toEqual([328, 328]);
    const ids = await node.client.enumerate("Network", filter);
    expect(ids).toHaveLength(2);
    const adapters = [];
    for (const id of ids) {
      const network = await getNetworkById(node.client, id);
      expect(network.Type).toBe("Mirrored");
      adapters.push(network.Policies?.[0]?.Settings?.["NetworkAdapterName"]);
    }
    expect(adapters).toEqual(["Ethernet", "Wi-Fi"]);
    node.clock.runUntil(5_000);
    expect(await node.client.enumerate("Network", filter)).toHaveLength(2);
    unsubscribe();
    // The service goes away and comes back: clients register again.
    const disconnects: number[] = [];
    node.client.subscribe((each) => disconnects.push(each.type));
    await node.client.close();
    expect(disconnects).toEqual([0x0100_0000]);
    node.client.subscribe(listener);
    await createNetwork(node.client, { Name: "again", Type: "Private" });
    expect(heard).toHaveLength(3);
  });
});

describe("the gateway of a subnet", () => {
  const dualStack = (gateway: string): HostComputeNetwork => {
    const ipv4 = { IpAddressPrefix: "10.244.1.0/24", Routes: [route("10.244.1.1")] };
    const ipv6 = { IpAddressPrefix: "fd12:1::/64", Routes: [route(gateway)] };
    return { ...CBR0, Ipams: [{ Type: "Static", Subnets: [ipv4, ipv6] }] };
  };

  it("CNI-140: may be link-local in a subnet of IPv6, as on Azure's nodes with two families", async () => {
    const { client } = hnsNode();
    const network = await createNetwork(client, dualStack("fe80::1234:5678:9abc"));
    expect(network.Ipams?.[0]?.Subnets?.[1]?.Routes?.[0]?.NextHop).toBe("fe80::1234:5678:9abc");
  });

  it.each(["fd13::1", "ff02::1"])(
    "is refused when it is %s, which is no address of the subnet",
    async (gateway) => {
      const { client } = hnsNode();
      await expect(createNetwork(client, dualStack(gateway))).rejects.toMatchObject({
        code: "HCN_E_INVALID_NETWORK",
      });
    },
  );
});
