/** Requests that are right, from which the fuzzer makes wrong ones. `$Network` and its like stand for ids. */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";

const V2 = { SchemaVersion: { Major: 2, Minor: 0 } } as const;
const DEFAULT_ROUTE = { NextHop: "10.244.2.1", DestinationPrefix: "0.0.0.0/0" } as const;
const IPAMS = [
  { Type: "Static", Subnets: [{ IpAddressPrefix: "10.244.2.0/24", Routes: [DEFAULT_ROUTE] }] },
] as const;
const OVERLAY_IPAMS = [
  {
    Type: "Static",
    Subnets: [
      {
        IpAddressPrefix: "10.42.6.0/24",
        Routes: [{ NextHop: "10.42.6.1", DestinationPrefix: "0.0.0.0/0" }],
        Policies: [{ Type: "VSID", Settings: { IsolationId: 4_096 } }],
      },
    ],
  },
] as const;

const NETWORKS: readonly JsonObject[] = [
  { ...V2, Name: "cbr$Number", Type: "L2Bridge", Ipams: IPAMS },
  { ...V2, Name: "nat$Number", Type: "NAT", Flags: 8 },
  { ...V2, Name: "flannel.$Number", Type: "Overlay", Flags: 8, Ipams: OVERLAY_IPAMS },
  { ...V2, Name: "ext", Type: "Transparent", Ipams: [{ Type: "Dhcp" }] },
  { ...V2, Name: "priv", Type: "Private" },
  { ...V2, Name: "int", Type: "Internal", Ipams: IPAMS },
  {
    ...V2,
    Name: "ics",
    Type: "ICS",
    Flags: 9,
    Ipams: [{ Subnets: [{ IpAddressPrefix: "172.24.48.0/20" }] }],
  },
  {
    ...V2,
    Name: "policies",
    Type: "L2Bridge",
    MacPool: { Ranges: [{ StartMacAddress: "00-15-5D-52-C0-00", EndMacAddress: "00-15-5D-52-CF-FF" }] },
    Policies: [
      { Type: "NetAdapterName", Settings: { NetworkAdapterName: "Ethernet" } },
      { Type: "SetPolicy", Settings: { Id: "s", Name: "s", PolicyType: "IPSET", Values: "10.1.1.1" } },
      { Type: "HostRoute", Settings: {} },
    ],
    Dns: { Domain: "cluster.local", Search: ["a", "b"], ServerList: ["10.96.0.10"] },
    Ipams: IPAMS,
  },
  {
    Name: "v1",
    Type: "l2bridge",
    Subnets: [{ AddressPrefix: "10.244.2.0/24", GatewayAddress: "10.244.2.1" }],
  },
];

const ENDPOINTS: readonly JsonObject[] = [
  { ...V2, Name: "web", HostComputeNetwork: "$Network" },
  {
    ...V2,
    HostComputeNetwork: "$Network",
    Flags: 1,
    MacAddress: "02-11-0a-2a-09-25",
    IpConfigurations: [{ IpAddress: "10.42.9.37" }],
  },
  {
    ...V2,
    Name: "pod",
    HostComputeNetwork: "$Network",
    IpConfigurations: [{ IpAddress: "10.244.2.$Number", PrefixLength: 24 }],
    Routes: [DEFAULT_ROUTE],
    Dns: { ServerList: ["10.96.0.10"], Search: ["svc.cluster.local"] },
    Policies: [
      { Type: "OutBoundNAT", Settings: { Exceptions: ["10.96.0.0/12"] } },
      { Type: "SDNRoute", Settings: { DestinationPrefix: "10.96.0.0/12", NeedEncap: true } },
      { Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8_080, Flags: 1 } },
      {
        Type: "ACL",
        Settings: { Protocols: "6", Action: "Allow", Direction: "In", LocalPorts: "80,443", Priority: 200 },
      },
      { Type: "QOS", Settings: { MaximumOutgoingBandwidthInBytes: 125_000 } },
    ],
  },
  {
    Name: "v1",
    VirtualNetwork: "$Network",
    IPAddress: "10.244.2.20",
    Policies: [{ Type: "NAT", InternalPort: 80, ExternalPort: 90, Protocol: "TCP" }],
  },
];

const BALANCED: JsonObject = {
  ...V2,
  HostComputeEndpoints: ["$Endpoint"],
  SourceVIP: "10.0.2.15",
  FrontendVIPs: ["10.96.0.$Number"],
  PortMappings: [{ Protocol: 6, InternalPort: 8_080, ExternalPort: 80, DistributionType: 2, Flags: 0 }],
  Flags: 1,
};

/** Documents to create, by kind. */
export const FUZZ_DOCUMENTS: Readonly<Record<HcnObjectKind, readonly JsonObject[]>> = {
  Network: NETWORKS,
  Endpoint: ENDPOINTS,
  Namespace: [
    { SchemaVersion: { Major: 0, Minor: 0 } },
    { ...V2, Type: "Host" },
    { ...V2, Type: "HostDefault" },
    { ...V2, Type: "Guest", NamespaceId: 5 },
    { IsDefault: true },
  ],
  LoadBalancer: [
    BALANCED,
    { ...BALANCED, FrontendVIPs: [], Flags: 0 },
    { ...BALANCED, HostComputeEndpoints: ["$Endpoint", "$Endpoint"], SourceVIP: "" },
  ],
  SdnRoute: [
    {
      ...V2,
      HostComputeEndpoints: ["$Endpoint"],
      Setting: [{ DestinationPrefix: "169.254.169.254/24", NextHop: "127.10.0.33" }],
    },
    {
      ...V2,
      HostComputeEndpoints: ["$Endpoint"],
      Routes: [{ DestinationPrefix: "10.1.0.0/16", NextHop: "10.244.2.2", NeedEncap: false }],
    },
  ],
  GuestNetworkService: [
    {
      ...V2,
      VirtualMachineId: "641313e1-7ae8-4ddb-94e5-3215f3a0b218",
      MirrorHostNetworking: true,
      GnsRpcServerInformation: { EndpointType: "HvSocket" },
      Flags: 1,
    },
  ],
};

