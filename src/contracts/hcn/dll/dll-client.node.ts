/**
 * `HcnClient` over `computenetwork.dll` and `vmcompute.dll`: on a Windows node, Windows' own HNS.
 *
 * Not run on Windows. It is tested on Linux against the shared libraries of `shim/`, which have the same functions, and
 * with them passes the contract suite of all clients (`test/wine/dll-client.wine.test.ts`).
 *
 * Each call is what hcsshim's helpers make of it (hcn.md §1.5): objects are opened, asked or changed, and closed.
 */
import { randomUUID } from "node:crypto";
import {
  DEFAULT_QUERY,
  type HcnClient,
  type HcnCreateOptions,
  type HcnNotification,
  type HcnObjectKind,
  type HostComputeQuery,
  type NotificationScope,
  type ServiceProperties,
} from "../client.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID, checkGuid } from "../guid.ts";
import type { ComputeSystem, ComputeSystems } from "../compute-systems.ts";
import { HcnError } from "../error.ts";
import { checkJsonObject, parseAnswerText } from "../description/json.ts";
import type { PortRangeEntry, PortRangeReservation, PortRequest } from "../documents/port-reservation.ts";
import {
  type NativeLibraries,
  type NativeArgument,
  errorOfHresult,
  errorOfRecord,
  errorOfResult,
  isGone,
  NativeCalls,
  PORT_ENTRY_BYTES,
  formatNativeGuid,
  parsePortEntry,
  place,
  wideText,
} from "./native-calls.node.ts";
import { DllRegistrations } from "./dll-registrations.node.ts";
import { parseComputeSystemSummary } from "../documents/compute-system-document.ts";

const U16_MAX = 65_535;
/** In HCN_PORT_RANGE_RESERVATION. */
const ENDING_PORT_AT = 2;

/** A query that the service gets as text; none is no text. */
function queryText(query: HostComputeQuery | undefined): Uint8Array | null {
  return query === undefined ? null : wideText(JSON.stringify(checkJsonObject(query)));
}

function settingsText(settings: JsonObject): Uint8Array {
  return wideText(JSON.stringify(checkJsonObject(settings)));
}

/** The network of a new endpoint, where the call does not say it. */
function networkOf(settings: JsonObject): Guid | undefined {
  const named = settings["HostComputeNetwork"] ?? settings["VirtualNetwork"];
  return typeof named === "string" && named !== "" ? named : undefined;
}

function notThis(what: string): HcnError {
  return new HcnError("HCN_E_INVALID_JSON", { detail: `The DLL answered something else than ${what}` });
}

/** C would take the number for another one. @throws HcnError ERROR_INVALID_PARAMETER. */
function checkU16(what: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= U16_MAX) return value;
  throw new HcnError("ERROR_INVALID_PARAMETER", { detail: `${what} is ${value}; it must be 1 to 65535` });
}

export class DllHcnClient implements HcnClient {
  /** Where `vmcompute.dll` is Windows' own, its systems are real ones: creating one takes more than its network. */
  readonly computeSystems: ComputeSystems;
  private readonly native: NativeCalls;
  private readonly registrations: DllRegistrations;
  /** Handles of reservations by the GUIDs that stand for them here. */
  private readonly reservations = new Map<Guid, bigint>();

  /** @throws HcnError RPC_S_SERVER_UNAVAILABLE when koffi or a library is missing. */
  constructor(libraries: NativeLibraries) {
    this.native = new NativeCalls(libraries);
    this.computeSystems = new DllComputeSystems(this.native, async () => this.registrations.settled());
    this.registrations = new DllRegistrations(this.native, {
      enumerate: async (kind) => this.list(kind),
      open: async (kind, id) => this.open(kind, id),
      close: async (kind, handle) => this.closeHandle(kind, handle),
    });
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    await this.registrations.settled();
    return this.list(kind, query);
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options: HcnCreateOptions = {}): Promise<Guid> {
    await this.registrations.settled();
    const id = checkGuid(options.id ?? ZERO_GUID);
    const handle = await this.make(kind, id, settings, options.network);
    try {
      if (id !== ZERO_GUID) return id;
      const made = await this.document(`HcnQuery${kind}Properties`, handle, queryText(DEFAULT_QUERY));
      if (typeof made["ID"] === "string") return made["ID"];
      throw notThis("a document with an ID");
    } finally {
      await this.closeHandle(kind, handle);
    }
  }

