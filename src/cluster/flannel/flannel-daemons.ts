/**
 * flanneld on every node of an emulated cluster: started with the nodes, told of changes by Kubernetes, and brought to
 * rest with the cluster. What they do to packets lies in the cluster's stacks and in HNS; what they remember lies here.
 */
import { defined } from "#core/base/assert.ts";
import { type Clock, type Task, type Timer, VirtualClock } from "#core/base/clock.ts";
import type { Compat } from "#core/base/compat.ts";
import { DEFAULT_ANNOTATION_PREFIX, annotationsOf } from "#programs/flannel/kube/node-lease.ts";
import { KubeLeaseStore } from "#programs/flannel/kube/kube-lease-store.ts";
import { NodeLeases } from "#programs/flannel/kube/node-leases.ts";
import { type FlannelFinding, KeptLog } from "#programs/flannel/reports.ts";
import type { FlannelHost } from "#programs/flannel/node/flannel-host.ts";
import { DEFAULT_OPTIONS } from "#programs/flannel/flanneld-options.ts";
import { Flanneld, configurationFor } from "#programs/flannel/flanneld.ts";
import { type NetworkConfig, parseNetworkConfig } from "#programs/flannel/network-config.ts";
import { RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import type { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { FlannelDaemon } from "./flannel-daemon.ts";
import { networkConfiguration } from "./network-configuration.ts";
import type { NodeFiles } from "./node-files.ts";
import { ReachableSource } from "./reachable-source.ts";
import { SimulatedLinuxHost, SimulatedWindowsHost } from "./simulated-hosts.ts";

/**
 * The time of programs that belong to no world: what they have scheduled is kept apart from the world's clock, so that a
 * fork has none of it. Says the world's time, and runs what is due when somebody asks it to.
 */
class ProgramClock implements Clock {
  private readonly world: Pick<Clock, "nowMs">;
  private readonly own = new VirtualClock();

  constructor(world: Pick<Clock, "nowMs">) {
    this.world = world;
  }

  get nowMs(): number {
    return this.world.nowMs;
  }

  /** When something is due next; undefined: nothing is. */
  get nextAtMs(): number | undefined {
    return this.own.nextAtMs();
  }

  schedule(afterMs: number, task: Task): Timer {
    this.runDue();
    return this.own.schedule(afterMs, task);
  }

  cancel(timer: Timer): void {
    this.own.cancel(timer);
  }

  isLast(timer: Timer, afterMs: number): boolean {
    return this.own.isLast(timer, afterMs);
  }

  /** Runs what the world's time has made due. */
  runDue(): void {
    if (this.own.nowMs < this.nowMs) this.own.runUntil(this.nowMs);
  }
}

const ANNOTATIONS = annotationsOf(DEFAULT_ANNOTATION_PREFIX);

/** How long a start may take, in virtual time: longer than the longest wait of a back end. */
const START_MS = 120_000;
/** kubelet starts a container that has ended again after so long, the first times (Kubernetes, CrashLoopBackOff). */
const RESTART_MS = 10_000;
const RESTARTS_MAX = 3;
/** What a watch tells, and a list behind it, has its promises behind it after so many turns. */
const TURNS = 10;

/** What keeps a node from its network, or from others. */
export interface FlannelTrouble {
  readonly node: string;
  readonly finding: FlannelFinding;
}

export class FlannelDaemons {
  private readonly cluster: Cluster;
  /** The same `net-conf.json` on all nodes. */
  private readonly config: NetworkConfig;
  private readonly source: ReachableSource;
  private readonly clock: ProgramClock;
  private readonly files: ReadonlyMap<string, NodeFiles>;
  private readonly daemons: ReadonlyMap<string, FlannelDaemon>;
  /** By mode: one look at Kubernetes for all nodes of it. */
  private readonly leases = new Map<Compat, NodeLeases>();

  /** `files`: the disks of the nodes, by their names. */
  constructor(cluster: Cluster, server: MemoryKubeSource, files: ReadonlyMap<string, NodeFiles>) {
    this.cluster = cluster;
    this.config = parseNetworkConfig(JSON.stringify(networkConfiguration(cluster.file.network)));
    this.source = new ReachableSource(server);
    this.clock = new ProgramClock(cluster.clock);
    this.files = files;
    this.daemons = new Map(cluster.nodes.map((node) => [node.spec.name, this.daemonOf(node)]));
  }

  /** What flanneld of a node remembers. */
  programOn(node: string): object {
    return this.of(node);
  }

  /** What flanneld of all nodes has in common, and what that is. */
  shared(): readonly (readonly [object, string])[] {
    const leases = [...this.leases.values()].map((each) => [each, "leases"] as const);
    return [
      [this.source, "API server of flannel"],
      [this.clock, "clock of flannel"],
      [this.config, "net-conf.json"],
      ...leases,
    ];
  }

  /** Starts flanneld on each node as its service manager does, again where it ends, and lets time pass until all run or cannot. */
  async start(): Promise<void> {
    await this.startAll([...this.daemons.values()]);
  }

  /** Starts flanneld of a node as its service manager does, again if it ends, and lets time pass until it runs or cannot. */
  async startOn(node: string): Promise<void> {
    await this.startAll([this.of(node)]);
  }

  private async startAll(daemons: readonly FlannelDaemon[]): Promise<void> {
    for (const daemon of daemons) daemon.start();
    for (let restarts = 0; ; restarts++) {
      await this.bringUp();
      const ended = daemons.filter(({ state, isRestarted }) => state?.state === "ended" && isRestarted);
      if (ended.length === 0 || restarts === RESTARTS_MAX) return;
      this.cluster.clock.runUntil(this.cluster.clock.nowMs + RESTART_MS);
      for (const daemon of ended) daemon.start();
    }
  }

  /** Ends flanneld of a node; what it has made stays. */
  stopOn(node: string): void {
    this.of(node).stop();
  }

  /** Takes from a Linux machine what only its kernel had, as a reboot does. What HNS has lost is HNS' own affair. */
  forgetKernelState(node: string): void {
    const { host } = this.of(node);
    if (host instanceof SimulatedLinuxHost) host.forgetKernelState();
  }

  moveClock(node: string, byMs: number): void {
    this.of(node).moveClock(byMs);
  }

  get isApiReachable(): boolean {
    return this.source.isReachable;
  }

  /** Begins or ends an outage of the API server, as flanneld sees it. */
  setApiReachable(isReachable: boolean): void {
    this.source.isReachable = isReachable;
    // All nodes share one look at the API server, and a process that begins now would not wait.
    if (isReachable) for (const leases of this.leases.values()) leases.resume();
  }

  /** When somebody wants to be called next; undefined: nobody does. */
  get nextAtMs(): number | undefined {
    const due = [...this.daemons.values()].flatMap(({ dueAtMs }) => dueAtMs ?? []);
    if (this.clock.nextAtMs !== undefined) due.push(this.clock.nextAtMs);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Lets everybody work on what was told and on what is due by the clock, until nobody has anything left. */
  async sync(): Promise<void> {
    // A process that has ended is started again by whoever looks after it: kubelet, or the service manager.
    for (const daemon of this.daemons.values())
      if (daemon.state?.state === "ended" && daemon.isRestarted) daemon.start();
    await this.work();
  }

  listTroubles(): readonly FlannelTrouble[] {
    return [...this.daemons].flatMap(([node, daemon]) =>
      daemon.findings().map((finding) => ({ node, finding })),
    );
  }

  private of(node: string): FlannelDaemon {
    return defined(this.daemons.get(node), `node ${node} has a machine`);
  }

  private async bringUp(): Promise<void> {
    const { clock } = this.cluster;
    const end = clock.nowMs + START_MS;
    for (;;) {
      await this.work();
      const waiting = [...this.daemons.values()].filter(({ state }) => state?.state === "waiting");
      if (waiting.length === 0 || clock.nowMs >= end || !this.isApiReachable) return;
      const next = Math.min(...waiting.map(({ dueAtMs = end }) => dueAtMs));
      clock.runUntil(Math.max(next, clock.nowMs + 1));
    }
  }

  private async work(): Promise<void> {
    const { clock } = this.cluster;
    for (;;) {
      this.clock.runDue();
      // A watch tells in a turn of its own.
      for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
      const due = [...this.daemons.values()].filter(
        ({ dueAtMs }) => dueAtMs !== undefined && dueAtMs <= clock.nowMs,
      );
      if (due.length === 0) return;
      for (const daemon of due) await daemon.advance();
    }
  }

  private daemonOf(node: ClusterNode): FlannelDaemon {
    return new FlannelDaemon({
      node,
      host: this.hostOf(node),
      clock: this.cluster.clock,
      create: (daemon) => this.create(daemon),
      isApiReachable: () => this.isApiReachable,
    });
  }

  private hostOf({ spec, host, hns }: ClusterNode): FlannelHost {
    if (hns !== undefined) return new SimulatedWindowsHost(host.root);
    const rules = new RuleSet();
    host.root.enableNetfilter().use(rules);
    const { env } = this.cluster;
    return new SimulatedLinuxHost({ env, name: spec.name, compartment: host.root, rules });
  }

  private create(daemon: FlannelDaemon): Flanneld {
    const { node, host, log } = daemon;
    const { spec } = node;
    const families = configurationFor(this.config, host.os);
    const store = new KubeLeaseStore({
      source: this.source,
      leases: this.leasesFor(spec.compat, families),
      nodeName: spec.name,
      annotations: ANNOTATIONS,
      config: families,
      setsCondition: true,
      compat: spec.compat,
      log,
      clock: daemon,
      epochMs: 0,
    });
    return new Flanneld({
      store,
      host,
      client: node.hns === undefined ? undefined : hcnClientOf(node),
      files: defined(this.files.get(spec.name), "a node has a disk"),
      log,
      options: {
        ...DEFAULT_OPTIONS,
        compat: spec.compat,
        iface: [spec.flanneld.iface],
        ipMasq: true,
      },
    });
  }

  private leasesFor(compat: Compat, families: NetworkConfig): NodeLeases {
    const known = this.leases.get(compat);
    if (known !== undefined) return known;
    const leases = new NodeLeases({
      source: this.source,
      clock: this.clock,
      annotations: ANNOTATIONS,
      families,
      compat,
      log: new KeptLog(),
    });
    this.leases.set(compat, leases);
    leases.start();
    return leases;
  }
}
