/**
 * What the rules of an overlay network are made from, read once from its objects (dataplane.md §2.3, Appendix A;
 * hcn.md §3.1): which addresses are here, which are behind which node, and what stands outside on the way there.
 */
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  parseIpv4,
  prefixContains,
  prefixFamily,
  ANY_IPV4,
  formatIp,
  formatPrefix,
  hostPrefix,
} from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import { type EndpointRecord, isRemoteEndpoint } from "../../service/records.ts";
import type { NetworkFrame } from "../../service/network/policy-index.ts";
import { VXLAN_PROTOCOL } from "#dataplane/vfp/flow-key.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpDirection, Rule } from "#dataplane/vfp/rule.ts";
import { HNS_DEFAULT, endpointProvenance, networkProvenance } from "../provenance.ts";
import { makeRule, groupOf, type GroupFields, PA_ROUTE_PRIORITY } from "../layers.ts";

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

// The rules that ports of an overlay network share, and how all of them are made (dataplane.md §2.2.1, §2.3).

const DECAP_PRIORITY = 45_534;

export const LOCAL = "dataplane.md §11 Q-4";
export const HOST_ROUTE = "dataplane.md §2.3 O-9, Appendix A";

/** A group of IPv4; the longest prefix decides unless `fields` say otherwise. */
export function overlayGroup(
  name: string,
  direction: VfpDirection,
  rules: readonly Rule[],
  fields: Pick<GroupFields, "priority" | "match"> = {},
): readonly Group[] {
  return Object.freeze(groupOf({ name, direction, family: 4, match: "lpm-destination", ...fields }, rules));
}

export function ownPrefixes(plan: OverlayPlan): readonly Prefix[] {
  return plan.subnets.map(({ prefix }) => prefix);
}

/** To an address of another node in the network: the MAC inside is that of the endpoint, and no hop is counted. */
function remoteAddressRule(plan: OverlayPlan, remote: RemoteAddress): Rule {
  const { ip, mac, virtualSubnet, providerAddress, endpoint } = remote;
  return makeRule({
    name: `REMOTE_ENDPOINT_${formatIp(ip)}`,
    condition: { destination: [hostPrefix(ip)] },
    action: {
      type: "routeencap",
      encapsulation: "vxlan",
      udpPort: plan.vxlanPort,
      tni: virtualSubnet,
      destinations: [{ providerAddress, innerMac: mac }],
    },
    provenance: endpointProvenance(endpoint),
    inferred: "dataplane.md §2.13",
  });
}

/** One remote address each, the latest endpoint's: two of one address would be two rules of one prefix. */
export function remoteAddressRules(plan: OverlayPlan): readonly Rule[] {
  const byAddress = new Map(plan.remoteAddresses.map((remote) => [remote.ip, remote]));
  return [...byAddress.values()].map((remote) => remoteAddressRule(plan, remote));
}

/** Stays on the node: the layer would drop what no rule names. */
export function plainRule(plan: OverlayPlan, prefix: Prefix): Rule {
  return makeRule({
    name: `NO_ENCAP_${formatPrefix(prefix)}`,
    condition: { destination: [prefix] },
    action: { type: "allow" },
    provenance: networkProvenance(plan.network),
    inferred: LOCAL,
  });
}

/** Takes frames out of the tunnels of these virtual subnets, and keeps the MACs inside (observed). */
export function decapRules(virtualSubnets: readonly number[], pushesTni: boolean): readonly Rule[] {
  return virtualSubnets.map((virtualSubnet) =>
    makeRule({
      id: `DECAP_${virtualSubnet}`,
      name: "DECAP",
      priority: DECAP_PRIORITY,
      condition: { protocols: [VXLAN_PROTOCOL], tunnelId: virtualSubnet, destination: [ANY_IPV4] },
      action: { type: "decap", ...(pushesTni && { pushesTni }) },
      provenance: HNS_DEFAULT,
    }),
  );
}

export function paRouteRule(
  plan: OverlayPlan,
  id: string,
  condition: Rule["condition"],
  inferred: boolean,
): Rule {
  return makeRule({
    id,
    name: "PA_ROUTE",
    listedId: "",
    priority: PA_ROUTE_PRIORITY,
    condition,
    action: { type: "paroute" },
    provenance: networkProvenance(plan.network),
    ...(inferred && { inferred: "dataplane.md §2.2.1" }),
  });
}
