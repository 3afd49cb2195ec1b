/**
 * Services on all nodes: a kube-proxy with HNS on each Windows node, rules of netfilter on each Linux node. The parsed
 * objects are shared between nodes; a change costs each node that change.
 */
import type { Clock } from "#core/base/clock.ts";
import { AssertionError, assert, defined } from "#core/base/assert.ts";
import type {
  ServiceFinding,
  ServicePortStatus,
  SyncReport,
  SyncRequest,
  Repair,
} from "#programs/kube-proxy/report.ts";
import type { KubeProxy } from "#programs/kube-proxy/kube-proxy.ts";
import type { KubeProxyOptions } from "#programs/kube-proxy/options.ts";
import { ProxyObjects, followSource } from "#programs/kube-proxy/tracking/proxy-objects.ts";
import type { KubernetesRelease } from "../file/cluster-file.ts";
import { createKubeProxy } from "#programs/kube-proxy/mod.ts";
import type { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { EndpointSlice, Node, Service } from "#contracts/kubernetes/objects.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { serviceKeyOf } from "../cluster-objects.ts";
import { parseReportedVersion } from "../session/node-object.ts";
import { HealthServers } from "./health-servers.ts";
import { LinuxServices } from "./linux-services.ts";
import { UserSpaceServices } from "./user-space-services.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import { type LeftSync, NodeKinds, ORDINARY, hasNothingToSay } from "./proxies-at-rest.ts";
import { isServedByProxy } from "../file/driver-traits.ts";
import type { Kubelet } from "../machines/kubelet.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** Upstream's default of `iptables.syncPeriod`, which winkernel goes by as well (kube-proxy.md §1.1). */
export const SYNC_PERIOD_MS = 30_000;

/**
 * When the kube-proxies of a cluster sync without a change of objects: every sync period, as upstream does, and where
 * something failed and its time has come. The executable's is `#programs/kube-proxy/daemon/sync-runner.ts`.
 */
class SyncSchedule {
  private readonly clock: Clock;
  private periodicAtMs: number;
  /** Nodes where something failed, and when it is tried again. */
  private readonly retryAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.clock = clock;
    this.periodicAtMs = clock.nowMs + SYNC_PERIOD_MS;
  }

  /** The first period begins now. */
  begin(): void {
    this.periodicAtMs = this.clock.nowMs + SYNC_PERIOD_MS;
  }

  /** When the next sync is due. */
  get nextAtMs(): number {
    return Math.min(this.periodicAtMs, ...this.retryAtMs.values());
  }

  /** What a sync of all nodes that begins is asked for; a period that is over ends with it. */
  request(): SyncRequest {
    const { nowMs } = this.clock;
    const comparesHns = nowMs >= this.periodicAtMs;
    if (comparesHns) this.periodicAtMs = nowMs + SYNC_PERIOD_MS;
    return { nowMs, comparesHns };
  }

  /** Takes note of what a node's sync could not do. */
  synced(node: string, { families }: SyncReport): void {
    const waits = families.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    if (waits.length === 0) this.retryAtMs.delete(node);
    // At least a moment, so that time goes on.
    else this.retryAtMs.set(node, this.clock.nowMs + Math.max(1, Math.min(...waits)));
  }

  /** A node without a kube-proxy tries nothing again: its time would be due for ever. */
  forget(node: string): void {
    this.retryAtMs.delete(node);
  }
}

/** Something that keeps a Service, or all of them, from working on a Windows node. */
export interface ServiceTrouble {
  readonly node: string;
  /** Both are empty for what concerns the whole proxy. */
  readonly namespace: string;
  readonly name: string;
  readonly finding: ServiceFinding;
}

/** What a kube-proxy in `hardened` mode has put right in HNS, with its node. */
export interface NodeRepair {
  readonly node: string;
  readonly repair: Repair;
}

/** The first sync of kube-proxies of which most wait. */
export interface FirstSync {
  /** When it happens, which may be over. */
  readonly atMs: number;
  /** Lets the pods of nodes start whose kube-proxies are about to work. */
  readonly prepare: (nodes: readonly string[]) => Promise<void>;
  readonly progress: (done: number, total: number) => void;
}

/** A kube-proxy that does not run. */
interface Unstarted {
  readonly node: ClusterNode;
  /** The scripts reserve its source VIP on the network, and wait for that (control-planes.md §2.1). */
  readonly lacksVip: boolean;
  /** When it goes on; undefined: its process has ended. */
  readonly nextAtMs?: number;
  /** Why; undefined: it has not begun. */
  readonly finding?: ServiceFinding;
}

