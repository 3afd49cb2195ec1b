/** What is worth knowing about a cluster as it is: nothing is wrong with the files, and yet something will not work. */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { daemonRunsOn } from "../controllers/workloads.ts";
import { KUBELET_REFUSALS } from "../controllers/kubelet-admission.ts";
import { conditionOf, controllerOf, isHostNetwork, podAddresses } from "#contracts/kubernetes/pod.ts";
import type { EndpointSlice, KubeObject, Pod } from "#contracts/kubernetes/objects.ts";
import type { ControlPlane } from "./control-plane.ts";
import { keyOf, referenceOf } from "./object-store.ts";
import { completePodSpec } from "./admission/pod-template.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

interface Finding {
  readonly code: KnowledgeCode;
  readonly path: string;
  readonly message: string;
  readonly advice: string;
}

/** Like findings of one maker are told once. */
class Findings {
  private readonly reported = new Map<string, { readonly problem: FileProblem; count: number }>();
  private readonly plane: ControlPlane;

  constructor(plane: ControlPlane) {
    this.plane = plane;
  }

  add(reference: string, finding: Finding): void {
    const place = this.plane.placeOf(reference, finding.path);
    const key = `${place.file}:${place.line}:${place.column} ${finding.code} ${finding.path} ${finding.message}`;
    const known = this.reported.get(key);
    if (known === undefined) this.reported.set(key, { problem: { ...finding, ...place }, count: 1 });
    else known.count++;
  }

  finish(): readonly FileProblem[] {
    return Object.freeze(
      [...this.reported.values()].map(({ problem, count }) =>
        Object.freeze(count === 1 ? problem : { ...problem, message: `${problem.message} (${count} times)` }),
      ),
    );
  }
}

/** A pod by the name of what made it: pods of one workload share their fate. */
function makerOf(pod: Pod): string {
  const controller = controllerOf(pod);
  const { namespace, name } = pod.metadata;
  return controller === undefined
    ? `pod ${keyOf(namespace, name)}`
    : `a pod of ${controller.kind} ${keyOf(namespace, controller.name)}`;
}

/** What a kubelet says of a pod that it does not take; undefined: it takes it, or was never asked. */
function refusedByKubelet(pod: Pod): string | undefined {
  const { reason = "", message = "" } = pod.status ?? {};
  return KUBELET_REFUSALS.includes(reason)
    ? `the kubelet of ${pod.spec?.nodeName ?? "its node"} refuses ${makerOf(pod)}, ${reason}: ${message}`
    : undefined;
}

/** What keeps a pod from any node, in the scheduler's words; undefined: it has one, or was never looked at. */
function unschedulable(pod: Pod): string | undefined {
  if (pod.spec?.nodeName !== undefined || conditionOf(pod, "PodScheduled") !== "False") return undefined;
  const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  return `${makerOf(pod)} stays Pending: ${(condition?.message ?? "").replace(/\.$/, "")}`;
}

/** A pod that runs nowhere, and why. */
interface PodWithoutNode {
  readonly pod: Pod;
  readonly code: KnowledgeCode;
  readonly reason: string;
}

/** True for a status that an API server has stored: its parts have times. */
function isStatusOfServer({ status }: Pod): boolean {
  const conditions = status?.conditions ?? [];
  return status?.startTime !== undefined || conditions.some((each) => each.lastTransitionTime !== undefined);
}

/** Why a pod that the input asks for comes to no node; what the input itself shows waiting or failed does so here as there. */
function lackOfNode(plane: ControlPlane, pod: Pod): Omit<PodWithoutNode, "pod"> | undefined {
  if (plane.settled.has(referenceOf(pod)) || isStatusOfServer(pod)) return undefined;
  const waiting = unschedulable(pod);
  if (waiting !== undefined) return { code: "pod-unschedulable", reason: waiting };
  const refused = refusedByKubelet(pod);
  if (refused !== undefined) return { code: "pod-os-mismatch", reason: refused };
  const node = pod.spec?.nodeName;
  if (node === undefined || (pod.status?.phase ?? "Pending") !== "Pending") return undefined;
  return plane.store.get("Node", "", node) === undefined
    ? { code: "node-without-machine", reason: `${makerOf(pod)} is for node ${node}, which is not described` }
    : undefined;
}

