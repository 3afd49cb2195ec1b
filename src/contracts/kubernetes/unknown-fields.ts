/**
 * Fields of an object that its kind does not have. An API server drops them, or refuses the object where the client asks for
 * that, as kubectl does (Kubernetes documentation: API concepts, "Field validation"). Names are exact, letter case included.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import { type MessageField, Messages } from "./messages.ts";
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

/** Of one object; what is wrong with more fields than that is of another kind. */
const FOUND_MAX = 32;

/** Messages that are one value in JSON, or hold what nobody describes. */
const OPAQUE: ReadonlySet<string> = new Set([
  "meta/v1.Time",
  "meta/v1.MicroTime",
  "meta/v1.FieldsV1",
  "intstr.IntOrString",
  "resource.Quantity",
  "runtime.RawExtension",
]);

/** Fields that no message has, because every object does. */
const OF_EVERY_OBJECT: readonly string[] = ["apiVersion", "kind"];

/** A mapping of the object, and what its fields may be. */
interface Place {
  readonly path: FieldPath | undefined;
  readonly fields: ReadonlyMap<string, MessageField>;
  readonly outer: Place | undefined;
}

export class UnknownFields {
  private readonly messages = new Messages();
  private readonly known = new Map<string, ReadonlyMap<string, MessageField>>();

  /** The fields of an object that its kind, in its version, does not have; none for a kind without a description. */
  find(object: Fields): readonly UnknownField[] {
    const { apiVersion, kind } = object;
    const message = `${String(apiVersion)}.${String(kind)}`;
    if (!this.messages.has(message)) return [];
    const found: UnknownField[] = [];
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

  private walk(value: Fields, place: Place, found: UnknownField[]): void {
    for (const [name, item] of Object.entries(value)) {
      if (found.length >= FOUND_MAX) return;
      const field = place.fields.get(name);
      if (field !== undefined) this.descend(item, field, place, found);
      else if (item !== null && !isPassedBy(name, place)) found.push(unknown(name, place));
    }
  }

  private descend(
    value: unknown,
    { name, type, form }: MessageField,
    outer: Place,
    found: UnknownField[],
  ): void {
    if (OPAQUE.has(type) || !this.messages.has(type)) return;
    const path = below(outer.path, name);
    const items: readonly (readonly [FieldPath, unknown])[] =
      form === "single"
        ? [[path, value]]
        : Array.isArray(value) || isFields(value)
          ? Object.entries(value).map(([key, item]) => [
              below(path, Array.isArray(value) ? Number(key) : key),
              item as unknown,
            ])
          : [];
    const fields = this.fieldsOf(type);
    for (const [at, item] of items) if (isFields(item)) this.walk(item, { path: at, fields, outer }, found);
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
