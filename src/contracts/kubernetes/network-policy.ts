/**
 * What NetworkPolicies say of a connection, by their specification alone: the API reference of
 * `networking.k8s.io/v1` and https://kubernetes.io/docs/concepts/services-networking/network-policies/. No engine that
 * enforces them is asked, and none may ask this: it is what engines are compared with.
 */
import { type Ip, type Prefix, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { type LabelSelector, type Labels, matchesSelector } from "./labels.ts";
import type { NetworkPolicy } from "./objects.ts";

export type PolicyDirection = "ingress" | "egress";

/** A port of a container: what a rule with a name looks for. */
export interface PolicyPort {
  readonly name: string | undefined;
  readonly protocol: string;
  readonly port: number;
}

/** A pod as policies see it. */
export interface PolicyPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly namespaceLabels: Labels;
  readonly ports: readonly PolicyPort[];
  /** It has no address but its node's. */
  readonly isHostNetwork: boolean;
}

/** One end of a connection. */
export interface PolicyEnd {
  /** Undefined: a node, or a machine outside. */
  readonly pod: PolicyPod | undefined;
  /** Undefined when nobody knows it. */
  readonly address: Ip | undefined;
  /** Whose machine it is, or on whose it runs; undefined outside. */
  readonly node: string | undefined;
}

export interface PolicyConnection {
  readonly source: PolicyEnd;
  readonly target: PolicyEnd;
  readonly protocol: "TCP" | "UDP" | "SCTP" | "ICMP";
  /** Of the target itself, behind any Service; 0 with ICMP. */
  readonly port: number;
}

/** The rule that lets a connection through. */
export interface AllowingRule {
  readonly policy: ReadPolicy;
  readonly direction: PolicyDirection;
  /** Its place among the policy's rules of the direction. */
  readonly index: number;
}

/**
 * `rules`: one for each end that is isolated; none where no policy isolates anybody. `isolatedBy`: the policies that
 * isolate the end in the direction that no rule opens. `undefined`: the specification leaves it to whoever enforces.
 */
export type PolicyVerdict =
  | { readonly outcome: "allowed"; readonly rules: readonly AllowingRule[] }
  | {
      readonly outcome: "denied";
      readonly direction: PolicyDirection;
      readonly isolatedBy: readonly ReadPolicy[];
    }
  | { readonly outcome: "undefined"; readonly why: "protocol" | "host-network" };

interface ReadPort {
  readonly protocol: string;
  /** Undefined: all ports. */
  readonly port: number | string | undefined;
  readonly endPort: number | undefined;
}

interface ReadPeer {
  readonly pods: LabelSelector | undefined;
  readonly namespaces: LabelSelector | undefined;
  /** Undefined: the peer is pods. */
  readonly block: { readonly range: Prefix | undefined; readonly except: readonly Prefix[] } | undefined;
}

interface ReadRule {
  /** None: everybody. */
  readonly peers: readonly ReadPeer[];
  /** None: every port. */
  readonly ports: readonly ReadPort[];
}

/** A policy, read once for many questions. */
export interface ReadPolicy {
  readonly namespace: string;
  readonly name: string;
  /** What it isolates its pods for. */
  readonly directions: readonly PolicyDirection[];
  readonly pods: LabelSelector;
  readonly rules: Readonly<Record<PolicyDirection, readonly ReadRule[]>>;
}

/** As it is stored; the client's type calls `from` otherwise. */
interface StoredRule {
  readonly from?: readonly StoredPeer[] | null;
  readonly to?: readonly StoredPeer[] | null;
  readonly ports?: readonly StoredPort[] | null;
}
interface StoredPeer {
  readonly podSelector?: LabelSelector | null;
  readonly namespaceSelector?: LabelSelector | null;
  readonly ipBlock?: { readonly cidr?: string; readonly except?: readonly string[] | null } | null;
}
interface StoredPort {
  readonly protocol?: string;
  readonly port?: number | string | null;
  readonly endPort?: number | null;
}

/**
 * API reference, `policyTypes`: without it a policy is about ingress, and about egress when it has a rule for it.
 */
function directionsOf({ spec }: NetworkPolicy): readonly PolicyDirection[] {
  const types = spec?.policyTypes ?? [];
  if (types.length === 0) return (spec?.egress ?? []).length > 0 ? ["ingress", "egress"] : ["ingress"];
  return (["ingress", "egress"] as const).filter((direction) =>
    types.some((type) => type.toLowerCase() === direction),
  );
}

function readPeer({ podSelector, namespaceSelector, ipBlock }: StoredPeer): ReadPeer {
  const block = ipBlock ?? undefined;
  return {
    pods: podSelector ?? undefined,
    namespaces: namespaceSelector ?? undefined,
    block: block && {
      range: parsePrefix(block.cidr ?? ""),
      except: (block.except ?? []).flatMap((text) => parsePrefix(text) ?? []),
    },
  };
}

