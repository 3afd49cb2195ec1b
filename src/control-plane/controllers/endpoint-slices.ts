/**
 * The EndpointSlice controller (k8s.io/endpointslice): slices of a Service with a selector, at most 100 endpoints each,
 * one set of slices per address family and per set of port numbers. Endpoints that stay keep their slice.
 */
import type { Prng } from "#core/base/prng.ts";
import { equalJson } from "#core/base/json.ts";
import { ownerReferenceTo, randomSuffix } from "../memory/admission/pod-template.ts";
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import { type ServiceSpec, isHeadless } from "../memory/services/service-defaults.ts";
import {
  isFinished,
  isReady,
  isTerminating,
  lastingContainers,
  podAddresses,
} from "#contracts/kubernetes/pod.ts";
import type {
  EndpointSlice,
  Endpoints,
  Node,
  Pod,
  Service,
  ServicePort,
} from "#contracts/kubernetes/objects.ts";
import { NO_CHANGES, type WantedChanges } from "./changes.ts";

export const MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by";
export const SLICE_CONTROLLER = "endpointslice-controller.k8s.io";
const HEADLESS_LABEL = "service.kubernetes.io/headless";
const ZONE_LABEL = "topology.kubernetes.io/zone";
/** `--max-endpoints-per-slice` of kube-controller-manager. */
const ENDPOINTS_MAX = 100;

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];
export type SlicePort = NonNullable<EndpointSlice["ports"]>[number];

/** The number of a Service's target port in a pod (k8s.io/endpointslice, `FindPort`); undefined when the pod has no port of that name. */
export function resolveTargetPort(port: ServicePort, pod: Pod): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === "number") return target === 0 ? port.port : target;
  const protocol = port.protocol ?? "TCP";
  for (const container of lastingContainers(pod.spec)) {
    for (const candidate of container.ports ?? []) {
      if (candidate.name === target && (candidate.protocol ?? "TCP") === protocol)
        return candidate.containerPort;
    }
  }
  return undefined;
}

/** The ports of a Service as this pod has them. */
function portsFor(service: Service, pod: Pod): readonly SlicePort[] {
  const ports: SlicePort[] = [];
  for (const port of service.spec?.ports ?? []) {
    const number = resolveTargetPort(port, pod);
    if (number === undefined) continue;
    const { appProtocol } = port;
    ports.push({
      name: port.name ?? "",
      port: number,
      protocol: port.protocol ?? "TCP",
      ...(appProtocol === undefined ? {} : { appProtocol }),
    });
  }
  return ports;
}

function addressFor(pod: Pod, family: string): string | undefined {
  return podAddresses(pod).find((address) => address.includes(":") === (family === "IPv6"));
}

function endpointFor(service: Service, pod: Pod, address: string, node: Node | undefined): Endpoint {
  const isServing = isReady(pod);
  const terminating = isTerminating(pod);
  const isAlwaysReady = service.spec?.publishNotReadyAddresses === true;
  const { namespace, name, uid } = pod.metadata;
  const { hostname, subdomain, nodeName } = pod.spec ?? {};
  const hasName = hostname !== undefined && hostname !== "" && subdomain === service.metadata.name;
  const zone = node?.metadata.labels?.[ZONE_LABEL];
  return {
    addresses: [address],
    conditions: { ready: isAlwaysReady || (isServing && !terminating), serving: isServing, terminating },
    ...(hasName ? { hostname } : {}),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(zone === undefined ? {} : { zone }),
  };
}

/** The endpoints that one slice group holds, by the uid of the pod. */
interface Group {
  readonly family: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: Map<string, Endpoint>;
}

function groupKey(family: string, ports: readonly SlicePort[]): string {
  const texts = ports.map(({ name, port, protocol }) => `${name} ${port} ${protocol}`);
  return `${family} ${texts.sort().join(",")}`;
}

