/**
 * A load balancer → rules on three kinds of ports (dataplane.md §2.2.3, §2.4 B-3 to B-7, §3).
 *
 * Every pod's port, with DSR: `LB_DSR_…` sends the pod's own connections to a back end; answers come straight back.
 * The host's port, for all others: a hairpin rule turns what came for a front end round before the host's stack
 * sees it. Then either the frame goes to a local back end as it is, only its MAC changed, or both addresses are
 * translated: without DSR always, with DSR when a back end is on another node.
 * The port of a local back end, with DSR: translates what the host's port left alone, and lets answers pass. Where the
 * node itself is the back end, that port is the host's.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Rule, Action } from "#dataplane/vfp/rule.ts";
import type {
  HostPoolDefinition,
  PortClaimDefinition,
  StaticBindingDefinition,
} from "../../ports/datapath.ts";
import type { LoadBalancerRecord } from "../../service/records.ts";
import {
  type EndpointTable,
  type LoadBalancerFacts,
  familyOfBalancer,
  frontEndsOf,
  claimsOf,
  poolOf,
  reservedPoolsOf,
  type FrontEnd,
} from "./load-balancer-plan.ts";
import { assert } from "#core/base/assert.ts";
import { familyOf, formatIp, hostPrefix } from "#core/net/ip.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// The single rules of load balancers, with the names that they have on a node (dataplane.md §2.2.3).

const RULE_PRIORITY = 100;
/** Before the rules that balance. */
const REFUSAL_PRIORITY = 50;
/** Observed (dataplane.md §2.2.2). */
const LOOP_PRIORITY = 1;
const NODE_PORTS = "dataplane.md §2.2.3";
const FULL_NAT = "dataplane.md §2.2.2, §3.3";
const OWN_BACK_END = "dataplane.md §2.2.3, kube-proxy.md §5.4";

/** What one local back end's port gets. */
export interface BackEndRules {
  readonly family: 4 | 6;
  readonly in: readonly Rule[];
  readonly out: readonly Rule[];
  /** Of VNET_ENCAP_LAYER OUT, on networks with tunnels. */
  readonly plain: readonly Rule[];
}

/** The parts of a name, joined to one text: a cluster has millions of these. */
function nameOf(...parts: readonly (string | number)[]): string {
  return parts.join("_");
}

function makeRule(
  frontEnd: FrontEnd,
  name: string,
  fields: Partial<Rule> & { readonly action: Action },
): Rule {
  return Object.freeze({
    id: [frontEnd.loadBalancer.id, name].join("|"),
    name,
    priority: RULE_PRIORITY,
    condition: frontEnd.condition,
    isTerminating: true,
    isStateful: true,
    provenance: frontEnd.provenance,
    ...fields,
  });
}

/** `<VIP>_<ext>_<int>_<proto>`, or with the external port twice where addresses stay. */
function suffix({ vip, mapping }: FrontEnd, internalPort: number): string {
  return nameOf(formatIp(vip), mapping.externalPort, internalPort, mapping.protocol);
}

/**
 * One rule, whatever the number of back ends. Inferred: a rule of VFP holds 64 at most, so a node has several above that
 * (dataplane.md §3.6), and how it spreads connections over them is not public.
 */
function balance(frontEnd: FrontEnd, rewrites: "address-and-port" | "mac"): Action {
  const { shared, serving, distribution } = frontEnd;
  const backEnds = shared.listOf(serving.map((each) => each.backEnd));
  return Object.freeze({ type: "lbnat", backEnds, distribution, rewrites });
}

const ALLOW: Action = Object.freeze({ type: "allow" });

/** Ping to a front end meets no rule (dataplane.md §2.9). */
const ICMP_MISS = Object.freeze({ protocols: "icmp-to-service-not-balanced" } as const);

/** For every pod's port (walk B-3). */
function dsrRule(frontEnd: FrontEnd, facts: LoadBalancerFacts): Rule {
  const { tag, mapping, keepsVip } = frontEnd;
  const managementIp = facts.managementIp === undefined ? "" : formatIp(facts.managementIp);
  const name = nameOf("LB_DSR", tag, managementIp, suffix(frontEnd, mapping.internalPort));
  const action = balance(frontEnd, keepsVip ? "mac" : "address-and-port");
  return makeRule(frontEnd, name, { action, missCodes: ICMP_MISS });
}

/**
 * Turns round what came for the front end (walk B-7). Inferred: also where all back ends are on other nodes; seen is
 * the rule of load balancers with a local one, but the documented NodePort of a node without one needs it as well.
 */