  async query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.ask(`HcnQuery${kind}Properties`, kind, id, query);
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    const text = settingsText(settings);
    await this.use(kind, id, async (handle) => this.perform(`HcnModify${kind}`, handle, text));
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    await this.registrations.settled();
    await this.perform(`HcnDelete${kind}`, formatNativeGuid(checkGuid(id)));
  }

  async queryEndpointStats(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.ask("HcnQueryEndpointStats", "Endpoint", id, query);
  }

  async queryEndpointAddresses(id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    return this.ask("HcnQueryEndpointAddresses", "Endpoint", id, query);
  }

  async reservePorts(guestNetworkService: Guid, request: PortRequest): Promise<PortRangeReservation> {
    return this.use("GuestNetworkService", guestNetworkService, async (service) => {
      const handle = place();
      const [startingPort, endingPort] = await this.reserve(service, request, handle);
      const reservation = randomUUID();
      this.reservations.set(reservation, handle.readBigUInt64LE());
      return { reservation, startingPort, endingPort };
    });
  }

  /** Handles are the process's own: reservations of other programs cannot be released from here. */
  async releasePorts(reservation: Guid): Promise<void> {
    const id = checkGuid(reservation);
    const handle = this.reservations.get(id);
    if (handle === undefined) {
      const detail = `${id} is not a reservation that this program made and holds`;
      throw new HcnError("ERROR_INVALID_PARAMETER", { detail });
    }
    await this.performBare("HcnReleaseGuestNetworkServicePortReservationHandle", handle);
    this.reservations.delete(id);
  }

  async listPortReservations(): Promise<readonly PortRangeEntry[]> {
    const count = place();
    const entries = place();
    await this.performBare("HcnEnumerateGuestNetworkPortReservations", count, entries);
    const address = entries.readBigUInt64LE();
    if (address === 0n) return [];
    try {
      const bytes = this.native.read(address, count.readUInt32LE() * PORT_ENTRY_BYTES);
      return Array.from({ length: count.readUInt32LE() }, (_, index) =>
        parsePortEntry(bytes.subarray(index * PORT_ENTRY_BYTES)),
      );
    } finally {
      this.native.free("HcnFreeGuestNetworkPortReservations", address);
    }
  }

  async queryService(properties: ServiceProperties): Promise<JsonObject> {
    return this.document(`HcnQuery${properties}`, null);
  }

  /** A call that fails, as most refusals of v1 do from 1809 on, comes as the envelope that says the same. */
  async call(method: string, path: string, body: string): Promise<JsonObject> {
    await this.registrations.settled();
    const response = place();
    const texts = [wideText(method), wideText(path), wideText(body)];
    const hresult = await this.native.call("HNSCall", ...texts, response);
    const text = this.native.takeText(response);
    if (hresult === 0) return checkJsonObject(parseAnswerText(text ?? ""));
    const error = errorOfHresult(hresult);
    if (isGone(error)) throw error;
    const { Error: message, ErrorCode, Success } = error.toRecord();
    return { Error: message, ErrorCode, Success };
  }

  /** `all` is the service, and each network and guest network service that there is or comes. */
  subscribe(
    listener: (notification: HcnNotification) => void,
    scope: NotificationScope = "service",
  ): () => void {
    return this.registrations.subscribe(listener, scope);
  }

  async close(): Promise<void> {
    await this.registrations.close();
  }

  /** Without waiting for registrations under way, which ask themselves. */
  private async list(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    const ids = await this.answer(`HcnEnumerate${kind}s`, queryText(query));
    if (Array.isArray(ids) && ids.every((id) => typeof id === "string")) return ids;
    throw notThis("a list of GUIDs");
  }

  private async open(kind: HcnObjectKind, id: Guid): Promise<bigint> {
    const handle = place();
    await this.perform(`HcnOpen${kind}`, formatNativeGuid(checkGuid(id)), handle);
    return handle.readBigUInt64LE();
  }

  private async closeHandle(kind: HcnObjectKind, handle: bigint): Promise<void> {
    await this.native.call(`HcnClose${kind}`, handle);
  }

  private async use<T>(kind: HcnObjectKind, id: Guid, run: (handle: bigint) => Promise<T>): Promise<T> {
    await this.registrations.settled();
    const handle = await this.open(kind, id);
    try {
      return await run(handle);
    } finally {
      await this.closeHandle(kind, handle);
    }
  }

  private async make(
    kind: HcnObjectKind,
    id: Guid,
    settings: JsonObject,
    network: Guid | undefined,
  ): Promise<bigint> {
    const handle = place();
    const rest = [formatNativeGuid(id), settingsText(settings), handle] as const;
    const parent = kind === "Endpoint" ? (network ?? networkOf(settings)) : undefined;
    if (kind !== "Endpoint") await this.perform(`HcnCreate${kind}`, ...rest);
    else if (parent === undefined) await this.perform("HcnCreateEndpoint", null, ...rest);
    else await this.use("Network", parent, async (open) => this.perform("HcnCreateEndpoint", open, ...rest));
    return handle.readBigUInt64LE();
  }

  /** The first and the last port; the handle of the reservation is in its place. */
  private async reserve(service: bigint, request: PortRequest, handle: Buffer): Promise<[number, number]> {
    if ("port" in request) {
      const { protocol, access } = request;
      const port = checkU16("port", request.port);
      await this.performBare("HcnReserveGuestNetworkServicePort", service, protocol, access, port, handle);
      return [port, port];
    }
    const range = place();
    const count = checkU16("portCount", request.portCount);
    await this.performBare("HcnReserveGuestNetworkServicePortRange", service, count, range, handle);
    return [range.readUInt16LE(0), range.readUInt16LE(ENDING_PORT_AT)];
  }

  private async ask(
    name: string,
    kind: HcnObjectKind,
    id: Guid,
    query: HostComputeQuery | undefined,
  ): Promise<JsonObject> {
    const text = queryText(query);
    return this.use(kind, id, async (handle) => this.document(name, handle, text));
  }

  private async document(name: string, ...args: readonly NativeArgument[]): Promise<JsonObject> {
    const answer = await this.answer(name, ...args);
    if (isJsonObject(answer)) return answer;
    throw notThis("a document");
  }

  /** A call that ends with a place for a text and one for a record. */
  private async answer(name: string, ...args: readonly NativeArgument[]): Promise<JsonValue> {
    const result = place();
    await this.perform(name, ...args, result);
    return parseAnswerText(this.native.takeText(result) ?? "");
  }

  /** A call that ends with a place for a record. @throws HcnError what it fails with. */
  private async perform(name: string, ...args: readonly NativeArgument[]): Promise<void> {
    const record = place();
    const hresult = await this.native.call(name, ...args, record);
    const text = this.native.takeText(record);
    if (hresult !== 0) throw errorOfRecord(hresult, text);
  }

  /** A call without a record. @throws HcnError. */
  private async performBare(name: string, ...args: readonly NativeArgument[]): Promise<void> {
    const hresult = await this.native.call(name, ...args);
    if (hresult !== 0) throw errorOfHresult(hresult);
  }
}

