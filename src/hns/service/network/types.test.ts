/** Every type of network: its switch, its subnets, and what its endpoints get (hcn.md §4.1, §9). */
import { describe, expect, it } from "vitest";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  deleteNetwork,
} from "#contracts/hcn/operations.ts";
import type { HostComputeNetwork, Ipam, NetworkType } from "#contracts/hcn/documents/network.ts";
import { formatIp, parsePrefix, prefixContains, prefixesOverlap } from "#core/net/ip.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const TWO_ADAPTERS = [
  { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" },
  { name: "Ethernet 2", address: "192.168.1.5/24", mac: "00-22-48-01-02-04" },
] as const;

const SCHEMA = { Major: 2, Minor: 0 } as const;

function subnetOf(prefix: string, gateway: string): readonly Ipam[] {
  return [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: prefix,
          Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }],
          Policies: [],
        },
      ],
    },
  ];
}

function vsid(id: number): readonly Ipam[] {
  return [
    {
      Type: "Static",
      Subnets: [
        {
          IpAddressPrefix: "10.42.6.0/24",
          Routes: [{ NextHop: "10.42.6.1", DestinationPrefix: "0.0.0.0/0" }],
          Policies: [{ Type: "VSID", Settings: { IsolationId: id } }],
        },
      ],
    },
  ];
}

/** One network of each type that a node without special hardware makes. */
const NETWORKS: readonly (readonly [NetworkType, HostComputeNetwork])[] = [
  ["NAT", { Name: "nat-auto", Type: "NAT", Flags: 8, SchemaVersion: SCHEMA }],
  ["ICS", { Name: "WSL", Type: "ICS", Ipams: subnetOf("172.24.48.0/20", "172.24.48.1") }],
  ["ConstrainedICS", { Name: "c-ics", Type: "ConstrainedICS" }],
  ["Transparent", { Name: "external", Type: "Transparent" }],
  ["L2Bridge", CBR0],
  ["L2Tunnel", { ...CBR0, Name: "azure", Type: "L2Tunnel" }],
  ["Overlay", { Name: "flannel.4096", Type: "Overlay", Flags: 8, Ipams: vsid(4096) }],
  ["Private", { Name: "vmnet-priv", Type: "Private", SchemaVersion: { Major: 2, Minor: 2 } }],
  ["Internal", { Name: "internal-1", Type: "Internal", Ipams: subnetOf("10.11.0.0/24", "10.11.0.1") }],
  ["Mirrored", { Name: "mirror", Type: "Mirrored" }],
];

/** The kind of switch of each type (hcn.md §4.1, table). */
const SWITCH_KINDS: Readonly<Partial<Record<NetworkType, string>>> = {
  NAT: "internal",
  ICS: "internal",
  ConstrainedICS: "internal",
  Internal: "internal",
  Private: "private",
  Transparent: "external",
  L2Bridge: "external",
  L2Tunnel: "external",
  Overlay: "external",
};

async function createdOn(node: HnsNode, network: HostComputeNetwork): Promise<HostComputeNetwork> {
  return createNetwork(node.client, { SchemaVersion: SCHEMA, ...network });
}

describe.each(NETWORKS)("a network of type %s", (type, request) => {
  it("is made with its kind of switch, shown in both dialects, and deleted with its switch", async () => {
    const node = hnsNode({ profile: "ws2025" });
    const network = await createdOn(node, request);
    // NAT is the default and left out (hcn.md §1.6); `createNetwork` fills it in as hcsshim does.
    expect(network.Type ?? "NAT").toBe(type);
    const v1 = await node.client.call("GET", `/networks/${network.ID}`, "");
    expect(v1).toMatchObject({ Success: true, Output: { Name: request.Name, Type: type, State: 1 } });
    const [switchId] = node.datapath.listSwitches();
    if (SWITCH_KINDS[type] !== undefined)
      expect(node.datapath.getSwitch(switchId!)?.kind).toBe(SWITCH_KINDS[type]);
    await deleteNetwork(node.client, network.ID!);
    expect(await node.client.enumerate("Network")).toEqual([]);
    expect(node.datapath.listSwitches()).toEqual([]);
  });

  it("takes an endpoint, which joins a namespace and the host", async () => {
    const node = hnsNode({ profile: "ws2025" });
    const network = await createdOn(node, request);
    const pod = await createEndpoint(node.client, network.ID!, { Name: "pod", SchemaVersion: SCHEMA });
    const namespace = await createNamespace(node.client, "Host");
    await addNamespaceEndpoint(node.client, namespace.ID, pod.ID);
    const leg = await createEndpoint(node.client, network.ID!, { Name: "leg", SchemaVersion: SCHEMA });
    const answer = await node.client.call("POST", `/endpoints/${leg.ID}/attach`, '{"SystemType":"Host"}');
    expect(answer["Success"]).toBe(true);
    expect(node.datapath.listVnics().map((vnic) => vnic.interfaceName)).toEqual([
      "vEthernet (pod)",
      "vEthernet (leg)",
    ]);
    await deleteNetwork(node.client, network.ID!);
    expect(node.datapath.listVnics()).toEqual([]);
  });
});

