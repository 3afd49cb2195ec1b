/** The fixture of kube-proxy's decision table (kube-proxy.md §8.1): one node, a fake HNS, Services and slices. */
import type { Compat } from "#core/base/compat.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { type HostComputeEndpoint, parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { parseLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { KubeProxy } from "#programs/kube-proxy/kube-proxy.ts";
import type { KubeProxyOptions } from "#programs/kube-proxy/options.ts";
import { ProxyObjects } from "#programs/kube-proxy/tracking/proxy-objects.ts";
import type { SyncReport } from "#programs/kube-proxy/report.ts";
import type { EndpointSlice, Service, ServicePort } from "#contracts/kubernetes/objects.ts";
import { FakeHcnClient, type NotedCall } from "../hns/fake-hcn-client.ts";
import { formatLoadBalancer, formatRemoteEndpoint } from "./load-balancer-notation.ts";

export const NODE_NAME = "test-node";
const NETWORK_NAME = "TestNetwork";
export const NETWORK_ID = "00123abc-0000-4000-8000-000000000000";
const LOCAL_GROUP = "10ca1000";
const LOAD_BALANCER_GROUP = "1b000000";
const ENDPOINT_GROUP = "e9000000";

/** Addresses of the fixture by symbol. */
export const ADDRESS = {
  N: "10.0.0.1",
  SV: "192.168.1.2",
  C: "10.20.30.41",
  C2: "10.20.30.42",
  E: "50.60.70.81",
  E2: "50.60.70.82",
  G: "11.21.31.41",
  G2: "11.21.31.42",
  L1: "192.168.4.4",
  L2: "192.168.4.5",
  /** On this node by its slice; HNS has no such endpoint. */
  L9: "192.168.4.9",
  R1: "192.168.2.3",
  R2: "192.168.2.4",
  X: "10.0.0.3",
  U: "203.0.113.9",
} as const;
export type AddressSymbol = keyof typeof ADDRESS;

/** Endpoints that somebody else made on this node. */
export const ENDPOINT_IDS = {
  "EP-L1": "10ca1000-0000-4000-8000-000000000001",
  "EP-L2": "10ca1000-0000-4000-8000-000000000002",
  "EP-GW": "10ca1000-0000-4000-8000-000000000003",
} as const;

const NAMES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(ADDRESS).map(([name, address]) => [address, name] as const),
  ...Object.entries(ENDPOINT_IDS).map(([name, id]) => [id, name === "EP-GW" ? "GW" : name] as const),
]);

/** `LBID-3` for the third load balancer that the fake made, `EPID-2` for its second endpoint. */
function formatId(id: Guid | undefined): string {
  const [group = ""] = (id ?? "").split("-");
  const number = Number((id ?? "").slice(-12));
  if (group === LOAD_BALANCER_GROUP) return `LBID-${number}`;
  return group === ENDPOINT_GROUP ? `EPID-${number}` : (NAMES.get(id ?? "") ?? String(id));
}

export interface NodeSettings {
  /** In place of an empty HNS. */
  readonly client?: FakeHcnClient;
  /** Minor version of Kubernetes; default 36. */
  readonly minor?: number;
  readonly compat?: Compat;
  readonly isOverlay?: boolean;
  /** Default 11.10: as the fake of upstream, without modify and affinity. */
  readonly hns?: HnsVersion;
  readonly hasRootEndpoint?: boolean;
  readonly remoteSubnets?: readonly (readonly [prefix: string, providerAddress: string])[];
  readonly options?: Partial<KubeProxyOptions>;
}

/** HNS versions with and without what a row asks for. */
export const HNS_WITH_MODIFY: HnsVersion = { Major: 15, Minor: 5 };
export const HNS_WITHOUT_DSR: HnsVersion = { Major: 9, Minor: 2 };

/** An endpoint of a slice, in short: local ones say the node, remote ones another. */
export interface EndpointSketch {
  readonly at: AddressSymbol | { readonly address: string; readonly node: string };
  /** `ready`; `unready`; `serving`: terminating and serving; `terminating`: terminating, not serving; `unset`: no conditions. */
  readonly is?: "ready" | "unready" | "serving" | "terminating" | "unset";
}
export type EndpointLike = AddressSymbol | EndpointSketch;

const CONDITIONS = {
  ready: { ready: true, serving: true, terminating: false },
  unready: { ready: false, serving: false, terminating: false },
  serving: { ready: false, serving: true, terminating: true },
  terminating: { ready: false, serving: false, terminating: true },
  unset: {},
} as const;

function isLocalSymbol(symbol: AddressSymbol): boolean {
  return symbol.startsWith("L") || symbol === "N";
}