/** HCS_E_OPERATION_PENDING: it goes on by itself. */
const PENDING = 0xc0370103;

/**
 * Compute systems over `vmcompute.dll`, the calls that hcsshim makes. Not run on Windows, where creating and ending
 * takes time: HCS then answers that it is under way, and what has become of it is seen in the list.
 */
class DllComputeSystems implements ComputeSystems {
  private readonly native: NativeCalls;
  private readonly settled: () => Promise<void>;

  /** `settled` resolves when registrations under way are made. */
  constructor(native: NativeCalls, settled: () => Promise<void>) {
    this.native = native;
    this.settled = settled;
  }

  async list(): Promise<readonly ComputeSystem[]> {
    await this.settled();
    const systems = place();
    await this.perform("HcsEnumerateComputeSystems", wideText(""), systems);
    const list = parseAnswerText(this.native.takeText(systems) ?? "[]");
    return Array.isArray(list) ? list.map(parseComputeSystemSummary) : [];
  }

  async create(id: string, document: JsonObject): Promise<void> {
    await this.settled();
    const handle = place();
    const text = wideText(JSON.stringify(checkJsonObject(document)));
    await this.perform("HcsCreateComputeSystem", wideText(id), text, null, handle);
    const system = handle.readBigUInt64LE();
    try {
      await this.perform("HcsStartComputeSystem", system, wideText(""));
    } finally {
      await this.native.call("HcsCloseComputeSystem", system);
    }
  }

  async modify(id: string, request: JsonObject): Promise<void> {
    const text = wideText(JSON.stringify(checkJsonObject(request)));
    await this.use(id, async (system) => this.perform("HcsModifyComputeSystem", system, text));
  }

  async terminate(id: string): Promise<void> {
    await this.use(id, async (system) => this.perform("HcsTerminateComputeSystem", system, wideText("")));
  }

  /** Opens a system; its handle. @throws HcnError HCS_E_SYSTEM_NOT_FOUND. */
  async open(id: string): Promise<bigint> {
    const handle = place();
    await this.perform("HcsOpenComputeSystem", wideText(id), handle);
    return handle.readBigUInt64LE();
  }

  private async use(id: string, run: (system: bigint) => Promise<void>): Promise<void> {
    await this.settled();
    const system = await this.open(id);
    try {
      await run(system);
    } finally {
      await this.native.call("HcsCloseComputeSystem", system);
    }
  }

  /** A call that ends with a place for a document about its failure. @throws HcnError. */
  private async perform(name: string, ...args: readonly NativeArgument[]): Promise<void> {
    const result = place();
    const hresult = await this.native.call(name, ...args, result);
    const text = this.native.takeText(result);
    if (hresult !== 0 && hresult !== PENDING) throw errorOfResult(hresult, text);
  }
}
