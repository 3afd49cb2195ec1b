/** NetworkPolicies of a cluster, which nothing enforces: whose flows they are about, and what their specification says. */
import { plural } from "#core/base/text-layout.ts";
import {
  type PolicyEnd,
  type PolicyVerdict,
  type ReadPolicy,
  openDirections,
  readNetworkPolicy,
  selectsPod,
  verdictOf,
} from "#contracts/kubernetes/network-policy.ts";
import type { NetworkPolicy, Pod } from "#contracts/kubernetes/objects.ts";
import type { FileProblem, ProblemPlace } from "#core/catalogue/file-problem.ts";
import { familyOf } from "#core/net/ip.ts";
import type { ClusterObjects } from "../cluster-objects.ts";
import type { FlowEnd, LimitedFlow } from "../session/flow-limit.ts";
import {
  type PolicyApi,
  PolicyLimit,
  type SelectedPod,
  type SelectingPolicy,
  listTitles,
} from "./policy-limit.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

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

interface Named {
  readonly namespace: string;
  readonly name: string;
}

function titleOf({ namespace, name }: Named): string {
  return `NetworkPolicy ${namespace}/${name}`;
}

function asSelecting(policy: ReadPolicy, placeOf: PlaceOfObject): SelectingPolicy {
  return {
    title: titleOf(policy),
    where: placeOf(policy.namespace, policy.name),
    directions: policy.directions,
    open: openDirections(policy),
    selects: (pod) => selectsPod(policy, pod),
  };
}

const PROTOCOLS = Object.freeze({ tcp: "TCP", udp: "UDP", icmp: "ICMP" });

function asPolicyEnd({ pod, address, node }: FlowEnd): PolicyEnd {
  return { pod, address, node };
}

const UNDEFINED_WHY: Readonly<Record<"protocol" | "host-network", string>> = Object.freeze({
  protocol: "leaves ICMP to whoever enforces it",
  "host-network": WORDS.policyOpenForHostNetwork,
});

function describeVerdict(verdict: PolicyVerdict): string {
  switch (verdict.outcome) {
    case "allowed": {
      const rules = verdict.rules.map(
        ({ policy, direction, index }) => `spec.${direction}[${index}] of ${titleOf(policy)}`,
      );
      return rules.length === 0 ? "allows it" : `allows it, by ${listTitles(rules)}`;
    }
    case "denied":
      return `denies it: no ${verdict.direction} rule of ${listTitles(verdict.isolatedBy.map(titleOf))} is about it`;
    case "undefined":
      return UNDEFINED_WHY[verdict.why];
  }
}

/**
 * What the specification says of a flow; undefined where that is not said: back ends differ, a name comes first, or it goes
 * by IPv6.
 */
function specified(
  byNamespace: ReadonlyMap<string, readonly ReadPolicy[]>,
  flow: LimitedFlow,
): string | undefined {
  const { source, target, address, answerers, answererPort, isByName } = flow;
  if (isByName || answererPort === undefined) return undefined;
  // Ends are known by their first address alone.
  if (address !== undefined && familyOf(address) === 6) return undefined;
  // "It is not defined whether this happens before or after NetworkPolicy processing".
  const isLedOn = answerers.some((each) => each.address !== address);
  if (isLedOn && source.kind !== "pod") return WORDS.policyOpenForOtherSource;
  const stranger = { pod: undefined, address, node: undefined };
  const isNobodys = answerers.length === 0 && target.kind !== "service";
  const receivers = isNobodys ? [stranger] : answerers.map(asPolicyEnd);
  const said = new Set(
    receivers.map((receiver) => {
      const ends = { source: asPolicyEnd(source), target: receiver };
      const namespaces = new Set([source.pod, receiver.pod].flatMap((pod) => pod?.namespace ?? []));
      const policies = [...namespaces].flatMap((namespace) => byNamespace.get(namespace) ?? []);
      return describeVerdict(
        verdictOf(policies, { ...ends, protocol: PROTOCOLS[flow.protocol], port: answererPort }),
      );
    }),
  );
  const [only] = said;
  return said.size === 1 ? only : undefined;
}

/** One limit for all NetworkPolicies that there are. */
export function networkPolicyLimits(
  { NetworkPolicy: stored }: ClusterObjects,
  placeOf: PlaceOfObject,
): readonly PolicyLimit[] {
  if (stored.length === 0) return [];
  const policies = stored.map(readNetworkPolicy);
  const byNamespace = Map.groupBy(policies, ({ namespace }) => namespace);
  return [
    new PolicyLimit(
      { ...NETWORK_POLICIES, specified: (flow) => specified(byNamespace, flow) },
      policies.map((policy) => asSelecting(policy, placeOf)),
    ),
  ];
}

function asSelected({ metadata }: Pod): Pick<SelectedPod, "namespace" | "labels"> {
  const { namespace, labels = {} } = metadata;
  return { namespace, labels };
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
  return policies.map(readNetworkPolicy).flatMap((policy) => {
    const count = candidates?.filter((pod) => selectsPod(policy, pod)).length;
    if (count === 0) return [];
    const number = plural(count ?? 0, "pod");
    const whose = count === undefined ? "" : `: it selects ${number}, for ${policy.directions.join(" and ")}`;
    const { file, line, column } = placeOf(policy.namespace, policy.name);
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
