/**
 * One kind of object in stored form, as a row of a table: which records there are, how one becomes a document, how a
 * document becomes a record again, and how a record enters the service without being checked.
 *
 * What of a record does not follow from its document is worked out by reading the document again and comparing: a field
 * that somebody adds to a record is stored from that moment on, whether its document shows it or not.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { checkJsonObject } from "#contracts/hcn/description/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import type { RecordBase } from "../service/network/network-record.ts";
import type { ServiceContext } from "../service/service-context.ts";
import type { ServiceState } from "../service/state.ts";
import { LenientReader, type Report } from "./lenient-reader.ts";
import { type KeptFields, keptOf } from "./kept-fields.ts";
import type { ImportedObject, StoredKind, StoredObject } from "./stored-object.ts";
import { decodeValue, encodeValue, equalValues } from "./value-codec.ts";

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
   * Reads a document that nobody checked. Changes nothing and draws no chance; what the document does not say gets a
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
  /** Makes the object again, whatever it says. `keepsUnknownFields`: see `RestoreOptions`. */
  enter(context: ServiceContext, object: ImportedObject, keepsUnknownFields: boolean, report: Report): void;
}

/** Moments stand in the stored form as file times, because clocks of other services begin elsewhere. */
const MOMENTS: readonly string[] = ["changedAtMs", "addressedAtMs"];

function ignoreProblem(): void {
  // What a document of our own does not say stands in `internal`.
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a record, whatever they are called. */
function fieldsIn(record: object): Fields {
  return { ...record };
}

function internalOf(context: ServiceContext, record: Fields, read: Fields): JsonObject {
  const internal: Record<string, JsonValue> = {};
  for (const field of new Set([...Object.keys(record), ...Object.keys(read)])) {
    const value = record[field];
    if (field === "id" || equalValues(value, read[field])) continue;
    const isMoment = MOMENTS.includes(field) && typeof value === "number";
    internal[field] = isMoment ? context.epochTime(value) : encodeValue(value);
  }
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
    const fromV2 = keptOf(object.document, parts.document(context, record));
    const fromV1 = object.v1 && keptOf(object.v1, parts.documentV1(context, record));
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
    ids: (context) => Array.from(parts.records(context.state).values(), (record) => record.id),
    enter: (context, object, keepsUnknownFields, report) => {
      const { document, internal } = object;
      const read = parts.read(context, new LenientReader(document, report));
      const record = withInternal(context, read, internal, report);
      const id = parseGuid(object.id) ?? parseGuid(record.id) ?? context.prng.guid();
      if (parts.records(context.state).get(id) !== undefined) {
        report("There are two objects with this id; the first one stays");
        return;
      }
      const activityId = record.activityId === "" ? context.prng.guid() : record.activityId;
      parts.enter(context, { ...record, id, activityId }, report, document);
      if (keepsUnknownFields) keep(context, id, object);
    },
  };
}
