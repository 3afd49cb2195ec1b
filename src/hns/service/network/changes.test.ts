/** Changing a network: name resolution, extensions, subnets and their blocks, the v1 update (hcn.md §5.2). */
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { createEndpoint, createNetwork, getNetworkById } from "#contracts/hcn/operations.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";

const VFP = "F74F241B-440F-4433-BB28-00F89EAD20D8";
const NDIS = "430BDADD-BAB0-41AB-A369-94B67FA5BE0A";

function subnet(prefix: string, gateway: string): JsonObject {
  return { IpAddressPrefix: prefix, Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }] };
}

async function change(
  node: HnsNode,
  id: string,
  resource: string,
  request: string,
  settings: JsonValue,
): Promise<void> {
  await node.client.modify("Network", id, {
    ResourceType: resource,
    RequestType: request,
    Settings: settings,
  });
}

async function extensionsOf(node: HnsNode, id: string): Promise<Readonly<Record<string, boolean>>> {
  const { Output } = (await node.client.call("GET", `/networks/${id}`, "")) as {
    readonly Output: { readonly Extensions: readonly { readonly Id: string; readonly IsEnabled: boolean }[] };
  };
  return Object.fromEntries(Output.Extensions.map(({ Id, IsEnabled }) => [Id, IsEnabled]));
}

describe("DNS", () => {
  it("Add puts servers behind those that are there, Update replaces all, Remove takes all away", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    await change(node, ID, "DNS", "Add", { ServerList: ["10.96.0.11"], Search: ["svc.cluster.local"] });
    expect((await getNetworkById(node.client, ID)).Dns).toEqual({
      Domain: "cluster.local",
      Search: ["svc.cluster.local"],
      ServerList: ["10.96.0.10", "10.96.0.11"],
    });
    await change(node, ID, "DNS", "Update", { ServerList: ["10.96.0.12"] });
    expect((await getNetworkById(node.client, ID)).Dns).toEqual({ ServerList: ["10.96.0.12"] });
    await change(node, ID, "DNS", "Remove", {});
    expect((await getNetworkById(node.client, ID)).Dns).toBeUndefined();
  });
});

describe("extensions", () => {
  it.each([
    ["L2Bridge", true],
    ["Transparent", false],
    ["NAT", false],
  ] as const)("on %s VFP is on: %s (hcn.md §2.12)", async (Type, isEnabled) => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, { Name: "n", Type });
    expect(await extensionsOf(node, ID)).toMatchObject({ [VFP]: isEnabled, [NDIS]: true });
  });

  it("Update turns one off; v1 does it with a partial document", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    await change(node, ID, "Extension", "Update", { Id: NDIS, IsEnabled: false });
    expect(await extensionsOf(node, ID)).toMatchObject({ [VFP]: true, [NDIS]: false });
    const body = JSON.stringify({ Extensions: [{ Id: NDIS, IsEnabled: true }] });
    await node.client.call("POST", `/networks/${ID}`, body);
    expect(await extensionsOf(node, ID)).toMatchObject({ [VFP]: true, [NDIS]: true });
    expect((await getNetworkById(node.client, ID)).Dns).toEqual(CBR0.Dns);
  });

  it("the policy VSwitchExtension does it when the network is made", async () => {
    const node = hnsNode();
    const Policies = [{ Type: "VSwitchExtension", Settings: { ExtensionID: NDIS, Enable: false } }];
    const { ID } = await createNetwork(node.client, { ...CBR0, Policies });
    expect(await extensionsOf(node, ID)).toMatchObject({ [NDIS]: false });
  });

  it("one that is not installed is refused", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    const unknown = { Id: "583cc151-73ec-4a6a-8b47-578297ad7623", IsEnabled: true };
    await expect(change(node, ID, "Extension", "Update", unknown)).rejects.toMatchObject({
      code: "HCN_E_SWITCH_EXTENSION_NOT_FOUND",
    });
  });

  it("those of a switch with several networks stay; saying again what they are is no change", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    await createNetwork(node.client, { ...CBR0, Name: "second" });
    await expect(
      change(node, ID, "Extension", "Update", { Id: NDIS, IsEnabled: false }),
    ).rejects.toMatchObject({ code: "HCN_E_SHARED_SWITCH_MODIFICATION", hresult: 0x803b0018 });
    await change(node, ID, "Extension", "Update", { Id: NDIS, IsEnabled: true });
  });

  it("a network that joins the switch finds them as they are", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    await change(node, ID, "Extension", "Update", { Id: NDIS, IsEnabled: false });
    const second = await createNetwork(node.client, { ...CBR0, Name: "second" });
    expect(await extensionsOf(node, second.ID)).toMatchObject({ [NDIS]: false });
  });
});