/**
 * Pods for which there is no node here, one of each maker, with the reason. A workload that has a pod on some node is there.
 */
export function podsWithoutNode(plane: ControlPlane): readonly PodWithoutNode[] {
  const lacking = new Map<string, PodWithoutNode>();
  const placed = new Set<string>();
  for (const pod of plane.store.list("Pod")) {
    const lack = lackOfNode(plane, pod);
    const maker = controllerOf(pod)?.uid ?? pod.metadata.uid;
    if (lack === undefined && pod.spec?.nodeName !== undefined) placed.add(maker);
    if (lack !== undefined && !lacking.has(maker)) lacking.set(maker, { pod, ...lack });
  }
  return [...lacking].flatMap(([maker, each]) => (placed.has(maker) ? [] : [each]));
}

function findPodTrouble(plane: ControlPlane, found: Findings): void {
  for (const pod of plane.store.list("Pod")) {
    const reference = referenceOf(pod);
    const waiting = unschedulable(pod);
    if (waiting !== undefined)
      found.add(reference, {
        code: "pod-unschedulable",
        path: "",
        message: waiting,
        advice: WORDS.advicePodUnschedulable,
      });
    const refused = refusedByKubelet(pod);
    if (refused !== undefined) {
      found.add(reference, {
        code: "pod-os-mismatch",
        path: "spec.os",
        message: refused,
        advice: "Write nodeSelector kubernetes.io/os with the operating system of the pod.",
      });
    }
    findIgnoredRule(plane, pod, found);
    findStrangeAddress(plane, pod, found);
  }
}

const DEFAULT_SCHEDULER = "default-scheduler";

