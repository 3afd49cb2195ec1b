/**
 * A load balancer → rules on three kinds of ports (dataplane.md §2.2.3, §2.4 B-3 to B-7, §3).
 *
 * Every pod's port, with DSR: `LB_DSR_…` sends the pod's own connections to a back end; answers come straight back.
 * The host's port, for everybody else: a hairpin rule turns what came for a front end round before the host's stack
 * sees it. Then either the frame goes to a local back end as it is, only its MAC changed, or both addresses are
 * translated: without DSR always, with DSR when a back end is on another node.
 * The port of a local back end, with DSR: translates what the host's port left alone, and lets answers pass. Where the
 * node itself is the back end, that port is the host's.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import type {
  HostPoolDefinition,
  PortClaimDefinition,
  StaticBindingDefinition,
} from "../../ports/datapath.ts";
import type { LoadBalancerRecord } from "../../service/load-balancer/load-balancer-record.ts";
import {
  type EndpointTable,
  type LoadBalancerFacts,
  familyOfBalancer,
  frontEndsOf,
} from "./load-balancer-plan.ts";
import {
  type BackEndRules,
  backEndRules,
  blockLoopBack,
  dsrRule,
  forwardLocally,
  fullNat,
  hairpinRule,
  isFullNat,
  isLostOnOverlay,
  lostOnOverlay,
  refuseNode,
  toNodeItself,
} from "./load-balancer-rules.ts";
import { claimsOf, poolOf, reservedPoolsOf } from "../node-ports.ts";

/** Groups of the host's port that hold rules of load balancers. */
export const HOST_GROUP_NAMES = ["hairpin", "sourceNat", "balance", "balanceLocally", "toNode"] as const;
export type HostGroupName = (typeof HOST_GROUP_NAMES)[number];
/** Rules or groups of the host's port, those of a family apart from those of the other. */
export type HostParts<T> = Readonly<Record<4 | 6, Readonly<Record<HostGroupName, T>>>>;

/** Everything that one load balancer comes to. */
export interface CompiledLoadBalancer {
  readonly podRules: Readonly<Record<4 | 6, readonly Rule[]>>;
  readonly host: HostParts<readonly Rule[]>;
  readonly backEnds: ReadonlyMap<Guid, BackEndRules>;
  /** It balances for pods at their own ports, as all of a node do while kube-proxy has DSR on. */
  readonly isDsrForPods: boolean;
  /** NAT pools of the host's port. */
  readonly pools: readonly HostPoolDefinition[];
  /** Ports of the node's addresses that belong to the host's port, whatever MAC a frame carries. */
  readonly bindings: readonly StaticBindingDefinition[];
  /** Ports that the host's stack leaves to the switch. */
  readonly claims: readonly PortClaimDefinition[];
}

function mergeBackEnds(parts: readonly ReadonlyMap<Guid, BackEndRules>[]): Map<Guid, BackEndRules> {
  const merged = new Map<Guid, BackEndRules>();
  for (const [id, rules] of parts.flatMap((part) => [...part])) {
    const known = merged.get(id);
    // One port of the back end answers for all front ends: one rule lets its answers pass.
    merged.set(id, {
      family: rules.family,
      in: [...(known?.in ?? []), ...rules.in],
      out: [...(known?.out ?? []), ...rules.out],
      plain: [...(known?.plain ?? []), ...rules.plain],
    });
  }
  return merged;
}

const NONE: readonly never[] = Object.freeze([]);
const NO_POD_RULES: CompiledLoadBalancer["podRules"] = Object.freeze({ 4: NONE, 6: NONE });
const NO_HOST_RULES: HostParts<readonly Rule[]>[4] = Object.freeze({
  hairpin: NONE,
  sourceNat: NONE,
  balance: NONE,
  balanceLocally: NONE,
  toNode: NONE,
});