describe("subnets", () => {
  it("are removed by id or prefix; one that is not there is told", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    const Subnets = [subnet("10.244.3.0/24", "10.244.3.1"), subnet("10.244.4.0/24", "10.244.4.1")];
    await change(node, ID, "Subnet", "Add", { Subnets });
    const added = (await getNetworkById(node.client, ID)).Ipams?.[0]?.Subnets;
    expect(added).toHaveLength(3);
    await change(node, ID, "Subnet", "Remove", { Subnets: [{ ID: added![1]!.ID! }] });
    await change(node, ID, "Subnet", "Remove", { Subnets: [{ IpAddressPrefix: "10.244.4.0/24" }] });
    expect((await getNetworkById(node.client, ID)).Ipams?.[0]?.Subnets).toHaveLength(1);
    await expect(
      change(node, ID, "Subnet", "Remove", { Subnets: [{ IpAddressPrefix: "10.244.4.0/24" }] }),
    ).rejects.toMatchObject({ code: "HCN_E_SUBNET_NOT_FOUND" });
  });

  it.each([
    [
      "overlaps one that is there",
      "L2Bridge",
      subnet("10.244.2.128/25", "10.244.2.129"),
      "HCN_E_INVALID_SUBNET",
    ],
    ["has host bits", "L2Bridge", subnet("10.244.3.1/24", "10.244.3.1"), "HCN_E_INVALID_SUBNET"],
    ["has a gateway outside", "L2Bridge", subnet("10.244.3.0/24", "10.244.4.1"), "HCN_E_INVALID_SUBNET"],
  ] as const)("one that %s is refused", async (_name, _type, wanted, code) => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, CBR0);
    const before = await getNetworkById(node.client, ID);
    await expect(change(node, ID, "Subnet", "Add", { Subnets: [wanted] })).rejects.toMatchObject({ code });
    expect(await getNetworkById(node.client, ID)).toEqual(before);
  });

  it("a second VSID does not come to an Overlay network, and the first one does not go", async () => {
    const node = hnsNode();
    const vsid = (id: number): JsonObject => ({ Type: "VSID", Settings: { IsolationId: id } });
    const first = { ...subnet("10.42.6.0/24", "10.42.6.1"), Policies: [vsid(4096)] };
    const { ID } = await createNetwork(node.client, {
      Name: "o",
      Type: "Overlay",
      Ipams: [{ Type: "Static", Subnets: [first] }],
    } as never);
    const second = { ...subnet("10.42.7.0/24", "10.42.7.1"), Policies: [vsid(4097)] };
    await expect(change(node, ID, "Subnet", "Add", { Subnets: [second] })).rejects.toMatchObject({
      code: "HCN_E_INVALID_SUBNET",
    });
    await change(node, ID, "Subnet", "Add", { Subnets: [subnet("10.42.8.0/24", "10.42.8.1")] });
  });

  it("the host of an ICS network follows with the gateway's address", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, { Name: "ics", Type: "ICS" });
    await change(node, ID, "Subnet", "Add", { Subnets: [subnet("192.168.77.0/24", "192.168.77.1")] });
    const [id] = node.datapath.listSwitches();
    expect(node.datapath.getSwitch(id!)).toMatchObject({
      hostAddresses: [{ length: 20 }, { ip: 0xc0a8_4d01, length: 24 }],
    });
    await expect(
      change(node, ID, "Subnet", "Add", { Subnets: [subnet("10.0.2.0/24", "10.0.2.15")] }),
    ).rejects.toMatchObject({ code: "ERROR_DUP_NAME" });
  });

  it("a NAT network has one subnet per family (hcn.md §4.1)", async () => {
    const node = hnsNode();
    const { ID } = await createNetwork(node.client, { Name: "nat", Type: "NAT" });
    const ipv4 = subnet("192.168.77.0/24", "192.168.77.1");
    await expect(change(node, ID, "Subnet", "Add", { Subnets: [ipv4] })).rejects.toMatchObject({
      code: "HCN_E_INVALID_SUBNET",
    });
    const ipv6 = {
      IpAddressPrefix: "fd00::/64",
      Routes: [{ NextHop: "fd00::1", DestinationPrefix: "::/0" }],
    };
    await change(node, ID, "Subnet", "Add", { Subnets: [ipv6] });
    expect((await getNetworkById(node.client, ID)).Ipams?.[0]?.Subnets).toHaveLength(2);
    const Subnets = [ipv4, subnet("192.168.78.0/24", "192.168.78.1")];
    await expect(
      createNetwork(node.client, { Name: "two", Type: "NAT", Ipams: [{ Type: "Static", Subnets }] } as never),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_NETWORK" });
  });

  it("builds without schema 2.6 do not know the request", async () => {
    const node = hnsNode({ profile: "ws2019" });
    const { ID } = await createNetwork(node.client, CBR0);
    const Subnets = [subnet("10.244.3.0/24", "10.244.3.1")];
    await expect(change(node, ID, "Subnet", "Add", { Subnets })).rejects.toMatchObject({
      code: "HCN_E_REQUEST_UNSUPPORTED",
    });
  });
});