function hairpinRule(frontEnd: FrontEnd): Rule {
  const { tag, mapping, serving } = frontEnd;
  const name = nameOf("HairPin", tag, suffix(frontEnd, mapping.externalPort));
  const isSeen = serving.some((each) => each.isLocal);
  return makeRule(frontEnd, name, {
    action: ALLOW,
    missCodes: ICMP_MISS,
    ...(!isSeen && { inferred: NODE_PORTS }),
  });
}

/** `overlay-nodeport-ws2022`: only what kube-proxy makes for a local traffic policy is left (DSR, and no remote back end). */
function isLostOnOverlay(frontEnd: FrontEnd, facts: LoadBalancerFacts): boolean {
  return (
    facts.traits.losesOverlayNodePorts && facts.overhead > 0 && frontEnd.isNodePort && isFullNat(frontEnd)
  );
}

/**
 * The documentation tells that such a connection is lost, not where (windows-networking-documentation.md §5).
 * Inferred: at the port of the node that is asked, before its load balancer.
 */
function lostOnOverlay(frontEnd: FrontEnd): Rule {
  const { tag, mapping } = frontEnd;
  const name = nameOf("HairPin", tag, suffix(frontEnd, mapping.externalPort));
  return makeRule(frontEnd, name, {
    action: { type: "block", code: "node-port-on-overlay-server-2022" },
    isStateful: false,
    inferred: "windows-networking-documentation.md §5",
  });
}

/** Only local back ends, with DSR: the frame goes on as it is, to the MAC of the chosen one. */
function forwardLocally(frontEnd: FrontEnd): Rule {
  const { tag, mapping, serving } = frontEnd;
  const prefix = serving.length === 1 ? "NAT" : "LB";
  const name = nameOf(prefix, tag, suffix(frontEnd, mapping.externalPort));
  return makeRule(frontEnd, name, { action: balance(frontEnd, "mac") });
}

function isFullNat(frontEnd: FrontEnd): boolean {
  return !frontEnd.isDsr || frontEnd.hasRemote;
}

/**
 * Both addresses change: the source to one of the node's with a port of a pool, the destination to the back end (walks
 * B-4 and B-7). Inferred: the name `LB_…` where all back ends are local and there is no DSR, which old overlay nodes were
 * seen with (dataplane.md §2.2.2, kubernetes/kubernetes#79359).
 */
function fullNat(
  frontEnd: FrontEnd,
  pool: HostPoolDefinition,
  overhead: number,
): { readonly nat: Rule; readonly lb: Rule } {
  const { tag, mapping, hasRemote } = frontEnd;
  const rest = suffix(frontEnd, mapping.internalPort);
  const translated = nameOf(tag, formatIp(pool.ip), rest);
  const protocol = mapping.protocol === IpProtocol.tcp ? "TCP" : "UDP";
  const nat = makeRule(frontEnd, nameOf("SNAT", protocol, translated), {
    action: Object.freeze({ type: "dynnat", pool: pool.name }),
    // `MSS delta 50, 0` on overlay nodes (observed, dataplane.md §1.5).
    ...(overhead > 0 && { mssDelta: overhead }),
    inferred: FULL_NAT,
  });
  const lb = makeRule(frontEnd, hasRemote ? nameOf("LB_HOST", tag, rest) : nameOf("LB", translated), {
    action: balance(frontEnd, "address-and-port"),
    missCodes: ICMP_MISS,
    ...(!hasRemote && { inferred: FULL_NAT }),
  });
  return { nat, lb };
}

/**
 * The back end is the node itself: health checks that came for a front end, which kube-proxy forwards to its own server
 * (kubernetes/kubernetes#99287; that they arrive and are answered is documented, how is not). Inferred: what the port of
 * a local back end has, the host's port has for the node: a rule on the way in, before the host's stack, and its reverse
 * flow, which gives answers the front end's address again. Nothing is turned round, and the source stays: an answer to an
 * address of the node's own would never leave its stack.
 */
function toNodeItself(frontEnd: FrontEnd): Rule {
  const { serving, mapping, tag, vip } = frontEnd;
  const [own] = serving;
  assert(own !== undefined, WORDS.frontEndWithoutLeg);
  const name = nameOf("NAT", tag, formatIp(vip), mapping.externalPort, mapping.protocol);
  const { ip, port } = own.backEnd;
  return makeRule(frontEnd, name, {
    action: Object.freeze({ type: "nat", side: "destination", ip, port }),
    missCodes: ICMP_MISS,
    inferred: OWN_BACK_END,
  });
}

