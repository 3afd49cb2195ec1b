/**
 * Rules between the address sets of a network (hcn.md §10 row 85, which models the service for a client's tests): a
 * nested set has existing members, a set in use stays, an unknown set cannot be removed. Inferred: the codes, and that
 * an ACL uses the sets that it names, as a nested set does.
 */
import { splitList } from "#contracts/hcn/documents/address-list.ts";
import type { AclPolicySetting, AclTuple, SetPolicySetting } from "#contracts/hcn/documents/acl-policy.ts";
import type { EndpointPolicy } from "#contracts/hcn/documents/endpoint-policy.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { ModifyRequestType } from "#contracts/hcn/documents/request.ts";
import type { NetworkPolicy } from "#contracts/hcn/documents/network-policy.ts";
import { setsOf } from "../../compile/acl.ts";
import type { NetworkRecord } from "../records.ts";
import type { ServiceContext } from "../service-context.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

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
        detail: WORDS.nestedSetUnknown({ set: set.Id, missing }),
      });
    }
    known.add(set.Id);
  }
}

/** For each name the first of those that say it. */
function firstByName<T>(
  users: readonly T[],
  namesOf: (user: T) => readonly string[],
): ReadonlyMap<string, T> {
  const pairs = users.flatMap((user) => namesOf(user).map((name): [string, T] => [name, user]));
  return new Map(pairs.toReversed());
}

function checkRemovable(
  given: readonly SetPolicySetting[],
  present: readonly SetPolicySetting[],
  users: readonly Naming[],
): void {
  const leaving = new Set(given.map((set) => set.Id));
  const known = new Set(present.map((set) => set.Id));
  const staying = present.filter((set) => !leaving.has(set.Id));
  const [setOfMember, aclOfSet] = [firstByName(staying, membersOf), firstByName(users, setsOf)];
  for (const id of leaving) {
    if (!known.has(id))
      throw new HcnError("HCN_E_POLICY_NOT_FOUND", { detail: `There is no set ${id} on the network` });
    const user = setOfMember.get(id);
    if (user !== undefined) throw inUse(`The set ${user.Id} has the member ${id}; remove that one first`);
    const acl = aclOfSet.get(id);
    if (acl !== undefined)
      throw inUse(`An ACL names the set ${id}${acl.Id === undefined ? "" : ` (${acl.Id})`}; remove it first`);
  }
}

function inUse(detail: string): HcnError {
  return new HcnError("HCN_E_ENTITY_HAS_REFERENCES", { detail });
}

function networkAclsIn(policies: readonly NetworkPolicy[]): readonly AclPolicySetting[] {
  return policies.flatMap((policy) => (policy.Type === "NetworkACL" ? [policy.Settings] : []));
}

/** A rule that may name sets. */
type Naming = AclTuple & { readonly Id?: string };

/** The rules of an ACL or a TierAcl. */
export function tuplesOf(policy: EndpointPolicy): readonly Naming[] {
  if (policy.Type === "ACL") return [policy.Settings];
  return policy.Type === "TierAcl" ? (policy.Settings.TierAclRules ?? []) : [];
}

/** The ACLs that may name sets of a network: its own, and those of its endpoints. */
export function aclsOf(context: ServiceContext, network: NetworkRecord): readonly Naming[] {
  const endpoints = [...context.state.membersOf(network.id).local.values()];
  const own = endpoints.flatMap((endpoint) => endpoint.policies.flatMap(tuplesOf));
  return [...own, ...networkAclsIn(network.policies)];
}

/** A NetworkACL names sets that are there, as an ACL does. */
function checkNamed(policies: readonly NetworkPolicy[], present: readonly SetPolicySetting[]): void {
  const known = new Set(present.map((set) => set.Id));
  for (const id of networkAclsIn(policies).flatMap(setsOf)) {
    if (known.has(id)) continue;
    throw new HcnError("HCN_E_POLICY_NOT_FOUND", {
      detail: WORDS.networkAclSetUnknown({ id: JSON.stringify(id) }),
    });
  }
}

/** Checks the sets of a request against those that the network has; `users` are the ACLs that may name them. */
export function checkSetPolicies(
  { policies }: ServiceContext,
  present: readonly NetworkPolicy[],
  given: readonly NetworkPolicy[],
  requestType: ModifyRequestType,
  users: () => readonly Naming[] = () => [],
): void {
  const isAboutSets = given.some(({ Type }) => Type === "SetPolicy" || Type === "NetworkACL");
  if (!isAboutSets) return;
  const known = setsIn(policies.settingsOf(present).map(({ policy }) => policy));
  const sets = setsIn(given);
  if (requestType === "Remove") {
    if (sets.length > 0) checkRemovable(sets, known, users());
    return;
  }
  checkMembers(sets, known);
  checkNamed(given, [...known, ...sets]);
}
