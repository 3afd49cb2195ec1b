/**
 * Kube-proxies of Windows nodes that program nothing until somebody asks about their node. One of each kind of node works at
 * the start; where it has nothing to say, the others of its kind have nothing to say either, and can wait.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp } from "#core/net/ip.ts";
import type { SyncReport, SyncRequest } from "#programs/kube-proxy/report.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { serviceKeyOf } from "../cluster-objects.ts";
import type { KubernetesRelease } from "../file/cluster-file.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";

/** A sync that is left for later. */
export interface LeftSync {
  /** As it was when the others of its kind worked. */
  readonly request: SyncRequest;
  /** The node whose kube-proxy worked in its place. */
  readonly like: string;
}

/**
 * What comes and goes with endpoints, or is how a policy works. The rest is told: nobody would expect it who reads the
 * Service.
 */
export const ORDINARY: ReadonlySet<KnowledgeCode> = new Set<KnowledgeCode>([
  "service-without-usable-endpoints",
  "service-endpoints-terminating",
  "external-traffic-policy-local-without-local-endpoint",
]);

/** True for a first sync that leaves nothing to tell, to repair or to try again. */
export function hasNothingToSay({ families }: SyncReport): boolean {
  return families.every(
    ({ outcome, events, repairs, staleLoadBalancers, retryAfterMs, programmed, notApplied }) =>
      outcome === "done" &&
      events.length + repairs.length + staleLoadBalancers === 0 &&
      retryAfterMs === undefined &&
      [...programmed, ...notApplied].every(({ findings }) =>
        findings.every(({ code }) => ORDINARY.has(code)),
      ),
  );
}

/** True where the pods of a node decide what its kube-proxy makes of a Service. */
function countsLocalPods({ metadata, spec }: Service): boolean {
  return (
    spec?.internalTrafficPolicy === "Local" ||
    spec?.externalTrafficPolicy === "Local" ||
    metadata.annotations?.["preserve-destination"] !== undefined
  );
}

/** What of a node shows in the work of its kube-proxy, beside the node's own pods. */
interface NodeTraits {
  readonly kubernetes: KubernetesRelease;
  readonly hostname: string;
}

/** Sorts nodes by what their kube-proxies make of the objects as they are now. */
export class NodeKinds {
  private readonly cluster: Cluster;
  /** Addresses that pods have in the network that kube-proxy serves: `node address`. */
  private readonly ofPods = new Set<string>();
  private readonly podCounts = new Map<string, number>();
  /** Ports that pods take on their node itself, by node. */
  private readonly hostPorts = new Map<string, string[]>();
  /** Nodes that differ from all others, by name or by address. */
  private readonly unlike = new Set<string>();
  /** Of Services that count local pods: those that have some, by node. */
  private readonly localServices = new Map<string, Set<string>>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.readPods();
    this.readObjects();
  }

  /** Equal texts, equal work; undefined: nobody can work in its place. */
  of({ spec }: ClusterNode, { kubernetes, hostname }: NodeTraits): string | undefined {
    const { file } = this.cluster;
    const { name, build, compat, quirks, address, addressDelayMs } = spec;
    const isUnlike = this.unlike.has(name) || this.unlike.has(formatIp(address));
    // Chance strikes each node otherwise.
    if (Object.values(quirks).some((setting) => typeof setting === "object")) return undefined;
    if (isUnlike || hostname !== name || file.network.ranges[name] === undefined) return undefined;
    const networks = file.networks.filter(({ ranges }) => ranges[name] !== undefined);
    return JSON.stringify([
      build,
      [kubernetes, compat, quirks, addressDelayMs],
      networks.map((network) => network.name),
      this.hostPorts.get(name)?.toSorted() ?? [],
      [...(this.localServices.get(name) ?? [])].toSorted(),
    ]);
  }

  podsOn(node: string): number {
    return this.podCounts.get(node) ?? 0;
  }

  private readPods(): void {
    const { pods, file } = this.cluster;
    for (const { spec, node, address, address6 } of pods) {
      const { name } = node.spec;
      this.podCounts.set(name, this.podsOn(name) + 1);
      const isHost = spec.network === "host";
      for (const { port, protocol, hostPort } of spec.ports) {
        const taken = isHost ? port : hostPort;
        if (taken === undefined) continue;
        const known = this.hostPorts.get(name) ?? [];
        this.hostPorts.set(name, [...known, `${taken}/${protocol}`]);
      }
      if (isHost || spec.podNetwork !== file.network.name) continue;
      this.ofPods.add(`${name} ${formatIp(address)}`);
      if (address6 !== undefined) this.ofPods.add(`${name} ${formatIp(address6)}`);
    }
  }

  private readObjects(): void {
    const { objects } = this.cluster;
    const counting = new Set<string>();
    for (const service of objects.Service) {
      const { metadata, spec, status } = service;
      if (countsLocalPods(service)) counting.add(`${metadata.namespace}/${metadata.name}`);
      for (const address of spec?.externalIPs ?? []) this.unlike.add(address);
      for (const { ip } of status?.loadBalancer?.ingress ?? []) if (ip !== undefined) this.unlike.add(ip);
    }
    for (const slice of objects.EndpointSlice) {
      const key = serviceKeyOf(slice) ?? "";
      for (const { addresses, nodeName } of slice.endpoints ?? []) {
        for (const address of addresses) this.readEndpoint(address, nodeName);
        if (nodeName === undefined || !counting.has(key)) continue;
        const known = this.localServices.get(nodeName) ?? new Set();
        this.localServices.set(nodeName, known.add(key));
      }
    }
  }

  /** A node whose pod has no network, and one whose own address is a back end, have something of their own to say. */
  private readEndpoint(address: string, nodeName: string | undefined): void {
    this.unlike.add(address);
    if (nodeName !== undefined && !this.ofPods.has(`${nodeName} ${address}`)) this.unlike.add(nodeName);
  }
}
