/**
 * Limits that the Kubernetes page "Networking on Windows" states and builds do not have (windows-networking-documentation.md
 * §8), as rules: for a node that runs as an edition of the page has it.
 */
import { type Prefix, formatPrefix, hostPrefix } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import type { NetworkView } from "../../compile/network-view.ts";
import { networkProvenance } from "../../compile/provenance.ts";
import type { HostProgram } from "../../ports/datapath.ts";
import { makeRule, makeGroup } from "../../compile/layers.ts";

const PAGE = "windows-networking-documentation.md §8";
/** Before the routes of a network, which choose by the destination alone. */
const GROUP_PRIORITY = 40;
const RULE_PRIORITY = 100;

/** The rule that drops the echo requests of whom `rule` translates. */
function dropsEcho(rule: Rule): Rule {
  return Object.freeze<Rule>({
    ...rule,
    id: `${rule.id}|icmp`,
    name: `${rule.name}_ICMP`,
    condition: Object.freeze({ ...rule.condition, protocols: [IpProtocol.icmp] }),
    action: Object.freeze({ type: "block", code: "icmp-outbound-not-translated" }),
    isStateful: false,
    missCodes: {},
    inferred: PAGE,
  });
}

/** Lets the echo requests of others in to whom `rule` translates, and with the flow the answers out again. */
function letsAnswers(rule: Rule): Group {
  const allow = Object.freeze<Rule>({
    ...rule,
    id: `${rule.id}|icmp-in`,
    name: `${rule.name}_ICMP_IN`,
    condition: Object.freeze({
      protocols: [IpProtocol.icmp],
      ...(rule.condition.source !== undefined && { destination: rule.condition.source }),
    }),
    action: Object.freeze({ type: "allow" }),
    isStateful: true,
    missCodes: {},
    inferred: PAGE,
  });
  const fields = { direction: "in", family: 4, priority: GROUP_PRIORITY } as const;
  return makeGroup({ name: `${rule.name}_ICMP_IN`, ...fields }, [allow]);
}

/**
 * `outbound-icmp-dropped`: VFP, which does not translate ICMP, does not let it out either, whoever knows the way back.
 * Inferred: it concerns what OutBoundNAT would translate of TCP, for the page lets pings within the same network pass; what
 * came in gets its answer.
 * @returns the group with the rules that drop, and one that lets answers pass; nothing for a group that translates nothing.
 */
export function withoutOutboundEcho(group: Group): readonly [dropping: Group, answering: Group] | undefined {
  const translating = group.rules.filter(
    ({ action, condition }) =>
      action.type === "dynnat" && condition.protocols?.includes(IpProtocol.tcp) === true,
  );
  const [first] = translating;
  if (first === undefined) return undefined;
  return [group.replaceRules([], translating.map(dropsEcho)), letsAnswers(first)];
}

/** Where tunnels to other nodes lead. */
function remotePrefixes(groups: readonly Group[], own: number): readonly Prefix[] {
  return groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ action, condition }) => {
      const isRemote =
        action.type === "routeencap" &&
        action.destinations.some(({ providerAddress }) => providerAddress !== own);
      return isRemote ? (condition.destination ?? []) : [];
    });
}

/**
 * `node-reaches-own-overlay-pods-only`: what the node itself sends to pods of other nodes ends at its own port. Inferred: there,
 * since the page tells only that it is not possible; what pods and load balancers send has other addresses and passes.
 */
export function onlyOwnOverlayPods(view: NetworkView, { ENCAP }: HostProgram["groups"]): readonly Group[] {
  const own = view.overlay?.plan.providerAddress;
  if (own === undefined) return ENCAP;
  const rules = remotePrefixes(ENCAP, own).map((prefix, index) =>
    makeRule({
      id: `NODE_TO_PODS_${formatPrefix(prefix)}|${index}`,
      name: `NODE_TO_PODS_${formatPrefix(prefix)}`,
      priority: RULE_PRIORITY + index,
      condition: { source: [hostPrefix(own)], destination: [prefix] },
      action: { type: "block", code: "flannel-node-to-pod-limited" },
      provenance: networkProvenance(view.network),
      inferred: PAGE,
    }),
  );
  if (rules.length === 0) return ENCAP;
  const fields = { direction: "out", family: 4, priority: GROUP_PRIORITY } as const;
  return [makeGroup({ name: "ENCAP_NODE_REFUSED_IPV4_OUT", ...fields }, rules), ...ENCAP];
}
