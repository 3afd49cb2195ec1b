/**
 * A load balancer → rules on three kinds of ports (dataplane.md §2.2.3, §2.4 B-3 to B-7, §3).
 *
 * Every pod's port, with DSR: `LB_DSR_…` sends the pod's own connections to a back end; answers come straight back.
 * The host's port, for everybody else: a hairpin rule turns what came for a front end round before the host's stack
 * sees it. Then either the frame goes to a local back end as it is, only its MAC changed, or both addresses are
 * translated: without DSR always, with DSR when a back end is on another node.
 * The port of a local back end, with DSR: translates what the host's port left alone, and lets answers pass.
 */
import type { Guid } from "../../hcn/client.ts";
import { LOAD_BALANCER_FLAGS } from "../../hcn/load-balancer.ts";
import type { KnowledgeCode } from "../../knowledge/codes.ts";
import { formatIp } from "../../net/ip.ts";
import { hostPrefix } from "../../net/prefix.ts";
import type { Condition } from "../../vfp/condition.ts";
import type { Action, Rule } from "../../vfp/rule.ts";
import { IpProtocol } from "../../wire/ip-protocol.ts";
import type { HostPoolDefinition, PortClaimDefinition, StaticBindingDefinition } from "../datapath.ts";
import type { EndpointRecord } from "../endpoint-record.ts";
import type { LoadBalancerPortMappingRecord, LoadBalancerRecord } from "../load-balancer-record.ts";
import {
  type FrontEnd,
  type LoadBalancerFacts,
  formatFrontEnd,
  frontEndsOf,
  hasFlag,
  isBalanced,
} from "./load-balancer-plan.ts";
import { loadBalancerProvenance } from "./provenance.ts";

const RULE_PRIORITY = 100;
/** Before the rules that balance. */
const REFUSAL_PRIORITY = 50;
const NODE_PORTS = "dataplane.md §2.2.3";
const FULL_NAT = "dataplane.md §2.2.2, §3.3";

/** Groups of the host's port that hold rules of load balancers. */
export const HOST_GROUP_NAMES = ["hairpin", "sourceNat", "balance", "balanceLocally"] as const;
export type HostGroupName = (typeof HOST_GROUP_NAMES)[number];

/** What one local back end's port gets. */
export interface BackEndRules {
  readonly in: readonly Rule[];
  readonly out: readonly Rule[];
}

/** Everything that one load balancer comes to. */
export interface CompiledLoadBalancer {
  readonly podRules: Readonly<Record<4 | 6, readonly Rule[]>>;
  readonly host: Readonly<Record<HostGroupName, readonly Rule[]>>;
  readonly backEnds: ReadonlyMap<Guid, BackEndRules>;
  /** NAT pools of the host's port. */
  readonly pools: readonly HostPoolDefinition[];
  /** Ports of the node's addresses that belong to the host's port, whatever MAC a frame carries. */
  readonly bindings: readonly StaticBindingDefinition[];
  /** Ports that the host's stack leaves to the switch. */
  readonly claims: readonly PortClaimDefinition[];
}

function toFrontEnd({ mapping, vip }: FrontEnd): Condition {
  return {
    protocols: [mapping.protocol],
    destination: [hostPrefix(vip)],
    destinationPorts: [{ first: mapping.externalPort, last: mapping.externalPort }],
  };
}

function makeRule(
  frontEnd: FrontEnd,
  name: string,
  fields: Partial<Rule> & { readonly action: Action },
): Rule {
  return Object.freeze({
    id: `${frontEnd.loadBalancer.id}|${name}`,
    name,
    priority: RULE_PRIORITY,
    condition: Object.freeze(toFrontEnd(frontEnd)),
    isTerminating: true,
    isStateful: true,
    provenance: loadBalancerProvenance(frontEnd.loadBalancer, formatFrontEnd(frontEnd)),
    ...fields,
  });
}

/** `<VIP>_<ext>_<int>_<proto>`, or with the external port twice where addresses stay. */
function suffix({ vip, mapping }: FrontEnd, internalPort: number): string {
  return `${formatIp(vip)}_${mapping.externalPort}_${internalPort}_${mapping.protocol}`;
}

