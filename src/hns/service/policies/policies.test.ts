/** What HNS refuses of policies, and what requests make of lists of them (hcn.md §3, §5.3, §6.1, §7.1). */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HcnErrorCode } from "#contracts/hcn/error-codes.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
  getEndpointById,
  getNetworkById,
  modifyEndpointPolicies,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import type { QuirkSetting } from "#core/catalogue/quirks.ts";
import { requestHns } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNode, type HnsNodeOptions, hnsNode } from "#test/support/hns/hns-node.ts";

function policy(Type: string, Settings: PolicyDocument["Settings"] = {}): PolicyDocument {
  return { Type, Settings };
}

function acl(settings: object): PolicyDocument {
  return policy("ACL", { Action: "Allow", Direction: "In", ...settings });
}

function mapping(ExternalPort: number, more: object = {}): PolicyDocument {
  return policy("PortMapping", { Protocol: 6, InternalPort: 80, ExternalPort, ...more });
}

function ipSet(Id: string, Values: string, PolicyType = "IPSET"): PolicyDocument {
  return policy("SetPolicy", { Id, Name: Id, PolicyType, Values });
}

interface Fixture extends HnsNode {
  readonly network: string;
  readonly make: (...policies: readonly PolicyDocument[]) => Promise<HostComputeEndpoint>;
}

/** A node with a network of a type. */
async function fixture(Type = "L2Bridge", options: HnsNodeOptions = {}): Promise<Fixture> {
  const node = hnsNode({ profile: "ws2025", ...options });
  const subnet = {
    ...CBR0.Ipams[0].Subnets[0],
    ...(Type === "Overlay" && { Policies: [policy("VSID", { IsolationId: 4096 })] }),
  };
  const document = { Name: "net", Type, Ipams: [{ Type: "Static", Subnets: [subnet] }] };
  const network = (await createNetwork(node.client, document as never)).ID;
  const make = async (...policies: readonly PolicyDocument[]): Promise<HostComputeEndpoint> =>
    createEndpoint(node.client, network, { Policies: policies });
  return { ...node, network, make };
}

/** The policies of an endpoint without those that the service enters. */
function own(endpoint: HostComputeEndpoint): readonly PolicyDocument[] {
  return (endpoint.Policies ?? []).filter(({ Type }) => Type !== "L2Driver");
}

describe("which networks can do a policy (hcn.md §6.1)", () => {
  it.each<[string, PolicyDocument, HcnErrorCode | undefined]>([
    ["NAT", mapping(8080), undefined],
    ["ICS", mapping(8080), undefined],
    ["L2Bridge", mapping(8080, { Flags: 1 }), undefined],
    ["Overlay", mapping(8080), undefined],
    ["Transparent", mapping(8080), "HCN_E_MAPPING_NOT_SUPPORTED"],
    ["Internal", mapping(8080), "HCN_E_MAPPING_NOT_SUPPORTED"],
    ["Private", mapping(8080), "HCN_E_MAPPING_NOT_SUPPORTED"],
    ["L2Tunnel", policy("SDNRoute", { DestinationPrefix: "10.0.0.0/8" }), undefined],
    ["NAT", policy("SDNRoute", { DestinationPrefix: "10.0.0.0/8" }), "HCN_E_INVALID_POLICY_TYPE"],
    ["Internal", policy("SDNRoute", { DestinationPrefix: "10.0.0.0/8" }), "HCN_E_INVALID_POLICY_TYPE"],
    ["NAT", policy("L4WFPPROXY", { OutboundProxyPort: "15001" }), undefined],
    ["NAT", policy("TierAcl", { Direction: "In", TierAclRules: [] }), undefined],
  ])("%s: %j %s", async (type, wanted, code) => {
    const node = await fixture(type);
    const made = node.make(wanted);
    if (code === undefined) expect(own(await made)[0]).toEqual(wanted);
    else await expect(made).rejects.toMatchObject({ code });
  });

  it("an SDN route object neither", async () => {
    const node = await fixture("NAT");
    const endpoint = await node.make();
    await expect(
      node.client.create("SdnRoute", {
        HostComputeEndpoints: [endpoint.ID!],
        Routes: [{ DestinationPrefix: "10.0.0.0/8" }],
      }),
    ).rejects.toMatchObject({ code: "HCN_E_INVALID_POLICY_TYPE", hresult: 0x803b000e });
  });
});

