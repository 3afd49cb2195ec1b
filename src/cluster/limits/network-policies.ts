/** NetworkPolicies of a cluster, which nothing enforces: whose flows they are about, and what their specification says. */
import { listed, plural } from "#core/base/text-layout.ts";
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
import { addToList } from "#core/base/keyed-lists.ts";
import type { Cluster } from "../cluster.ts";
import { ENGINE_TITLES, type Enforcement, isDecidedOn, lacksNetwork } from "../policies/enforcement.ts";
import type { FlowEnd, LimitedFlow } from "../session/flow-limit.ts";
import { type PolicyApi, PolicyLimit, type SelectedPod, type SelectingPolicy } from "./policy-limit.ts";
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
  standing: "stored and not enforced",
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
      return rules.length === 0 ? "allows it" : `allows it, by ${listed(rules)}`;
    }
    case "denied":
      return `denies it: no ${verdict.direction} rule of ${listed(verdict.isolatedBy.map(titleOf))} is about it`;
    case "undefined":
      return UNDEFINED_WHY[verdict.why];
  }
}

/** NetworkPolicies read once, asked about many flows. */
export class PolicyView {
  private readonly byNamespace: ReadonlyMap<string, readonly ReadPolicy[]>;

  constructor(policies: readonly ReadPolicy[]) {
    this.byNamespace = Map.groupBy(policies, ({ namespace }) => namespace);
  }

  /**
   * What the specification says of a flow; undefined where that is not said: a name comes first, the port of those who
   * answer is not known, or it goes by IPv6. Several where back ends differ.
   */
  verdicts(flow: LimitedFlow): readonly PolicyVerdict[] | undefined {
    const { source, target, address, answerers, answererPort, isByName } = flow;
    if (isByName || answererPort === undefined) return undefined;
    // Ends are known by their first address alone.
    if (address !== undefined && familyOf(address) === 6) return undefined;
    const stranger = { pod: undefined, address, node: undefined };
    const isNobodys = answerers.length === 0 && target.kind !== "service";
    const receivers = isNobodys ? [stranger] : answerers.map(asPolicyEnd);
    return receivers.map((receiver) => {
      const ends = { source: asPolicyEnd(source), target: receiver };
      const namespaces = new Set([source.pod, receiver.pod].flatMap((pod) => pod?.namespace ?? []));
      const policies = [...namespaces].flatMap((namespace) => this.byNamespace.get(namespace) ?? []);
      return verdictOf(policies, { ...ends, protocol: PROTOCOLS[flow.protocol], port: answererPort });
    });
  }

  /** The one verdict of a flow; undefined where there is none, or the specification leaves it open. */
  verdict(flow: LimitedFlow): PolicyVerdict | undefined {
    if (isLedOn(flow)) return undefined;
    const [first, ...others] = this.verdicts(flow) ?? [];
    if (first === undefined || first.outcome === "undefined") return undefined;
    return others.every(({ outcome }) => outcome === first.outcome) ? first : undefined;
  }

  /** The same in words. */
  describe(flow: LimitedFlow): string | undefined {
    const verdicts = this.verdicts(flow);
    if (verdicts === undefined) return undefined;
    if (isLedOn(flow)) return WORDS.policyOpenForOtherSource;
    const said = new Set(verdicts.map(describeVerdict));
    const [only] = said;
    return said.size === 1 ? only : undefined;
  }
}

/** "It is not defined whether this happens before or after NetworkPolicy processing": a node or the outside asks a Service. */
function isLedOn({ source, address, answerers }: LimitedFlow): boolean {
  return source.kind !== "pod" && answerers.some((each) => each.address !== address);
}

/** Labels that controllers give each pod of its own. */
const OWN_LABELS: ReadonlySet<string> = new Set([
  "pod-template-hash",
  "controller-revision-hash",
  "statefulset.kubernetes.io/pod-name",
  "apps.kubernetes.io/pod-index",
  "batch.kubernetes.io/job-completion-index",
]);

/** Kinds of pods that are tried against one another; further ones are told apart by their policies' directions alone. */
const KINDS_MAX = 24;

/** Where policies are enforced, pods are alike that have the same labels: whom rules mean hangs on these. */
class PodKinds {
  private readonly kinds = new Map<string, string>();

  of({ pod }: FlowEnd): string {
    if (pod === undefined) return "";
    const labels = Object.entries(pod.labels).filter(([key]) => !OWN_LABELS.has(key));
    const text = [pod.namespace, ...labels.map(([key, value]) => `${key}=${value}`).toSorted()].join(" ");
    const known = this.kinds.get(text);
    if (known !== undefined) return known;
    const kind = this.kinds.size < KINDS_MAX ? `pod ${text}` : "";
    this.kinds.set(text, kind);
    return kind;
  }
}

/** One limit for all NetworkPolicies that there are. */
export function networkPolicyLimits(
  { objects: { NetworkPolicy: stored }, enforcement }: Pick<Cluster, "objects" | "enforcement">,
  placeOf: PlaceOfObject,
): readonly PolicyLimit[] {
  if (stored.length === 0) return [];
  const policies = stored.map(readNetworkPolicy);
  const view = new PolicyView(policies);
  const kinds = enforcement === undefined ? undefined : new PodKinds();
  return [
    new PolicyLimit(
      {
        ...NETWORK_POLICIES,
        ...(enforcement === undefined || enforcement.engine === "none"
          ? {}
          : { code: "network-policy-undecided" as const, standing: WORDS.policiesEnforcedOnWindows }),
        specified: (flow) => view.describe(flow),
        isJudged: (flow, pods) =>
          pods.every((pod) => isDecidedOn(enforcement, pod)) && view.verdict(flow) !== undefined,
        ...(kinds === undefined ? {} : { kindOf: (flowEnd: FlowEnd) => kinds.of(flowEnd) }),
      },
      policies.map((policy) => asSelecting(policy, placeOf)),
    ),
  ];
}