function balance(frontEnd: FrontEnd, rewrites: "address-and-port" | "mac"): Action {
  const backEnds = Object.freeze(frontEnd.serving.map((each) => each.backEnd));
  return Object.freeze({ type: "lbnat", backEnds, distribution: frontEnd.distribution, rewrites });
}

/** Ping to a front end meets no rule (dataplane.md §2.9). */
const ICMP_MISS = Object.freeze({ protocols: "icmp-to-service-not-balanced" } as const);

/** For every pod's port (walk B-3). */
function dsrRule(frontEnd: FrontEnd, facts: LoadBalancerFacts): Rule {
  const { tag, mapping, keepsVip } = frontEnd;
  const managementIp = facts.managementIp === undefined ? "" : formatIp(facts.managementIp);
  const name = `LB_DSR_${tag}_${managementIp}_${suffix(frontEnd, mapping.internalPort)}`;
  const action = balance(frontEnd, keepsVip ? "mac" : "address-and-port");
  return makeRule(frontEnd, name, { action, missCodes: ICMP_MISS });
}

/**
 * Turns round what came for the front end (walk B-7). Inferred: also where all back ends are on other nodes; seen is
 * the rule of load balancers with a local one, but the documented NodePort of a node without one needs it as well.
 */
function hairpinRule(frontEnd: FrontEnd): Rule {
  const { tag, mapping, serving } = frontEnd;
  const name = `HairPin_${tag}_${suffix(frontEnd, mapping.externalPort)}`;
  const isSeen = serving.some((each) => each.isLocal);
  return makeRule(frontEnd, name, {
    action: { type: "allow" },
    missCodes: ICMP_MISS,
    ...(!isSeen && { inferred: NODE_PORTS }),
  });
}

/** Only local back ends, with DSR: the frame goes on as it is, to the MAC of the chosen one. */
function forwardLocally(frontEnd: FrontEnd): Rule {
  const { tag, mapping, serving } = frontEnd;
  const prefix = serving.length === 1 ? "NAT" : "LB";
  const name = `${prefix}_${tag}_${suffix(frontEnd, mapping.externalPort)}`;
  return makeRule(frontEnd, name, { action: balance(frontEnd, "mac") });
}

function isFullNat(frontEnd: FrontEnd): boolean {
  return !frontEnd.isDsr || frontEnd.hasRemote;
}

/**
 * Both addresses change: the source to one of the node's with a port of a pool, the destination to the back end (walks
 * B-4 and B-7). Inferred: the name `LB_…` where all back ends are local and there is no DSR, after the rules of old
 * overlay nodes (dataplane.md §2.2.2).
 */
function fullNat(frontEnd: FrontEnd, pool: HostPoolDefinition): { readonly nat: Rule; readonly lb: Rule } {
  const { tag, mapping, hasRemote } = frontEnd;
  const rest = suffix(frontEnd, mapping.internalPort);
  const protocol = mapping.protocol === IpProtocol.tcp ? "TCP" : "UDP";
  const nat = makeRule(frontEnd, `SNAT_${protocol}_${tag}_${formatIp(pool.ip)}_${rest}`, {
    action: Object.freeze({ type: "dynnat", pool: pool.name }),
    inferred: FULL_NAT,
  });
  const lb = makeRule(frontEnd, `${hasRemote ? "LB_HOST" : "LB"}_${tag}_${rest}`, {
    action: balance(frontEnd, "address-and-port"),
    missCodes: ICMP_MISS,
    ...(!hasRemote && { inferred: FULL_NAT }),
  });
  return { nat, lb };
}

/**
 * The source of translated connections: the load balancer's SourceVIP, else the node's address, as B-4 has it.
 * Inferred: a pool is known by protocol and address alone once blocks are shared; before, each load balancer has one
 * block and no more (dataplane.md §3.5, hcn.md §8.5). With DSR no ports are set aside (§3.3): what needs some takes
 * them from the shared pool.
 */
