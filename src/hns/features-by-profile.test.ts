/** What each version of HNS can do, by what a client sees of it: hcn.md §7.1 by §7.2. */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { type HnsFeature, featuresOf, hasFeature } from "#contracts/hcn/features.ts";
import {
  createEndpoint,
  createLoadBalancer,
  createNetwork,
  getEndpointById,
  getLoadBalancerById,
  getNetworkById,
  modifyEndpointPolicies,
  modifyLoadBalancer,
  modifyNetworkPolicies,
} from "#contracts/hcn/operations.ts";
import { getHnsVersion, requestHns } from "#contracts/hcn/v1-operations.ts";
import { CBR0, type HnsNodeOptions } from "#test/support/hns/hns-node.ts";
import { type FaultyNode, faultyNode } from "#test/support/hns/faulty-node.ts";

/** Versions as they run, from the oldest to the newest; the last two have no profile yet. */
const RUNNING: readonly (readonly [version: string, options: HnsNodeOptions])[] = [
  ["9.1", { profile: "ws2019.1" }],
  ["9.2", { profile: "ws2019.379" }],
  ["9.5", { profile: "ws2019" }],
  ["10.3", { profile: "1903" }],
  ["11.10", { profile: "2004" }],
  ["13.3", { profile: "ws2022" }],
  ["14.0", { profile: "win11-21h2" }],
  ["15.0", { profile: "23h2" }],
  ["15.4", { profile: "ws2025" }],
  ["15.5", { profile: "ws2025", version: { Major: 15, Minor: 5 } }],
  ["16.0", { profile: "ws2025", version: { Major: 16, Minor: 0 } }],
];

/** Overlay networks do not share a switch with L2Bridge ones. */
const ADAPTER = { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet 2" } };
const ADAPTERS = [
  { name: "Ethernet", address: "10.0.2.15/24", mac: "00-22-48-01-02-03" },
  { name: "Ethernet 2", address: "10.0.3.15/24", mac: "00-22-48-01-02-04" },
] as const;

type Trial = (node: FaultyNode) => Promise<boolean>;

function acl(settings: JsonObject): { readonly Type: string; readonly Settings: JsonObject } {
  return {
    Type: "ACL",
    Settings: { Action: "Allow", Direction: "In", Priority: 200, RuleType: "Switch", ...settings },
  };
}

/** True when the service takes it, false when it says no. */
async function isTaken(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof HcnError) return false;
    throw error;
  }
}

function endpointPolicy(Type: string, Settings: JsonObject): Trial {
  return async ({ client, endpoints }) =>
    isTaken(modifyEndpointPolicies(client, endpoints[0] ?? "", "Add", [{ Type, Settings }]));
}

function networkPolicy(Type: string, Settings: JsonObject): Trial {
  return async ({ client, network }) =>
    isTaken(modifyNetworkPolicies(client, network, "Add", [{ Type, Settings }]));
}

function overlayPolicy(Type: string, Settings: JsonObject): Trial {
  return async ({ client }) => {
    const subnet = {
      IpAddressPrefix: "10.42.6.0/24",
      Routes: [{ NextHop: "10.42.6.1", DestinationPrefix: "0.0.0.0/0" }],
      Policies: [{ Type: "VSID", Settings: { IsolationId: 4096 } }],
    };
    const Ipams = [{ Type: "Static" as const, Subnets: [subnet] }];
    return isTaken(
      createNetwork(client, {
        Name: "vxlan0",
        Type: "Overlay",
        Ipams,
        Policies: [ADAPTER, { Type, Settings }],
      }),
    );
  };
}

async function made(
  node: FaultyNode,
  more: object,
): Promise<Awaited<ReturnType<typeof getLoadBalancerById>>> {
  return createLoadBalancer(node.client, {
    HostComputeEndpoints: node.endpoints.slice(0, 1),
    FrontendVIPs: ["10.96.0.10"],
    PortMappings: [{ Protocol: 6, InternalPort: 80, ExternalPort: 80 }],
    ...more,
  });
}