it("HCN-032, HCN-033: an endpoint of a NAT network takes L4WFPPROXY and TierAcl", async () => {
  const node = await fixture("NAT");
  const proxy = policy("L4WFPPROXY", {
    InboundProxyPort: "15006",
    OutboundProxyPort: "15001",
    UserSID: "S-1-5-18",
  });
  const tier = policy("TierAcl", {
    Name: "infra",
    Direction: "In",
    Order: 1,
    TierAclRules: [{ Id: "r", TierAclRuleAction: "Block", Priority: 65_499 }],
  });
  const endpoint = await node.make();
  await modifyEndpointPolicies(node.client, endpoint.ID!, "Add", [proxy]);
  await modifyEndpointPolicies(node.client, endpoint.ID!, "Add", [tier]);
  expect(own(await getEndpointById(node.client, endpoint.ID!))).toEqual([proxy, tier]);
});

describe("what a version does not know (hcn.md §7.1)", () => {
  it.each<[string, HnsNodeOptions["version"], PolicyDocument, HcnErrorCode | undefined]>([
    ["TierAcl", { Major: 13, Minor: 3 }, policy("TierAcl", { Direction: "In" }), "HCN_E_INVALID_POLICY_TYPE"],
    ["TierAcl", { Major: 14, Minor: 0 }, policy("TierAcl", { Direction: "In" }), undefined],
    ["L4WfpProxy", { Major: 13, Minor: 1 }, policy("L4WFPPROXY", { Port: "1" }), "HCN_E_INVALID_POLICY_TYPE"],
    ["L4WfpProxy", { Major: 13, Minor: 2 }, policy("L4WFPPROXY", { OutboundProxyPort: "1" }), undefined],
    ["L4Proxy", { Major: 12, Minor: 0 }, policy("L4Proxy", { Port: "1" }), "HCN_E_INVALID_POLICY_TYPE"],
    ["L4Proxy", { Major: 12, Minor: 1 }, policy("L4Proxy", { Port: "1" }), undefined],
    ["L4Proxy", { Major: 9, Minor: 4 }, policy("L4Proxy", { Port: "1" }), "HCN_E_INVALID_POLICY_TYPE"],
    ["L4Proxy", { Major: 9, Minor: 5 }, policy("L4Proxy", { Port: "1" }), undefined],
    ["protocol 252", { Major: 10, Minor: 9 }, acl({ Protocols: "252" }), "HCN_E_INVALID_POLICY"],
    ["protocol 252", { Major: 11, Minor: 0 }, acl({ Protocols: "252" }), undefined],
    [
      "port ranges",
      { Major: 7, Minor: 1 },
      acl({ Protocols: "6", LocalPorts: "1-9" }),
      "HCN_E_INVALID_POLICY",
    ],
    ["port ranges", { Major: 7, Minor: 2 }, acl({ Protocols: "6", LocalPorts: "1-9" }), undefined],
    ["lists", { Major: 7, Minor: 1 }, acl({ LocalAddresses: "10.0.0.1,10.0.0.2" }), "HCN_E_INVALID_POLICY"],
    ["HCN-087: Host, priority 0", { Major: 7, Minor: 1 }, acl({ RuleType: "Host" }), "HCN_E_INVALID_POLICY"],
    [
      "HCN-087: Host, priority 100",
      { Major: 7, Minor: 1 },
      acl({ Protocols: "256", RuleType: "Host", Priority: 100 }),
      undefined,
    ],
    [
      "HCN-087: Host, priority 0",
      { Major: 7, Minor: 2 },
      acl({ Protocols: "256", RuleType: "Host", Priority: 0 }),
      undefined,
    ],
  ])("%s on HNS %j: %j %s", async (_feature, version, wanted, code) => {
    const node = await fixture("L2Bridge", { version: version! });
    const made = node.make(wanted);
    if (code === undefined) expect(own(await made)).toEqual([wanted]);
    else await expect(made).rejects.toMatchObject({ code });
  });

  it.each<[string, HnsNodeOptions["version"], PolicyDocument, HcnErrorCode | undefined]>([
    ["SetPolicy", { Major: 12, Minor: 9 }, ipSet("a", ""), "HCN_E_INVALID_POLICY_TYPE"],
    ["SetPolicy", { Major: 13, Minor: 0 }, ipSet("a", ""), undefined],
    ["NestedIpSet", { Major: 12, Minor: 9 }, ipSet("a", "", "NESTEDIPSET"), "HCN_E_INVALID_POLICY_TYPE"],
    ["NestedIpSet", { Major: 13, Minor: 0 }, ipSet("a", "", "NESTEDIPSET"), undefined],
    [
      "NetworkACL",
      { Major: 14, Minor: 9 },
      policy("NetworkACL", { Action: "Allow", Direction: "In" }),
      "HCN_E_INVALID_POLICY_TYPE",
    ],
    [
      "NetworkACL",
      { Major: 15, Minor: 0 },
      policy("NetworkACL", { Action: "Allow", Direction: "In" }),
      undefined,
    ],
    ["VxlanPort", { Major: 10, Minor: 2 }, policy("VxlanPort", { Port: 4789 }), "HCN_E_INVALID_POLICY_TYPE"],
    ["VxlanPort", { Major: 10, Minor: 3 }, policy("VxlanPort", { Port: 4789 }), undefined],
    ["HostRoute", { Major: 9, Minor: 1 }, policy("HostRoute"), "HCN_E_INVALID_POLICY_TYPE"],
    ["HostRoute", { Major: 9, Minor: 2 }, policy("HostRoute"), undefined],
    [
      "RemoteSubnet",
      { Major: 9, Minor: 1 },
      policy("RemoteSubnetRoute", { DestinationPrefix: "10.0.0.0/24" }),
      "HCN_E_INVALID_POLICY_TYPE",
    ],
  ])("%s on HNS %j: %j %s", async (_feature, version, wanted, code) => {
    const node = await fixture("L2Bridge", { version: version! });
    const changed = modifyNetworkPolicies(node.client, node.network, "Add", [wanted]);
    if (code === undefined) expect((await changed).Policies?.map(({ Type }) => Type)).toContain(wanted.Type);
    else await expect(changed).rejects.toMatchObject({ code });
  });
});

