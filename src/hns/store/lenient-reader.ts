/**
 * Reads unchecked documents: those of a store, of a dump, of a real node. What does not read is noted and left
 * out, and the rest is taken.
 */
import {
  type Dns,
  type Route,
  SCHEMA_V2_0,
  type PolicyDocument,
} from "#contracts/hcn/documents/base-document.ts";
import {
  type ObjectReader,
  readDns,
  readRoutes,
  readSchemaVersion,
  BASE_READER,
  readPolicies,
} from "#contracts/hcn/description/object-json.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { type Prefix, maskIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import type { RouteRecord, RecordBase } from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";

/** Takes what was left out. */
export type Report = (text: string) => void;

const NO_FIELDS: JsonObject = Object.freeze({});

/** A network prefix; bits behind its length are cut off. */
export function readPrefix(text: string | undefined): Prefix | undefined {
  const address = parseInterfaceAddress(text ?? "");
  return address && Object.freeze({ address: maskIp(address.ip, address.length), length: address.length });
}

export class LenientReader {
  readonly document: JsonObject;
  private readonly reader: JsonReader;
  private readonly report: Report;

  constructor(document: JsonObject, report: Report) {
    this.document = document;
    this.reader = new JsonReader(document, "", "HCN_E_INVALID_JSON");
    this.report = report;
  }

  /** What `read` gives; undefined, and a note, when it refuses. */
  attempt<T>(read: (reader: JsonReader) => T): T | undefined {
    try {
      return read(this.reader);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      this.report(`${error.message}; left out`);
      return undefined;
    }
  }

  /** A described field. */
  field<T extends object, K extends keyof T & string>(of: ObjectReader<T>, name: K): T[K] | undefined {
    return this.attempt((reader) => of.readStored(reader, name));
  }

  text(field: string): string {
    return this.attempt((reader) => reader.text(field)) ?? "";
  }

  number(field: string): number {
    return this.attempt((reader) => reader.number(field)) ?? 0;
  }

  guid(field: string): Guid | undefined {
    return this.attempt((reader) => reader.guid(field));
  }

  texts(field: string): readonly string[] {
    return this.attempt((reader) => reader.texts(field)) ?? Object.freeze([]);
  }

  schemaVersion(): SchemaVersion {
    const version = this.attempt(readSchemaVersion);
    if (version === undefined || version.Major < 2) return SCHEMA_V2_0;
    return version.Major === SCHEMA_V2_0.Major && version.Minor === SCHEMA_V2_0.Minor ? SCHEMA_V2_0 : version;
  }

  dns(): Dns | undefined {
    return this.attempt(readDns);
  }

  routes(): readonly RouteRecord[] {
    const routes = this.attempt(readRoutes) ?? [];
    return Object.freeze(routes.map((route) => this.route(route)).filter((each) => each !== undefined));
  }

  /** The entries of a list that are objects. */
  objects(field: string): readonly JsonObject[] {
    const value = this.document[field];
    return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
  }

  /** The value at a path of fields. */
  at(...path: readonly string[]): JsonValue | undefined {
    let value: JsonValue | undefined = this.document;
    for (const field of path) value = isJsonObject(value) ? value[field] : undefined;
    return value;
  }

  guidAt(...path: readonly string[]): Guid | undefined {
    const value = this.at(...path);
    return typeof value === "string" ? parseGuid(value) : undefined;
  }

  /** A reader of an object inside the document. */
  inside(value: JsonValue | undefined): LenientReader {
    return new LenientReader(isJsonObject(value) ? value : NO_FIELDS, this.report);
  }

  note(text: string): void {
    this.report(text);
  }

  private route(route: Route): RouteRecord | undefined {
    const destination = readPrefix(route.DestinationPrefix);
    const nextHop = parseIp(route.NextHop ?? "");
    if (destination === undefined || nextHop === undefined) {
      this.report(`The route ${JSON.stringify(route)} does not read; left out`);
      return undefined;
    }
    const isUnspecified = typeof nextHop === "number" ? nextHop === 0 : nextHop === 0n;
    return Object.freeze({
      destination,
      nextHop: isUnspecified ? undefined : nextHop,
      metric: route.Metric,
    });
  }
}

// What all records have, as it stands in a stored document.

/** The time of the last change, which v1 and v2 documents have in different places. */
function changedAt(context: ServiceContext, reader: LenientReader): number {
  const time: JsonValue | undefined =
    reader.at("Health", "Data", "LastUpdateTime") ?? reader.at("Health", "LastUpdateTime");
  return typeof time === "number" && time > 0 ? context.clockTime(time) : 0;
}

export function readBaseFields(context: ServiceContext, reader: LenientReader): RecordBase {
  return {
    id: reader.field(BASE_READER, "ID") ?? "",
    owner: reader.field(BASE_READER, "Owner") ?? "",
    name: reader.field(BASE_READER, "Name") ?? "",
    additionalParams: reader.field(BASE_READER, "AdditionalParams"),
    schemaVersion: reader.schemaVersion(),
    version: reader.field(BASE_READER, "Version") ?? 0,
    changedAtMs: changedAt(context, reader),
    activityId: reader.guidAt("Health", "Extra", "Resources", "ID") ?? reader.guid("ActivityId") ?? "",
  };
}

// Policies of stored documents: those that read become values, with the fields that are unknown here.

interface Policy {
  readonly Type: string;
  readonly Settings: object;
}

/** Settings as they were written, with the checked values in place of the given ones. */
function withUnknownFields<P extends Policy>(policy: P, document: PolicyDocument): P {
  const given = document.Settings ?? {};
  const isComplete = Object.keys(given).every((field) => field in policy.Settings);
  if (isComplete) return policy;
  return Object.freeze({ ...policy, Settings: Object.freeze({ ...given, ...policy.Settings }) });
}

/** The policies that `parse` takes; the others are noted and left out. */
export function readPolicyRecords<P extends Policy>(
  reader: LenientReader,
  types: readonly (string | undefined)[],
  parse: (document: PolicyDocument, where: string) => P,
): readonly P[] {
  const documents = reader.attempt((strict) => readPolicies(strict, types)) ?? [];
  const records: P[] = [];
  for (const [index, document] of documents.entries()) {
    const policy = reader.attempt(() => parse(document, `Policies[${index}]`));
    if (policy !== undefined) records.push(withUnknownFields(policy, document));
  }
  return Object.freeze(records);
}
