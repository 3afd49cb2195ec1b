/** The Job controller (k8s.io/kubernetes, `pkg/controller/job`): pods that run to their end. */
import { isFinished, isTerminating } from "#contracts/kubernetes/pod.ts";
import { completePodSpec, podFromTemplate } from "../memory/admission/pod-template.ts";
import type { Job, Pod, PodTemplateSpec } from "#contracts/kubernetes/objects.ts";
import { type WantedChanges, type NamePods, NO_CHANGES } from "./changes.ts";

const INDEX = "batch.kubernetes.io/job-completion-index";

function isOver({ status, spec }: Job): boolean {
  if (spec?.suspend === true || status?.completionTime !== undefined) return true;
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => (type === "Complete" || type === "Failed") && state === "True",
  );
}

/** How many pods run at a time, and how many must end well. */
function sizeOf({ spec }: Job): { readonly parallelism: number; readonly completions: number | undefined } {
  const parallelism = spec?.parallelism ?? 1;
  // Without `completions` one success is enough; only a Job with neither number counts as one completion.
  const completions = spec?.completions ?? (spec?.parallelism === undefined ? 1 : undefined);
  return { parallelism, completions };
}

function labelsOf(job: Job): Record<string, string> {
  const { name, uid } = job.metadata;
  return {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  };
}

function makePod(job: Job, namePods: NamePods, index: number | undefined): Pod {
  const template: PodTemplateSpec = job.spec?.template ?? {};
  const spec = completePodSpec(template.spec ?? { containers: [] });
  const base = index === undefined ? `${job.metadata.name}-` : `${job.metadata.name}-${index}-`;
  const plan = { name: namePods(base), generateName: base, labels: labelsOf(job) };
  if (index === undefined) return podFromTemplate(job, template, spec, plan);
  return podFromTemplate(job, template, spec, {
    ...plan,
    labels: { ...plan.labels, [INDEX]: String(index) },
    annotations: { [INDEX]: String(index) },
    spec: { hostname: `${job.metadata.name}-${index}` },
  });
}

/** Pods to make, and to remove when the Job needs fewer; `own` are the pods that it controls. */
export function reconcileJob(job: Job, own: readonly Pod[], namePods: NamePods, room: number): WantedChanges {
  const running = own.filter((pod) => !isFinished(pod) && !isTerminating(pod));
  if (isOver(job)) return { ...NO_CHANGES, remove: running };
  const succeeded = own.filter(({ status }) => status?.phase === "Succeeded");
  const failed = own.filter(({ status }) => status?.phase === "Failed").length;
  const { parallelism, completions } = sizeOf(job);
  if (failed > (job.spec?.backoffLimit ?? 6)) return NO_CHANGES;
  const left =
    completions === undefined ? (succeeded.length > 0 ? 0 : parallelism) : completions - succeeded.length;
  const wanted = Math.max(0, Math.min(parallelism, left, running.length + room));
  if (running.length > wanted) return { ...NO_CHANGES, remove: running.slice(wanted) };
  const isIndexed = job.spec?.completionMode === "Indexed";
  const usedIndexes = new Set([...running, ...succeeded].map((pod) => pod.metadata.annotations?.[INDEX]));
  const create: Pod[] = [];
  for (let index = 0; create.length < wanted - running.length; index++) {
    if (isIndexed && usedIndexes.has(String(index))) continue;
    create.push(makePod(job, namePods, isIndexed ? index : undefined));
  }
  return { ...NO_CHANGES, create };
}
