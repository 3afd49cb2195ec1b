/** Where the values of a v1 document come from: a dump that nobody has checked, or a document that was read. */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { protocolNumber } from "../description/json.ts";
import { ZERO_GUID, parseGuid } from "../guid.ts";
import {
  type PolicyForm,
  SHARED,
  type V1Kind,
  type V1Place,
  type V1Source,
  commaList,
  listOf,
} from "./place.ts";

function textIn(value: JsonValue): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberIn(value: JsonValue): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function listIn(value: JsonValue): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? listOf(value) : undefined;
}

function objectIn(value: JsonValue): JsonObject | undefined {
  return isJsonObject(value) && Object.keys(value).length > 0 ? value : undefined;
}

/** What a dump says, by the kind that is expected. */
const DUMPED: Readonly<Record<V1Kind, (value: JsonValue) => unknown>> = {
  text: textIn,
  address: textIn,
  prefix: textIn,
  guid(value) {
    const id = typeof value === "string" ? parseGuid(value) : undefined;
    return id === ZERO_GUID ? undefined : id;
  },
  boolean: (value) => (value === true ? true : undefined),
  u16: numberIn,
  u32: numberIn,
  protocol: (value) =>
    typeof value === "string" ? (protocolNumber(value) ?? textIn(value)) : numberIn(value),
  flags: numberIn,
  prefixLength: numberIn,
  ipv4Length: numberIn,
  serviceVersion: numberIn,
  schemaVersion: objectIn,
  json: objectIn,
  jsonObject: objectIn,
  commaList,
  list: listIn,
  policies: listIn,
  objects: listIn,
};

/** The fields of a v1 document that nobody has checked: what has another type than expected counts as absent. */
export class DumpSource implements V1Source {
  private readonly document: JsonObject;
  readonly policy: PolicyForm;

  constructor(document: JsonObject, policy: PolicyForm) {
    this.document = document;
    this.policy = policy;
  }

  inside(entry: unknown): V1Source | undefined {
    return isJsonObject(entry as JsonValue) ? new DumpSource(entry as JsonObject, this.policy) : undefined;
  }

  value({ outer, name, kind }: V1Place): unknown {
    const value = this.surroundings(outer)[name];
    return value === undefined || value === null ? undefined : DUMPED[kind](value);
  }

  private surroundings(outer: string | undefined): JsonObject {
    if (outer === undefined) return this.document;
    const value = outer.endsWith(SHARED)
      ? listOf(this.document[outer.slice(0, -SHARED.length)]).find(isJsonObject)
      : this.document[outer];
    return isJsonObject(value) ? value : {};
  }
}

/** The fields of a v1 document that was read. */
export class RequestSource implements V1Source {
  private readonly fields: Readonly<Record<string, unknown>>;
  readonly policy: PolicyForm;

  constructor(fields: Readonly<Record<string, unknown>>, policy: PolicyForm) {
    this.fields = fields;
    this.policy = policy;
  }

  inside(entry: unknown): V1Source {
    return new RequestSource(entry as Readonly<Record<string, unknown>>, this.policy);
  }

  value({ outer, name, speaker }: V1Place): unknown {
    if (speaker !== "client") return undefined;
    if (outer === undefined) return this.fields[name];
    const inside = outer.endsWith(SHARED)
      ? listOf(this.fields[outer.slice(0, -SHARED.length)])[0]
      : this.fields[outer];
    return (inside as Readonly<Record<string, unknown>> | undefined)?.[name];
  }
}