const ZONE_LABEL = "topology.kubernetes.io/zone";

export class ServiceProxies {
  private readonly kube: MemoryKube;
  private readonly objects = new ProxyObjects();
  private readonly windows = new Map<string, KubeProxy>();
  /** Kube-proxies of Windows nodes that do not run yet, or never will. */
  private readonly unstarted = new Map<string, Unstarted>();
  /** One for each family. */
  private readonly linux: readonly LinuxServices[];
  /** Of Windows nodes whose kube-proxy runs in its mode userspace. */
  private readonly userSpace: UserSpaceServices;
  /** By node, then by family, namespace, name and port; only what is worth telling. */
  private readonly troubles = new Map<string, Map<string, ServiceTrouble[]>>();
  private readonly cluster: Cluster;
  private readonly kubelets: ReadonlyMap<string, Kubelet>;
  /** Services whose rules on Linux are old: `namespace/name`. */
  private readonly dirty = new Set<string>();
  /** The slices of each Service, by the Service's and the slice's `namespace/name`. */
  private readonly slices = new Map<string, Map<string, EndpointSlice>>();
  private readonly schedule: SyncSchedule;
  /** Nodes whose kube-proxy goes by a name that is not the Node's. */
  private readonly misnamed = new Map<string, ServiceTrouble>();
  private readonly health: HealthServers;
  /** Kube-proxies of Windows nodes whose first sync is left until somebody asks. */
  private readonly left = new Map<string, LeftSync>();
  /** What has not been taken yet. */
  private repaired: NodeRepair[] = [];

  /** `kubelets`: by the node's name. */
  constructor(cluster: Cluster, kube: MemoryKube, kubelets: ReadonlyMap<string, Kubelet>) {
    this.cluster = cluster;
    this.kubelets = kubelets;
    this.kube = kube;
    this.schedule = new SyncSchedule(cluster.clock);
    this.health = new HealthServers(this.objects, cluster.clock);
    const { network, ipv6 } = cluster.file;
    const ranges = [network.clusterCIDR, ...(ipv6 === undefined ? [] : [ipv6.clusterCIDR])];
    this.linux = ranges.map((range) => new LinuxServices(range));
    const { dns, asDocumented } = cluster.file;
    this.userSpace = new UserSpaceServices({ domain: dns.domain, isBalanced: asDocumented !== "2017" });
  }

  /** Follows the objects from now on and starts the proxies. */
  async start(): Promise<void> {
    const { file, nodes } = this.cluster;
    if (!file.kubeProxy.enabled) return;
    for (const node of nodes) {
      this.serveHealth(node);
      if (node.hns === undefined) this.addLinux(node);
      else if (node.forwarder !== undefined) this.addUserSpace(node, node.forwarder);
      // kube-proxy on Windows knows networks with VFP alone (dataplane.md §2.6, §2.7).
      else if (isServedByProxy(file.network)) await this.addWindows(node);
    }
    await followSource(this.kube, this.objects);
    for (const service of this.kube.objects("Service")) this.dirty.add(keyOf(service));
    for (const slice of this.kube.objects("EndpointSlice")) this.sliceChanged(slice, false);
    const { resourceVersion } = this.kube;
    this.kube.watch("Service", resourceVersion, ({ object }) => this.dirty.add(keyOf(object)));
    this.kube.watch("EndpointSlice", resourceVersion, ({ type, object }) =>
      this.sliceChanged(object, type === "DELETED"),
    );
    await this.startAndSettle();
    this.schedule.begin();
  }

  /** The kube-proxy of a node ends; what it has programmed stays. Rules of Linux are those of its successor. */
  stopOn(node: string): void {
    this.windows.delete(node);
    this.schedule.forget(node);
    this.unstarted.delete(node);
    this.troubles.delete(node);
    this.misnamed.delete(node);
    this.health.stopOn(node);
  }

  /** A kube-proxy begins on a node that had none. */
  async startOn(node: ClusterNode): Promise<void> {
    const { file } = this.cluster;
    const isServed = file.kubeProxy.enabled && isServedByProxy(file.network);
    this.serveHealth(node);
    if (node.hns === undefined || !isServed) return;
    await this.addWindows(node);
    await this.startAndSettle();
  }

  private addUserSpace({ host }: ClusterNode, addresses: Interface): void {
    this.userSpace.addNode({ compartment: host.root, addresses });
  }

