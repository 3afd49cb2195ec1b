/** A guest network service as results show it; v1 never knew it, so both dialects show the same (hcn.md §2.11). */
import type { JsonObject } from "#core/base/json.ts";
import {
  GUEST_NETWORK_SERVICE,
  GUEST_NETWORK_SERVICE_STATES,
} from "#contracts/hcn/documents/guest-network-service.ts";
import { printerOf } from "#contracts/hcn/description/object-json.ts";
import { ZERO_GUID } from "#contracts/hcn/guid.ts";
import type { GuestNetworkServiceRecord } from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { baseValues, healthData } from "./document-fields.ts";

function stateNumber(service: GuestNetworkServiceRecord): number {
  return GUEST_NETWORK_SERVICE_STATES.indexOf(service.state);
}

const PRINTER = printerOf(GUEST_NETWORK_SERVICE);

/** A guest network service in v2 shape. */
export function guestNetworkServiceDocument(
  context: ServiceContext,
  service: GuestNetworkServiceRecord,
): JsonObject {
  const health: JsonObject = { Data: healthData(context, service, []) };
  return PRINTER.print({
    ...baseValues(service, stateNumber(service)),
    Health: health,
    VirtualMachineId: service.virtualMachineId === ZERO_GUID ? undefined : service.virtualMachineId,
    MirroredInterfaces: service.interfaces.map(({ endpointId, state }) => ({
      EndpointId: endpointId,
      // Inferred: the guest's interface is named by the endpoint that it stands for.
      InterfaceGuid: endpointId,
      State: state,
      MissedNotifications: "None",
    })),
    MirrorHostNetworking: service.mirrorsHost ? true : undefined,
    GnsRpcServerInformation: service.rpcServer,
    Flags: service.flags,
  });
}

/** The fields that filters compare (hcn.md §5.1). */
export function guestNetworkServiceFilterFields(
  _context: ServiceContext,
  service: GuestNetworkServiceRecord,
): JsonObject {
  return {
    ID: service.id,
    Name: service.name,
    Owner: service.owner,
    VirtualMachineId: service.virtualMachineId,
    VirtualMachine: service.virtualMachineId,
    MirrorHostNetworking: service.mirrorsHost,
    Flags: service.flags,
    State: stateNumber(service),
  };
}
