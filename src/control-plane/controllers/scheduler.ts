/**
 * The scheduler (kube-scheduler's plugins SchedulingGates, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts and
 * NodeResourcesFit, in this order). A node whose object does not say what it has takes all that pods ask for, and no pod
 * makes way for another. Among the nodes that fit it takes the one that the pod prefers most, then the one with fewest
 * pods, then the first in order: the same one each time.
 */
import type { Node, Pod, PodSpec } from "#contracts/kubernetes/objects.ts";
import { lastingContainers } from "#contracts/kubernetes/pod.ts";
import { podRequests } from "#contracts/kubernetes/pod-requests.ts";
import { amountsOf } from "#contracts/kubernetes/quantity.ts";
import { canonicalJson } from "#core/base/json.ts";
import {
  type LabelRequirement,
  type Labels,
  matchesLabels,
  matchesRequirement,
} from "#contracts/kubernetes/labels.ts";

// Whether a node suits a pod by labels and taints (k8s.io/component-helpers, `scheduling/corev1`).

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
function preferenceFor(spec: PodSpec, node: Node): number {
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

/** Kubelet's default of `maxPods`. */
const PODS_MAX_DEFAULT = 110;
const UNSCHEDULABLE: Taint = Object.freeze({
  key: "node.kubernetes.io/unschedulable",
  effect: "NoSchedule",
});

type HostPort = { readonly protocol: string; readonly ip: string; readonly port: number };

/** The host ports of a pod (`GetHostPorts` of Kubernetes' scheduler); `0.0.0.0` stands for every address of the node. */
export function hostPortsOf(spec: PodSpec | undefined): readonly HostPort[] {
  return lastingContainers(spec).flatMap(({ ports }) =>
    (ports ?? [])
      .filter(({ hostPort }) => (hostPort ?? 0) !== 0)
      .map(({ hostPort, hostIP, protocol }) => ({
        protocol: protocol ?? "TCP",
        ip: hostIP === undefined || hostIP === "" ? "0.0.0.0" : hostIP,
        port: hostPort ?? 0,
      })),
  );
}

/** Sums of decimal fractions are off by less. */
const ROUNDING = 1e-6;

function isLacking(free: ReadonlyMap<string, number>, name: string, amount: number): boolean {
  return amount > 0 && amount > (free.get(name) ?? 0) + ROUNDING;
}

/** A node while pods are given to it. */
class Place {
  readonly node: Node;
  readonly order: number;
  podCount = 0;
  private readonly podsMax: number;
  private readonly ports = new Map<string, Set<string>>();
  /** What is left of what its kubelet offers; undefined where nothing says what that is. */
  private readonly free: Map<string, number> | undefined;

  constructor(node: Node, order: number) {
    this.node = node;
    this.order = order;
    const limit = Number(node.status?.allocatable?.["pods"] ?? node.status?.capacity?.["pods"]);
    this.podsMax = Number.isFinite(limit) ? limit : PODS_MAX_DEFAULT;
    const offered = new Map(amountsOf(node.status?.allocatable));
    this.free = offered.has("cpu") ? offered : undefined;
  }

  add(spec: PodSpec | undefined): void {
    this.podCount++;
    for (const { protocol, ip, port } of hostPortsOf(spec)) {
      const key = `${protocol} ${port}`;
      const addresses = this.ports.get(key) ?? new Set<string>();
      this.ports.set(key, addresses.add(ip));
    }
    if (this.free === undefined) return;
    for (const [name, amount] of podRequests(spec)) this.free.set(name, (this.free.get(name) ?? 0) - amount);
  }

  private isTaken({ protocol, ip, port }: HostPort): boolean {
    const addresses = this.ports.get(`${protocol} ${port}`);
    if (addresses === undefined) return false;
    return ip === "0.0.0.0" || addresses.has(ip) || addresses.has("0.0.0.0");
  }

  /** Why a pod with these host ports and requests has no room here. */
  refusals(ports: readonly HostPort[], requests: ReadonlyMap<string, number>): readonly string[] {
    if (ports.some((port) => this.isTaken(port)))
      return ["node(s) didn't have free ports for the requested pod ports"];
    const { free } = this;
    const lacking =
      free === undefined ? [] : [...requests].filter(([name, amount]) => isLacking(free, name, amount));
    const isFull = this.podCount >= this.podsMax;
    return [...(isFull ? ["Too many pods"] : []), ...lacking.map(([name]) => `Insufficient ${name}`)];
  }
}

/** What labels and taints say about all nodes, for pods of one kind. */
interface Suitability {
  readonly places: readonly { readonly place: Place; readonly preference: number }[];
  readonly refusals: ReadonlyMap<string, number>;
}

function describeTaint({ key, value }: Taint): string {
  return `node(s) had untolerated taint {${key}: ${value ?? ""}}`;
}

/** Why labels or taints of a node keep a pod away. */
function staticRefusal(spec: PodSpec, node: Node): string | undefined {
  const tolerations = spec.tolerations ?? [];
  if (node.spec?.unschedulable === true && !toleratesTaint(tolerations, UNSCHEDULABLE))
    return "node(s) were unschedulable";
  for (const taint of node.spec?.taints ?? []) {
    if (taint.effect !== "PreferNoSchedule" && !toleratesTaint(tolerations, taint))
      return describeTaint(taint);
  }
  return matchesNode(spec, node) ? undefined : "node(s) didn't match Pod's node affinity/selector";
}

function dislikedTaints(spec: PodSpec, node: Node): number {
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === "PreferNoSchedule");
  return taints.filter((taint) => !toleratesTaint(spec.tolerations ?? [], taint)).length;
}

