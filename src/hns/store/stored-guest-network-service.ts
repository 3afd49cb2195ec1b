/** Guest network services in stored form. The ports that they had reserved are not: handles end with the service. */
import {
  GUEST_NETWORK_SERVICE_STATES,
  parseGuestNetworkService,
} from "#contracts/hcn/documents/guest-network-service.ts";
import { ZERO_GUID } from "#contracts/hcn/guid.ts";
import type { GuestNetworkServiceRecord } from "../service/guest/guest-network-service-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import { guestNetworkServiceDocument } from "../view/guest-network-service-view.ts";
import { readBaseFields } from "./base-fields.ts";
import type { LenientReader } from "./lenient-reader.ts";
import { type StoredKindRow, storedKind } from "./stored-kind.ts";

function read(context: ServiceContext, reader: LenientReader): GuestNetworkServiceRecord {
  const document = reader.attempt((strict) => parseGuestNetworkService(strict.whole()));
  return {
    ...readBaseFields(context, reader),
    virtualMachineId: document?.VirtualMachineId ?? ZERO_GUID,
    mirrorsHost: document?.MirrorHostNetworking ?? false,
    rpcServer: document?.GnsRpcServerInformation,
    flags: document?.Flags ?? 0,
    state: GUEST_NETWORK_SERVICE_STATES[reader.number("State")] ?? "Created",
    interfaces: Object.freeze([]),
  };
}

export const STORED_GUEST_NETWORK_SERVICE: StoredKindRow = storedKind<GuestNetworkServiceRecord>({
  kind: "GuestNetworkService",
  records: (state) => state.guestNetworkServices,
  document: guestNetworkServiceDocument,
  documentV1: guestNetworkServiceDocument,
  replace: (state, service) => state.guestNetworkServices.set(service.id, service),
  read,
  enter: (context, service) => {
    context.state.guestNetworkServices.set(service.id, Object.freeze(service));
  },
});
