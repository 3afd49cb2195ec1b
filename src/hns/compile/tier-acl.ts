/**
 * TierAcl policies → groups of ACL_ENDPOINT_LAYER, one per tier, direction and family (hcn.md §3.3; dataplane.md §4.1).
 *
 * Tiers are asked in ascending Order. In each the strongest rule decides: Allow and Block end the matter, Pass leaves it
 * to the next tier. Inferred: so does a tier without a matching rule, and the endpoint's plain ACLs with their built-in
 * pair come behind the last tier.
 */
import type { AclAction, TierAclPolicySetting, TierAclRule } from "#contracts/hcn/documents/acl-policy.ts";
import type { Provenance } from "#core/base/recorder.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { Action, VfpDirection, Rule } from "#dataplane/vfp/rule.ts";
import type { EndpointRecord } from "../service/endpoint/endpoint-record.ts";
import { ACL_SIDES, compareAclRules, compileAclCondition } from "./acl.ts";
import type { AddressSets } from "./address-sets.ts";
import { endpointProvenance, withPolicy } from "./provenance.ts";

/** Before the groups of plain ACLs, which have 1. */
const TIER_GROUP_PRIORITY = 0;
const INFERRED = "dataplane.md §4.1";

interface Tier {
  readonly setting: TierAclPolicySetting;
  readonly provenance: Provenance;
}

function tiersOf(endpoint: EndpointRecord): readonly Tier[] {
  const tiers: Tier[] = [];
  for (const [index, policy] of endpoint.policies.entries()) {
    if (policy.Type !== "TierAcl") continue;
    const provenance = withPolicy(endpointProvenance(endpoint), policy.Type, index);
    tiers.push({ setting: policy.Settings, provenance });
  }
  return tiers.sort((a, b) => (a.setting.Order ?? 0) - (b.setting.Order ?? 0));
}

/** What a rule does. A rule that passes changes nothing and ends nothing. */
const ACTIONS: Readonly<Record<AclAction, Action>> = {
  Allow: { type: "allow" },
  Block: { type: "block", code: "acl-rule-blocked" },
  Pass: { type: "allow" },
};

function compileRule(tier: Tier, rule: TierAclRule, index: number, condition: Rule["condition"]): Rule {
  const name = rule.Id ?? `TIERACL_${tier.setting.Name ?? ""}_${index}`;
  const isFinal = rule.TierAclRuleAction !== "Pass";
  return Object.freeze<Rule>({
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
): Group | undefined {
  const { setting } = tier;
  if ((setting.Direction === "Out" ? "out" : "in") !== direction) return undefined;
  const rules = (setting.TierAclRules ?? []).flatMap((rule, index) => {
    const condition = compileAclCondition(rule, direction, family, sets);
    return condition === undefined ? [] : [compileRule(tier, rule, index, condition)];
  });
  if (rules.length === 0) return undefined;
  return createGroup({
    name: `TIER_ACL_${setting.Name ?? ""}_IPV${family}_${direction === "out" ? "OUT" : "IN"}`,
    direction,
    family,
    priority: TIER_GROUP_PRIORITY,
    match: "priority",
    rules: rules.sort(compareAclRules),
  });
}

/** The groups of an endpoint's tiers, in the order in which they are asked; none without tiers. */
export function compileTierAcls(endpoint: EndpointRecord, sets: AddressSets): readonly Group[] {
  const tiers = tiersOf(endpoint);
  return ACL_SIDES.flatMap(([direction, family]) =>
    tiers.map((tier) => compileTier(tier, direction, family, sets)).filter((group) => group !== undefined),
  );
}
