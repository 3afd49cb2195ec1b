/**
 * Whom policies of other APIs select, and for which direction: of the Kubernetes network policy API, Calico, Cilium, Antrea
 * and Istio. Where a selector asks for what is not known here, nothing is read.
 */
import { type Fields, isFields, mappingOf } from "#core/base/json.ts";
import { parseCalicoSelector } from "#contracts/kubernetes/calico-selector.ts";
import {
  type LabelSelector,
  type Labels,
  matchesLabels,
  matchesSelector,
} from "#contracts/kubernetes/labels.ts";
import type { PolicyDirection, PolicyPod } from "#contracts/kubernetes/network-policy.ts";
import type { PassedPolicy } from "#control-plane/load/manifests.ts";

/** What such a policy is, as a document has it. */
export type FurtherPolicy = Pick<PassedPolicy, "apiVersion" | "kind" | "namespace" | "specs">;

/** One of the parts that it says it in: most have one. */
interface PolicyPart extends Pick<FurtherPolicy, "kind" | "namespace"> {
  readonly spec: Fields;
}

/** A pod as these policies see it. */
export type SubjectPod = Pick<PolicyPod, "namespace" | "labels" | "namespaceLabels" | "isHostNetwork">;

/** Whom a policy, or a part of it, is about, and for what. */
export interface PolicySubject {
  readonly directions: readonly PolicyDirection[];
  selects(pod: SubjectPod): boolean;
}

const DIRECTIONS: readonly PolicyDirection[] = Object.freeze(["ingress", "egress"]);

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isRequirement(value: unknown): boolean {
  if (!isFields(value) || !isText(value["key"]) || !isText(value["operator"])) return false;
  const values = value["values"] ?? [];
  return Array.isArray(values) && values.every(isText);
}

/** True for what an API server would take: a field of another name would be left out, and more selected than is meant. */
function isLabelSelector(value: unknown): value is LabelSelector {
  if (!isFields(value)) return false;
  const { matchLabels, matchExpressions, ...others } = value;
  const labels = matchLabels ?? {};
  const expressions = matchExpressions ?? [];
  return (
    Object.keys(others).length === 0 &&
    isFields(labels) &&
    Object.values(labels).every(isText) &&
    Array.isArray(expressions) &&
    expressions.every(isRequirement)
  );
}

function directionsWithRules(spec: Fields): readonly PolicyDirection[] {
  return DIRECTIONS.filter((direction) => {
    const rules = spec[direction];
    return Array.isArray(rules) && rules.length > 0;
  });
}

/**
 * `AdminNetworkPolicy`, `BaselineAdminNetworkPolicy`, `ClusterNetworkPolicy`: pods of namespaces, or some of them; never those
 * that share their node's network (https://network-policy-api.sigs.k8s.io/reference/spec/). Without a rule for a direction they
 * say nothing of it.
 */
function subjectOfAdminPolicy({ spec }: PolicyPart): PolicySubject | undefined {
  const subject = mappingOf(spec["subject"]);
  const [name, ...others] = Object.keys(subject);
  const pods = subject["pods"];
  const [namespaces, own]: readonly unknown[] =
    name === "pods" && isFields(pods)
      ? [pods["namespaceSelector"], pods["podSelector"]]
      : [subject["namespaces"], {}];
  if (others.length > 0 || !isLabelSelector(namespaces) || !isLabelSelector(own)) return undefined;
  return {
    directions: directionsWithRules(spec),
    selects: (pod) => matchesSelector(namespaces, pod.namespaceLabels) && matchesSelector(own, pod.labels),
  };
}

/** Calico: "types" when it is there; else those with rules, and ingress when none has any. */
function directionsOfCalico(spec: Fields): readonly PolicyDirection[] {
  const { types } = spec;
  if (Array.isArray(types) && types.length > 0)
    return DIRECTIONS.filter((direction) =>
      types.some((type) => isText(type) && type.toLowerCase() === direction),
    );
  const found = directionsWithRules(spec);
  return found.length === 0 ? ["ingress"] : found;
}

/** Fields that make a policy one of nodes, and of what they forward. */
const OF_NODES = ["applyOnForward", "preDNAT", "doNotTrack"] as const;

/**
 * Calico's `NetworkPolicy` and `GlobalNetworkPolicy`: pods by their labels and by those that Calico gives them
 * (https://docs.tigera.io/calico/latest/reference/resources/globalnetworkpolicy). Which service accounts pods have is not known
 * here.
 */
