/**
 * ACL policies → rules of ACL_ENDPOINT_LAYER (dataplane.md §4).
 *
 * A group per direction and family, its rules terminating and stateful, the lowest priority number first. "Local" is
 * the endpoint and "remote" its peer, in both directions; in a rule that names address sets they are the source and the
 * destination (dataplane.md §4.1).
 */
import {
  type AclPolicySetting,
  type AclTuple,
  type AclAction,
  type TierAclPolicySetting,
  type TierAclRule,
  type SetPolicySetting,
  parseAclAddresses,
  parseAclProtocols,
} from "#contracts/hcn/documents/acl-policy.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type PortRange, parsePortRanges } from "#core/net/port-range.ts";
import { type Prefix, maskIp, prefixFamily } from "#core/net/ip.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpDirection, Rule, Action } from "#dataplane/vfp/rule.ts";
import type { EndpointRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import { HNS_DEFAULT, policiesOf, type PlacedSetting, networkPoliciesOf } from "./provenance.ts";
import { makeRule, makeGroup, groupOf } from "./layers.ts";
import { prefixesIn, splitList } from "#contracts/hcn/documents/address-list.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import type { CompileCache } from "./compile-cache.ts";

// Address sets of a network (`SetPolicy`) as prefixes, for the ACLs that name them (hcn.md §3.1, §3.5).

/**
 * The sets of a network. Rules that name the same sets get the same list, so that the engine searches one set for all of
 * them (`condition-matcher.ts`). Plain data.
 */
export class AddressSets {
  private readonly members: ReadonlyMap<string, readonly Prefix[]>;
  private readonly asked = new Map<string, readonly Prefix[]>();

  constructor(members: ReadonlyMap<string, readonly Prefix[]>) {
    this.members = members;
  }

  /** Prefixes by the id of the set. */
  entries(): Iterable<[string, readonly Prefix[]]> {
    return this.members.entries();
  }

  /**
   * The addresses of a family that are in all of the sets. Inferred: a list of sets means all of them at once. NPM
   * translates two selectors that both have to hold to such a list (hcn.md §9.17). A set that is not there has no address.
   */
  inAll(ids: readonly string[], family: 4 | 6): readonly Prefix[] {
    const key = [family, ...ids].join(",");
    const known = this.asked.get(key);
    if (known !== undefined) return known;
    const [first = [], ...others] = ids.map((id) => this.members.get(id) ?? []);
    const shared = others.reduce(intersectPrefixes, first);
    const prefixes = Object.freeze(shared.filter((prefix) => prefixFamily(prefix) === family));
    this.asked.set(key, prefixes);
    return prefixes;
  }
}

/** Of a network without sets. */
export const NO_SETS: AddressSets = new AddressSets(new Map());

/** All sets of a network. A set of sets has the addresses of each of its members; a circle ends where it began. */
export function resolveAddressSets(policies: readonly NetworkPolicy[]): AddressSets {
  const settings = new Map<string, SetPolicySetting>();
  for (const policy of policies)
    if (policy.Type === "SetPolicy") settings.set(policy.Settings.Id, policy.Settings);
  const collect = (id: string, seen: Set<string>): readonly Prefix[] => {
    const set = settings.get(id);
    if (set === undefined || seen.has(id)) return [];
    seen.add(id);
    const values = splitList(set.Values ?? "");
    if (set.PolicyType === "IPSET") return prefixesIn(values);
    return values.flatMap((member) => collect(member, seen));
  };
  return new AddressSets(
    new Map([...settings.keys()].map((id) => [id, Object.freeze(collect(id, new Set()))])),
  );
}

/** The sets of a network, worked out once for each list of its settings. */
export function addressSetsOf(cache: CompileCache, network: NetworkFrame): AddressSets {
  return cache.get(network.id, "address-sets", [network.settings], () =>
    resolveAddressSets(network.settings.map(({ policy }) => policy)),
  );
}

function keyOf(prefix: Prefix, length: number): string {
  return `${prefixFamily(prefix)}|${maskIp(prefix.address, length)}|${length}`;
}

/** The prefixes of `list` that lie in one of `others`. Costs one look-up per prefix and length. */
function coveredBy(list: readonly Prefix[], others: readonly Prefix[]): readonly Prefix[] {
  const known = new Set(others.map((prefix) => keyOf(prefix, prefix.length)));
  const lengths = [...new Set(others.map((prefix) => prefix.length))];
  return list.filter((prefix) =>
    lengths.some((length) => length <= prefix.length && known.has(keyOf(prefix, length))),
  );
}

/** The addresses that both have. */
export function intersectPrefixes(a: readonly Prefix[], b: readonly Prefix[]): readonly Prefix[] {
  const shared = new Map<string, Prefix>();
  for (const prefix of [...coveredBy(a, b), ...coveredBy(b, a)])
    shared.set(keyOf(prefix, prefix.length), prefix);
  return [...shared.values()];
}

/** Printed priority of the ACL groups (dataplane.md §4.2). */
const GROUP_PRIORITY = 1;
/** A bit of all ACL rules that were seen, beside `terminating` and `stateful`: 8195 (dataplane.md §1.5). */
const LISTED_FLAGS = 8_192;
/** Of the built-in allow rules; ACLs with a higher number never take effect (hcn.md §3.5). */
export const DEFAULT_ALLOW_PRIORITY = 65_500;

/** An ACL with the object that it stands in. */
export type AclSource = PlacedSetting<AclPolicySetting>;

/** Which ACLs VFP enforces: Inferred: a rule without RuleType is a Switch rule, as NPM's rules behave (dataplane.md §4.1). */
export function isSwitchAcl(setting: AclPolicySetting): boolean {
  return (setting.RuleType ?? "Switch") === "Switch";
}

/** Ids of address sets that `setting` names. */
export function setsOf(setting: AclTuple): readonly string[] {
  const local = parseAclAddresses(setting.LocalAddresses ?? "");
  const remote = parseAclAddresses(setting.RemoteAddresses ?? "");
  return [...(local?.sets ?? []), ...(remote?.sets ?? [])];
}

/** True when the rule can be put into VFP as it stands. */
function isEnforcedAcl(setting: AclPolicySetting): boolean {
  return (
    isSwitchAcl(setting) && setting.Action !== "Pass" && (setting.Priority ?? 0) <= DEFAULT_ALLOW_PRIORITY
  );
}

/**
 * The ACLs of an endpoint: its own, then those of its network. Inferred: a NetworkACL is merged into every endpoint
 * of the network (dataplane.md §4.4).
 */
export function aclSources(network: NetworkFrame, endpoint: EndpointRecord): readonly AclSource[] {
  return [...policiesOf(endpoint, "ACL"), ...networkPoliciesOf(network, "NetworkACL")];
}

/** The prefixes of an address field that belong to `family`; undefined when the field means any. */
function prefixesOf(
  text: string | undefined,
  family: 4 | 6,
  sets: AddressSets,
): readonly Prefix[] | undefined {
  const parsed = parseAclAddresses(text ?? "");
  if (parsed === undefined || parsed.addresses.length + parsed.sets.length === 0) return undefined;
  const inSets = parsed.sets.length === 0 ? [] : sets.inAll(parsed.sets, family);
  if (parsed.addresses.length === 0) return inSets;
  return Object.freeze([...prefixesIn(parsed.addresses, family), ...inSets]);
}

/** The ranges of a port field; undefined when it means any. */
function portsOf(text: string | undefined): readonly PortRange[] | undefined {
  return text === undefined || text.trim() === "" ? undefined : parsePortRanges(text);
}

/** What the rule asks of a packet; undefined when it cannot hold for the family. */
export function compileAclCondition(
  setting: AclTuple,
  direction: VfpDirection,
  family: 4 | 6,
  sets: AddressSets,
): Condition | undefined {
  const protocols = parseAclProtocols(setting.Protocols ?? "") ?? [];
  const local = prefixesOf(setting.LocalAddresses, family, sets);
  const remote = prefixesOf(setting.RemoteAddresses, family, sets);
  if (local?.length === 0 || remote?.length === 0) return undefined;
  const localPorts = portsOf(setting.LocalPorts);
  const remotePorts = portsOf(setting.RemotePorts);
  const isLocalSource = direction === "out" || setsOf(setting).length > 0;
  const [source, destination] = isLocalSource ? [local, remote] : [remote, local];
  const [sourcePorts, destinationPorts] =
    direction === "out" ? [localPorts, remotePorts] : [remotePorts, localPorts];
  return Object.freeze({
    ...(protocols.length > 0 && { protocols }),
    ...(source !== undefined && { source }),
    ...(destination !== undefined && { destination }),
    ...(sourcePorts !== undefined && { sourcePorts }),
    ...(destinationPorts !== undefined && { destinationPorts }),
  });
}

/** The rule of an ACL; `code` says who blocked. It keeps flows, and ends its layer. `order`: among all ACLs. */
export function compileAclRule(
  source: AclSource,
  order: number,
  condition: Condition,
  code: KnowledgeCode,
  marks: Partial<Rule>,
): Rule {
  const { setting, provenance } = source;
  const name = setting.Id ?? `ACL_${provenance.id}_${order}`;
  return makeRule({
    id: `${order}|${name}`,
    name,
    // Seen on nodes: a GUID, and what Calico gave as the rule's Id for a friendly name (dataplane.md §7.4).
    hasListedGuid: true,
    // Inferred (hcn.md §11.3): a rule without a priority has 0, the strongest.
    priority: setting.Priority ?? 0,
    condition,
    action: setting.Action === "Block" ? { type: "block", code } : { type: "allow" },
    isStateful: true,
    provenance,
    ...marks,
  });
}

/** Inferred (dataplane.md §4.2, Q-10): at equal priority Block comes before Allow, then the order of the list. */
export function compareAclRules(a: Rule, b: Rule): number {
  if (a.priority !== b.priority) return a.priority - b.priority;
  return Number(b.action.type === "block") - Number(a.action.type === "block");
}

function groupName(direction: VfpDirection, family: 4 | 6): string {
  return `ACL_ENDPOINT_GROUP_IPV${family}_${direction === "out" ? "OUT" : "IN"}`;
}

/** What of the rules of plain ACLs `vfpctrl` lists. */
const LISTED: Partial<Rule> = { listedFlags: LISTED_FLAGS };

/** That everything passes where there is no ACL is documented (dataplane.md §4.2). */
export function defaultAllow(
  direction: VfpDirection,
  priority: number = DEFAULT_ALLOW_PRIORITY,
  marks: Partial<Rule> = LISTED,
): Rule {
  return makeRule({
    name: direction === "out" ? "Allow Out" : "Allow In",
    priority,
    condition: {},
    action: { type: "allow" },
    isStateful: true,
    provenance: HNS_DEFAULT,
    ...marks,
  });
}

/** There is a group per direction and family. */
export const ACL_SIDES: readonly (readonly [VfpDirection, 4 | 6])[] = [
  ["out", 4],
  ["in", 4],
  ["out", 6],
  ["in", 6],
];

function compileGroup(
  sources: readonly AclSource[],
  direction: VfpDirection,
  family: 4 | 6,
  sets: AddressSets,
): Group {
  const rules: Rule[] = [];
  let isOpen = true;
  for (const [index, source] of sources.entries()) {
    const wanted = source.setting.Direction === "Out" ? "out" : "in";
    if (wanted !== direction || !isEnforcedAcl(source.setting)) continue;
    isOpen = false;
    const condition = compileAclCondition(source.setting, direction, family, sets);
    if (condition !== undefined)
      rules.push(compileAclRule(source, index, condition, "acl-rule-blocked", LISTED));
  }
  return makeGroup(
    { name: groupName(direction, family), direction, family, priority: GROUP_PRIORITY },
    isOpen ? [defaultAllow(direction)] : rules.sort(compareAclRules),
  );
}

/**
 * Compiles ACLs to the groups of ACL_ENDPOINT_LAYER.
 *
 * A direction without ACLs has the allow rule at 65500; the first ACL takes it away, so that what no ACL allows is dropped
 * (dataplane.md §4.2; https://github.com/microsoft/Windows-Containers/issues/616, hcsshim#1059, Azure/azure-container-networking#2617).
 * Inferred: each direction for itself, since the remedy that Microsoft gives for an ACL on the way out is an ACL on the way out.
 */
export function compileAcls(sources: readonly AclSource[], sets: AddressSets = NO_SETS): readonly Group[] {
  return Object.freeze(
    ACL_SIDES.map(([direction, family]) => compileGroup(sources, direction, family, sets)),
  );
}

// TierAcl policies → groups of ACL_ENDPOINT_LAYER, one per tier, direction and family (hcn.md §3.3; dataplane.md
// §4.1). Tiers are asked in ascending Order. In each the strongest rule decides: Allow and Block end the matter, Pass
// leaves it to the next tier. Inferred: so does a tier without a matching rule, and the endpoint's plain ACLs with
// their built-in pair come behind the last tier.

/** Before the groups of plain ACLs, which have 1. */
const TIER_GROUP_PRIORITY = 0;
const INFERRED = "dataplane.md §4.1";

type Tier = PlacedSetting<TierAclPolicySetting>;

function tiersOf(endpoint: EndpointRecord): readonly Tier[] {
  const tiers = policiesOf(endpoint, "TierAcl");
  return tiers.toSorted((a, b) => (a.setting.Order ?? 0) - (b.setting.Order ?? 0));
}

/** What a rule does. A rule that passes changes nothing and ends nothing. */
const ACTIONS: Readonly<Record<AclAction, Action>> = {
  Allow: { type: "allow" },
  Block: { type: "block", code: "acl-rule-blocked" },
  Pass: { type: "allow" },
};

function compileTierRule(tier: Tier, rule: TierAclRule, index: number, condition: Rule["condition"]): Rule {
  const name = rule.Id ?? `TIERACL_${tier.setting.Name ?? ""}_${index}`;
  const isFinal = rule.TierAclRuleAction !== "Pass";
  return makeRule({
    id: `${index}|${name}`,
    name,
    hasListedGuid: true,
    priority: rule.Priority ?? 0,
    condition,
    action: ACTIONS[rule.TierAclRuleAction],
    isTerminating: isFinal,
    isStateful: isFinal,
    provenance: tier.provenance,
    inferred: INFERRED,
  });
}

function compileTier(
  tier: Tier,
  direction: VfpDirection,
  family: 4 | 6,
  sets: AddressSets,
): readonly Group[] {
  const { setting } = tier;
  if ((setting.Direction === "Out" ? "out" : "in") !== direction) return [];
  const rules = (setting.TierAclRules ?? []).flatMap((rule, index) => {
    const condition = compileAclCondition(rule, direction, family, sets);
    return condition === undefined ? [] : [compileTierRule(tier, rule, index, condition)];
  });
  const name = `TIER_ACL_${setting.Name ?? ""}_IPV${family}_${direction === "out" ? "OUT" : "IN"}`;
  return groupOf({ name, direction, family, priority: TIER_GROUP_PRIORITY }, rules.sort(compareAclRules));
}

/** The groups of an endpoint's tiers, in the order in which they are asked; none without tiers. */
export function compileTierAcls(endpoint: EndpointRecord, sets: AddressSets): readonly Group[] {
  const tiers = tiersOf(endpoint);
  return ACL_SIDES.flatMap(([direction, family]) =>
    tiers.flatMap((tier) => compileTier(tier, direction, family, sets)),
  );
}
