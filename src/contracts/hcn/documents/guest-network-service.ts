/** `GuestNetworkService`: mirrors the host's networking into a virtual machine (hcn.md §2.11). */
import { BASE } from "./base-document.ts";
import type { ObjectOf } from "../description/description.ts";
import { type ObjectReader, readerOf } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import { JsonReader } from "../description/json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

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

/** What a request can change of a guest network service. */
export const GUEST_NETWORK_SERVICE_RESOURCE_TYPES = ["State"] as const;

/** Where the guest's own service is reached (schema 2.11). */
export const GNS_RPC_SERVER = {
  text: "Where the guest's own service is reached.",
  fields: {
    NetworkAddress: { is: "text", text: "The machine." },
    EndpointAddress: { is: "text", text: "The port, or the name of the endpoint." },
    EndpointType: { is: "enumeration", names: ["HvSocket", "LRpc"], text: "How it is called." },
    ObjectUuid: { is: "guid", text: "The object that is called." },
  },
} as const;
export type GnsRpcServerInformation = ObjectOf<typeof GNS_RPC_SERVER>;

/** An interface of the host as the guest has it. */
export const MIRRORED_INTERFACE = {
  text: "An interface of the host as the guest has it.",
  name: "MirroredInterface",
  fields: {
    EndpointId: { is: "guid", text: "The endpoint that stands for it." },
    InterfaceGuid: { is: "guid", text: "Its name in the guest." },
    State: {
      is: "enumeration",
      names: ["Created", "Bootstrapping", "Synchronized", "Desynchronized", "Paused"],
      text: "How far the guest has it.",
    },
    MissedNotifications: { is: "text", text: "What the guest was not told." },
  },
  needs: ["EndpointId", "InterfaceGuid", "State", "MissedNotifications"],
} as const;
export type MirroredInterface = ObjectOf<typeof MIRRORED_INTERFACE>;
export type GuestInterfaceState = MirroredInterface["State"];

/** The one place that names the fields of a guest network service; `description.ts` says what comes from it. */
export const GUEST_NETWORK_SERVICE = {
  text: "What mirrors the host's networking into a virtual machine.",
  name: "GuestNetworkService",
  base: (): typeof BASE => BASE,
  fields: {
    VirtualMachineId: { is: "guid", text: "The virtual machine.", absent: "none" },
    MirroredInterfaces: {
      is: "list",
      of: (): typeof MIRRORED_INTERFACE => MIRRORED_INTERFACE,
      text: (): string => WORDS.guestNetworkServiceMirroredInterfaces,
      by: "service",
    },
    MirrorHostNetworking: {
      is: "boolean",
      text: "The guest gets the host's interfaces.",
      absent: "false",
    },
    GnsRpcServerInformation: {
      is: "object",
      of: (): typeof GNS_RPC_SERVER => GNS_RPC_SERVER,
      text: "Where the guest's own service is reached.",
      since: "2.11",
    },
    Flags: {
      is: "flags",
      bits: { IsFlowsteered: 1, IsFlowsteeredSelfManaged: 2 },
      text: (): string => WORDS.guestNetworkServiceFlags,
      absent: "0",
    },
  },
  always: ["ID", "SchemaVersion"],
} as const;
export type GuestNetworkService = ObjectOf<typeof GUEST_NETWORK_SERVICE>;

const READER: ObjectReader<GuestNetworkService> = readerOf(GUEST_NETWORK_SERVICE);

/**
 * Checks the shape of a document; `MirroredInterfaces` is the service's own and not read.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type.
 */
export function parseGuestNetworkService(document: JsonValue): GuestNetworkService {
  const reader = JsonReader.of(document, "guest network service", "HCN_E_INVALID_JSON");
  const { MirroredInterfaces: _own, ...said } = reader.whole();
  return READER.read(JsonReader.of(said, "guest network service", "HCN_E_INVALID_JSON"));
}

/**
 * The state that a `State` request asks for, by name or number.
 * @throws HcnError HCN_E_INVALID_JSON when it is none.
 */
export function readRequestedState(settings: JsonValue): GuestNetworkServiceState {
  const reader = JsonReader.of(settings, "Settings", "HCN_E_INVALID_JSON");
  const state = reader.enumeration("State", GUEST_NETWORK_SERVICE_STATES);
  return reader.needed("State", state, `one of ${GUEST_NETWORK_SERVICE_STATES.join(", ")}`);
}
