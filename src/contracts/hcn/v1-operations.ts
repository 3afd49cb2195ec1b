/** HNS v1 calls over any `HcnClient`: path, envelope, error (hcn.md §1.7). */
import type { HcnClient } from "./client.ts";
import { addNetworkAdapter, removeNetworkAdapter, requireComputeSystems } from "./compute-systems.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "./guid.ts";
import { errorCodeOf } from "./error-codes.ts";
import { HcnError, HcnNotFoundError } from "./error.ts";
import type { HnsVersion } from "./features.ts";
import { JsonReader, checkJsonObject } from "./description/json.ts";
import { type Stored, storedOf } from "./description/object-json.ts";
import {
  type EndpointAttachDetachRequest,
  type HnsEndpoint,
  type HnsNetwork,
  parseHnsEndpoint,
  parseHnsNetwork,
} from "./documents/v1-documents.ts";

/**
 * Makes a v1 call and opens its envelope.
 * @returns `Output`; undefined for calls without a result.
 * @throws HcnError with the code of the envelope.
 */
export async function requestHns(
  client: HcnClient,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: object,
): Promise<JsonValue | undefined> {
  const text = body === undefined ? "" : JSON.stringify(checkJsonObject(body));
  const envelope = new JsonReader(await client.call(method, path, text), "response", "HCN_E_INVALID_JSON");
  if (envelope.boolean("Success") === true) return envelope.raw("Output");
  const reported = { Error: envelope.text("Error") ?? "", ErrorCode: envelope.u32("ErrorCode") ?? 0 };
  throw new HcnError(errorCodeOf(reported.ErrorCode) ?? "unknown", { reported });
}

/** As a service answers them. */
export type StoredHnsNetwork = Stored<HnsNetwork>;
export type StoredHnsEndpoint = Stored<HnsEndpoint>;

/** The version of the service: what feature detection works from. */
export async function getHnsVersion(client: HcnClient): Promise<HnsVersion> {
  const output = await requestHns(client, "GET", "/globals/version");
  const reader = JsonReader.of(output, "Output", "HCN_E_INVALID_JSON");
  return { Major: reader.u32("Major") ?? 0, Minor: reader.u32("Minor") ?? 0 };
}

/** A kind of objects: its path, and how its documents are read out of answers. */
interface Kind<T> {
  readonly path: string;
  readonly read: (document: JsonValue) => T;
}

const NETWORK: Kind<StoredHnsNetwork> = {
  path: "/networks/",
  read: (document) => storedOf(parseHnsNetwork(document), "network"),
};
const ENDPOINT: Kind<StoredHnsEndpoint> = {
  path: "/endpoints/",
  read: (document) => storedOf(parseHnsEndpoint(document), "endpoint"),
};

type List<T> = (client: HcnClient) => Promise<readonly T[]>;
type Get<T> = (client: HcnClient, value: string) => Promise<T>;
type Create<D, T> = (client: HcnClient, document: D) => Promise<T>;
type Delete = (client: HcnClient, id: Guid) => Promise<void>;

function listOf<T>({ path, read }: Kind<T>): List<T> {
  return async (client) => {
    const output = await requestHns(client, "GET", path);
    return Array.isArray(output) ? (output as readonly JsonValue[]).map((each) => read(each)) : [];
  };
}

/** Lists all and compares names exactly, as v1 clients do. */
function getByName<T extends { readonly Name?: string }>(list: List<T>, what: string): Get<T> {
  return async (client, name) => {
    const found = (await list(client)).find((candidate) => candidate.Name === name);
    if (found === undefined) throw new HcnNotFoundError(what, name);
    return found;
  };
}

function creationOf<D extends object, T>({ path, read }: Kind<T>): Create<D, T> {
  return async (client, document) => read((await requestHns(client, "POST", path, document)) ?? null);
}

function deletionOf({ path }: Kind<unknown>): Delete {
  return async (client, id) => {
    await requestHns(client, "DELETE", `${path}${id}`);
  };
}

export const listHnsNetworks: List<StoredHnsNetwork> = listOf(NETWORK);
/** @throws HcnNotFoundError. */
export const getHnsNetworkByName: Get<StoredHnsNetwork> = getByName(listHnsNetworks, "Network");
export const createHnsNetwork: Create<HnsNetwork, StoredHnsNetwork> = creationOf(NETWORK);
export const deleteHnsNetwork: Delete = deletionOf(NETWORK);
export const listHnsEndpoints: List<StoredHnsEndpoint> = listOf(ENDPOINT);
/** @throws HcnNotFoundError. */
export const getHnsEndpointByName: Get<StoredHnsEndpoint> = getByName(listHnsEndpoints, "Endpoint");
export const createHnsEndpoint: Create<HnsEndpoint, StoredHnsEndpoint> = creationOf(ENDPOINT);
export const deleteHnsEndpoint: Delete = deletionOf(ENDPOINT);

export async function getHnsEndpoint(client: HcnClient, id: Guid): Promise<StoredHnsEndpoint> {
  return ENDPOINT.read((await requestHns(client, "GET", `${ENDPOINT.path}${id}`)) ?? null);
}

type ChangeAttachment = (client: HcnClient, id: Guid, request: EndpointAttachDetachRequest) => Promise<void>;

function attachmentChangeOf(change: "attach" | "detach"): ChangeAttachment {
  return async (client, id, request) => {
    await requestHns(client, "POST", `${ENDPOINT.path}${id}/${change}`, request);
  };
}

export const attachHnsEndpoint: ChangeAttachment = attachmentChangeOf("attach");
export const detachHnsEndpoint: ChangeAttachment = attachmentChangeOf("detach");

/** As hcsshim asks: the endpoint is read twice, and the id is looked for in the text of the list, without regard to case. */
async function isSharedBy(client: HcnClient, id: Guid, container: string): Promise<boolean> {
  await getHnsEndpoint(client, id);
  const { SharedContainers = [] } = await getHnsEndpoint(client, id);
  return JSON.stringify(SharedContainers).toLowerCase().includes(container.toLowerCase());
}

/** A request to the Host Compute Service failed: its error has other words around it than one of HNS. */
export class ComputeSystemError extends Error {
  override readonly name = "ComputeSystemError";
  override readonly cause: HcnError;

  constructor(cause: HcnError) {
    super(cause.toRecord().Error);
    this.cause = cause;
  }
}

async function askHcs(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw error instanceof HcnError ? new ComputeSystemError(error) : error;
  }
}

/**
 * hcsshim's `HotAttachEndpoint`: not a call of HNS, but a change of the running container by the Host Compute Service, which
 * has HNS attach the endpoint. A container that shares it already is left alone.
 * @throws HcnError of the look-ups, ComputeSystemError.
 */
export async function hotAttachEndpoint(client: HcnClient, id: Guid, container: string): Promise<void> {
  if (await isSharedBy(client, id, container)) return;
  await askHcs(() => addNetworkAdapter(requireComputeSystems(client), container, id));
}

/** hcsshim's `HotDetachEndpoint`. A container that does not share the endpoint is left alone. @throws as `hotAttachEndpoint`. */
export async function hotDetachEndpoint(client: HcnClient, id: Guid, container: string): Promise<void> {
  if (!(await isSharedBy(client, id, container))) return;
  await askHcs(() => removeNetworkAdapter(requireComputeSystems(client), container, id));
}

/** What flannel sends to give the host its leg in the pod network (hcn.md §9.23). */
export const HOST_ATTACH: EndpointAttachDetachRequest & JsonObject = Object.freeze({
  SystemType: "Host",
  CompartmentId: 1,
  VirtualNicName: "",
});
