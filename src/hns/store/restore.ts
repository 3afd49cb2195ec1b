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
import { STORED_KINDS } from "./kinds.ts";
import { clearGlobals } from "./stored-globals.ts";
import type { Report } from "./lenient-reader.ts";
import type { StoredKindRow } from "./stored-kind.ts";
import type {
  ImportedObject,
  RestoreNote,
  RestoreOptions,
  StoredKind,
  StoredObject,
} from "./stored-object.ts";

/** All objects, by kind and then in order of creation. */
export function exportObjects(context: ServiceContext): readonly StoredObject[] {
  return STORED_KINDS.flatMap((row) => row.list(context));
}

/** The row of a kind; undefined for a kind that is not stored. */
export function storedRowOf(kind: StoredKind): StoredKindRow | undefined {
  return STORED_KINDS.find((row) => row.kind === kind);
}

/** Takes all objects away, with what they have in the datapath. Nobody is told. */
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
  const keepsUnknownFields = options.keepsUnknownFields === true;
  clearObjects(context);
  if (options.incarnation !== undefined) context.reseed(options.incarnation);
  for (const row of STORED_KINDS)
    for (const object of objects)
      if (object.kind === row.kind)
        row.enter(context, object, keepsUnknownFields, reportOn(object.kind, object.id));
  for (const { kind, id } of objects)
    if (storedRowOf(kind) === undefined) reportOn(kind, id)(`Objects of kind ${kind} are not restored`);
  // What the service adds of its own from here on is news to the store.
  if (options.areStored === true) context.takeChanges();
  createOwnNetworks(context);
  settleMembers(context, (id) => reportOn("Namespace", id));
  settleBuiltIn(context);
  settleDatapath(context, (id) => reportOn("LoadBalancer", id));
  context.takeNotifications();
  if (options.areStored !== true)
    for (const row of STORED_KINDS) for (const id of row.ids(context)) context.changed(row.kind, id);
  return notes;
}
