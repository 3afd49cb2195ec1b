/** What the engines of all nodes share: the objects, read and compiled once. */
import type { Namespace, NetworkPolicy, Pod } from "#contracts/kubernetes/objects.ts";
import { type NpmPolicy, compileNpmPolicy } from "./azure-npm/npm-policy.ts";
import { PolicySets, type SetEntry, setTable } from "./azure-npm/set-table.ts";
import { type PolicySet, compilePolicySet } from "./calico/policy-set.ts";
import { PodIndex } from "./objects/pod-index.ts";
import { PolicyIndex } from "./objects/policy-index.ts";

/** The objects that NetworkPolicies are about. */
export interface PolicyInput {
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly policies: readonly NetworkPolicy[];
}

/** Of one engine in a cluster. */
export class PolicyObjects<Compiled extends PolicySet | NpmPolicy> {
  readonly pods: PodIndex;
  readonly policies: PolicyIndex<Compiled>;

  constructor(pods: PodIndex, policies: PolicyIndex<Compiled>) {
    this.pods = pods;
    this.policies = policies;
  }

  update({ pods, namespaces, policies }: PolicyInput): void {
    this.pods.update(pods, namespaces);
    this.policies.update(policies);
  }
}

export function calicoObjects(): PolicyObjects<PolicySet> {
  const pods = new PodIndex();
  return new PolicyObjects(pods, new PolicyIndex(pods, compilePolicySet));
}

/** With the sets, which all nodes have alike. */
export class NpmObjects extends PolicyObjects<NpmPolicy> {
  private readonly ofPolicies: PolicySets;
  private table: ReadonlyMap<string, SetEntry> | undefined;

  private constructor(pods: PodIndex, ofPolicies: PolicySets) {
    super(pods, new PolicyIndex(pods, compileNpmPolicy, ofPolicies));
    this.ofPolicies = ofPolicies;
  }

  static create(): NpmObjects {
    return new NpmObjects(new PodIndex(), new PolicySets());
  }

  override update(input: PolicyInput): void {
    super.update(input);
    this.table = undefined;
  }

  sets(): ReadonlyMap<string, SetEntry> {
    return (this.table ??= setTable(this.pods, this.ofPolicies));
  }
}
