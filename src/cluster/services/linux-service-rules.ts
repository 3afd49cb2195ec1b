/**
 * A port of a Service → the rules that kube-proxy's iptables mode writes on one node (pkg/proxy/iptables/proxier.go,
 * syncProxyRules). The names of its chains stand at the functions. What is chosen at random there is chosen by the
 * stack's own generator.
 */
import type {
  Hook,
  DnatBackEnd,
  Chain,
  HookRules,
  Match,
  Rule,
  Target,
} from "#dataplane/host/netfilter/rule-set.ts";
import type { Provenance } from "#core/base/recorder.ts";
import { type Ip, type Prefix, familyOf, hostPrefix, prefixContains } from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import {
  type PlannedEndpoint,
  type PlannedPort,
  type UsedEndpoints,
  isExternallyAccessible,
} from "./linux-service-plan.ts";

/** KUBE-MARK-MASQ: bit 14 (`--iptables-masquerade-bit`). */
export const MASQUERADE_MARK = 0x4000;

/** What rules depend on besides the Service. */
export interface ProxyFacts {
  /** `--cluster-cidr`: sources that are pods. */
  readonly clusterCidr: Prefix;
  /** Only `loadBalancerSourceRanges` depend on it. */
  readonly nodeAddress: Ip | undefined;
}

/** Collects the rules of one Service. */
class Draft {
  readonly rules: { -readonly [At in Hook]?: Rule[] } = {};

  add(hooks: readonly Hook[], rule: Rule): void {
    const frozen = freezeRule(rule);
    for (const hook of hooks) (this.rules[hook] ??= []).push(frozen);
  }

  finish(): HookRules {
    for (const list of Object.values(this.rules)) Object.freeze(list);
    return Object.freeze(this.rules);
  }
}

function freezeRule(rule: Rule): Rule {
  Object.freeze(rule.match);
  Object.freeze(rule.target);
  return Object.freeze(rule);
}

export function freezeRules(rules: readonly Rule[]): readonly Rule[] {
  return Object.freeze(rules.map(freezeRule));
}

/** Where a rule of a node's program comes from. */
export function programOn(nodeName: string, program: string): Provenance {
  return Object.freeze({ object: "default", id: program, name: `${program} on ${nodeName}` });
}

/** A rule of a node's program that masquerades, as the node's rules of POSTROUTING. */
export function masquerade(match: Match, name: string, provenance: Provenance): readonly Rule[] {
  return freezeRules([{ match, target: { kind: "masquerade" }, name, provenance }]);
}

const NAT: readonly Hook[] = ["nat-prerouting", "nat-output"];
/** From where the kernel jumps to KUBE-SERVICES, KUBE-EXTERNAL-SERVICES and KUBE-PROXY-FIREWALL of table filter. */
const FILTER_SERVICES: readonly Hook[] = ["filter-forward", "filter-output"];
const FILTER_EXTERNAL: readonly Hook[] = ["filter-input", "filter-forward"];
const FILTER_FIREWALL: readonly Hook[] = ["filter-input", "filter-output", "filter-forward"];

const MARK: Target = Object.freeze({ kind: "mark", bits: MASQUERADE_MARK });

/** KUBE-SVC or KUBE-SVL with the KUBE-SEP chains of its endpoints; undefined when there is none. */
function translation(port: PlannedPort, endpoints: readonly PlannedEndpoint[]): Target | undefined {
  if (endpoints.length === 0) return undefined;
  const backEnds = endpoints.map(
    ({ ip, port: targetPort }): DnatBackEnd =>
      Object.freeze({
        ip,
        port: targetPort,
        key: `${port.name}/${port.protocol}/${formatSocketAddress(ip, targetPort)}`,
      }),
  );
  const { affinitySeconds } = port;
  return {
    kind: "dnat",
    backEnds: Object.freeze(backEnds),
    hairpinMark: MASQUERADE_MARK,
    ...(affinitySeconds === undefined ? {} : { affinitySeconds }),
  };
}

function ruleFor(port: PlannedPort, match: Match, target: Target, what?: string): Rule {
  const name = what === undefined ? port.label : `${port.label} (${what})`;
  return { match, target, name, provenance: port.provenance };
}

export function chainOf(name: string, rules: readonly Rule[]): Chain {
  return Object.freeze({ name, rules: freezeRules(rules) });
}

/** KUBE-EXT: what comes from outside. What comes from the cluster itself is not bound by policy Local. */
function externalChain(port: PlannedPort, used: UsedEndpoints, facts: ProxyFacts): Chain {
  const toCluster = translation(port, used.cluster);
  const rules: Rule[] = [];
  if (!port.isExternalLocal) {
    rules.push(ruleFor(port, {}, MARK));
  } else {
    if (toCluster !== undefined)
      rules.push(ruleFor(port, { source: facts.clusterCidr }, toCluster, "from a pod"));
    rules.push(ruleFor(port, { isFromLocal: true }, MARK));
    if (toCluster !== undefined) rules.push(ruleFor(port, { isFromLocal: true }, toCluster, "from the node"));
  }
  const outside = port.isExternalLocal ? translation(port, used.local) : toCluster;
  if (outside !== undefined)
    rules.push(ruleFor(port, {}, outside, port.isExternalLocal ? "policy Local" : undefined));
  return chainOf("KUBE-EXT", rules);
}

