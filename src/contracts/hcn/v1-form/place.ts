/**
 * The v1 form of described documents (hcn.md §2.12, field map): v1 is flat, with names of its own, a field per address
 * family, texts with commas for lists, and true for bits. Here: where a value stands in v1, where values come from, and
 * what one field of v2 is there.
 */
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import type {
  Field,
  ObjectDescription,
  PolicyOwner,
  ScalarKind,
  V1List,
  V1Name,
  V1NamePerFamily,
} from "../description/description.ts";
import type { JsonReader } from "../description/json.ts";

/** At the end of the name of a list: what stands in all of its entries. */
export const SHARED = "[]";

/** How a value stands in a v1 document. */
export type V1Kind =
  | Exclude<ScalarKind, "texts">
  | "ipv4Length"
  | "commaList"
  | "list"
  | "policies"
  | "objects";

/** A name in v1 documents, and what stands there. */
export interface V1Place {
  /** Where it is inside an object, or in all entries of a list: `Policies[]`. */
  readonly outer: string | undefined;
  readonly name: string;
  readonly kind: V1Kind;
  /** Where the name is known: in requests and answers, in answers and dumps, in dumps. */
  readonly speaker: "client" | "service" | "dump";
  /** Of objects: how one of them is read, with what all of them share. */
  readonly entries?: { read(reader: JsonReader, shared: readonly V1Place[]): unknown };
  /** What stands there for none. */
  readonly none?: JsonValue;
}

/** Where values of a v1 document come from. */
export interface V1Source {
  /** What is not there, or has another type, is undefined. */
  value(place: V1Place): unknown;
  /** Of an object in a list; undefined when it is not one. */
  inside(entry: unknown): V1Source | undefined;
  /** The v2 form of a policy. */
  policy(owner: PolicyOwner, policy: JsonValue): JsonValue;
}

/** What becomes of the parts that the form cannot know by itself. */
export interface V1Target {
  put(place: V1Place, value: unknown): void;
  /** The v1 form of a policy. */
  readonly policy: PolicyForm;
  /** The v1 form of an entry of a list, once it is printed. */
  readonly entry: (form: V1Entries, entry: JsonObject, printed: JsonObject) => JsonObject;
}

/** The form of an entry of a list. */
export interface V1Entries {
  read(reader: JsonReader, shared?: readonly V1Place[]): unknown;
  fromDump(
    document: JsonObject,
    given: Readonly<Record<string, JsonValue | undefined>>,
    policy?: PolicyForm,
  ): Record<string, JsonValue>;
  valuesIn(source: V1Source): JsonObject;
  printWith(values: Readonly<Record<string, unknown>>, target: V1Target): JsonObject;
}

/** Makes the form of a described object. */
export type FormMaker = (description: ObjectDescription) => V1Entries;

export type PolicyForm = (owner: PolicyOwner, policy: JsonValue) => JsonValue;

export type Fields = Record<string, JsonValue | undefined>;

export function asItIs(_owner: PolicyOwner, policy: JsonValue): JsonValue {
  return policy;
}

/** What v1 has of one field. */
export interface V1Part {
  readonly places: readonly V1Place[];
  /** The value; undefined when nothing of it is there. */
  fromV1(source: V1Source): unknown;
  toV1(value: unknown, target: V1Target): void;
}

export function placeOf(name: V1Name, kind: V1Kind): V1Place {
  const [path, speaker] =
    typeof name === "string"
      ? ([name, "client"] as const)
      : "answer" in name
        ? ([name.answer, "service"] as const)
        : ([name.dump, "dump"] as const);
  const [outer, inner] = path.split(".");
  const isInside = inner !== undefined;
  const none = typeof name === "object" && "none" in name ? { none: name.none } : {};
  return Object.freeze({ outer: isInside ? outer : undefined, name: inner ?? path, kind, speaker, ...none });
}

/** A field whose value is one value in v1, too. */
export type SingleField = Exclude<Field, { readonly is: "object" | "list" | "flags" }>;

export function kindOf(field: SingleField): V1Kind {
  if (field.is === "texts") return field.v1 !== undefined && isList(field.v1) ? "list" : "commaList";
  if (field.is === "numbered") return "u16";
  return field.is === "enumeration" ? "text" : field.is;
}

export function isSingle(field: Field): field is SingleField {
  return field.is !== "object" && field.is !== "list" && field.is !== "flags";
}

export function isPerFamily(v1: V1Name | V1NamePerFamily | V1List): v1 is V1NamePerFamily {
  return Array.isArray(v1);
}

export function isList(v1: V1Name | V1NamePerFamily | V1List): v1 is V1List {
  return typeof v1 === "object" && "list" in v1;
}

export function listOf(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** A comma list, or a list of texts; undefined when it is empty. */
export function commaList(value: unknown): readonly string[] | undefined {
  const given = typeof value === "string" ? value.split(",") : listOf(value);
  const items = given
    .filter((item) => typeof item === "string")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? undefined : items;
}