function sliceEndpoint(like: EndpointLike): NonNullable<EndpointSlice["endpoints"]>[number] {
  const sketch: EndpointSketch = typeof like === "string" ? { at: like } : like;
  const conditions = CONDITIONS[sketch.is ?? "ready"];
  if (typeof sketch.at !== "string")
    return { addresses: [sketch.at.address], nodeName: sketch.at.node, conditions };
  const nodeName = isLocalSymbol(sketch.at) ? NODE_NAME : "other-node";
  return { addresses: [ADDRESS[sketch.at]], nodeName, conditions };
}

type ServiceSpec = NonNullable<Service["spec"]>;

export interface ServiceSketch {
  readonly name?: string;
  readonly spec?: Partial<ServiceSpec>;
  readonly ingress?: NonNullable<NonNullable<Service["status"]>["loadBalancer"]>["ingress"];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Service `default/svc` with ClusterIP C and port 80/TCP to 8080 unless the sketch says otherwise. */
export function service(sketch: ServiceSketch = {}): Service {
  const { name = "svc", spec = {}, ingress, annotations = {}, labels = {} } = sketch;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", uid: name, resourceVersion: "1", annotations, labels },
    spec: {
      type: "ClusterIP",
      clusterIP: ADDRESS.C,
      ports: [{ name: "p80", port: 80, protocol: "TCP", targetPort: 8080 }],
      ...spec,
    },
    ...(ingress === undefined ? {} : { status: { loadBalancer: { ingress } } }),
  };
}

/** The one port of most rows, with a node port. */
export const NODE_PORT: readonly ServicePort[] = [
  { name: "p80", port: 80, protocol: "TCP", targetPort: 8080, nodePort: 3001 },
];

export interface SliceSketch {
  readonly name?: string;
  readonly of?: string;
  readonly addressType?: "IPv4" | "IPv6";
  readonly ports?: EndpointSlice["ports"];
  readonly labels?: Readonly<Record<string, string>>;
}

/** A slice of Service `svc` for port p80 at 8080 unless the sketch says otherwise. */
export function slice(endpoints: readonly EndpointLike[], sketch: SliceSketch = {}): EndpointSlice {
  const { of = "svc", addressType = "IPv4", labels = {} } = sketch;
  const name = sketch.name ?? `${of}-${addressType.toLowerCase()}`;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name,
      namespace: "default",
      uid: name,
      resourceVersion: "1",
      labels: { "kubernetes.io/service-name": of, ...labels },
    },
    addressType,
    ports: sketch.ports ?? [{ name: "p80", port: 8080, protocol: "TCP" }],
    endpoints: endpoints.map(sliceEndpoint),
  };
}

function networkDocument(settings: NodeSettings): JsonObject & { readonly ID: Guid } {
  const subnets = settings.remoteSubnets ?? [["192.168.2.0/24", "10.0.0.3"]];
  return {
    ID: NETWORK_ID,
    Name: NETWORK_NAME,
    Type: settings.isOverlay === true ? "Overlay" : "L2Bridge",
    Policies: subnets.map(([DestinationPrefix, ProviderAddress]) => ({
      Type: "RemoteSubnetRoute",
      Settings: { DestinationPrefix, IsolationId: 4096, ProviderAddress },
    })),
  };
}

export class KubeProxyNode {
  readonly hns: FakeHcnClient;
  readonly objects: ProxyObjects;
  readonly settings: NodeSettings;
  proxy: KubeProxy;

  constructor(settings: NodeSettings = {}, objects: ProxyObjects = new ProxyObjects()) {
    this.settings = settings;
    this.hns = settings.client ?? new FakeHcnClient();
    this.objects = objects;
    this.hns.version = settings.hns ?? { Major: 11, Minor: 10 };
    this.hns.idGroups = { LoadBalancer: LOAD_BALANCER_GROUP, Endpoint: ENDPOINT_GROUP };
    this.hns.put("Network", networkDocument(settings));
    this.putLocal("EP-L1", ADDRESS.L1);
    this.putLocal("EP-L2", ADDRESS.L2);
    if (settings.hasRootEndpoint !== false) this.putLocal("EP-GW", "192.168.2.1", "cbr0");
    this.proxy = this.newProxy();
  }

  /** A process that begins anew. */
  newProxy(): KubeProxy {
    const { minor = 36, compat = "upstream", options } = this.settings;
    return new KubeProxy({
      client: this.hns,
      objects: this.objects,
      options: {
        kubernetes: { major: 1, minor },
        compat,
        hostname: NODE_NAME,
        nodeIp: ADDRESS.N,
        networkName: NETWORK_NAME,
        sourceVip: ADDRESS.SV,
        hostInterfaces: [{ mac: "00-11-22-33-44-55", addresses: [ADDRESS.N] }],
        ...options,
      },
    });
  }

  /** Lists objects as there are at the start, starts, and makes the first sync. */
  async begin(services: readonly Service[], slices: readonly EndpointSlice[]): Promise<SyncReport> {
    this.objects.servicesListed(services);
    this.objects.endpointSlicesListed(slices);
    await this.start();
    return this.proxy.sync();
  }

