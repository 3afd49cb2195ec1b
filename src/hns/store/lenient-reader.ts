/**
 * Reads documents that nobody checks: those of a store, of a dump, of a real node. What does not read is noted and left
 * out, and the rest is taken.
 */
import { type Dns, type Route, SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import {
  type ObjectReader,
  readDns,
  readRoutes,
  readSchemaVersion,
} from "#contracts/hcn/description/read-object.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import { JsonReader } from "#contracts/hcn/description/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import type { SchemaVersion } from "#contracts/hcn/description/description.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { type Prefix, maskIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import type { RouteRecord } from "../service/network/network-record.ts";

/** Hears what was left out. */
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