/** The field of a rule that the scheduler does not weigh, or of another scheduler. A preference binds nobody. */
function ignoredRule({ spec }: Pod): string | undefined {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  if ((podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0)
    return "spec.affinity.podAffinity";
  if ((podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0)
    return "spec.affinity.podAntiAffinity";
  const spread = spec?.topologySpreadConstraints ?? [];
  if (spread.some(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule"))
    return "spec.topologySpreadConstraints";
  return (spec?.schedulerName ?? DEFAULT_SCHEDULER) === DEFAULT_SCHEDULER ? undefined : "spec.schedulerName";
}

/** A pod of a dump that stands on its node has been through the scheduler; its conditions have a time. */
function findIgnoredRule(plane: ControlPlane, pod: Pod, found: Findings): void {
  const reference = referenceOf(pod);
  const isPlacedHere = conditionOf(pod, "PodScheduled") === "True" && !isStatusOfServer(pod);
  const isOfInput = plane.origins.has(reference) && pod.spec?.nodeName !== undefined && !isPlacedHere;
  const path = isOfInput ? undefined : ignoredRule(pod);
  if (path === undefined) return;
  found.add(reference, {
    code: "scheduling-rule-ignored",
    path,
    message: `the scheduler here does not weigh ${path.replace("spec.", "")} of ${makerOf(pod)}`,
    advice: "Nothing to do, unless the node of the pod matters.",
  });
}

function findStrangeAddress(plane: ControlPlane, pod: Pod, found: Findings): void {
  if (isHostNetwork(pod)) return;
  const node = plane.store.get("Node", "", pod.spec?.nodeName ?? "");
  const own = node?.spec?.podCIDRs ?? (node?.spec?.podCIDR === undefined ? [] : [node.spec.podCIDR]);
  const ranges = [...plane.options.clusterCIDRs, ...own.map((text) => parsePrefix(text))];
  if (ranges.every((range) => range === undefined)) return;
  for (const address of podAddresses(pod)) {
    const ip = parseIp(address);
    if (ip === undefined || ranges.some((range) => range !== undefined && prefixContains(range, ip)))
      continue;
    found.add(referenceOf(pod), {
      code: "pod-address-outside-range",
      path: "status.podIP",
      message: WORDS.podAddressOutsideRange({
        key: keyOf(pod.metadata.namespace, pod.metadata.name),
        address,
      }),
      advice: WORDS.adviceClusterCIDROfDump,
    });
  }
}

function findEmptySelectors(plane: ControlPlane, found: Findings): void {
  const { store } = plane;
  for (const service of store.list("Service")) {
    const selector = service.spec?.selector ?? {};
    const { namespace, name } = service.metadata;
    if (Object.keys(selector).length === 0 || service.spec?.type === "ExternalName") continue;
    if (store.podsMatching(namespace, { matchLabels: selector }).length > 0) continue;
    if (store.slicesOf(namespace, name).some(({ endpoints }) => (endpoints ?? []).length > 0)) continue;
    found.add(referenceOf(service), {
      code: "selector-matches-nothing",
      path: "spec.selector",
      message: `the selector of Service ${keyOf(namespace, name)} matches no pod`,
      advice: "Make spec.selector equal to labels of the pod template.",
    });
  }
  for (const policy of store.list("NetworkPolicy")) {
    const { namespace, name } = policy.metadata;
    if (store.podsMatching(namespace, policy.spec?.podSelector ?? {}).length > 0) continue;
    found.add(referenceOf(policy), {
      code: "selector-matches-nothing",
      path: "spec.podSelector",
      message: `the selector of NetworkPolicy ${keyOf(namespace, name)} matches no pod`,
      advice: "Make spec.podSelector equal to labels of the pod template.",
    });
  }
}

function findLostTargets(plane: ControlPlane, slice: EndpointSlice, found: Findings): void {
  const { store } = plane;
  const { namespace, name } = slice.metadata;
  const add = (index: number, field: string, what: string): void => {
    found.add(referenceOf(slice), {
      code: "slice-target-unknown",
      path: `endpoints[${index}].${field}`,
      message: `EndpointSlice ${keyOf(namespace, name)} points at ${what}, which is not there`,
      advice: "Dump pods and nodes together with the slices.",
    });
  };
  for (const [index, { targetRef, nodeName }] of (slice.endpoints ?? []).entries()) {
    const target = targetRef?.kind === "Pod" ? (targetRef.name ?? "") : "";
    const pod = store.get("Pod", targetRef?.namespace ?? namespace, target);
    const isOther = targetRef?.uid !== undefined && pod !== undefined && pod.metadata.uid !== targetRef.uid;
    if (target !== "" && (pod === undefined || isOther)) add(index, "targetRef", `pod ${target}`);
    if (nodeName !== undefined && store.get("Node", "", nodeName) === undefined)
      add(index, "nodeName", `node ${nodeName}`);
  }
}

function findIdleWorkloads(plane: ControlPlane, found: Findings): void {
  const { store } = plane;
  const nodes = store.list("Node");
  const add = (object: KubeObject, finding: Finding): void => found.add(referenceOf(object), finding);
  for (const set of store.list("DaemonSet")) {
    const spec = completePodSpec(set.spec?.template.spec ?? { containers: [] });
    if (nodes.some((node) => daemonRunsOn(spec, node)) || store.ownedBy(set.metadata.uid).length > 0)
      continue;
    add(set, {
      code: "daemon-set-without-nodes",
      path: "spec.template.spec.nodeSelector",
      message: `DaemonSet ${keyOf(set.metadata.namespace, set.metadata.name)} fits no node, so it makes no pods`,
      advice: WORDS.adviceDaemonSetUnschedulable,
    });
  }
  for (const job of store.list("CronJob")) {
    add(job, {
      code: "cron-job-not-run",
      path: "spec.schedule",
      message: `CronJob ${keyOf(job.metadata.namespace, job.metadata.name)} makes no pods: no time of day comes here`,
      advice: "To have its pods, write a Job with the same template.",
    });
  }
  for (const node of plane.ranges.isUsed ? nodes : []) {
    if (node.spec?.podCIDR !== undefined || (node.spec?.podCIDRs ?? []).length > 0) continue;
    add(node, {
      code: "node-range-exhausted",
      path: "spec.podCIDR",
      message: WORDS.nodeRangeExhausted({ name: node.metadata.name }),
      advice: "Give the cluster a larger range (network.clusterCIDR).",
    });
  }
}

/** All findings, by kind and then by name. */
export function findings(plane: ControlPlane): readonly FileProblem[] {
  const all = new Findings(plane);
  findPodTrouble(plane, all);
  findEmptySelectors(plane, all);
  for (const slice of plane.store.list("EndpointSlice")) findLostTargets(plane, slice, all);
  findIdleWorkloads(plane, all);
  return all.finish();
}
