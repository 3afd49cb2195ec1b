/** One row per policy and spelling of hcn.md §3.1–3.3: as a client sends it, and as it comes back (§1.6). */
import { describe, expect, it } from "vitest";
import { parseEndpointPolicy } from "./endpoint-policy.ts";
import type { HcnErrorCode } from "../error-codes.ts";
import { parseNetworkPolicy, parseSubnetPolicy } from "./network-policy.ts";
import { ENDPOINT_POLICY_TYPES, NETWORK_POLICY_TYPES, SUBNET_POLICY_TYPES } from "./policy-type.ts";

type Settings = Readonly<Record<string, unknown>>;
/** Type as sent, settings as sent, type as returned, settings as returned (the same when left out). */
type Row = readonly [sent: string, settings: Settings, type: string, canonical?: Settings];

const GUID = "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A";
const LOWER_GUID = GUID.toLowerCase();
const CONSTRAINT = {
  InterfaceGuid: LOWER_GUID,
  // Wi-Fi: interface type 71 in the upper sixteen bits.
  InterfaceLuid: 19_985_273_102_270_464,
  InterfaceIndex: 12,
  InterfaceMediaType: 0,
  InterfaceAlias: "Ethernet",
  InterfaceDescription: "Hyper-V Virtual Ethernet Adapter",
};

const NETWORK_ROWS: readonly Row[] = [
  ["SourceMacAddress", { SourceMacAddress: "00-22-48-55-D7-21" }, "SourceMacAddress"],
  ["sourcemacaddress", { SourceMacAddress: "00:22:48:55:d7:21" }, "SourceMacAddress"],
  ["NetAdapterName", { NetworkAdapterName: "Ethernet 2" }, "NetAdapterName"],
  ["InterfaceConstraint", CONSTRAINT, "InterfaceConstraint"],
  [
    "VSwitchExtension",
    { ExtensionID: GUID, Enable: "True" },
    "VSwitchExtension",
    { ExtensionID: LOWER_GUID, Enable: true },
  ],
  ["ProviderAddress", { ProviderAddress: "10.224.0.4" }, "ProviderAddress"],
  ["DrMacAddress", { Address: "00-15-5D-0C-3E-8F" }, "DrMacAddress"],
  ["AutomaticDNS", { Enable: true }, "AutomaticDNS"],
  [
    "RemoteSubnetRoute",
    {
      DestinationPrefix: "10.42.7.0/24",
      IsolationId: "4096",
      ProviderAddress: "192.168.1.213",
      DistributedRouterMacAddress: "0a:1b:2c:3d:4e:5f",
    },
    "RemoteSubnetRoute",
    {
      DestinationPrefix: "10.42.7.0/24",
      IsolationId: 4096,
      ProviderAddress: "192.168.1.213",
      DistributedRouterMacAddress: "0a:1b:2c:3d:4e:5f",
    },
  ],
  ["VxlanPort", { Port: "4789" }, "VxlanPort", { Port: 4789 }],
  ["HostRoute", {}, "HostRoute"],
  [
    "SetPolicy",
    { Id: "set-2", Name: "ip-set", PolicyType: 0, Values: "10.42.6.20,10.42.6.0/24" },
    "SetPolicy",
    { Id: "set-2", Name: "ip-set", PolicyType: "IPSET", Values: "10.42.6.20,10.42.6.0/24" },
  ],
  [
    "SetPolicy",
    { Id: "ns-prod", PolicyType: 1, Values: "set-2" },
    "SetPolicy",
    { Id: "ns-prod", PolicyType: "NESTEDIPSET", Values: "set-2" },
  ],
  [
    "setpolicy",
    { Id: "ns-prod", PolicyType: "nestedipset", Values: "" },
    "SetPolicy",
    { Id: "ns-prod", PolicyType: "NESTEDIPSET", Values: "" },
  ],
  [
    "L4Proxy",
    { IP: "10.1.1.0/24", Port: 5001, Protocol: "6", ExceptionList: ["10.0.0.0/8"], OutboundNat: true },
    "L4Proxy",
    { IP: "10.1.1.0/24", Port: "5001", Protocol: 6, Exceptions: ["10.0.0.0/8"], OutboundNAT: true },
  ],
  [
    "L4PROXY",
    {
      Port: "5001",
      Protocol: "UDP",
      Exceptions: ["10.0.0.1"],
      Destination: "127.0.0.1:8888",
      OutboundNAT: false,
    },
    "L4Proxy",
    {
      Port: "5001",
      Protocol: 17,
      Exceptions: ["10.0.0.1"],
      Destination: "127.0.0.1:8888",
      OutboundNAT: false,
    },
  ],
  ["LayerConstraint", { LayerId: GUID }, "LayerConstraint", { LayerId: LOWER_GUID }],
  [
    "NetworkACL",
    {
      Protocols: "6,17",
      Action: "Block",
      Direction: "In",
      RemotePorts: "80",
      RuleType: "Switch",
      Priority: 300,
    },
    "NetworkACL",
  ],
  [
    "NeighborDiscovery",
    { TargetIpPrefix: "10.0.0.0/24", SenderIpAddress: "10.0.0.1", SenderMacAddress: "00-15-5D-01-02-03" },
    "NeighborDiscovery",
  ],
];

