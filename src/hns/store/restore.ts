/**
 * All objects of a service in stored form, and a service that is made from them: the records first, then what they stand
 * for in the datapath. Nothing is checked as a request is; what contradicts the rest is kept, out of use, and noted.
 */
import { HcnError } from "#contracts/hcn/error.ts";
import { plugIn } from "../service/endpoint/attachment.ts";
import { removeEndpoint } from "../service/endpoint/endpoints.ts";
import { deleteGuestNetworkService } from "../service/guest/guest-network-services.ts";
import { removeLoadBalancer } from "../service/load-balancer/load-balancers.ts";
import { createHostNamespace, removeNamespace } from "../service/namespace/namespaces.ts";
import { createOwnNetworks } from "../service/network/own-networks.ts";
import { deleteNetwork } from "../service/network/networks.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { removeSdnRoute } from "../service/sdn-routes.ts";
import type { Report } from "./lenient-reader.ts";
import type { StoredKindRow } from "./stored-kind.ts";
import type {
  ImportedObject,
  RestoreNote,
  RestoreOptions,
  StoredKind,
  StoredObject,
} from "./stored-object.ts";
import { NO_GLOBALS, GLOBALS_ID } from "../service/state.ts";
import { STORED_ENDPOINT } from "./stored-endpoint.ts";
import { STORED_LOAD_BALANCER, STORED_SDN_ROUTE } from "./stored-policy-lists.ts";
import { STORED_NAMESPACE, STORED_GUEST_NETWORK_SERVICE } from "./stored-namespaces.ts";
import { STORED_NETWORK } from "./stored-network.ts";

// What belongs to no object, in stored form: one entry, there as long as it differs from what a new service has.

function storedGlobals(context: ServiceContext): StoredObject | undefined {
  const { accelnetMacs } = context.state.globals;
  if (accelnetMacs.length === 0) return undefined;
  return { kind: "Globals", id: GLOBALS_ID, document: { AccelnetMacs: accelnetMacs } };
}

/** Takes everything away that belongs to no object. */
function clearGlobals(context: ServiceContext): void {
  if (context.state.globals === NO_GLOBALS) return;
  context.state.setGlobals(NO_GLOBALS);
  context.changed("Globals", GLOBALS_ID);
}

const STORED_GLOBALS: StoredKindRow = {
  kind: "Globals",
  list: (context) => {
    const stored = storedGlobals(context);
    return stored === undefined ? [] : [stored];
  },
  store: (context) => storedGlobals(context),
  ids: (context) => (storedGlobals(context) === undefined ? [] : [GLOBALS_ID]),
  enter: (context, { document }, report) => {
    const macs = document["AccelnetMacs"];
    if (!Array.isArray(macs) || !macs.every((mac) => typeof mac === "string")) {
      report("AccelnetMacs is not a list of texts; left out");
      return undefined;
    }
    context.state.setGlobals({ accelnetMacs: Object.freeze([...macs]) });
    return GLOBALS_ID;
  },
  keep: () => undefined,
};

/**
 * The kinds that are stored, each one row, in the order in which they come back: what stands below may refer to what
 * stands above.
 */
const STORED_KINDS: readonly StoredKindRow[] = [
  STORED_NETWORK,
  STORED_NAMESPACE,
  STORED_ENDPOINT,
  STORED_LOAD_BALANCER,
  STORED_SDN_ROUTE,
  STORED_GUEST_NETWORK_SERVICE,
  STORED_GLOBALS,
];

/** All objects, by kind and then in order of creation. */
export function exportObjects(context: ServiceContext): readonly StoredObject[] {
  return STORED_KINDS.flatMap((row) => row.list(context));
}

/** The row of a kind; undefined for a kind that is not stored. */
export function storedRowOf(kind: StoredKind): StoredKindRow | undefined {
  return STORED_KINDS.find((row) => row.kind === kind);
}

/** Takes all objects away, with what they have in the datapath. No listener is told. */
export function clearObjects(context: ServiceContext): void {
  const { state } = context;
  for (const each of state.loadBalancers.values()) removeLoadBalancer(context, each);
  for (const each of state.sdnRoutes.values()) removeSdnRoute(context, each);
  for (const id of state.guestNetworkServices.keys()) deleteGuestNetworkService(context, id);
  for (const each of state.endpoints.values()) removeEndpoint(context, each);
  for (const each of state.namespaces.values()) removeNamespace(context, each);
  for (const id of state.networks.keys()) deleteNetwork(context, id);
  clearGlobals(context);
  context.takeNotifications();
}