function poolOf(
  loadBalancer: LoadBalancerRecord,
  mapping: LoadBalancerPortMappingRecord,
  facts: LoadBalancerFacts,
): HostPoolDefinition | undefined {
  const { sourceVip, id } = loadBalancer;
  const ip = typeof sourceVip === "number" ? sourceVip : facts.managementIp;
  if (ip === undefined) return undefined;
  const protocol = mapping.protocol === IpProtocol.tcp ? "TCP" : "UDP";
  const shared = `SLB_NATPOOL_IPV4_${protocol}_${formatIp(ip)}`;
  const isDsr = hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR);
  const isShared = facts.traits.sharesPortBlocks || isDsr;
  return Object.freeze({
    name: isShared ? shared : `${shared}_${id}_${mapping.externalPort}`,
    ip,
    protocol: mapping.protocol,
    portsMax: isShared ? SHARED_PORTS_MAX : BLOCK_PORTS,
    isReserved: !isDsr,
  });
}

/** The pools that a load balancer has to have a block of before it is made: none with DSR (dataplane.md §3.5). */
export function reservedPoolsOf(
  loadBalancer: LoadBalancerRecord,
  facts: LoadBalancerFacts,
): readonly HostPoolDefinition[] {
  if (hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR) || hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.IPv6))
    return [];
  const pools = loadBalancer.portMappings
    .filter(isBalanced)
    .map((mapping) => poolOf(loadBalancer, mapping, facts));
  return pools.filter((pool) => pool !== undefined);
}

const BLOCK_PORTS = 64;
/** All of the node's dynamic range, block by block as it is needed. */
const SHARED_PORTS_MAX = 16_384;

/**
 * Before the builds that balance the node's own packets: Inferred that they end at the host's port; documented is that
 * they do not arrive (dataplane.md §2.4 B-8, DT-118).
 */
function refuseNode(frontEnd: FrontEnd, facts: LoadBalancerFacts): readonly Rule[] {
  const source = facts.nodeIps.filter((ip) => typeof ip === "number").map(hostPrefix);
  if (facts.traits.reachesServices || frontEnd.isNodePort) return [];
  const name = `HOST_TO_VIP_${frontEnd.tag}_${suffix(frontEnd, frontEnd.mapping.externalPort)}`;
  const rule = makeRule(frontEnd, name, {
    priority: REFUSAL_PRIORITY,
    condition: Object.freeze({ ...toFrontEnd(frontEnd), source }),
    action: { type: "block", code: "service-vip-from-node-unsupported" },
    isStateful: false,
    inferred: "dataplane.md §2.4 B-8",
  });
  return [rule];
}

/**
 * On the port of a local back end. IN: what the host's port left alone is translated, and so are its answers. OUT:
 * answers of the back end's port keep OutBoundNAT away (dataplane.md DT-124, DT-125).
 */
function backEndRules(frontEnd: FrontEnd): ReadonlyMap<Guid, BackEndRules> {
  const { serving, mapping, tag, vip, isDsr, keepsVip } = frontEnd;
  const rest = `${tag}_${formatIp(vip)}_${mapping.externalPort}_${mapping.protocol}`;
  const rules = new Map<Guid, BackEndRules>();
  if (keepsVip) return rules;
  for (const { id, backEnd, isLocal } of serving) {
    if (!isLocal) continue;
    const { ip, port } = backEnd;
    const nat = makeRule(frontEnd, `NAT_${rest}`, {
      action: Object.freeze({ type: "nat", side: "destination", ip, port }),
    });
    const allow = makeRule(frontEnd, `ALLOW_NAT_${rest}`, {
      condition: Object.freeze({
        protocols: [mapping.protocol],
        source: [hostPrefix(ip)],
        sourcePorts: [{ first: port, last: port }],
      }),
      action: { type: "allow" },
      isStateful: false,
    });
    rules.set(id, { in: isDsr ? [nat] : [], out: [allow] });
  }
  return rules;
}

/**
 * Why a node port is not served on this node; undefined when it is. Inferred: that its packets end unanswered in the
 * host's stack. Documented and seen is that nobody answers, not even with a reset (dataplane.md DT-115, DT-116).
 */
