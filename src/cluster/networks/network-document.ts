/** The HCN documents of a node's networks and of its pods' endpoints, driver by driver (hcn.md §3.1, §4.1; dataplane.md §2). */
import { formatMac } from "#core/net/mac.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { JsonObject } from "#core/base/json.ts";
import {
  ENDPOINT_FLAGS,
  type HostComputeEndpoint,
  parseEndpoint,
} from "#contracts/hcn/documents/endpoint.ts";
import { NAT_FLAGS } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { ANY_IPV4, type Ip, type Ipv4, type Ipv6, formatIp, formatPrefix } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { ClusterFile, NodeSpec, PodNetworkSpec, FilePodSpec } from "../file/cluster-file.ts";
import { driverTraits } from "../file/driver-traits.ts";
import { networkGateway, podGateway, secondAddress, secondFamily, subnetOn } from "./networks-of-node.ts";

/** The adapter's friendly name on a node with one (windows-networking-documentation.md §9, item 9). */
export const ADAPTER_NAME = "Ethernet";
const DEFAULT_ROUTE = formatPrefix(ANY_IPV4);
const DEFAULT_IPV6_ROUTE = "::/0";
const VXLAN_PORT = 4_789;

function subnetPolicies(network: PodNetworkSpec): readonly PolicyDocument[] {
  if (network.driver === "Overlay") return [{ Type: "VSID", Settings: { IsolationId: network.vni } }];
  return network.vlan === 0 ? [] : [{ Type: "VLAN", Settings: { IsolationId: network.vlan } }];
}

/** HostRoute, as flanneld sets it, lets the node and its own pods reach each other (dataplane.md O-9). */
function networkPolicies(network: PodNetworkSpec): readonly PolicyDocument[] {
  const adapter = { Type: "NetAdapterName", Settings: { NetworkAdapterName: ADAPTER_NAME } };
  return [
    ...(driverTraits(network.driver).isExternal ? [adapter] : []),
    ...(network.driver === "Overlay" ? [{ Type: "HostRoute", Settings: {} }] : []),
    ...(network.driver === "Overlay" && network.vxlanPort !== VXLAN_PORT
      ? [{ Type: "VxlanPort", Settings: { Port: network.vxlanPort } }]
      : []),
  ];
}

export function networkDocument(
  file: ClusterFile,
  network: PodNetworkSpec,
  node: NodeSpec,
): HostComputeNetwork {
  const policies = subnetPolicies(network);
  if (network.ipam === "dhcp") return leasedNetworkDocument(network, policies);
  const gateway = formatIp(networkGateway(file, network, node));
  const second = secondFamily(file, network, node);
  return {
    Name: network.name,
    Type: network.driver,
    Policies: [...networkPolicies(network)],
    Ipams: [
      {
        Type: "Static",
        Subnets: [
          {
            IpAddressPrefix: formatPrefix(subnetOn(file, network, node)),
            Routes: [{ NextHop: gateway, DestinationPrefix: DEFAULT_ROUTE }],
            ...(policies.length > 0 && { Policies: [...policies] }),
          },
          ...(second === undefined
            ? []
            : [
                {
                  IpAddressPrefix: formatPrefix(second.subnet),
                  Routes: [{ NextHop: formatIp(second.gateway), DestinationPrefix: DEFAULT_IPV6_ROUTE }],
                },
              ]),
        ],
      },
    ],
  };
}

/** HNS has no addresses to give (hcn.md §4.1): a subnet without a prefix carries the VLAN alone, as in hcn.md §9.7. */
function leasedNetworkDocument(
  network: PodNetworkSpec,
  policies: readonly PolicyDocument[],
): HostComputeNetwork {
  const subnets = policies.length === 0 ? {} : { Subnets: [{ Policies: [...policies] }] };
  return {
    Name: network.name,
    Type: network.driver,
    Policies: [...networkPolicies(network)],
    Ipams: [{ Type: "Dhcp", ...subnets }],
  };
}

/**
 * The policies that every pod of the node gets. SDN routes lead over the host: to Services of all drivers that have them,
 * and on L2Bridge to the node itself (cni.md §2.2, §2.10; dataplane.md B-8).
 */
