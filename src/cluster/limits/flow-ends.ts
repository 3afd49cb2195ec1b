/** The ends of flows as limits look at them: who is meant by a reference, and who may answer at an address and port. */
import type { Service } from "#contracts/kubernetes/objects.ts";
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
  return { reference: `node/${spec.name}`, kind: "node", os: spec.os, node: spec.name };
}

function addressesOf({ spec, status }: Service): readonly Ip[] {
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  const texts = [spec?.clusterIP, ...(spec?.clusterIPs ?? []), ...(spec?.externalIPs ?? []), ...ingress];
  return texts.flatMap((text) => parseIp(text ?? "") ?? []);
}

/** Reads the objects once for many flows. */
export class FlowEnds {
  private readonly cluster: Cluster;
  private readonly labels: ReadonlyMap<string, FlowEnd["pod"]>;
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
    this.labels = new Map(
      objects.Pod.map(({ metadata }) => {
        const { namespace, name, labels = {} } = metadata;
        return [keyOf({ metadata }), { namespace, name, labels }];
      }),
    );
    for (const node of cluster.nodes) {
      const flowEnd = ofNode(node);
      this.byReference.set(flowEnd.reference, flowEnd);
      const second = file.ipv6?.nodes[node.spec.name]?.address;
      for (const ip of [node.spec.address, second])
        if (ip !== undefined) this.nodesByAddress.set(ip, flowEnd);
    }
    for (const pod of cluster.pods) this.addPod(pod);
    for (const { name } of [...cluster.outside, ...cluster.apiServers])
      this.byReference.set(name, { reference: name, kind: "outside", os: "outside", node: undefined });
    this.addServices();
  }

  /** The end that a reference names; what is none of the cluster is an end of no machine. */
  endOf(reference: string): FlowEnd {
    return this.byReference.get(reference) ?? { reference, kind: "other", os: "outside", node: undefined };
  }

  /** The flow with all that limits ask of it. */
  flowOf({ from, to, address, protocol, port, isByName }: AskedFlow): LimitedFlow {
    const target = this.endOf(to);
    return {
      source: this.endOf(from),
      target,
      address,
      answerers: this.answerersOf(target, address, protocol, port),
      protocol,
      port,
      isByName,
      ...(isByName ? { nameServers: this.nameServers() } : {}),
    };
  }

  private addPod({ spec, node, address, address6 }: ClusterPod): void {
    const { namespace, name } = spec;
    const known = this.labels.get(`${namespace}/${name}`) ?? { namespace, name, labels: {} };
    const isHostNetwork = spec.network === "host";
    const flowEnd: FlowEnd = {
      reference: `pod/${namespace}/${name}`,
      kind: "pod",
      os: node.spec.os,
      node: node.spec.name,
      pod: isHostNetwork ? { ...known, isHostNetwork } : known,
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
    const { Service: services, EndpointSlice: slices } = this.cluster.objects;
    const byService = slicesByService(slices);
    for (const service of services) {
      const key = keyOf(service);
      const reference = `service/${key}`;
      this.services.set(reference, service);
      this.byReference.set(reference, { reference, kind: "service", os: "outside", node: undefined });
      for (const ip of addressesOf(service)) this.serviceByAddress.set(ip, service);
      for (const { nodePort, protocol = "TCP" } of service.spec?.ports ?? [])
        if (nodePort !== undefined) this.byNodePort.set(`${protocol} ${nodePort}`, service);
      const found = new Set<FlowEnd>();
      for (const { endpoints = [], metadata } of byService.get(key) ?? [])
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

  private answerersOf(
    target: FlowEnd,
    address: Ip | undefined,
    protocol: LimitedFlow["protocol"],
    port: number,
  ): readonly FlowEnd[] {
    const named = this.services.get(target.reference);
    if (named !== undefined) return this.behind(named);
    if (target.kind === "pod" || target.kind === "outside") return [target];
    const service = address === undefined ? undefined : this.serviceByAddress.get(address);
    if (service !== undefined) return this.behind(service);
    const node = address === undefined ? target : this.nodesByAddress.get(address);
    if (node?.kind === "node") return this.answerersOfNode(node, protocol, port);
    return address === undefined ? [] : (this.podsByAddress.get(address) ?? []);
  }

  /** Who answers on a port of a node: the pods behind a NodePort or a hostPort, pods in its network, or itself. */
  private answerersOfNode(
    node: FlowEnd,
    protocol: LimitedFlow["protocol"],
    port: number,
  ): readonly FlowEnd[] {
    const asked = `${protocol.toUpperCase()} ${port}`;
    const service = this.byNodePort.get(asked);
    if (service !== undefined) return this.behind(service);
    return this.onNodePorts.get(`${node.node ?? ""} ${asked}`) ?? [node];
  }

  private nameServers(): readonly FlowEnd[] {
    const { objects, file } = this.cluster;
    const service = findDnsService(objects.Service, file.network.serviceCIDR);
    return service === undefined ? [] : this.behind(service);
  }
}
