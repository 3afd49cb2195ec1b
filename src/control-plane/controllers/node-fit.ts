/** Whether a node suits a pod by labels and taints (k8s.io/component-helpers, `scheduling/corev1`). */
import {
  type LabelRequirement,
  type Labels,
  matchesLabels,
  matchesRequirement,
} from "#contracts/kubernetes/labels.ts";
import type { Node, PodSpec } from "#contracts/kubernetes/objects.ts";

type NodeAffinity = NonNullable<NonNullable<PodSpec["affinity"]>["nodeAffinity"]>;
type NodeTerm = NonNullable<
  NodeAffinity["requiredDuringSchedulingIgnoredDuringExecution"]
>["nodeSelectorTerms"][number];
type Toleration = NonNullable<PodSpec["tolerations"]>[number];
export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

function matchesTerm(term: NodeTerm, node: Node): boolean {
  const labels: Labels = node.metadata.labels ?? {};
  const expressions: readonly LabelRequirement[] = term.matchExpressions ?? [];
  const fields: readonly LabelRequirement[] = term.matchFields ?? [];
  // A term without requirements matches nothing.
  if (expressions.length === 0 && fields.length === 0) return false;
  return (
    expressions.every((item) =>
      matchesRequirement(item, Object.hasOwn(labels, item.key) ? labels[item.key] : undefined),
    ) && fields.every((item) => item.key === "metadata.name" && matchesRequirement(item, node.metadata.name))
  );
}

/** Whether the node answers the pod's node selector and its required node affinity. */
export function matchesNode(spec: PodSpec, node: Node): boolean {
  if (!matchesLabels(spec.nodeSelector ?? {}, node.metadata.labels ?? {})) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** How much the pod prefers the node: the weights of the preferences that it answers. */
export function preferenceFor(spec: PodSpec, node: Node): number {
  const preferences = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  let sum = 0;
  for (const { weight, preference } of preferences) if (matchesTerm(preference, node)) sum += weight;
  return sum;
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = "", operator = "", value = "", effect = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return (
    operator === "Exists" || ((operator === "" || operator === "Equal") && value === (taint.value ?? ""))
  );
}

export function toleratesTaint(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}

/** The node that a pod of a DaemonSet is bound for; undefined for other pods. */
export function nodeNameField(spec: PodSpec | undefined): string | undefined {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const [field] = terms.length === 1 ? (terms[0]?.matchFields ?? []) : [];
  const isName = field?.key === "metadata.name" && field.operator === "In" && field.values?.length === 1;
  return isName ? field.values?.[0] : undefined;
}
