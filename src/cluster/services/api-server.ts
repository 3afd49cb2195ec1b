/**
 * The API server as pods meet it: Service `kubernetes`, which every API server makes of itself (k8s.io/kubernetes,
 * `pkg/controlplane/controller/kubernetesservice` and `reconcilers/endpointsadapter.go`), and machines that answer behind
 * it. Where the input has neither, it is a control-plane node of the input, or a machine beside the nodes that is assumed.
 */
import type { JsonObject } from "#core/base/json.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { KubeObject, Service } from "#contracts/kubernetes/objects.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  addToIp,
  formatIp,
  lastIp,
  parseIp,
  prefixContains,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import type { ClusterFile, NodeSpec } from "../file/cluster-file.ts";
import { allNetworks } from "../networks/networks-of-node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const API_NAMESPACE = "default";
const API_SERVICE = "kubernetes";
const SERVICE_PORT = 443;
/** kubeadm's, and kube-apiserver's own default (`--secure-port`). */
const SERVER_PORT = 6_443;
const PORT_NAME = "https";
/** The second one is what kubeadm wrote up to 1.23. */
const CONTROL_PLANE_LABELS = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/** Length of the network of a machine outside the underlay. */
const FAR_LENGTH = 24;

/** Where an API server answers. */
export interface ApiServerPlace {
  readonly address: Ipv4;
  readonly port: number;
  /** The node whose address it is; undefined: a machine of its own. */
  readonly node: string | undefined;
}

export interface ApiServerPlan {
  readonly places: readonly ApiServerPlace[];
  /** What of the input says where it is; undefined: assumed. */
  readonly toldBy: KubeObject | undefined;
  /** What the input lacks, as manifests. */
  readonly objects: readonly JsonObject[];
  /** The input brings the Service itself. */
  readonly isServiceBrought: boolean;
  /** Why there is no API server, or no Service; one sentence without a full stop. */
  readonly lack?: string;
}

/** True for Service `kubernetes`, and for endpoints with its name. */
export function isApiService({ metadata }: KubeObject): boolean {
  return metadata.namespace === API_NAMESPACE && metadata.name === API_SERVICE;
}

/** What the input says of where its API servers are: slices first, as an API server of today writes both. */
function told(
  brought: readonly KubeObject[],
): { readonly by: KubeObject; readonly ends: readonly (readonly [Ip, number])[] } | undefined {
  for (const object of brought) {
    if (object.kind !== "EndpointSlice" || object.metadata.namespace !== API_NAMESPACE) continue;
    if (object.metadata.labels?.[SERVICE_NAME_LABEL] !== API_SERVICE) continue;
    const port = object.ports?.[0]?.port;
    const ips = (object.endpoints ?? []).flatMap(({ addresses }) => parseIp(addresses[0] ?? "") ?? []);
    if (port !== undefined && ips.length > 0) return { by: object, ends: ips.map((ip) => [ip, port]) };
  }
  for (const object of brought) {
    if (object.kind !== "Endpoints" || !isApiService(object)) continue;
    const [subset] = object.subsets ?? [];
    const port = subset?.ports?.[0]?.port;
    const ips = (subset?.addresses ?? []).flatMap(({ ip }) => parseIp(ip) ?? []);
    if (port !== undefined && ips.length > 0) return { by: object, ends: ips.map((ip) => [ip, port]) };
  }
  return undefined;
}

function nodeAt({ nodes }: ClusterFile, ip: Ip): NodeSpec | undefined {
  return nodes.find(({ address }) => address === ip);
}