describe("at most one of a type", () => {
  it.each<[string, PolicyDocument, HcnErrorCode]>([
    [
      "InterfaceParameters",
      policy("InterfaceParameters", { Mtu: 1400 }),
      "HCN_INTERFACEPARAMETERS_ALREADY_APPLIED",
    ],
    ["QOS", policy("QOS", { MaximumOutgoingBandwidthInBytes: 1 }), "HCN_E_POLICY_ALREADY_EXISTS"],
    ["PortName", policy("PortName", { Name: "a" }), "HCN_E_POLICY_ALREADY_EXISTS"],
    ["VLAN", policy("VLAN", { IsolationId: 7 }), "HCN_E_POLICY_ALREADY_EXISTS"],
  ])(
    "a second %s is refused on create and on Add, and an Update replaces the first",
    async (_type, one, code) => {
      const node = await fixture();
      await expect(node.make(one, one)).rejects.toMatchObject({ code });
      const endpoint = await node.make(one);
      await expect(modifyEndpointPolicies(node.client, endpoint.ID!, "Add", [one])).rejects.toMatchObject({
        code,
      });
      expect(own(await modifyEndpointPolicies(node.client, endpoint.ID!, "Update", [one]))).toEqual([one]);
    },
  );

  it.each([
    ["ACL", acl({ Priority: 100 })],
    ["OutBoundNAT", policy("OutBoundNAT")],
    ["SDNRoute", policy("SDNRoute", { DestinationPrefix: "10.0.0.0/8" })],
  ])("%s may be there twice (hcn.md §3)", async (_type, one) => {
    const node = await fixture();
    expect(own(await node.make(one, one))).toEqual([one, one]);
  });

  it("of a network: a second VxlanPort is refused", async () => {
    const node = await fixture("Overlay");
    const port = policy("VxlanPort", { Port: 4789 });
    await modifyNetworkPolicies(node.client, node.network, "Add", [port]);
    await expect(modifyNetworkPolicies(node.client, node.network, "Add", [port])).rejects.toMatchObject({
      code: "HCN_E_POLICY_ALREADY_EXISTS",
      hresult: 0x803b0012,
    });
  });
});

