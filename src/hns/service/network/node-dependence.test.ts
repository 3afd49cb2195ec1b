/** What of networks depends on the node: its build, its services, its adapters, its addresses (hcn.md §4.1, §6.1). */
import { describe, expect, it } from "vitest";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { createEndpoint, createNetwork, deleteNetwork, listNetworks } from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const ETHERNET = { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" } as const;

function withSubnet(Name: string, Type: HostComputeNetwork["Type"], prefix: string): HostComputeNetwork {
  const gateway = prefix.replace(/0\/.*/, "1");
  return {
    Name,
    Type: Type!,
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          { IpAddressPrefix: prefix, Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }] },
        ],
      },
    ],
  };
}

async function refusal(node: HnsNode, network: HostComputeNetwork): Promise<unknown> {
  const before = await listNetworks(node.client);
  const error = await createNetwork(node.client, network).catch((each: unknown) => each);
  expect(await listNetworks(node.client)).toEqual(before);
  return error;
}

describe("types that a node does not make", () => {
  it.each([
    ["ws2019", "Mirrored"],
    ["ws2019", "Infiniband"],
    ["2004", "ConstrainedICS"],
  ] as const)("%s does not know %s", async (profile, Type) => {
    expect(await refusal(hnsNode({ profile }), { Name: "n", Type })).toMatchObject({
      code: "HCN_E_INVALID_NETWORK_TYPE",
    });
  });

  it("Infiniband finds no RDMA adapter", async () => {
    expect(await refusal(hnsNode(), { Name: "n", Type: "Infiniband" })).toMatchObject({
      code: "HCN_E_ADAPTER_NOT_FOUND",
    });
  });

  it.each(["L2Bridge", "L2Tunnel", "Overlay"] as const)("without VFP: %s", async (Type) => {
    const node = hnsNode({ networking: { hasVfp: false } });
    expect(await refusal(node, { ...CBR0, Type })).toMatchObject({ code: "HCN_E_VFP_NOT_ALLOWED" });
    await createNetwork(node.client, { Name: "t", Type: "Transparent" });
  });

  it.each(["ICS", "ConstrainedICS"] as const)("without Internet Connection Sharing: %s", async (Type) => {
    const node = hnsNode({ profile: "ws2025", networking: { hasIcs: false } });
    expect(await refusal(node, { Name: "n", Type })).toMatchObject({ code: "HCN_E_ICS_DISABLED" });
    await createNetwork(node.client, { Name: "n", Type: "NAT" });
  });
});

describe("an Overlay network has exactly one VSID", () => {
  const vsid = (id: number): object => ({ Type: "VSID", Settings: { IsolationId: id } });
  const subnet = (net: string, ids: readonly number[]): object => ({
    IpAddressPrefix: `${net}.0/24`,
    Routes: [{ NextHop: `${net}.1`, DestinationPrefix: "0.0.0.0/0" }],
    Policies: ids.map(vsid),
  });

  it.each([
    ["none", [subnet("10.1.0", [])]],
    ["two on one subnet", [subnet("10.1.0", [4096, 4097])]],
    ["one on each of two subnets", [subnet("10.1.0", [4096]), subnet("10.1.1", [4097])]],
  ])("%s is refused", async (_name, Subnets) => {
    const network = {
      Name: "o",
      Type: "Overlay",
      Ipams: [{ Type: "Static", Subnets }],
    } as HostComputeNetwork;
    expect(await refusal(hnsNode(), network)).toMatchObject({ code: "HCN_E_INVALID_NETWORK" });
  });
});

describe("subnets that the host serves already", () => {
  it.each([
    ["NAT", "NAT", "ERROR_OBJECT_ALREADY_EXISTS", 0x80071392],
    ["ICS", "NAT", "ERROR_OBJECT_ALREADY_EXISTS", 0x80071392],
    ["NAT", "ICS", "ERROR_DUP_NAME", 0x80070034],
  ] as const)("beside %s an overlapping %s network is refused", async (first, second, code, hresult) => {
    const node = hnsNode();
    await createNetwork(node.client, withSubnet("one", first, "172.30.0.0/20"));
    const refused = await refusal(node, withSubnet("two", second, "172.30.8.0/24"));
    expect(refused).toMatchObject({ code, hresult });
    await createNetwork(node.client, withSubnet("three", second, "172.30.16.0/20"));
  });

  it.each([
    ["NAT", "ERROR_OBJECT_ALREADY_EXISTS"],
    ["ICS", "ERROR_DUP_NAME"],
    ["Internal", "ERROR_OBJECT_ALREADY_EXISTS"],
  ] as const)("a %s gateway that an adapter has is refused", async (Type, code) => {
    const node = hnsNode({ adapters: [{ ...ETHERNET, address: "172.30.0.1/24" }] });
    expect(await refusal(node, withSubnet("one", Type, "172.30.0.0/20"))).toMatchObject({ code });
  });

  it("networks that do not translate may overlap", async () => {
    const { client } = hnsNode();
    await createNetwork(client, withSubnet("one", "NAT", "10.244.2.0/24"));
    await createNetwork(client, CBR0);
    await createNetwork(client, { ...CBR0, Name: "second" });
    expect(await listNetworks(client)).toHaveLength(3);
  });
});