/** Ranges that are not free for a machine of the underlay. */
function isUsed(file: ClusterFile, brought: readonly KubeObject[]): (ip: Ipv4) => boolean {
  const { underlay, nodes, outside, pods, loadBalancerPool } = file;
  const single = new Set<Ip>([
    underlay.router,
    ...nodes.map(({ address }) => address),
    ...outside.map(({ address }) => address),
    ...pods.flatMap(({ address }) => address ?? []),
    ...underlay.routes.map(({ via }) => via),
    ...underlay.dhcpServers.map(({ address }) => address),
    ...brought.flatMap((object) => {
      if (object.kind === "Pod") return parseIp(object.status?.podIP ?? "") ?? [];
      return object.kind === "Service" ? addressesAtNodes(object) : [];
    }),
  ]);
  const ranges = [
    ...(loadBalancerPool === undefined ? [] : [loadBalancerPool]),
    ...(underlay.dhcp === undefined ? [] : [underlay.dhcp.range]),
    ...underlay.dhcpServers.map(({ range }) => range),
    ...allNetworks(file).flatMap(({ shape, clusterCIDR }) => (shape === "own-subnet" ? [clusterCIDR] : [])),
  ];
  const spans = nodes.flatMap(({ podAddresses }) => podAddresses ?? []);
  return (ip) =>
    single.has(ip) ||
    ranges.some((range) => prefixContains(range, ip)) ||
    spans.some(({ first, last }) => ip >= first && ip <= last);
}

/** Addresses of a Service that hosts of the underlay may be asked for. */
function addressesAtNodes({ spec, status }: Service): readonly Ip[] {
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  return [...(spec?.externalIPs ?? []), ...ingress].flatMap((text) => parseIp(text ?? "") ?? []);
}

/** More addresses are not looked at. */
const CANDIDATES_MAX = 4_096;

/** The highest address of the underlay that is free: clouds and installers give machines the low ones. */
function freeAddress(file: ClusterFile, brought: readonly KubeObject[]): Ipv4 | undefined {
  const { subnet } = file.underlay;
  const used = isUsed(file, brought);
  const last = Number(lastIp(subnet)) - 1;
  const first = Math.max(Number(subnet.address) + 1, last - CANDIDATES_MAX);
  for (let ip = last; ip >= first; ip--) if (!used(ip as Ipv4)) return ip as Ipv4;
  return undefined;
}

/** A machine can be put there: it is free in the underlay, or behind the router where nothing of the cluster is. */
function canBeAt(file: ClusterFile, ip: Ipv4, brought: readonly KubeObject[]): boolean {
  if (prefixContains(file.underlay.subnet, ip)) return !isUsed(file, brought)(ip);
  const own = prefixOf(ip, FAR_LENGTH);
  const known = [
    file.underlay.subnet,
    file.network.serviceCIDR,
    ...allNetworks(file).map(({ clusterCIDR }) => clusterCIDR),
    ...file.underlay.routes.map(({ to }) => to),
    ...file.outside.map(({ address }) => prefixOf(address, FAR_LENGTH)),
  ];
  return !known.some((range) => prefixesOverlap(range, own));
}

interface Places extends Pick<ApiServerPlan, "places" | "toldBy" | "lack"> {
  /** Of the endpoints, for objects to be made. */
  readonly ends: readonly (readonly [Ip, number])[];
}

/** The places of machines in `file`; endpoints of another family, or of machines that cannot be here, have none. */
function placesOf(file: ClusterFile, brought: readonly KubeObject[], port: number): Places {
  const found = told(brought);
  if (found !== undefined) {
    const places = found.ends.flatMap(([ip, own]): readonly ApiServerPlace[] => {
      if (typeof ip !== "number") return [];
      const node = nodeAt(file, ip)?.name;
      return node !== undefined || canBeAt(file, ip, brought) ? [{ address: ip, port: own, node }] : [];
    });
    const lack = `the API server is at ${formatIp(found.ends[0]?.[0] ?? file.underlay.router)}, where no machine is here`;
    return { places, toldBy: found.by, ends: found.ends, ...(places.length === 0 && { lack }) };
  }
  const nodes = brought.flatMap((object) => {
    if (object.kind !== "Node") return [];
    const spec = file.nodes.find(({ name, os }) => name === object.metadata.name && os === "linux");
    const isControlPlane = CONTROL_PLANE_LABELS.some((label) => label in (object.metadata.labels ?? {}));
    return spec !== undefined && isControlPlane ? [{ object, spec }] : [];
  });
  const [first] = nodes;
  if (first !== undefined) {
    const places = nodes.map(({ spec }) => ({ address: spec.address, port, node: spec.name }));
    return { places, toldBy: first.object, ends: places.map(({ address }) => [address, port]) };
  }
  const address = freeAddress(file, brought);
  if (address === undefined)
    return {
      places: [],
      toldBy: undefined,
      ends: [],
      lack: "the underlay has no free address for an API server",
    };
  return { places: [{ address, port, node: undefined }], toldBy: undefined, ends: [[address, port]] };
}