describe("requests about the policies of an endpoint (hcn.md §5.3)", () => {
  const route = policy("SDNRoute", { DestinationPrefix: "10.0.0.0/8", NeedEncap: true });

  it("HCN-030: Update of a detached endpoint sets ACLs; HCN-031: it drops all that it does not repeat", async () => {
    const node = await fixture();
    const endpoint = await node.make(route, policy("OutBoundNAT"), mapping(8080));
    const acls = [acl({ Id: "in", Priority: 200 }), acl({ Id: "out", Direction: "Out", Priority: 200 })];
    await modifyEndpointPolicies(node.client, endpoint.ID!, "Update", acls);
    expect((await getEndpointById(node.client, endpoint.ID!)).Policies).toEqual(acls);
  });

  it("Update with an empty entry clears the list", async () => {
    const node = await fixture();
    const endpoint = await node.make(route);
    const settings = { ResourceType: "Policy", RequestType: "Update", Settings: { Policies: [{}] } };
    await node.client.modify("Endpoint", endpoint.ID!, settings);
    expect((await getEndpointById(node.client, endpoint.ID!)).Policies ?? []).toEqual([]);
  });

  it("Add appends, in either form of the request's numbers", async () => {
    const node = await fixture();
    const endpoint = await node.make(route);
    await node.client.modify("Endpoint", endpoint.ID!, {
      ResourceType: 1,
      RequestType: 0,
      Settings: { Policies: [{ Type: 1, Settings: { Action: 1, Direction: 0 } }] },
    });
    expect(own(await getEndpointById(node.client, endpoint.ID!))).toEqual([
      route,
      policy("ACL", { Action: "Block", Direction: "In" }),
    ]);
  });

  it.each<[string, PolicyDocument, PolicyDocument]>([
    ["equal settings", route, route],
    ["a field at its default more", route, policy("SDNROUTE", { ...route.Settings, NextHop: "" })],
    [
      "an ACL by its Id",
      acl({ Id: "a", Priority: 7 }),
      policy("acl", { Id: "a", Action: "Block", Direction: 1 }),
    ],
    ["a mapping whose port the service chose", mapping(0), mapping(0)],
  ])("Remove takes away what it names: %s", async (_case, present, wanted) => {
    const node = await fixture();
    const other = acl({ Id: "other" });
    const endpoint = await node.make(present, other);
    const changed = await modifyEndpointPolicies(node.client, endpoint.ID!, "Remove", [wanted]);
    expect(own(changed)).toEqual([other]);
  });

  it("Remove of what is not there is refused, and removes nothing", async () => {
    const node = await fixture();
    const endpoint = await node.make(route);
    await expect(
      modifyEndpointPolicies(node.client, endpoint.ID!, "Remove", [route, acl({})]),
    ).rejects.toMatchObject({ code: "HCN_E_POLICY_NOT_FOUND", hresult: 0x803b0008 });
    expect(own(await getEndpointById(node.client, endpoint.ID!))).toEqual([route]);
  });

  it("HCN-077: POST /endpoints/{id} of v1 replaces the list", async () => {
    const node = await fixture();
    const endpoint = await node.make(route, acl({ Id: "a" }));
    await requestHns(node.client, "POST", `/endpoints/${endpoint.ID!}`, {
      Policies: [{ Type: "ACL", Id: "b", Action: "Block", Direction: "Out", Protocol: 17, RemotePort: 53 }],
    });
    expect((await getEndpointById(node.client, endpoint.ID!)).Policies).toEqual([
      policy("ACL", { Id: "b", Protocols: "17", Action: "Block", Direction: "Out", RemotePorts: "53" }),
    ]);
  });
});

