/**
 * OutBoundNAT and SDNRoute policies → source NAT rules of SLB_NAT_LAYER (dataplane.md §1.8, §2.2.3, §2.14).
 *
 * Two rules, for TCP and UDP; there is none for ICMP. A packet to an exception keeps the endpoint's address, and so
 * does one to the prefix of an SDNRoute.
 */
import type { Provenance } from "#core/base/recorder.ts";
import { NAT_FLAGS, type OutBoundNatPolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import { prefixesIn } from "#contracts/hcn/documents/address-list.ts";
import { type Ipv4, type Prefix, formatIp, hostPrefix, parseIpv4, prefixFamily } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { NatPoolDefinition } from "../ports/datapath.ts";
import type { EndpointRecord } from "../service/records.ts";
import { type ProxySource, translatedProxies } from "./l4-proxy.ts";
import { type RoutedEndpoint, sdnRouteSources, policiesOf } from "./provenance.ts";
import { makeRule, makeGroup } from "./layers.ts";

/** Inferred: behind the rules of services (100), which have to decide first (dataplane.md §10). */
const RULE_PRIORITY = 200;

/** What the policies of one endpoint that share an address and a positive list come to. */
interface NatPlan {
  /** Index of the first policy; of a proxy's plan, behind all of them. */
  readonly index: number;
  readonly provenance: Provenance;
  readonly address: Ipv4;
  readonly exceptions: readonly Prefix[];
  /** Empty: everything that is no exception. */
  readonly destinations: readonly Prefix[];
  readonly portsMax: number | undefined;
}

export interface OutBoundNat {
  readonly groups: readonly Group[];
  readonly pools: readonly NatPoolDefinition[];
  /** The addresses that packets leave with. */
  readonly addresses: readonly Ipv4[];
}

const NONE: OutBoundNat = Object.freeze({ groups: [], pools: [], addresses: [] });

/** The prefixes that an endpoint's SDNRoutes keep from source NAT. */
function routedPrefixes(endpoint: RoutedEndpoint): readonly Prefix[] {
  return sdnRouteSources(endpoint).flatMap(({ setting }) => prefixesIn([setting.DestinationPrefix], 4));
}

/**
 * True when the policy is for IPv6, which is not translated (dataplane.md §2.11). Inferred: one whose exceptions are all of
 * IPv6 is for that family: AKS writes one policy for each (Azure/AgentBaker, staging/cse/windows/azurecnifunc.ps1).
 */
export function isIpv6Nat({ Flags = 0, VirtualIP, Exceptions = [] }: OutBoundNatPolicySetting): boolean {
  const isOfSecond = Exceptions.length > 0 && Exceptions.every((text) => text.includes(":"));
  return (Flags & NAT_FLAGS.IPv6) !== 0 || VirtualIP?.includes(":") === true || isOfSecond;
}

/**
 * Joins policies without a positive list: their exceptions are united. Inferred (cni.md §11.3): the reference plugin
 * appends a second policy in place of merging, and relies on the union. Policies with a positive list stay apart.
 */
function planNat(
  endpoint: RoutedEndpoint,
  managementIp: Ipv4,
  proxies: readonly ProxySource[],
): readonly NatPlan[] {
  const routed = routedPrefixes(endpoint);
  const general = new Map<Ipv4, NatPlan>();
  const plans: NatPlan[] = [];
  for (const { setting, index, provenance } of policiesOf(endpoint, "OutBoundNAT")) {
    if (isIpv6Nat(setting)) continue;
    const { VirtualIP, Exceptions = [], Destinations = [], MaxPortPoolUsage } = setting;
    const address = parseIpv4(VirtualIP ?? "") ?? managementIp;
    const destinations = prefixesIn(Destinations, 4);
    const known = destinations.length === 0 ? general.get(address) : undefined;
    const plan: NatPlan = {
      index: known?.index ?? index,
      provenance: known?.provenance ?? provenance,
      address,
      exceptions: [...(known?.exceptions ?? routed), ...prefixesIn(Exceptions, 4)],
      destinations,
      portsMax: known?.portsMax ?? (MaxPortPoolUsage === 0 ? undefined : MaxPortPoolUsage),
    };
    if (destinations.length === 0) general.set(address, plan);
    else plans.push(plan);
  }
  // A positive list is narrower than everything, so it is asked first.
  return [...plans, ...planProxies(proxies, managementIp, endpoint.policies.length), ...general.values()];
}

/** Inferred: `OutboundNAT` of an L4Proxy gives connections to the proxy the node's address, exceptions or not. */
function planProxies(proxies: readonly ProxySource[], address: Ipv4, firstIndex: number): readonly NatPlan[] {
  return proxies.flatMap((source, order) => {
    const destinations = translatedProxies([source]).filter((prefix) => prefixFamily(prefix) === 4);
    if (destinations.length === 0) return [];
    const { provenance } = source;
    return [
      { index: firstIndex + order, provenance, address, exceptions: [], destinations, portsMax: undefined },
    ];
  });
}

const PROTOCOLS = [
  { name: "TCP", number: IpProtocol.tcp },
  { name: "UDP", number: IpProtocol.udp },
] as const;
type NatProtocol = (typeof PROTOCOLS)[number];

/** As HNS names its pools: `SLB_NATPOOL_IPV4_TCP_<podIP><nodeIP><guid>0` (dataplane.md §1.8). */
function poolName(endpoint: EndpointRecord, ip: Ipv4, plan: NatPlan, protocol: NatProtocol): string {
  return `SLB_NATPOOL_IPV4_${protocol.name}_${formatIp(ip)}${formatIp(plan.address)}${endpoint.id}0`;
}

function compileRule(
  endpoint: EndpointRecord,
  ip: Ipv4,
  plan: NatPlan,
  protocol: NatProtocol,
  order: number,
): Rule {
  const name = `SNAT_${protocol.name}_OUTBOUNDNAT_${endpoint.id}_${formatIp(plan.address)}`;
  return makeRule({
    id: `${plan.index}|${name}`,
    name,
    priority: RULE_PRIORITY + order,
    condition: {
      protocols: [protocol.number],
      source: [hostPrefix(ip)],
      ...(plan.destinations.length > 0 && { destination: plan.destinations }),
      ...(plan.exceptions.length > 0 && { destinationExcept: plan.exceptions }),
    },
    action: { type: "dynnat", pool: poolName(endpoint, ip, plan, protocol) },
    isStateful: true,
    provenance: plan.provenance,
    missCodes: {
      protocols: "icmp-outbound-not-translated",
      destinationExcept: "outbound-nat-exception",
    },
  });
}

/**
 * Compiles the OutBoundNAT policies of an endpoint, and those of its proxies that ask for the node's address. An endpoint
 * without an IPv4 address has no rules.
 */
export function compileOutBoundNat(
  endpoint: RoutedEndpoint,
  managementIp: Ipv4 | undefined,
  proxies: readonly ProxySource[] = [],
): OutBoundNat {
  const ip = endpoint.ipConfigs.map((config) => config.ip).find((address) => typeof address === "number");
  if (ip === undefined || managementIp === undefined) return NONE;
  const plans = planNat(endpoint, managementIp, proxies);
  if (plans.length === 0) return NONE;
  const rules = plans.flatMap((plan, order) =>
    PROTOCOLS.map((protocol) => compileRule(endpoint, ip, plan, protocol, order)),
  );
  const pools = plans.flatMap((plan) =>
    PROTOCOLS.map((protocol) =>
      Object.freeze({
        name: poolName(endpoint, ip, plan, protocol),
        ip: plan.address,
        protocol: protocol.number,
        portsMax: plan.portsMax,
      }),
    ),
  );
  const group = makeGroup({ name: "SLB_GROUP_NAT_IPv4_OUT", direction: "out", family: 4 }, rules);
  const uniquePools = [...new Map(pools.map((pool) => [pool.name, pool])).values()];
  return Object.freeze({
    groups: Object.freeze([group]),
    pools: Object.freeze(uniquePools),
    addresses: Object.freeze([...new Set(plans.map((plan) => plan.address))]),
  });
}
