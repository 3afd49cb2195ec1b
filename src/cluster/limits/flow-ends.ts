/** The ends of flows as limits look at them: who is meant by a reference, and who may answer at an address and port. */
import type { PolicyPod } from "#contracts/kubernetes/network-policy.ts";
import type { EndpointSlice, Namespace, Pod, Service } from "#contracts/kubernetes/objects.ts";
import { lastingContainers } from "#contracts/kubernetes/pod.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import { slicesByService } from "../cluster-objects.ts";
import { findDnsService } from "../names/dns-service.ts";
import type { FlowEnd, LimitedFlow } from "../session/flow-limit.ts";

/** A question as a command line or a cell has it. */
export interface AskedFlow {
  readonly from: string;
  readonly to: string;
  /** Where the packet goes; undefined when only a name is known. */
  readonly address: Ip | undefined;
  readonly protocol: LimitedFlow["protocol"];
  /** 0 for ICMP. */
  readonly port: number;
  readonly isByName: boolean;
}

interface Keyed {
  readonly metadata: { readonly namespace: string; readonly name: string };
}

function keyOf({ metadata }: Keyed): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function ofNode({ spec }: ClusterNode): FlowEnd {
  const { name, os, address } = spec;
  return { reference: `node/${name}`, kind: "node", os, node: name, address };
}

/** The label by which a namespace has its name; the API server gives it to all of them. */
const NAME_OF_NAMESPACE = "kubernetes.io/metadata.name";

function labelsByNamespace(namespaces: readonly Namespace[]): ReadonlyMap<string, PolicyPod["labels"]> {
  return new Map(
    namespaces.map(({ metadata: { name, labels } }) => [name, { ...labels, [NAME_OF_NAMESPACE]: name }]),
  );
}

function portsOf({ spec }: Pod): PolicyPod["ports"] {
  return lastingContainers(spec).flatMap(({ ports = [] }) =>
    ports.map(({ name, protocol = "TCP", containerPort }) => ({ name, protocol, port: containerPort })),
  );
}

/** The slices' port of a Service's port: by its number, or by its node port. */
function slicePort(
  { spec }: Service,
  slices: readonly EndpointSlice[],
  protocol: LimitedFlow["protocol"],
  asked: number,
): number | undefined {
  const own = spec?.ports?.find(
    (each) =>
      (each.port === asked || each.nodePort === asked) && (each.protocol ?? "TCP") === protocol.toUpperCase(),
  );
  if (own === undefined) return undefined;
  const ports = slices.flatMap((slice) => slice.ports ?? []);
  const behind = new Set(
    ports.filter(({ name }) => (name ?? "") === (own.name ?? "")).map(({ port }) => port),
  );
  const [only] = behind;
  return behind.size === 1 ? only : undefined;
}

function addressesOf({ spec, status }: Service): readonly Ip[] {
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  const texts = [spec?.clusterIP, ...(spec?.clusterIPs ?? []), ...(spec?.externalIPs ?? []), ...ingress];
  return texts.flatMap((text) => parseIp(text ?? "") ?? []);
}