  private async addWindows(node: ClusterNode): Promise<Unstarted> {
    const { clock, file } = this.cluster;
    const { name } = node.spec;
    const vip = await this.kubelets.get(name)?.reserveSourceVip();
    const lacksVip =
      vip === undefined && file.network.plugin === "flannel" && file.network.backend === "vxlan";
    this.windows.set(name, this.createWindowsProxy(node, vip));
    const begun: Unstarted = { node, lacksVip, nextAtMs: clock.nowMs };
    this.unstarted.set(name, begun);
    return begun;
  }

  /** On an overlay network kube-proxy waits some seconds before it looks again (kube-proxy.md §2.2). */
  private async startAndSettle(): Promise<void> {
    await this.goOnStarting();
    const { clock } = this.cluster;
    const waits = [...this.unstarted.values()].flatMap(({ nextAtMs }) => nextAtMs ?? []);
    if (waits.length === 0) return;
    clock.runUntil(Math.max(clock.nowMs, ...waits));
    await this.goOnStarting();
  }

  /** Each kube-proxy that waits looks for its network again when its time has come, for ever if need be (§2.2). */
  private async goOnStarting(): Promise<void> {
    const { nowMs } = this.cluster.clock;
    for (const [name, { node, lacksVip, nextAtMs = Number.POSITIVE_INFINITY }] of this.unstarted) {
      if (nextAtMs > nowMs) continue;
      const begun = lacksVip ? await this.addWindows(node) : { node, lacksVip };
      const result = await this.windows.get(name)?.start();
      if (result === undefined || result.state === "running") this.unstarted.delete(name);
      else {
        const { finding } = result;
        const again = result.state === "waiting" ? { nextAtMs: nowMs + result.retryAfterMs } : {};
        this.unstarted.set(name, { node, lacksVip: begun.lacksVip, finding, ...again });
      }
    }
  }

  /** When a kube-proxy has something to do though no object changes; undefined: never. */
  get nextAtMs(): number | undefined {
    if (this.windows.size === 0) return undefined;
    // A network comes while others work, and is looked for behind them: nobody has to wake up each second for it.
    const settling = [...this.unstarted].flatMap(([name, { nextAtMs }]) =>
      this.windows.get(name)?.isSettling === true ? (nextAtMs ?? []) : [],
    );
    return Math.min(this.schedule.nextAtMs, ...settling);
  }

  /** Brings every node up to date. Once in a period each kube-proxy that repairs compares HNS with what it programmed. */
  async sync(progress?: (done: number, total: number) => void): Promise<void> {
    this.syncLinux();
    this.health.sync();
    await this.goOnStarting();
    assert(this.left.size === 0, "what was left for later is done before anything changes");
    const request = this.schedule.request();
    let done = 0;
    for (const node of this.windows.keys()) {
      await this.syncOn(node, request);
      progress?.(++done, this.windows.size);
    }
  }

  /**
   * The first sync, of one kube-proxy of each kind: where it has nothing to say, the others of its kind wait until `raise`
   * names their nodes. What they would say is known, and what they program nobody has asked for.
   */
  async syncKinds({ atMs, prepare, progress }: FirstSync): Promise<void> {
    const { clock } = this.cluster;
    const request = await clock.runLate(atMs, async () => {
      this.syncLinux();
      this.health.sync();
      await this.goOnStarting();
      return this.schedule.request();
    });
    // Nodes are told of in this order, whenever they work.
    for (const node of this.windows.keys()) this.troubles.set(node, new Map());
    let done = 0;
    const syncNode = async (node: string): Promise<SyncReport> => {
      const report = await clock.runLate(atMs, () => this.syncOn(node, request));
      progress(++done, this.windows.size);
      return report;
    };
    const kinds = this.listKinds();
    await prepare(kinds.flatMap(([first]) => first ?? []));
    const speaking: string[] = [];
    for (const [first, ...others] of kinds) {
      if (first === undefined) continue;
      const isSilent = hasNothingToSay(await syncNode(first));
      if (isSilent) for (const node of others) this.leave(node, { request, like: first });
      else speaking.push(...others);
    }
    await prepare(speaking);
    for (const node of speaking) await syncNode(node);
  }

  /** The nodes of each kind; the one with the most pods, which has the least room for anything else, comes first. */
  private listKinds(): readonly (readonly string[])[] {
    const kinds = new NodeKinds(this.cluster);
    const found = Map.groupBy(this.windows.keys(), (name) => this.kindOf(name, kinds) ?? `node ${name}`);
    return [...found.values()].map((names) =>
      names.toSorted((one, other) => kinds.podsOn(other) - kinds.podsOn(one)),
    );
  }