const TRIALS: { readonly [F in HnsFeature]: Trial } = {
  AclAddressLists: endpointPolicy("ACL", acl({ RemoteAddresses: "10.0.0.1,10.0.0.2" }).Settings),
  AclHostRulePriority: endpointPolicy("ACL", acl({ RuleType: "Host", Priority: 0 }).Settings),
  AclPortRanges: endpointPolicy("ACL", acl({ Protocols: "6", LocalPorts: "80-90" }).Settings),
  AclRuleId: async ({ client, endpoints }) => {
    const [id = ""] = endpoints;
    await modifyEndpointPolicies(client, id, "Add", [acl({ Id: "rule-1" })]);
    const { Policies = [] } = await getEndpointById(client, id);
    return Policies.some(
      ({ Type, Settings }) => Type === "ACL" && (Settings as { Id?: string }).Id === "rule-1",
    );
  },
  // An endpoint in v2 form has the address that it asks for.
  ApiV2: async ({ client, endpoints }) =>
    (await getEndpointById(client, endpoints[0] ?? "")).IpConfigurations?.[0]?.IpAddress === "10.244.2.10",
  RemoteSubnet: overlayPolicy("RemoteSubnetRoute", {
    DestinationPrefix: "10.42.7.0/24",
    IsolationId: 4096,
    ProviderAddress: "192.168.1.213",
    DistributedRouterMacAddress: "0a-1b-2c-3d-4e-5f",
  }),
  HostRoute: overlayPolicy("HostRoute", {}),
  DSR: async (node) => ((await made(node, { Flags: 1 })).Flags ?? 0) === 1,
  Slash32EndpointPrefixes: async ({ client, network }) => {
    const IpConfigurations = [{ IpAddress: "10.244.2.50", PrefixLength: 32 }];
    const asked = createEndpoint(client, network, { IpConfigurations });
    return (await isTaken(asked)) && (await asked).IpConfigurations?.[0]?.PrefixLength === 32;
  },
  AclSupportForProtocol252: endpointPolicy("ACL", acl({ Protocols: "252" }).Settings),
  IPv6DualStack: async ({ client }) => {
    const Subnets = [
      { IpAddressPrefix: "10.1.0.0/24", Routes: [{ NextHop: "10.1.0.1", DestinationPrefix: "0.0.0.0/0" }] },
      { IpAddressPrefix: "fd00:1::/64", Routes: [{ NextHop: "fd00:1::1", DestinationPrefix: "::/0" }] },
    ];
    return isTaken(createNetwork(client, { ...CBR0, Name: "dual", Ipams: [{ Type: "Static", Subnets }] }));
  },
  SessionAffinity: async (node) => {
    const PortMappings = [{ Protocol: 6, InternalPort: 80, ExternalPort: 80, DistributionType: 2 }];
    return (await made(node, { PortMappings })).PortMappings?.[0]?.DistributionType === 2;
  },
  SetPolicy: networkPolicy("SetPolicy", { Id: "s", Name: "s", PolicyType: "IPSET", Values: "10.0.0.1" }),
  VxlanPort: overlayPolicy("VxlanPort", { Port: 4789 }),
  L4Proxy: endpointPolicy("L4Proxy", {
    IP: "10.1.1.0/24",
    Port: "5001",
    Protocol: 6,
    Destination: "127.0.0.1:8888",
  }),
  L4WfpProxy: endpointPolicy("L4WFPPROXY", { OutboundProxyPort: "15001", FilterTuple: { Protocols: "6" } }),
  TierAcl: endpointPolicy("TierAcl", {
    Name: "t",
    Direction: "In",
    Order: 1,
    TierAclRules: [{ Id: "r", TierAclRuleAction: "Block", Priority: 500 }],
  }),
  NetworkACL: networkPolicy("NetworkACL", acl({}).Settings),
  NestedIpSet: async ({ client, network }) => {
    const set = (Id: string, PolicyType: string, Values: string): PolicyDocument => ({
      Type: "SetPolicy",
      Settings: { Id, Name: Id, PolicyType, Values },
    });
    const base = modifyNetworkPolicies(client, network, "Add", [set("a", "IPSET", "10.0.0.1")]);
    if (!(await isTaken(base))) return false;
    return isTaken(modifyNetworkPolicies(client, network, "Add", [set("b", "NESTEDIPSET", "a")]));
  },
  DisableHostPort: async ({ client, datapath }) => {
    await createNetwork(client, { Name: "n", Type: "Transparent", Flags: 1024, Policies: [ADAPTER] });
    const switches = datapath.listSwitches().map((id) => datapath.getSwitch(id));
    return switches.some((each) => each?.kind === "external" && !each.hasHostPort);
  },
  ModifyLoadbalancer: async (node) => {
    const { ID, ...document } = await made(node, {});
    const change = { ...document, ID, HostComputeEndpoints: node.endpoints };
    if (!(await isTaken(modifyLoadBalancer(node.client, ID, change)))) return false;
    return (await getLoadBalancerById(node.client, ID)).HostComputeEndpoints?.length === 2;
  },
  Accelnet: async ({ client }) => isTaken(requestHns(client, "GET", "/accelnet/")),
};

