/**
 * Spoils what ports are programmed with, behind the compiler: the defects that leave rules out, keep them or add some
 * (dataplane.md §9).
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type Ip, type Prefix, hostPrefix, prefixContains, prefixFamily } from "#core/net/ip.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { QuirkName } from "#core/catalogue/quirks.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import { defaultAllow } from "../../compile/acl.ts";
import type { CompileCache } from "../../compile/compile-cache.ts";
import { type HostLayerName, type LayerName, makeRule, makeGroup } from "../../compile/layers.ts";
import { type NetworkView, hostLegsOf, serviceRangesOf } from "../../compile/network-view.ts";
import type { HostProgram, PortProgram, RouterProgram } from "../../ports/datapath.ts";
import type { QuirkSet } from "../quirk-set.ts";
import { onlyOwnOverlayPods, withoutOutboundEcho } from "./page-limits.ts";
import type { Rule, VfpDirection } from "#dataplane/vfp/rule.ts";
import { HNS_DEFAULT, networkProvenance, type RoutedEndpoint } from "../../compile/provenance.ts";
import { prefixesIn } from "#contracts/hcn/documents/address-list.ts";

// `l2bridge-dsr-kb5005619`: pods of an L2Bridge network do not reach each other while DSR is on
// (windows-networking-documentation.md §5). The mechanism is not public. Inferred: what a pod sends to the address of
// another pod ends in LB_DSR, the layer that only DSR fills; what a Service leads there passes, and so do the answers
// to what came in. Inferred: IPv6, of which there is no report, is not concerned. Inferred: nor are pods with addresses
// of the nodes' subnet, since EKS runs such pods on Server 2022 with DSR.

/** Behind the rules of load balancers. */
const GROUP_PRIORITY = 60_000;
const NAME = "L2BRIDGE_DSR_KB5005619";

/** Ranges that the endpoint's source NAT leaves alone: the cluster's, that of services, that of the nodes. */
function exceptionsOf(endpoint: RoutedEndpoint): readonly Prefix[] {
  return endpoint.policies.flatMap((policy) =>
    policy.Type === "OutBoundNAT" ? prefixesIn(policy.Settings.Exceptions ?? [], 4) : [],
  );
}

function overlaps(a: Prefix, b: Prefix): boolean {
  return prefixContains(a, b.address) || prefixContains(b, a.address);
}

/** Where pods have their addresses, as far as the node can tell: neither its own range nor that of services. */
function podRangesOf(view: NetworkView, endpoint: RoutedEndpoint): readonly Prefix[] {
  const services = serviceRangesOf([endpoint]);
  const all = [...view.network.subnets.map(({ prefix }) => prefix), ...exceptionsOf(endpoint)];
  return all.filter(
    (prefix) =>
      prefixFamily(prefix) === 4 &&
      !view.node.addresses.some((ip) => prefixContains(prefix, ip)) &&
      !services.some((range) => overlaps(range, prefix)),
  );
}

/** Addresses in the ranges that are no pod's: gateways and the host's legs. */
function otherAddresses(view: NetworkView): readonly Ip[] {
  const gateways = view.network.subnets.flatMap(({ gateway }) => (gateway === undefined ? [] : [gateway]));
  const legs = hostLegsOf(view).flatMap(({ ipConfigs }) => ipConfigs.map(({ ip }) => ip));
  return [...gateways, ...legs].filter((ip) => typeof ip === "number");
}

function defectGroup(
  direction: VfpDirection,
  fields: Pick<Rule, "condition" | "action" | "isStateful">,
  view: NetworkView,
): Group {
  const rule = makeRule({
    id: `${NAME}_${direction}`,
    name: NAME,
    provenance: networkProvenance(view.network),
    inferred: "windows-networking-documentation.md §5",
    ...fields,
  });
  // A name of its own: ids of groups are unique in a layer, and services have theirs here.
  const name = `LB_DSR_DEFECT_IPv4_${direction.toUpperCase()}`;
  return makeGroup({ name, direction, family: 4, priority: GROUP_PRIORITY }, [rule]);
}

