/**
 * A Service and its EndpointSlices as kube-proxy reads them: one plan for each port, with values in place of text
 * (pkg/proxy/serviceport.go, endpointschangetracker.go, endpointslicecache.go). Each family has a proxy of its own, which
 * looks at the addresses of its family and at nothing else.
 */
import type { Provenance } from "#core/base/recorder.ts";
import type { EndpointSlice, Service, ServicePort } from "#contracts/kubernetes/objects.ts";
import {
  type Ip,
  type IpFamily,
  type Prefix,
  familyOf,
  parseIp,
  parsePrefix,
  prefixFamily,
} from "#core/net/ip.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";

/** Kubernetes' default of `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const AFFINITY_SECONDS_DEFAULT = 10_800;
/** Services with this label are another proxy's. */
const PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name";

export interface PlannedEndpoint {
  readonly ip: Ip;
  readonly port: number;
  readonly nodeName: string | undefined;
  readonly isReady: boolean;
  /** Still takes connections although it is going. */
  readonly isServingTerminating: boolean;
  readonly nodeHints: readonly string[];
  readonly zoneHints: readonly string[];
}

export interface PlannedPort {
  /** As kube-proxy names it: `default/web:http`. */
  readonly name: string;
  /** For people: `Service default/web port 80`. */
  readonly label: string;
  readonly provenance: Provenance;
  /** IANA number. */
  readonly protocol: number;
  readonly clusterIp: Ip;
  readonly port: number;
  /** 0: none. */
  readonly nodePort: number;
  readonly externalIps: readonly Ip[];
  readonly ingressIps: readonly Ip[];
  readonly sourceRanges: readonly Prefix[];
  readonly isExternalLocal: boolean;
  readonly isInternalLocal: boolean;
  readonly affinitySeconds: number | undefined;
  /** By address and port as text, each once. */
  readonly endpoints: readonly PlannedEndpoint[];
}

const PROTOCOLS: Readonly<Record<string, number>> = { TCP: IpProtocol.tcp, UDP: IpProtocol.udp };

function addresses(texts: readonly (string | undefined)[] | undefined, family: IpFamily): readonly Ip[] {
  const parsed = (texts ?? [])
    .flatMap((text) => (text === undefined ? [] : (parseIp(text) ?? [])))
    .filter((ip) => familyOf(ip) === family);
  return Object.freeze([...new Set(parsed)]);
}

/** The Service's address of a family; undefined for those that have none: headless ones, `ExternalName`. */
function clusterIpOf(service: Service, family: IpFamily): Ip | undefined {
  const { spec } = service;
  if (spec?.type === "ExternalName" || service.metadata.labels?.[PROXY_NAME_LABEL] !== undefined)
    return undefined;
  return addresses([spec?.clusterIP, ...(spec?.clusterIPs ?? [])], family)[0];
}

/** `LoadBalancerVIPs`: an address with `ipMode: Proxy` is not the node's to take. */
function ingressIps(service: Service, family: IpFamily): readonly Ip[] {
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  return addresses(
    ingress.filter(({ ipMode }) => ipMode !== "Proxy").map(({ ip }) => ip),
    family,
  );
}

function endpointsOf(
  port: ServicePort,
  slices: readonly EndpointSlice[],
  family: IpFamily,
): readonly PlannedEndpoint[] {
  const found = new Map<string, PlannedEndpoint>();
  for (const slice of slices) {
    if (slice.addressType !== `IPv${family}`) continue;
    for (const each of slice.ports ?? []) {
      const isSame =
        (each.name ?? "") === (port.name ?? "") && (each.protocol ?? "TCP") === (port.protocol ?? "TCP");
      if (!isSame || each.port === undefined) continue;
      for (const endpoint of slice.endpoints ?? []) {
        // Further addresses of an endpoint are not used.
        const ip = parseIp(endpoint.addresses[0] ?? "");
        if (ip === undefined || familyOf(ip) !== family) continue;
        const { conditions, hints } = endpoint;
        const isReady = conditions?.ready ?? true;
        const key = formatSocketAddress(ip, each.port);
        found.set(
          key,
          Object.freeze({
            ip,
            port: each.port,
            nodeName: endpoint.nodeName,
            isReady,
            isServingTerminating: (conditions?.serving ?? isReady) && (conditions?.terminating ?? false),
            nodeHints: Object.freeze((hints?.forNodes ?? []).map(({ name }) => name)),
            zoneHints: Object.freeze((hints?.forZones ?? []).map(({ name }) => name)),
          }),
        );
      }
    }
  }
  const keys = [...found.keys()].toSorted();
  return Object.freeze(keys.flatMap((key) => found.get(key) ?? []));
}

