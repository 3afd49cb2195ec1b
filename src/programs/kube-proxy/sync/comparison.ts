/**
 * Compares HNS with what was programmed. A comparison lists identifiers, two calls however many objects
 * there are, and reads a bounded number of objects again, in turn. What is lost or changed becomes work for the sync that
 * follows; what no Service needs is deleted after it.
 */
import { DEFAULT_QUERY } from "#contracts/hcn/client.ts";
import { type Guid } from "#contracts/hcn/guid.ts";
import { parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { parseMac } from "#core/net/mac.ts";
import { type IpFamily, familyOf, parseIp } from "#core/net/ip.ts";
import { deriveMac, type QueriedEndpoints } from "../load-balancers/hns-endpoints.ts";
import { frontEndText } from "./findings.ts";
import { attempt } from "../load-balancers/hns-failure.ts";
import type { EndpointRecord } from "../load-balancers/hns-records.ts";
import { familyOfIdentity } from "../load-balancers/load-balancer-identity.ts";
import {
  type BackOff,
  type LoadBalancerSlot,
  type ServiceEntry,
  reopen,
} from "../load-balancers/service-entry.ts";
import type { RepairingLoadBalancers } from "../load-balancers/repairing-load-balancers.ts";
import type { LoadBalancerIdentity } from "../load-balancers/load-balancer-identity.ts";
import type { ProxierConfiguration, ProxierState } from "./proxier-state.ts";
import { deleteProxyEndpoint } from "../load-balancers/back-ends.ts";
import { type Repair, type RepairKind, explanationOfRepair } from "../report.ts";

/** A load balancer that is not what was programmed. */
interface DamagedSlot {
  readonly entry: ServiceEntry;
  readonly kind: "load-balancer-lost" | "load-balancer-changed";
  /** Of the load balancer that was there. */
  readonly id: Guid;
}

interface LostEndpoint {
  readonly kind: "endpoint-lost" | "endpoint-changed";
  readonly id: Guid;
}

export class Damage {
  /** Reported as repairs when the slot stands again. */
  readonly slots: Map<LoadBalancerSlot, DamagedSlot> = new Map();
  /** By address: reported when HNS has an endpoint with it again. */
  readonly endpoints: Map<string, LostEndpoint> = new Map();
  /** Objects that were never made here, and that are left alone. */
  readonly foreign: Set<Guid> = new Set();
  /** What HNS makes of load balancers after a repair, by what was asked for: so be it. */
  readonly accepted: Map<LoadBalancerIdentity | undefined, LoadBalancerIdentity | undefined> = new Map();
  /** What is to be read again, the next one last; refilled when it is empty. */
  queue: Guid[] = [];
  /** Everything has been looked at since another program last changed HNS. */
  isThrough = false;
  /** No remote endpoint of a former process, or of Services that are gone, is left; false while there are Services. */
  isSwept = false;
}

/** What a proxier that repairs remembers besides. */
export interface RepairingState extends ProxierState {
  readonly loadBalancers: RepairingLoadBalancers;
  readonly damage: Damage;
  /** Deletions that failed, and syncs that ended early. */
  readonly cleanUpBackOff: BackOff;
  readonly endBackOff: BackOff;
}

/** Objects that one comparison reads again at most, and objects that it looks at as left over. */
const OBJECTS_MAX = 64;

function reopenEntry(state: RepairingState, entry: ServiceEntry): void {
  reopen(entry);
  state.pending.add(entry);
}

function entriesWithSlots(
  state: RepairingState,
): ReadonlyMap<Guid, readonly (readonly [ServiceEntry, LoadBalancerSlot])[]> {
  const bySlot = new Map<Guid, (readonly [ServiceEntry, LoadBalancerSlot])[]>();
  for (const entry of state.entries.values())
    for (const slot of entry.slots) if (slot.id !== undefined) addToList(bySlot, slot.id, [entry, slot]);
  return bySlot;
}

/** Takes gone endpoints from everything that uses them. */
function giveUpEndpoints(
  { sourceVip }: ProxierConfiguration,
  state: RepairingState,
  gone: ReadonlyMap<Guid, EndpointRecord>,
  kind: "endpoint-lost" | "endpoint-changed",
): void {
  if (gone.size === 0) return;
  const { damage, counts } = state;
  const note = (id: Guid): void => {
    for (const ip of gone.get(id)?.addresses ?? []) damage.endpoints.set(ip, { kind, id });
  };
  for (const [key, bound] of state.bound) {
    const lost = bound.giveUp(gone);
    const entry = state.entries.get(key);
    for (const id of lost) note(id);
    if (entry !== undefined && lost.length > 0) reopenEntry(state, entry);
  }
  for (const entry of state.entries.values()) {
    const { vipEndpoint } = entry;
    if (vipEndpoint === undefined || !gone.has(vipEndpoint.id)) continue;
    note(vipEndpoint.id);
    entry.vipEndpoint = undefined;
    reopenEntry(state, entry);
  }
  for (const [id, { isLocal, addresses }] of gone) {
    if (isLocal && state.network.isOverlay && addresses.includes(sourceVip)) note(id);
    counts.forget(id);
  }
}

function giveUpLoadBalancers(state: RepairingState, gone: ReadonlySet<Guid>): void {
  if (gone.size === 0) return;
  const slots = entriesWithSlots(state);
  for (const id of gone) {
    for (const [entry, slot] of slots.get(id) ?? []) {
      state.damage.slots.set(slot, { entry, kind: "load-balancer-lost", id });
      state.loadBalancers.giveUp(slot);
      reopenEntry(state, entry);
    }
  }
}

/** Takes over what readings of HNS have shown to be gone. */
export function takeOverLosses(configuration: ProxierConfiguration, state: RepairingState): void {
  const gone = state.records.takeGone();
  giveUpLoadBalancers(state, gone.loadBalancers);
  giveUpEndpoints(configuration, state, gone.endpoints, "endpoint-lost");
}

/** Reads some objects again. @returns false when HNS does not answer. */
async function rereadSome(configuration: ProxierConfiguration, state: RepairingState): Promise<boolean> {
  const { records, damage } = state;
  const slots = entriesWithSlots(state);
  if (damage.queue.length === 0)
    damage.queue = [...records.endpoints.keys()]
      .filter((id) => state.counts.countOf(id) > 0)
      .concat([...slots.keys()]);
  const batch = damage.queue.splice(-OBJECTS_MAX).toReversed();
  for (const id of batch) {
    const isLoadBalancer = records.loadBalancers.has(id);
    if (!isLoadBalancer && !records.endpoints.has(id)) continue;
    const done = isLoadBalancer
      ? await rereadLoadBalancer(configuration, state, id, slots)
      : await rereadEndpoint(configuration, state, id);
    if (!done) return false;
  }
  return true;
}

type SlotsById = ReturnType<typeof entriesWithSlots>;

async function rereadLoadBalancer(
  { behaviour }: ProxierConfiguration,
  state: RepairingState,
  id: Guid,
  slots: SlotsById,
): Promise<boolean> {
  const { records, damage } = state;
  const wanted = records.loadBalancers.get(id);
  const reread = await records.rereadLoadBalancer(id, behaviour.identity);
  if (reread === "as-known") return true;
  if (reread === "gone") giveUpLoadBalancers(state, new Set([id]));
  if (reread !== "changed") return reread === "gone";
  const found = records.loadBalancers.get(id);
  // It has been made anew once, and HNS has made the same of it.
  if (damage.accepted.has(wanted) && damage.accepted.get(wanted) === found) {
    records.loadBalancers.set(id, wanted);
    return true;
  }
  damage.accepted.set(wanted, found);
  for (const [entry, slot] of slots.get(id) ?? []) {
    damage.slots.set(slot, { entry, kind: "load-balancer-changed", id });
    reopenEntry(state, entry);
  }
  return true;
}

async function rereadEndpoint(
  configuration: ProxierConfiguration,
  state: RepairingState,
  id: Guid,
): Promise<boolean> {
  const { records } = state;
  const known = records.endpoints.get(id);
  if (known === undefined) return true;
  const reread = await records.rereadEndpoint(id);
  if (reread === "as-known") return true;
  if (reread === "gone") giveUpEndpoints(configuration, state, new Map([[id, known]]), "endpoint-lost");
  if (reread !== "changed") return reread === "gone";
  // It is in the way of the right one.
  if (!(await deleteProxyEndpoint(configuration, state, id))) return true;
  giveUpEndpoints(configuration, state, new Map([[id, known]]), "endpoint-changed");
  return true;
}

/** Looks for what was changed in place. What is found becomes work of this sync. */
export async function findChanges(configuration: ProxierConfiguration, state: RepairingState): Promise<void> {
  const { damage } = state;
  const isRead = await rereadSome(configuration, state);
  damage.isThrough = isRead && damage.queue.length === 0;
}

function repairOf(
  family: IpFamily,
  kind: RepairKind,
  id: Guid,
  message: string,
  more: Pick<Repair, "service" | "frontEnd" | "address"> = {},
): Repair {
  return { kind, family, id, ...more, code: explanationOfRepair(kind), message };
}

const SLOT_TEXTS = {
  "load-balancer-lost": "HNS had lost it",
  "load-balancer-changed": "HNS had something else in its place",
} as const;

/** What was found earlier and stands again now. What no Service needs any more is forgotten. */
export function takeRepairs(
  { family }: ProxierConfiguration,
  state: RepairingState,
  queried: QueriedEndpoints,
): readonly Repair[] {
  const { damage } = state;
  const repairs: Repair[] = [];
  for (const [slot, { entry, kind, id }] of damage.slots) {
    const { namespace, name, portName } = entry.port;
    const isWanted = state.entries.get(entry.port.key) === entry;
    if (isWanted && entry.isApplied && slot.id !== undefined) {
      const text = `${frontEndText(slot, entry)} of Service ${namespace}/${name} is programmed again: ${SLOT_TEXTS[kind]}`;
      const service = { namespace, name, portName };
      repairs.push(
        repairOf(family, kind, id, text, { service, frontEnd: { kind: slot.kind, vip: slot.vip } }),
      );
    }
    if (!isWanted || entry.isApplied || entry.isWaiting) damage.slots.delete(slot);
  }
  for (const [address, { kind, id }] of damage.endpoints) {
    const found = queried.find(undefined, address);
    if (found !== undefined) {
      const why = kind === "endpoint-lost" ? "HNS had lost it" : "HNS had something else in its place";
      repairs.push(
        repairOf(family, kind, id, `The endpoint for ${address} is there again: ${why}`, { address }),
      );
    }
    if (found !== undefined || state.pending.size === 0) damage.endpoints.delete(address);
  }
  return repairs;
}

/** Deletes load balancers that this kube-proxy has made, or claimed at its start, and that stand for no Service. */
async function removeLeftLoadBalancers(
  { family }: ProxierConfiguration,
  { records, loadBalancers }: RepairingState,
): Promise<readonly Repair[]> {
  const left: Guid[] = [];
  for (const [id, identity] of records.loadBalancers) {
    if (identity === undefined || familyOfIdentity(identity) !== family) continue;
    if (loadBalancers.holders.countOf(id) > 0 || loadBalancers.isStale(id)) continue;
    if (loadBalancers.holders.isOwn(id, identity)) left.push(id);
  }
  const repairs: Repair[] = [];
  for (const id of left.slice(0, OBJECTS_MAX)) {
    if (!(await loadBalancers.deleteLeft(id))) continue;
    repairs.push(
      repairOf(family, "load-balancer-left", id, `Deleted a load balancer that belongs to no Service: ${id}`),
    );
  }
  return repairs;
}

/**
 * kube-proxy's endpoints bear a MAC address that follows from their address, or the node's.
 * @returns undefined when HNS does not report it.
 */
async function isMadeByKubeProxy(
  { client, hostMac }: ProxierConfiguration,
  id: Guid,
): Promise<boolean | undefined> {
  const found = await attempt(async () => parseEndpoint(await client.query("Endpoint", id, DEFAULT_QUERY)));
  if (!found.ok) return undefined;
  const { MacAddress = "", IpConfigurations } = found.value;
  const mac = parseMac(MacAddress);
  const ip = IpConfigurations?.[0]?.IpAddress ?? "";
  return mac !== undefined && (mac === parseMac(deriveMac(ip)) || mac === parseMac(hostMac));
}

/** Deletes remote endpoints that kube-proxy has made and no Service uses. */
async function removeLeftEndpoints(
  configuration: ProxierConfiguration,
  state: RepairingState,
): Promise<readonly Repair[]> {
  const { family } = configuration;
  const { records, counts, damage } = state;
  for (const id of damage.foreign) if (!records.endpoints.has(id)) damage.foreign.delete(id);
  const unused = [...records.endpoints].filter(
    ([id, { isLocal, addresses }]) => !isLocal && isOfFamily(addresses, family) && counts.countOf(id) === 0,
  );
  const unknown = unused.filter(([id]) => !damage.foreign.has(id));
  damage.isSwept = unknown.length === 0;
  if (damage.isSwept) return [];
  const repairs: Repair[] = [];
  let others = 0;
  for (const [id, { addresses }] of unknown.slice(0, OBJECTS_MAX)) {
    const [address = ""] = addresses;
    const isOurs = await isMadeByKubeProxy(configuration, id);
    if (isOurs === false) {
      damage.foreign.add(id);
      others++;
    }
    if (isOurs === true && (await deleteProxyEndpoint(configuration, state, id))) {
      counts.forget(id);
      const text = `A remote endpoint that no Service used is deleted: ${address}`;
      repairs.push(repairOf(family, "endpoint-left", id, text, { address }));
    }
  }
  damage.isSwept = others + repairs.length === unknown.length;
  return repairs;
}

function isOfFamily(addresses: readonly string[], family: IpFamily): boolean {
  const ip = parseIp(addresses[0] ?? "");
  return ip !== undefined && familyOf(ip) === family;
}

/** Deletes what no Service needs. @returns what was deleted. */
export async function removeLeft(
  configuration: ProxierConfiguration,
  state: RepairingState,
): Promise<readonly Repair[]> {
  const loadBalancers = await removeLeftLoadBalancers(configuration, state);
  const endpoints = await removeLeftEndpoints(configuration, state);
  if (loadBalancers.length < OBJECTS_MAX) state.loadBalancers.holders.endComparison();
  return [...loadBalancers, ...endpoints];
}

/**
 * The search of a family that has no Services: what a former process could not delete may be left. Load balancers are not
 * read; those of former processes are removed at the start. What fails is tried again in the next comparison.
 */
export async function sweepEndpoints(
  configuration: ProxierConfiguration,
  state: RepairingState,
): Promise<readonly Repair[]> {
  const unread = await state.records.readEndpointsAlone(state.network.id);
  return unread === undefined ? removeLeftEndpoints(configuration, state) : [];
}
