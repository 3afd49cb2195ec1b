/** One row per v1 spelling of hcn.md §3.6: as v1 clients send it, as v2 shows it, as v1 shows it again. */
import { describe, expect, it } from "vitest";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { parseEndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import { parseNetworkPolicy, parseSubnetPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { getNetworkById } from "#contracts/hcn/operations.ts";
import type { HnsPolicy } from "#contracts/hcn/description/description.ts";
import { createHnsNetwork, requestHns } from "#contracts/hcn/v1-operations.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import type { PolicyOwner } from "#contracts/hcn/description/description.ts";
import { fieldsWithoutV2, policyFromV1, policyToV1, splitIsolation } from "./policy-mapping.ts";

interface Checked {
  readonly Type: string;
  readonly Settings: object;
}

const PARSERS: Readonly<Record<PolicyOwner, (policy: PolicyDocument, where: string) => Checked>> = {
  endpoint: parseEndpointPolicy,
  network: parseNetworkPolicy,
  subnet: parseSubnetPolicy,
};

/** v1 as sent, v2, v1 as returned (the same when left out). */
type Row = readonly [owner: PolicyOwner, sent: HnsPolicy, v2: Checked, returned?: HnsPolicy];

const ROUTE = { DestinationPrefix: "10.96.0.0/12", NextHop: "10.0.2.1", NeedEncap: true };
const SUBNET_ROUTE = {
  DestinationPrefix: "10.42.7.0/24",
  DistributedRouterMacAddress: "0a-1b-2c-3d-4e-5f",
  IsolationId: 4096,
  ProviderAddress: "192.168.1.213",
};

const ROWS: readonly Row[] = [
  [
    "endpoint",
    { Type: "NAT", Protocol: "TCP", InternalPort: 80, ExternalPort: 8080, ExternalPortReserved: true },
    { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080, Flags: 4 } },
  ],
  [
    "endpoint",
    { Type: "nat", Protocol: "udp", InternalPort: "53", ExternalPort: "0" },
    { Type: "PortMapping", Settings: { Protocol: 17, InternalPort: 53, ExternalPort: 0 } },
    { Type: "NAT", Protocol: "UDP", InternalPort: 53, ExternalPort: 0 },
  ],
  [
    "endpoint",
    {
      Type: "ACL",
      Id: "r",
      Protocols: "6,17",
      Action: "Allow",
      Direction: "In",
      LocalAddresses: "10.0.0.1",
      RemoteAddresses: "10.0.0.0/8",
      LocalPorts: "80",
      RemotePorts: "1024-65535",
      RuleType: "Switch",
      Priority: 1000,
      ServiceName: "dnscache",
    },
    {
      Type: "ACL",
      Settings: {
        Id: "r",
        Protocols: "6,17",
        Action: "Allow",
        Direction: "In",
        LocalAddresses: "10.0.0.1",
        RemoteAddresses: "10.0.0.0/8",
        LocalPorts: "80",
        RemotePorts: "1024-65535",
        RuleType: "Switch",
        Priority: 1000,
        ServiceName: "dnscache",
      },
    },
  ],
  [
    "endpoint",
    {
      Type: "ACL",
      Protocol: 6,
      Action: "Block",
      Direction: "Out",
      InternalPort: 80,
      RemotePort: 443,
      Scope: 0,
    },
    {
      Type: "ACL",
      Settings: { Protocols: "6", Action: "Block", Direction: "Out", LocalPorts: "80", RemotePorts: "443" },
    },
    { Type: "ACL", Protocols: "6", Action: "Block", Direction: "Out", LocalPorts: "80", RemotePorts: "443" },
  ],
  [
    "endpoint",
    { Type: "ACL", Protocol: 0, Action: "Allow", Direction: "In", LocalPort: 0, RemotePort: 0 },
    { Type: "ACL", Settings: { Action: "Allow", Direction: "In" } },
    { Type: "ACL", Action: "Allow", Direction: "In" },
  ],
  [
    "endpoint",
    { Type: "PA", PA: "10.0.2.15" },
    { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.2.15" } },
  ],
  [
    "endpoint",
    { Type: "VNET", PA: "10.0.2.15" },
    { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.2.15" } },
    { Type: "PA", PA: "10.0.2.15" },
  ],
  ["endpoint", { Type: "VLAN", VLAN: 7 }, { Type: "VLAN", Settings: { IsolationId: 7 } }],
  [
    "endpoint",
    { Type: "Isolation", VLAN: 7, VSID: 0, InDefaultIsolation: false },
    { Type: "VLAN", Settings: { IsolationId: 7 } },
    { Type: "VLAN", VLAN: 7 },
  ],
  ["endpoint", { Type: "L2Driver" }, { Type: "L2Driver", Settings: {} }],
  [
    "endpoint",
    { Type: "QOS", MaximumOutgoingBandwidthInBytes: 1000 },
    { Type: "QOS", Settings: { MaximumOutgoingBandwidthInBytes: 1000 } },
  ],
  [
    "endpoint",
    {
      Type: "OutBoundNAT",
      VIP: "10.0.2.15",
      ExceptionList: ["10.96.0.0/12"],
      Destinations: ["8.8.8.8"],
      MaxPortPoolUsage: 64,
    },
    {
      Type: "OutBoundNAT",
      Settings: {
        VirtualIP: "10.0.2.15",
        Exceptions: ["10.96.0.0/12"],
        Destinations: ["8.8.8.8"],
        MaxPortPoolUsage: 64,
      },
    },
  ],
  ["endpoint", { Type: "ROUTE", ...ROUTE }, { Type: "SDNRoute", Settings: ROUTE }],
  // By the name of v2, with flat fields.
  [
    "endpoint",
    { Type: "SDNROUTE", ...ROUTE },
    { Type: "SDNRoute", Settings: ROUTE },
    { Type: "ROUTE", ...ROUTE },
  ],
  [
    "endpoint",
    {
      Type: "PROXY",
      IP: "10.0.0.1",
      Port: "5001",
      ExceptionList: ["10.0.0.0/8"],
      Destination: "x",
      OutboundNat: true,
    },
    {
      Type: "L4Proxy",
      Settings: {
        IP: "10.0.0.1",
        Port: "5001",
        Exceptions: ["10.0.0.0/8"],
        Destination: "x",
        OutboundNAT: true,
      },
    },
  ],
  [
    "endpoint",
    { Type: "L4WFPPROXY", Port: 15001 },
    { Type: "L4WFPPROXY", Settings: { OutboundProxyPort: "15001" } },
    { Type: "L4WFPPROXY", OutboundProxyPort: "15001" },
  ],
  ["network", { Type: "HostRoute" }, { Type: "HostRoute", Settings: {} }],
  [
    "network",
    { Type: "RemoteSubnetRoute", ...SUBNET_ROUTE },
    { Type: "RemoteSubnetRoute", Settings: SUBNET_ROUTE },
  ],
  [
    "network",
    { Type: "VNET", PA: "10.0.2.15" },
    { Type: "ProviderAddress", Settings: { ProviderAddress: "10.0.2.15" } },
    { Type: "PA", PA: "10.0.2.15" },
  ],
  ["subnet", { Type: "VLAN", VLAN: 7 }, { Type: "VLAN", Settings: { IsolationId: 7 } }],
  ["subnet", { Type: "VSID", VSID: 9999 }, { Type: "VSID", Settings: { IsolationId: 9999 } }],
  // An old v2 sample in the flat form (hcn.md §3).
  [
    "subnet",
    { Type: "Isolation", VLAN: 0, VSID: 9999 },
    { Type: "VSID", Settings: { IsolationId: 9999 } },
    { Type: "VSID", VSID: 9999 },
  ],
];

describe("v1 policies (hcn.md §3.6)", () => {
  it.each(ROWS.map(([owner, sent, v2, returned = sent]) => [owner, sent, v2, returned] as const))(
    "of a %s: %j",
    (owner, sent, v2, returned) => {
      const checked = PARSERS[owner](policyFromV1(owner, sent), "Policies[0]");
      expect(checked).toEqual(v2);
      expect(policyToV1(owner, checked)).toEqual(returned);
    },
  );

  it("a network's VLAN, VSID and Isolation belong to its subnets", () => {
    const policies = [{ Type: "VLAN", VLAN: 1 }, { Type: "HostRoute" }];
    expect(splitIsolation(policies)).toEqual({
      others: [{ Type: "HostRoute" }],
      isolation: [{ Type: "VLAN", Settings: { IsolationId: 1 } }],
    });
  });

  it("an endpoint has no VSID of its own", () => {
    expect(() => policyFromV1("endpoint", { Type: "Isolation", VSID: 5000 })).toThrow(
      expect.objectContaining({ code: "HCN_E_INVALID_POLICY" }),
    );
  });
});

describe("a v1 network with a VLAN beside its subnets, as Docker makes it", () => {
  it.each<[string, object, readonly PolicyDocument[]]>([
    [
      "its subnet gets it",
      { Policies: [{ Type: "VLAN", VLAN: 7 }] },
      [{ Type: "VLAN", Settings: { IsolationId: 7 } }],
    ],
    [
      "a subnet's own counts",
      {
        Policies: [{ Type: "VLAN", VLAN: 7 }],
        Subnets: [
          { AddressPrefix: "10.1.0.0/24", GatewayAddress: "10.1.0.1", Policies: [{ Type: "VLAN", VLAN: 8 }] },
        ],
      },
      [{ Type: "VLAN", Settings: { IsolationId: 8 } }],
    ],
  ])("%s", async (_case, more, policies) => {
    const { client } = hnsNode();
    const made = await createHnsNetwork(client, {
      Name: "t",
      Type: "transparent",
      Subnets: [{ AddressPrefix: "10.1.0.0/24", GatewayAddress: "10.1.0.1" }],
      ...more,
    });
    const network = await getNetworkById(client, made.ID);
    expect(network.Ipams?.[0]?.Subnets?.[0]?.Policies).toEqual(policies);
    expect(network.Policies?.map(({ Type }) => Type)).not.toContain("VLAN");
  });

  it("what was read can be written back; another VLAN is refused, not forgotten", async () => {
    const { client } = hnsNode();
    const made = await createHnsNetwork(client, {
      Name: "t",
      Type: "transparent",
      Subnets: [{ AddressPrefix: "10.1.0.0/24", GatewayAddress: "10.1.0.1" }],
      Policies: [{ Type: "VLAN", VLAN: 7 }],
    });
    const read = await requestHns(client, "GET", `/networks/${made.ID}`);
    await requestHns(client, "POST", `/networks/${made.ID}`, read as never);
    await expect(
      requestHns(client, "POST", `/networks/${made.ID}`, { Policies: [{ Type: "VLAN", VLAN: 8 }] }),
    ).rejects.toMatchObject({ code: "HCN_E_REQUEST_UNSUPPORTED" });
  });
});

describe("fields that v2 has no place for", () => {
  it("are not the old names of an ACL, whose values stand under the new ones", () => {
    const acl = {
      Type: "ACL",
      Action: "Allow",
      Direction: "In",
      Protocol: 6,
      LocalPort: 80,
      RemotePort: 443,
    };
    expect(policyFromV1("endpoint", acl).Settings).toMatchObject({ LocalPorts: 80, RemotePorts: 443 });
    expect(fieldsWithoutV2("endpoint", { ...acl, Zebra: 1 })).toEqual({ Zebra: 1 });
  });
});
