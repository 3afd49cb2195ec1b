/** The policies of one network: what they have to be together, and what a request makes of them (hcn.md §3.1, §5.3). */
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { ModifyRequestType } from "#contracts/hcn/documents/request.ts";
import { type NetworkPolicy, parseNetworkPolicies } from "#contracts/hcn/documents/network-policy.ts";
import type { NetworkPolicyType } from "#contracts/hcn/documents/policy-type.ts";
import type { PolicyIndexes } from "../network/policy-index.ts";
import type { ServiceContext } from "../service-context.ts";
import { checkPolicyFeatures } from "./features.ts";
import { PolicyMatches } from "./endpoint-policies.ts";

/** Policies of which a network has at most one. Inferred: InterfaceConstraint and AutomaticDNS among them. */
const SINGLE_POLICIES: readonly NetworkPolicyType[] = [
  "SourceMacAddress",
  "NetAdapterName",
  "InterfaceConstraint",
  "ProviderAddress",
  "DrMacAddress",
  "AutomaticDNS",
  "VxlanPort",
  "LayerConstraint",
];

/**
 * Reads the policies of a request and checks them, and those that the network has `present` besides.
 * @throws HcnError with the code of the policy; HCN_E_POLICY_ALREADY_EXISTS.
 */
export function checkNetworkPolicies(
  context: ServiceContext,
  documents: readonly PolicyDocument[],
  present: readonly NetworkPolicy[] = [],
): readonly NetworkPolicy[] {
  const policies = parseNetworkPolicies(documents);
  const seen = new Set<string>(context.policies.settingsOf(present).map(({ policy }) => policy.Type));
  for (const [index, policy] of policies.entries()) {
    checkPolicyFeatures(context, policy, `Policies[${index}]`);
    if (SINGLE_POLICIES.includes(policy.Type) && seen.has(policy.Type)) {
      throw new HcnError("HCN_E_POLICY_ALREADY_EXISTS", {
        detail: `Policies[${index}] is a second ${policy.Type}; a network has at most one`,
      });
    }
    seen.add(policy.Type);
  }
  return policies;
}

/** For each policy of a request those of the network that it names. */
function matchesOf(
  indexes: PolicyIndexes,
  present: readonly NetworkPolicy[],
  given: readonly NetworkPolicy[],
): readonly (readonly NetworkPolicy[])[] {
  const settings = new PolicyMatches(indexes.settingsOf(present).map(({ policy }) => policy));
  return given.map((wanted) =>
    wanted.Type === "RemoteSubnetRoute" ? indexes.sameRoutes(present, wanted) : settings.of(wanted),
  );
}

/** Inferred: a second HostRoute, which says nothing new, is taken for the first. A set is known by its id. */
function isReplacing({ Type }: NetworkPolicy): boolean {
  return Type === "SetPolicy" || Type === "HostRoute";
}

function distinct(lists: readonly (readonly NetworkPolicy[])[]): readonly NetworkPolicy[] {
  return [...new Set(lists.flat())];
}

/**
 * The policies of a network after a request (hcn.md §5.3). Inferred: Add of a set that is there replaces it, as it does in
 * the model that a client is tested with (hcn.md §10 row 85); Update replaces the entries of the types that it names, and
 * of sets those with the same id; the update of a set that is not there changes nothing.
 * @throws HcnError HCN_E_POLICY_NOT_FOUND when a policy to remove is not there (hcn.md §6.1).
 */
export function combineNetworkPolicies(
  indexes: PolicyIndexes,
  present: readonly NetworkPolicy[],
  given: readonly NetworkPolicy[],
  requestType: ModifyRequestType,
): readonly NetworkPolicy[] {
  if (requestType === "Add") {
    const replaced = matchesOf(indexes, present, given.filter(isReplacing));
    return indexes.changedPolicies(present, distinct(replaced), given);
  }
  const matches = matchesOf(indexes, present, given);
  if (requestType === "Remove") {
    const missing = matches.findIndex((found) => found.length === 0);
    if (missing < 0) return indexes.changedPolicies(present, distinct(matches), []);
    throw new HcnError("HCN_E_POLICY_NOT_FOUND", {
      detail: `The network has no ${given[missing]?.Type ?? "policy"} like Policies[${missing}]`,
    });
  }
  const types = new Set<string>(given.map((policy) => policy.Type));
  types.delete("SetPolicy");
  const sets = matches.filter((_, index) => given[index]?.Type === "SetPolicy");
  const replaced = distinct([present.filter((policy) => types.has(policy.Type)), ...sets]);
  const entering = given.filter(
    (policy, index) => policy.Type !== "SetPolicy" || (matches[index]?.length ?? 0) > 0,
  );
  return indexes.changedPolicies(present, replaced, entering);
}
