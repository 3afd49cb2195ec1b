/** `GuestNetworkService`: mirrors the host's networking into a virtual machine (hcn.md §2.11). */
import type { BaseDocument } from "./base-document.ts";
import { readBase } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { Guid } from "../guid.ts";
import { JsonReader, present } from "../description/json.ts";

/** Inferred: the numbers of `State` are the order of the names in the schema, from `None` 0. */
export const GUEST_NETWORK_SERVICE_STATES = [
  "None",
  "Created",
  "Bootstrapping",
  "Synchronized",
  "Paused",
  "Desynchronized",
  "Rehydrating",
  "Degraded",
  "Destroyed",
] as const;
export type GuestNetworkServiceState = (typeof GUEST_NETWORK_SERVICE_STATES)[number];

export type GuestInterfaceState = "Created" | "Bootstrapping" | "Synchronized" | "Desynchronized" | "Paused";

/** What a request can change of a guest network service. */
export const GUEST_NETWORK_SERVICE_RESOURCE_TYPES = ["State"] as const;

const ENDPOINT_TYPES = ["HvSocket", "LRpc"] as const;

/** Where the guest's own service is reached (schema 2.11). */
export interface GnsRpcServerInformation {
  readonly NetworkAddress?: string;
  readonly EndpointAddress?: string;
  readonly EndpointType?: (typeof ENDPOINT_TYPES)[number];
  readonly ObjectUuid?: Guid;
}

/** An interface of the host as the guest has it. */
export interface MirroredInterface {
  readonly EndpointId: Guid;
  readonly InterfaceGuid: Guid;
  readonly State: GuestInterfaceState;
  readonly MissedNotifications: string;
}

export interface GuestNetworkService extends BaseDocument {
  readonly VirtualMachineId?: Guid;
  readonly MirroredInterfaces?: readonly MirroredInterface[];
  readonly MirrorHostNetworking?: boolean;
  readonly GnsRpcServerInformation?: GnsRpcServerInformation;
  /** 1 IsFlowsteered, 2 IsFlowsteeredSelfManaged. */
  readonly Flags?: number;
}

function readRpcServer(reader: JsonReader): GnsRpcServerInformation | undefined {
  const server = reader.object("GnsRpcServerInformation");
  return (
    server &&
    present<GnsRpcServerInformation>({
      NetworkAddress: server.text("NetworkAddress"),
      EndpointAddress: server.text("EndpointAddress"),
      EndpointType: server.enumeration("EndpointType", ENDPOINT_TYPES),
      ObjectUuid: server.guid("ObjectUuid"),
    })
  );
}

/**
 * Checks the shape of a document; `MirroredInterfaces` is the service's own and not read.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseGuestNetworkService(document: JsonValue): GuestNetworkService {
  const reader = JsonReader.of(document, "guest network service", "HCN_E_INVALID_JSON");
  return present<GuestNetworkService>({
    ...readBase(reader),
    VirtualMachineId: reader.guid("VirtualMachineId"),
    MirroredInterfaces: undefined,
    MirrorHostNetworking: reader.boolean("MirrorHostNetworking"),
    GnsRpcServerInformation: readRpcServer(reader),
    Flags: reader.u32("Flags"),
  });
}

/**
 * The state that a `State` request asks for, by name or number.
 * @throws HcnError HCN_E_INVALID_JSON when it is none.
 */
export function readRequestedState(settings: JsonValue): GuestNetworkServiceState {
  const reader = JsonReader.of(settings, "Settings", "HCN_E_INVALID_JSON");
  const state = reader.enumeration("State", GUEST_NETWORK_SERVICE_STATES);
  if (state === undefined) throw reader.fail("State", `one of ${GUEST_NETWORK_SERVICE_STATES.join(", ")}`);
  return state;
}
