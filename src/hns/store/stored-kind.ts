/**
 * One kind of object in stored form, as a row of a table: which records there are, how one becomes a document, how a
 * document becomes a record again, and how a record enters the service without being checked.
 *
 * What of a record does not follow from its document is worked out by reading the document again and comparing: a field
 * that a record gets is stored from that moment on, whether its document shows it or not.
 */
import { type JsonObject, type JsonValue, isJsonObject, type Fields, isFields } from "#core/base/json.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import { checkJsonObject } from "#contracts/hcn/description/json.ts";
import type { RecordBase } from "../service/records.ts";
import type { ServiceContext } from "../service/service-context.ts";
import type { ServiceState } from "../service/state.ts";
import { LenientReader, type Report } from "./lenient-reader.ts";
import { type KeptFields, keptOf } from "./kept-fields.ts";
import type { ImportedObject, StoredKind, StoredObject } from "./stored-object.ts";
import { assert } from "#core/base/assert.ts";

/** Records of one kind, in order of creation. */
export interface RecordTable<R> {
  get(id: Guid): R | undefined;
  values(): Iterable<R>;
}

export interface StoredKindParts<R extends RecordBase> {
  readonly kind: StoredKind;
  readonly records: (state: ServiceState) => RecordTable<R>;
  /** The object in v2 form. */
  readonly document: (context: ServiceContext, record: R) => JsonObject;
  /** A record's own fields; absent: the record is a plain object. */
  readonly fieldsOf?: (record: R) => R;
  /**
   * Reads an unchecked document. Changes nothing and draws no chance; what the document does not say gets a
   * neutral value (`""`, 0, undefined).
   */
  readonly read: (context: ServiceContext, reader: LenientReader) => R;
  /** The object in v1 form. */
  readonly documentV1: (context: ServiceContext, record: R) => JsonObject;
  /** Puts a record in the place of the one with the same id. */
  readonly replace: (state: ServiceState, record: R) => void;
  /** Completes a record and enters it, whatever it says. Kinds that stand earlier in the table are there already. */
  readonly enter: (context: ServiceContext, record: R, report: Report, document: JsonObject) => void;
}

/** A row of the table: the type of its records stays inside. */
export interface StoredKindRow {
  readonly kind: StoredKind;
  /** All objects, in order of creation. */
  list(context: ServiceContext): readonly StoredObject[];
  /** One object; undefined when it is gone. */
  store(context: ServiceContext, id: Guid): StoredObject | undefined;
  ids(context: ServiceContext): readonly Guid[];
  /** Makes the object again, whatever it says. @returns its id; undefined when there is one with its id. */
  enter(context: ServiceContext, object: ImportedObject, report: Report): Guid | undefined;
  /** Keeps what the document says beside what is shown of the object: see `RestoreOptions.keepsUnknownFields`. */
  keep(context: ServiceContext, id: Guid, object: ImportedObject): void;
}

/** Moments stand in the stored form as file times, because clocks of other services begin elsewhere. */
const MOMENTS: readonly string[] = ["changedAtMs", "addressedAtMs"];

function ignoreProblem(): void {
  // What a document of our own does not say stands in `internal`.
}

/** The fields of a record, whatever they are called. */
function fieldsIn(record: object): Fields {
  assert(isFields(record), "records are objects");
  return record;
}

function internalOf(context: ServiceContext, record: Fields, read: Fields): JsonObject {
  const internal: Record<string, JsonValue> = {};
  const note = (field: string): void => {
    const value = record[field];
    if (field === "id" || equalValues(value, read[field])) return;
    const isMoment = MOMENTS.includes(field) && typeof value === "number";
    internal[field] = isMoment ? context.epochTime(value) : encodeValue(value);
  };
  for (const field of Object.keys(record)) note(field);
  for (const field of Object.keys(read)) if (record[field] === undefined) note(field);
  return internal;
}

function decodeInternal(context: ServiceContext, internal: JsonObject): Fields {
  const fields: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(internal)) {
    const isMoment = MOMENTS.includes(field) && typeof value === "number";
    fields[field] = isMoment ? context.sinceEpoch(value) : decodeValue(value);
  }
  return fields;
}

/** The fields of `base` with those of `given` that have the same type: a file may hold anything. */
function overlay<R extends object>(base: R, given: Fields, report: Report): R {
  const merged: Record<string, unknown> = { ...fieldsIn(base) };
  for (const [field, value] of Object.entries(given)) {
    const known = merged[field];
    const isSameType =
      known === undefined ||
      value === undefined ||
      (typeof known === typeof value && Array.isArray(known) === Array.isArray(value));
    if (isSameType) merged[field] = value;
    else report(`internal.${field} has another type than the service's; left out`);
  }
  return merged as R;
}

