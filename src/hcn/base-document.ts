/** What all HCN documents share (hcn.md §2.1, §2.9). */
import type { Guid, JsonObject, JsonValue } from "./client.ts";
import { type JsonReader, present } from "./json-reader.ts";
import { SCHEMA_V2_0, type SchemaVersion } from "./schema-version.ts";

export interface Health {
  readonly Data?: JsonValue;
  readonly Extra?: JsonValue;
}

export interface BaseDocument {
  readonly ID?: Guid;
  readonly Owner?: string;
  readonly Name?: string;
  /** Version of the service that wrote the object: major × 2^32 + minor. */
  readonly Version?: number;
  readonly AdditionalParams?: JsonValue;
  readonly Health?: Health;
  readonly SchemaVersion?: SchemaVersion;
  readonly State?: number;
}

/** Type and settings of one policy as they stand in a document; `policy.ts` reads them. */
export interface PolicyDocument {
  readonly Type: string;
  readonly Settings?: JsonObject;
}

export interface Route {
  readonly NextHop?: string;
  readonly DestinationPrefix?: string;
  readonly Metric?: number;
}

/** Name resolution of a network or endpoint (hcn.md §2.6). */
export interface Dns {
  readonly Domain?: string;
  readonly Search?: readonly string[];
  readonly ServerList?: readonly string[];
  readonly Options?: readonly string[];
}

export function readSchemaVersion(reader: JsonReader): SchemaVersion | undefined {
  const given: unknown = reader.raw("SchemaVersion");
  if (given === SCHEMA_V2_0) return SCHEMA_V2_0;
  const version = reader.object("SchemaVersion");
  if (version === undefined) return undefined;
  return Object.freeze({ Major: version.u32("Major") ?? 0, Minor: version.u32("Minor") ?? 0 });
}

function readHealth(reader: JsonReader): Health | undefined {
  const health = reader.object("Health");
  return health && present<Health>({ Data: health.raw("Data"), Extra: health.raw("Extra") });
}

/** The fields of `BaseDocument`, in the order in which results list them. */
export function readBase(reader: JsonReader): {
  readonly [K in keyof BaseDocument]-?: BaseDocument[K] | undefined;
} {
  return {
    ID: reader.guid("ID"),
    Owner: reader.text("Owner"),
    Name: reader.text("Name"),
    Version: reader.number("Version"),
    AdditionalParams: reader.raw("AdditionalParams"),
    Health: readHealth(reader),
    SchemaVersion: readSchemaVersion(reader),
    State: reader.u16("State"),
  };
}

export function readDns(reader: JsonReader): Dns | undefined {
  const dns = reader.object("Dns");
  if (dns === undefined) return undefined;
  return present<Dns>({
    Domain: dns.text("Domain"),
    Search: dns.texts("Search"),
    ServerList: dns.texts("ServerList"),
    Options: dns.texts("Options"),
  });
}

export function readRoutes(reader: JsonReader): readonly Route[] | undefined {
  return reader.list("Routes", (route) =>
    present<Route>({
      NextHop: route.text("NextHop"),
      DestinationPrefix: route.text("DestinationPrefix"),
      Metric: route.u16("Metric"),
    }),
  );
}

/**
 * The policies of a document. An empty object is no policy: `Policies: [{}]` clears a list (hcn.md §5.3).
 * Types come as names or as numbers of `numbers`; a name is kept as it was written, because only the reader of the
 * policy knows which names exist.
 */
export function readPolicies(
  reader: JsonReader,
  numbers: readonly (string | undefined)[],
): readonly PolicyDocument[] | undefined {
  const policies = reader.list("Policies", (policy) => {
    const type = policy.raw("Type");
    if (type === undefined && policy.raw("Settings") === undefined) return undefined;
    const name = typeof type === "number" ? (numbers[type] ?? String(type)) : policy.text("Type");
    return present<PolicyDocument>({ Type: name ?? "", Settings: policySettings(policy) });
  });
  return policies && Object.freeze(policies.filter((policy) => policy !== undefined));
}

/** Old samples write the fields of a policy beside its type (hcn.md §3): those fields are its settings then. */
function policySettings(policy: JsonReader): JsonObject | undefined {
  const settings = policy.raw("Settings");
  if (settings !== undefined) return policy.object("Settings")?.whole();
  const { Type: _type, ...rest } = policy.whole();
  return Object.keys(rest).length === 0 ? undefined : Object.freeze(rest);
}