function readRule({ from, to, ports }: StoredRule): ReadRule {
  return {
    peers: [...(from ?? []), ...(to ?? [])].map(readPeer),
    ports: (ports ?? []).map(({ protocol = "TCP", port, endPort }) => ({
      protocol,
      port: port ?? undefined,
      endPort: endPort ?? undefined,
    })),
  };
}

export function readNetworkPolicy(policy: NetworkPolicy): ReadPolicy {
  const { metadata, spec } = policy;
  const { namespace, name } = metadata;
  const ingress: readonly StoredRule[] = spec?.ingress ?? [];
  const egress: readonly StoredRule[] = spec?.egress ?? [];
  return Object.freeze({
    namespace,
    name,
    directions: directionsOf(policy),
    pods: spec?.podSelector ?? {},
    rules: { ingress: ingress.map(readRule), egress: egress.map(readRule) },
  });
}

/** Whether a policy is about a pod: one of its own namespace, whose labels answer its selector. An empty one selects all. */
export function selectsPod(
  { namespace, pods }: ReadPolicy,
  pod: Pick<PolicyPod, "namespace" | "labels">,
): boolean {
  return pod.namespace === namespace && matchesSelector(pods, pod.labels);
}

/** Directions in which it lets everybody through on every port, whatever policies beside it say: rules only add. */
export function openDirections({ rules }: ReadPolicy): readonly PolicyDirection[] {
  return (["ingress", "egress"] as const).filter((direction) =>
    rules[direction].some(({ peers, ports }) => peers.length + ports.length === 0),
  );
}

/** Both selectors of one peer have to hold; without a namespaceSelector it is about pods of the policy's own namespace. */
function isPeer(peer: ReadPeer, policy: ReadPolicy, { pod, address }: PolicyEnd): boolean {
  if (peer.block !== undefined) {
    const { range, except } = peer.block;
    if (range === undefined || address === undefined || !prefixContains(range, address)) return false;
    return !except.some((part) => prefixContains(part, address));
  }
  if (pod === undefined) return false;
  const isInNamespace =
    peer.namespaces === undefined
      ? pod.namespace === policy.namespace
      : matchesSelector(peer.namespaces, pod.namespaceLabels);
  return isInNamespace && matchesSelector(peer.pods ?? {}, pod.labels);
}

/** A name is that of a port of the pod which is asked, with the same protocol. */
function isPort(wanted: ReadPort, { protocol, port, target }: PolicyConnection): boolean {
  if (wanted.protocol !== protocol) return false;
  if (wanted.port === undefined) return true;
  if (typeof wanted.port === "number") return wanted.port <= port && port <= (wanted.endPort ?? wanted.port);
  const named = target.pod?.ports ?? [];
  return named.some((each) => each.name === wanted.port && each.protocol === protocol && each.port === port);
}

function ruleFor(
  policies: readonly ReadPolicy[],
  direction: PolicyDirection,
  connection: PolicyConnection,
): AllowingRule | undefined {
  const peer = direction === "ingress" ? connection.source : connection.target;
  for (const policy of policies)
    for (const [index, { peers, ports }] of policy.rules[direction].entries()) {
      const isMeant = peers.length === 0 || peers.some((each) => isPeer(each, policy, peer));
      if (isMeant && (ports.length === 0 || ports.some((each) => isPort(each, connection))))
        return { policy, direction, index };
    }
  return undefined;
}

/** "A Pod cannot block access to itself", and traffic from and to the node where it runs is always allowed. */
function isSpared({ source, target }: PolicyConnection): boolean {
  const isSamePod =
    source.pod !== undefined &&
    source.pod.namespace === target.pod?.namespace &&
    source.pod.name === target.pod.name;
  const isFromNode = source.pod === undefined || target.pod === undefined;
  return isSamePod || (isFromNode && source.node !== undefined && source.node === target.node);
}

/**
 * Whether `policies` let a connection through: both the egress of its source and the ingress of its target have to. Answers
 * of a connection that is let through are, too.
 */
export function verdictOf(policies: readonly ReadPolicy[], connection: PolicyConnection): PolicyVerdict {
  const { source, target, protocol } = connection;
  if (isSpared(connection)) return { outcome: "allowed", rules: [] };
  const rules: AllowingRule[] = [];
  let denied: PolicyVerdict | undefined;
  const sides = [["egress", source] as const, ["ingress", target] as const];
  for (const [direction, { pod }] of sides) {
    if (pod === undefined) continue;
    const own = policies.filter((policy) => policy.directions.includes(direction) && selectsPod(policy, pod));
    if (own.length === 0) continue;
    // "NetworkPolicy is defined for layer 4 connections"; "behaviour for hostNetwork pods is undefined".
    if (protocol === "ICMP") return { outcome: "undefined", why: "protocol" };
    if (source.pod?.isHostNetwork === true || target.pod?.isHostNetwork === true)
      return { outcome: "undefined", why: "host-network" };
    const rule = ruleFor(own, direction, connection);
    if (rule !== undefined) rules.push(rule);
    else denied ??= { outcome: "denied", direction, isolatedBy: own };
  }
  return denied ?? { outcome: "allowed", rules };
}
