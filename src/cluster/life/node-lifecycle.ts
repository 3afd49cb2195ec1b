/**
 * Nodes of a running cluster that go down, come up, leave and join again. What happens to machine, HNS and programs
 * happens here, in the order of a real node; what comes of it is for flanneld, kube-proxy and kubelet to see.
 */
import type { HnsService } from "#hns/service/hns-service.ts";
import type { RestartState } from "#hns/failures/faults/fault.ts";
import type { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { Node, Pod } from "#contracts/kubernetes/objects.ts";
import { type Prefix, formatPrefix, parsePrefix, prefixCovers, prefixesOverlap } from "#core/net/ip.ts";
import { nodeObjects } from "../session/built-in-objects.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import type { NodeSpec } from "../file/cluster-file.ts";
import type { Kubelet } from "../machines/kubelet.ts";
import { parseQuirk } from "#core/catalogue/quirks.ts";
import { RequestError } from "../request-error.ts";
import type { RunningPods } from "../pods/running-pods.ts";
import type { ServiceProxies } from "../services/service-proxies.ts";
import type { NetworkPrograms } from "./network-programs.ts";
import type { NodeChange, NodeStanding } from "./node-change.ts";
import { setNodeFault } from "./node-faults.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** A range has to hold the network's own addresses and some pods. */
const LENGTH_MAX = 28;

function refuse(message: string, advice: string): never {
  throw new RequestError("node-action-impossible", message, advice);
}

/** @throws RequestError for a node that runs Linux, which has no `what`. */
function hnsOf({ spec, hns }: ClusterNode, what: string = "HNS"): HnsService {
  return hns ?? refuse(`node ${spec.name} has no ${what}: it runs Linux`, WORDS.adviceHnsOnWindowsOnly);
}

/**
 * Whether a node may join with a range for its pods: as the cluster file would be refused.
 * @param nodes those that have ranges now.
 * @throws RequestError for one that cannot be.
 */
function checkJoinRange(
  { file }: Cluster,
  text: string,
  { spec }: ClusterNode,
  nodes: readonly Node[],
): Prefix {
  const range = parsePrefix(text);
  const shown = JSON.stringify(text);
  const { clusterCIDR } = file.network;
  if (range === undefined || typeof range.address !== "number")
    return refuse(
      `${shown} is not a range of IPv4 addresses`,
      "Write its first address and length, as 10.244.7.0/24.",
    );
  if (!prefixCovers(clusterCIDR, range) || range.length > LENGTH_MAX)
    return refuse(
      WORDS.podCIDRInvalid({ shown }),
      `Choose one in ${formatPrefix(clusterCIDR)}, with a length up to /${LENGTH_MAX}.`,
    );
  for (const { metadata, spec: other } of nodes) {
    const taken = parsePrefix(other?.podCIDR ?? "");
    if (metadata.name !== spec.name && taken !== undefined && prefixesOverlap(taken, range))
      return refuse(
        `${shown} overlaps ${formatPrefix(taken)}, the range of node ${metadata.name}`,
        "Choose a range that no other node has.",
      );
  }
  return range;
}

export interface NodeLifecycleParts {
  readonly cluster: Cluster;
  readonly kube: MemoryKube;
  readonly kubelets: ReadonlyMap<string, Kubelet>;
  readonly pods: RunningPods;
  readonly proxies: ServiceProxies;
  /** Whatever makes the networks of nodes anew; undefined where no program does. */
  readonly network: NetworkPrograms | undefined;
  /** Lets everybody work until nothing changes any more. */
  readonly work: () => Promise<void>;
  readonly isApiUp: () => boolean;
}

const UNKNOWN = { status: "Unknown", reason: "NodeStatusUnknown" } as const;

export class NodeLifecycle {
  private readonly parts: NodeLifecycleParts;
  /** Nodes that are not joined. */
  private readonly standings = new Map<string, Exclude<NodeStanding, "joined">>();

  /** Nodes whose kubelet has begun during an outage of the API server. */
  private readonly unregistered = new Set<string>();

  constructor(parts: NodeLifecycleParts) {
    this.parts = parts;
  }

  standingOf(node: string): NodeStanding {
    return this.standings.get(node) ?? "joined";
  }

  /** @returns what happened, as an event tells it. @throws RequestError for what this node cannot do now. */
  async change(name: string, change: NodeChange): Promise<string> {
    const node = this.find(name);
    switch (change.do) {
      case "reboot":
        this.require(name, "reboot", ["joined", "left"]);
        return this.reboot(node);
      case "stop":
        this.require(name, "stop", ["joined"]);
        this.goDown(node);
        this.standings.set(name, "stopped");
        this.reportUnready(name);
        await this.parts.work();
        return "the machine is off";
      case "start":
        this.require(name, "start", ["stopped"]);
        this.standings.delete(name);
        await this.comeUp(node);
        return "the machine is on, and its programs run";
      case "restart-hns":
        this.require(name, "restart-hns", ["joined", "left"]);
        return this.restartHns(node, change.state);
      case "leave":
        this.require(name, "leave", ["joined"]);
        return this.leave(node);
      case "rejoin":
        this.require(name, "rejoin", ["left"]);
        return this.rejoin(node, change.podCIDR);
      case "set-quirk":
        return this.setQuirk(node, change);
      case "set-fault":
        return this.setFault(node, change);
      case "set-clock":
        this.networkOf("set-clock").moveClock(name, change.byMs);
        await this.parts.work();
        return `the machine's clock has moved by ${change.byMs} ms`;
    }
  }

  /** After an outage kubelets register and report, and the node controller sees who is silent. */
  apiIsBack(): void {
    for (const node of this.parts.cluster.nodes) {
      const { name } = node.spec;
      const standing = this.standingOf(name);
      if (standing === "stopped") this.reportUnready(name);
      if (standing === "joined" && this.unregistered.has(name)) this.register(node);
    }
  }

  private find(name: string): ClusterNode {
    const { nodes } = this.parts.cluster;
    const node = nodes.find(({ spec }) => spec.name === name);
    if (node !== undefined) return node;
    throw new RequestError(
      "unknown-object",
      `the cluster has no machine ${JSON.stringify(name)}`,
      `Machines are: ${nodes.map(({ spec }) => spec.name).join(", ")}.`,
    );
  }

  private require(name: string, action: NodeChange["do"], allowed: readonly NodeStanding[]): void {
    const standing = this.standingOf(name);
    if (!allowed.includes(standing))
      refuse(
        `node ${name} cannot ${action}: ${standing === "joined" ? "it is a part of the cluster, and on" : standing === "left" ? "it has left the cluster" : "its machine is off"}`,
        `First: mullion node ${standing === "joined" ? "leave, or stop," : standing === "left" ? "rejoin" : "start"} ${name}`,
      );
    // What restarts the service alone needs nobody who makes the networks again.
    const isOwn = action === "reboot" || action === "stop" || action === "start";
    if (action !== "restart-hns" && !(isOwn && this.hasDocker)) this.networkOf(action);
    const needsApi = action === "leave" || action === "rejoin";
    if (needsApi && !this.parts.isApiUp())
      throw new RequestError(
        "kubernetes-unreachable",
        `node ${name} cannot ${action}: the API server is down`,
        "First: mullion control-plane start",
      );
  }

  /** Docker's engine makes its networks anew; its hosts join no cluster. */
  private get hasDocker(): boolean {
    return this.parts.cluster.file.network.plugin === "docker";
  }

  /** Networks that no program makes would be gone for good. */
  private networkOf(action: NodeChange["do"]): NetworkPrograms {
    const advice = "Write network: { plugin: flannel, backend: vxlan } in the cluster file.";
    return this.parts.network ?? refuse(WORDS.actionNeedsProgramNetwork({ action }), advice);
  }

  private async reboot(node: ClusterNode): Promise<string> {
    const { name } = node.spec;
    this.goDown(node);
    if (this.standingOf(name) === "joined") await this.comeUp(node);
    else this.plugIn(node);
    return "the machine has been restarted";
  }

  /** Power off: nobody is told. Stored networks and endpoints, files and books of addresses outlive it. */
  private goDown(node: ClusterNode): void {
    const { pods, proxies, kubelets } = this.parts;
    const { name } = node.spec;
    this.parts.network?.stopOn(name);
    proxies.stopOn(name);
    pods.stopOn(name);
    this.lose(name, () => true);
    node.uplink.isUp = false;
    node.hns?.reboot();
    this.parts.network?.forgetKernelState(name);
    kubelets.get(name)?.rebooted();
    const { root } = node.host;
    root.tcp.close();
    for (const { neighbors } of root.listInterfaces())
      for (const { ip, state } of neighbors.list()) if (state !== "permanent") neighbors.remove(ip);
  }

  private plugIn(node: ClusterNode): void {
    node.uplink.isUp = true;
  }

  /** Power on: who makes the network first, as everything else needs its network. */
  private async comeUp(node: ClusterNode): Promise<void> {
    this.plugIn(node);
    this.register(node);
    await this.startPrograms(node);
    await this.parts.work();
  }

  /** A kubelet that begins registers its Node, if it is not there, and says that it is ready. */
  private register(node: ClusterNode): void {
    const { kube, cluster, isApiUp } = this.parts;
    const { name } = node.spec;
    if (!isApiUp()) {
      this.unregistered.add(name);
      return;
    }
    this.unregistered.delete(name);
    if (kube.get("Node", "", name) === undefined) kube.apply(nodeObjects(cluster.file, node.spec));
    else this.reportNode(name, { status: "True", reason: "KubeletReady" });
  }

  private async startPrograms(node: ClusterNode): Promise<void> {
    const { pods, proxies } = this.parts;
    await this.parts.network?.startOn(node.spec.name);
    await this.parts.kubelets.get(node.spec.name)?.startNetworks();
    await proxies.startOn(node);
    pods.startOn(node.spec.name);
  }

  /** The node's facts say it as well: they tell what can be expected of it, and which nodes are equal. */
  private async setQuirk(
    node: ClusterNode,
    { quirk, setting }: Extract<NodeChange, { readonly do: "set-quirk" }>,
  ): Promise<string> {
    const hns = hnsOf(node, "defects of Windows");
    const parsed = parseQuirk(`${quirk}=${setting}`);
    if ("problem" in parsed)
      throw new RequestError("api-request-invalid", parsed.problem, WORDS.adviceQuirkSetting);
    hns.setQuirk(parsed.name, parsed.setting);
    const quirks = Object.freeze({ ...node.spec.quirks, [parsed.name]: parsed.setting });
    node.spec = Object.freeze({ ...node.spec, quirks });
    await this.parts.work();
    return `the defect ${parsed.name} is set: ${setting}`;
  }

  private async setFault(
    node: ClusterNode,
    { fault, isOn }: Extract<NodeChange, { readonly do: "set-fault" }>,
  ): Promise<string> {
    hnsOf(node);
    await setNodeFault(node, fault, isOn);
    await this.parts.work();
    return isOn ? `the fault ${fault} is in force` : `the fault ${fault} is gone`;
  }

  private async restartHns(node: ClusterNode, state: RestartState | undefined): Promise<string> {
    const hns = hnsOf(node);
    hns.restart(state);
    const namespaces = new Set(hns.enumerate("Namespace"));
    this.lose(node.spec.name, ({ namespaceId }) => namespaceId !== undefined && !namespaces.has(namespaceId));
    await this.parts.work();
    return `HNS has been restarted${state === undefined ? "" : ` (${state})`}`;
  }

  /** Pods that have lost their sandboxes have no address, and are not ready. */
  private lose(name: string, hasEnded: (running: ClusterPod) => boolean): void {
    for (const pod of this.parts.pods.lose(name, hasEnded)) this.reportUnreadyPod(pod, []);
  }

  private async leave(node: ClusterNode): Promise<string> {
    const { kube, pods, proxies, work } = this.parts;
    const { name } = node.spec;
    this.networkOf("leave").stopOn(name);
    proxies.stopOn(name);
    if (kube.get("Node", "", name) !== undefined) kube.delete("Node", "", name);
    // The kubelet takes its pods away before it ends, as with a drain.
    await work();
    pods.stopOn(name);
    this.standings.set(name, "left");
    return WORDS.nodeHasLeft;
  }

  private async rejoin(node: ClusterNode, podCIDR: string | undefined): Promise<string> {
    const { cluster, kube, kubelets } = this.parts;
    const { name } = node.spec;
    const range =
      podCIDR === undefined
        ? node.spec.podCIDR
        : checkJoinRange(cluster, podCIDR, node, kube.objects("Node"));
    this.changeRange(node, range);
    this.register(node);
    kubelets.get(name)?.joined(cluster.file);
    this.standings.delete(name);
    await this.startPrograms(node);
    await this.parts.work();
    return `the node has joined with ${formatPrefix(range)} for its pods`;
  }

  /** The cluster's description follows, for whoever reads it. */
  private changeRange(node: ClusterNode, podCIDR: Prefix): void {
    const { cluster } = this.parts;
    const { file } = cluster;
    const spec: NodeSpec = Object.freeze({ ...node.spec, podCIDR });
    node.spec = spec;
    const { network } = file;
    cluster.file = Object.freeze({
      ...file,
      nodes: Object.freeze(file.nodes.map((each) => (each.name === spec.name ? spec : each))),
      network: Object.freeze({
        ...network,
        ranges: Object.freeze({ ...network.ranges, [spec.name]: podCIDR }),
      }),
    });
  }

  /** What the node controller writes when a kubelet is silent (its grace period is not waited for). */
  private reportUnready(name: string): void {
    this.reportNode(name, UNKNOWN);
    if (!this.parts.isApiUp()) return;
    for (const pod of this.parts.kube.podsOnNode(name)) this.reportUnreadyPod(pod, undefined);
  }

  private reportNode(
    name: string,
    { status, reason }: { readonly status: string; readonly reason: string },
  ): void {
    const { kube, isApiUp } = this.parts;
    const node = kube.get("Node", "", name);
    if (node === undefined || !isApiUp()) return;
    const others = (node.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
    const conditions = [...others, { type: "Ready", status, reason }];
    const changed = { ...node, status: { ...node.status, conditions } };
    kube.replace(changed, { subresource: "status" });
  }

  /** `podIPs`: none for a pod without a network. */
  private reportUnreadyPod({ metadata }: Pod, podIPs: readonly string[] | undefined): void {
    const { kube, isApiUp } = this.parts;
    const { namespace, name } = metadata;
    if (!isApiUp() || kube.get("Pod", namespace, name) === undefined) return;
    kube.setPodStatus(namespace, name, {
      ...(podIPs === undefined ? {} : { podIPs }),
      conditions: ["Ready", "ContainersReady"].map((type) => ({ type, status: "False" })),
    });
  }
}
