/**
 * Finds or makes the HNS endpoints behind one service port (kube-proxy.md §3.4). Those that kube-proxy itself makes stand for
 * pods elsewhere and for ClusterIPs.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { createEndpointOnly, deleteEndpoint } from "#contracts/hcn/operations.ts";
import type { ProxierConfiguration, ProxierState } from "../sync/proxier-state.ts";
import {
  type ProxyEndpoint,
  proxyEndpoint,
  type HnsEndpoint,
  type QueriedEndpoints,
  deriveMac,
} from "./hns-endpoints.ts";
import type { Behaviour, ReadinessRule } from "../behaviour.ts";
import type { ServiceFinding } from "../report.ts";
import type { TrackedEndpoint } from "../tracking/tracked-endpoints.ts";
import { type Attempt, attempt, explanationOf, failureText } from "./hns-failure.ts";
import { type BoundEndpoints, increment } from "./bound-endpoints.ts";
import { providerAddressOf, readProxyNetwork } from "./proxy-network.ts";
import type { ServiceEntry } from "./service-entry.ts";
import type { BackEnds } from "./wanted-load-balancers.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** Creates an endpoint and adds it to what is known of HNS. */
export async function createProxyEndpoint(
  { client }: ProxierConfiguration,
  { network, records }: ProxierState,
  { document, record }: ProxyEndpoint,
): Promise<Attempt<HnsEndpoint>> {
  const created = await attempt(() => records.make(() => createEndpointOnly(client, network.id, document)));
  if (!created.ok) return created;
  records.endpointMade(created.value, record);
  return { ok: true, value: { id: created.value, isLocal: record.isLocal } };
}

/** @returns true when it is gone. */
export async function deleteProxyEndpoint(
  { client }: ProxierConfiguration,
  { records }: ProxierState,
  id: Guid,
): Promise<boolean> {
  const deleted = await attempt(() => records.make(() => deleteEndpoint(client, id)));
  if (deleted.ok) records.endpointDeleted(id);
  return deleted.ok;
}

/**
 * What holds for the endpoints of a Service together, for which of them may become back ends now (kube-proxy.md §3.4 b
 * and c, §3.9).
 */
interface Readiness {
  readonly rule: ReadinessRule;
  readonly areAllTerminating: boolean;
  readonly areNoneServing: boolean;
}

/** Without ingress addresses nothing special ever holds: terminating endpoints are not used then. */
function readinessOf(
  entry: ServiceEntry,
  endpoints: readonly TrackedEndpoint[],
  hostname: string,
  { readiness: rule, doubtsEmptyLists }: Pick<Behaviour, "readiness" | "doubtsEmptyLists">,
): Readiness {
  if (rule === "ready" || entry.port.ingressIps.length === 0)
    return { rule, areAllTerminating: false, areNoneServing: false };
  const relevant = entry.hasLocalTrafficDsr
    ? endpoints.filter(({ nodeName }) => nodeName === hostname)
    : endpoints;
  // No pod of this node: for `hardened` that says nothing about the others.
  if (doubtsEmptyLists && relevant.length === 0)
    return { rule, areAllTerminating: false, areNoneServing: false };
  // Both hold for no endpoints at all. What is neither ready nor terminating says nothing about terminating.
  return {
    rule,
    areAllTerminating: relevant.every(({ isReady, isTerminating }) => isTerminating || !isReady),
    areNoneServing: relevant.every(({ isServing }) => !isServing),
  };
}

/** When none serves, every endpoint is taken, also those that are not ready. */
function isUsable(endpoint: TrackedEndpoint, readiness: Readiness): boolean {
  if (readiness.rule === "ready") return endpoint.isReady;
  if (readiness.areNoneServing) return true;
  return endpoint.isServing && (readiness.areAllTerminating || endpoint.isReady);
}

/** What one pass needs: configuration, state, and HNS's endpoints as read at its start. */
export interface SyncPass {
  readonly configuration: ProxierConfiguration;
  readonly state: ProxierState;
  readonly queried: QueriedEndpoints;
  readonly nowMs: number | undefined;
}

/** The network was asked for again while an endpoint was made, and is not there. */
export const NETWORK_LOST = "network-lost";

export interface FoundBackEnds extends BackEnds {
  /** By port, the first address whose endpoint is there; in the order of the endpoints. */
  readonly addressByPort: ReadonlyMap<number, string>;
  /** Endpoints that should be back ends and have no HNS endpoint. */
  readonly findings: readonly ServiceFinding[];
}

/** What is gathered on the way through the endpoints. */
interface Gathering {
  readonly all: Guid[];
  readonly local: Guid[];
  readonly findings: ServiceFinding[];
  readonly addressByPort: Map<number, string>;
  /** Some back end is a node, or no node's. */
  leavesPodNetwork: boolean;
}

/**
 * On overlay networks a ClusterIP is an endpoint, too, also for a Service without endpoints.
 * @returns why it could not be made.
 */
export async function ensureVipEndpoint(
  pass: SyncPass,
  entry: ServiceEntry,
): Promise<ServiceFinding | undefined> {
  const { configuration, state, queried } = pass;
  const { clusterIp } = entry.port;
  if (!state.network.isOverlay) return undefined;
  const known = queried.find(undefined, clusterIp);
  if (known !== undefined) {
    // Upstream leaves it to the process that made it; a process that is gone never deletes it.
    if (configuration.behaviour.adoptsClusterIps && !known.isLocal) holdVipEndpoint(state, entry, known.id);
    return undefined;
  }
  const { nodeIp: providerAddress, hostMac: mac } = configuration;
  const endpoint = proxyEndpoint({ ip: clusterIp, mac, providerAddress, isLocal: false });
  const made = await createProxyEndpoint(configuration, state, endpoint);
  if (!made.ok) {
    return {
      code: explanationOf(made.failure, "service-remote-endpoint-refused"),
      message: `HNS refused the remote endpoint for the ClusterIP ${clusterIp}: ${failureText(made.failure)}`,
    };
  }
  holdVipEndpoint(state, entry, made.value.id);
  return undefined;
}

