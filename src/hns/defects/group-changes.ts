/**
 * Groups that HNS programs wrongly: pure functions of groups. What came of a group is remembered by the group, which is
 * frozen, so ports that share a group share the wrong one, too.
 */
import type { Group } from "../../vfp/group.ts";
import type { Rule } from "../../vfp/rule.ts";
import { HNS_DEFAULT } from "../compile/provenance.ts";

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
export const withoutBlocks: GroupChange = without(({ action }) => action.type === "block");
/** As health checks look for them: `RULE.*53_53_17` (dataplane.md §9, F-19). */
export const withoutNames: GroupChange = without(({ name }) => name.endsWith("_53_53_17"));
/** What HNS programs without anybody's policy. */
export const withoutPolicies: GroupChange = without(({ provenance }) => provenance !== HNS_DEFAULT);
export const emptied: GroupChange = without(() => true);

/** A rule that blocks blocks all there is; groups without one stay. */
export const blockingAll: GroupChange = remembered((group) => {
  const { rules } = group;
  const first = rules.find(({ action }) => action.type === "block");
  if (first === undefined) return group;
  const all: Rule = Object.freeze({ ...first, condition: Object.freeze({}) });
  return group.replaceRules(rules, [all]);
});

/** Of all rules of a layer, the first so many. */
export function limited(groups: readonly Group[], rulesMax: number): readonly Group[] {
  let room = rulesMax;
  return groups.map((group) => {
    const kept = Math.min(room, group.size);
    room -= kept;
    return kept === group.size ? group : group.replaceRules(group.rules.slice(kept), []);
  });
}
