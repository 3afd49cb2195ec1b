/** The documents of the Host Compute Service, reduced to what concerns the network (schema 1 and 2 of HCS). */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid } from "../guid.ts";
import type { ComputeSystem, ComputeSystemType } from "../compute-systems.ts";
import { HcnError } from "../error.ts";
import { JsonReader, present } from "../description/json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** What a new compute system asks of the network. */
export interface ComputeSystemRequest {
  readonly systemType: ComputeSystemType;
  readonly owner: string;
  readonly namespaceId: Guid | undefined;
  /** Endpoints named one by one. */
  readonly endpointIds: readonly Guid[];
  /** The container whose network it shares. */
  readonly sharedContainer: string | undefined;
}

/** A network adapter that comes or goes. */
export type AdapterRequest =
  | {
      readonly requestType: "Add" | "Remove";
      readonly endpointId: Guid;
      /** The adapter's own id, which schema 2 has in the path. */
      readonly adapterId: string | undefined;
    }
  // A removal may name the adapter by its place in the system instead.
  | { readonly requestType: "Remove"; readonly endpointId: undefined; readonly adapterId: string };

const SYSTEM_TYPES = ["Container", "VirtualMachine"] as const satisfies readonly ComputeSystemType[];

function invalid(detail: string): HcnError {
  return new HcnError("HCS_E_SYSTEM_INVALID_CONFIGURATION", { detail });
}

/** HCS takes ids of endpoints in lower case without braces only (hcn.md §4.5). */
function checkEndpointId(text: string, where: string): Guid {
  if (parseGuid(text) === text) return text;
  throw invalid(WORDS.guidNotCanonical({ where, text: JSON.stringify(text) }));
}

function readerOf(value: JsonValue, where: string): JsonReader {
  return JsonReader.of(value, where, "HCS_E_SYSTEM_INVALID_CONFIGURATION");
}

function readNamespace(networking: JsonReader | undefined): Guid | undefined {
  const text = networking?.text("Namespace") ?? "";
  if (text === "") return undefined;
  const guid = parseGuid(text);
  if (guid !== undefined) return guid;
  throw invalid(`Networking.Namespace is ${JSON.stringify(text)}; it must be a GUID`);
}

function readEndpoints(ids: readonly string[] | undefined, where: string): readonly Guid[] {
  return (ids ?? []).map((id, index) => checkEndpointId(id, `${where}[${index}]`));
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function readContainer(container: JsonReader, owner: string): ComputeSystemRequest {
  const networking = container.object("Networking");
  return {
    systemType: "Container",
    owner,
    namespaceId: readNamespace(networking),
    endpointIds: readEndpoints(networking?.texts("NetworkAdapters"), "Networking.NetworkAdapters"),
    sharedContainer: nonEmpty(networking?.text("NetworkSharedContainerName")),
  };
}

/** `Devices.NetworkAdapters` is an object: an adapter by its id. */
function readVirtualMachine(machine: JsonReader, owner: string): ComputeSystemRequest {
  const adapters = machine.object("Devices")?.object("NetworkAdapters");
  const endpointIds = Object.keys(adapters?.whole() ?? {}).flatMap((adapterId) => {
    const adapter = adapters?.object(adapterId);
    const endpointId = adapter?.text("EndpointId");
    return endpointId === undefined || endpointId === ""
      ? []
      : [checkEndpointId(endpointId, `NetworkAdapters.${adapterId}.EndpointId`)];
  });
  const base = { systemType: "VirtualMachine", namespaceId: undefined, sharedContainer: undefined } as const;
  return { ...base, owner, endpointIds };
}

/** The older form names everything at the top. */
function readSchema1(reader: JsonReader, owner: string): ComputeSystemRequest {
  const systemType = reader.enumeration("SystemType", SYSTEM_TYPES);
  if (systemType === undefined)
    throw invalid('The document has none of "Container", "HostedSystem", "VirtualMachine" and "SystemType"');
  return {
    systemType,
    owner,
    namespaceId: undefined,
    endpointIds: readEndpoints(reader.texts("EndpointList"), "EndpointList"),
    sharedContainer: nonEmpty(reader.text("NetworkSharedContainerName")),
  };
}

/**
 * Reads the document of a new compute system.
 * @throws HcnError HCS_E_SYSTEM_INVALID_CONFIGURATION.
 */
export function parseComputeSystem(document: JsonValue): ComputeSystemRequest {
  const reader = readerOf(document, "");
  const owner = reader.text("Owner") ?? "";
  const container = reader.object("Container") ?? reader.object("HostedSystem")?.object("Container");
  if (container !== undefined) return readContainer(container, owner);
  const machine = reader.object("VirtualMachine");
  return machine === undefined ? readSchema1(reader, owner) : readVirtualMachine(machine, owner);
}

/** `VirtualMachine/Devices/NetworkAdapters/<id>` and `Container/Networking/NetworkAdapters/<id>`. */
const ADAPTER_PATH = /^(?:VirtualMachine\/Devices|Container\/Networking)\/NetworkAdapters\/([^/]+)$/i;

function endpointOf(settings: JsonValue | undefined): Guid | undefined {
  const id = isJsonObject(settings) ? settings["EndpointId"] : settings;
  if (id === undefined || id === null) return undefined;
  if (typeof id !== "string") throw invalid("Settings must name an endpoint");
  return checkEndpointId(id, "the endpoint of Settings");
}

/**
 * Reads a request that changes a running system. Schema 1 names the kind of resource and has the endpoint as its
 * settings; schema 2 has a path and an object.
 * @throws HcnError HCS_E_SYSTEM_INVALID_CONFIGURATION for anything but network adapters.
 */
export function parseAdapterRequest(document: JsonObject): AdapterRequest {
  const reader = readerOf(document, "");
  const requestType = reader.enumeration("RequestType", ["Add", "Remove"] as const);
  const isSchema1 = reader.text("ResourceType")?.toLowerCase() === "network";
  const adapterId = ADAPTER_PATH.exec(reader.text("ResourcePath") ?? "")?.[1];
  if (requestType === undefined || (!isSchema1 && adapterId === undefined)) {
    throw invalid(WORDS.computeSystemRequestUnsupported);
  }
  const endpointId = endpointOf(reader.raw("Settings"));
  if (endpointId !== undefined) return { requestType, endpointId, adapterId };
  if (requestType === "Add" || adapterId === undefined) throw invalid("Settings must name an endpoint");
  return { requestType, endpointId, adapterId };
}

/** Reads a compute system as a list shows it. @throws HcnError HCS_E_SYSTEM_INVALID_CONFIGURATION. */
export function parseComputeSystemSummary(document: JsonValue): ComputeSystem {
  const reader = readerOf(document, "compute system");
  return present<ComputeSystem>({
    Id: reader.text("Id") ?? "",
    SystemType: reader.enumeration("SystemType", SYSTEM_TYPES) ?? "Container",
    Owner: reader.text("Owner") ?? "",
    RuntimeId: reader.guid("RuntimeId") ?? "",
    State: "Running",
    Namespace: reader.guid("Namespace"),
    NetworkAdapters:
      reader.list("NetworkAdapters", (adapter) => ({ EndpointId: adapter.guid("EndpointId") ?? "" })) ?? [],
  });
}
