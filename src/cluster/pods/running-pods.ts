/**
 * The pods that run against the pods that should: what the kubelets of all nodes do after each change. The result is
 * written back as the status of the Pod objects.
 */
import { AssertionError, assert, defined } from "#core/base/assert.ts";
import { CniError, PluginPanic, describeError } from "#contracts/cni/error.ts";
import { HcnError, HcnNotFoundError } from "#contracts/hcn/error.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { faultOfContainer, isFinished, isHostNetwork, isHostProcess } from "#contracts/kubernetes/pod.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { volumesNotForWindows } from "#contracts/kubernetes/windows-volumes.ts";
import { formatIp, formatPrefix, prefixContains } from "#core/net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import type { FilePodSpec, NodeSpec } from "../file/cluster-file.ts";
import { type Kubelet, type PodStart, sandboxTries } from "../machines/kubelet.ts";
import type { PodOutcome, PodRemark, PodSync } from "./pod-outcome.ts";
import { type PodDns, podHosts } from "../names/pod-dns.ts";
import {
  type ContainerObstacle,
  crashingContainers,
  isToldBy,
  obstaclesOf,
  runningContainers,
  hopelessProbes,
  sharedPorts,
} from "./container-starts.ts";
import { NETWORK_ANNOTATION, sandboxOf } from "./pod-object.ts";
import {
  type DuePod,
  NodePod,
  type Prospects,
  foreseePods,
  isAsForeseen,
  kindsOfNodes,
} from "./pods-at-rest.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export interface RunningPodsOptions {
  readonly cluster: Cluster;
  readonly kubelets: ReadonlyMap<string, Kubelet>;
  /** What the pod's resolver is told. */
  readonly dnsOf: (pod: Pod, node: ClusterNode) => PodDns;
  /** A dump shows the pod without a network: it gets none here. */
  readonly isLeftWaiting: (pod: Pod) => boolean;
  /** The cluster's own programs run in the pod. */
  readonly isNeeded: (pod: Pod) => boolean;
}

/** A pod object that is to get a sandbox. */
interface Start extends DuePod {
  /** Of the object. */
  readonly identity: string;
}

/** What a kubelet was to start when its node was left for later, and the node that answered in its place. */
interface NodeAtRest {
  readonly like: string;
  readonly prospects: Prospects;
  readonly starts: Start[];
}