function groupsOf(
  service: Service,
  pods: readonly Pod[],
  nodeOf: (name: string) => Node | undefined,
): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const family of service.spec?.ipFamilies ?? ["IPv4"]) {
    for (const pod of pods) {
      const address = isFinished(pod) ? undefined : addressFor(pod, family);
      if (address === undefined) continue;
      const ports = portsFor(service, pod);
      const key = groupKey(family, ports);
      const group = groups.get(key) ?? { family, ports, endpoints: new Map() };
      groups.set(key, group);
      const node = pod.spec?.nodeName === undefined ? undefined : nodeOf(pod.spec.nodeName);
      group.endpoints.set(pod.metadata.uid, endpointFor(service, pod, address, node));
    }
    const isEmpty = [...groups.values()].every((group) => group.family !== family);
    // A Service without endpoints has one empty slice, so that everybody knows.
    if (isEmpty) groups.set(groupKey(family, []), { family, ports: [], endpoints: new Map() });
  }
  return groups;
}

function labelsOf(service: Service): Record<string, string> {
  const { [HEADLESS_LABEL]: _, ...labels } = service.metadata.labels ?? {};
  return {
    ...labels,
    ...(isHeadless(service.spec as ServiceSpec) ? { [HEADLESS_LABEL]: "" } : {}),
    [SERVICE_NAME_LABEL]: service.metadata.name,
    [MANAGED_BY_LABEL]: SLICE_CONTROLLER,
  };
}

/** A new slice of a Service; the name's end is drawn by lot from the Service's own lots. */
function makeSlice(
  service: Service,
  labels: Readonly<Record<string, string>>,
  name: string,
  content: Pick<EndpointSlice, "addressType" | "endpoints" | "ports">,
): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name,
      generateName: `${service.metadata.name}-`,
      namespace: service.metadata.namespace,
      uid: "",
      resourceVersion: "",
      labels,
      ownerReferences: [ownerReferenceTo(service)],
    },
    ...content,
  };
}

/** Names for the slices of one Service that no slice has. */
function sliceNames(service: Service, taken: readonly EndpointSlice[], prng: Prng): () => string {
  const used = new Set(taken.map(({ metadata }) => metadata.name));
  const { namespace, name } = service.metadata;
  const lots = prng.derive(`slices ${namespace}/${name}`);
  return () => {
    let candidate = "";
    do candidate = `${name}-${randomSuffix(lots)}`;
    while (used.has(candidate));
    used.add(candidate);
    return candidate;
  };
}

/** A slice without the endpoints that are gone, with the others as they are now. */
function kept(slice: EndpointSlice, wanted: Map<string, Endpoint>): Endpoint[] {
  const endpoints: Endpoint[] = [];
  for (const { targetRef } of slice.endpoints ?? []) {
    const endpoint = targetRef?.uid === undefined ? undefined : wanted.get(targetRef.uid);
    if (targetRef?.uid === undefined || endpoint === undefined) continue;
    wanted.delete(targetRef.uid);
    endpoints.push(endpoint);
  }
  return endpoints;
}

interface Draft {
  readonly slice: EndpointSlice | undefined;
  readonly endpoints: Endpoint[];
}

/** Spreads the endpoints of a group over its slices: those that stay, then room in them, then new slices. */
function draftsOf(group: Group, slices: readonly EndpointSlice[]): Draft[] {
  const wanted = new Map(group.endpoints);
  const drafts: Draft[] = slices.map((slice) => ({ slice, endpoints: kept(slice, wanted) }));
  const rest = [...wanted.values()];
  for (const draft of drafts) {
    const room = ENDPOINTS_MAX - draft.endpoints.length;
    if (room > 0) draft.endpoints.push(...rest.splice(0, room));
  }
  while (rest.length > 0) drafts.push({ slice: undefined, endpoints: rest.splice(0, ENDPOINTS_MAX) });
  if (drafts.length === 0) drafts.push({ slice: undefined, endpoints: [] });
  return drafts;
}