const ENDPOINT_ROWS: readonly Row[] = [
  [
    "PortMapping",
    { Protocol: 6, InternalPort: 80, ExternalPort: 8080, VIP: "192.168.1.50", Flags: 1 },
    "PortMapping",
  ],
  // The PowerShell module: no protocol, ports as text.
  [
    "portmapping",
    { InternalPort: "80", ExternalPort: "8080" },
    "PortMapping",
    { InternalPort: 80, ExternalPort: 8080 },
  ],
  [
    "PortMapping",
    { Protocol: "udp", InternalPort: 53, ExternalPort: 0 },
    "PortMapping",
    { Protocol: 17, InternalPort: 53, ExternalPort: 0 },
  ],
  [
    "ACL",
    {
      Id: "policy-web-in-1",
      Protocols: "6",
      Action: "Allow",
      Direction: "In",
      LocalAddresses: "10.42.6.20",
      RemoteAddresses: "10.42.0.0/16,ns-prod",
      LocalPorts: "80,443",
      RemotePorts: "1024-65535",
      RuleType: "Switch",
      Priority: 1000,
    },
    "ACL",
  ],
  [
    "acl",
    { Protocols: 17, Action: "PASS", Direction: "out", LocalPorts: 53, RuleType: 0, Priority: "200" },
    "ACL",
    { Protocols: "17", Action: "Pass", Direction: "Out", LocalPorts: "53", RuleType: "Host", Priority: 200 },
  ],
  ["ACL", { Action: "1", Direction: "0" }, "ACL", { Action: "Block", Direction: "In" }],
  ["QOS", { MaximumOutgoingBandwidthInBytes: 125_000_000 }, "QOS"],
  [
    "QoS",
    { MaximumOutgoingBandwidthInBytes: "125000000" },
    "QOS",
    { MaximumOutgoingBandwidthInBytes: 125_000_000 },
  ],
  ["L2Driver", {}, "L2Driver"],
  ["OutBoundNAT", {}, "OutBoundNAT"],
  [
    "OutboundNat",
    {
      VirtualIP: "10.0.0.9",
      Exceptions: ["10.96.0.0/12"],
      Destinations: ["10.244.2.10"],
      Flags: 2,
      MaxPortPoolUsage: 128,
    },
    "OutBoundNAT",
  ],
  [
    "SDNROUTE",
    { DestinationPrefix: "10.96.0.0/12", NextHop: "", NeedEncap: true, AutomaticEndpointMonitor: false },
    "SDNRoute",
  ],
  ["SDNRoute", { DestinationPrefix: "169.254.169.254/24" }, "SDNRoute"],
  ["L4Proxy", { IP: "10.1.1.0/24", Port: "5001", Protocol: 6, Destination: "127.0.0.1:8888" }, "L4Proxy"],
  [
    "L4WFPPROXY",
    {
      InboundProxyPort: "15006",
      OutboundProxyPort: 15001,
      FilterTuple: { Protocols: 6, Priority: 1 },
      UserSID: "S-1-5-18",
      InboundExceptions: { PortExceptions: ["15021"] },
      OutboundExceptions: { IpAddressExceptions: ["10.96.0.1"], PortExceptions: [443] },
    },
    "L4WFPPROXY",
    {
      InboundProxyPort: "15006",
      OutboundProxyPort: "15001",
      FilterTuple: { Protocols: "6", Priority: 1 },
      UserSID: "S-1-5-18",
      InboundExceptions: { PortExceptions: ["15021"] },
      OutboundExceptions: { IpAddressExceptions: ["10.96.0.1"], PortExceptions: ["443"] },
    },
  ],
  // An older client.
  ["L4WfpProxy", { Port: "15001" }, "L4WFPPROXY", { OutboundProxyPort: "15001" }],
  ["ProviderAddress", { ProviderAddress: "192.168.1.212" }, "ProviderAddress"],
  ["PortName", {}, "PortName"],
  ["PortName", { Name: "web" }, "PortName"],
  ["EncapOverhead", { Overhead: "50" }, "EncapOverhead", { Overhead: 50 }],
  ["InterfaceConstraint", { InterfaceGuid: GUID }, "InterfaceConstraint", { InterfaceGuid: LOWER_GUID }],
  [
    "Encryption",
    {
      EncryptionMethodType: 0,
      AuthenticationMethods: [{ Type: "presharedkey", Settings: { PresharedKey: "x" } }, { Type: 1 }],
      Name: "tunnel",
      Endpoints1: ["10.0.0.1"],
      Endpoints2: ["10.0.0.2"],
      ProtocolType: 6,
      Endpoint1Ports: 80,
      Endpoint2Ports: "90",
    },
    "Encryption",
    {
      EncryptionMethodType: "Ipsec",
      AuthenticationMethods: [
        { Type: "PresharedKey", Settings: { PresharedKey: "x" } },
        { Type: "Certificate" },
      ],
      Name: "tunnel",
      Endpoints1: ["10.0.0.1"],
      Endpoints2: ["10.0.0.2"],
      ProtocolType: "6",
      Endpoint1Ports: "80",
      Endpoint2Ports: "90",
    },
  ],
  ["VLAN", { IsolationId: 100 }, "VLAN"],
  ["InterfaceParameters", { Mtu: 1400 }, "InterfaceParameters"],
  ["Iov", { IovOffloadWeight: 100, QueuePairsRequested: 1, InterruptModeration: 0 }, "Iov"],
  ["IOV", { InterruptModeration: "medium" }, "Iov", { InterruptModeration: 200 }],
  [
    "TierAcl",
    {
      Name: "infra",
      Direction: "In",
      Order: 100,
      TierAclRules: [
        {
          Id: "r1",
          Protocols: "6",
          TierAclRuleAction: "Pass",
          RemoteAddresses: "10.42.6.20/32",
          LocalPorts: "8080",
          Priority: 200,
        },
        { Id: "r2", TierAclRuleAction: 1, Priority: 65499 },
      ],
    },
    "TierAcl",
    {
      Name: "infra",
      Direction: "In",
      Order: 100,
      TierAclRules: [
        {
          Id: "r1",
          Protocols: "6",
          RemoteAddresses: "10.42.6.20/32",
          LocalPorts: "8080",
          TierAclRuleAction: "Pass",
          Priority: 200,
        },
        { Id: "r2", TierAclRuleAction: "Block", Priority: 65499 },
      ],
    },
  ],
  // The schema page, and what WSL sends.
  [
    "Firewall",
    { VmType: "wsl", FirewallPolicyFlags: "ConstrainedInterface" },
    "Firewall",
    { VmType: "WSL", FirewallPolicyFlags: 1 },
  ],
  [
    "Firewall",
    { VmCreatorId: GUID, PolicyFlags: 1 },
    "Firewall",
    { VmCreatorId: LOWER_GUID, PolicyFlags: 1 },
  ],
];

