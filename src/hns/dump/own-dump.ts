/**
 * Our own dump: the objects in stored form, with what a reader wants to know of the service they come from. The stored
 * form is what the durable store keeps, so nothing is lost on the way back.
 */
import type { JsonObject } from "../../hcn/client.ts";
import type { HnsVersion } from "../../hcn/features.ts";
import { parseGuid } from "../../hcn/guid.ts";
import { isJsonObject } from "../../hcn/json-value.ts";
import type { StoredKind } from "../stored/stored-object.ts";
import type { DumpedObject } from "./dumped-object.ts";

export const DUMP_VERSION = "mullion/v1alpha1";

/** An object as a dump holds it. */
export interface DumpItem {
  readonly kind: StoredKind;
  readonly id: string;
  /** In v2 form. */
  readonly document: JsonObject;
  /** What the service knows beyond the document: in dumps of our own. */
  readonly internal?: JsonObject;
  /** The object in v1 form, where the dump of a node showed it so: the document was made from it. */
  readonly v1?: JsonObject;
}

/** A dump as a file holds it (schemas/hns-dump.v1alpha1.json). */
export interface HnsDump {
  readonly apiVersion: typeof DUMP_VERSION;
  readonly kind: "HnsDump";
  /** The service that it comes from; absent for a file that was converted. */
  readonly service?: {
    readonly node?: string;
    /** Of HNS, as `GET /globals/version` tells it. */
    readonly version?: HnsVersion;
  };
  /** In the order in which they were made. */
  readonly objects: readonly DumpItem[];
}

/** In the order in which a service takes them back. */
export const DUMP_KINDS: readonly StoredKind[] = Object.freeze([
  "Network",
  "Endpoint",
  "Namespace",
  "LoadBalancer",
  "SdnRoute",
  "GuestNetworkService",
  "Globals",
]);

/** A dump as text. */
export function formatDump(service: HnsDump["service"], objects: readonly DumpItem[]): string {
  const dump: HnsDump = {
    apiVersion: DUMP_VERSION,
    kind: "HnsDump",
    ...(service !== undefined && { service }),
    objects,
  };
  return `${JSON.stringify(dump, undefined, 2)}\n`;
}

/** An item of a dump; undefined when it is none. */
export function readStoredItem(value: JsonObject): Omit<DumpedObject, "where"> | undefined {
  const { kind, id, document, internal, v1 } = value;
  const known = DUMP_KINDS.find((name) => name === kind);
  const guid = typeof id === "string" ? parseGuid(id) : undefined;
  if (known === undefined || guid === undefined || !isJsonObject(document)) return undefined;
  return {
    kind: known,
    dialect: "v2",
    document: { ID: guid, ...document },
    cut: [],
    ...(isJsonObject(internal) && { internal }),
    ...(isJsonObject(v1) && { v1 }),
  };
}