/** The slices of a Service, made equal to what its pods are; `slices` are those that this controller manages. */
export function reconcileEndpointSlices(
  service: Service,
  pods: readonly Pod[],
  slices: readonly EndpointSlice[],
  taken: readonly EndpointSlice[],
  nodeOf: (name: string) => Node | undefined,
  prng: Prng,
): WantedChanges {
  const groups = groupsOf(service, pods, nodeOf);
  const labels = labelsOf(service);
  const nextName = sliceNames(service, taken, prng);
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove = slices.filter(({ addressType, ports }) => !groups.has(groupKey(addressType, ports ?? [])));
  for (const [key, group] of groups) {
    const existing = slices.filter(({ addressType, ports }) => groupKey(addressType, ports ?? []) === key);
    const drafts = draftsOf(group, existing);
    const isPlaceholder = group.endpoints.size === 0;
    for (const [index, { slice, endpoints }] of drafts.entries()) {
      const content = { addressType: group.family, endpoints, ports: [...group.ports] };
      if (slice === undefined) create.push(makeSlice(service, labels, nextName(), content));
      else if (endpoints.length === 0 && !(isPlaceholder && index === 0)) remove.push(slice);
      else if (!isSame(slice, labels, endpoints))
        update.push({ ...slice, ...content, metadata: { ...slice.metadata, labels } });
    }
  }
  if (create.length + update.length + remove.length === 0) return NO_CHANGES;
  return { create, update, remove };
}

function isSame(
  slice: EndpointSlice,
  labels: Readonly<Record<string, string>>,
  endpoints: readonly Endpoint[],
): boolean {
  return equalJson(slice.metadata.labels, labels) && equalJson(slice.endpoints ?? [], endpoints);
}

// The EndpointSlice mirroring controller (k8s.io/kubernetes, `pkg/controller/endpointslicemirroring`): slices for Endpoints
// that people or old programs wrote.

export const MIRRORING_CONTROLLER = "endpointslicemirroring-controller.k8s.io";
const SKIP_LABEL = "endpointslice.kubernetes.io/skip-mirror";
/** `--mirroring-max-endpoints-per-subset`. */
const MIRRORED_MAX = 1_000;

type Subset = NonNullable<Endpoints["subsets"]>[number];
type Address = NonNullable<Subset["addresses"]>[number];

/** Whether an Endpoints object says that it is not to be mirrored. */
function isMirrored({ metadata }: Endpoints): boolean {
  return metadata.labels?.[SKIP_LABEL] !== "true";
}

function endpointOf(address: Address, isServing: boolean): Endpoint {
  const { ip, hostname, nodeName, targetRef } = address;
  return {
    addresses: [ip],
    conditions: { ready: isServing, serving: isServing, terminating: false },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

type Content = Pick<EndpointSlice, "addressType" | "endpoints" | "ports">;

/** What the slices of one subset hold: one slice per family. */
function contentsOf(subset: Subset): Content[] {
  const endpoints = [
    ...(subset.addresses ?? []).map((address) => endpointOf(address, true)),
    ...(subset.notReadyAddresses ?? []).map((address) => endpointOf(address, false)),
  ];
  const ports = (subset.ports ?? []).map((port) => ({
    name: port.name ?? "",
    port: port.port,
    protocol: port.protocol ?? "TCP",
  }));
  const contents: Content[] = [];
  for (const addressType of ["IPv4", "IPv6"]) {
    const own = endpoints.filter(
      ({ addresses }) => (addresses[0] ?? "").includes(":") === (addressType === "IPv6"),
    );
    if (own.length > 0) contents.push({ addressType, endpoints: own.slice(0, MIRRORED_MAX), ports });
  }
  return contents;
}

/** The mirrored slices of a Service, made equal to its Endpoints; `slices` are those that were mirrored before. */
export function reconcileMirror(
  service: Service,
  endpoints: Endpoints | undefined,
  slices: readonly EndpointSlice[],
  taken: readonly EndpointSlice[],
  prng: Prng,
): WantedChanges {
  const isWanted = endpoints !== undefined && isMirrored(endpoints);
  const contents = isWanted ? (endpoints.subsets ?? []).flatMap(contentsOf) : [];
  const nextName = sliceNames(service, taken, prng);
  const labels = {
    ...endpoints?.metadata.labels,
    [SERVICE_NAME_LABEL]: service.metadata.name,
    [MANAGED_BY_LABEL]: MIRRORING_CONTROLLER,
  };
  const left = [...slices];
  const create: EndpointSlice[] = [];
  for (const content of contents) {
    const index = left.findIndex(({ addressType, endpoints: own, ports }) =>
      equalJson({ addressType, endpoints: own, ports }, content),
    );
    if (index >= 0) left.splice(index, 1);
    else create.push(makeSlice(service, labels, nextName(), content));
  }
  if (create.length + left.length === 0) return NO_CHANGES;
  return { create, update: [], remove: left };
}
