/**
 * Brings a proxier's own maps to what the tracker holds, and takes away what the changes concern before the maps
 * change (kube-proxy.md §3.2): Services first, then endpoints.
 */
import { BoundEndpoints, decrement } from "../load-balancers/bound-endpoints.ts";
import { deleteProxyEndpoint } from "../load-balancers/back-ends.ts";
import {
  type ServiceEntry,
  compareEntries,
  reopen,
  makeServiceEntry,
} from "../load-balancers/service-entry.ts";
import type { ProxyEvent } from "../report.ts";
import {
  type EndpointsByPort,
  type TrackedEndpoint,
  type TrackedEndpoints,
  endpointOn,
} from "../tracking/tracked-endpoints.ts";
import type { TrackedService } from "../tracking/tracked-service.ts";
import type { ProxierConfiguration, ProxierState } from "./proxier-state.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** Gives up the counts of endpoints on remote endpoints, and deletes those that no port counts on any more. */
async function releaseEndpoints(
  configuration: ProxierConfiguration,
  state: ProxierState,
  bound: BoundEndpoints | undefined,
): Promise<void> {
  const { hostname } = configuration;
  if (bound === undefined) return;
  for (const [index, endpoint] of bound.on(hostname).entries()) {
    if (endpoint.nodeName === hostname) continue;
    const id = bound.release(index);
    if (id !== undefined && (await deleteProxyEndpoint(configuration, state, id))) bound.unbind(index);
  }
}

function decrementEndpoints({ hostname }: ProxierConfiguration, bound: BoundEndpoints | undefined): void {
  for (const [index, endpoint] of bound?.on(hostname).entries() ?? [])
    if (endpoint.nodeName !== hostname) bound?.decrement(index);
}

/** On overlay networks the endpoint of the ClusterIP goes with its Service. */
async function releaseVipEndpoint(
  configuration: ProxierConfiguration,
  state: ProxierState,
  entry: ServiceEntry,
): Promise<void> {
  const owned = entry.vipEndpoint;
  if (owned?.counter === undefined) return;
  decrement(owned.counter);
  if (owned.counter.count === 0) await deleteProxyEndpoint(configuration, state, owned.id);
  owned.counter = undefined;
}

/**
 * Takes away what stands for a service port. After a change of its endpoints alone, and unless the annotation
 * switches it off, load balancers stay, for the sync to change what differs.
 */
async function cleanUpEntry(
  configuration: ProxierConfiguration,
  state: ProxierState,
  entry: ServiceEntry,
  reason: "service" | "endpoints",
): Promise<void> {
  const bound = state.bound.get(entry.port.key);
  if (reason === "endpoints" && entry.port.isOptimised) {
    decrementEndpoints(configuration, bound);
  } else {
    await state.loadBalancers.deleteAllOf(entry);
    await releaseEndpoints(configuration, state, bound);
  }
  // Upstream takes it away whatever changed, and makes it again in the same sync.
  if (reason === "service" || !configuration.behaviour.keepsClusterIps)
    await releaseVipEndpoint(configuration, state, entry);
  reopen(entry);
  state.pending.add(entry);
}

/** As after a change of every Service: the network is gone. */
export async function cleanUpAll(configuration: ProxierConfiguration, state: ProxierState): Promise<void> {
  for (const entry of [...state.entries.values()].sort(compareEntries))
    await cleanUpEntry(configuration, state, entry, "service");
}

async function changeService(
  configuration: ProxierConfiguration,
  state: ProxierState,
  before: TrackedService | undefined,
  after: TrackedService | undefined,
): Promise<void> {
  const newKeys = new Set((after?.ports ?? []).map(({ key }) => key));
  const oldKeys = new Set((before?.ports ?? []).map(({ key }) => key));
  for (const key of new Set([...newKeys, ...oldKeys])) {
    const entry = state.entries.get(key);
    if (entry === undefined) continue;
    await cleanUpEntry(configuration, state, entry, "service");
    state.entries.delete(key);
    state.pending.delete(entry);
  }
  for (const port of after?.ports ?? []) {
    const entry = makeServiceEntry(port, configuration.hasDsr);
    state.entries.set(port.key, entry);
    state.pending.add(entry);
  }
}