it("networks of every type are the same after a restart", async () => {
  for (const [type, request] of NETWORKS) {
    const [before, after] = [hnsNode({ profile: "ws2025" }), hnsNode({ profile: "ws2025", seed: 2 })];
    const { ID } = await createdOn(before, request);
    await createEndpoint(before.client, ID!, { Name: "pod", SchemaVersion: SCHEMA });
    expect(after.service.restore(before.service.export())).toEqual([]);
    for (const Major of [1, 2]) {
      const query = { SchemaVersion: { Major, Minor: 0 } };
      expect(after.service.query("Network", ID!, query), type).toEqual(
        before.service.query("Network", ID!, query),
      );
    }
    expect(after.datapath.getSwitch(after.datapath.listSwitches()[0]!)?.kind).toBe(
      before.datapath.getSwitch(before.datapath.listSwitches()[0]!)?.kind,
    );
  }
});

describe("the subnet that the service picks", () => {
  it("HCN-003 a NAT network without Ipams gets a private /20 and .1 as its gateway", async () => {
    const node = hnsNode();
    const network = await createdOn(node, { Name: "nat-auto", Type: "NAT" });
    const subnet = network.Ipams?.[0]?.Subnets?.[0];
    expect(subnet?.IpAddressPrefix).toMatch(/\/20$/);
    const prefix = parsePrefix(subnet?.IpAddressPrefix ?? "")!;
    expect(prefixContains(parsePrefix("172.16.0.0/12")!, prefix.address)).toBe(true);
    const gateway = formatIp(((prefix.address as number) + 1) as typeof prefix.address);
    expect(subnet?.Routes).toEqual([{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }]);
    expect(subnet?.IpSubnets).toMatchObject([{ IpAddressPrefix: subnet?.IpAddressPrefix, Flags: 3 }]);
    const endpoint = await createEndpoint(node.client, network.ID!, { Name: "web" });
    expect(endpoint.IpConfigurations?.[0]?.PrefixLength).toBe(20);
    expect(endpoint.Routes).toEqual([{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }]);
  });

  it("HCN-091 docker's 0.0.0.0/0 with gateway 0.0.0.0 means any subnet", async () => {
    const node = hnsNode();
    const body = JSON.stringify({
      Name: "nat",
      Type: "nat",
      Subnets: [{ AddressPrefix: "0.0.0.0/0", GatewayAddress: "0.0.0.0" }],
    });
    const answer = await node.client.call("POST", "/networks", body);
    const network = answer["Output"] as { Subnets: { AddressPrefix: string; GatewayAddress: string }[] };
    expect(answer).toMatchObject({ Success: true, Output: { Type: "NAT" } });
    expect(network.Subnets[0]!.AddressPrefix).toMatch(/^172\.\d+\.\d+\.0\/20$/);
    expect(network.Subnets[0]!.GatewayAddress).toMatch(/^172\.\d+\.\d+\.1$/);
  });

  it("overlaps no other network and no subnet of the node", async () => {
    const node = hnsNode({
      adapters: [{ name: "Ethernet", address: "172.16.5.4/13", mac: "00-22-48-01-02-03" }],
    });
    const prefixes = [parsePrefix("172.16.0.0/13")!];
    for (let index = 0; index < 20; index++) {
      const network = await createdOn(node, { Name: `nat-${index}`, Type: "NAT" });
      const prefix = parsePrefix(network.Ipams?.[0]?.Subnets?.[0]?.IpAddressPrefix ?? "")!;
      expect(prefixes.some((other) => prefixesOverlap(other, prefix))).toBe(false);
      prefixes.push(prefix);
    }
  });
});