  /** Those of the nodes whose kube-proxies wait. */
  waiting(nodes: Iterable<string> = this.left.keys()): readonly string[] {
    return [...nodes].filter((node) => this.left.has(node));
  }

  /** The kube-proxies of these nodes do what they left for later, as they would have done it then. */
  async raise(nodes: readonly string[], progress?: (done: number, total: number) => void): Promise<void> {
    for (const node of nodes) {
      const left = this.left.get(node);
      if (left === undefined) continue;
      this.left.delete(node);
      const { request, like } = left;
      const atMs = defined(request.nowMs, "a sync has its time");
      const report = await this.cluster.clock.runLate(atMs, () => this.syncOn(node, request));
      for (const each of this.nodeOf(node)?.hns?.listSwitches() ?? []) each.demand = undefined;
      if (!hasNothingToSay(report))
        throw new AssertionError(`the kube-proxy of ${node} answers otherwise than that of ${like}`);
      progress?.(this.windows.size - this.left.size, this.windows.size);
    }
  }

  private leave(node: string, left: LeftSync): void {
    this.left.set(node, left);
    for (const each of this.nodeOf(node)?.hns?.listSwitches() ?? []) each.demand = this.cluster.demand;
  }

  private nodeOf(name: string): ClusterNode | undefined {
    return this.cluster.nodes.find(({ spec }) => spec.name === name);
  }

  private kindOf(name: string, kinds: NodeKinds): string | undefined {
    const node = this.nodeOf(name);
    if (node === undefined || this.unstarted.has(name)) return undefined;
    return kinds.of(node, { kubernetes: this.versionOn(node), hostname: this.hostnameOf(node) });
  }

  private async syncOn(node: string, request: SyncRequest): Promise<SyncReport> {
    const proxy = defined(this.windows.get(node), "a node that syncs has a kube-proxy");
    const report = await proxy.sync(request);
    this.note(node, report);
    this.schedule.synced(node, report);
    for (const repair of report.families.flatMap(({ repairs }) => repairs))
      this.repaired.push({ node, repair });
    return report;
  }

  /** What was put right in HNS since this was last asked. */
  takeRepairs(): readonly NodeRepair[] {
    const taken = this.repaired;
    this.repaired = [];
    return taken;
  }

  /** Every service port as the kube-proxy of a Windows node knows it; undefined: the node has none. */
  statusesOn(node: string): readonly ServicePortStatus[] | undefined {
    assert(!this.left.has(node), "who asks for a node's Services has raised it");
    return this.windows.get(node)?.services();
  }

  /** What the kube-proxy of a Windows node remembers; undefined: there is none. */
  programOn(node: string): object | undefined {
    return this.windows.get(node);
  }

  /** What kube-proxies of all nodes have in common, and what that is. */
  shared(): readonly (readonly [object, string])[] {
    return [[this.objects, "Services and endpoints"]];
  }

  /** What keeps Services from working on Windows nodes now. */
  listTroubles(): readonly ServiceTrouble[] {
    const found = [...this.troubles.values()].flatMap((ofNode) => [...ofNode.values()].flat());
    const unstarted = [...this.unstarted].flatMap(([node, { finding }]) =>
      finding === undefined ? [] : [{ node, namespace: "", name: "", finding }],
    );
    return [...unstarted, ...this.misnamed.values(), ...found];
  }

  private note(node: string, { families }: SyncReport): void {
    const known = this.troubles.get(node) ?? new Map<string, ServiceTrouble[]>();
    this.troubles.set(node, known);
    for (const [key, [first]] of known) {
      const isGone =
        first !== undefined && this.kube.get("Service", first.namespace, first.name) === undefined;
      if (isGone) known.delete(key);
    }
    for (const { family, finding, programmed, notApplied } of families) {
      const whole = { node, namespace: "", name: "" };
      if (finding === undefined) known.delete(`${family}`);
      else known.set(`${family}`, [{ ...whole, finding }]);
      for (const status of [...programmed, ...notApplied]) {
        const { namespace, name, portName, protocol, port } = status;
        const key = `${family} ${namespace}/${name} ${portName} ${protocol} ${port}`;
        const reported = status.findings.filter(({ code }) => !ORDINARY.has(code));
        if (reported.length === 0) known.delete(key);
        else
          known.set(
            key,
            reported.map((each) => ({ node, namespace, name, finding: each })),
          );
      }
    }
  }

  private nodeObject(name: string): Node | undefined {
    return this.kube.get("Node", "", name);
  }

