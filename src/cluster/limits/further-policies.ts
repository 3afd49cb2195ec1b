/**
 * Policies of other APIs (AdminNetworkPolicy, Calico, Cilium, Antrea …), which nothing enforces here: whose flows they are
 * about. Of the Kubernetes network policy API and of Calico it is read whom they select; of others, and where a selector asks
 * for what is not known, one of a namespace may be about every pod in it, one without a namespace about every flow.
 */
import type { PassedPolicy } from "#control-plane/load/manifests.ts";
import { parseCalicoSelector } from "#contracts/kubernetes/calico-selector.ts";
import { type LabelSelector, matchesSelector } from "#contracts/kubernetes/labels.ts";
import type { PolicyDirection, PolicyPod } from "#contracts/kubernetes/network-policy.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { FlowEnd, FlowLimit, LimitReason, LimitedFlow } from "../session/flow-limit.ts";
import { type PolicyApi, PolicyLimit, type SelectingPolicy, listTitles } from "./policy-limit.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const CODE = "policy-kind-not-enforced";

/** What such a policy is, as a document has it. */
export type FurtherPolicy = Pick<PassedPolicy, "apiVersion" | "kind" | "namespace" | "name" | "spec">;

/** A pod as these policies see it. */
export type SubjectPod = Pick<PolicyPod, "namespace" | "labels" | "namespaceLabels" | "isHostNetwork">;

/** Whom a policy is about, and for what. */
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
function subjectOfAdminPolicy({ spec }: FurtherPolicy): PolicySubject | undefined {
  const subject = isFields(spec["subject"]) ? spec["subject"] : {};
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
function subjectOfCalico({ kind, namespace, spec }: FurtherPolicy): PolicySubject | undefined {
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

type ReadSubject = (policy: FurtherPolicy) => PolicySubject | undefined;

/** By group. */
const SUBJECTS: Readonly<Record<string, ReadSubject>> = Object.freeze({
  "policy.networking.k8s.io": subjectOfAdminPolicy,
  "projectcalico.org": subjectOfCalico,
  "crd.projectcalico.org": subjectOfCalico,
});

/** Whom a policy is about; undefined where that is not read. */
export function subjectOfFurtherPolicy(policy: FurtherPolicy): PolicySubject | undefined {
  const [group = ""] = policy.apiVersion.split("/");
  const subject = Object.hasOwn(SUBJECTS, group) ? SUBJECTS[group]?.(policy) : undefined;
  if (subject === undefined) return undefined;
  return { ...subject, selects: (pod) => !pod.isHostNetwork && subject.selects(pod) };
}

function titleOf({ kind, namespace, name }: FurtherPolicy): string {
  return `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`.trimEnd();
}

function placeOf(policy: PassedPolicy | undefined): { readonly where?: ProblemPlace } {
  if (policy === undefined) return {};
  const { file, line, column } = policy;
  return { where: { file, line, column, field: "" } };
}

const STANDING = "left out and not enforced";

/** Of those that are read. A node is in nobody's namespace, but it may be spared, or not: that hangs on who enforces them. */
const READ_APIS: PolicyApi = Object.freeze({
  code: CODE,
  plural: "policies of other APIs",
  standing: STANDING,
  sparesOwnNode: false,
});

class UnreadPolicyLimit implements FlowLimit {
  readonly code: KnowledgeCode = CODE;
  readonly message: string;
  readonly where?: ProblemPlace;
  private readonly policies: readonly PassedPolicy[];

  constructor(policies: readonly PassedPolicy[]) {
    this.policies = policies;
    this.message = `${listTitles(policies.map(titleOf))} ${policies.length === 1 ? "is" : "are"} ${STANDING}`;
    const { where } = placeOf(policies[0]);
    if (where !== undefined) this.where = where;
  }

  covers(flow: LimitedFlow): boolean {
    return this.policies.some((policy) => isAbout(policy, flow));
  }

  reasonFor(flow: LimitedFlow): LimitReason {
    const own = this.policies.filter((policy) => isAbout(policy, flow));
    const titles = listTitles(own.map(titleOf));
    const message = WORDS.policiesNotEnforced({ titles, isOrAre: own.length === 1 ? "is" : "are" });
    return { code: CODE, message, ...placeOf(own[0]) };
  }

  kindOf({ pod }: FlowEnd): string {
    const isIn = this.policies.some(({ namespace }) => namespace !== "" && namespace === pod?.namespace);
    return isIn ? "further" : "";
  }
}

function isAbout({ namespace }: PassedPolicy, flow: LimitedFlow): boolean {
  const { source, answerers, isByName, nameServers = [] } = flow;
  const ends = [source, ...answerers, ...(isByName ? nameServers : [])];
  return namespace === "" || ends.some(({ pod }) => pod?.namespace === namespace);
}

/** One limit for those that are read, one for the others. */
export function furtherPolicyLimits(policies: readonly PassedPolicy[]): readonly FlowLimit[] {
  const [read, unread]: [SelectingPolicy[], PassedPolicy[]] = [[], []];
  for (const policy of policies) {
    const subject = subjectOfFurtherPolicy(policy);
    if (subject === undefined) unread.push(policy);
    else read.push({ ...subject, title: titleOf(policy), where: placeOf(policy).where, open: [] });
  }
  return [
    ...(read.length === 0 ? [] : [new PolicyLimit(READ_APIS, read)]),
    ...(unread.length === 0 ? [] : [new UnreadPolicyLimit(unread)]),
  ];
}