function unservedCode(
  loadBalancer: LoadBalancerRecord,
  isServed: boolean,
  facts: LoadBalancerFacts,
): KnowledgeCode | undefined {
  if (!facts.hasPods) return "node-port-without-pods-on-node";
  if (isServed) return undefined;
  return hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR)
    ? "external-traffic-policy-local-without-local-endpoint"
    : "service-without-back-ends";
}

/** What the host's stack does with the node ports of its own addresses (dataplane.md DT-115 to DT-117). */
function claimsOf(
  loadBalancer: LoadBalancerRecord,
  frontEnds: readonly FrontEnd[],
  facts: LoadBalancerFacts,
): readonly PortClaimDefinition[] {
  const isNodePort =
    loadBalancer.frontendVips.length === 0 && !hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.IPv6);
  if (!isNodePort) return [];
  const reached = facts.traits.reachesOwnNodePorts ? undefined : "node-port-from-node-unsupported";
  return loadBalancer.portMappings.filter(isBalanced).map((mapping) => {
    const isServed = frontEnds.some((frontEnd) => frontEnd.mapping === mapping);
    const code = unservedCode(loadBalancer, isServed, facts) ?? reached;
    return { protocol: mapping.protocol, port: mapping.externalPort, code };
  });
}

function mergeBackEnds(parts: readonly ReadonlyMap<Guid, BackEndRules>[]): Map<Guid, BackEndRules> {
  const merged = new Map<Guid, BackEndRules>();
  for (const [id, rules] of parts.flatMap((part) => [...part])) {
    const known = merged.get(id);
    // One port of the back end answers for all front ends: one rule lets its answers pass.
    merged.set(id, { in: [...(known?.in ?? []), ...rules.in], out: [...(known?.out ?? []), ...rules.out] });
  }
  return merged;
}

/** Compiles one load balancer. It has no rules where nobody serves (dataplane.md §3.2). */
export function compileLoadBalancer(
  loadBalancer: LoadBalancerRecord,
  endpoints: ReadonlyMap<Guid, EndpointRecord>,
  facts: LoadBalancerFacts,
): CompiledLoadBalancer {
  const all = frontEndsOf(loadBalancer, endpoints, facts);
  const dsr = all.filter((frontEnd) => frontEnd.isDsr);
  const podRules = (family: 4 | 6): readonly Rule[] =>
    dsr.filter((frontEnd) => frontEnd.family === family).map((frontEnd) => dsrRule(frontEnd, facts));
  // Inferred: the host's port balances IPv4 only; the groups seen there are IPv4 ones (dataplane.md §2.2.3).
  const hosted = all.filter((frontEnd) => frontEnd.family === 4 && (facts.hasPods || !frontEnd.isNodePort));
  const translated = hosted.filter((frontEnd) => isFullNat(frontEnd) && !frontEnd.keepsVip);
  const full = translated.flatMap((frontEnd) => {
    const pool = poolOf(loadBalancer, frontEnd.mapping, facts);
    return pool === undefined ? [] : [{ frontEnd, pool, rules: fullNat(frontEnd, pool) }];
  });
  const local = hosted.filter((frontEnd) => !translated.includes(frontEnd));
  const pools = [...reservedPoolsOf(loadBalancer, facts), ...full.map(({ pool }) => pool)];
  return Object.freeze({
    podRules: { 4: podRules(4), 6: podRules(6) },
    host: {
      hairpin: hosted.map(hairpinRule),
      sourceNat: [
        ...hosted.flatMap((frontEnd) => refuseNode(frontEnd, facts)),
        ...full.map(({ rules }) => rules.nat),
      ],
      balance: full.map(({ rules }) => rules.lb),
      balanceLocally: local.map(forwardLocally),
    },
    backEnds: mergeBackEnds(hosted.map(backEndRules)),
    pools: [...new Map(pools.map((pool) => [pool.name, pool])).values()],
    bindings: hosted
      .filter((frontEnd) => frontEnd.isNodePort)
      .map(({ vip, mapping }) => ({ ip: vip, protocol: mapping.protocol, port: mapping.externalPort })),
    claims: claimsOf(loadBalancer, all, facts),
  });
}
