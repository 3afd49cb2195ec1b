/** What Services ask of kube-proxy: addresses and ports, each with the back ends that get its connections. */
import { type Ip, parseIp } from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { type ClusterEvidence, type KubeRecord, type LoadBalancerRecord } from "../evidence.ts";
import type { Place } from "../place.ts";

export const PROTOCOLS: Readonly<Record<string, number>> = { TCP: 6, UDP: 17 };
export const DNS_PORT = 53;

/** The Service that pods ask for names, as installers call it. */
export function isDnsService({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): boolean {
  return namespace === "kube-system" && (name === "kube-dns" || name === "coredns");
}

/** Services with these labels are another proxy's, or nobody's. */
const NOT_OURS = ["service.kubernetes.io/service-proxy-name", "service.kubernetes.io/headless"];

/** A port of a Service at one of its cluster addresses. */
export interface FrontEnd {
  readonly service: KubeRecord<"Service">;
  readonly name: string;
  readonly vip: Ip;
  readonly port: number;
  readonly protocol: number;
  /** Those of slices that get traffic: all that are ready. */
  readonly ready: readonly BackEnd[];
  /** All that slices name, ready or not. */
  readonly named: ReadonlySet<Ip>;
  /** Of the slices. */
  readonly ports: ReadonlySet<number>;
  readonly isLocalOnly: boolean;
}

interface BackEnd {
  readonly address: Ip;
  readonly place: Place;
}

export function nameOf({ metadata }: KubeRecord<"Service">["object"]): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function protocolName(protocol: number): string {
  return protocol === PROTOCOLS["UDP"] ? "UDP" : "TCP";
}

export function placeText({ vip, port, protocol }: Pick<FrontEnd, "vip" | "port" | "protocol">): string {
  return `${formatSocketAddress(vip, port)}/${protocolName(protocol)}`;
}

/** Back ends of one port of a Service, from its slices. */
function backEndsOf(
  slices: readonly KubeRecord<"EndpointSlice">[],
  portName: string,
): Pick<FrontEnd, "ready" | "named" | "ports"> {
  const ready: BackEnd[] = [];
  const named = new Set<Ip>();
  const numbers = new Set<number>();
  for (const { object, place } of slices) {
    const { ports = [], endpoints } = object;
    const own = ports.filter((each) => (each.name ?? "") === portName);
    if (own.length === 0) continue;
    for (const { port } of own) if (port !== undefined) numbers.add(port);
    for (const { addresses, conditions } of endpoints ?? [])
      for (const text of addresses.slice(0, 1)) {
        const address = parseIp(text);
        if (address === undefined) continue;
        named.add(address);
        if (conditions?.ready !== false) ready.push({ address, place });
      }
  }
  return { ready, named, ports: numbers };
}

function isProxied({ metadata, spec }: KubeRecord<"Service">["object"]): boolean {
  return spec?.type !== "ExternalName" && !NOT_OURS.some((label) => metadata.labels?.[label] !== undefined);
}

/** What kube-proxy of a node has to program for cluster addresses. */
export function frontEndsOf({ services, slices }: ClusterEvidence): readonly FrontEnd[] {
  const byService = Map.groupBy(
    slices,
    ({ object: { metadata } }) => `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ""}`,
  );
  return services.flatMap((service) => {
    const { object } = service;
    const { spec } = object;
    if (!isProxied(object) || spec === undefined) return [];
    const texts = spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP]);
    const vips = texts.flatMap((text) => parseIp(text) ?? []);
    return vips.flatMap((vip) =>
      (spec.ports ?? []).flatMap(({ name = "", port, protocol = "TCP" }) => {
        const number = PROTOCOLS[protocol];
        if (number === undefined) return [];
        const all = backEndsOf(byService.get(nameOf(object)) ?? [], name);
        const isSame = (address: Ip): boolean => typeof address === typeof vip;
        return {
          service,
          name: nameOf(object),
          vip,
          port,
          protocol: number,
          ready: all.ready.filter(({ address }) => isSame(address)),
          named: all.named,
          ports: all.ports,
          isLocalOnly: spec.internalTrafficPolicy === "Local",
        };
      }),
    );
  });
}

/** True where a load balancer may serve the front end: one whose ports are not shown may have any. */
export function serves(
  { vips, ports }: LoadBalancerRecord,
  { vip, port, protocol }: Pick<FrontEnd, "vip" | "port" | "protocol">,
): boolean {
  return (
    vips.includes(vip) &&
    (ports === undefined || ports.some((each) => each.external === port && each.protocol === protocol))
  );
}

/** Load balancers by their addresses: a node has thousands of both. */
export function byVip(
  loadBalancers: readonly LoadBalancerRecord[],
): ReadonlyMap<Ip, readonly LoadBalancerRecord[]> {
  const lists = new Map<Ip, LoadBalancerRecord[]>();
  for (const each of loadBalancers) for (const vip of each.vips) addToList(lists, vip, each);
  return lists;
}

/** An address or a port of a Service beside its cluster address. */
export interface OtherFrontEnd {
  readonly service: KubeRecord<"Service">;
  /** Undefined for a node port, which is at the node's addresses. */
  readonly vip: Ip | undefined;
  readonly port: number;
  readonly protocol: number;
  readonly what: string;
}

/** Node ports, and addresses that a cloud or a user gave, of Services with a ready back end. */
export function otherFrontEnds(cluster: ClusterEvidence): readonly OtherFrontEnd[] {
  const served = new Set(
    frontEndsOf(cluster)
      .filter(({ ready }) => ready.length > 0)
      .map(({ name }) => name),
  );
  return cluster.services.flatMap((service) => {
    const { spec, status } = service.object;
    if (!served.has(nameOf(service.object)) || spec?.externalTrafficPolicy === "Local") return [];
    const ingress = (status?.loadBalancer?.ingress ?? []).filter(({ ipMode }) => ipMode !== "Proxy");
    const vips = [...ingress.map(({ ip }) => ip), ...(spec?.externalIPs ?? [])].flatMap(
      (text) => parseIp(text ?? "") ?? [],
    );
    return (spec?.ports ?? []).flatMap(
      ({ port, nodePort, protocol: name = "TCP" }): readonly OtherFrontEnd[] => {
        const protocol = PROTOCOLS[name];
        if (protocol === undefined) return [];
        return [
          ...(nodePort === undefined
            ? []
            : [{ service, vip: undefined, port: nodePort, protocol, what: `node port ${nodePort}/${name}` }]),
          ...vips.map((vip) => ({
            service,
            vip,
            port,
            protocol,
            what: `${formatSocketAddress(vip, port)}/${name}`,
          })),
        ];
      },
    );
  });
}