/** Namespaces list the endpoints that are attached in them, and no others. */
function settleMembers(context: ServiceContext, report: (id: string) => Report): void {
  const { state } = context;
  const members = new Map<string, string[]>();
  for (const endpoint of state.endpoints.values()) {
    const namespaceId = endpoint.attachment?.namespaceId;
    if (namespaceId === undefined) continue;
    const ids = members.get(namespaceId) ?? [];
    members.set(namespaceId, ids);
    ids.push(endpoint.id);
  }
  for (const namespace of state.namespaces.values()) {
    const present = members.get(namespace.id) ?? [];
    const isPresent = new Set(present);
    const listed = namespace.endpointIds.filter((id) => isPresent.has(id));
    const isListed = new Set(listed);
    const gone = namespace.endpointIds.filter((id) => !isPresent.has(id));
    if (gone.length > 0) report(namespace.id)(`Endpoint ${gone.join(", ")} is not in it; taken off its list`);
    if (gone.length === 0 && listed.length === present.length) continue;
    const endpointIds = Object.freeze([...listed, ...present.filter((id) => !isListed.has(id))]);
    state.namespaces.set(namespace.id, Object.freeze({ ...namespace, endpointIds }));
  }
}

/** The host's own namespace always exists (hcn.md §2.4). */
function settleBuiltIn(context: ServiceContext): void {
  const { state } = context;
  const all = [...state.namespaces.values()];
  if (all.some((namespace) => namespace.isBuiltIn)) return;
  const host = all.find((namespace) => namespace.type === "HostDefault");
  if (host === undefined) createHostNamespace(context);
  else state.namespaces.set(host.id, Object.freeze({ ...host, isBuiltIn: true }));
}

/** Blocks of ports of load balancers; what finds none left is without, as after an update that shares them less. */
function reservePorts(context: ServiceContext, report: (id: string) => Report): void {
  for (const loadBalancer of context.state.loadBalancers.values()) {
    try {
      context.ports.reserveServicePorts(loadBalancer);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      report(loadBalancer.id)(error.message);
    }
  }
}

/** Makes the vNICs of attached endpoints, and programs all ports. */
function settleDatapath(context: ServiceContext, report: (id: string) => Report): void {
  const { state } = context;
  for (const endpoint of state.endpoints.values()) {
    if (endpoint.attachment !== undefined) plugIn(context, endpoint);
  }
  reservePorts(context, report);
  for (const id of state.networks.keys()) context.ports.reprogram(id);
}

/** @returns what of the objects is not as it was, in words. */
export function restoreObjects(
  context: ServiceContext,
  objects: readonly ImportedObject[],
  options: RestoreOptions = {},
): readonly RestoreNote[] {
  const notes: RestoreNote[] = [];
  const reportOn =
    (kind: StoredKind, id: string): Report =>
    (text) => {
      notes.push({ kind, id, text });
    };
  const entered: (() => void)[] = [];
  clearObjects(context);
  if (options.incarnation !== undefined) context.reseed(options.incarnation);
  for (const row of STORED_KINDS)
    for (const object of objects)
      if (object.kind === row.kind) {
        const id = row.enter(context, object, reportOn(object.kind, object.id));
        if (id !== undefined) entered.push(() => row.keep(context, id, object));
      }
  for (const { kind, id } of objects)
    if (storedRowOf(kind) === undefined) reportOn(kind, id)(`Objects of kind ${kind} are not restored`);
  // What the service adds of its own from here on is news to the store.
  if (options.areStored === true) context.takeChanges();
  createOwnNetworks(context);
  settleMembers(context, (id) => reportOn("Namespace", id));
  settleBuiltIn(context);
  settleDatapath(context, (id) => reportOn("LoadBalancer", id));
  // Last: what is shown of an object depends on the others, such as counts and names.
  if (options.keepsUnknownFields === true) for (const keep of entered) keep();
  context.takeNotifications();
  if (options.areStored !== true)
    for (const row of STORED_KINDS) for (const id of row.ids(context)) context.changed(row.kind, id);
  return notes;
}