function subjectOfCalico({ kind, namespace, spec }: PolicyPart): PolicySubject | undefined {
  const isKnown = kind === "NetworkPolicy" || kind === "GlobalNetworkPolicy";
  if (!isKnown || (spec["serviceAccountSelector"] ?? "") !== "") return undefined;
  if (OF_NODES.some((name) => spec[name] === true)) return undefined;
  const [own, ofNamespaces] = [spec["selector"] ?? "", spec["namespaceSelector"] ?? ""];
  const pods = isText(own) ? parseCalicoSelector(own) : undefined;
  const namespaces = isText(ofNamespaces) ? parseCalicoSelector(ofNamespaces) : undefined;
  if (pods === undefined || namespaces === undefined) return undefined;
  return {
    directions: directionsOfCalico(spec),
    selects: (pod) =>
      (namespace === "" || pod.namespace === namespace) &&
      pods({
        ...pod.labels,
        "projectcalico.org/namespace": pod.namespace,
        "projectcalico.org/orchestrator": "k8s",
      }) &&
      namespaces({ ...pod.namespaceLabels, "projectcalico.org/name": pod.namespace }),
  };
}

/** What Cilium calls the labels that it gives pods itself. */
const CILIUM_OF_POD = "io.kubernetes.pod.namespace";
const CILIUM_OF_NAMESPACE = "io.cilium.k8s.namespace.labels.";
/** Service accounts and names of clusters: not known here. */
const CILIUM_UNKNOWN: readonly string[] = ["io.cilium.k8s.policy."];
/** Where a label is from; a pod's are `k8s`, and without a source any is meant. */
const CILIUM_SOURCES: readonly string[] = ["k8s:", "any:"];

/** A key without its source; one of another source no pod has, so it stays as it is. */
function ciliumKey(key: string): string {
  const source = CILIUM_SOURCES.find((each) => key.startsWith(each)) ?? "";
  return key.slice(source.length);
}

function ciliumSelector({ matchLabels, matchExpressions }: LabelSelector): LabelSelector | undefined {
  const labels = Object.entries(matchLabels ?? {}).map(([key, value]) => [ciliumKey(key), value] as const);
  const expressions = (matchExpressions ?? []).map((each) => ({ ...each, key: ciliumKey(each.key) }));
  const keys = [...labels.map(([key]) => key), ...expressions.map(({ key }) => key)];
  if (keys.some((key) => CILIUM_UNKNOWN.some((start) => key.startsWith(start)))) return undefined;
  return { matchLabels: Object.fromEntries(labels), matchExpressions: expressions };
}

function ciliumLabels({ namespace, labels, namespaceLabels }: SubjectPod): Labels {
  const ofNamespace = Object.entries(namespaceLabels).map(([key, value]) => [
    `${CILIUM_OF_NAMESPACE}${key}`,
    value,
  ]);
  return { ...labels, ...(Object.fromEntries(ofNamespace) as Labels), [CILIUM_OF_POD]: namespace };
}

/** Cilium: those with rules, of either kind, and those for which it asks to let nothing else through. */
function directionsOfCilium(spec: Fields): readonly PolicyDirection[] {
  const closed = mappingOf(spec["enableDefaultDeny"]);
  return DIRECTIONS.filter(
    (direction) =>
      closed[direction] === true ||
      [spec[direction], spec[`${direction}Deny`]].some((rules) => Array.isArray(rules) && rules.length > 0),
  );
}

/**
 * Cilium's `CiliumNetworkPolicy`, which keeps to its namespace whatever it asks for, and `CiliumClusterwideNetworkPolicy`
 * (https://docs.cilium.io/en/stable/network/kubernetes/policy/, cilium/cilium: pkg/k8s/apis/cilium.io/utils/utils.go,
 * pkg/policy/api/rule_validation.go). Policies of nodes are not read.
 */
function subjectOfCilium({ namespace, spec }: PolicyPart): PolicySubject | undefined {
  const written = spec["endpointSelector"];
  if (spec["nodeSelector"] !== undefined || !isLabelSelector(written)) return undefined;
  const selector = ciliumSelector(written);
  if (selector === undefined) return undefined;
  // What it asks for of namespaces is written over by its own.
  const { [CILIUM_OF_POD]: _, ...ownLabels } = selector.matchLabels ?? {};
  const own = namespace === "" ? selector : { ...selector, matchLabels: ownLabels };
  return {
    directions: directionsOfCilium(spec),
    selects: (pod) =>
      (namespace === "" || pod.namespace === namespace) && matchesSelector(own, ciliumLabels(pod)),
  };
}

type Selects = PolicySubject["selects"];

