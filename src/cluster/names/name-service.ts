/**
 * Names: CoreDNS in the pods that the manifests (or the built-in ones) give it, and a name server outside that the
 * cluster's own asks for everything else.
 */
import { ClusterZone, type NamedObject } from "#control-plane/dns/cluster-zone.ts";
import { outsideIpv6 } from "#dataplane/fabric/underlay.ts";
import { StaticZone } from "#control-plane/dns/static-zone.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { isLoopback } from "#dataplane/host/ip/address-scope.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import type { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { matchesLabels } from "#contracts/kubernetes/labels.ts";
import { resolveTargetPort } from "#control-plane/controllers/endpoint-slices.ts";
import type { Pod, Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import type { PortSpec } from "../file/cluster-file.ts";
import { DNS_PORT } from "#dataplane/host/resolver/question.ts";
import { findDnsService } from "./dns-service.ts";
import { NodeLocalCache, localAddressesOf } from "./node-local-cache.ts";
import { DnsServer } from "./dns-server.ts";
import { type PodDns, podDns } from "./pod-dns.ts";

/** What the clusters' zone is made of. */
const NAMED_KINDS = ["Namespace", "Service", "EndpointSlice"] as const;

/** Whether the DNS Service selects the pod. */
function isDnsPod(pod: Pod, service: Service | undefined): boolean {
  const selector = service?.spec?.selector ?? {};
  return (
    service !== undefined &&
    Object.keys(selector).length > 0 &&
    pod.metadata.namespace === service.metadata.namespace &&
    matchesLabels(selector, pod.metadata.labels ?? {})
  );
}

/** The port of the pod to which the Service leads questions. */
function dnsPortOf(pod: Pod, service: Service | undefined): number {
  const port = service?.spec?.ports?.find((each) => each.port === DNS_PORT && each.protocol === "UDP");
  return (port === undefined ? undefined : resolveTargetPort(port, pod)) ?? DNS_PORT;
}

/** Those that CoreDNS is bound to when its Corefile names none: all but loopback (plugin/kubernetes/local.go). */
function boundAddresses(compartment: Compartment): readonly Ip[] {
  const all = compartment.listInterfaces().flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
  return all.filter((ip) => !isLoopback(ip));
}

/** What serves in pods that are gone ends. */
function closeOthers<T extends { close(): void }>(
  served: Map<ClusterPod, T>,
  seen: ReadonlySet<ClusterPod>,
): void {
  for (const [running, server] of served) {
    if (seen.has(running)) continue;
    server.close();
    served.delete(running);
  }
}

export class NameService {
  private readonly cluster: Cluster;
  private readonly kube: MemoryKube;
  private readonly zone: ClusterZone;
  /** The name server outside; undefined when no host outside serves UDP 53. */
  private readonly upstream: Ip | undefined;
  private readonly servers = new Map<ClusterPod, DnsServer>();
  private readonly caches = new Map<ClusterPod, NodeLocalCache>();
  private known: { readonly services: readonly Service[]; readonly found: Service | undefined } | undefined;

  constructor(cluster: Cluster, kube: MemoryKube) {
    this.cluster = cluster;
    this.kube = kube;
    this.zone = new ClusterZone({ zone: cluster.file.dns.domain });
    this.upstream = this.serveOutside();
    for (const node of cluster.nodes) node.host.root.dns = this.nodeDns();
  }

  /** What DNS servers of all nodes have in common, and what that is. */
  shared(): readonly (readonly [object, string])[] {
    return [[this.zone, "zone of the cluster"]];
  }

  /** What the resolver of a new pod is told. */
  dnsOf(pod: Pod, node: ClusterNode): PodDns {
    const address = parseIp(this.dnsService()?.spec?.clusterIP ?? "");
    return podDns({
      spec: pod.spec ?? {},
      namespace: pod.metadata.namespace,
      os: node.spec.os,
      clusterDns: address === undefined ? [] : [address],
      clusterDomain: this.cluster.file.dns.domain,
      nodeDns: this.nodeDns(),
    });
  }

  /** Follows the objects from now on. */
  follow(): void {
    for (const kind of NAMED_KINDS) {
      for (const object of this.kube.objects(kind)) this.zone.apply(object);
      this.kube.watch(kind, this.kube.resourceVersion, ({ type, object }) => {
        const named: NamedObject = object;
        if (type === "DELETED") this.zone.remove(named);
        else this.zone.apply(named);
      });
    }
  }

  /** Starts CoreDNS in pods that are new and forgets those that are gone. */
  sync(pods: readonly Pod[], runningOf: (pod: Pod) => ClusterPod | undefined): void {
    const service = this.dnsService();
    const seen = new Set<ClusterPod>();
    for (const pod of pods) {
      const running = isDnsPod(pod, service) ? runningOf(pod) : undefined;
      if (running === undefined) continue;
      seen.add(running);
      if (!this.servers.has(running)) this.serve(running, dnsPortOf(pod, service));
    }
    this.syncCaches(pods, runningOf);
    closeOthers(this.servers, seen);
  }

  /** NodeLocal DNSCache on the Linux nodes that have its pod. */
  private syncCaches(pods: readonly Pod[], runningOf: (pod: Pod) => ClusterPod | undefined): void {
    const server = parseIp(this.dnsService()?.spec?.clusterIP ?? "");
    const seen = new Set<ClusterPod>();
    for (const pod of pods) {
      const addresses = localAddressesOf(pod);
      const running = addresses.length === 0 ? undefined : runningOf(pod);
      if (running === undefined || running.node.spec.os !== "linux" || server === undefined) continue;
      seen.add(running);
      const known = this.caches.get(running);
      if (known === undefined) this.caches.set(running, new NodeLocalCache(running.node, addresses, server));
      else known.setService(server);
    }
    closeOthers(this.caches, seen);
  }

  /** True for a pod in which CoreDNS runs, or will. */
  isServer(pod: Pod): boolean {
    return isDnsPod(pod, this.dnsService());
  }

  /** True for the port on which CoreDNS answers in this pod. */
  isReserved(pod: ClusterPod, { port, protocol }: PortSpec): boolean {
    return this.servers.get(pod)?.port === port && (protocol === "UDP" || protocol === "TCP");
  }

  /** Asked for each pod, so it is looked for only when a Service has changed. */
  private dnsService(): Service | undefined {
    const services = this.kube.objects("Service");
    if (this.known?.services !== services) {
      const found = findDnsService(services, this.cluster.file.network.serviceCIDR);
      this.known = { services, found };
    }
    return this.known.found;
  }

  /** A port that another server has in the node's own network is tried again at the next sync. */
  private serve(running: ClusterPod, port: number): void {
    const upstreams = this.upstream === undefined ? [] : [this.upstream];
    const { compartment } = running;
    const sources = [this.zone.servedAt(boundAddresses(compartment))];
    const server = new DnsServer({ compartment, sources, upstreams, port });
    if (server.listen() === undefined) this.servers.set(running, server);
  }

  private nodeDns(): DnsSettings {
    return { domain: "", search: [], servers: this.upstream === undefined ? [] : [this.upstream] };
  }

  /** The first host outside that serves UDP 53 knows the names of all of them. */
  private serveOutside(): Ip | undefined {
    const { outside, file } = this.cluster;
    const index = file.outside.findIndex(({ ports }) =>
      ports.some(({ port, protocol }) => port === DNS_PORT && protocol === "UDP"),
    );
    const host = outside[index];
    if (host === undefined) return undefined;
    const zone = new StaticZone();
    for (const { names, address } of file.outside)
      for (const name of names) {
        zone.addAddress(name, address);
        if (file.ipv6 !== undefined) zone.addAddress(name, outsideIpv6(address));
      }
    host.server.leavePort(DNS_PORT);
    new DnsServer({ compartment: host.compartment, sources: [zone] }).listen();
    return host.ip;
  }
}