/** KUBE-FW: `loadBalancerSourceRanges`. */
function firewallChain(port: PlannedPort, external: Chain, facts: ProxyFacts): Chain {
  const target: Target = { kind: "jump", chain: external };
  const rules = port.sourceRanges.map((source) => ruleFor(port, { source }, target));
  const { nodeAddress } = facts;
  const isNodeAllowed =
    nodeAddress !== undefined && port.sourceRanges.some((range) => prefixContains(range, nodeAddress));
  // With the address on the node itself a request from the node has it as its source, too.
  if (isNodeAllowed)
    for (const ip of port.ingressIps) rules.push(ruleFor(port, { source: hostPrefix(ip) }, target));
  return chainOf("KUBE-FW", rules);
}

/** Why nobody takes a connection: nobody serves at all, or nobody on this node. */
function refusal(port: PlannedPort, isServed: boolean, policy: "internal" | "external"): Target {
  if (!isServed)
    return { kind: "reject", code: "service-without-endpoints", text: `${port.label} has no endpoints` };
  const code =
    policy === "internal"
      ? "internal-policy-local-without-endpoint"
      : "external-traffic-policy-local-without-local-endpoint";
  return { kind: "drop", code, text: `${port.label} has no endpoints on this node` };
}

function addInternal(draft: Draft, port: PlannedPort, used: UsedEndpoints, facts: ProxyFacts): void {
  const { protocol, clusterIp, port: destinationPort } = port;
  const match = { protocol, destination: hostPrefix(clusterIp), destinationPort };
  const target = translation(port, port.isInternalLocal ? used.local : used.cluster);
  if (target === undefined) {
    const end = refusal(port, used.isServed, "internal");
    draft.add(FILTER_SERVICES, ruleFor(port, { ...match, state: "new" }, end));
    return;
  }
  draft.add(NAT, ruleFor(port, { ...match, notSource: facts.clusterCidr }, MARK));
  draft.add(NAT, ruleFor(port, match, target));
}

function addExternal(draft: Draft, port: PlannedPort, used: UsedEndpoints, facts: ProxyFacts): void {
  const { protocol, port: servicePort } = port;
  const toIp = (ip: Ip): Match => ({ protocol, destination: hostPrefix(ip), destinationPort: servicePort });
  const family = familyOf(port.clusterIp);
  const toNodePort: Match = { protocol, family, isToLocal: true, destinationPort: port.nodePort };
  const matches = [
    ...[...port.externalIps, ...port.ingressIps].map(toIp),
    ...(port.nodePort === 0 ? [] : [toNodePort]),
  ];
  const isTaken = (port.isExternalLocal ? used.local : used.cluster).length > 0;
  if (!isTaken) {
    const end = refusal(port, used.isServed, "external");
    for (const match of matches) draft.add(FILTER_EXTERNAL, ruleFor(port, { ...match, state: "new" }, end));
  }
  if (!used.isServed) return;
  const external = externalChain(port, used, facts);
  const isGuarded = port.ingressIps.length > 0 && port.sourceRanges.length > 0;
  const firewall = isGuarded ? firewallChain(port, external, facts) : external;
  for (const ip of port.externalIps)
    draft.add(NAT, ruleFor(port, toIp(ip), { kind: "jump", chain: external }));
  for (const ip of port.ingressIps) {
    draft.add(NAT, ruleFor(port, toIp(ip), { kind: "jump", chain: firewall }));
    if (!isGuarded) continue;
    const text = `the client is in no source range of ${port.label}`;
    const end: Target = { kind: "drop", code: "load-balancer-source-refused", text };
    draft.add(FILTER_FIREWALL, ruleFor(port, { ...toIp(ip), state: "new" }, end));
  }
  if (port.nodePort !== 0)
    draft.add(NAT, ruleFor(port, toNodePort, { kind: "jump", chain: external }, "NodePort"));
}

/** The rules of all ports of a Service, each with the endpoints that the node uses. Frozen. */
export function compileService(
  ports: readonly { readonly port: PlannedPort; readonly used: UsedEndpoints }[],
  facts: ProxyFacts,
): HookRules {
  const draft = new Draft();
  for (const { port, used } of ports) {
    addInternal(draft, port, used, facts);
    if (isExternallyAccessible(port)) addExternal(draft, port, used, facts);
  }
  return draft.finish();
}

/** What kube-proxy writes once per node: KUBE-POSTROUTING and the rule for invalid packets of KUBE-FORWARD. */
export function proxyNodeRules(nodeName: string): HookRules {
  const provenance = programOn(nodeName, "kube-proxy");
  const text = "the packet belongs to no tracked connection";
  const invalid: Rule = {
    match: { state: "invalid" },
    target: { kind: "drop", code: "connection-invalid", text },
    name: "KUBE-FORWARD",
    provenance,
  };
  return Object.freeze({
    "nat-postrouting": masquerade({ mark: MASQUERADE_MARK }, "KUBE-POSTROUTING", provenance),
    "filter-forward": freezeRules([invalid]),
  });
}