/** What the defect adds to the LB_DSR layer of a pod's port. */
export function compileBridgeDefect(
  cache: CompileCache,
  view: NetworkView,
  endpoint: RoutedEndpoint,
): readonly Group[] {
  const others = otherAddresses(view);
  const inputs = [view.network, endpoint.policies, endpoint.sdnRoutes, ...view.node.addresses, ...others];
  return cache.get(endpoint.id, "defect/bridge-with-dsr", inputs, () => {
    const pods = podRangesOf(view, endpoint);
    if (pods.length === 0) return Object.freeze([]);
    const toPods = { destination: pods, destinationExcept: others.map(hostPrefix) };
    const block = { type: "block", code: "l2bridge-broken-with-dsr" } as const;
    return Object.freeze([
      defectGroup("out", { condition: toPods, action: block, isStateful: false }, view),
      // What was let in gets answers.
      defectGroup("in", { condition: {}, action: { type: "allow" }, isStateful: true }, view),
    ]);
  });
}

// Groups that HNS programs wrongly: pure functions of groups. What came of a group is remembered by the group, which is
// frozen, so ports that share a group share the wrong one, too.

export type GroupChange = (group: Group) => Group;

/** `change`, asked once for each group. */
function remembered(change: GroupChange): GroupChange {
  const known = new WeakMap<Group, Group>();
  return (group) => {
    const found = known.get(group) ?? change(group);
    known.set(group, found);
    return found;
  };
}

function without(isMissing: (rule: Rule) => boolean): GroupChange {
  return remembered((group) => group.replaceRules(group.rules.filter(isMissing), []));
}

/** Each rule stands there twice; the second one never matches. */
export const doubled: GroupChange = remembered((group) =>
  group.replaceRules(
    [],
    group.rules.map((rule) => Object.freeze({ ...rule, id: `${rule.id}|again` })),
  ),
);

export const withoutTunnels: GroupChange = without(({ action }) => action.type === "routeencap");
export const withoutDecap: GroupChange = without(({ action }) => action.type === "decap");
export const withoutSourceNat: GroupChange = without(({ action }) => action.type === "dynnat");
/** What blocks does not, and what nobody allows is not dropped. */
export const withoutBlocks: GroupChange = remembered((group) => {
  const { rules, direction } = group;
  const kept = rules.filter(
    ({ action, provenance }) => action.type !== "block" && provenance !== HNS_DEFAULT,
  );
  return group.replaceRules(rules, [...kept, defaultAllow(direction)]);
});
/** As health checks look for them: `RULE.*53_53_17` (dataplane.md §9, F-19). */
export const withoutNames: GroupChange = without(({ name }) => name.endsWith("_53_53_17"));
/** As without ACLs. */
export const withoutPolicies: GroupChange = remembered((group) =>
  group.replaceRules(group.rules, [defaultAllow(group.direction)]),
);
export const emptied: GroupChange = without(() => true);

/** Of all rules of a layer, the first so many. */
export function limited(groups: readonly Group[], rulesMax: number): readonly Group[] {
  let room = rulesMax;
  return groups.map((group) => {
    const kept = Math.min(room, group.size);
    room -= kept;
    return kept === group.size ? group : group.replaceRules(group.rules.slice(kept), []);
  });
}

/** A defect of the rules in one layer of endpoints' ports. */
interface LayerDefect {
  readonly quirk: QuirkName;
  readonly layer: LayerName;
  readonly change: GroupChange;
}

/** In the order in which they come together. */
const LAYER_DEFECTS: readonly LayerDefect[] = [
  { quirk: "client-policies-not-applied", layer: "LB_DSR", change: emptied },
  { quirk: "client-policies-not-applied", layer: "ACL_ENDPOINT_LAYER", change: withoutPolicies },
  { quirk: "client-policies-not-applied", layer: "SLB_NAT_LAYER", change: emptied },
  { quirk: "acl-without-effect", layer: "ACL_ENDPOINT_LAYER", change: withoutBlocks },
  { quirk: "load-balancer-rules-missing", layer: "LB_DSR", change: withoutNames },
  { quirk: "load-balancer-rules-doubled", layer: "LB_DSR", change: doubled },
  { quirk: "l2-rewrite-rules-doubled", layer: "EXTERNAL_L2_REWRITE_LAYER", change: doubled },
  { quirk: "outbound-nat-rules-missing", layer: "SLB_NAT_LAYER", change: withoutSourceNat },
  { quirk: "encap-route-rules-missing", layer: "VNET_ENCAP_LAYER", change: withoutTunnels },
];