function holdVipEndpoint({ counts }: ProxierState, entry: ServiceEntry, id: Guid): void {
  if (entry.vipEndpoint?.id === id && entry.vipEndpoint.counter !== undefined) return;
  const counter = counts.of(id);
  increment(counter);
  entry.vipEndpoint = { id, counter };
}

/**
 * On overlay upstream reads the network again before each endpoint: remote subnets may have been added since. `hardened`
 * takes them from the reading at the start of the sync.
 */
async function createRemote(
  { configuration, state }: SyncPass,
  { ip, remote }: TrackedEndpoint,
): Promise<Attempt<HnsEndpoint> | typeof NETWORK_LOST> {
  const { client, nodeIp } = configuration;
  if (!state.network.isOverlay) return createProxyEndpoint(configuration, state, remote);
  if (configuration.behaviour.rereadsNetwork) {
    const read = await attempt(() => readProxyNetwork(client, state.network.name, state.network));
    if (!read.ok) return NETWORK_LOST;
    state.network = read.value;
  }
  const found = providerAddressOf(state.network, ip);
  const providerAddress = found === "" ? nodeIp : found;
  const endpoint = proxyEndpoint({ ip, mac: deriveMac(ip), providerAddress, isLocal: false });
  return createProxyEndpoint(configuration, state, endpoint);
}

/** An HNS endpoint for `endpoint`, which has none; undefined with a finding where none comes. Local ones are never made. */
async function createMissing(
  pass: SyncPass,
  endpoint: TrackedEndpoint,
  gathering: Gathering,
): Promise<HnsEndpoint | typeof NETWORK_LOST | undefined> {
  if (endpoint.nodeName === pass.configuration.hostname) {
    const message = WORDS.localEndpointMissing({ ip: endpoint.ip });
    gathering.findings.push({ code: "service-local-endpoint-missing", message, address: endpoint.ip });
    return undefined;
  }
  const made = await createRemote(pass, endpoint);
  if (made === NETWORK_LOST) return NETWORK_LOST;
  if (made.ok) return made.value;
  gathering.findings.push({
    code: explanationOf(made.failure, "service-remote-endpoint-refused"),
    message: `HNS refused the remote endpoint for ${endpoint.ip}: ${failureText(made.failure)}`,
  });
  return undefined;
}

/** A port that is named takes the number of the endpoint (kube-proxy.md §3.4 c.3). */
function takePort(entry: ServiceEntry, port: number, slicePortWins: boolean): void {
  if (entry.targetPort === 0 || slicePortWins) entry.targetPort = port;
}

function noteAddress(
  { configuration, state }: SyncPass,
  { ip, nodeName }: TrackedEndpoint,
  to: Gathering,
): void {
  if (!state.network.isOverlay || nodeName === configuration.hostname) return;
  const providerAddress = providerAddressOf(state.network, ip);
  if (providerAddress === "" || providerAddress === ip) to.leavesPodNetwork = true;
}

/** Goes through the endpoints of a service port in order, and counts on the remote ones that it uses. */
export async function findBackEnds(
  pass: SyncPass,
  entry: ServiceEntry,
  bound: BoundEndpoints,
): Promise<FoundBackEnds | typeof NETWORK_LOST> {
  const { configuration, state } = pass;
  const { hostname, behaviour, nodeIp, sourceVip } = configuration;
  const endpoints = bound.on(hostname);
  const readiness = readinessOf(entry, endpoints, hostname, behaviour);
  const gathering: Gathering = {
    all: [],
    local: [],
    findings: [],
    addressByPort: new Map(),
    leavesPodNetwork: false,
  };
  const onlyLocal = entry.port.isInternalPolicyLocal && entry.hasLocalTrafficDsr;
  let index = -1;
  for (const endpoint of endpoints) {
    index++;
    if (onlyLocal && endpoint.nodeName !== hostname) continue;
    if (!isUsable(endpoint, readiness)) continue;
    takePort(entry, endpoint.port, behaviour.slicePortWins);
    if (!gathering.addressByPort.has(endpoint.port)) gathering.addressByPort.set(endpoint.port, endpoint.ip);
    const found =
      pass.queried.find(bound.idOf(index), endpoint.ip) ?? (await createMissing(pass, endpoint, gathering));
    if (found === NETWORK_LOST) return NETWORK_LOST;
    if (found === undefined) continue;
    noteAddress(pass, endpoint, gathering);
    gathering.all.push(found.id);
    if (found.isLocal) gathering.local.push(found.id);
    else bound.count(index, state.counts.of(found.id), behaviour.countsOnce);
    bound.bind(index, found.id);
  }
  const overlaySource = gathering.leavesPodNetwork ? nodeIp : sourceVip;
  return {
    all: gathering.all,
    local: gathering.local,
    findings: gathering.findings,
    addressByPort: gathering.addressByPort,
    sourceVip: state.network.isOverlay ? overlaySource : "",
    areAvailable: !readiness.areAllTerminating && !readiness.areNoneServing,
    areServing: !readiness.areNoneServing,
  };
}