/** An item of Antrea's `appliedTo`: pods, or what is not read (groups, nodes, Services, service accounts). */
function readAppliedTo(item: unknown, namespace: string): Selects | undefined {
  if (!isFields(item)) return undefined;
  const { podSelector, namespaceSelector, ...others } = item;
  const own = podSelector ?? {};
  const namespaces = namespaceSelector ?? {};
  if (podSelector === undefined && namespaceSelector === undefined) return undefined;
  if (Object.keys(others).length > 0 || !isLabelSelector(own) || !isLabelSelector(namespaces))
    return undefined;
  return (pod) =>
    (namespace === "" || pod.namespace === namespace) &&
    matchesSelector(own, pod.labels) &&
    matchesSelector(namespaces, pod.namespaceLabels);
}

/** Any of the items; undefined where there is none, or one is not read. */
function readAllAppliedTo(items: unknown, namespace: string): Selects | undefined {
  if (!Array.isArray(items) || items.length === 0) return undefined;
  const found = items.map((item) => readAppliedTo(item, namespace));
  const read = found.filter((each) => each !== undefined);
  return read.length < found.length ? undefined : (pod) => read.some((selects) => selects(pod));
}

/**
 * Antrea's `ClusterNetworkPolicy` and `NetworkPolicy`: whom `appliedTo` names, of the policy or of each rule
 * (https://antrea.io/docs/main/docs/antrea-network-policy/).
 */
function subjectOfAntrea({ kind, namespace, spec }: PolicyPart): PolicySubject | undefined {
  if (kind !== "ClusterNetworkPolicy" && kind !== "NetworkPolicy") return undefined;
  const ofPolicy = spec["appliedTo"];
  const directions = directionsWithRules(spec);
  const rules = directions.flatMap((direction) => spec[direction] as readonly unknown[]);
  const places = ofPolicy === undefined ? rules.map((rule) => mappingOf(rule)["appliedTo"]) : [ofPolicy];
  const found = places.map((items) => readAllAppliedTo(items, namespace));
  const read = found.filter((each) => each !== undefined);
  if (read.length < found.length) return undefined;
  return { directions, selects: (pod) => read.some((selects) => selects(pod)) };
}

/** Where Istio's policies are about every namespace (`rootNamespace` of its configuration). */
const ISTIO_ROOT = "istio-system";
const ISTIO_FIELDS_OF_OTHERS = ["targetRef", "targetRefs"] as const;

/**
 * Istio's `AuthorizationPolicy` and `PeerAuthentication`: workloads of the namespace, of the root namespace those of all, and
 * what comes in to them alone (https://istio.io/latest/docs/reference/config/security/authorization-policy/,
 * …/peer_authentication/). One that names a gateway or a Service is not read, and which pods have a proxy is not known here.
 */
function subjectOfIstio({ kind, namespace, spec }: PolicyPart): PolicySubject | undefined {
  const { selector } = spec;
  if (ISTIO_FIELDS_OF_OTHERS.some((name) => spec[name] !== undefined)) return undefined;
  if (selector !== undefined && (!isLabelSelector(selector) || selector.matchExpressions !== undefined))
    return undefined;
  const wanted = selector?.matchLabels ?? {};
  const isRoot = namespace === ISTIO_ROOT;
  // Those of the whole mesh name no workloads.
  const isIgnored = isRoot && kind === "PeerAuthentication" && Object.keys(wanted).length > 0;
  return {
    directions: isIgnored || spec["action"] === "AUDIT" ? [] : ["ingress"],
    selects: (pod) => (isRoot || pod.namespace === namespace) && matchesLabels(wanted, pod.labels),
  };
}

type ReadSubject = (part: PolicyPart) => PolicySubject | undefined;

/** By group. */
const SUBJECTS: Readonly<Record<string, ReadSubject>> = Object.freeze({
  "policy.networking.k8s.io": subjectOfAdminPolicy,
  "projectcalico.org": subjectOfCalico,
  "crd.projectcalico.org": subjectOfCalico,
  "cilium.io": subjectOfCilium,
  "crd.antrea.io": subjectOfAntrea,
  "security.antrea.tanzu.vmware.com": subjectOfAntrea,
  "security.istio.io": subjectOfIstio,
});

/** Whom a policy is about, part by part; undefined where that is not read. */
export function subjectsOfFurtherPolicy({
  apiVersion,
  specs,
  ...policy
}: FurtherPolicy): readonly PolicySubject[] | undefined {
  const [group = ""] = apiVersion.split("/");
  const readSubject = Object.hasOwn(SUBJECTS, group) ? SUBJECTS[group] : undefined;
  const found = specs.map((spec) => readSubject?.({ ...policy, spec }));
  const read = found.filter((each) => each !== undefined);
  if (read.length < found.length) return undefined;
  return read.map((subject) => ({
    ...subject,
    selects: (pod: SubjectPod) => !pod.isHostNetwork && subject.selects(pod),
  }));
}