  private addLinux({ spec, host }: ClusterNode): void {
    const { name, address } = spec;
    const zone = this.nodeObject(name)?.metadata.labels?.[ZONE_LABEL];
    const second = this.cluster.file.ipv6?.nodes[name]?.address;
    const addresses = second === undefined ? [address] : [address, second];
    for (const [index, each] of addresses.entries())
      this.linux[index]?.addNode({ name, address: each, zone, compartment: host.root });
  }

  private versionOn(node: ClusterNode): KubernetesRelease {
    const reported = this.nodeObject(node.spec.name)?.status?.nodeInfo?.kubeProxyVersion ?? "";
    return parseReportedVersion(reported) ?? this.cluster.file.kubernetes.version;
  }

  /** kube-proxy brings the machine's own name into small letters (kube-proxy.md §1.1). */
  private hostnameOf({ spec }: ClusterNode): string {
    return this.cluster.file.kubeProxy.hasHostnameOverride ? spec.name : spec.hostname.toLowerCase();
  }

  /** What load balancers ask, on nodes whose kube-proxy runs. */
  private serveHealth(node: ClusterNode): void {
    const { kubeProxy, network, ipv6 } = this.cluster.file;
    const isWindows = node.hns !== undefined;
    if (!kubeProxy.enabled || (isWindows && (node.forwarder !== undefined || !isServedByProxy(network))))
      return;
    this.health.startOn(node.spec.name, {
      compartment: node.host.root,
      hostname: isWindows ? this.hostnameOf(node) : node.spec.name,
      kubernetes: this.versionOn(node),
      compat: node.spec.compat,
      families: ipv6 === undefined ? [4] : [4, 6],
    });
  }

  private createWindowsProxy(node: ClusterNode, vip: Ipv4 | undefined): KubeProxy {
    const { network, kubeProxy } = this.cluster.file;
    const hostname = this.hostnameOf(node);
    this.noteName(node, hostname);
    return createKubeProxy({
      client: hcnClientOf(node),
      objects: this.objects,
      options: {
        kubernetes: this.versionOn(node),
        compat: node.spec.compat,
        hostname,
        nodeIp: formatIp(node.spec.address),
        networkName: network.name,
        enableDSR: kubeProxy.enableDSR,
        featureGates: kubeProxy.enableDSR ? { WinDSR: true } : undefined,
        forwardHealthCheckVip: kubeProxy.forwardsHealthChecks,
        rootHnsEndpointName: `${network.name}_ep`,
        ...overlayOptions(node, vip),
        reads: "new",
      },
    });
  }

  /** Remembers a kube-proxy that takes its node for another one. */
  private noteName({ spec }: ClusterNode, hostname: string): void {
    if (hostname === spec.name) return;
    const message = WORDS.hostnameOverrideOff({ hostname, name: spec.name });
    const finding: ServiceFinding = { code: "kube-proxy-hostname-override-missing", message };
    this.misnamed.set(spec.name, { node: spec.name, namespace: "", name: "", finding });
  }

  private syncLinux(): void {
    const keys = [...this.dirty].sort();
    this.dirty.clear();
    for (const key of keys) {
      const [namespace = "", name = ""] = key.split("/");
      const service = this.kube.get("Service", namespace, name);
      for (const proxy of [...this.linux, this.userSpace]) {
        if (service === undefined) proxy.remove({ namespace, name });
        else proxy.set(service, [...(this.slices.get(key)?.values() ?? [])]);
      }
    }
  }

  private sliceChanged(slice: EndpointSlice, isGone: boolean): void {
    const service = serviceKeyOf(slice);
    if (service === undefined) return;
    this.dirty.add(service);
    const known = this.slices.get(service) ?? new Map<string, EndpointSlice>();
    this.slices.set(service, known);
    if (!isGone) known.set(keyOf(slice), slice);
    else known.delete(keyOf(slice));
    if (known.size === 0) this.slices.delete(service);
  }
}

/** What kube-proxy asks for on an overlay network: an address of its own, and the MAC of the node (kube-proxy.md §2.3). */
function overlayOptions({ host }: ClusterNode, vip: Ipv4 | undefined): Partial<KubeProxyOptions> {
  if (vip === undefined) return {};
  const hostInterfaces = host.root.listInterfaces().map(({ mac, addresses }) => ({
    mac: formatMac(mac),
    addresses: addresses.map(({ ip }) => formatIp(ip)),
  }));
  return { sourceVip: formatIp(vip), hostInterfaces };
}

function keyOf({ metadata }: Service | EndpointSlice): string {
  return `${metadata.namespace}/${metadata.name}`;
}
