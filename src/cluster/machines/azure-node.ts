/**
 * A node as Azure runs it: the network interface has addresses for pods beside the node's own, which azure-vnet-ipam reads
 * from the wire server and CNS has in its pool; azure-vnet attaches pods to the network that is there.
 */
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type JsonObject, isJsonObject } from "#core/base/json.ts";
import type { AzureHostInterface as AzureInterface, AzureHost } from "#programs/plugins/azure-vnet/host.ts";
import { AzureVnet } from "#programs/plugins/azure-vnet/plugin.ts";
import { MemoryStateStore } from "#programs/plugins/azure-vnet/memory.ts";
import { AzureVnetIpam } from "#programs/plugins/azure-vnet-ipam/plugin.ts";
import { transportTo, CnsService, NO_CONFIGURATION } from "#programs/plugins/cns/service.ts";
import { ANY_IPV6, type Ip, type Ipv4, formatIp, formatPrefix } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, NetworkShape, NodeSpec, FilePodSpec } from "../file/cluster-file.ts";
import {
  FABRIC_GATEWAY_IPV6,
  firstPodOffset,
  networkGateway,
  podAddressRanges,
  secondAddress,
  secondFamily,
  subnetOn,
} from "../networks/networks-of-node.ts";

/** Addresses that Azure allows on one network interface (its documented limit). */
const ADDRESSES_MAX = 256;
/** What the plugins write into files that nothing reads here. */
const STAMP = "2026-01-01T00:00:00Z";

/** The addresses for pods: those that pods of the file ask for come last, so that no other pod gets them. */
function podAddresses({ pods, network }: ClusterFile, node: NodeSpec): readonly Ip[] {
  const kept = new Set(
    pods.flatMap((pod) => (pod.address !== undefined && pod.node === node.name ? [pod.address] : [])),
  );
  const free: Ip[] = [];
  for (const { first, last } of podAddressRanges(network, node, firstPodOffset(network)))
    for (let ip = Number(first); ip <= Number(last); ip++) {
      if (free.length + kept.size >= ADDRESSES_MAX) return [...free, ...kept];
      if (!kept.has(ip as Ipv4)) free.push(ip as Ipv4);
    }
  return [...free, ...kept];
}

/** The wire server's answer to `getinterfaceinfov1` (cni.md §5.9). */
function wireServerDocument(file: ClusterFile, node: NodeSpec, mac: string): string {
  const entry = (ip: string, isPrimary: boolean): string =>
    `<IPAddress Address="${ip}" IsPrimary="${isPrimary}"/>`;
  const pods = podAddresses(file, node).map((ip) => entry(formatIp(ip), false));
  const addresses = [entry(formatIp(node.address), true), ...pods].join("");
  const subnet = `<IPSubnet Prefix="${formatPrefix(file.underlay.subnet)}">${addresses}</IPSubnet>`;
  return `<Interfaces><Interface MacAddress="${mac}" IsPrimary="true">${subnet}</Interface></Interfaces>`;
}

function interfacesOf({ host }: ClusterNode): readonly AzureInterface[] {
  return host.root
    .listInterfaces()
    .map(({ name, mac, addresses }) => ({ name, mac: formatMac(mac), addresses: [...addresses] }));
}

/** The network container of a node's second family. */
function secondContainer(node: NodeSpec): string {
  return `${node.name} IPv6`;
}

/**
 * Dual stack is a network container more, of which a pod has one address as well (Azure/azure-container-networking,
 * cns/restserver/ipam.go, AssignAvailableIPConfigs). Nothing in a cluster of IPv4 alone.
 */
function addSecondPool(service: CnsService, file: ClusterFile, node: NodeSpec): void {
  const second = secondFamily(file, file.network, node);
  if (second === undefined) return;
  const { address, length } = second.subnet;
  const places = podAddresses(file, node).flatMap(
    (first) => secondAddress(file, file.network, node, { address: first as Ipv4, wanted: undefined }) ?? [],
  );
  service.pool.add({
    id: secondContainer(node),
    primary: { ...NO_CONFIGURATION, IPSubnet: { IPAddress: formatIp(address), PrefixLength: length } },
    addresses: places.map(formatIp),
  });
}

/**
 * CNS with the same addresses, for configurations with `"ipam": {"type": "azure-cns"}`. Its network container is the
 * subnet of the pods; in overlays that names no gateway (cni.md §5.7).
 */
