/**
 * Rules between the address sets of a network (hcn.md §10 row 85, which models the service for a client's tests): a
 * nested set has existing members, a set in use stays, an unknown set cannot be removed. Inferred: the codes.
 */
import { splitList } from "../hcn/address-list.ts";
import type { SetPolicySetting } from "../hcn/acl-policy.ts";
import { HcnError } from "../hcn/error.ts";
import type { ModifyRequestType } from "../hcn/modify.ts";
import type { NetworkPolicy } from "../hcn/network-policy.ts";

function setsIn(policies: readonly NetworkPolicy[]): readonly SetPolicySetting[] {
  return policies.flatMap((policy) => (policy.Type === "SetPolicy" ? [policy.Settings] : []));
}

function membersOf(set: SetPolicySetting): readonly string[] {
  return set.PolicyType === "NESTEDIPSET" ? splitList(set.Values ?? "") : [];
}

function checkMembers(given: readonly SetPolicySetting[], present: readonly SetPolicySetting[]): void {
  const known = new Set(present.map((set) => set.Id));
  for (const set of given) {
    const missing = membersOf(set).find((id) => !known.has(id));
    if (missing !== undefined) {
      throw new HcnError("HCN_E_POLICY_NOT_FOUND", {
        detail: `The set ${set.Id} has the member ${missing}, which is no set of the network; add that one first`,
      });
    }
    known.add(set.Id);
  }
}

function checkRemovable(given: readonly SetPolicySetting[], present: readonly SetPolicySetting[]): void {
  const leaving = new Set(given.map((set) => set.Id));
  for (const id of leaving) {
    if (!present.some((set) => set.Id === id))
      throw new HcnError("HCN_E_POLICY_NOT_FOUND", { detail: `There is no set ${id} on the network` });
    const user = present.find((set) => !leaving.has(set.Id) && membersOf(set).includes(id));
    if (user === undefined) continue;
    throw new HcnError("HCN_E_ENTITY_HAS_REFERENCES", {
      detail: `The set ${user.Id} has the member ${id}; remove that one first`,
    });
  }
}

/** Checks the sets of a request against those that the network has. */
export function checkSetPolicies(
  present: readonly NetworkPolicy[],
  given: readonly NetworkPolicy[],
  requestType: ModifyRequestType,
): void {
  const known = setsIn(present);
  if (requestType === "Remove") checkRemovable(setsIn(given), known);
  else checkMembers(setsIn(given), known);
}
