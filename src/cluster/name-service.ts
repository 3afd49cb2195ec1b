/**
 * Names: CoreDNS in the pods that the manifests (or the built-in ones) give it, and a name server outside that the
 * cluster's own asks for everything else.
 */
import { ClusterZone, type NamedObject } from "../dns/cluster-zone.ts";
import { StaticZone } from "../dns/static-zone.ts";
import type { DnsSettings } from "../host/compartment.ts";
import type { MemoryKube } from "../kube/mod.ts";
import type { Pod } from "../kube/types.ts";
import { type Ip, parseIp } from "../net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "./cluster.ts";
import type { PortSpec } from "./file/cluster-file.ts";
import { DNS_LABEL, DNS_NAMESPACE, DNS_PORT, DNS_SERVICE, dnsAddressIn } from "./dns-manifests.ts";
import { DnsServer } from "./dns-server.ts";
import { type PodDns, podDns } from "./pod-dns.ts";

/** What the clusters' zone is made of. */
const NAMED_KINDS = ["Namespace", "Service", "EndpointSlice"] as const;

function isDnsPod(pod: Pod): boolean {
  return pod.metadata.namespace === DNS_NAMESPACE && pod.metadata.labels?.[DNS_LABEL[0]] === DNS_LABEL[1];
}

export class NameService {
  private readonly cluster: Cluster;
  private readonly kube: MemoryKube;
  private readonly zone: ClusterZone;
  /** The name server outside; undefined when no host outside serves UDP 53. */
  private readonly upstream: Ip | undefined;
  private readonly servers = new Map<ClusterPod, DnsServer>();

  constructor(cluster: Cluster, kube: MemoryKube) {
    this.cluster = cluster;
    this.kube = kube;
    this.zone = new ClusterZone({ zone: cluster.file.dns.domain });
    this.upstream = this.serveOutside();
    for (const node of cluster.nodes) node.host.root.dns = this.nodeDns();
  }

  /** What the resolver of a new pod is told. */
  dnsOf(pod: Pod, node: ClusterNode): PodDns {
    const service = this.kube.get("Service", DNS_NAMESPACE, DNS_SERVICE);
    const address = parseIp(service?.spec?.clusterIP ?? dnsAddressIn(this.cluster.file.network.serviceCIDR));
    return podDns({
      spec: pod.spec ?? {},
      namespace: pod.metadata.namespace,
      os: node.spec.os,
      clusterDns: service === undefined || address === undefined ? [] : [address],
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
    const seen = new Set<ClusterPod>();
    for (const pod of pods) {
      const running = isDnsPod(pod) ? runningOf(pod) : undefined;
      if (running === undefined) continue;
      seen.add(running);
      if (!this.servers.has(running)) this.servers.set(running, this.serve(running));
    }
    for (const running of this.servers.keys()) if (!seen.has(running)) this.servers.delete(running);
  }

  /** True for the port on which CoreDNS answers in this pod. */
  isReserved(pod: ClusterPod, { port, protocol }: PortSpec): boolean {
    return this.servers.has(pod) && port === DNS_PORT && protocol === "UDP";
  }

  private serve(pod: ClusterPod): DnsServer {
    const upstreams = this.upstream === undefined ? [] : [this.upstream];
    const server = new DnsServer({ compartment: pod.compartment, sources: [this.zone], upstreams });
    server.listen();
    return server;
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
    for (const { names, address } of file.outside) for (const name of names) zone.addAddress(name, address);
    host.server.closeUdp(DNS_PORT);
    new DnsServer({ compartment: host.compartment, sources: [zone] }).listen();
    return host.ip;
  }
}