/** Reads the objects once for many flows. */
export class FlowEnds {
  private readonly cluster: Cluster;
  private readonly podObjects: ReadonlyMap<string, Pod>;
  private readonly namespaces: ReadonlyMap<string, PolicyPod["labels"]>;
  private readonly slices: ReadonlyMap<string, readonly EndpointSlice[]>;
  private readonly byReference = new Map<string, FlowEnd>();
  private readonly podsByAddress = new Map<Ip, FlowEnd[]>();
  private readonly nodesByAddress = new Map<Ip, FlowEnd>();
  private readonly services = new Map<string, Service>();
  private readonly serviceByAddress = new Map<Ip, Service>();
  private readonly backEnds = new Map<string, readonly FlowEnd[]>();
  /** By `TCP 30080`. */
  private readonly byNodePort = new Map<string, Service>();
  /** Pods on ports of their node, by `win-1 TCP 8080`. */
  private readonly onNodePorts = new Map<string, FlowEnd[]>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    const { objects, file } = cluster;
    this.podObjects = new Map(objects.Pod.map((pod) => [keyOf(pod), pod]));
    this.namespaces = labelsByNamespace(objects.Namespace);
    this.slices = slicesByService(objects.EndpointSlice);
    for (const node of cluster.nodes) {
      const flowEnd = ofNode(node);
      this.byReference.set(flowEnd.reference, flowEnd);
      const second = file.ipv6?.nodes[node.spec.name]?.address;
      for (const ip of [node.spec.address, second])
        if (ip !== undefined) this.nodesByAddress.set(ip, flowEnd);
    }
    for (const pod of cluster.pods) this.addPod(pod);
    for (const { name, ip: address } of [...cluster.outside, ...cluster.apiServers])
      this.byReference.set(name, {
        reference: name,
        kind: "outside",
        os: "outside",
        node: undefined,
        address,
      });
    this.addServices();
  }

  /** The end that a reference names; what is none of the cluster is an end of no machine. */
  endOf(reference: string): FlowEnd {
    return this.byReference.get(reference) ?? { reference, kind: "other", os: "outside", node: undefined };
  }

  /** The flow with all that limits ask of it. */
  flowOf({ from, to, address, protocol, port, isByName }: AskedFlow): LimitedFlow {
    const target = this.endOf(to);
    const service = this.serviceAsked(target, address, protocol, port);
    const answerers = this.answerersOf(target, address, protocol, port);
    // A hostPort leads to another port of a pod, which is not looked up.
    const isMapped = target.kind !== "pod" && answerers.some(({ pod }) => pod?.isHostNetwork === false);
    const ownPort = isMapped && this.isNodeAsked(target, address) ? undefined : port;
    return {
      source: this.endOf(from),
      target,
      address,
      answerers,
      answererPort: service === undefined ? ownPort : this.portBehind(service, protocol, port),
      protocol,
      port,
      isByName,
      ...(isByName ? { nameServers: this.nameServers() } : {}),
    };
  }

  private addPod({ spec, node, address, address6 }: ClusterPod): void {
    const { namespace, name } = spec;
    const isHostNetwork = spec.network === "host";
    const object = this.podObjects.get(`${namespace}/${name}`);
    const flowEnd: FlowEnd = {
      reference: `pod/${namespace}/${name}`,
      kind: "pod",
      os: node.spec.os,
      node: node.spec.name,
      address,
      pod: {
        namespace,
        name,
        labels: object?.metadata.labels ?? {},
        namespaceLabels: this.namespaces.get(namespace) ?? { [NAME_OF_NAMESPACE]: namespace },
        ports: object === undefined ? [] : portsOf(object),
        isHostNetwork,
      },
    };
    this.byReference.set(flowEnd.reference, flowEnd);
    for (const { protocol, port, hostPort } of spec.ports) {
      const ownPort = isHostNetwork ? port : hostPort;
      if (ownPort === undefined) continue;
      addToList(this.onNodePorts, `${node.spec.name} ${protocol} ${ownPort}`, flowEnd);
    }
    if (isHostNetwork) return;
    for (const ip of [address, address6]) {
      if (ip === undefined) continue;
      addToList(this.podsByAddress, ip, flowEnd);
    }
  }

  private addServices(): void {
    for (const service of this.cluster.objects.Service) {
      const key = keyOf(service);
      const reference = `service/${key}`;
      this.services.set(reference, service);
      this.byReference.set(reference, { reference, kind: "service", os: "outside", node: undefined });
      for (const ip of addressesOf(service)) this.serviceByAddress.set(ip, service);
      for (const { nodePort, protocol = "TCP" } of service.spec?.ports ?? [])
        if (nodePort !== undefined) this.byNodePort.set(`${protocol} ${nodePort}`, service);
      const found = new Set<FlowEnd>();
      for (const { endpoints = [], metadata } of this.slices.get(key) ?? [])
        for (const { addresses, targetRef } of endpoints) {
          const namespace = targetRef?.namespace ?? metadata.namespace;
          const named = this.byReference.get(`pod/${namespace}/${targetRef?.name ?? ""}`);
          const owners = named === undefined ? addresses.flatMap((text) => this.podsAt(text)) : [named];
          for (const each of owners) found.add(each);
        }
      this.backEnds.set(reference, [...found]);
    }
  }

  private podsAt(address: string): readonly FlowEnd[] {
    const ip = parseIp(address);
    return ip === undefined ? [] : (this.podsByAddress.get(ip) ?? []);
  }

  private behind(service: Service): readonly FlowEnd[] {
    return this.backEnds.get(`service/${keyOf(service)}`) ?? [];
  }

  /** The Service that stands before those who answer; undefined: none does. */
  private serviceAsked(
    target: FlowEnd,
    address: Ip | undefined,
    protocol: LimitedFlow["protocol"],
    port: number,
  ): Service | undefined {
    const named = this.services.get(target.reference);
    if (named !== undefined) return named;
    if (target.kind === "pod" || target.kind === "outside") return undefined;
    const service = address === undefined ? undefined : this.serviceByAddress.get(address);
    if (service !== undefined) return service;
    return this.isNodeAsked(target, address)
      ? this.byNodePort.get(`${protocol.toUpperCase()} ${port}`)
      : undefined;
  }

  private isNodeAsked({ kind }: FlowEnd, address: Ip | undefined): boolean {
    return kind === "node" || (address !== undefined && this.nodesByAddress.has(address));
  }

  private portBehind(service: Service, protocol: LimitedFlow["protocol"], port: number): number | undefined {
    return slicePort(service, this.slices.get(keyOf(service)) ?? [], protocol, port);
  }

  private answerersOf(
    target: FlowEnd,
    address: Ip | undefined,
    protocol: LimitedFlow["protocol"],
    port: number,
  ): readonly FlowEnd[] {
    const service = this.serviceAsked(target, address, protocol, port);
    if (service !== undefined) return this.behind(service);
    if (target.kind === "pod" || target.kind === "outside") return [target];
    const node = address === undefined ? target : this.nodesByAddress.get(address);
    if (node?.kind === "node") return this.answerersOfNode(node, protocol, port);
    return address === undefined ? [] : (this.podsByAddress.get(address) ?? []);
  }

  /** Who answers on a port of a node that is no NodePort: the pods behind a hostPort, pods in its network, or itself. */
  private answerersOfNode(
    node: FlowEnd,
    protocol: LimitedFlow["protocol"],
    port: number,
  ): readonly FlowEnd[] {
    const asked = `${protocol.toUpperCase()} ${port}`;
    return this.onNodePorts.get(`${node.node ?? ""} ${asked}`) ?? [node];
  }

  private nameServers(): readonly FlowEnd[] {
    const { objects, file } = this.cluster;
    const service = findDnsService(objects.Service, file.network.serviceCIDR);
    return service === undefined ? [] : this.behind(service);
  }
}