export function storedKind<R extends RecordBase>(parts: StoredKindParts<R>): StoredKindRow {
  /** A file may hold anything: what makes no object that can be shown is left out as a whole. */
  const withInternal = (
    context: ServiceContext,
    read: R,
    internal: JsonObject | undefined,
    report: Report,
  ): R => {
    if (!isJsonObject(internal) || Object.keys(internal).length === 0) return read;
    const record = overlay(read, decodeInternal(context, internal), report);
    try {
      checkJsonObject(parts.document(context, record));
      checkJsonObject(parts.documentV1(context, record));
      return record;
    } catch (error) {
      report(`The field internal does not fit the object (${String(error)}); left out`);
      return read;
    }
  };
  const fieldsOf = parts.fieldsOf ?? ((record: R): R => record);
  const keep = (context: ServiceContext, id: Guid, object: ImportedObject): void => {
    const record = parts.records(context.state).get(id);
    if (record === undefined) return;
    const { kept: _before, ...bare } = fieldsOf(record);
    // The id of an object is what it is asked by.
    const hasId = parseGuid(typeof object.document["ID"] === "string" ? object.document["ID"] : "") === id;
    const given = hasId ? object.document : { ...object.document, ID: id };
    const fromV2 = keptOf(given, parts.document(context, bare as R));
    const fromV1 = object.v1 && keptOf(object.v1, parts.documentV1(context, bare as R));
    if (fromV2 === undefined && fromV1 === undefined) return;
    const kept: KeptFields = Object.freeze({
      ...record.kept,
      ...(fromV1 !== undefined && { v1: checkJsonObject(fromV1) }),
      ...(fromV2 !== undefined && { v2: checkJsonObject(fromV2) }),
    });
    parts.replace(context.state, Object.freeze({ ...fieldsOf(record), kept }));
  };
  const store = (context: ServiceContext, record: R): StoredObject => {
    const document = checkJsonObject(parts.document(context, record));
    const read = parts.read(context, new LenientReader(document, ignoreProblem));
    const internal = internalOf(context, fieldsIn(fieldsOf(record)), fieldsIn(read));
    return { kind: parts.kind, id: record.id, document, internal };
  };
  return {
    kind: parts.kind,
    list: (context) => Array.from(parts.records(context.state).values(), (each) => store(context, each)),
    store: (context, id) => {
      const record = parts.records(context.state).get(id);
      return record && store(context, record);
    },
    keep,
    ids: (context) => Array.from(parts.records(context.state).values(), (record) => record.id),
    enter: (context, object, report) => {
      const { document, internal } = object;
      const read = parts.read(context, new LenientReader(document, report));
      const record = withInternal(context, read, internal, report);
      const id = parseGuid(object.id) ?? parseGuid(record.id) ?? context.prng.guid();
      if (parts.records(context.state).get(id) !== undefined) {
        report("There are two objects with this id; the first one stays");
        return undefined;
      }
      const activityId = record.activityId === "" ? context.prng.guid() : record.activityId;
      parts.enter(context, { ...record, id, activityId }, report, document);
      return id;
    },
  };
}

// Values of records as JSON and back without loss, whatever the record holds: what JSON has no word for gets an object
// of one field with a `$` in front. Records are frozen plain data, so there is nothing else in them.

/** A whole number of any size: IPv6 addresses. */
const BIG = "$bigint";
/** Undefined, where something else would be expected. */
const NONE = "$none";
/** An object whose only field looks like one of these. */
const PLAIN = "$object";

const ABSENT: JsonValue = Object.freeze({ [NONE]: true });

function looksTagged(keys: readonly string[]): boolean {
  return keys.length === 1 && (keys[0] ?? "").startsWith("$");
}

function encodeValue(value: unknown): JsonValue {
  if (value === undefined) return ABSENT;
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    assert(Number.isFinite(value), "records hold finite numbers");
    return value;
  }
  if (typeof value === "bigint") return { [BIG]: String(value) };
  if (Array.isArray(value)) return value.map(encodeValue);
  assert(isFields(value), "records hold plain data");
  const encoded: Record<string, JsonValue> = {};
  for (const [field, each] of Object.entries(value))
    if (each !== undefined) encoded[field] = encodeValue(each);
  return looksTagged(Object.keys(encoded)) ? { [PLAIN]: encoded } : encoded;
}

function decodeFields(value: Fields): unknown {
  const decoded: Record<string, unknown> = {};
  for (const [field, each] of Object.entries(value)) decoded[field] = decodeValue(each as JsonValue);
  return Object.freeze(decoded);
}

/** The value that was encoded, frozen. */
function decodeValue(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map((each) => decodeValue(each as JsonValue)));
  if (!isFields(value)) return value;
  const keys = Object.keys(value);
  if (!looksTagged(keys)) return decodeFields(value);
  if (value[NONE] === true) return undefined;
  const [big, plain] = [value[BIG], value[PLAIN]];
  if (typeof big === "string" && /^-?\d{1,60}$/.test(big)) return BigInt(big);
  return isFields(plain) ? decodeFields(plain) : decodeFields(value);
}

/** True when both hold the same; a field that is undefined counts as absent, and order does not matter. */
export function equalValues(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalValues(item, b[index]));
  }
  if (!isFields(a) || !isFields(b)) return false;
  return (
    Object.keys(a).every((field) => equalValues(a[field], b[field])) &&
    Object.keys(b).every((field) => a[field] !== undefined || b[field] === undefined)
  );
}
