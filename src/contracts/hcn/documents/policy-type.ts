/**
 * The names of all policies at their number in the schema (hcn.md §3). Inferred: the numbers, from the order in which
 * the schema lists the names; PortName 9 and Firewall 18 are known from a client and agree.
 */

export const ENDPOINT_POLICY_TYPES = [
  "PortMapping",
  "ACL",
  "QOS",
  "L2Driver",
  "OutBoundNAT",
  "SDNRoute",
  "L4Proxy",
  "L4WFPPROXY",
  "ProviderAddress",
  "PortName",
  "EncapOverhead",
  "InterfaceConstraint",
  "Encryption",
  "VLAN",
  "InterfaceParameters",
  "Iov",
  "TierAcl",
  undefined,
  "Firewall",
] as const;
export type EndpointPolicyType = Exclude<(typeof ENDPOINT_POLICY_TYPES)[number], undefined>;

export const NETWORK_POLICY_TYPES = [
  "SourceMacAddress",
  "NetAdapterName",
  "VSwitchExtension",
  "DrMacAddress",
  "AutomaticDNS",
  "InterfaceConstraint",
  "ProviderAddress",
  "RemoteSubnetRoute",
  "VxlanPort",
  "HostRoute",
  "SetPolicy",
  "L4Proxy",
  "LayerConstraint",
  "NetworkACL",
  "NeighborDiscovery",
] as const;
export type NetworkPolicyType = (typeof NETWORK_POLICY_TYPES)[number];

export const SUBNET_POLICY_TYPES = ["VLAN", "VSID"] as const;
export type SubnetPolicyType = (typeof SUBNET_POLICY_TYPES)[number];
