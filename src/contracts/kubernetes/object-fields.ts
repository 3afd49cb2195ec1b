/**
 * The fields of an object against those that its kind has. What the kind does not have an API server drops, or refuses where
 * the client asks for that, as kubectl does (Kubernetes documentation: API concepts, "Field validation"); names are exact,
 * letter case included. A value of another type it always refuses: it cannot be decoded.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import { type MessageField, Messages } from "./messages.ts";
import { parseQuantity } from "./quantity.ts";
import { type FieldPath, below, formatPath } from "./text/field-path.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** A field that is not one. */
export interface UnknownField {
  readonly path: FieldPath;
  readonly message: string;
  /** Where the field, or the one that is meant, stands; undefined: no idea. */
  readonly meant: string | undefined;
}

/** A value that cannot be what its field holds. */
export interface WrongType {
  readonly path: FieldPath;
  readonly value: unknown;
  /** What it should be, as in "must be text". */
  readonly wanted: string;
}

/** An item of a list that is null, which an API server reads as the empty value of its type. */
interface NullItem {
  readonly list: unknown[];
  readonly index: number;
  readonly meant: unknown;
}

/** What is wrong with the fields of one object. */
export interface FieldFindings {
  readonly unknown: readonly UnknownField[];
  readonly wrong: readonly WrongType[];
  readonly nulls: readonly NullItem[];
}

/** Puts into the object's own lists what their null items stand for. */
export function fillNulls({ nulls }: FieldFindings): void {
  for (const { list, index, meant } of nulls) list[index] = meant;
}

/** Of one object; what is wrong with more fields than that is of another kind. */
const FOUND_MAX = 32;

/** What a value in JSON is that has no fields of its own. */
interface Scalar {
  readonly wanted: string;
  /** What null stands for in a list. */
  readonly empty?: unknown;
  takes(value: unknown): boolean;
}

const TEXT: Scalar = { wanted: "text", empty: "", takes: (value) => typeof value === "string" };

const TIME: Scalar = {
  wanted: "a time, such as 2026-01-31T12:00:00Z",
  takes: (value) =>
    typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(value),
};

function integer(bits: 32 | 64): Scalar {
  const max = 2 ** (bits - 1);
  const takes = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= -max && Number(value) < max;
  return { wanted: "a whole number", empty: 0, takes };
}

/** Scalars, and messages that are one value in JSON, or hold what nobody describes. */
const SCALARS: Readonly<Record<string, Scalar>> = Object.freeze({
  string: TEXT,
  bytes: TEXT,
  bool: { wanted: "true or false", takes: (value) => typeof value === "boolean" },
  int32: integer(32),
  int64: integer(64),
  "meta/v1.Time": TIME,
  "meta/v1.MicroTime": TIME,
  "meta/v1.FieldsV1": { wanted: "a mapping", takes: isFields },
  "intstr.IntOrString": {
    wanted: "a whole number or text",
    takes: (value) => typeof value === "string" || integer(32).takes(value),
  },
  "resource.Quantity": {
    wanted: "a quantity, such as 500m or 1Gi",
    takes: (value) => parseQuantity(value) !== undefined,
  },
  "runtime.RawExtension": { wanted: "a mapping", takes: () => true },
});

/** Fields that no message has, because every object does. */
const OF_EVERY_OBJECT: readonly string[] = ["apiVersion", "kind"];

interface Found {
  readonly unknown: UnknownField[];
  readonly wrong: WrongType[];
  readonly nulls: NullItem[];
}

/** A mapping of the object, and what its fields may be. */
interface Place {
  readonly path: FieldPath | undefined;
  readonly fields: ReadonlyMap<string, MessageField>;
  readonly outer: Place | undefined;
}

export class ObjectFields {
  private readonly messages = new Messages();
  private readonly known = new Map<string, ReadonlyMap<string, MessageField>>();

  /** What is wrong with an object, in its version; nothing with one of a kind without a description. */
  find(object: Fields): FieldFindings {
    const { apiVersion, kind } = object;
    const message = `${String(apiVersion)}.${String(kind)}`;
    const found: Found = { unknown: [], wrong: [], nulls: [] };
    if (this.messages.has(message))
      this.walk(object, { path: undefined, fields: this.fieldsOf(message), outer: undefined }, found);
    return found;
  }