describe("who gets which switch", () => {
  it("IsolateVSwitch: a network on a switch of its own", async () => {
    const node = hnsNode();
    await createNetwork(node.client, { ...CBR0, Flags: 32 });
    expect(await refusal(node, { ...CBR0, Name: "second" })).toMatchObject({
      code: "ERROR_INVALID_PARAMETER",
    });
    const other = hnsNode();
    await createNetwork(other.client, CBR0);
    expect(await refusal(other, { ...CBR0, Name: "second", Flags: 32 })).toMatchObject({
      code: "ERROR_INVALID_PARAMETER",
    });
  });

  it("v1 shows IsolateSwitch as it was sent, beside Flags", async () => {
    const { client } = hnsNode();
    const body = { Name: "WSL", Flags: 9, Type: "ICS", IPv6: false, IsolateSwitch: true };
    const answer = await client.call("POST", "/networks", JSON.stringify(body));
    expect(answer["Output"]).toMatchObject(body);
  });

  it("Wi-Fi carries a Transparent network and none with VFP", async () => {
    const node = hnsNode({ adapters: [{ ...ETHERNET, name: "Wi-Fi", medium: "wireless" }] });
    const { Policies: _policies, ...network } = CBR0;
    expect(await refusal(node, network)).toMatchObject({ code: "HCN_E_ADAPTER_NOT_FOUND" });
    await createNetwork(node.client, { Name: "t", Type: "Transparent" });
  });

  it("DisableHostPort leaves the host without a vNIC, from HNS 15.1 on", async () => {
    const flags = { ...CBR0, Flags: 1024 };
    const node = hnsNode({ profile: "ws2025" });
    const network = await createNetwork(node.client, flags);
    const [id] = node.datapath.listSwitches();
    expect(node.datapath.getSwitch(id!)).toMatchObject({ kind: "external", hasHostPort: false });
    expect(await node.client.call("GET", `/networks/${network.ID}`, "")).not.toHaveProperty(
      "Output.ManagementIP",
    );
    const older = hnsNode({ profile: "ws2022" });
    const plain = await createNetwork(older.client, flags);
    expect(older.datapath.getSwitch(older.datapath.listSwitches()[0]!)).toMatchObject({ hasHostPort: true });
    expect(JSON.stringify(plain.Health?.Data)).toContain("does not know DisableHostPort");
  });

  it("a switch made without HNS has a Transparent network of its name from the start", async () => {
    const node = hnsNode({ adapters: [{ ...ETHERNET, outsideSwitch: "LAN" }] });
    const [network] = await listNetworks(node.client);
    expect(network).toMatchObject({
      Name: "LAN",
      Type: "Transparent",
      Policies: [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } }],
    });
  });

  it("the Default Switch of a client", async () => {
    const node = hnsNode({ profile: "win11-21h2", networking: { hasDefaultSwitch: true } });
    const [network] = await listNetworks(node.client);
    expect(network).toMatchObject({
      ID: "c08cb7b8-9b3c-408e-8e30-5e16a3aeb444",
      Name: "Default Switch",
      Type: "ICS",
      Flags: 11,
      Health: { Extra: { SwitchGuid: "c08cb7b8-9b3c-408e-8e30-5e16a3aeb444" } },
      Ipams: [{ Subnets: [{ IpSubnets: [{ Flags: 3 }] }] }],
    });
    // It is one like any other: it can be used, and deleted.
    const endpoint = await createEndpoint(node.client, network!.ID, { Name: "vm" });
    expect(endpoint.IpConfigurations).toHaveLength(1);
    await deleteNetwork(node.client, network!.ID);
  });
});

describe("networks that the service makes by itself", () => {
  it("are there again after a reboot, and after a restart that lost everything", async () => {
    const node = hnsNode({
      profile: "win11-21h2",
      networking: { hasDefaultSwitch: true },
      adapters: [{ ...ETHERNET, outsideSwitch: "LAN" }],
    });
    const names = async (): Promise<readonly string[]> =>
      (await listNetworks(node.client)).map((network) => network.Name ?? "").sort();
    expect(await names()).toEqual(["Default Switch", "LAN"]);
    node.service.reboot();
    expect(await names()).toEqual(["Default Switch", "LAN"]);
    node.service.restart("lose");
    expect(await names()).toEqual(["Default Switch", "LAN"]);
  });

  it("mirrored ones are gone after a reboot, and come when they are asked for again", async () => {
    const node = hnsNode({ profile: "ws2025" });
    const ask = async (): Promise<number> =>
      (await node.client.enumerate("Network", { Filter: JSON.stringify({ Flags: 72 }) })).length;
    expect([await ask(), await ask()]).toEqual([0, 1]);
    node.service.reboot();
    expect(await listNetworks(node.client)).toEqual([]);
    expect([await ask(), await ask()]).toEqual([0, 1]);
  });

  it("builds before schema 2.11 know no flow steering", async () => {
    const node = hnsNode({ profile: "2004" });
    const query = { Filter: JSON.stringify({ Flags: 72 }) };
    await node.client.enumerate("Network", query);
    expect(await node.client.enumerate("Network", query)).toEqual([]);
  });
});
