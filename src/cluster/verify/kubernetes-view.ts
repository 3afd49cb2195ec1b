/** What Kubernetes objects say about the cluster that is verified: Services and their back ends, names, wishes. */
import { isHostProcess } from "#contracts/kubernetes/pod.ts";
import { resolveTargetPort } from "#control-plane/controllers/endpoint-slices.ts";
import type { EndpointSlice, Pod, Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, type IpFamily, familyOf, parseIp } from "#core/net/ip.ts";
import { type ClusterObjects, servicesByPod, slicesByService } from "../cluster-objects.ts";
import { servedPorts } from "../pods/pod-object.ts";
import type {
  VerifyBackEnd,
  VerifyHostNetworkPod,
  VerifyNode,
  VerifyPod,
  VerifyPort,
  VerifyService,
  VerifyServicePort,
} from "./model.ts";

/** The pods of the model by what slices name them by. */
class PodIndex {
  private readonly byName: ReadonlyMap<string, VerifyPod>;
  private readonly byAddress: ReadonlyMap<Ip, VerifyPod>;

  constructor(pods: readonly VerifyPod[]) {
    this.byName = new Map(pods.map((pod) => [pod.reference.slice("pod/".length), pod]));
    this.byAddress = new Map(pods.filter((pod) => !pod.isHostNetwork).map((pod) => [pod.address, pod]));
  }

  get(name: string): VerifyPod | undefined {
    return this.byName.get(name);
  }

  find(
    target: { readonly kind?: string; readonly namespace?: string; readonly name?: string } | undefined,
    address: Ip,
    namespace: string,
  ): VerifyPod | undefined {
    if (target?.kind !== "Pod" || target.name === undefined) return this.byAddress.get(address);
    return this.get(`${target.namespace ?? namespace}/${target.name}`);
  }
}

const DNS_PORT = 53;
/** The time of session affinity that nobody asked for. */
const AFFINITY_DEFAULT_S = 10_800;

/** What objects are read for. */
interface Reading {
  /** `namespace/name` of the cluster's DNS. */
  readonly dnsKey: string | undefined;
  readonly family: IpFamily;
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** Ready back ends of one port, each address once, by address. */
function backEndsOf(
  slices: readonly EndpointSlice[],
  portName: string,
  pods: PodIndex,
  family: IpFamily,
): readonly VerifyBackEnd[] {
  const found = new Map<Ip, VerifyBackEnd>();
  for (const slice of slices) {
    const port = slice.ports?.find(({ name = "" }) => name === portName)?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions, targetRef } of slice.endpoints ?? []) {
      // A condition that is not given means ready (API of EndpointSlice).
      const address = conditions?.ready === false ? undefined : parseIp(addresses[0] ?? "");
      if (address === undefined || familyOf(address) !== family) continue;
      found.set(address, { address, port, pod: pods.find(targetRef, address, slice.metadata.namespace) });
    }
  }
  return [...found.values()].toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

function transportOf(protocol: string | undefined): VerifyServicePort["protocol"] | undefined {
  if (protocol === undefined || protocol === "TCP") return "tcp";
  return protocol === "UDP" ? "udp" : undefined;
}

function portsOf(
  service: Service,
  slices: readonly EndpointSlice[],
  pods: PodIndex,
  { dnsKey, family }: Reading,
): readonly VerifyServicePort[] {
  return (service.spec?.ports ?? []).flatMap(({ name = "", port, protocol, nodePort, targetPort = port }) => {
    const transport = transportOf(protocol);
    // DNS answers questions and nothing else: the flows by name prove this port.
    const isDns = keyOf(service.metadata) === dnsKey && port === DNS_PORT;
    if (transport === undefined || isDns) return [];
    const backEnds = backEndsOf(slices, name, pods, family);
    const own = typeof targetPort === "number" ? { targetPort } : {};
    return [{ name, protocol: transport, port, nodePort, ...own, backEnds }];
  });
}