function cnsOf(file: ClusterFile, node: NodeSpec, client: HcnClient): CnsService {
  const { network, underlay } = file;
  const own = formatIp(node.address);
  const service = new CnsService({
    host: { Gateway: formatIp(underlay.router), PrimaryIP: own, Subnet: formatPrefix(underlay.subnet) },
    client,
  });
  const subnet = subnetOn(file, network, node);
  service.pool.add({
    id: node.name,
    primary: {
      ...NO_CONFIGURATION,
      IPSubnet: {
        IPAddress: network.shape === "node-subnet" ? own : formatIp(subnet.address),
        PrefixLength: subnet.length,
      },
      GatewayIPAddress: network.shape === "own-subnet" ? "" : formatIp(networkGateway(file, network, node)),
    },
    addresses: podAddresses(file, node).map(formatIp),
  });
  addSecondPool(service, file, node);
  return service;
}

/**
 * The three lines of PowerShell that azure-vnet runs for a pod with IPv6: which interface is the host's, whether its
 * default route would outlive a restart, and that it shall (Azure/azure-container-networking, network/network_windows.go).
 */
class RoutePowershell {
  private readonly node: ClusterNode;
  private isPersistent = false;

  constructor(node: ClusterNode) {
    this.node = node;
  }

  run(script: string): Promise<string> {
    const { root } = this.node.host;
    const adapter = root.interfaceOf(this.node.spec.address);
    if (adapter !== undefined && script.startsWith("((Get-NetIPInterface"))
      return Promise.resolve(`${root.listInterfaces().indexOf(adapter) + 1}\r\n`);
    if (script.startsWith("Get-NetRoute -DestinationPrefix ::/0") && this.isPersistent)
      return Promise.resolve(`${formatIp(FABRIC_GATEWAY_IPV6)}\r\n`);
    if (script.startsWith("Get-NetRoute -DestinationPrefix ::/0"))
      return Promise.reject(new Error("No matching MSFT_NetRoute objects found"));
    if (adapter !== undefined && script.startsWith("Remove-NetRoute -DestinationPrefix ::/0")) {
      const route = { prefix: ANY_IPV6, nextHop: FABRIC_GATEWAY_IPV6, interface: adapter, metric: 0 };
      root.removeRoute(route);
      root.addRoute(route);
      this.isPersistent = true;
      return Promise.resolve("");
    }
    return Promise.reject(new Error("a simulated node runs no PowerShell but azure-vnet's own"));
  }
}

function hostOf(node: ClusterNode, cns: CnsService): AzureHost {
  const files = new Map<string, string>();
  const powershell = new RoutePowershell(node);
  const missing = (program: string): Promise<never> =>
    Promise.reject(new Error(`a simulated node has no ${program}`));
  return {
    interfaces: () => interfacesOf(node),
    now: () => STAMP,
    // HNS of the same process always answers: no deadline passes.
    startTimer: () => ({ done: new Promise(() => undefined), cancel: () => undefined }),
    http: transportTo(cns),
    shell: { powershell: (script) => powershell.run(script), run: () => missing("command line") },
    pendingReleases: { add: () => missing("CNS that is away") },
    temporaryFiles: {
      read: (name) => Promise.resolve(files.get(name)),
      write: (name, text) => {
        files.set(name, text);
        return Promise.resolve();
      },
    },
    forgetAddresses: () => Promise.resolve(),
  };
}

/** What Azure runs on one node. */
export interface AzureNode {
  /** azure-vnet and azure-vnet-ipam. */
  readonly plugins: readonly CniPlugin[];
  /**
   * Tells CNS which address a pod has that was there before: when CNS starts, it takes them from the pods of the API server
   * (Azure/azure-container-networking, cns/restserver/internalapi.go, ReconcileIPAMStateForSwift).
   */
  restore(pod: FilePodSpec): void;
}

export function azureNode(
  file: ClusterFile,
  node: ClusterNode,
  { client, delegate }: { readonly client: HcnClient; readonly delegate: Delegate },
): AzureNode {
  const { spec } = node;
  const { compat } = spec;
  const cns = cnsOf(file, spec, client);
  const host = hostOf(node, cns);
  const adapter = node.host.root.interfaceOf(spec.address);
  const mac = adapter === undefined ? "*" : formatMac(adapter.mac).replaceAll("-", "");
  const sources = {
    interfaces: () => interfacesOf(node),
    queryWireServer: () => Promise.resolve(wireServerDocument(file, spec, mac)),
    readInterfaces: () => Promise.reject(new Error("a simulated node has no interfaces.json")),
    now: () => STAMP,
  };
  return {
    plugins: [
      new AzureVnet({ client, delegate, store: new MemoryStateStore(), host, compat }),
      new AzureVnetIpam({ store: new MemoryStateStore(), sources, compat }),
    ],
    restore: ({ namespace, name, address, address6: wanted }) => {
      if (address === undefined) return;
      const second = secondAddress(file, file.network, spec, { address, wanted });
      if (second !== undefined) cns.pool.addAddress(secondContainer(spec), formatIp(second));
      const all = second === undefined ? [address] : [address, second];
      cns.pool.restore({ podNamespace: namespace, podName: name }, all.map(formatIp));
    },
  };
}