async function takeOverServices(configuration: ProxierConfiguration, state: ProxierState): Promise<void> {
  const { tracker } = configuration;
  const end = tracker.position().services;
  for (const key of tracker.changedServices(state.position.services, state.services.keys())) {
    const [before, after] = [state.services.get(key), tracker.service(key)];
    if (before?.fingerprint === after?.fingerprint) continue;
    await changeService(configuration, state, before, after);
    if (after === undefined) state.services.delete(key);
    else state.services.set(key, after);
  }
  state.position.services = end;
}

/** What happens to one port key before its endpoints change. */
async function changePort(
  configuration: ProxierConfiguration,
  state: ProxierState,
  key: string,
  isSecondCall: boolean,
): Promise<void> {
  const entry = state.entries.get(key);
  if (entry === undefined) {
    await releaseEndpoints(configuration, state, state.bound.get(key));
  } else if (!isSecondCall || !entry.port.isOptimised) {
    await cleanUpEntry(configuration, state, entry, "endpoints");
  }
}

/** Notes the addresses that are not listed any more. A later list that has one of them takes it off again. */
function noteTerminated(
  { hostname }: ProxierConfiguration,
  { terminated }: ProxierState,
  before: EndpointsByPort,
  after: EndpointsByPort,
): void {
  const isRemote = (endpoint: TrackedEndpoint): boolean =>
    endpointOn(endpoint, hostname).nodeName !== hostname;
  for (const endpoints of before.values())
    for (const endpoint of endpoints) if (isRemote(endpoint)) terminated.add(endpoint.ip);
  for (const endpoints of after.values())
    for (const endpoint of endpoints) if (isRemote(endpoint)) terminated.delete(endpoint.ip);
}

const NO_ENDPOINTS: EndpointsByPort = new Map();

async function changeEndpoints(
  configuration: ProxierConfiguration,
  state: ProxierState,
  before: EndpointsByPort,
  after: EndpointsByPort,
): Promise<void> {
  if (configuration.behaviour.removal === "terminated-of-last-service") state.terminated.clear();
  noteTerminated(configuration, state, before, after);
  for (const key of before.keys()) await changePort(configuration, state, key, false);
  for (const key of after.keys()) await changePort(configuration, state, key, before.has(key));
  for (const key of before.keys()) if (!after.has(key)) state.bound.delete(key);
  for (const [key, endpoints] of after) state.bound.set(key, new BoundEndpoints(endpoints));
}

function misplacedEvent({ namespace, name, misplaced }: TrackedEndpoints, family: number): ProxyEvent {
  const message = WORDS.endpointFamilyMismatch({ misplaced: misplaced.join(", "), family });
  return { type: "Warning", reason: "KubeProxyIncorrectIPVersion", namespace, name, message };
}

async function takeOverEndpoints(
  configuration: ProxierConfiguration,
  state: ProxierState,
): Promise<readonly ProxyEvent[]> {
  const { tracker, behaviour } = configuration;
  const events: ProxyEvent[] = [];
  const end = tracker.position().endpoints;
  // What `hardened` could not delete stays noted.
  if (behaviour.removal === "terminated" && !behaviour.retriesPartialFailure) state.terminated.clear();
  for (const key of tracker.changedEndpoints(state.position.endpoints, state.endpoints.keys())) {
    const [before, after] = [state.endpoints.get(key), tracker.endpoints(key)];
    if (before?.fingerprint === after?.fingerprint) continue;
    if (after !== undefined && after.misplaced.length > 0)
      events.push(misplacedEvent(after, configuration.family));
    await changeEndpoints(
      configuration,
      state,
      before?.byPort ?? NO_ENDPOINTS,
      after?.byPort ?? NO_ENDPOINTS,
    );
    if (after === undefined) state.endpoints.delete(key);
    else state.endpoints.set(key, after);
  }
  state.position.endpoints = end;
  return events;
}

/** Takes over all changes since the last sync. @returns the events that they give rise to. */
export async function takeOverChanges(
  configuration: ProxierConfiguration,
  state: ProxierState,
): Promise<readonly ProxyEvent[]> {
  await takeOverServices(configuration, state);
  return takeOverEndpoints(configuration, state);
}
