/** The StatefulSet controller (k8s.io/kubernetes, `pkg/controller/statefulset`): pods with numbers that stay. */
import { isFinished } from "#contracts/kubernetes/pod.ts";
import { completePodSpec, podFromTemplate } from "../memory/admission/pod-template.ts";
import type { Pod, PodTemplateSpec, StatefulSet } from "#contracts/kubernetes/objects.ts";
import type { WantedChanges } from "./changes.ts";
import { adopted, ownPods } from "./own-pods.ts";

const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index";

function ordinalOf(name: string, pod: Pod): number | undefined {
  const rest = pod.metadata.name.startsWith(`${name}-`) ? pod.metadata.name.slice(name.length + 1) : "";
  return /^\d+$/.test(rest) ? Number(rest) : undefined;
}

/** Whether the next pod may be made: this one has a node, whose kubelet will start it. */
function isOnItsWay(pod: Pod): boolean {
  return pod.spec?.nodeName !== undefined && !isFinished(pod);
}

function makePod(set: StatefulSet, template: PodTemplateSpec, ordinal: number): Pod {
  const name = `${set.metadata.name}-${ordinal}`;
  const spec = completePodSpec(template.spec ?? { containers: [] });
  const subdomain = set.spec?.serviceName;
  return podFromTemplate(set, template, spec, {
    name,
    labels: { [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) },
    spec: { hostname: name, ...(subdomain === undefined || subdomain === "" ? {} : { subdomain }) },
  });
}

/** Pods to make in order, and those beyond the number of replicas to remove, the last first. */
export function reconcileStatefulSet(
  set: StatefulSet,
  matching: readonly Pod[],
  room: number,
): WantedChanges {
  const { own, orphans } = ownPods(set, matching);
  const update = adopted(
    set,
    orphans.filter((pod) => ordinalOf(set.metadata.name, pod) !== undefined),
  );
  const byOrdinal = new Map([...own, ...update].map((pod) => [ordinalOf(set.metadata.name, pod), pod]));
  const start = set.spec?.ordinals?.start ?? 0;
  const end = start + (set.spec?.replicas ?? 1);
  const isOrdered = set.spec?.podManagementPolicy !== "Parallel";
  const template: PodTemplateSpec = set.spec?.template ?? {};
  const create: Pod[] = [];
  for (let ordinal = start; ordinal < end && create.length < room; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push(makePod(set, template, ordinal));
    if (isOrdered && (pod === undefined || !isOnItsWay(pod))) break;
  }
  const remove = [...byOrdinal]
    .filter(([ordinal]) => ordinal !== undefined && (ordinal < start || ordinal >= end))
    .sort(([a = 0], [b = 0]) => b - a)
    .map(([, pod]) => pod);
  return { create, update: update.filter((pod) => !remove.includes(pod)), remove };
}