  /** Starts as far as it goes without an end of the waiting. */
  async start(): Promise<string> {
    const first = await this.proxy.start();
    const result = first.state === "waiting" ? await this.proxy.start() : first;
    return result.state === "failed" ? result.finding.message : result.state;
  }

  /** Changes objects by name, and syncs. */
  async change(...objects: readonly (Service | EndpointSlice)[]): Promise<SyncReport> {
    this.forgetCalls();
    for (const object of objects) {
      if (object.kind === "Service") this.objects.serviceChanged(object, object);
      else this.objects.endpointSliceChanged(object, object);
    }
    return this.proxy.sync();
  }

  /** Removes objects, and syncs. */
  async remove(...objects: readonly (Service | EndpointSlice)[]): Promise<SyncReport> {
    this.forgetCalls();
    for (const object of objects) {
      if (object.kind === "Service") this.objects.serviceChanged(object, undefined);
      else this.objects.endpointSliceChanged(object, undefined);
    }
    return this.proxy.sync();
  }

  /** The load balancers of HNS in order of creation. */
  loadBalancers(): readonly string[] {
    return this.hns
      .list("LoadBalancer")
      .map((document) => formatLoadBalancer(parseLoadBalancer(document), this.endpointsById(), NAMES));
  }

  /** As `loadBalancers`, with the identifier in front. */
  numberedLoadBalancers(): readonly string[] {
    return this.hns
      .list("LoadBalancer")
      .map(
        (document) =>
          `${formatId(document["ID"] as Guid)} ${formatLoadBalancer(parseLoadBalancer(document), this.endpointsById(), NAMES)}`,
      );
  }

  /** Endpoints that kube-proxy made, with their counts; the local one of the source VIP has none. */
  madeEndpoints(): readonly string[] {
    return [...this.endpointsById().values()]
      .filter(({ ID }) => ID?.startsWith(LOCAL_GROUP) !== true)
      .map((endpoint) =>
        endpoint.Flags === undefined
          ? `${NAMES.get(endpoint.IpConfigurations?.[0]?.IpAddress ?? "")} local`
          : formatRemoteEndpoint(endpoint, this.countOf(endpoint.ID ?? ""), NAMES),
      );
  }

  /** Identifiers of the endpoints that kube-proxy made. */
  madeIds(): readonly string[] {
    return [...this.endpointsById().keys()].filter((id) => !id.startsWith(LOCAL_GROUP)).map(formatId);
  }

  /** Calls that changed HNS since the last `forgetCalls`: `create LBID-3`, `update LBID-1`, `delete EPID-2`. */
  calls(): readonly string[] {
    return this.hns.calls.map((noted) => this.formatCall(noted));
  }

  forgetCalls(): void {
    this.hns.calls.length = 0;
  }

  /** Service ports that are applied and those that are not: `svc:p80`. */
  applied(): readonly string[] {
    return this.ports(true);
  }

  notApplied(): readonly string[] {
    return this.ports(false);
  }

  /** Codes of everything that keeps a Service from working. */
  codes(): readonly string[] {
    return this.proxy.services().flatMap(({ findings }) => findings.map(({ code }) => code));
  }

  putLocal(
    name: keyof typeof ENDPOINT_IDS,
    address: string,
    hnsName: string = name,
    more: readonly string[] = [],
  ): void {
    this.hns.put("Endpoint", {
      ID: ENDPOINT_IDS[name],
      Name: hnsName,
      HostComputeNetwork: NETWORK_ID,
      IpConfigurations: [address, ...more].map((IpAddress) => ({ IpAddress, PrefixLength: 24 })),
      MacAddress: "00-11-22-33-44-56",
    });
  }

  private ports(isApplied: boolean): readonly string[] {
    return this.proxy
      .services()
      .filter((status) => status.isApplied === isApplied)
      .map(({ name, portName }) => `${name}:${portName}`);
  }

  private countOf(id: Guid): number {
    return ([4, 6] as const).reduce(
      (sum, family) => sum + (this.proxy.proxier(family)?.referencesTo(id) ?? 0),
      0,
    );
  }

  private endpointsById(): ReadonlyMap<Guid, HostComputeEndpoint> {
    return new Map(
      this.hns.list("Endpoint").map((document) => [document["ID"] as Guid, parseEndpoint(document)]),
    );
  }

  private formatCall(noted: NotedCall): string {
    const [verb = "", kind = ""] = noted.call.split(" ");
    if (verb === "create") {
      const id = this.hns.createdIds.get(noted);
      return id === undefined ? `refused ${kind}` : `create ${formatId(id)}`;
    }
    return `${verb === "modify" ? "update" : verb} ${formatId(noted.id)}`;
  }
}
