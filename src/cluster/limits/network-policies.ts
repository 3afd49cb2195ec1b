/** NetworkPolicies of a cluster: whose flows they are about. Which of them they allow is not asked. */
import { plural } from "#core/base/text-layout.ts";
import { matchesSelector } from "#contracts/kubernetes/labels.ts";
import type { NetworkPolicy, Pod } from "#contracts/kubernetes/objects.ts";
import type { FileProblem, ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { ClusterObjects } from "../cluster-objects.ts";
import {
  type PolicyApi,
  type PolicyDirection,
  PolicyLimit,
  type SelectedPod,
  type SelectingPolicy,
} from "./policy-limit.ts";

/** Where an object stands, in a file or, without one, by its name. */
export type PlaceOfObject = (namespace: string, name: string) => ProblemPlace;

/**
 * https://kubernetes.io/docs/concepts/services-networking/network-policies/: a pod cannot block itself, and traffic from
 * and to the node on which it runs is always allowed.
 */
const NETWORK_POLICIES: PolicyApi = Object.freeze({
  code: "network-policy-not-enforced",
  plural: "NetworkPolicies",
  sparesOwnNode: true,
});

/**
 * What a policy isolates its pods for. The same page: without `policyTypes` always for ingress, and for egress when it
 * has a rule for it.
 */
function directionsOf({ spec }: NetworkPolicy): readonly PolicyDirection[] {
  const types = spec?.policyTypes ?? [];
  if (types.length === 0) return (spec?.egress ?? []).length > 0 ? ["ingress", "egress"] : ["ingress"];
  return (["ingress", "egress"] as const).filter((direction) =>
    types.some((type) => type.toLowerCase() === direction),
  );
}

/** A rule as it is stored; the client's type calls `from` otherwise. */
interface StoredRule {
  readonly from?: readonly unknown[];
  readonly to?: readonly unknown[];
  readonly ports?: readonly unknown[];
}

/**
 * Directions with a rule about everybody on every port. API of NetworkPolicy: a rule without peers is about all, one
 * without ports about every port, and what any policy of a pod allows is allowed.
 */
function openDirections({ spec }: NetworkPolicy): readonly PolicyDirection[] {
  const isOpen = (rules: readonly StoredRule[]): boolean =>
    rules.some(({ from = [], to = [], ports = [] }) => from.length + to.length + ports.length === 0);
  const open: PolicyDirection[] = [];
  if (isOpen(spec?.ingress ?? [])) open.push("ingress");
  if (isOpen(spec?.egress ?? [])) open.push("egress");
  return open;
}

function titleOf({ metadata }: NetworkPolicy): string {
  return `NetworkPolicy ${metadata.namespace}/${metadata.name}`;
}

function selects({ metadata, spec }: NetworkPolicy, { namespace, labels }: SelectedPod): boolean {
  return namespace === metadata.namespace && matchesSelector(spec?.podSelector ?? {}, labels);
}

function readPolicy(policy: NetworkPolicy, placeOf: PlaceOfObject): SelectingPolicy {
  const { namespace, name } = policy.metadata;
  return {
    title: titleOf(policy),
    where: placeOf(namespace, name),
    directions: directionsOf(policy),
    open: openDirections(policy),
    selects: (pod) => selects(policy, pod),
  };
}

/** One limit for all NetworkPolicies that there are. */
export function networkPolicyLimits(
  { NetworkPolicy: policies }: ClusterObjects,
  placeOf: PlaceOfObject,
): readonly PolicyLimit[] {
  if (policies.length === 0) return [];
  return [
    new PolicyLimit(
      NETWORK_POLICIES,
      policies.map((policy) => readPolicy(policy, placeOf)),
    ),
  ];
}

function asSelected({ metadata }: Pod): SelectedPod {
  const { namespace, name, labels = {} } = metadata;
  return { namespace, name, labels };
}

/**
 * What is said of each policy when it is taken; `pods` are those of the cluster, undefined while there is none. One that
 * selects no pod is told of by the control plane.
 */
export function networkPolicyNotes(
  policies: readonly NetworkPolicy[],
  pods: readonly Pod[] | undefined,
  placeOf: PlaceOfObject,
): readonly FileProblem[] {
  const candidates = pods?.map(asSelected);
  return policies.flatMap((policy) => {
    const count = candidates?.filter((pod) => selects(policy, pod)).length;
    if (count === 0) return [];
    const number = plural(count ?? 0, "pod");
    const whose =
      count === undefined ? "" : `: it selects ${number}, for ${directionsOf(policy).join(" and ")}`;
    const { file, line, column } = placeOf(policy.metadata.namespace, policy.metadata.name);
    return {
      code: NETWORK_POLICIES.code,
      file,
      line,
      column,
      path: "",
      message: `${titleOf(policy)} is stored and not enforced${whose}`,
      advice: "Flows that it is about are not judged: mullion explain network-policy-not-enforced.",
    };
  });
}