const SUBNET_ROWS: readonly Row[] = [
  ["VLAN", { IsolationId: 100 }, "VLAN"],
  ["vlan", { IsolationId: "7" }, "VLAN", { IsolationId: 7 }],
  ["VSID", { IsolationId: 4096 }, "VSID"],
  ["vsid", { IsolationId: 0xff_ffff }, "VSID"],
];

type Parse = (policy: { Type: string; Settings: never }, where: string) => unknown;

describe.each<[string, Parse, readonly Row[], readonly (string | undefined)[]]>([
  ["network policies (hcn.md §3.1)", parseNetworkPolicy, NETWORK_ROWS, NETWORK_POLICY_TYPES],
  ["subnet policies (hcn.md §3.2)", parseSubnetPolicy, SUBNET_ROWS, SUBNET_POLICY_TYPES],
  ["endpoint policies (hcn.md §3.3)", parseEndpointPolicy, ENDPOINT_ROWS, ENDPOINT_POLICY_TYPES],
])("%s", (_title, parse, rows, types) => {
  it.each(
    rows.map(([sent, settings, type, canonical = settings]) => [sent, settings, type, canonical] as const),
  )("%s %j comes back as %s", (sent, settings, Type, canonical) => {
    expect(parse({ Type: sent, Settings: settings as never }, "Policies[0]")).toEqual({
      Type,
      Settings: canonical,
    });
  });

  it("what comes back can be sent again, and comes back the same", () => {
    for (const [, settings, type, canonical = settings] of rows) {
      const once = parse({ Type: type, Settings: canonical as never }, "Policies[0]");
      expect(once).toEqual({ Type: type, Settings: canonical });
    }
  });

  it("each type has a row", () => {
    const covered = new Set(rows.map(([, , type]) => type));
    expect(types.filter((type) => type !== undefined && !covered.has(type))).toEqual([]);
  });
});