  /** Those of a message by name, with those that stand in it in JSON. */
  private fieldsOf(message: string): ReadonlyMap<string, MessageField> {
    const known = this.known.get(message);
    if (known !== undefined) return known;
    const fields = this.messages
      .fieldsOf(message)
      .flatMap((field) => (field.form === "inline" ? [...this.fieldsOf(field.type).values()] : [field]));
    const byName = new Map(fields.map((field) => [field.name, field]));
    this.known.set(message, byName);
    return byName;
  }

  private walk(value: Fields, place: Place, found: Found): void {
    for (const [name, item] of Object.entries(value)) {
      if (found.unknown.length + found.wrong.length >= FOUND_MAX) return;
      const field = place.fields.get(name);
      if (item === null) continue;
      if (field !== undefined) this.descend(item, field, place, found);
      else if (!isPassedBy(name, place)) found.unknown.push(unknown(name, place));
    }
  }

  private descend(value: unknown, { name, type, form }: MessageField, outer: Place, found: Found): void {
    const path = below(outer.path, name);
    if (form === "single") this.look(value, type, path, outer, found);
    else if (form === "list") {
      if (!Array.isArray(value)) found.wrong.push({ path, value, wanted: "a list" });
      else
        for (const [index, item] of value.entries())
          if (item !== null) this.look(item, type, below(path, index), outer, found);
          else if (SCALARS[type] !== undefined || this.messages.has(type))
            found.nulls.push({
              list: value,
              index,
              meant: SCALARS[type] === undefined ? {} : SCALARS[type].empty,
            });
    } else if (!isFields(value)) found.wrong.push({ path, value, wanted: "a mapping" });
    else
      for (const [key, item] of Object.entries(value)) this.look(item, type, below(path, key), outer, found);
  }

  /** At one value. Null stands for what the type is without one. */
  private look(value: unknown, type: string, path: FieldPath, outer: Place, found: Found): void {
    if (value === null || value === undefined) return;
    const scalar = SCALARS[type];
    if (scalar !== undefined) {
      if (!scalar.takes(value)) found.wrong.push({ path, value, wanted: scalar.wanted });
    } else if (!this.messages.has(type)) return;
    else if (!isFields(value)) found.wrong.push({ path, value, wanted: "a mapping" });
    else this.walk(value, { path, fields: this.fieldsOf(type), outer }, found);
  }
}

/** What stands in every object, and the directives of a strategic merge patch: `$patch`. */
function isPassedBy(name: string, { path }: Place): boolean {
  return name.startsWith("$") || (path === undefined && OF_EVERY_OBJECT.includes(name));
}

/** True for an object that an API server has shown: it has no field that this server does not know. */
export function isOfServer(object: Fields): boolean {
  const { metadata } = object;
  return isFields(metadata) && (metadata["uid"] !== undefined || metadata["resourceVersion"] !== undefined);
}

function unknown(name: string, place: Place): UnknownField {
  const path = below(place.path, name);
  return { path, message: `unknown field ${JSON.stringify(name)}`, meant: meantBy(name, place) };
}

/** A field of this place that is spelled nearly so, or the same name further out. */
function meantBy(name: string, place: Place): string | undefined {
  const names = [...place.fields.keys()];
  const lower = name.toLowerCase();
  const same = names.find((each) => each.toLowerCase() === lower);
  if (same !== undefined) return formatPath(below(place.path, same));
  for (let { outer } = place; outer !== undefined; outer = outer.outer)
    if (outer.fields.has(name)) return formatPath(below(outer.path, name));
  const [near] = nearestNames(name, names, 1);
  return near === undefined ? undefined : formatPath(below(place.path, near));
}

/** What to do about it. */
export function adviceUnknownField(meant: string | undefined): string {
  return meant === undefined ? WORDS.adviceUnknownField : WORDS.adviceUnknownFieldMeant({ meant });
}