function readService(
  service: Service,
  slices: readonly EndpointSlice[],
  pods: PodIndex,
  reading: Reading,
): VerifyService | undefined {
  const { metadata, spec = {}, status } = service;
  const { family } = reading;
  const ofFamily = (text: string | undefined): readonly Ip[] => {
    const ip = parseIp(text ?? "");
    return ip === undefined || familyOf(ip) !== family ? [] : [ip];
  };
  const [clusterIp] = [spec.clusterIP, ...(spec.clusterIPs ?? [])].flatMap(ofFamily);
  const kind =
    spec.type === "ExternalName" ? "external-name" : spec.clusterIP === "None" ? "headless" : "cluster-ip";
  // A Service without an address is one that was not admitted, or one of the other family alone. Names are asked once.
  if (kind === "cluster-ip" ? clusterIp === undefined : family === 6) return undefined;
  const timeoutS = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  return {
    reference: `service/${keyOf(metadata)}`,
    namespace: metadata.namespace,
    name: metadata.name,
    kind,
    isDualStack: (spec.clusterIPs ?? []).length > 1,
    clusterIp: kind === "cluster-ip" ? clusterIp : undefined,
    externalName: spec.externalName,
    ports: portsOf(service, slices, pods, reading),
    hasAffinity: spec.sessionAffinity === "ClientIP",
    affinityTimeoutS: timeoutS === AFFINITY_DEFAULT_S ? undefined : timeoutS,
    internalTrafficPolicy: spec.internalTrafficPolicy === "Local" ? "Local" : "Cluster",
    externalTrafficPolicy: spec.externalTrafficPolicy === "Local" ? "Local" : "Cluster",
    ingress: (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ofFamily(ip)),
    preservesDestination: metadata.annotations?.["preserve-destination"] === "true",
    sctpPorts: (spec.ports ?? []).flatMap(({ port, protocol }) => (protocol === "SCTP" ? [port] : [])),
    waitsForAddress: spec.type === "LoadBalancer" && (status?.loadBalancer?.ingress ?? []).length === 0,
  };
}

/** Pods that ask for the network of their node, wherever they ended up. */
function readHostNetworkPods(
  objects: readonly Pod[],
  pods: PodIndex,
  nodes: ReadonlyMap<string, VerifyNode>,
): readonly VerifyHostNetworkPod[] {
  return objects.flatMap((pod) => {
    const node = nodes.get(pod.spec?.nodeName ?? "");
    if (pod.spec?.hostNetwork !== true || node === undefined) return [];
    const running = pods.get(keyOf(pod.metadata));
    const waits = pod.status?.conditions?.find(({ message }) => message !== undefined)?.message;
    return [
      {
        reference: `pod/${keyOf(pod.metadata)}`,
        node,
        isHostProcess: isHostProcess(pod),
        isInHostNetwork: running?.isHostNetwork ?? false,
        detail:
          running === undefined
            ? `the pod does not run${waits === undefined ? "" : `: ${waits}`}`
            : `the pod has ${running.isHostNetwork ? "its node's" : "a"} network${running.isHostNetwork ? "" : " of its own"}`,
      },
    ];
  });
}

/** `hostname.subdomain.namespace.svc.zone` of the pods that a headless Service gives such a name. */
function namesByService(
  services: readonly VerifyService[],
  slices: ReadonlyMap<string, readonly EndpointSlice[]>,
  pods: PodIndex,
  zone: string,
): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  for (const service of services.filter(({ kind }) => kind === "headless")) {
    for (const slice of slices.get(keyOf(service)) ?? []) {
      for (const { hostname, targetRef, addresses } of slice.endpoints ?? []) {
        const address = parseIp(addresses[0] ?? "");
        const pod = address === undefined ? undefined : pods.find(targetRef, address, service.namespace);
        if (pod !== undefined && hostname !== undefined && hostname !== "")
          names.set(pod.index, `${hostname}.${service.name}.${service.namespace}.svc.${zone}`);
      }
    }
  }
  return names;
}

/**
 * True when the kubelet points the pod's resolver to the cluster's name service. In the network of the node
 * ClusterFirst means Default (Kubernetes documentation: pod's DNS policy), on Windows also for pods that only asked.
 */
function usesClusterDns(object: Pod | undefined): boolean {
  const { dnsPolicy = "ClusterFirst", hostNetwork = false } = object?.spec ?? {};
  return dnsPolicy === "ClusterFirst" && !hostNetwork;
}