/** The address that the API server gives its Service. */
function serviceAddress(serviceCIDR: Prefix): string {
  return formatIp(defined(addToIp(serviceCIDR.address, 1), "a service range is at most a /30"));
}

function serviceManifest(clusterIP: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: API_SERVICE,
      namespace: API_NAMESPACE,
      labels: { component: "apiserver", provider: "kubernetes" },
    },
    spec: {
      clusterIP,
      sessionAffinity: "None",
      type: "ClusterIP",
      ports: [{ name: PORT_NAME, port: SERVICE_PORT, protocol: "TCP", targetPort: SERVER_PORT }],
    },
  };
}

/** Endpoints, and the slice that the API server writes of them itself: no controller manages it. */
function endpointManifests(ends: Places["ends"], portName: string): readonly JsonObject[] {
  const addresses = ends.map(([ip]) => formatIp(ip));
  const ports = [{ name: portName, port: ends[0]?.[1] ?? SERVER_PORT, protocol: "TCP" }];
  const place = { name: API_SERVICE, namespace: API_NAMESPACE };
  return [
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { ...place, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets: addresses.length === 0 ? [] : [{ addresses: addresses.map((ip) => ({ ip })), ports }],
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...place, labels: { [SERVICE_NAME_LABEL]: API_SERVICE } },
      addressType: "IPv4",
      endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
      ports,
    },
  ];
}

/** What an API server without machines of its own makes of itself; `end` is where pods reach it, undefined: nowhere. */
export function apiServiceManifests(
  serviceCIDR: Prefix,
  end: readonly [Ipv4, number] | undefined,
): readonly JsonObject[] {
  const ends = end === undefined ? [] : [end];
  return [serviceManifest(serviceAddress(serviceCIDR)), ...endpointManifests(ends, PORT_NAME)];
}

/** The port of the API server that a Service of the input leads to, and what the Service calls it. */
function portOf(service: Service | undefined): { readonly port: number; readonly portName: string } {
  const [first] = service?.spec?.ports ?? [];
  if (first === undefined) return { port: SERVER_PORT, portName: PORT_NAME };
  const { name = "", port, targetPort } = first;
  return { port: typeof targetPort === "number" ? targetPort : port, portName: name };
}

/** Where the API server of a cluster with `brought` is, and what its objects lack of it. */
export function planApiServer(file: ClusterFile, brought: readonly KubeObject[]): ApiServerPlan {
  const services = brought.filter((object) => object.kind === "Service");
  const own = services.find(isApiService);
  const clusterIP = serviceAddress(file.network.serviceCIDR);
  const { port, portName } = portOf(own);
  const { places, toldBy, lack, ends } = placesOf(file, brought, port);
  const isServiceBrought = own !== undefined;
  const taken = isServiceBrought ? undefined : services.find(({ spec }) => spec?.clusterIP === clusterIP);
  if (taken !== undefined) {
    const name = `${taken.metadata.namespace}/${taken.metadata.name}`;
    const message = WORDS.apiServiceAddressTaken({ name, clusterIP, apiService: API_SERVICE });
    return { places: [], toldBy: undefined, objects: [], isServiceBrought, lack: message };
  }
  const hasEnds = brought.some((object) => object === toldBy && object.kind !== "Node");
  const objects = [
    ...(isServiceBrought ? [] : [serviceManifest(clusterIP)]),
    ...(hasEnds || ends.length === 0 ? [] : endpointManifests(ends, portName)),
  ];
  return { places, toldBy, objects, isServiceBrought, ...(lack === undefined ? {} : { lack }) };
}