/** The scheduler's sentence (`FitError` of kube-scheduler), without what it says about preemption. */
function describeRefusals(nodeCount: number, refusals: ReadonlyMap<string, number>): string {
  if (nodeCount === 0) return "no nodes available to schedule pods";
  const reasons = [...refusals].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${reasons.join(", ")}.`;
}

export type Placement =
  | { readonly node: string }
  | { readonly reason: "Unschedulable" | "SchedulingGated"; readonly message: string };

/** k8s.io/kubernetes, `pkg/registry/core/pod/strategy.go`, `applySchedulingGatedCondition`. */
const GATED: Placement = Object.freeze({
  reason: "SchedulingGated",
  message: "Scheduling is blocked due to non-empty scheduling gates",
});

/** One run of the scheduler: knows all nodes and the pods on them, and gives pods to nodes one by one. */
export class Scheduler {
  private readonly places: readonly Place[];
  private readonly byName: ReadonlyMap<string, Place>;
  private readonly known = new Map<string, Suitability>();

  /** `nodes` in the order in which they are taken at equal rights. */
  constructor(nodes: readonly Node[], podsOn: (node: string) => readonly Pod[]) {
    this.places = nodes.map((node, order) => new Place(node, order));
    this.byName = new Map(this.places.map((place) => [place.node.metadata.name, place]));
    for (const place of this.places) {
      for (const pod of podsOn(place.node.metadata.name)) {
        const isOver = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
        if (!isOver) place.add(pod.spec);
      }
    }
  }

  private suitabilityOf(spec: PodSpec): Suitability {
    const { nodeSelector, affinity, tolerations } = spec;
    const key = canonicalJson([nodeSelector, affinity?.nodeAffinity, tolerations]);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const bound = nodeNameField(spec);
    const only = bound === undefined ? undefined : this.byName.get(bound);
    const refusals = new Map<string, number>();
    const places = [];
    for (const place of only === undefined ? this.places : [only]) {
      const refusal = staticRefusal(spec, place.node);
      if (refusal !== undefined) refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
      else {
        const preference = preferenceFor(spec, place.node) - dislikedTaints(spec, place.node);
        places.push({ place, preference });
      }
    }
    const passedOver = only === undefined ? 0 : this.places.length - 1;
    if (passedOver > 0) {
      const reason = "node(s) didn't match Pod's node affinity/selector";
      refusals.set(reason, (refusals.get(reason) ?? 0) + passedOver);
    }
    const suitability = { places, refusals };
    this.known.set(key, suitability);
    return suitability;
  }

  /** Gives a pod to a node, or says why none takes it. */
  schedule(pod: Pod): Placement {
    const spec: PodSpec = pod.spec ?? { containers: [] };
    if ((spec.schedulingGates ?? []).length > 0) return GATED;
    const { places, refusals } = this.suitabilityOf(spec);
    const ports = hostPortsOf(spec);
    const requests = podRequests(spec);
    const full = new Map(refusals);
    let best: { readonly place: Place; readonly preference: number } | undefined;
    for (const candidate of places) {
      const { place, preference } = candidate;
      const isBetter =
        best === undefined ||
        preference > best.preference ||
        (preference === best.preference && place.podCount < best.place.podCount);
      if (!isBetter) continue;
      const reasons = place.refusals(ports, requests);
      if (reasons.length === 0) best = candidate;
      else for (const reason of reasons) full.set(reason, (full.get(reason) ?? 0) + 1);
    }
    if (best === undefined)
      return { reason: "Unschedulable", message: describeRefusals(this.places.length, full) };
    best.place.add(spec);
    return { node: best.place.node.metadata.name };
  }
}