function policies(RequestType: string, ...Policies: readonly JsonObject[]): JsonObject {
  return { RequestType, ResourceType: "Policy", Settings: { Policies } };
}

const ACL: JsonObject = { Type: "ACL", Settings: { Action: "Block", Direction: "Out", Priority: 300 } };
const NAT: JsonObject = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.0.0.0/8"] } };
const VM_PORT: JsonObject = {
  PortId: "4f60f2e3-8a9a-46c3-a8e3-3c57f4a79330",
  VirtualNicName: "a--b",
  VirtualMachineId: "641313e1-7ae8-4ddb-94e5-3215f3a0b218",
};
const PEER: JsonObject = {
  Type: "RemoteSubnetRoute",
  Settings: {
    DestinationPrefix: "10.42.$Number.0/24",
    IsolationId: 4_096,
    ProviderAddress: "192.168.1.213",
    DistributedRouterMacAddress: "0a-1b-2c-3d-4e-5f",
  },
};

/** Requests to change an object, by kind. */
export const FUZZ_CHANGES: Readonly<Record<HcnObjectKind, readonly JsonObject[]>> = {
  Network: [
    policies("Add", { Type: "HostRoute", Settings: {} }),
    policies("Remove", { Type: "HostRoute", Settings: {} }),
    policies("Add", PEER),
    policies("Update", PEER),
    policies("Remove", PEER),
    policies("Add", {
      Type: "SetPolicy",
      Settings: { Id: "t", Name: "t", PolicyType: "IPSET", Values: "10.1.1.2" },
    }),
    policies("Update", {}),
    {
      RequestType: "Add",
      ResourceType: "Subnet",
      Settings: { Subnets: [{ IpAddressPrefix: "10.$Number.0.0/16", Routes: [] }] },
    },
    {
      RequestType: "Remove",
      ResourceType: "Subnet",
      Settings: { Subnets: [{ IpAddressPrefix: "10.$Number.0.0/16" }] },
    },
    { RequestType: "Update", ResourceType: "DNS", Settings: { ServerList: ["1.1.1.1"] } },
    {
      RequestType: "Update",
      ResourceType: "Extension",
      Settings: { Id: "583cc151-73ec-4a6a-8b47-578297ad7623", IsEnabled: true },
    },
  ],
  Endpoint: [
    policies("Add", ACL),
    policies("Update", ACL, NAT),
    policies("Remove", ACL),
    policies("Update", {}),
    policies("Add", {
      Type: "PortMapping",
      Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8_081 },
    }),
    { RequestType: "Add", ResourceType: "Port", Settings: VM_PORT },
    { RequestType: "Remove", ResourceType: "Port", Settings: {} },
    { RequestType: "Refresh" },
    { RequestType: "Reset", ResourceType: 1 },
  ],
  Namespace: [
    { RequestType: "Add", ResourceType: "Endpoint", Settings: { EndpointId: "$Endpoint" } },
    { RequestType: "Add", ResourceType: "Endpoint", Settings: { EndpointId: "$Endpoint" } },
    { RequestType: "Remove", ResourceType: "Endpoint", Settings: { EndpointId: "$Endpoint" } },
    { RequestType: "Add", ResourceType: "Container", Settings: { ContainerId: "c1" } },
    { RequestType: "Remove", ResourceType: "Container", Settings: { ContainerId: "c1" } },
  ],
  LoadBalancer: [BALANCED, { ...BALANCED, HostComputeEndpoints: ["$Endpoint"] }],
  SdnRoute: [
    {
      ...V2,
      HostComputeEndpoints: ["$Endpoint"],
      Routes: [{ DestinationPrefix: "10.1.0.0/16", NextHop: "10.244.2.2" }],
    },
  ],
  GuestNetworkService: [
    { RequestType: "Update", ResourceType: "State", Settings: { State: "Synchronized" } },
    { RequestType: "Update", ResourceType: 0, Settings: { State: 4 } },
  ],
};

/** Bodies of v1 requests. */
export const FUZZ_V1_BODIES: readonly JsonObject[] = [
  {
    Name: "v1-$Number",
    Type: "L2Bridge",
    Subnets: [{ AddressPrefix: "10.9.0.0/16", GatewayAddress: "10.9.0.1" }],
  },
  { VirtualNetwork: "$Network" },
  { SystemType: "Host", CompartmentId: 1, VirtualNicName: "" },
  { SystemType: "Container", ContainerId: "c1" },
  { Type: "Endpoint", Data: { Id: "$Endpoint" } },
  { Type: "Container", Data: { Id: "c1" } },
  { IsDefault: true },
  { Policies: [{ Type: "ACL", Action: "Allow", Direction: "In", Protocol: 6 }] },
  {
    References: ["/endpoints/$Endpoint"],
    Policies: [{ Type: "ELB", InternalPort: 80, ExternalPort: 80, Protocol: 6, VIPs: ["10.96.0.7"] }],
  },
  { MacAddressList: [{ MacAddress: "00-15-5D-0A-B7-C6" }] },
];