/** Those that rules follow from: a change of one brings all ports in line. */
export const PROGRAM_QUIRKS: readonly QuirkName[] = [
  ...new Set(LAYER_DEFECTS.map(({ quirk }) => quirk)),
  "load-balancer-count-limit",
  "overlay-routes-need-a-pod",
  "overlay-decap-lost-at-restart",
  "low-virtual-subnet-silent",
  "l2bridge-dsr-kb5005619",
  "remote-endpoint-left-behind",
  "nat-denies-outbound",
  "node-reaches-own-overlay-pods-only",
  "outbound-icmp-dropped",
];

/** Rules of load balancers on a port (dataplane.md §9, F-37). */
const BALANCING_RULES_MAX = 1_290;
/** The lowest identifier that Windows wants for VXLAN (dataplane.md §9, F-34). */
const VIRTUAL_SUBNET_MIN = 4_096;
const NO_GROUPS: readonly Group[] = Object.freeze([]);

type Groups = PortProgram["groups"];

function changeLayer(groups: Groups, layer: LayerName, change: GroupChange): Groups {
  const before = groups[layer];
  if (before === undefined || before.length === 0) return groups;
  return { ...groups, [layer]: before.map(change) };
}

/** Plain data, part of a service's context. */
const IPV6_FROM_NODE: KnowledgeCode = "ipv6-host-port-from-node";

export class ProgramDefects {
  /** Networks whose ports lost what unpacks VXLAN when the service restarted. */
  private readonly withoutDecap = new Set<Guid>();
  /** Remote endpoints that were deleted and are still there. */
  private readonly leftBehind = new Map<Guid, readonly Ip[]>();
  private readonly quirks: QuirkSet;
  private readonly cache: CompileCache;

  constructor(quirks: QuirkSet, cache: CompileCache) {
    this.quirks = quirks;
    this.cache = cache;
  }

  /** The service has restarted; `networks` are those that it found. */
  restarted(networks: Iterable<Guid>): void {
    for (const id of networks)
      if (this.quirks.strikes("overlay-decap-lost-at-restart", id)) this.withoutDecap.add(id);
  }

  /** A remote endpoint stays behind its deletion, with these addresses. */
  leave(endpointId: Guid, addresses: readonly Ip[]): void {
    this.leftBehind.set(endpointId, addresses);
  }

  /** An endpoint is gone. @returns true when it had stayed behind its deletion. */
  release(endpointId: Guid): boolean {
    return this.leftBehind.delete(endpointId);
  }

  forget(networkId: Guid): void {
    this.withoutDecap.delete(networkId);
  }

  /** What the port of an endpoint gets in place of `program`. */
  onPort(view: NetworkView, endpoint: RoutedEndpoint, program: PortProgram): PortProgram {
    let { groups } = program;
    // The host's leg is no pod's port.
    const isPod = endpoint.attachment?.kind !== "host";
    if (isPod)
      for (const { quirk, layer, change } of LAYER_DEFECTS)
        if (groups[layer] !== undefined && this.quirks.strikes(quirk, endpoint.id))
          groups = changeLayer(groups, layer, change);
    if (isPod && this.quirks.strikes("outbound-icmp-dropped", endpoint.id))
      groups = this.onEcho(endpoint, groups);
    groups = this.onBalancing(view, endpoint, groups, isPod);
    groups = this.onTunnels(view, groups);
    const isBlocked = isPod && this.isCutOff(endpoint);
    const claims = this.claimsOf(endpoint, program);
    if (groups === program.groups && claims === program.claims && !isBlocked) return program;
    return { ...program, groups, claims, isBlocked };
  }