/** A policy of HCN as Azure's configuration has it: flat (cni.md §5.5). */
function flatPolicy(policy: JsonObject): JsonObject {
  const { Type: type, Settings: settings } = policy;
  if (!isJsonObject(settings)) return policy;
  const { Exceptions: exceptions, ...others } = settings;
  return {
    Type: type === "SDNRoute" ? "ROUTE" : type,
    ...(exceptions !== undefined && { ExceptionList: exceptions }),
    ...others,
  };
}

/** An entry of its `AdditionalArgs`. */
export function azureEndpointPolicy(policy: JsonObject): JsonObject {
  return { Name: "EndpointPolicy", Value: flatPolicy(policy) };
}

/**
 * Who hands out addresses in each shape: azure-vnet-ipam those of the node's adapter; CNS those of a pod subnet and of an
 * overlay, as in the configurations that AKS writes (cni.md §5.7; Azure/AgentBaker, parts/windows).
 */
const IPAM: Readonly<Record<NetworkShape, JsonObject>> = {
  "node-subnet": { type: "azure-vnet-ipam" },
  "pod-subnet": { type: "azure-cns" },
  "own-subnet": { type: "azure-cns", mode: "v4overlay" },
};

/** As AKS configures pods of both families (Azure/AgentBaker, staging/cse/windows/azurecnifunc.ps1). */
const DUAL_STACK_IPAM: JsonObject = { type: "azure-cns", mode: "dualStackOverlay" };

/**
 * AKS writes source NAT and the route to Services anew for the second family: what leaves the pods' range gets the node's
 * address, and Services are behind the host's port.
 */
function secondPolicies({ network, ipv6 }: ClusterFile): readonly JsonObject[] {
  if (ipv6 === undefined) return [];
  const nat = { Type: "OutBoundNAT", Settings: { Exceptions: [formatPrefix(ipv6.clusterCIDR)] } };
  const services = { DestinationPrefix: formatPrefix(ipv6.serviceCIDR), NeedEncap: true };
  return [...(network.outboundNAT.enabled ? [nat] : []), { Type: "SDNRoute", Settings: services }];
}

/**
 * ACLs that AKS gives every endpoint: pods do not reach the wire server, and all else passes, which an ACL alone would shut
 * (cni.md §5.5; Azure/aks-engine#3833, Azure/azure-container-networking#1752).
 */
const BASE_ACLS: readonly JsonObject[] = [
  {
    Type: "ACL",
    Protocols: "6",
    Action: "Block",
    Direction: "Out",
    RemoteAddresses: "168.63.129.16/32",
    RemotePorts: "80",
    Priority: 200,
    RuleType: "Switch",
  },
  { Type: "ACL", Action: "Allow", Direction: "In", Priority: 65_500 },
  { Type: "ACL", Action: "Allow", Direction: "Out", Priority: 65_500 },
];

/** The configuration as Azure writes it on its nodes (cni.md §7.E, E1). */
export function azureConfigurationList(
  file: ClusterFile,
  pod: FilePodSpec,
  policies: readonly JsonObject[],
): JsonObject {
  const { network } = file;
  const hasCns = network.shape !== "node-subnet";
  return {
    cniVersion: "0.3.0",
    name: network.name,
    plugins: [
      {
        type: "azure-vnet",
        mode: "bridge",
        ...(hasCns && { executionMode: "v4swift" }),
        capabilities: { portMappings: true, dns: true },
        ipam: {
          ...(file.ipv6 === undefined ? IPAM[network.shape] : DUAL_STACK_IPAM),
          ...(!hasCns && pod.address !== undefined && { ipAddress: formatIp(pod.address) }),
        },
        AdditionalArgs: [...policies, ...secondPolicies(file), ...BASE_ACLS, ...pod.policies]
          .map(azureEndpointPolicy)
          .concat(network.cni.policies),
      },
    ],
  };
}