/**
 * On overlay nodes without DSR, before source NAT: a packet from the front end to itself goes nowhere (dataplane.md §2.3 O-6).
 * Name, priority, condition and action are as seen (kubernetes/kubernetes#79359): whatever the protocol.
 */
function blockLoopBack(frontEnd: FrontEnd, pool: HostPoolDefinition): Rule {
  const { tag, mapping, vip } = frontEnd;
  const itself = [hostPrefix(vip)];
  const destinationPorts = [{ first: mapping.externalPort, last: mapping.externalPort }];
  const name = nameOf(`Block_LoopBack${tag}`, formatIp(pool.ip), suffix(frontEnd, mapping.internalPort));
  return makeRule(frontEnd, name, {
    priority: LOOP_PRIORITY,
    condition: Object.freeze({ source: itself, destination: itself, destinationPorts }),
    action: { type: "block", code: "service-loop-blocked" },
    isStateful: false,
  });
}

/**
 * Before the builds that balance the node's own packets: Inferred that they end at the host's port; documented is that
 * they do not arrive (dataplane.md §2.4 B-8).
 */
function refuseNode(frontEnd: FrontEnd, facts: LoadBalancerFacts): readonly Rule[] {
  const source = facts.nodeIps.filter((ip) => familyOf(ip) === frontEnd.family).map(hostPrefix);
  if (facts.traits.reachesServices || frontEnd.isNodePort) return [];
  const name = nameOf("HOST_TO_VIP", frontEnd.tag, suffix(frontEnd, frontEnd.mapping.externalPort));
  const rule = makeRule(frontEnd, name, {
    priority: REFUSAL_PRIORITY,
    condition: Object.freeze({ ...frontEnd.condition, source }),
    action: { type: "block", code: "service-vip-from-node-unsupported" },
    isStateful: false,
    inferred: "dataplane.md §2.4 B-8",
  });
  return [rule];
}

/**
 * On the port of a local back end. IN: what the host's port left alone is translated, and so are its answers. OUT:
 * answers of the back end's port keep OutBoundNAT away (dataplane.md §10).
 */
function backEndRules(frontEnd: FrontEnd, facts: LoadBalancerFacts): ReadonlyMap<Guid, BackEndRules> {
  const { serving, mapping, tag, vip, isDsr, keepsVip, isOwn } = frontEnd;
  const rest = nameOf(tag, formatIp(vip), mapping.externalPort, mapping.protocol);
  const rules = new Map<Guid, BackEndRules>();
  if (keepsVip || isOwn) return rules;
  for (const { id, backEnd, isLocal } of serving) {
    if (!isLocal) continue;
    const { ip, port } = backEnd;
    const nat = makeRule(frontEnd, nameOf("NAT", rest), {
      action: Object.freeze({ type: "nat", side: "destination", ip, port }),
    });
    const answers: Condition = {
      protocols: [mapping.protocol],
      source: [hostPrefix(ip)],
      sourcePorts: [{ first: port, last: port }],
    };
    const allow = makeRule(frontEnd, nameOf("ALLOW_NAT", rest), {
      condition: Object.freeze(answers),
      action: ALLOW,
      isStateful: false,
    });
    const plain = isDsr && facts.overhead > 0 ? [answerNodePlainly(frontEnd, rest, answers, facts)] : [];
    rules.set(id, { family: frontEnd.family, in: isDsr ? [nat] : [], out: [allow], plain });
  }
  return rules;
}

/**
 * Answers to the node itself go to it without a tunnel: SLB_NAT_LAYER, which turns the front end's address back, comes
 * behind VNET_ENCAP_LAYER on the way out (dataplane.md §2.2.1) and sees no address inside a tunnel. Inferred from that
 * order, and from a node reaching its own node ports since KB4571748 (§9 F-47).
 */
function answerNodePlainly(
  frontEnd: FrontEnd,
  rest: string,
  answers: Condition,
  facts: LoadBalancerFacts,
): Rule {
  const nodes = facts.nodeIps.filter((ip) => typeof ip === "number").map(hostPrefix);
  return makeRule(frontEnd, nameOf("NO_ENCAP", rest), {
    condition: Object.freeze({ ...answers, destination: nodes }),
    action: ALLOW,
    isStateful: false,
    inferred: "dataplane.md §2.2.1, §9 F-47",
  });
}

// All rules of one load balancer, by port.

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

/** Compiles one load balancer. It has no rules where no endpoint serves (dataplane.md §3.2). */
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
