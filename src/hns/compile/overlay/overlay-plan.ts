/**
 * What the rules of an overlay network are made from, read once from its objects (dataplane.md §2.3, Appendix A;
 * hcn.md §3.1): which addresses are here, which are behind which node, and what stands outside on the way there.
 */
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { type Ip, type Ipv4, type Prefix, parseIpv4, prefixContains, prefixFamily } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import { type EndpointRecord, isRemoteEndpoint } from "../../service/endpoint/endpoint-record.ts";
import type { NetworkFrame } from "../../service/network/policy-index.ts";

/** A prefix of the network that this node holds. */
export interface OwnSubnet {
  readonly prefix: Prefix;
  /** Its VXLAN network identifier. */
  readonly virtualSubnet: number;
  readonly gateway: Ipv4 | undefined;
}

/** An address that another node holds: a remote endpoint. */
export interface RemoteAddress {
  readonly ip: Ipv4;
  readonly mac: Mac;
  readonly virtualSubnet: number;
  readonly providerAddress: Ipv4;
  readonly endpoint: EndpointRecord;
}

/** One overlay network on one node, without the ways to other nodes' subnets (`remote-subnets.ts`). */
export interface OverlayPlan {
  readonly network: NetworkFrame;
  /** The node's own address towards the others. */
  readonly providerAddress: Ipv4 | undefined;
  readonly hostMac: Mac;
  readonly routerMac: Mac;
  readonly subnets: readonly OwnSubnet[];
  /** All virtual subnets of `subnets`, each once. */
  readonly virtualSubnets: readonly number[];
  readonly remoteAddresses: readonly RemoteAddress[];
  /** Where the HostRoute policy stands; undefined: the node and its endpoints do not reach each other. */
  readonly hostRoute: number | undefined;
  readonly vxlanPort: number;
}

/** The latest policy of a type; a later one replaces what an earlier one set. */
function latest<T extends NetworkPolicy["Type"]>(
  network: NetworkFrame,
  type: T,
): Extract<NetworkPolicy, { Type: T }> | undefined {
  return network.settings
    .map(({ policy }) => policy)
    .findLast((policy): policy is Extract<NetworkPolicy, { Type: T }> => policy.Type === type);
}

/** Inferred (dataplane.md §11, Q-18): only IPv4 is encapsulated; a subnet without VSID has the identifier 0. */
function ownSubnets(network: NetworkFrame): readonly OwnSubnet[] {
  return network.subnets
    .filter(({ prefix }) => prefixFamily(prefix) === 4)
    .map(({ prefix, gateway, policies }) => ({
      prefix,
      gateway: typeof gateway === "number" ? gateway : undefined,
      virtualSubnet: policies.find((policy) => policy.Type === "VSID")?.Settings.IsolationId ?? 0,
    }));
}

/** The node that an endpoint says it is behind. */
export function providerAddressOf(endpoint: EndpointRecord): Ipv4 | undefined {
  for (const policy of endpoint.policies)
    if (policy.Type === "ProviderAddress") return parseIpv4(policy.Settings.ProviderAddress ?? "");
  return undefined;
}

/** The MACs that kube-proxy gives to endpoints of other nodes: `02-11-` and the address (dataplane.md §2.1, §2.13). */
const PLACEHOLDER_MAC = 0x0211;

/**
 * True for remote endpoints that have a rule of their own: they name the node that they are behind, and a MAC that is
 * theirs. Back ends that kube-proxy makes have a placeholder for it, which must never be on the wire; the way to them is
 * that of their subnet (dataplane.md §2.13).
 */
export function isMapped(endpoint: EndpointRecord): boolean {
  const isPlaceholder = Math.floor(endpoint.mac / 0x1_0000_0000) === PLACEHOLDER_MAC;
  return isRemoteEndpoint(endpoint) && !isPlaceholder && providerAddressOf(endpoint) !== undefined;
}

function remoteAddresses(
  mapped: readonly EndpointRecord[],
  subnets: readonly OwnSubnet[],
  own: Ipv4 | undefined,
): readonly RemoteAddress[] {
  const [first] = subnets;
  return mapped.flatMap((endpoint) => {
    const providerAddress = providerAddressOf(endpoint);
    if (providerAddress === undefined || providerAddress === own) return [];
    return endpoint.ipConfigs.flatMap(({ ip }) => {
      if (typeof ip !== "number") return [];
      const subnet = subnets.find(({ prefix }) => prefixContains(prefix, ip)) ?? first;
      const virtualSubnet = subnet?.virtualSubnet ?? 0;
      return [{ ip, mac: endpoint.mac, virtualSubnet, providerAddress, endpoint }];
    });
  });
}

/** Reads the plan of an overlay network; `mapped` are its remote endpoints with rules of their own. */
export function planOverlay(
  network: NetworkFrame,
  node: { readonly providerAddress: Ipv4 | undefined; readonly hostMac: Mac },
  mapped: readonly EndpointRecord[],
): OverlayPlan {
  const subnets = ownSubnets(network);
  const virtualSubnets = [...new Set(subnets.map(({ virtualSubnet }) => virtualSubnet))];
  const wanted = parseIpv4(latest(network, "ProviderAddress")?.Settings.ProviderAddress ?? "");
  const providerAddress = wanted ?? node.providerAddress;
  const hostRoute = network.settings.find(({ policy }) => policy.Type === "HostRoute")?.index;
  return Object.freeze({
    network,
    providerAddress,
    hostMac: node.hostMac,
    routerMac: network.drMac,
    subnets,
    virtualSubnets,
    remoteAddresses: remoteAddresses(mapped, subnets, providerAddress),
    hostRoute,
    vxlanPort: latest(network, "VxlanPort")?.Settings.Port ?? VXLAN_PORT,
  });
}

/** The virtual subnet that an address of the network is in. */
export function virtualSubnetOf(plan: OverlayPlan, ip: Ip): number {
  const subnet = plan.subnets.find(({ prefix }) => prefixContains(prefix, ip));
  return subnet?.virtualSubnet ?? plan.virtualSubnets[0] ?? 0;
}
