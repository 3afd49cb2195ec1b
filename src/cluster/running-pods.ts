/**
 * The pods that run against the pods that should: what the kubelets of all nodes do after each change. The result is
 * written back as the status of the Pod objects.
 */
import { CniError, PluginPanic, describeError } from "../cni/error.ts";
import { HcnError } from "../hcn/error.ts";
import type { DnsSettings } from "../host/compartment.ts";
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Pod } from "../kube/types.ts";
import type { Cluster, ClusterNode, ClusterPod } from "./cluster.ts";
import type { PodSpec } from "./file/cluster-file.ts";
import type { Kubelet } from "./kubelet.ts";
import { isHostProcess, sandboxOf } from "./pod-object.ts";

/** What the kubelet says about a pod. */
export interface PodOutcome {
  readonly pod: Pod;
  /** Undefined when the pod has no network. */
  readonly running: ClusterPod | undefined;
  /** Why it has none, or what is special about it. */
  readonly note: { readonly code: KnowledgeCode | undefined; readonly text: string } | undefined;
}

export interface RunningPodsOptions {
  readonly cluster: Cluster;
  readonly kubelets: ReadonlyMap<string, Kubelet>;
  /** What the pod's resolver is told; undefined: nothing. */
  readonly dnsOf: (pod: Pod, node: ClusterNode) => DnsSettings | undefined;
}

/** A pod object is a new pod when its uid is new, whatever its name. */
function identityOf(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}/${pod.metadata.uid}`;
}

function isOver(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

export class RunningPods {
  private readonly options: RunningPodsOptions;
  private readonly nodes: ReadonlyMap<string, ClusterNode>;
  /** Entries of the cluster file, by namespace and name: they know policies. */
  private readonly own: ReadonlyMap<string, PodSpec>;
  /** What was made of each pod object. */
  private readonly outcomes = new Map<string, PodOutcome>();

  constructor(options: RunningPodsOptions) {
    const { cluster } = options;
    this.options = options;
    this.nodes = new Map(cluster.nodes.map((node) => [node.spec.name, node]));
    this.own = new Map(cluster.file.pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  }

  /**
   * Takes away what is not wanted any more, then starts what is new, in the order of `pods`.
   * @returns what became of the new ones.
   */
  async sync(
    pods: readonly Pod[],
    progress?: (done: number, total: number) => void,
  ): Promise<readonly PodOutcome[]> {
    const wanted = new Map(pods.filter((pod) => !isOver(pod)).map((pod) => [identityOf(pod), pod]));
    for (const [identity, outcome] of this.outcomes) {
      if (wanted.has(identity)) continue;
      this.outcomes.delete(identity);
      if (outcome.running !== undefined) await this.remove(outcome.running);
    }
    const fresh = [...wanted].filter(
      ([identity, pod]) => !this.outcomes.has(identity) && this.nodes.has(pod.spec?.nodeName ?? ""),
    );
    const made: PodOutcome[] = [];
    for (const [identity, pod] of fresh) {
      const outcome = await this.start(pod);
      this.outcomes.set(identity, outcome);
      made.push(outcome);
      progress?.(made.length, fresh.length);
    }
    return made;
  }

  /** The running pod of an object; undefined when it does not run. */
  runningOf(pod: Pod): ClusterPod | undefined {
    return this.outcomes.get(identityOf(pod))?.running;
  }

  private async remove(running: ClusterPod): Promise<void> {
    const { cluster, kubelets } = this.options;
    await kubelets.get(running.node.spec.name)?.removePod(running);
    const index = cluster.pods.indexOf(running);
    if (index >= 0) cluster.pods.splice(index, 1);
  }

  private async start(pod: Pod): Promise<PodOutcome> {
    const { cluster, kubelets, dnsOf } = this.options;
    const name = pod.spec?.nodeName ?? "";
    const node = this.nodes.get(name);
    const kubelet = kubelets.get(name);
    if (node === undefined || kubelet === undefined) throw new RangeError(`no kubelet for node ${name}`);
    const own = this.own.get(`${pod.metadata.namespace}/${pod.metadata.name}`);
    const sandbox = sandboxOf(pod, { name, os: node.spec.os }, own);
    try {
      const running = await kubelet.addPod(sandbox, dnsOf(pod, node));
      cluster.pods.push(running);
      return { pod, running, note: noteOf(pod, node) };
    } catch (error) {
      if (!(error instanceof HcnError || error instanceof CniError || error instanceof PluginPanic))
        throw error;
      const text = `the pod's sandbox cannot be made: ${describeError(error)}`;
      return { pod, running: undefined, note: { code: explanationOf(error), text } };
    }
  }
}

function explanationOf(error: Error): KnowledgeCode | undefined {
  if (error instanceof HcnError) return error.explanation;
  return error instanceof CniError ? error.knowledge : undefined;
}

/**
 * `hostNetwork` on Windows means nothing without HostProcess: kubelet passes it on only with the feature gate
 * WindowsHostNetwork (kubernetes/kubernetes pull request 112961), and containerd calls CNI for such a pod as for any
 * other (containerd/containerd issue 4856).
 */
function noteOf(pod: Pod, node: ClusterNode): PodOutcome["note"] {
  const isIgnored = node.spec.os === "windows" && pod.spec?.hostNetwork === true && !isHostProcess(pod);
  return isIgnored
    ? {
        code: "host-network-unsupported",
        text: "hostNetwork is not supported on Windows nodes: the pod has a network of its own",
      }
    : undefined;
}
