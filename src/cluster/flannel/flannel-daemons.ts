/**
 * flanneld on every node of an emulated cluster: started with the nodes, told of changes by Kubernetes, and brought to
 * rest with the cluster. What they do to packets lies in the cluster's stacks and in HNS; what they remember lies here.
 */
import { defined } from "../../base/assert.ts";
import { annotationsOf, DEFAULT_ANNOTATION_PREFIX } from "../../flannel/kube/annotations.ts";
import { KubeLeaseStore } from "../../flannel/kube/kube-lease-store.ts";
import { NodeLeases } from "../../flannel/kube/node-leases.ts";
import type { Finding } from "../../flannel/flannel-error.ts";
import type { FlannelHost } from "../../flannel/flannel-host.ts";
import { KeptLog } from "../../flannel/flannel-log.ts";
import { DEFAULT_OPTIONS } from "../../flannel/flanneld-options.ts";
import { Flanneld, type FlanneldState, configurationFor } from "../../flannel/flanneld.ts";
import { type NetworkConfig, parseNetworkConfig } from "../../flannel/network-config.ts";
import { RuleSet } from "../../host/netfilter/rule-set.ts";
import type { KubeSource } from "../../kube/source.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import type { Compat } from "../file/cluster-file.ts";
import { hcnClientOf } from "../windows-node.ts";
import { networkConfiguration } from "./network-configuration.ts";
import type { NodeFiles } from "./node-files.ts";
import { SimulatedLinuxHost } from "./simulated-linux-host.ts";
import { SimulatedWindowsHost } from "./simulated-windows-host.ts";

const ANNOTATIONS = annotationsOf(DEFAULT_ANNOTATION_PREFIX);

/** How long a start may take, in virtual time: longer than the longest wait of a back end. */
const START_MS = 120_000;

/** What keeps a node from its network, or from others. */
export interface FlannelTrouble {
  readonly node: string;
  readonly finding: Finding;
}

/** flanneld on one node, over all its restarts. */
interface Daemon {
  readonly node: ClusterNode;
  readonly host: FlannelHost;
  readonly log: KeptLog;
  flanneld: Flanneld;
  state: FlanneldState | undefined;
  /** Ends its watch. */
  stop: (() => void) | undefined;
  /** When it wants to be called by the clock; undefined: only when something is told. */
  dueAtMs: number | undefined;
}

export class FlannelDaemons {
  private readonly cluster: Cluster;
  /** The same `net-conf.json` on all nodes. */
  private readonly config: NetworkConfig;
  private readonly source: KubeSource;
  private readonly files: ReadonlyMap<string, NodeFiles>;
  private readonly daemons = new Map<string, Daemon>();
  /** By temper: one look at Kubernetes for all nodes of it. */
  private readonly leases = new Map<Compat, NodeLeases>();

  /** `files`: the disks of the nodes, by their names. */
  constructor(cluster: Cluster, source: KubeSource, files: ReadonlyMap<string, NodeFiles>) {
    this.cluster = cluster;
    this.config = parseNetworkConfig(JSON.stringify(networkConfiguration(cluster.file.network)));
    this.source = source;
    this.files = files;
  }

  /** Starts flanneld on each node, and lets time pass until all run or cannot. */
  async start(): Promise<void> {
    const { clock, nodes } = this.cluster;
    for (const node of nodes) {
      const host = this.hostOf(node);
      const log = new KeptLog();
      const flanneld = this.create(node, host, log);
      const fresh = { state: undefined, stop: undefined, dueAtMs: clock.nowMs };
      this.daemons.set(node.spec.name, { node, host, log, flanneld, ...fresh });
    }
    const end = clock.nowMs + START_MS;
    for (;;) {
      await this.work();
      const waiting = [...this.daemons.values()].filter(({ state }) => state?.state === "waiting");
      if (waiting.length === 0 || clock.nowMs >= end) return;
      const next = Math.min(...waiting.map(({ dueAtMs = end }) => dueAtMs));
      clock.runUntil(Math.max(next, clock.nowMs + 1));
    }
  }

  /** Lets everybody work on what was told and on what is due by the clock, until nobody has anything left. */
  async sync(): Promise<void> {
    for (const daemon of this.daemons.values())
      if (daemon.state?.state === "ended" && daemon.node.spec.flanneld.isRestarted) this.restart(daemon);
    await this.work();
  }

  private async work(): Promise<void> {
    const { clock } = this.cluster;
    for (;;) {
      // A watch tells in a turn of its own.
      await Promise.resolve();
      const due = [...this.daemons.values()].filter(
        ({ dueAtMs }) => dueAtMs !== undefined && dueAtMs <= clock.nowMs,
      );
      if (due.length === 0) return;
      for (const daemon of due) await this.advance(daemon);
    }
  }

  private async advance(daemon: Daemon): Promise<void> {
    const { clock } = this.cluster;
    daemon.dueAtMs = undefined;
    const state = await daemon.flanneld.advance(clock.nowMs);
    daemon.state = state;
    if (daemon.flanneld.needsFollowing) {
      daemon.stop?.();
      daemon.stop = await daemon.flanneld.follow(() => {
        daemon.dueAtMs = clock.nowMs;
      });
      daemon.dueAtMs = clock.nowMs;
      return;
    }
    const waitMs =
      state.state === "waiting" ? state.retryAfterMs : state.state === "running" ? state.nextMs : undefined;
    // What was told meanwhile is due already. At least a moment, so that the round ends.
    if (waitMs !== undefined) daemon.dueAtMs ??= clock.nowMs + Math.max(waitMs, 1);
  }

  listTroubles(): readonly FlannelTrouble[] {
    return [...this.daemons].flatMap(([node, { flanneld, state }]) => {
      const waiting = state?.state === "waiting" ? [state.finding] : [];
      return [...waiting, ...flanneld.findings()].map((finding) => ({ node, finding }));
    });
  }

  /** A process that has ended is started again by whoever looks after it: kubelet, or the service manager. */
  private restart(daemon: Daemon): void {
    daemon.stop?.();
    daemon.stop = undefined;
    daemon.flanneld = this.create(daemon.node, daemon.host, daemon.log);
    daemon.dueAtMs = this.cluster.clock.nowMs;
  }

  /** The machine as flanneld finds it; it outlives the process. */
  private hostOf({ spec, host, hns }: ClusterNode): FlannelHost {
    if (hns !== undefined) return new SimulatedWindowsHost(host.root);
    const rules = new RuleSet();
    host.root.enableNetfilter().use(rules);
    const { env } = this.cluster;
    return new SimulatedLinuxHost({ env, name: spec.name, compartment: host.root, rules });
  }

  private create(node: ClusterNode, host: FlannelHost, log: KeptLog): Flanneld {
    const { spec } = node;
    const { clock } = this.cluster;
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
      clock,
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
    const { clock } = this.cluster;
    const leases = new NodeLeases({
      source: this.source,
      clock,
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