describe("requests about the policies of a network (hcn.md §5.3)", () => {
  const peer = (octet: number): PolicyDocument =>
    policy("RemoteSubnetRoute", {
      DestinationPrefix: `10.42.${octet}.0/24`,
      IsolationId: 4096,
      ProviderAddress: `192.168.1.${octet}`,
      DistributedRouterMacAddress: "0a-1b-2c-3d-4e-5f",
    });

  it("a route to a subnet is known by prefix and provider, as flannel removes it", async () => {
    const node = await fixture("Overlay");
    await modifyNetworkPolicies(node.client, node.network, "Add", [peer(7), peer(8)]);
    const { DestinationPrefix, ProviderAddress } = peer(7).Settings!;
    const wanted = policy("RemoteSubnetRoute", { DestinationPrefix, ProviderAddress });
    const left = await modifyNetworkPolicies(node.client, node.network, "Remove", [wanted]);
    expect(left.Policies?.filter(({ Type }) => Type === "RemoteSubnetRoute")).toEqual([peer(8)]);
    await expect(
      modifyNetworkPolicies(node.client, node.network, "Remove", [peer(8), wanted]),
    ).rejects.toMatchObject({
      code: "HCN_E_POLICY_NOT_FOUND",
      detail: "The network has no RemoteSubnetRoute like Policies[1]",
    });
  });

  it("HCN-046: a NetworkACL comes and goes", async () => {
    const node = await fixture();
    const wanted = policy("NetworkACL", { Protocols: "6", Action: "Block", Direction: "Out", Priority: 300 });
    const added = await modifyNetworkPolicies(node.client, node.network, "Add", [wanted]);
    expect(added.Policies).toContainEqual(wanted);
    const left = await modifyNetworkPolicies(node.client, node.network, "Remove", [wanted]);
    expect(left.Policies).not.toContainEqual(wanted);
  });

  it("HCN-085: an added set replaces one with its id; one that an ACL names stays", async () => {
    const node = await fixture();
    await modifyNetworkPolicies(node.client, node.network, "Add", [ipSet("a", "10.0.0.1")]);
    await modifyNetworkPolicies(node.client, node.network, "Add", [ipSet("a", "10.0.0.2")]);
    const { Policies } = await getNetworkById(node.client, node.network);
    expect(Policies?.filter(({ Type }) => Type === "SetPolicy")).toEqual([ipSet("a", "10.0.0.2")]);
    const endpoint = await node.make(acl({ RemoteAddresses: "a" }));
    const remove = async (): Promise<unknown> =>
      modifyNetworkPolicies(node.client, node.network, "Remove", [ipSet("a", "")]);
    await expect(remove()).rejects.toMatchObject({ code: "HCN_E_ENTITY_HAS_REFERENCES" });
    await modifyEndpointPolicies(node.client, endpoint.ID!, "Update", []);
    await remove();
  });

  it("HCN-085: an Update of a set of sets needs its members, too", async () => {
    const node = await fixture();
    await modifyNetworkPolicies(node.client, node.network, "Add", [
      ipSet("a", "10.0.0.1"),
      ipSet("n", "a", "NESTEDIPSET"),
    ]);
    await expect(
      modifyNetworkPolicies(node.client, node.network, "Update", [ipSet("n", "a,b", "NESTEDIPSET")]),
    ).rejects.toMatchObject({ code: "HCN_E_POLICY_NOT_FOUND" });
  });

  it("an ACL or a NetworkACL that names an unknown set is refused", async () => {
    const node = await fixture();
    await expect(node.make(acl({ RemoteAddresses: "a" }))).rejects.toMatchObject({
      code: "HCN_E_POLICY_NOT_FOUND",
    });
    const wanted = policy("NetworkACL", { Action: "Block", Direction: "In", RemoteAddresses: "a" });
    await expect(modifyNetworkPolicies(node.client, node.network, "Add", [wanted])).rejects.toMatchObject({
      code: "HCN_E_POLICY_NOT_FOUND",
    });
  });
});

describe("host ports", () => {
  it("HCN-082: what a plugin makes of portMappings comes back; Flags 1 on L2Bridge", async () => {
    const node = await fixture();
    const wanted = [mapping(8080, { Flags: 1 }), mapping(8053, { Protocol: 17, Flags: 1 })];
    expect(own(await node.make(...wanted))).toEqual(wanted);
    const nat = await fixture("NAT");
    expect(own(await nat.make(mapping(8080)))).toEqual([mapping(8080)]);
  });

  it("HCN-083: the IPv6 mapping of a dual-stack client takes the management address of that family", async () => {
    const node = await fixture("L2Bridge", { moreAddresses: ["fd00:2::15/64"] });
    const v4 = mapping(8080, { VIP: "10.0.2.15" });
    const endpoint = await node.make(v4, mapping(8080, { Flags: 2 }));
    expect(own(endpoint)).toEqual([v4, mapping(8080, { VIP: "fd00:2::15", Flags: 2 })]);
    // It goes as it was asked for.
    const left = await modifyEndpointPolicies(node.client, endpoint.ID!, "Remove", [
      mapping(8080, { Flags: 2 }),
    ]);
    expect(own(left)).toEqual([v4]);
  });

  it("HCN-084: OutBoundNAT for IPv6 carries Flags 2 and has exceptions of its own", async () => {
    const node = await fixture();
    const nats = [
      policy("OutBoundNAT", { Exceptions: ["10.96.0.0/12"] }),
      policy("OutBoundNAT", { Exceptions: ["fd00:96::/108"], Flags: 2 }),
    ];
    expect(own(await node.make(...nats))).toEqual(nats);
  });
});