/** A pod object is a new pod when its uid is new, whatever its name. */
function identityOf(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}/${pod.metadata.uid}`;
}

export class RunningPods {
  private readonly options: RunningPodsOptions;
  private readonly nodes: ReadonlyMap<string, ClusterNode>;
  /** Entries of the cluster file, by namespace and name: they know policies. */
  private readonly own: ReadonlyMap<string, FilePodSpec>;
  /** Nodes whose kubelet does not run. */
  private readonly down = new Set<string>();
  /** Nodes whose kubelet tries again what has no network. */
  private readonly retrying = new Set<string>();
  /** Pods that have had a sandbox: the address that their status tells is not what a dump asks for. */
  private readonly known = new Set<string>();
  /** Sandboxes that have ended under their pods, and of which something may be left. */
  private dead: ClusterPod[] = [];
  /** Nodes whose pods start when somebody asks. */
  private readonly atRest = new Map<string, NodeAtRest>();
  /** What became of each pod object, in the order of starting. */
  private readonly outcomes = new Map<string, PodOutcome>();

  constructor(options: RunningPodsOptions) {
    const { cluster } = options;
    this.options = options;
    this.nodes = new Map(cluster.nodes.map((node) => [node.spec.name, node]));
    this.own = new Map(cluster.file.pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  }

  /**
   * Takes away what is not wanted any more, then starts what is new: pods with an address of their own first, so that
   * nobody else gets it, then in the order of `pods`. A pod that has no network is tried again when its node has lost one.
   * @param mayRest nodes whose pods will do what those of another node did are left until somebody asks.
   */
  async sync(
    pods: readonly Pod[],
    progress?: (done: number, total: number) => void,
    mayRest = false,
  ): Promise<PodSync> {
    const wanted = new Map(pods.filter((pod) => !isFinished(pod)).map((pod) => [identityOf(pod), pod]));
    await this.bury();
    const { freed, leftBehind } = await this.removeOthers(wanted);
    this.retrying.clear();
    const due = [...wanted].filter(([identity, pod]) => this.isDue(identity, pod, freed));
    const sandboxes = due.map(([identity, pod]) => ({
      identity,
      pod,
      sandbox: this.sandboxFor(pod, identity),
    }));
    const starts: readonly Start[] = [
      ...sandboxes.filter((each) => each.sandbox.address !== undefined),
      ...sandboxes.filter((each) => each.sandbox.address === undefined),
    ];
    for (const { sandbox } of starts) await this.raise(sandbox.node);
    const first = mayRest ? await this.startFirst(starts) : new Map<string, PodOutcome>();
    const made: PodOutcome[] = [];
    for (const start of starts) {
      const { identity } = start;
      const outcome = first.get(identity) ?? (await this.start(start));
      this.outcomes.set(identity, outcome);
      if (outcome.running !== undefined) {
        this.options.cluster.pods.push(outcome.running);
        this.known.add(identity);
      }
      made.push(outcome);
      progress?.(made.length, due.length);
    }
    return { started: made, leftBehind };
  }

  /** The names of those nodes whose pods have not started. */
  waiting(nodes: Iterable<string> = this.atRest.keys()): readonly string[] {
    return [...nodes].filter((node) => this.atRest.has(node));
  }

  /**
   * The kubelet of a node does what it left for later.
   * @returns the pods that have come up.
   */
  async raise(node: string): Promise<readonly Pod[]> {
    const left = this.atRest.get(node);
    if (left === undefined) return [];
    this.atRest.delete(node);
    const up: Pod[] = [];
    for (const start of left.starts) {
      const { pod, identity } = start;
      const outcome = await this.make(start);
      if (!isAsForeseen(outcome, left.prospects.get(identity))) {
        const why = outcome.remarks.map(({ text }) => text).join("; ");
        throw new AssertionError(`a pod of ${node} starts otherwise than those of ${left.like}: ${why}`);
      }
      if (outcome.running === undefined) continue;
      const { running } = this.outcomes.get(identity) ?? {};
      assert(running instanceof NodePod, "what is left for later is a pod of a node");
      running.comeUp(outcome.running);
      up.push(pod);
    }
    return up;
  }

  /**
   * The pods of the first node of each kind start; where they all get what they ask for and nothing else comes of it, those of
   * the others are left for later.
   * @returns what became of those that have started.
   */
  private async startFirst(starts: readonly Start[]): Promise<ReadonlyMap<string, PodOutcome>> {
    const started = new Map<string, PodOutcome>();
    const due = starts.filter(
      (start) => !this.options.isLeftWaiting(start.pod) && this.hindranceOf(start) === undefined,
    );
    const needed = new Set(
      due.flatMap(({ pod, sandbox }) => (this.options.isNeeded(pod) ? sandbox.node : [])),
    );
    const byNode = Map.groupBy(due, ({ sandbox }) => sandbox.node);
    for (const [first, ...others] of kindsOfNodes(this.options.cluster, due)) {
      if (first === undefined || others.length === 0) continue;
      const prospects = await this.foresee(first, byNode.get(first) ?? []);
      let isSilent = prospects !== undefined;
      for (const start of byNode.get(first) ?? []) {
        const outcome = await this.start(start);
        started.set(start.identity, outcome);
        isSilent &&= isAsForeseen(outcome, prospects?.get(start.identity));
        // What its sockets are denied, its pods say when they serve.
        isSilent &&= outcome.running?.compartment.refusesSockets !== true;
      }
      if (!isSilent || this.nodes.get(first)?.hns?.listUndecided().size !== 0) continue;
      for (const node of others) {
        const own = needed.has(node) ? undefined : await this.foresee(node, byNode.get(node) ?? []);
        if (own !== undefined) this.atRest.set(node, { like: first, prospects: own, starts: [] });
      }
    }
    return started;
  }

  /** What will come of the pods that start next on a node; undefined where its machine has to say it. */
  private async foresee(name: string, starts: readonly Start[]): Promise<Prospects | undefined> {
    const { kubelets, dnsOf, cluster } = this.options;
    const { network } = cluster.file;
    const node = defined(this.nodes.get(name), "pods that are due have a node");
    return foreseePods(starts, {
      range: network.ranges[name],
      givesWhatIsAsked: network.cni.conflist === undefined,
      foresight: () => kubelets.get(name)?.foresight?.(),
      dnsOf: (pod) => dnsOf(pod, node).settings,
      refusalOf: sandboxRefusal,
    });
  }

  /** The kubelet of a node ends; pods that run go on. */
  stopOn(node: string): void {
    this.down.add(node);
  }

  /** The kubelet of a node begins: it takes away what is left of sandboxes that have ended, and starts what is missing. */
  startOn(node: string): void {
    this.down.delete(node);
    this.retrying.add(node);
  }

  /** Sandboxes of a node that pods with no network are tried with again at the next sync. */
  retry(): void {
    for (const name of this.nodes.keys()) this.retrying.add(name);
  }

  /**
   * Sandboxes of a node have ended with what they lay in, silently to any plugin. Their pods get new ones when the
   * kubelet runs: a sandbox without an address is started anew (kubelet's `PodSandboxChanged`; containerd tells none once
   * the namespace is gone).
   * @returns the pods.
   */
  lose(node: string, hasEnded: (running: ClusterPod) => boolean): readonly Pod[] {
    const { cluster } = this.options;
    const lost: Pod[] = [];
    for (const [identity, { pod, running }] of this.outcomes) {
      if (running?.node.spec.name !== node || !hasEnded(running)) continue;
      this.outcomes.delete(identity);
      cluster.pods.splice(cluster.pods.indexOf(running), 1);
      running.server.close();
      this.dead.push(running);
      lost.push(pod);
    }
    return lost;
  }

  /** Pods of a node that have no machine any more: nobody asks for them again. */
  forget(node: string): void {
    this.dead = this.dead.filter((running) => running.node.spec.name !== node);
  }

  /** The running pod of an object; undefined when it does not run. */
  runningOf(pod: Pod): ClusterPod | undefined {
    return this.outcomes.get(identityOf(pod))?.running;
  }

  /** What became of all pods that there are. */
  listOutcomes(): readonly PodOutcome[] {
    return [...this.outcomes.values()];
  }

  private async removeOthers(wanted: ReadonlyMap<string, Pod>): Promise<{
    /** The names of the nodes that lost a pod. */
    readonly freed: ReadonlySet<string>;
    readonly leftBehind: readonly PodOutcome[];
  }> {
    const freed = new Set(this.retrying);
    const leftBehind: PodOutcome[] = [];
    for (const [identity, outcome] of this.outcomes) {
      if (wanted.has(identity) || this.isDown(outcome)) continue;
      await this.raise(outcome.pod.spec?.nodeName ?? "");
      this.outcomes.delete(identity);
      this.known.delete(identity);
      if (outcome.running === undefined) continue;
      freed.add(outcome.running.node.spec.name);
      const remark = await this.remove(outcome.running);
      if (remark !== undefined) leftBehind.push({ ...outcome, running: undefined, remarks: [remark] });
    }
    return { freed, leftBehind };
  }

  private isDue(identity: string, pod: Pod, freed: ReadonlySet<string>): boolean {
    const node = pod.spec?.nodeName ?? "";
    if (!this.nodes.has(node) || this.down.has(node)) return false;
    const outcome = this.outcomes.get(identity);
    return outcome === undefined || (outcome.running === undefined && freed.has(node));
  }

  private isDown({ running }: PodOutcome): boolean {
    return running !== undefined && this.down.has(running.node.spec.name);
  }

  /** DEL for sandboxes that have ended; what it says of what is gone with them is no news. */
  private async bury(): Promise<void> {
    const due = this.dead.filter(({ node }) => !this.down.has(node.spec.name));
    this.dead = this.dead.filter((running) => !due.includes(running));
    for (const running of due) await this.remove(running);
  }

  private async remove(running: ClusterPod): Promise<PodRemark | undefined> {
    const { cluster, kubelets } = this.options;
    const index = cluster.pods.indexOf(running);
    if (index >= 0) cluster.pods.splice(index, 1);
    try {
      await kubelets.get(running.node.spec.name)?.removePod(running);
      return undefined;
    } catch (error) {
      return refusalOf(error, "its sandbox cannot be removed");
    }
  }

  /** A kubelet tries a sandbox again and again; here it does so for as long as a next try may go otherwise. */
  private async addPatiently(kubelet: Kubelet, sandbox: FilePodSpec, start: PodStart): Promise<ClusterPod> {
    for (let tries = sandboxTries(this.options.cluster.file); ; tries--) {
      try {
        return await kubelet.addPod(sandbox, start);
      } catch (error) {
        if (tries <= 1) throw error;
      }
    }
  }

  private sandboxFor(pod: Pod, identity: string): FilePodSpec {
    const own = this.own.get(`${pod.metadata.namespace}/${pod.metadata.name}`);
    const { name, os } = this.nodeOf(pod).spec;
    const podNetwork = this.options.cluster.file.network.name;
    const sandbox = sandboxOf(pod, { name, os, podNetwork }, own);
    return this.known.has(identity) ? { ...sandbox, address: own?.address } : sandbox;
  }

  private nodeOf(pod: Pod): ClusterNode {
    const name = pod.spec?.nodeName ?? "";
    const node = this.nodes.get(name);
    if (node === undefined) throw new RangeError(`node ${name} has no machine`);
    return node;
  }

  /** Why a pod gets no sandbox, whatever its plugins say. */
  private hindranceOf({ pod, sandbox }: Start): PodRemark | undefined {
    const { cluster } = this.options;
    const node = this.nodeOf(pod);
    return (
      unmountedVolume(pod, node.spec) ??
      missingNetwork(sandbox, node, cluster) ??
      strangeAddress(sandbox, cluster)
    );
  }

  /** Starts a pod, or says what comes of it where its node is left for later. */
  private async start(start: Start): Promise<PodOutcome> {
    const { cluster } = this.options;
    const { pod, sandbox } = start;
    const node = this.nodeOf(pod);
    if (this.options.isLeftWaiting(pod))
      return { pod, running: undefined, remarks: [waitingRemark(pod)], obstacles: [] };
    const hindrance = this.hindranceOf(start);
    if (hindrance !== undefined) return { pod, running: undefined, remarks: [hindrance], obstacles: [] };
    const left = this.atRest.get(node.spec.name);
    // A process of the node's own network needs nothing of HNS.
    if (left === undefined || sandbox.network === "host") {
      const outcome = await this.make(start);
      if (outcome.running === undefined) return outcome;
      const running = new NodePod(outcome.running, cluster.demand);
      running.comeUp(outcome.running);
      return { ...outcome, running };
    }
    left.starts.push(start);
    const foreseen = defined(left.prospects.get(start.identity), "a pod that is left for later is foreseen");
    if ("refusal" in foreseen) return { pod, running: undefined, remarks: [foreseen.refusal], obstacles: [] };
    const { address } = foreseen;
    const running = new NodePod({ spec: sandbox, node, address, address6: undefined }, cluster.demand);
    const obstacles = obstaclesOf(pod, node.spec);
    return { pod, running, remarks: this.remarksOf(start, obstacles), obstacles };
  }

  private remarksOf({ pod, sandbox }: DuePod, obstacles: readonly ContainerObstacle[]): readonly PodRemark[] {
    const node = this.nodeOf(pod);
    return [
      ...remarksOf(pod, node, this.options.dnsOf(pod, node)),
      ...unmappedPorts(sandbox, node, this.options.cluster),
      ...containerRemarks(pod, obstacles),
    ];
  }

  private async make({ pod, sandbox }: Start): Promise<PodOutcome> {
    const { kubelets, dnsOf } = this.options;
    const node = this.nodeOf(pod);
    const kubelet = kubelets.get(node.spec.name);
    if (kubelet === undefined) throw new RangeError(`no kubelet for node ${node.spec.name}`);
    const dns = dnsOf(pod, node);
    const obstacles = obstaclesOf(pod, node.spec);
    try {
      const containers = runningContainers(pod, obstacles);
      const running = await this.addPatiently(kubelet, sandbox, { dns: dns.settings, containers });
      if (!isHostNetwork(pod)) running.compartment.hosts = podHosts(pod, running.address);
      return { pod, running, remarks: this.remarksOf({ pod, sandbox }, obstacles), obstacles };
    } catch (error) {
      return { pod, running: undefined, remarks: [sandboxRefusal(error)], obstacles: [] };
    }
  }
}

/** What HNS or a plugin refused, in words. Anything else is a fault of our own, and thrown. */
function refusalOf(error: unknown, what: string): PodRemark {
  const isRefusal = [HcnError, HcnNotFoundError, CniError, PluginPanic].some((each) => error instanceof each);
  if (!isRefusal) throw error;
  const known = error instanceof HcnError ? error.explanation : undefined;
  const code = error instanceof CniError ? error.knowledge : known;
  return { code: code ?? "pod-sandbox-failed", text: `${what}: ${describeError(error)}` };
}

function sandboxRefusal(error: unknown): PodRemark {
  return refusalOf(error, "its sandbox cannot be set up");
}

/** What a dump says of a pod that waits. */
export const WAITS: KnowledgeCode = "pod-waits-in-input";

function waitingRemark({ status }: Pod): PodRemark {
  const reasons = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.waiting?.reason ?? []);
  const why = reasons[0] === undefined ? "" : ` (${reasons[0]})`;
  return { code: WAITS, text: WORDS.podPendingInInput({ why }) };
}

/** A volume that a kubelet of Windows mounts for no pod. What a dump shows running has its volumes. */
function unmountedVolume({ spec, status }: Pod, { os, name: node }: NodeSpec): PodRemark | undefined {
  if (os !== "windows" || status?.phase === "Running") return undefined;
  const [first] = volumesNotForWindows(spec);
  if (first === undefined) return undefined;
  const { name, type } = first;
  return { code: "volume-not-for-windows", text: WORDS.volumeNotMounted({ name, type, node }) };
}

/** A network that the pod's manifest names, and its node does not have. */
function missingNetwork(
  { network, podNetwork, node }: FilePodSpec,
  { spec }: ClusterNode,
  { file }: Cluster,
): PodRemark | undefined {
  if (network === "host") return undefined;
  const all = [file.network, ...file.networks];
  const there = all.filter(({ name, ranges }) => name === file.network.name || ranges[node] !== undefined);
  const usable = (spec.os === "linux" ? [file.network] : there).map(({ name }) => name);
  if (usable.includes(podNetwork)) return undefined;
  return {
    code: "pod-sandbox-failed",
    text: `its annotation ${NETWORK_ANNOTATION} names ${JSON.stringify(podNetwork)}; node ${node} has ${usable.join(", ")}`,
  };
}

/** Docker maps ports of the host in networks of driver nat, and a pod of 2017 is asked for in its other one. */
function unmappedPorts(
  { ports }: FilePodSpec,
  { spec }: ClusterNode,
  { file }: Cluster,
): readonly PodRemark[] {
  const hostPorts = ports.flatMap(({ hostPort }) => hostPort ?? []);
  if (file.network.plugin !== "acs-2017" || spec.os !== "windows" || hostPorts.length === 0) return [];
  const text = WORDS.acsHostPorts({ ports: hostPorts.join(", ") });
  return [{ code: "host-port-ignored", text, isTrouble: true }];
}

/** An address of a dump that the pod cannot have here: its node gives its pods addresses of one range. */
function strangeAddress(
  { address, podNetwork, node }: FilePodSpec,
  { file }: Cluster,
): PodRemark | undefined {
  const network = [file.network, ...file.networks].find(({ name }) => name === podNetwork);
  const range = network?.ranges[node];
  if (address === undefined || range === undefined || prefixContains(range, address)) return undefined;
  return {
    code: "pod-address-outside-range",
    text: WORDS.podAddressOutsideRange({ address: formatIp(address), range: formatPrefix(range) }),
  };
}

/**
 * `hostNetwork` on Windows means nothing without HostProcess: kubelet passes it on only with the feature gate
 * WindowsHostNetwork (kubernetes/kubernetes pull request 112961), and containerd calls CNI for such a pod as for any
 * other (containerd/containerd issue 4856).
 */
function remarksOf(pod: Pod, node: ClusterNode, dns: PodDns): readonly PodRemark[] {
  const remarks: PodRemark[] = [];
  if (node.spec.os === "windows" && isHostNetwork(pod) && !isHostProcess(pod)) {
    remarks.push({
      code: "host-network-unsupported",
      text: WORDS.hostNetworkUnsupported,
    });
  }
  if (dns.code !== undefined)
    remarks.push({
      code: dns.code,
      text: `dnsPolicy ${pod.spec?.dnsPolicy ?? ""} is not supported on Windows`,
    });
  return remarks;
}

/** What does not run in a pod that has its network. */
function containerRemarks(pod: Pod, obstacles: readonly ContainerObstacle[]): readonly PodRemark[] {
  const blocked = new Set([...obstacles.map(({ container }) => container), ...crashingContainers(pod)]);
  const told = (pod.status?.containerStatuses ?? []).flatMap((status): readonly PodRemark[] => {
    const fault = blocked.has(status.name) ? undefined : faultOfContainer(status);
    if (fault === undefined) return [];
    return [
      {
        code: "container-not-running",
        text: WORDS.containerNotRunningInInput({ name: status.name, reason: fault.reason }),
      },
    ];
  });
  return [
    ...obstacles.map((each) => ({
      code: each.code,
      text: `its container ${each.container} does not start: ${each.text}`,
      isTrouble: !isToldBy(pod, each),
    })),
    ...told,
    ...sharedPorts(pod).map(({ containers: [first, second], port, protocol }) => ({
      code: "container-ports-conflict" as const,
      text: WORDS.containerPortConflict({ first, second, protocol, port }),
      isTrouble: true,
    })),
    ...hopelessProbes(pod).map(({ container, probe, port }) => ({
      code: "probe-port-undeclared" as const,
      text: WORDS.probePortUndeclared({ container, probe, port }),
      isTrouble: true,
    })),
  ];
}
