/**
 * What kube-proxy reads of EndpointSlices: one frozen value per object version, shared by all nodes
 * (kube-proxy.md §3.1). Whether an endpoint is local is a question of the node that looks.
 */
import type { EndpointSlice } from "#contracts/kubernetes/objects.ts";
import { type IpFamily, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import { type ProxyEndpoint, remoteEndpointFor } from "../load-balancers/hns-endpoints.ts";
import type { IdleChanges, RepeatedEntryRule } from "../behaviour.ts";
import { type ReadingRules, portKey } from "./tracked-service.ts";

/** One address and port behind a Service. */
export interface TrackedEndpoint {
  readonly ip: string;
  readonly port: number;
  /** Undefined: the slice does not say; such an endpoint is local nowhere. */
  readonly nodeName: string | undefined;
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  /** What a node makes that has no endpoint with this address, unless its network is an overlay. */
  readonly remote: ProxyEndpoint;
  /**
   * Entries for the same address and port that name a node: on that node they count in place of this one. Undefined
   * when nothing is listed twice.
   */
  readonly onNodes: ReadonlyMap<string, TrackedEndpoint> | undefined;
}

/** Endpoints by key of their port, each list in order of the text `address:port`. */
export type EndpointsByPort = ReadonlyMap<string, readonly TrackedEndpoint[]>;

/** All slices of one Service and family together. */
export interface TrackedEndpoints {
  readonly namespace: string;
  /** Of the Service. */
  readonly name: string;
  readonly byPort: EndpointsByPort;
  /** Addresses of another family than their slice says: they are passed by, and an event reports it. */
  readonly misplaced: readonly string[];
  /** Equal texts, equal values. */
  readonly fingerprint: string;
}

interface SlicePort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** One slice as it counts. */
export interface TrackedSlice {
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Omit<TrackedEndpoint, "port" | "onNodes">[];
  readonly misplaced: readonly string[];
  readonly fingerprint: string;
  /** Its number among all changes of slices: upstream programs again also what has changed back. Absent: it does not. */
  readonly change?: number;
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The family of a slice; undefined for slices of host names. */
export function familyOfSlice(slice: EndpointSlice): IpFamily | undefined {
  if (slice.addressType === "IPv4") return 4;
  return slice.addressType === "IPv6" ? 6 : undefined;
}

/** What upstream compares although no load balancer shows it. */
function idleFields(slice: EndpointSlice, rule: IdleChanges["slice"]): readonly unknown[] {
  if (rule === "none") return [];
  if (rule === "whole") return [slice];
  return (slice.endpoints ?? []).map((endpoint) => {
    const { addresses, zone, hints } = endpoint;
    return [addresses, zone, hints];
  });
}

/** Reads one slice. Ports without a name or number, and endpoints without an address, are passed by. */
export function trackSlice(
  slice: EndpointSlice,
  family: IpFamily,
  { canonical, idleChanges }: ReadingRules,
): TrackedSlice {
  const ports: SlicePort[] = [];
  for (const { name, port, protocol } of slice.ports ?? []) {
    if (typeof name !== "string" || typeof port !== "number" || port === 0) continue;
    ports.push(Object.freeze({ name, port, protocol: protocol ?? "TCP" }));
  }
  const endpoints: Omit<TrackedEndpoint, "port" | "onNodes" | "remote">[] = [];
  const misplaced: string[] = [];
  for (const { addresses, conditions, nodeName } of slice.endpoints ?? []) {
    const [address] = addresses;
    if (address === undefined) continue;
    const ip = parseIp(address);
    if (ip === undefined || familyOf(ip) !== family) {
      misplaced.push(address);
      continue;
    }
    endpoints.push({
      ip: canonical.endpoints ? formatIp(ip) : address,
      nodeName: nodeName ?? undefined,
      isReady: conditions?.ready ?? true,
      isServing: conditions?.serving ?? true,
      isTerminating: conditions?.terminating ?? false,
    });
  }
  endpoints.sort((a, b) => compareTexts(a.ip, b.ip));
  ports.sort((a, b) => compareTexts(a.name, b.name) || a.port - b.port);
  const fingerprint = JSON.stringify([ports, endpoints, misplaced, ...idleFields(slice, idleChanges.slice)]);
  const withRemotes = endpoints.map((endpoint) => ({ ...endpoint, remote: remoteEndpointFor(endpoint.ip) }));
  return Object.freeze({ ports, endpoints: withRemotes, misplaced, fingerprint });
}

/**
 * Adds an endpoint to the list of its port. The first entry for an address and port stands. Where local ones are
 * preferred, one that names a node stands on that node, the last of several.
 */
function addEndpoint(
  byText: Map<string, TrackedEndpoint>,
  endpoint: TrackedEndpoint,
  rule: RepeatedEntryRule,
): void {
  const text = `${endpoint.ip}:${endpoint.port}`;
  const known = byText.get(text);
  if (known === undefined || (rule === "running" && !endpoint.isTerminating)) {
    byText.set(text, endpoint);
    return;
  }
  if (rule === "running") return;
  if (endpoint.nodeName === undefined) return;
  const onNodes = new Map(known.onNodes ?? []).set(endpoint.nodeName, endpoint);
  byText.set(text, Object.freeze({ ...known, onNodes }));
}

function endpointsByPort(
  namespace: string,
  name: string,
  slices: readonly TrackedSlice[],
  rule: RepeatedEntryRule,
): Map<string, readonly TrackedEndpoint[]> {
  const ports = new Map<string, Map<string, TrackedEndpoint>>();
  for (const slice of slices) {
    for (const { name: portName, protocol, port } of slice.ports) {
      const key = portKey(namespace, name, portName, protocol);
      const byText = ports.get(key) ?? new Map<string, TrackedEndpoint>();
      ports.set(key, byText);
      for (const endpoint of slice.endpoints)
        addEndpoint(byText, Object.freeze({ ...endpoint, port, onNodes: undefined }), rule);
    }
  }
  const result = new Map<string, readonly TrackedEndpoint[]>();
  for (const [key, byText] of ports) {
    const sorted = [...byText].sort(([a], [b]) => compareTexts(a, b)).map(([, endpoint]) => endpoint);
    result.set(key, Object.freeze(sorted));
  }
  return result;
}

/** Joins the slices of one Service, which come in order of their names (upstream: in no order). */
export function joinSlices(
  namespace: string,
  name: string,
  slices: readonly TrackedSlice[],
  rule: RepeatedEntryRule,
): TrackedEndpoints {
  return Object.freeze({
    namespace,
    name,
    byPort: endpointsByPort(namespace, name, slices, rule),
    misplaced: Object.freeze(slices.flatMap((slice) => slice.misplaced)),
    fingerprint: slices.map((slice) => slice.change ?? slice.fingerprint).join("\n"),
  });
}

/** The entry that counts on `hostname`. */
export function endpointOn(endpoint: TrackedEndpoint, hostname: string): TrackedEndpoint {
  return endpoint.onNodes?.get(hostname) ?? endpoint;
}