describe("what the service enters (hcn.md §2.3, §3.3)", () => {
  const types = (endpoint: HostComputeEndpoint): readonly string[] =>
    (endpoint.Policies ?? []).map(({ Type }) => Type);

  it("L2Driver on bridges, EncapOverhead on an overlay's local endpoints", async () => {
    expect(types(await (await fixture("L2Bridge")).make())).toEqual(["L2Driver"]);
    expect(types(await (await fixture("L2Tunnel")).make())).toEqual(["L2Driver"]);
    expect((await (await fixture("Overlay")).make()).Policies).toEqual([
      policy("EncapOverhead", { Overhead: 50 }),
    ]);
    expect(types(await (await fixture("NAT")).make())).toEqual([]);
  });

  it("a client's own EncapOverhead counts, on create and on Add", async () => {
    const node = await fixture("Overlay");
    const overhead = policy("EncapOverhead", { Overhead: 80 });
    expect((await node.make(overhead)).Policies).toEqual([overhead]);
    const endpoint = await node.make();
    expect((await modifyEndpointPolicies(node.client, endpoint.ID!, "Add", [overhead])).Policies).toEqual([
      overhead,
    ]);
  });
});

// dataplane.md §2.3: 1450 was seen on overlay networks of adapters with 1500.
describe("the MTU of an endpoint's interface", () => {
  const interfaces = (Mtu: number): PolicyDocument => policy("InterfaceParameters", { Mtu });
  const room = policy("EncapOverhead", { Overhead: 80 });
  /** `ignored`: with the defect encap-overhead-ignored. */
  it.each<[title: string, type: string, policies: readonly PolicyDocument[], mtu?: number, ignored?: number]>(
    [
      ["is the adapter's", "L2Bridge", []],
      ["is what a policy asks for", "L2Bridge", [interfaces(1400)], 1400, 1400],
      ["is not above the adapter's", "L2Bridge", [interfaces(9000)], 1500, 1500],
      ["leaves room for VXLAN", "Overlay", [], 1450],
      ["leaves the room that a policy asks for", "Overlay", [room], 1420],
      ["is what is asked for, less that room", "Overlay", [interfaces(1400)], 1350, 1400],
    ],
  )("%s (%s)", async (_title, type, policies, mtu, ignored) => {
    const mtuWith = async (setting: QuirkSetting): Promise<number | undefined> => {
      const node = await fixture(type);
      node.service.setQuirk("encap-overhead-ignored", setting);
      const endpoint = await node.make(...policies);
      const namespace = await createNamespace(node.client);
      await addNamespaceEndpoint(node.client, namespace.ID, endpoint.ID ?? "");
      return node.datapath.listVnics()[0]?.mtuBytes;
    };
    expect([await mtuWith("off"), await mtuWith("on")]).toEqual([mtu, ignored]);
  });
});

describe("what is stored without an effect is said in the health data", () => {
  it.each<[string, PolicyDocument, string | undefined]>([
    ["HCN-086: the default priority", acl({ Priority: 65_500 }), undefined],
    ["HCN-086: behind it", acl({ Priority: 65_501 }), "Priority 65501 is above 65500"],
    ["HCN-087: a Host rule", acl({ Protocols: "256", RuleType: "Host", Priority: 0 }), undefined],
    ["Pass outside a tier", acl({ Action: "Pass" }), "Pass has a meaning in tiers only"],
  ])("%s", async (_case, wanted, reason) => {
    const node = await fixture();
    const text = JSON.stringify((await node.make(wanted)).Health?.Data);
    if (reason === undefined) expect(text).not.toContain("NotEnforced");
    else expect(text).toContain(reason);
  });

  it.each([
    ["Overlay", false],
    ["L2Bridge", true],
  ])("a subnet's VSID on a network of type %s", async (type, isSaid) => {
    const { client } = hnsNode({ profile: "ws2025" });
    const subnet = { ...CBR0.Ipams[0].Subnets[0], Policies: [policy("VSID", { IsolationId: 4096 })] };
    const ipams = [{ Type: "Static", Subnets: [subnet] }];
    const made = await createNetwork(client, { Name: "net", Type: type, Ipams: ipams } as never);
    const { Health } = await getNetworkById(client, made.ID);
    expect(JSON.stringify(Health?.Data).includes('"Type":"VSID"')).toBe(isSaid);
  });

  it("address sets and ACLs that name them act", async () => {
    const node = await fixture();
    const network = await modifyNetworkPolicies(node.client, node.network, "Add", [ipSet("a", "10.0.0.1")]);
    expect(JSON.stringify(network.Health?.Data)).not.toContain("SetPolicy");
    const endpoint = await node.make(acl({ RemoteAddresses: "a" }));
    expect(JSON.stringify(endpoint.Health?.Data)).not.toContain("NotEnforced");
  });
});
