/**
 * Services on all nodes: a kube-proxy with HNS on each Windows node, rules of netfilter on each Linux node. The parsed
 * objects are shared between nodes; a change costs each node that change.
 */
import {
  type KubeProxy,
  ProxyObjects,
  type SyncReport,
  createKubeProxy,
  followSource,
} from "../kube-proxy/mod.ts";
import type { MemoryKube } from "../kube/mod.ts";
import type { EndpointSlice, Service } from "../kube/types.ts";
import { formatIp } from "../net/ip.ts";
import type { Cluster, ClusterNode } from "./cluster.ts";
import { serviceKeyOf } from "./cluster-objects.ts";
import { LinuxServices } from "./linux-services.ts";
import { hcnClientOf } from "./windows-node.ts";

/** What the kube-proxy of one node said at the latest sync. */
export interface NodeSync {
  readonly node: string;
  readonly report: SyncReport;
}

export class ServiceProxies {
  private readonly kube: MemoryKube;
  private readonly objects = new ProxyObjects();
  private readonly windows = new Map<string, KubeProxy>();
  private readonly linux: LinuxServices;
  private readonly latest = new Map<string, SyncReport>();
  /** Services whose rules on Linux are old: `namespace/name`. */
  private readonly dirty = new Set<string>();
  /** The slices of each Service, by the Service's and the slice's `namespace/name`. */
  private readonly slices = new Map<string, Map<string, EndpointSlice>>();

  constructor(cluster: Cluster, kube: MemoryKube) {
    this.kube = kube;
    this.linux = new LinuxServices(cluster.file.network.clusterCIDR);
    if (!cluster.file.kubeProxy.enabled) return;
    for (const node of cluster.nodes) {
      if (node.hns === undefined) this.addLinux(node);
      else this.windows.set(node.spec.name, createWindowsProxy(cluster, node, this.objects));
    }
  }

  /** Follows the objects from now on and starts the proxies. */
  async start(): Promise<void> {
    await followSource(this.kube, this.objects);
    for (const service of this.kube.objects("Service")) this.dirty.add(keyOf(service));
    for (const slice of this.kube.objects("EndpointSlice")) this.sliceChanged(slice, false);
    const { resourceVersion } = this.kube;
    this.kube.watch("Service", resourceVersion, ({ object }) => this.dirty.add(keyOf(object)));
    this.kube.watch("EndpointSlice", resourceVersion, ({ type, object }) =>
      this.sliceChanged(object, type === "DELETED"),
    );
    for (const proxy of this.windows.values()) await proxy.start();
  }

  /** Brings every node up to date. */
  async sync(progress?: (done: number, total: number) => void): Promise<void> {
    this.syncLinux();
    let done = 0;
    for (const [node, proxy] of this.windows) {
      this.latest.set(node, await proxy.sync());
      progress?.(++done, this.windows.size);
    }
  }

  /** What the Windows nodes said last, by node. */
  listReports(): readonly NodeSync[] {
    return [...this.latest].map(([node, report]) => ({ node, report }));
  }

  private addLinux({ spec, host }: ClusterNode): void {
    const { name, address } = spec;
    this.linux.addNode({ name, address, zone: undefined, compartment: host.root });
  }

  private syncLinux(): void {
    const keys = [...this.dirty].sort();
    this.dirty.clear();
    for (const key of keys) {
      const [namespace = "", name = ""] = key.split("/");
      const service = this.kube.get("Service", namespace, name);
      if (service === undefined) this.linux.remove({ namespace, name });
      else this.linux.set(service, [...(this.slices.get(key)?.values() ?? [])]);
    }
  }

  private sliceChanged(slice: EndpointSlice, isGone: boolean): void {
    const service = serviceKeyOf(slice);
    if (service === undefined) return;
    this.dirty.add(service);
    const known = this.slices.get(service) ?? new Map<string, EndpointSlice>();
    this.slices.set(service, known);
    if (isGone) known.delete(keyOf(slice));
    else known.set(keyOf(slice), slice);
  }
}

function keyOf({ metadata }: Service | EndpointSlice): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function createWindowsProxy(cluster: Cluster, node: ClusterNode, objects: ProxyObjects): KubeProxy {
  const { kubernetes, network, kubeProxy } = cluster.file;
  return createKubeProxy({
    client: hcnClientOf(node),
    objects,
    options: {
      kubernetes: kubernetes.version,
      compat: node.spec.compat,
      hostname: node.spec.name,
      nodeIp: formatIp(node.spec.address),
      networkName: network.name,
      enableDSR: kubeProxy.enableDSR,
      featureGates: kubeProxy.enableDSR ? { WinDSR: true } : undefined,
      reads: "new",
    },
  });
}
