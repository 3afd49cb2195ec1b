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
import { type Ip, addToIp, formatIp, formatPrefix, prefixContains } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { ClusterNode } from "../cluster.ts";
import type { ClusterFile, NodeSpec, FilePodSpec } from "../file/cluster-file.ts";
import { FIRST_POD_OFFSET } from "../networks/networks-of-node.ts";

/** Addresses that Azure allows on one network interface (its documented limit). */
const ADDRESSES_MAX = 256;
/** What the plugins write into files that nothing reads here. */
const STAMP = "2026-01-01T00:00:00Z";

/** The addresses for pods: those that pods of the file ask for come last, so that no other pod gets them. */
function podAddresses(file: ClusterFile, { name, podCIDR }: NodeSpec): readonly Ip[] {
  const kept = new Set(
    file.pods.flatMap(({ address, node }) => (address !== undefined && node === name ? [address] : [])),
  );
  const free: Ip[] = [];
  for (let offset = FIRST_POD_OFFSET; free.length + kept.size < ADDRESSES_MAX; offset++) {
    const ip = addToIp(podCIDR.address, offset);
    if (ip === undefined || !prefixContains(podCIDR, ip)) break;
    if (typeof ip === "number" && !kept.has(ip)) free.push(ip);
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

/** CNS with the same addresses, for configurations with `"ipam": {"type": "azure-cns"}`. */
function cnsOf(file: ClusterFile, node: NodeSpec, client: HcnClient): CnsService {
  const { subnet, router } = file.underlay;
  const gateway = formatIp(router);
  const own = formatIp(node.address);
  const service = new CnsService({
    host: { Gateway: gateway, PrimaryIP: own, Subnet: formatPrefix(subnet) },
    client,
  });
  service.addPool({
    id: node.name,
    primary: {
      ...NO_CONFIGURATION,
      IPSubnet: { IPAddress: own, PrefixLength: subnet.length },
      GatewayIPAddress: gateway,
    },
    addresses: podAddresses(file, node).map(formatIp),
  });
  return service;
}

function hostOf(node: ClusterNode, cns: CnsService): AzureHost {
  const files = new Map<string, string>();
  const missing = (program: string): Promise<never> =>
    Promise.reject(new Error(`a simulated node has no ${program}`));
  return {
    interfaces: () => interfacesOf(node),
    now: () => STAMP,
    // HNS of the same process always answers: no deadline passes.
    startTimer: () => ({ done: new Promise(() => undefined), cancel: () => undefined }),
    http: transportTo(cns),
    shell: { powershell: () => missing("PowerShell"), run: () => missing("command line") },
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

/** azure-vnet and azure-vnet-ipam of one node. */
export function azurePlugins(
  file: ClusterFile,
  node: ClusterNode,
  { client, delegate }: { readonly client: HcnClient; readonly delegate: Delegate },
): readonly CniPlugin[] {
  const { spec } = node;
  const { compat } = spec;
  const host = hostOf(node, cnsOf(file, spec, client));
  const adapter = node.host.root.interfaceOf(spec.address);
  const mac = adapter === undefined ? "*" : formatMac(adapter.mac).replaceAll("-", "");
  const sources = {
    interfaces: () => interfacesOf(node),
    queryWireServer: () => Promise.resolve(wireServerDocument(file, spec, mac)),
    readInterfaces: () => Promise.reject(new Error("a simulated node has no interfaces.json")),
    now: () => STAMP,
  };
  return [
    new AzureVnet({ client, delegate, store: new MemoryStateStore(), host, compat }),
    new AzureVnetIpam({ store: new MemoryStateStore(), sources, compat }),
  ];
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

/** The configuration as Azure writes it on its nodes (cni.md §7.E, E1). */
export function azureConfigurationList(
  file: ClusterFile,
  pod: FilePodSpec,
  policies: readonly JsonObject[],
): JsonObject {
  const { network } = file;
  return {
    cniVersion: "0.3.0",
    name: network.name,
    plugins: [
      {
        type: "azure-vnet",
        mode: "bridge",
        capabilities: { portMappings: true, dns: true },
        ipam: {
          type: "azure-vnet-ipam",
          ...(pod.address !== undefined && { ipAddress: formatIp(pod.address) }),
        },
        AdditionalArgs: [...policies, ...pod.policies].map(azureEndpointPolicy).concat(network.cni.policies),
      },
    ],
  };
}