function asSelected({ metadata }: Pod): Pick<SelectedPod, "namespace" | "labels"> {
  const { namespace, labels = {} } = metadata;
  return { namespace, labels };
}

type Candidate = ReturnType<typeof asSelected>;

/** The pods that a policy may select: those of its namespace with the rarest of its labels, so that not each asks each. */
function candidatesAmong(pods: readonly Candidate[]): (policy: ReadPolicy) => readonly Candidate[] {
  const inNamespace = Map.groupBy(pods, ({ namespace }) => namespace);
  const withLabel = new Map<string, Candidate[]>();
  const keyOf = (namespace: string, key: string, value: string): string =>
    JSON.stringify([namespace, key, value]);
  for (const pod of pods)
    for (const [key, value] of Object.entries(pod.labels))
      addToList(withLabel, keyOf(pod.namespace, key, value), pod);
  return ({ namespace, pods: { matchLabels } }) => {
    let found: readonly Candidate[] = inNamespace.get(namespace) ?? [];
    for (const [key, value] of Object.entries(matchLabels ?? {})) {
      const having = withLabel.get(keyOf(namespace, key, value)) ?? [];
      if (having.length < found.length) found = having;
    }
    return found;
  };
}

type PolicyRemark = Pick<FileProblem, "code" | "message" | "advice">;

function notEnforced(policy: ReadPolicy, enforcement: Enforcement | undefined, whose: string): PolicyRemark {
  return {
    code: NETWORK_POLICIES.code,
    message: `${titleOf(policy)} is stored and not enforced${whose}`,
    advice:
      enforcement?.engine === "none"
        ? WORDS.advicePolicyWithoutEngine
        : "Flows that it is about are not judged: mullion explain network-policy-not-enforced.",
  };
}

/** What an engine, or none, makes of a policy here. */
function policyMessage(
  policy: ReadPolicy,
  enforcement: Enforcement | undefined,
  whose: string,
): PolicyRemark | undefined {
  const title = titleOf(policy);
  const nodes = Object.values(enforcement?.nodes ?? {});
  if (enforcement === undefined || enforcement.engine === "none" || nodes.length === 0)
    return notEnforced(policy, enforcement, whose);
  const engine = ENGINE_TITLES[enforcement.engine];
  if (nodes.every(lacksNetwork))
    return {
      code: "policy-engine-without-network",
      message: WORDS.policyEngineWithoutNetwork({ title, engine, whose }),
      advice: "More: mullion explain policy-engine-without-network.",
    };
  const key = `${policy.namespace}/${policy.name}`;
  const [finding] = nodes.flatMap(({ findings }) => findings).filter((each) => each.policy === key);
  if (finding === undefined) return undefined;
  return {
    code: finding.code,
    message: `${title}: ${finding.message}${whose}`,
    advice: `More: mullion explain ${finding.code}.`,
  };
}

/** What is said of a policy where no engine is brought up, and pods are not there yet. */
export function unenforcedPolicyNote(
  policy: NetworkPolicy,
  { file, line, column }: ProblemPlace,
): FileProblem {
  const said = notEnforced(readNetworkPolicy(policy), undefined, "");
  return { file, line, column, path: "", ...said };
}

/** What no single policy is behind: HNS refuses an engine's rules. Once for each sentence. */
function engineNotes({ nodes }: Enforcement): readonly FileProblem[] {
  const found = new Map<string, string[]>();
  for (const [node, { findings }] of Object.entries(nodes))
    for (const { policy, message } of findings) if (policy === undefined) addToList(found, message, node);
  return [...found].map(([message, names]) => ({
    code: "policy-engine-refused",
    file: "",
    line: 0,
    column: 0,
    path: "",
    message: `${message} (${listed(names)})`,
    advice: "More: mullion explain policy-engine-refused.",
  }));
}

/**
 * What is said of each policy when it is taken. One that selects no pod is told of by the control plane; one that is
 * enforced whole needs no word.
 */
export function networkPolicyNotes(
  { objects: { NetworkPolicy, Pod }, enforcement }: Pick<Cluster, "objects" | "enforcement">,
  placeOf: PlaceOfObject,
): readonly FileProblem[] {
  const candidatesOf = candidatesAmong(Pod.map(asSelected));
  const ofPolicies = NetworkPolicy.map(readNetworkPolicy).flatMap((policy) => {
    const count = candidatesOf(policy).filter((pod) => selectsPod(policy, pod)).length;
    if (count === 0) return [];
    const whose = `: it selects ${plural(count, "pod")}, for ${policy.directions.join(" and ")}`;
    const said = policyMessage(policy, enforcement, whose);
    if (said === undefined) return [];
    const { file, line, column } = placeOf(policy.namespace, policy.name);
    return { file, line, column, path: "", ...said };
  });
  return enforcement === undefined ? ofPolicies : [...engineNotes(enforcement), ...ofPolicies];
}