/** A load balancer has rules of one family. */
function hostParts(family: 4 | 6, rules: HostParts<readonly Rule[]>[4]): HostParts<readonly Rule[]> {
  const own = Object.freeze(rules);
  return Object.freeze(family === 4 ? { 4: own, 6: NO_HOST_RULES } : { 4: NO_HOST_RULES, 6: own });
}

const NO_BACK_ENDS: CompiledLoadBalancer["backEnds"] = new Map();

/** Most lists of most load balancers are empty: these are one. */
function orNone<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? NONE : list;
}

/** Compiles one load balancer. It has no rules where nobody serves (dataplane.md §3.2). */
export function compileLoadBalancer(
  loadBalancer: LoadBalancerRecord,
  endpoints: EndpointTable,
  facts: LoadBalancerFacts,
): CompiledLoadBalancer {
  const all = frontEndsOf(loadBalancer, endpoints, facts);
  const dsr = all.filter((frontEnd) => frontEnd.isDsr);
  const podRules = (family: 4 | 6): readonly Rule[] =>
    dsr.filter((frontEnd) => frontEnd.family === family).map((frontEnd) => dsrRule(frontEnd, facts));
  // Inferred: the host's port balances IPv6 as it does IPv4; the groups seen there are IPv4 ones (dataplane.md §2.2.3).
  const reached = all.filter((frontEnd) => facts.hasPods || !frontEnd.isNodePort);
  const own = reached.filter(({ isOwn }) => isOwn);
  const hosted = reached.filter(({ isOwn }) => !isOwn);
  const translated = hosted.filter((frontEnd) => isFullNat(frontEnd) && !frontEnd.keepsVip);
  const full = translated.flatMap((frontEnd) => {
    const pool = poolOf(loadBalancer, frontEnd.mapping, facts);
    return pool === undefined ? [] : [{ frontEnd, pool, rules: fullNat(frontEnd, pool, facts.overhead) }];
  });
  const isTunnelled = facts.overhead > 0;
  // The node's own packets to its node ports come from that address, and are no loops (F-47).
  const loops = full
    .filter(({ frontEnd }) => isTunnelled && !frontEnd.isDsr && !frontEnd.isNodePort)
    .map(({ frontEnd, pool }) => blockLoopBack(frontEnd, pool));
  const local = hosted.filter((frontEnd) => !translated.includes(frontEnd));
  const pools = [...reservedPoolsOf(loadBalancer, facts), ...full.map(({ pool }) => pool)];
  const backEnds = mergeBackEnds(hosted.map((frontEnd) => backEndRules(frontEnd, facts)));
  return Object.freeze({
    podRules: dsr.length === 0 ? NO_POD_RULES : Object.freeze({ 4: podRules(4), 6: podRules(6) }),
    host: hostParts(familyOfBalancer(loadBalancer), {
      hairpin: orNone(
        hosted.map((frontEnd) =>
          isLostOnOverlay(frontEnd, facts) ? lostOnOverlay(frontEnd) : hairpinRule(frontEnd),
        ),
      ),
      sourceNat: orNone([
        ...reached.flatMap((frontEnd) => refuseNode(frontEnd, facts)),
        ...loops,
        ...full.map(({ rules }) => rules.nat),
      ]),
      balance: orNone(full.map(({ rules }) => rules.lb)),
      balanceLocally: orNone(local.map(forwardLocally)),
      toNode: orNone(own.map(toNodeItself)),
    }),
    backEnds: backEnds.size === 0 ? NO_BACK_ENDS : backEnds,
    // What kube-proxy marks is for others than pods, and is DSR for a local traffic policy, too.
    isDsrForPods: dsr.some(({ mapping }) => mapping.flags === 0),
    pools: orNone([...new Map(pools.map((pool) => [pool.name, pool])).values()]),
    bindings: orNone(
      reached
        .filter((frontEnd) => frontEnd.isNodePort)
        .map(({ vip, mapping }) => ({ ip: vip, protocol: mapping.protocol, port: mapping.externalPort })),
    ),
    claims: orNone(claimsOf(loadBalancer, all, facts)),
  });
}