/** hcn.md §7.1, with hnslib's range for ModifyLoadbalancer: the versions of the list above that have a feature. */
const HAVE: { readonly [F in HnsFeature]: string } = {
  AclAddressLists: "9.1 9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  AclHostRulePriority: "9.1 9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  AclPortRanges: "9.1 9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  AclRuleId: "9.1 9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  ApiV2: "9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  RemoteSubnet: "9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  HostRoute: "9.2 9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  DSR: "9.5 10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  Slash32EndpointPrefixes: "9.5 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  AclSupportForProtocol252: "11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  IPv6DualStack: "11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  SessionAffinity: "13.3 14.0 15.0 15.4 15.5 16.0",
  SetPolicy: "13.3 14.0 15.0 15.4 15.5 16.0",
  VxlanPort: "10.3 11.10 13.3 14.0 15.0 15.4 15.5 16.0",
  L4Proxy: "9.5 13.3 14.0 15.0 15.4 15.5 16.0",
  L4WfpProxy: "13.3 14.0 15.0 15.4 15.5 16.0",
  TierAcl: "14.0 15.0 15.4 15.5 16.0",
  NetworkACL: "15.0 15.4 15.5 16.0",
  NestedIpSet: "13.3 14.0 15.0 15.4 15.5 16.0",
  DisableHostPort: "15.4 15.5 16.0",
  ModifyLoadbalancer: "15.5 16.0",
  Accelnet: "15.4 15.5 16.0",
};

/** What clients take for there by the version alone, where a service has more (hcsshim, `hcn/hcnglobals.go`). */
const FOR_CLIENTS: { readonly [F in HnsFeature]?: string } = { NestedIpSet: "15.0 15.4 15.5 16.0" };

describe("features by version, as a client sees them", () => {
  for (const [version, options] of RUNNING) {
    it.each(Object.keys(TRIALS) as HnsFeature[])(`HNS ${version}: %s`, async (feature) => {
      const isThere = HAVE[feature].split(" ").includes(version);
      expect(await TRIALS[feature](await faultyNode({ ...options, adapters: ADAPTERS }))).toBe(isThere);
    });
  }
});