export function endpointPolicies(
  file: ClusterFile,
  network: PodNetworkSpec,
  node: NodeSpec,
): readonly JsonObject[] {
  const { hasServices, translatesToNodes } = driverTraits(network.driver);
  const policies: JsonObject[] = [];
  if (network.outboundNAT.enabled) {
    const exceptions = network.outboundNAT.exceptions.map(formatPrefix);
    policies.push({ Type: "OutBoundNAT", Settings: { Exceptions: exceptions } });
  }
  if (!hasServices) return policies;
  const own = translatesToNodes ? [] : [`${formatIp(node.address)}/32`];
  for (const prefix of [formatPrefix(file.network.serviceCIDR), ...own])
    policies.push({ Type: "SDNRoute", Settings: { DestinationPrefix: prefix, NeedEncap: true } });
  return policies;
}

/** A pod with two addresses has each mapping twice, the second with the flag IPv6 (hcn.md §4.4, §10). */
function portMappings(pod: FilePodSpec, isDual: boolean): readonly JsonObject[] {
  return pod.ports.flatMap(({ port, hostPort, protocol }) => {
    if (hostPort === undefined) return [];
    const Settings = {
      Protocol: protocol === "TCP" ? IpProtocol.tcp : IpProtocol.udp,
      InternalPort: port,
      ExternalPort: hostPort,
    };
    const mapping = { Type: "PortMapping", Settings };
    return isDual ? [mapping, { ...mapping, Settings: { ...Settings, Flags: NAT_FLAGS.IPv6 } }] : [mapping];
  });
}

/** `0E-2A-` and the address in small hexadecimal digits, as win-overlay writes it (dataplane.md §2.1). */
export function overlayMac(address: Ip): string {
  const hex = Number(address).toString(16).padStart(8, "0");
  return `0E-2A-${hex.slice(0, 2)}-${hex.slice(2, 4)}-${hex.slice(4, 6)}-${hex.slice(6)}`;
}

/** What an endpoint says of its addresses. */
function addressFields(
  file: ClusterFile,
  network: PodNetworkSpec,
  node: NodeSpec,
  { address, wanted }: { readonly address: Ipv4; readonly wanted: Ipv6 | undefined },
): JsonObject {
  const gateway = formatIp(podGateway(file, network, node));
  const second = secondFamily(file, network, node);
  const other = secondAddress(file, network, node, { address, wanted });
  const addresses = other === undefined ? [address] : [address, other];
  return {
    IpConfigurations: addresses.map((each) => ({ IpAddress: formatIp(each) })),
    Routes: [
      { NextHop: gateway, DestinationPrefix: DEFAULT_ROUTE },
      ...(second === undefined
        ? []
        : [{ NextHop: formatIp(second.podGateway), DestinationPrefix: DEFAULT_IPV6_ROUTE }]),
    ],
    ...(network.driver === "Overlay" && { MacAddress: overlayMac(address) }),
  };
}

/** The endpoint of a pod that the cluster attaches itself. */
export function endpointDocument(
  file: ClusterFile,
  network: PodNetworkSpec,
  node: NodeSpec,
  pod: {
    readonly name: string;
    readonly spec: FilePodSpec;
    /** Undefined: a DHCP server gives it one. */
    readonly address: Ipv4 | undefined;
    readonly dns: DnsSettings | undefined;
  },
): HostComputeEndpoint {
  const { spec, address, dns } = pod;
  const second = secondFamily(file, network, node);
  return parseEndpoint({
    Name: pod.name,
    ...(address === undefined
      ? { Flags: ENDPOINT_FLAGS.EnableDhcp }
      : addressFields(file, network, node, { address, wanted: spec.address6 })),
    ...(spec.mac !== undefined && { MacAddress: formatMac(spec.mac) }),
    Policies: [
      ...endpointPolicies(file, network, node),
      ...portMappings(spec, second !== undefined),
      ...spec.policies,
    ],
    ...(dns === undefined
      ? {}
      : { Dns: { Search: [...dns.search], ServerList: dns.servers.map(formatIp), Domain: dns.domain } }),
  });
}