/** Where the pod's server answers: what it declares and what Services lead to, without what a name server takes. */
function portsServed(
  pod: VerifyPod,
  object: Pod | undefined,
  services: readonly Service[],
  dnsKey: string | undefined,
): readonly VerifyPort[] {
  if (object === undefined) return pod.ports;
  const served = servedPorts(object, pod.isHostNetwork ? "host" : "pod", services).map(
    ({ port, protocol }): VerifyPort => {
      const transport = protocol === "TCP" ? "tcp" : "udp";
      const declared = pod.ports.find((each) => each.port === port && each.protocol === transport);
      return { protocol: transport, port, hostPort: declared?.hostPort };
    },
  );
  // The name service answers questions and nothing else, and over UDP its pods do nothing but that.
  const dns = services.find(({ metadata }) => keyOf(metadata) === dnsKey);
  const asked = (dns?.spec?.ports ?? []).flatMap((port) =>
    port.port === DNS_PORT ? (resolveTargetPort(port, object) ?? DNS_PORT) : [],
  );
  return dns === undefined
    ? served
    : served.filter(({ protocol, port }) => protocol !== "udp" && !asked.includes(port));
}

function withObject(
  pod: VerifyPod,
  object: Pod | undefined,
  named: { readonly services: readonly Service[]; readonly name: string | undefined },
  dnsKey: string | undefined,
): VerifyPod {
  const ports = portsServed(pod, object, named.services, dnsKey);
  return {
    ...pod,
    ports,
    hostname: object?.spec?.hostname ?? pod.hostname,
    usesClusterDns: pod.usesClusterDns && usesClusterDns(object),
    dnsName: named.name ?? pod.dnsName,
  };
}

/** What the objects add to the machines. */
export interface KubernetesView {
  /** The model's pods, with their names. */
  readonly pods: readonly VerifyPod[];
  readonly services: readonly VerifyService[];
  readonly hostNetworkPods: readonly VerifyHostNetworkPod[];
  /** The zone of the cluster's names; undefined without a name service that answers. */
  readonly dnsZone: string | undefined;
  /** Names of the nodes whose pods answer for it. */
  readonly dnsNodes: readonly string[];
}

/** Names of the nodes on which back ends of a Service's DNS ports run, each once. */
function dnsNodesOf(
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  pods: PodIndex,
  family: IpFamily,
): readonly string[] {
  const ports = (service?.spec?.ports ?? []).filter(({ port }) => port === DNS_PORT);
  const backEnds = ports.flatMap(({ name = "" }) => backEndsOf(slices, name, pods, family));
  return [...new Set(backEnds.flatMap(({ pod }) => pod?.node.name ?? []))];
}

/**
 * Reads the objects of a cluster whose machines are known. `names`: the zone, the Service of the cluster's DNS if it has
 * one, and the family of addresses that is asked about.
 */
export function readKubernetes(
  objects: ClusterObjects,
  machines: { readonly pods: readonly VerifyPod[]; readonly nodes: readonly VerifyNode[] },
  names: {
    readonly zone: string;
    readonly dnsService: Service | undefined;
    readonly family: IpFamily;
  },
): KubernetesView {
  const { zone, dnsService, family } = names;
  const slices = slicesByService(objects.EndpointSlice);
  const dnsKey = dnsService === undefined ? undefined : keyOf(dnsService.metadata);
  const dnsSlices = slices.get(dnsKey ?? "") ?? [];
  const dnsEndpoints = dnsSlices.flatMap(({ endpoints = [] }) => endpoints);
  const hasDns = dnsEndpoints.some(({ conditions }) => conditions?.ready !== false);
  const allocator = new PodIndex(machines.pods);
  const reading = { dnsKey, family };
  const objectsByName = new Map(objects.Pod.map((pod) => [keyOf(pod.metadata), pod]));
  const first = objects.Service.flatMap(
    (service) => readService(service, slices.get(keyOf(service.metadata)) ?? [], allocator, reading) ?? [],
  );
  const podNames = hasDns ? namesByService(first, slices, allocator, zone) : new Map<number, string>();
  const leading = servicesByPod(objects);
  const pods = machines.pods.map((pod) => {
    const key = pod.reference.slice("pod/".length);
    const named = { services: leading.get(key) ?? [], name: podNames.get(pod.index) };
    return withObject(pod, objectsByName.get(key), named, dnsKey);
  });
  const full = new PodIndex(pods);
  const services = objects.Service.flatMap(
    (service) => readService(service, slices.get(keyOf(service.metadata)) ?? [], full, reading) ?? [],
  );
  return {
    pods,
    services,
    hostNetworkPods: readHostNetworkPods(
      objects.Pod,
      full,
      new Map(machines.nodes.map((node) => [node.name, node])),
    ),
    dnsZone: hasDns ? zone : undefined,
    dnsNodes: dnsNodesOf(dnsService, dnsSlices, full, family),
  };
}