describe("feature detection", () => {
  it.each(RUNNING)(
    "HCN-001: HNS %s answers its version as numbers, from which features follow",
    async (version, options) => {
      const { client } = await faultyNode(options);
      const [Major, Minor] = version.split(".").map(Number);
      expect(await client.call("GET", "/globals/version", "")).toEqual({
        Success: true,
        Output: { Major, Minor },
      });
      const answered = await getHnsVersion(client);
      for (const feature of Object.keys(HAVE) as HnsFeature[])
        expect(hasFeature(answered, feature), feature).toBe(
          (FOR_CLIENTS[feature] ?? HAVE[feature]).split(" ").includes(version),
        );
    },
  );

  it("HCN-002: 15.5 and 16.0 turn every feature on, and 9.1 turns the second interface off", () => {
    const all = Object.keys(HAVE);
    expect(featuresOf({ Major: 15, Minor: 5 })).toEqual(all);
    expect(featuresOf({ Major: 16, Minor: 0 })).toEqual(all);
    expect(hasFeature({ Major: 9, Minor: 1 }, "ApiV2")).toBe(false);
  });

  it.each([
    ["win11-21h2", false],
    ["23h2", true],
    ["ws2025", true],
  ])(
    "HCN-046: %s has NetworkACL: %s; it is seen once added, and not once removed",
    async (profile, isThere) => {
      const { client, network } = await faultyNode({ profile });
      const policy = { Type: "NetworkACL", Settings: acl({ RemoteAddresses: "10.0.0.1" }).Settings };
      const types = async (): Promise<readonly string[]> =>
        ((await getNetworkById(client, network)).Policies ?? []).map(({ Type }) => Type);
      expect(await isTaken(modifyNetworkPolicies(client, network, "Add", [policy]))).toBe(isThere);
      expect((await types()).includes("NetworkACL")).toBe(isThere);
      if (isThere) await modifyNetworkPolicies(client, network, "Remove", [policy]);
      expect(await types()).not.toContain("NetworkACL");
    },
  );

  it.each([
    ["ws2022", false],
    ["23h2", false],
    ["ws2025", true],
  ])("HCN-050: %s has the list of accelerated networking: %s", async (profile, isThere) => {
    const { client } = await faultyNode({ profile });
    const MacAddressList = [{ MacAddress: "00-15-5D-0A-B7-C6" }, { MacAddress: "00-15-5D-38-01-00" }];
    const posted = requestHns(client, "POST", "/accelnet/", { MacAddressList });
    if (!isThere) {
      await expect(posted).rejects.toMatchObject({ code: "HCN_E_REQUEST_UNSUPPORTED" });
      return;
    }
    expect(await posted).toEqual({ MacAddressList });
    expect(await requestHns(client, "GET", "/accelnet/")).toEqual({ MacAddressList });
    expect(await requestHns(client, "DELETE", "/accelnet/")).toEqual({ MacAddressList: [] });
    expect(await requestHns(client, "GET", "/accelnet/")).toEqual({ MacAddressList: [] });
  });

  it("an endpoint of 9.1 says that its v2 fields were ignored", async () => {
    const { client, endpoints } = await faultyNode({ profile: "ws2019.1" });
    const { Health } = await getEndpointById(client, endpoints[0] ?? "");
    expect(Health?.Data).toMatchObject({
      NotEnforced: [{ Type: "SchemaVersion", Reason: expect.stringContaining("IpConfigurations") as string }],
    });
  });

  it.each([
    ["ws2019.1", 38_654_705_665],
    ["1903", 42_949_672_963],
    ["ws2022", 55_834_574_851],
    ["23h2", 64_424_509_440],
  ])(
    "HCN-105: objects that %s writes have the version %d: major × 2^32 + minor",
    async (profile, version) => {
      const node = await faultyNode({ profile });
      const id = await node.balance(80);
      expect((await getNetworkById(node.client, node.network)).Version).toBe(version);
      expect((await getEndpointById(node.client, node.endpoints[0] ?? "")).Version).toBe(version);
      expect((await getLoadBalancerById(node.client, id)).Version).toBe(version);
      expect(await requestHns(node.client, "GET", `/networks/${node.network}`)).toMatchObject({
        Version: version,
      });
    },
  );
});