  /** Port mappings of IPv6 are not for the node itself (F-43). */
  private claimsOf(endpoint: RoutedEndpoint, { claims }: PortProgram): PortProgram["claims"] {
    const hasIpv6 = claims.some(({ family }) => family === 6);
    if (!hasIpv6 || !this.quirks.strikes("ipv6-port-mapping-from-node", endpoint.id)) return claims;
    return claims.map((claim) => (claim.family === 6 ? { ...claim, code: IPV6_FROM_NODE } : claim));
  }

  onRouter(view: NetworkView, router: RouterProgram): RouterProgram {
    const { program } = router;
    const isLazy =
      !view.attached.some(({ attachment }) => attachment?.kind !== "host") &&
      this.quirks.strikes("overlay-routes-need-a-pod", view.network.id);
    const groups = isLazy ? {} : this.onTunnels(view, program.groups);
    return groups === program.groups ? router : { ...router, program: { ...program, groups } };
  }

  onHost(view: NetworkView, program: HostProgram): HostProgram {
    const empty: HostLayerName[] = [];
    if (this.quirks.strikes("client-policies-not-applied", view.network.id))
      empty.push("SLB_HAIRPIN_LAYER", "SNAT", "LB", "SLB_LB_LAYER");
    if (this.isSilent(view)) empty.push("ENCAP", "DECAP_IN");
    const isRefused =
      view.overlay !== undefined &&
      this.quirks.strikes("node-reaches-own-overlay-pods-only", view.network.id);
    if (empty.length === 0 && !isRefused) return program;
    const none = Object.fromEntries(empty.map((layer) => [layer, NO_GROUPS]));
    const ENCAP = isRefused ? onlyOwnOverlayPods(view, program.groups) : program.groups.ENCAP;
    return { ...program, groups: { ...program.groups, ENCAP, ...none } };
  }

  private onBalancing(view: NetworkView, endpoint: RoutedEndpoint, groups: Groups, isPod: boolean): Groups {
    const balancing = groups.LB_DSR;
    if (!isPod || balancing === undefined || balancing.length === 0) return groups;
    let after = balancing;
    if (this.quirks.strikes("load-balancer-count-limit", endpoint.id))
      after = limited(after, BALANCING_RULES_MAX);
    const isBridge = view.network.type === "L2Bridge" && view.services.hasDsr;
    if (isBridge && this.quirks.strikes("l2bridge-dsr-kb5005619", view.network.id))
      after = [...after, ...compileBridgeDefect(this.cache, view, endpoint)];
    return after === balancing ? groups : { ...groups, LB_DSR: after };
  }

  private onEcho({ id }: RoutedEndpoint, groups: Groups): Groups {
    const before = groups.SLB_NAT_LAYER ?? NO_GROUPS;
    const after = this.cache.get(id, "defect/outbound-echo", before, () =>
      Object.freeze(before.flatMap((group) => withoutOutboundEcho(group) ?? [group])),
    );
    return { ...groups, SLB_NAT_LAYER: after };
  }

  private onTunnels(view: NetworkView, groups: Groups): Groups {
    if (view.overlay === undefined) return groups;
    let after = groups;
    const isSilent = this.isSilent(view);
    if (isSilent || this.withoutDecap.has(view.network.id))
      after = changeLayer(after, "VNET_ENCAP_LAYER", withoutDecap);
    return isSilent ? changeLayer(after, "VNET_ENCAP_LAYER", withoutTunnels) : after;
  }

  private isSilent({ network, overlay }: NetworkView): boolean {
    const isLow = overlay?.plan.virtualSubnets.some((number) => number < VIRTUAL_SUBNET_MIN) === true;
    return isLow && this.quirks.strikes("low-virtual-subnet-silent", network.id);
  }

  /** Inferred: whose address a remote endpoint still has is cut off altogether (dataplane.md §9, F-25). */
  private isCutOff({ ipConfigs }: RoutedEndpoint): boolean {
    for (const addresses of this.leftBehind.values())
      if (ipConfigs.some(({ ip }) => addresses.includes(ip))) return true;
    return false;
  }
}