describe("adapters of external networks", () => {
  it("several L2Bridge or several Overlay networks share the switch of the first", async () => {
    for (const Type of ["L2Bridge", "Overlay"] as const) {
      const node = hnsNode();
      const first = await createdOn(node, { Name: "External", Type, Ipams: vsid(9999) });
      const second = await createdOn(node, { Name: "second", Type, Ipams: vsid(4096) });
      expect(node.datapath.listSwitches()).toHaveLength(1);
      expect(second.Health?.Extra).toMatchObject({ SwitchGuid: node.datapath.listSwitches()[0] });
      await deleteNetwork(node.client, first.ID!);
      expect(node.datapath.listSwitches()).toHaveLength(1);
      await deleteNetwork(node.client, second.ID!);
      expect(node.datapath.listSwitches()).toEqual([]);
    }
  });

  it("HCN-059 an adapter in use is refused by name, and passed over without one", async () => {
    const node = hnsNode({ adapters: TWO_ADAPTERS });
    await createdOn(node, { Name: "one", Type: "Transparent" });
    const named = { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } };
    for (const Type of ["Transparent", "L2Bridge"] as const) {
      await expect(
        createdOn(node, { Name: "two", Type, Policies: [named], Ipams: vsid(1) }),
      ).rejects.toMatchObject({ code: "ERROR_INVALID_PARAMETER" });
    }
    const second = await createdOn(node, { Name: "two", Type: "Transparent" });
    expect(second.Policies).toEqual([
      { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 2" } },
    ]);
    await expect(createdOn(node, { Name: "three", Type: "Transparent" })).rejects.toMatchObject({
      code: "HCN_E_ADAPTER_NOT_FOUND",
    });
  });

  it("HCN-059 a node without an adapter makes the types that need none", async () => {
    const node = hnsNode({ adapters: [] });
    await createdOn(node, { Name: "nat", Type: "NAT" });
    await createdOn(node, { Name: "private", Type: "Private" });
    await expect(createdOn(node, CBR0)).rejects.toMatchObject({ code: "HCN_E_ADAPTER_NOT_FOUND" });
  });
});

describe("networks with DHCP", () => {
  it("a Transparent network keeps its Dhcp entry and the VLAN of a subnet without a prefix (hcn.md §9.7)", async () => {
    const node = hnsNode({ adapters: TWO_ADAPTERS });
    const Ipams = [
      {
        Type: "Dhcp",
        Subnets: [{ Policies: [{ Type: "VLAN", Settings: { IsolationId: 100 } }] }],
      },
    ] as const;
    const network = await createdOn(node, { Name: "external-dhcp", Type: "Transparent", Ipams });
    expect(network.Ipams).toMatchObject(Ipams);
    const endpoint = await createEndpoint(node.client, network.ID!, { Name: "pod", Flags: 32 });
    expect(endpoint.IpConfigurations ?? []).toEqual([]);
  });

  it.each(["NAT", "L2Bridge", "Overlay"] as const)("DT-066 %s has static addresses only", async (Type) => {
    await expect(createdOn(hnsNode(), { Name: "n", Type, Ipams: [{ Type: "Dhcp" }] })).rejects.toMatchObject({
      code: "HCN_E_INVALID_NETWORK",
    });
  });
});

it("what a type does not act out, and policies without rules, stand in the health data", async () => {
  const node = hnsNode();
  const network = await createdOn(node, { Name: "ics", Type: "ICS" });
  expect(network.Health?.Data).toMatchObject({ NotEnforced: [{ Type: "Type" }] });
  const endpoint = await createEndpoint(node.client, network.ID!, {
    Name: "web",
    Policies: [
      { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080 } },
      { Type: "ACL", Settings: { Action: "Block", Direction: "In", Priority: 100, RuleType: "Switch" } },
    ],
  });
  expect(endpoint.Health?.Data).toMatchObject({ NotEnforced: [{ Type: "ACL", Index: 1 }] });
});
