/**
 * The hybrid overlay of an emulated cluster: what ovn-kubernetes writes into Nodes, hybrid-overlay-node on every Windows node, and
 * the bridge `br-ext` on every other one. They hear of Nodes from the API server alone; what they do to packets lies in HNS and
 * in the stacks of the machines.
 */
import { defined } from "#core/base/assert.ts";
import type { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import { type HybridNode, hybridNodeOf } from "#programs/ovn/hybrid/annotations.ts";
import { HybridOverlayControlPlane } from "#programs/ovn/hybrid/control-plane.ts";
import type { HybridOverlayFinding } from "#programs/ovn/hybrid/finding.ts";
import { HybridOverlayLinuxNode } from "#programs/ovn/hybrid/linux-node.ts";
import { HybridOverlayWindowsNode } from "#programs/ovn/hybrid/windows-node.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { ReachableSource } from "../flannel/reachable-source.ts";
import type { Kubelet } from "../machines/kubelet.ts";
import { LinuxKubelet } from "../machines/linux-node.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import type { NetworkPrograms } from "../life/network-programs.ts";
import { SimulatedOvnHost } from "./simulated-ovn-host.ts";

/** What keeps a node from its network, or others from the node. */
export interface HybridOverlayTrouble {
  readonly node: string;
  readonly finding: HybridOverlayFinding;
}

/** Programs write, and hear of what was written, until nothing changes: a few rounds; more is a fault of ours. */
const ROUNDS_MAX = 32;

export class HybridOverlayDaemons implements NetworkPrograms {
  private readonly cluster: Cluster;
  private readonly source: ReachableSource;
  private readonly controlPlane: HybridOverlayControlPlane;
  private readonly windows: ReadonlyMap<string, HybridOverlayWindowsNode>;
  private readonly linux: ReadonlyMap<string, HybridOverlayLinuxNode>;
  private readonly hosts: ReadonlyMap<string, SimulatedOvnHost>;
  /** Whose programs do not run. */
  private readonly stopped = new Set<string>();
  /** By name, as every program has heard of them. */
  private heard = new Map<string, Node>();
  private nodes: readonly HybridNode[] = [];
  /** What the bridge of each node of OVN was last computed from. */
  private readonly written = new Map<string, string>();
  /** Windows nodes whose program begins with the next round. */
  private beginning = new Set<string>();

  constructor(cluster: Cluster, server: MemoryKubeSource, kubelets: ReadonlyMap<string, Kubelet>) {
    this.cluster = cluster;
    this.source = new ReachableSource(server);
    this.controlPlane = new HybridOverlayControlPlane((name) => this.rangeOf(name), this.annotate);
    this.windows = new Map(
      cluster.nodes
        .filter(({ hns }) => hns !== undefined)
        .map((node) => [node.spec.name, this.onWindows(node)]),
    );
    this.hosts = new Map(
      cluster.nodes
        .filter(({ hns }) => hns === undefined)
        .map(({ spec, host }) => {
          const kubelet = kubelets.get(spec.name);
          if (!(kubelet instanceof LinuxKubelet)) throw new TypeError(`${spec.name} has a kubelet of Linux`);
          const { vxlanPort } = cluster.file.network;
          const { root } = host;
          return [spec.name, new SimulatedOvnHost({ spec, compartment: root, kubelet, vxlanPort })];
        }),
    );
    this.linux = new Map(
      [...this.hosts].map(([name, host]) => [name, new HybridOverlayLinuxNode(name, host)]),
    );
  }

  /** What hybrid-overlay-node of a node remembers. */
  programOn(node: string): object | undefined {
    return this.windows.get(node) ?? this.linux.get(node);
  }

  async start(): Promise<void> {
    this.beginning = new Set(this.windows.keys());
    for (const host of this.hosts.values()) host.join(this.cluster.file);
    await this.sync();
  }

  async startOn(node: string): Promise<void> {
    this.stopped.delete(node);
    if (this.windows.has(node)) this.beginning.add(node);
    await this.sync();
  }

  stopOn(node: string): void {
    this.stopped.add(node);
    this.windows.get(node)?.stop();
  }

  /** What HNS has lost is its own affair. */
  forgetKernelState(node: string): void {
    this.hosts.get(node)?.forgetKernelState(this.cluster.file);
    this.written.delete(node);
  }

  /** No program of the overlay looks at the time. */
  moveClock(): void {
    return;
  }

  setApiReachable(isReachable: boolean): void {
    this.source.isReachable = isReachable;
  }

  /** Lets all programs hear of what has changed, and write, until nothing changes any more. */
  async sync(): Promise<void> {
    if (!this.source.isReachable) return;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const { items } = await this.source.list("Node");
      const before = this.heard;
      this.heard = new Map(items.map((node) => [node.metadata.name, node]));
      const isSame = [...this.heard].every(
        ([name, { metadata }]) => before.get(name)?.metadata.resourceVersion === metadata.resourceVersion,
      );
      if (isSame && before.size === this.heard.size && this.beginning.size === 0) break;
      this.nodes = items.map(hybridNodeOf);
      if (await this.controlPlane.sync(this.nodes)) {
        // What was written is heard of in the next round, with everything else that is new.
        this.heard = before;
        continue;
      }
      await this.tell(before);
    }
    this.syncBridges();
  }

  listTroubles(): readonly HybridOverlayTrouble[] {
    const ofNodes = this.nodes.flatMap(({ name, unreadable }) =>
      unreadable.map((finding) => ({ node: name, finding })),
    );
    const isToldAbove = new Set(ofNodes.map(({ node }) => node));
    const ofPrograms = [...this.windows, ...this.linux]
      .filter(([node]) => !this.stopped.has(node))
      .flatMap(([node, program]) => program.findings().map((finding) => ({ node, finding })))
      .filter(
        ({ node, finding }) => finding.code !== "hybrid-overlay-annotation-missing" || !isToldAbove.has(node),
      );
    return [...ofNodes, ...ofPrograms];
  }

  /** Events of Nodes for each Windows node, in the order of names; a program that begins hears of all. */
  private async tell(before: ReadonlyMap<string, Node>): Promise<void> {
    const begun = this.beginning;
    this.beginning = new Set();
    for (const [name, program] of this.windows) {
      if (this.stopped.has(name)) continue;
      const own = this.nodes.find((node) => node.name === name);
      const isNew = begun.has(name) || !program.isRunning;
      if (own === undefined) {
        const last = before.get(name);
        if (last !== undefined) await program.nodeDeleted(hybridNodeOf(last));
        continue;
      }
      if (isNew) await program.start(own);
      for (const node of this.nodes) {
        const isTold = before.get(node.name)?.metadata.resourceVersion === this.versionOf(node.name);
        if (isNew || !isTold) await program.nodeChanged(node, this.nodes);
      }
      for (const [other, last] of before)
        if (!this.heard.has(other)) await program.nodeDeleted(hybridNodeOf(last));
    }
  }

  private versionOf(name: string): string | undefined {
    return this.heard.get(name)?.metadata.resourceVersion;
  }

  private syncBridges(): void {
    const versions = [...this.heard].map(([name]) => this.versionOf(name)).join(" ");
    const pods = Map.groupBy(this.cluster.pods, ({ node }) => node.spec.name);
    for (const [name, program] of this.linux) {
      if (this.stopped.has(name)) continue;
      const own = (pods.get(name) ?? []).filter(({ spec }) => spec.network !== "host");
      const addresses = own.map(({ address }) => address).toSorted((a, b) => a - b);
      // What nothing has changed is not written again.
      const seen = `${versions} ${addresses.join(" ")}`;
      if (this.written.get(name) === seen) continue;
      this.written.set(name, seen);
      program.sync(
        this.nodes,
        addresses.map((ip) => ({ ip })),
      );
    }
  }

  private onWindows(node: ClusterNode): HybridOverlayWindowsNode {
    const { spec } = node;
    const { vxlanPort } = this.cluster.file.network;
    return new HybridOverlayWindowsNode({
      client: hcnClientOf(node),
      nodeName: spec.name,
      vxlanPort,
      compat: spec.compat,
      annotate: this.annotate,
    });
  }

  private rangeOf(name: string): ReturnType<() => ClusterNode["spec"]["podCIDR"]> | undefined {
    const spec = this.cluster.nodes.find((node) => node.spec.name === name)?.spec;
    return spec === undefined || !spec.isRangeInNode ? undefined : spec.podCIDR;
  }

  private readonly annotate = async (
    node: string,
    annotations: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const known = defined(this.heard.get(node), "only Nodes that were heard of are annotated");
    const now = (known.metadata as { readonly annotations?: Readonly<Record<string, string>> }).annotations;
    // What is there already is no change.
    if (Object.entries(annotations).every(([name, value]) => now?.[name] === value)) return;
    await this.source.patch(
      "Node",
      { namespace: "", name: node },
      { type: "merge", body: { metadata: { annotations } } },
    );
  };
}