describe("bad settings (hcn.md §6.1)", () => {
  const rows: readonly [Parse, string, Settings, HcnErrorCode][] = [
    [parseNetworkPolicy, "SourceMacAddress", { SourceMacAddress: "00-22" }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "NetAdapterName", {}, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "InterfaceConstraint", { InterfaceIndex: -1 }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "InterfaceConstraint", { InterfaceGuid: "x" }, "HCN_E_GUID_CONVERSION_FAILURE"],
    [parseNetworkPolicy, "VSwitchExtension", { Enable: 3 }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "ProviderAddress", { ProviderAddress: "10.0.0" }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "DrMacAddress", {}, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "RemoteSubnetRoute", { IsolationId: 4096 }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "VxlanPort", { Port: 70_000 }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "SetPolicy", { PolicyType: 0 }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "SetPolicy", { Id: "a", PolicyType: 2 }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "SetPolicy", { Id: "a,b", PolicyType: 0 }, "HCN_E_INVALID_POLICY"],
    [
      parseNetworkPolicy,
      "SetPolicy",
      { Id: "a", PolicyType: 0, Values: "10.0.0.1,web" },
      "HCN_E_INVALID_POLICY",
    ],
    [parseNetworkPolicy, "L4Proxy", { Port: "80-90" }, "HCN_E_INVALID_POLICY"],
    [parseNetworkPolicy, "PortMapping", { InternalPort: 80 }, "HCN_E_INVALID_POLICY_TYPE"],
    [parseSubnetPolicy, "VLAN", { IsolationId: 4096 }, "HCN_E_INVALID_POLICY"],
    [parseSubnetPolicy, "VSID", { IsolationId: 0x100_0000 }, "HCN_E_INVALID_POLICY"],
    [parseSubnetPolicy, "VSID", {}, "HCN_E_INVALID_POLICY"],
    [parseSubnetPolicy, "ACL", {}, "HCN_E_INVALID_POLICY_TYPE"],
    [
      parseEndpointPolicy,
      "PortMapping",
      { InternalPort: "0", ExternalPort: 80 },
      "HCN_E_INVALID_INTERNAL_PORT",
    ],
    [parseEndpointPolicy, "PortMapping", { Protocol: 1, InternalPort: 80 }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "PortMapping", { InternalPort: 80, VIP: "all" }, "HCN_E_INVALID_POLICY"],
    [
      parseEndpointPolicy,
      "ACL",
      { Action: "Allow", Direction: "In", Protocols: "1", LocalPorts: "80" },
      "HCN_E_INVALID_POLICY",
    ],
    [
      parseEndpointPolicy,
      "ACL",
      { Action: "Allow", Direction: "In", Protocols: "257" },
      "HCN_E_INVALID_POLICY",
    ],
    [parseEndpointPolicy, "QOS", { MaximumOutgoingBandwidthInBytes: -1 }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "OutBoundNAT", { VirtualIP: "x" }, "HCN_E_INVALID_POLICY"],
    [
      parseEndpointPolicy,
      "SDNRoute",
      { DestinationPrefix: "10.0.0.0/8", NextHop: "x" },
      "HCN_E_INVALID_POLICY",
    ],
    [parseEndpointPolicy, "L4WFPPROXY", { OutboundProxyPort: "web" }, "HCN_E_INVALID_POLICY"],
    [
      parseEndpointPolicy,
      "L4WFPPROXY",
      { OutboundExceptions: { PortExceptions: ["web"] } },
      "HCN_E_INVALID_POLICY",
    ],
    [parseEndpointPolicy, "EncapOverhead", { Overhead: 65_536 }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "Encryption", { EncryptionMethodType: "Ssl" }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "VLAN", {}, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "InterfaceParameters", { Mtu: "big" }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "Iov", { InterruptModeration: 3 }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "TierAcl", { Order: 1 }, "HCN_E_INVALID_POLICY"],
    [
      parseEndpointPolicy,
      "TierAcl",
      { Direction: "In", TierAclRules: [{ Id: "r" }] },
      "HCN_E_INVALID_POLICY",
    ],
    [parseEndpointPolicy, "Firewall", { VmType: "LCOW" }, "HCN_E_INVALID_POLICY"],
    [parseEndpointPolicy, "VSID", { IsolationId: 1 }, "HCN_E_INVALID_POLICY_TYPE"],
  ];
  it.each(rows.map(([parse, ...row]) => [`function ${parse.name}`, ...row, parse] as const))(
    "%# %s %s %j is refused with %s",
    (_name, type, settings, code, parse) => {
      expect(() => parse({ Type: type, Settings: settings as never }, "Policies[0]")).toThrow(
        expect.objectContaining({ code }),
      );
    },
  );
});
