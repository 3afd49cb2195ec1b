/** Guest network services: create, change of state, delete, and the interfaces that they mirror (hcn.md §2.11, §5.2). */
import type { JsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  type GuestInterfaceState,
  type GuestNetworkService,
  type GuestNetworkServiceState,
  readRequestedState,
} from "#contracts/hcn/documents/guest-network-service.ts";
import { parseModifyRequest, requestUnsupported } from "#contracts/hcn/documents/request.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/client.ts";
import type { ServiceContext } from "../service-context.ts";
import type { GuestNetworkServiceRecord, MirroredInterfaceRecord } from "../records.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/**
 * The open, query, change or delete of one that is not there. Inferred: as of a namespace, because HCN has no code of
 * its own for it (hcn.md §6.1).
 */
export function requireGuestNetworkService(context: ServiceContext, id: Guid): GuestNetworkServiceRecord {
  const service = context.state.guestNetworkServices.get(id);
  if (service !== undefined) return service;
  throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no guest network service ${id}` });
}

/** Creates a guest network service in state Created. @returns its id. */
export function createGuestNetworkService(
  context: ServiceContext,
  document: GuestNetworkService,
  wantedId: Guid | undefined,
): Guid {
  const id = context.chooseId(wantedId ?? document.ID);
  if (context.state.guestNetworkServices.has(id)) {
    throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", {
      detail: WORDS.guestNetworkServiceExists({ id }),
    });
  }
  const service: GuestNetworkServiceRecord = Object.freeze({
    ...context.baseOf(id, document),
    virtualMachineId: document.VirtualMachineId ?? ZERO_GUID,
    mirrorsHost: document.MirrorHostNetworking ?? false,
    rpcServer: document.GnsRpcServerInformation,
    flags: document.Flags ?? 0,
    state: "Created",
    interfaces: Object.freeze([]),
  });
  context.state.guestNetworkServices.set(id, service);
  context.changed("GuestNetworkService", id);
  context.notify(NOTIFICATION_TYPES.GuestNetworkServiceCreate, id, service.flags);
  return id;
}

/** Deletes a guest network service. Inferred: what it had reserved is free again. */
export function deleteGuestNetworkService(context: ServiceContext, id: Guid): void {
  const service = requireGuestNetworkService(context, id);
  context.state.portReservations.releaseAllOf(id);
  context.state.guestNetworkServices.delete(id);
  context.changed("GuestNetworkService", id);
  context.notify(NOTIFICATION_TYPES.GuestNetworkServiceDelete, id, service.flags);
}

function replace(
  context: ServiceContext,
  service: GuestNetworkServiceRecord,
  changes: Partial<GuestNetworkServiceRecord>,
): GuestNetworkServiceRecord {
  const updated = Object.freeze({ ...service, ...changes, changedAtMs: context.nowMs });
  context.state.guestNetworkServices.set(service.id, updated);
  context.changed("GuestNetworkService", service.id);
  return updated;
}

/** Inferred: interfaces follow their service; states that interfaces do not have count as the nearest that they have. */
const INTERFACE_STATES: Readonly<Record<GuestNetworkServiceState, GuestInterfaceState>> = {
  None: "Created",
  Created: "Created",
  Bootstrapping: "Bootstrapping",
  Synchronized: "Synchronized",
  Paused: "Paused",
  Desynchronized: "Desynchronized",
  Rehydrating: "Bootstrapping",
  Degraded: "Desynchronized",
  Destroyed: "Desynchronized",
};

/** Tells those who registered with the service about interfaces that came or changed. */
function notifyInterfaces(
  context: ServiceContext,
  service: GuestNetworkServiceRecord,
  interfaces: readonly MirroredInterfaceRecord[],
): void {
  if (interfaces.length === 0) return;
  const data = {
    State: service.state,
    Interfaces: interfaces.map(({ endpointId, state }) => ({ EndpointId: endpointId, State: state })),
  };
  const type = NOTIFICATION_TYPES.GuestNetworkServiceInterfaceStateChanged;
  context.notify(type, service.id, service.flags, data, service.id);
}

/**
 * Carries out a modify request: Update of State.
 * @throws HcnError HCN_E_REQUEST_UNSUPPORTED for any other, HCN_E_INVALID_JSON for a state that is none.
 */
export function modifyGuestNetworkService(context: ServiceContext, id: Guid, settings: JsonObject): void {
  const service = requireGuestNetworkService(context, id);
  const request = parseModifyRequest("GuestNetworkService", settings);
  if (request.resourceType !== "State" || request.requestType !== "Update")
    throw requestUnsupported(request, "guest network services");
  const state = readRequestedState(request.settings);
  if (state === service.state) return;
  const interfaceState = INTERFACE_STATES[state];
  const changed = service.interfaces
    .filter((each) => each.state !== interfaceState)
    .map((each) => Object.freeze({ ...each, state: interfaceState }));
  const interfaces = service.interfaces.map((each) => Object.freeze({ ...each, state: interfaceState }));
  const updated = replace(context, service, { state, interfaces: Object.freeze(interfaces) });
  const type = NOTIFICATION_TYPES.GuestNetworkServiceStateChanged;
  context.notify(type, id, service.flags, { State: state }, id);
  notifyInterfaces(context, updated, changed);
}

function mirroredEndpoints(context: ServiceContext): readonly Guid[] {
  const networks = [...context.state.networks.values()].filter((network) => network.type === "Mirrored");
  return networks.flatMap((network) => [...context.state.membersOf(network.id).local.keys()]);
}

/**
 * Brings the interfaces of mirroring services in line with the endpoints of mirrored networks. Inferred: which
 * endpoints those are, and that one that comes begins as Created. Costs nothing where no service mirrors.
 */
export function followMirroredEndpoints(context: ServiceContext): void {
  for (const service of context.state.guestNetworkServices.values()) {
    if (!service.mirrorsHost) continue;
    const endpoints = mirroredEndpoints(context);
    const kept = service.interfaces.filter((each) => endpoints.includes(each.endpointId));
    const known = new Set(kept.map((each) => each.endpointId));
    const added = endpoints
      .filter((endpointId) => !known.has(endpointId))
      .map((endpointId): MirroredInterfaceRecord => Object.freeze({ endpointId, state: "Created" }));
    if (added.length === 0 && kept.length === service.interfaces.length) continue;
    const interfaces = Object.freeze([...kept, ...added]);
    notifyInterfaces(context, replace(context, service, { interfaces }), added);
  }
}