describe("IP subnets", () => {
  async function blockNode(): Promise<{ node: HnsNode; id: string; SubnetId: string }> {
    const node = hnsNode();
    const IpSubnets = [{ IpAddressPrefix: "10.244.2.0/26" }];
    const { ID, Ipams } = await createNetwork(node.client, {
      ...CBR0,
      Ipams: [{ Type: "Static", Subnets: [{ ...CBR0.Ipams[0].Subnets[0], IpSubnets }] }],
    });
    return { node, id: ID, SubnetId: Ipams![0]!.Subnets![0]!.ID! };
  }

  it("come and go; an endpoint binds to the one that holds its address", async () => {
    const { node, id, SubnetId } = await blockNode();
    const wanted = { IpConfigurations: [{ IpAddress: "10.244.2.70" }] };
    await expect(createEndpoint(node.client, id, wanted)).rejects.toMatchObject({ code: "HCN_E_INVALID_IP" });
    const block = { SubnetId, IpSubnets: [{ IpAddressPrefix: "10.244.2.64/26" }] };
    await change(node, id, "IPSubnet", "Add", block);
    const blocks = (await getNetworkById(node.client, id)).Ipams![0]!.Subnets![0]!.IpSubnets!;
    expect(blocks.map((each) => each.IpAddressPrefix)).toEqual(["10.244.2.0/26", "10.244.2.64/26"]);
    const endpoint = await createEndpoint(node.client, id, wanted);
    expect(endpoint.IpConfigurations?.[0]).toMatchObject({ IpSubnetId: blocks[1]!.ID, PrefixLength: 24 });
    await expect(change(node, id, "IPSubnet", "Remove", block)).rejects.toMatchObject({
      code: "HCN_E_ENTITY_HAS_REFERENCES",
    });
    await node.client.delete("Endpoint", endpoint.ID);
    await change(node, id, "IPSubnet", "Remove", block);
    expect((await getNetworkById(node.client, id)).Ipams![0]!.Subnets![0]!.IpSubnets).toHaveLength(1);
  });

  it.each([
    ["of an unknown subnet", {}, "10.244.2.64/26", "HCN_E_SUBNET_NOT_FOUND"],
    ["outside its subnet", undefined, "10.244.3.0/26", "HCN_E_INVALID_IP_SUBNET"],
    ["over another", undefined, "10.244.2.32/27", "HCN_E_INVALID_IP_SUBNET"],
    ["with host bits", undefined, "10.244.2.65/26", "HCN_E_INVALID_IP_SUBNET"],
  ])("one %s is refused", async (_name, other, prefix, code) => {
    const { node, id, SubnetId } = await blockNode();
    const settings = { ...(other ?? { SubnetId }), IpSubnets: [{ IpAddressPrefix: prefix }] };
    await expect(change(node, id, "IPSubnet", "Add", settings)).rejects.toMatchObject({ code });
  });

  it("the last one of a subnet stays", async () => {
    const { node, id, SubnetId } = await blockNode();
    const settings = { SubnetId, IpSubnets: [{ IpAddressPrefix: "10.244.2.0/26" }] };
    await expect(change(node, id, "IPSubnet", "Remove", settings)).rejects.toMatchObject({
      code: "HCN_E_INVALID_IP_SUBNET",
    });
  });
});

it("a v1 client may send back the whole network that it read", async () => {
  const node = hnsNode();
  const { ID } = await createNetwork(node.client, CBR0);
  const before = await node.client.call("GET", `/networks/${ID}`, "");
  const after = await node.client.call("POST", `/networks/${ID}`, JSON.stringify(before["Output"]));
  expect(after["Output"]).toEqual(before["Output"]);
});
