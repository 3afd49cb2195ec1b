/**
 * Spoils what ports are programmed with, behind the compiler: the defects that leave rules out, keep them or add some
 * (dataplane.md §9).
 */
import type { Guid } from "../../hcn/client.ts";
import type { Ip } from "../../net/ip.ts";
import type { KnowledgeCode } from "../../knowledge/codes.ts";
import type { QuirkName } from "../../knowledge/quirks.ts";
import type { Group } from "../../vfp/group.ts";
import type { CompileCache } from "../compile/compile-cache.ts";
import type { HostLayerName, LayerName } from "../compile/layers.ts";
import type { NetworkView } from "../compile/network-view.ts";
import type { RoutedEndpoint } from "../compile/sdn-routes.ts";
import type { HostProgram, PortProgram, RouterProgram } from "../datapath.ts";
import type { QuirkSet } from "../quirk-set.ts";
import { compileBridgeDefect } from "./bridge-with-dsr.ts";
import {
  type GroupChange,
  blockingAll,
  doubled,
  emptied,
  limited,
  withoutBlocks,
  withoutDecap,
  withoutNames,
  withoutPolicies,
  withoutSourceNat,
  withoutTunnels,
} from "./group-changes.ts";

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
  { quirk: "acl-blocks-all", layer: "ACL_ENDPOINT_LAYER", change: blockingAll },
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
    if (empty.length === 0) return program;
    const none = Object.fromEntries(empty.map((layer) => [layer, NO_GROUPS]));
    return { ...program, groups: { ...program.groups, ...none } };
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