/** The plans of all ports that the proxy of a family serves: none for a Service without an address of the family. */
export function planService(
  service: Service,
  slices: readonly EndpointSlice[],
  family: IpFamily = 4,
): readonly PlannedPort[] {
  const clusterIp = clusterIpOf(service, family);
  const { spec } = service;
  if (clusterIp === undefined || spec === undefined) return [];
  const { namespace, name, uid } = service.metadata;
  const externalIps = addresses(spec.externalIPs, family);
  const isExternal = spec.type === "NodePort" || spec.type === "LoadBalancer" || externalIps.length > 0;
  const plans: PlannedPort[] = [];
  for (const port of spec.ports ?? []) {
    const protocol = PROTOCOLS[port.protocol ?? "TCP"];
    if (protocol === undefined) continue;
    const suffix = port.name === undefined || port.name === "" ? "" : `:${port.name}`;
    plans.push(
      Object.freeze({
        name: `${namespace}/${name}${suffix}`,
        label: `Service ${namespace}/${name} port ${port.port}`,
        provenance: Object.freeze({ object: "Service", id: uid, name: `${namespace}/${name}` }),
        protocol,
        clusterIp,
        port: port.port,
        nodePort: port.nodePort ?? 0,
        externalIps,
        ingressIps: ingressIps(service, family),
        sourceRanges: Object.freeze(
          (spec.loadBalancerSourceRanges ?? [])
            .flatMap((text) => parsePrefix(text.trim()) ?? [])
            .filter((range) => prefixFamily(range) === family),
        ),
        isExternalLocal: isExternal && spec.externalTrafficPolicy === "Local",
        isInternalLocal: spec.internalTrafficPolicy === "Local",
        affinitySeconds:
          spec.sessionAffinity === "ClientIP"
            ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS_DEFAULT)
            : undefined,
        endpoints: endpointsOf(port, slices, family),
      }),
    );
  }
  return Object.freeze(plans);
}

// Which endpoints a node uses for a port of a Service (pkg/proxy/topology.go, CategorizeEndpoints): those that are
// ready, or else those that serve although they are going; near ones where the slices' hints say so; those of the node
// itself for policy Local.

/** The node that looks. */
export interface ViewingNode {
  readonly name: string;
  /** Label `topology.kubernetes.io/zone`. */
  readonly zone: string | undefined;
}

export interface UsedEndpoints {
  /** For policy Cluster. */
  readonly cluster: readonly PlannedEndpoint[];
  /** For policy Local. */
  readonly local: readonly PlannedEndpoint[];
  /** Somebody serves, on whatever node. */
  readonly isServed: boolean;
}

/** True when something leads to the port from outside the cluster. */
export function isExternallyAccessible(port: PlannedPort): boolean {
  return port.nodePort !== 0 || port.externalIps.length > 0 || port.ingressIps.length > 0;
}

function usesLocal(port: PlannedPort): boolean {
  return port.isInternalLocal || (port.isExternalLocal && isExternallyAccessible(port));
}

/** Policy Local outside still needs the others: what comes from the cluster itself is not bound by it. */
function usesCluster(port: PlannedPort): boolean {
  return !port.isInternalLocal || isExternallyAccessible(port);
}

/** True when nodes see different endpoints of the port. */
export function isNodeDependent(port: PlannedPort): boolean {
  return (
    usesLocal(port) ||
    port.endpoints.some(({ nodeHints, zoneHints }) => nodeHints.length + zoneHints.length > 0)
  );
}

function readyOrServing(endpoints: readonly PlannedEndpoint[]): readonly PlannedEndpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  return ready.length > 0 ? ready : endpoints.filter(({ isServingTerminating }) => isServingTerminating);
}

/** Ready endpoints that the hints keep for this node or its zone; all of them when the hints are not complete. */
function nearest(endpoints: readonly PlannedEndpoint[], node: ViewingNode): readonly PlannedEndpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  if (ready.length === 0) return endpoints;
  const forNode = ready.filter(({ nodeHints }) => nodeHints.includes(node.name));
  if (forNode.length > 0 && ready.every(({ nodeHints }) => nodeHints.length > 0)) return forNode;
  const { zone } = node;
  const forZone = ready.filter(({ zoneHints }) => zone !== undefined && zoneHints.includes(zone));
  return forZone.length > 0 && ready.every(({ zoneHints }) => zoneHints.length > 0) ? forZone : ready;
}

export function usedEndpoints(port: PlannedPort, node: ViewingNode | undefined): UsedEndpoints {
  const { endpoints } = port;
  const near = node === undefined ? endpoints : nearest(endpoints, node);
  const cluster = usesCluster(port) ? readyOrServing(near) : [];
  if (!usesLocal(port)) return { cluster, local: [], isServed: cluster.length > 0 };
  const local = readyOrServing(endpoints.filter(({ nodeName }) => nodeName === node?.name));
  return { cluster, local, isServed: cluster.length > 0 || readyOrServing(endpoints).length > 0 };
}
