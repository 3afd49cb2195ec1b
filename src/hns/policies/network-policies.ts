/** The policies of one network: what they have to be together, and what a request makes of them (hcn.md §3.1, §5.3). */
import type { PolicyDocument } from "../../hcn/base-document.ts";
import { HcnError } from "../../hcn/error.ts";
import type { ModifyRequestType } from "../../hcn/modify.ts";
import { type NetworkPolicy, parseNetworkPolicies } from "../../hcn/network-policy.ts";
import type { NetworkPolicyType } from "../../hcn/policy-type.ts";
import type { ServiceContext } from "../service-context.ts";
import { checkPolicyFeatures } from "./features.ts";
import { isSamePolicy } from "./match.ts";

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
  const seen = new Set<string>(present.map((policy) => policy.Type));
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

/** Inferred: a second HostRoute, which says nothing new, is taken for the first. A set is known by its id. */
function isReplacedBy(present: NetworkPolicy, given: readonly NetworkPolicy[]): boolean {
  if (present.Type !== "SetPolicy" && present.Type !== "HostRoute") return false;
  return given.some((policy) => isSamePolicy(policy, present));
}

/**
 * The policies of a network after a request (hcn.md §5.3). Inferred: Add of a set that is there replaces it, as it does in
 * the model that a client is tested with (hcn.md §10 row 85); Update replaces the entries of the types that it names, and
 * of sets those with the same id; the update of a set that is not there changes nothing.
 * @throws HcnError HCN_E_POLICY_NOT_FOUND when a policy to remove is not there (hcn.md §6.1).
 */
export function combineNetworkPolicies(
  present: readonly NetworkPolicy[],
  given: readonly NetworkPolicy[],
  requestType: ModifyRequestType,
): readonly NetworkPolicy[] {
  const isGiven = (policy: NetworkPolicy): boolean => given.some((other) => isSamePolicy(other, policy));
  if (requestType === "Add") return [...present.filter((policy) => !isReplacedBy(policy, given)), ...given];
  if (requestType === "Remove") {
    const missing = given.findIndex((policy) => !present.some((other) => isSamePolicy(policy, other)));
    if (missing < 0) return present.filter((policy) => !isGiven(policy));
    throw new HcnError("HCN_E_POLICY_NOT_FOUND", {
      detail: `The network has no ${given[missing]?.Type ?? "policy"} like Policies[${missing}]`,
    });
  }
  const types = new Set<string>(given.map((policy) => policy.Type));
  const kept = present.filter((policy) =>
    policy.Type === "SetPolicy" ? !isGiven(policy) : !types.has(policy.Type),
  );
  const entering = given.filter(
    (policy) => policy.Type !== "SetPolicy" || present.some((other) => isSamePolicy(policy, other)),
  );
  return [...kept, ...entering];
}
