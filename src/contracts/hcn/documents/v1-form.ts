/**
 * The v1 form of described documents (hcn.md §2.12, field map): v1 is flat, with names of its own, a field per address
 * family, texts with commas for lists, and true for bits.
 */
import { assert, defined } from "#core/base/assert.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import {
  type Field,
  type ObjectDescription,
  type ObjectOf,
  type PolicyOwner,
  type ScalarKind,
  type V1FieldPolicy,
  type V1List,
  type V1Name,
  type V1NamePerFamily,
  type V1Of,
  fieldsOf,
  referredObject,
} from "../description/description.ts";
import { type JsonReader, enumerationName, protocolNumber } from "../description/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import type { HnsPolicy } from "../description/description.ts";
import { ObjectReader, type PrintableOf, isDefault } from "../description/object-json.ts";
import { SCALAR_READERS } from "../description/object-json.ts";
import { ZERO_GUID, parseGuid } from "../guid.ts";
import type { PolicyDocument } from "./base-document.ts";

/** How a value stands in a v1 document. */
type V1Kind = Exclude<ScalarKind, "texts"> | "ipv4Length" | "commaList" | "list" | "policies" | "objects";

/** A name in v1 documents, and what stands there. */
interface V1Place {
  /** Where it is inside an object, or in all entries of a list: `Policies[]`. */
  readonly outer: string | undefined;
  readonly name: string;
  readonly kind: V1Kind;
  /** Where the name is known: in requests and answers, in answers and dumps, in dumps. */
  readonly speaker: "client" | "service" | "dump";
  /** Of objects: how one of them is read, with what all of them share. */
  readonly entries?: { read(reader: JsonReader, shared: readonly V1Place[]): unknown };
}

/** Where values of a v1 document come from. */
interface V1Source {
  /** What is not there, or has another type, is undefined. */
  value(place: V1Place): unknown;
  /** Of an object in a list; undefined when it is not one. */
  inside(entry: unknown): V1Source | undefined;
  /** The v2 form of a policy. */
  policy(owner: PolicyOwner, policy: JsonValue): JsonValue;
}

/** What becomes of the parts that the form cannot know by itself. */
interface V1Target {
  put(place: V1Place, value: unknown): void;
  /** The v1 form of a policy. */
  readonly policy: PolicyForm;
  /** The v1 form of an entry of a list, once it is printed. */
  readonly entry: (form: V1Entries, entry: JsonObject, printed: JsonObject) => JsonObject;
}

/** The form of an entry of a list. */
type V1Entries = V1Form<unknown, unknown, unknown>;
type PolicyForm = (owner: PolicyOwner, policy: JsonValue) => JsonValue;

type Fields = Record<string, JsonValue | undefined>;

function asItIs(_owner: PolicyOwner, policy: JsonValue): JsonValue {
  return policy;
}

/** What v1 has of one field. */
interface V1Part {
  readonly places: readonly V1Place[];
  /** The value; undefined when nothing of it is there. */
  fromV1(source: V1Source): unknown;
  toV1(value: unknown, target: V1Target): void;
}

const IPV4_LENGTH_MAX = 32;
const DEFAULT_DESTINATIONS = ["0.0.0.0/0", "::/0"] as const;
const UNSPECIFIED: readonly unknown[] = [undefined, "", "0.0.0.0", "::"];

function isIpv6(text: unknown): boolean {
  return typeof text === "string" && text.includes(":");
}

function placeOf(name: V1Name, kind: V1Kind): V1Place {
  const [path, speaker] =
    typeof name === "string"
      ? ([name, "client"] as const)
      : "answer" in name
        ? ([name.answer, "service"] as const)
        : ([name.dump, "dump"] as const);
  const [outer, inner] = path.split(".");
  const isInside = inner !== undefined;
  return Object.freeze({ outer: isInside ? outer : undefined, name: inner ?? path, kind, speaker });
}

/** A field whose value is one value in v1, too. */
type SingleField = Exclude<Field, { readonly is: "object" | "list" | "flags" }>;

function kindOf(field: SingleField): V1Kind {
  if (field.is === "texts") return field.v1 !== undefined && isList(field.v1) ? "list" : "commaList";
  if (field.is === "numbered") return "u16";
  return field.is === "enumeration" ? "text" : field.is;
}

function isSingle(field: Field): field is SingleField {
  return field.is !== "object" && field.is !== "list" && field.is !== "flags";
}

function isPerFamily(v1: V1Name | V1NamePerFamily | V1List): v1 is V1NamePerFamily {
  return Array.isArray(v1);
}

function isList(v1: V1Name | V1NamePerFamily | V1List): v1 is V1List {
  return typeof v1 === "object" && "list" in v1;
}

function listOf(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** A comma list, or a list of texts; undefined when it is empty. */
function commaList(value: unknown): readonly string[] | undefined {
  const given = typeof value === "string" ? value.split(",") : listOf(value);
  const items = given
    .filter((item) => typeof item === "string")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? undefined : items;
}

/** One field of v2 that is one field of v1. */
function singlePart(place: V1Place, names?: readonly (string | undefined)[]): V1Part {
  const isCommaList = place.kind === "commaList";
  return {
    places: [place],
    fromV1(source) {
      const value = source.value(place);
      if (isCommaList) return commaList(value);
      // v1 writes names in any letter case.
      if (names !== undefined && typeof value === "string" && value !== "")
        return enumerationName(names, value) ?? value;
      return value === "" ? undefined : value;
    },
    toV1(value, target) {
      const texts = listOf(value).filter((item) => typeof item === "string");
      if (!isCommaList) target.put(place, value);
      else if (texts.length > 0) target.put(place, texts.join(","));
    },
  };
}

/** A list of texts that is a list in v1, too. */
function listPart(place: V1Place, prefix = ""): V1Part {
  return {
    places: [place],
    fromV1(source) {
      const items = source.value(place);
      if (!Array.isArray(items)) return undefined;
      return listOf(items).map((item) => {
        if (typeof item !== "string" || prefix === "") return item;
        // Some clients leave out the first slash.
        const bare = item.startsWith("/") ? item : `/${item}`;
        const text = bare.toLowerCase().startsWith(prefix) ? bare.slice(prefix.length) : item;
        return parseGuid(text) ?? text;
      });
    },
    toV1(value, target) {
      if (!Array.isArray(value)) return;
      target.put(
        place,
        listOf(value).map((item) => (typeof item === "string" ? `${prefix}${item}` : item)),
      );
    },
  };
}

function policiesPart(place: V1Place, owner: PolicyOwner): V1Part {
  return {
    places: [place],
    fromV1(source) {
      const policies = listOf(source.value(place)).map((policy) => source.policy(owner, policy));
      return policies.length === 0 ? undefined : policies;
    },
    toV1(value, target) {
      if (Array.isArray(value))
        target.put(
          place,
          listOf(value).map((policy) => target.policy(owner, policy)),
        );
    },
  };
}

/** A list of objects; `type`: each is a policy of that type. */
function entriesPart(name: V1Name, description: ObjectDescription, type?: string): V1Part {
  const form: V1Entries = new V1Form<unknown, unknown, unknown>(description);
  const place: V1Place = Object.freeze({ ...placeOf(name, "objects"), entries: form });
  return {
    places: [place],
    fromV1(source) {
      const entries = listOf(source.value(place)).map((entry) => {
        const inside = source.inside(entry);
        return inside === undefined ? entry : form.valuesIn(inside);
      });
      // A policy that says nothing of a port.
      const kept =
        type === undefined ? entries : entries.filter((each) => Object.keys(each ?? {}).length > 0);
      return kept.length === 0 ? undefined : kept;
    },
    toV1(value, target) {
      if (!Array.isArray(value)) return;
      const entries = listOf(value).map((entry) => {
        if (!isJsonObject(entry)) return entry;
        const printed = form.printWith(entry, target);
        return target.entry(form, entry, type === undefined ? printed : { Type: type, ...printed });
      });
      target.put(place, entries);
    },
  };
}

/** A list of objects of which v1 has one list together. */
function joinedPart(name: string, description: ObjectDescription, beside: JsonObject): V1Part {
  const inner = fieldsOf(description).find(([field]) => field === name)?.[1];
  assert(inner?.is === "list" && typeof inner.v1 === "string", "a list of entries is joined");
  const part = entriesPart(inner.v1, referredObject(inner.of));
  return {
    places: part.places,
    fromV1(source) {
      const entries = part.fromV1(source);
      return entries === undefined ? undefined : [{ ...beside, [name]: entries }];
    },
    toV1(value, target) {
      const lists = listOf(value).map((each) => (isJsonObject(each) ? each[name] : undefined));
      const known = lists.filter((list) => Array.isArray(list));
      if (known.length > 0) part.toV1(known.flat(), target);
    },
  };
}

function flagsPart(bits: Readonly<Record<string, number>>, names: Readonly<Record<string, string>>): V1Part {
  const rows = Object.entries(names).map(([name, bit]) => ({
    place: placeOf(name, "boolean"),
    bit: defined(bits[bit], `there is a bit ${bit}`),
  }));
  // Newer services show the number, too.
  const number = placeOf({ dump: "Flags" }, "flags");
  return {
    places: rows.map(({ place }) => place),
    fromV1(source) {
      let flags = Number(source.value(number) ?? 0);
      for (const { place, bit } of rows) if (source.value(place) === true) flags |= bit;
      return flags === 0 ? undefined : flags;
    },
    toV1(value, target) {
      for (const { place, bit } of rows) {
        const isSet = (Number(value) & bit) !== 0;
        // What all entries share is always said.
        if (isSet || place.outer?.endsWith(SHARED) === true) target.put(place, isSet);
      }
    },
  };
}

/** The fields of an object, which v1 has beside the others. */
function objectPart(description: ObjectDescription): V1Part {
  const parts = partsOf(description);
  return {
    places: parts.flatMap(({ part }) => part.places),
    fromV1(source) {
      const values = valuesFromV1(parts, source, {});
      return Object.keys(values).length === 0 ? undefined : values;
    },
    toV1(value, target) {
      if (!isJsonObject(value as JsonValue)) return;
      const put = (place: V1Place, each: unknown): void => {
        if (!isDefault(each)) target.put(place, each);
      };
      const { policy, entry } = target;
      putValues(parts, value as JsonObject, { put, policy, entry });
    },
  };
}

/** One entry per family, whose fields v1 has beside the others. */
function perFamilyPart(description: ObjectDescription, key: string): V1Part {
  const families = [0, 1].map((family) =>
    fieldsOf(description).flatMap(([name, field]): readonly NamedPart[] => {
      if (!isSingle(field) || field.is === "policies" || field.v1 === undefined) return [];
      if (!isPerFamily(field.v1)) return [];
      const kind = field.is === "prefixLength" && family === 0 ? "ipv4Length" : kindOf(field);
      const v1 = field.v1[family];
      return v1 === undefined ? [] : [{ name, part: singlePart(placeOf(v1, kind)), isOfService: false }];
    }),
  );
  return {
    places: families.flatMap((parts) => parts.flatMap(({ part }) => part.places)),
    fromV1(source) {
      const entries = families
        .map((parts) => valuesFromV1(parts, source, {}))
        .filter((entry) => entry[key] !== undefined);
      return entries.length === 0 ? undefined : entries;
    },
    toV1(value, target) {
      for (const entry of listOf(value))
        if (isJsonObject(entry)) putValues(families[isIpv6(entry[key]) ? 1 : 0] ?? [], entry, target);
    },
  };
}

function defaultRoutesPart(names: readonly string[]): V1Part {
  const places = names.map((name) => placeOf(name, "text"));
  return {
    places,
    fromV1(source) {
      const hops = places
        .map((place) => source.value(place))
        .filter((hop) => typeof hop === "string" && hop !== "");
      if (hops.length === 0) return undefined;
      return hops.map((NextHop) => ({
        NextHop,
        DestinationPrefix: DEFAULT_DESTINATIONS[isIpv6(NextHop) ? 1 : 0],
      }));
    },
    toV1(value, target) {
      for (const { NextHop, DestinationPrefix } of listOf(value).filter(isJsonObject)) {
        const leadsAnywhere = DEFAULT_DESTINATIONS.some((each) => each === DestinationPrefix);
        const place = places[isIpv6(NextHop) ? places.length - 1 : 0];
        if (leadsAnywhere && place !== undefined && !UNSPECIFIED.includes(NextHop))
          target.put(place, NextHop);
      }
    },
  };
}

function listFieldPart(field: Extract<Field, { readonly is: "list" }>): V1Part | undefined {
  const { v1 } = field;
  const of = referredObject(field.of);
  if (v1 === undefined) return undefined;
  if (typeof v1 === "string" || "answer" in v1 || "dump" in v1) return entriesPart(v1, of);
  if ("policies" in v1) return entriesPart(v1.policies, of, v1.type);
  if ("joined" in v1) return joinedPart(v1.joined, of, v1.with);
  return "perFamilyOf" in v1 ? perFamilyPart(of, v1.perFamilyOf) : defaultRoutesPart(v1.defaultRoutes);
}

/** Undefined for a field that v1 does not have. */
function partOf(field: Field): V1Part | undefined {
  if (field.is === "object") return objectPart(referredObject(field.of));
  if (field.is === "list") return listFieldPart(field);
  if (field.v1 === undefined) return undefined;
  if (field.is === "flags")
    return typeof field.v1 === "string"
      ? singlePart(placeOf(field.v1, "flags"))
      : flagsPart(field.bits, field.v1);
  if (field.is === "policies") return policiesPart(placeOf(field.v1, "policies"), field.owner);
  if (isPerFamily(field.v1)) return undefined;
  if (isList(field.v1)) return listPart(placeOf(field.v1.list, "list"), field.v1.prefix);
  return singlePart(placeOf(field.v1, kindOf(field)), field.is === "enumeration" ? field.names : undefined);
}

interface NamedPart {
  readonly name: string;
  readonly part: V1Part;
  readonly isOfService: boolean;
}

const NO_PART: V1Part = Object.freeze({ places: [], fromV1: () => undefined, toV1: () => undefined });

function partsOf(description: ObjectDescription): readonly NamedPart[] {
  return fieldsOf(description).map(([name, field]) => ({
    name,
    part: partOf(field) ?? NO_PART,
    isOfService: field.by === "service",
  }));
}

/** The values of the fields, in their order. Those that are `given` stand in place of those of the source. */
function valuesFromV1(
  parts: readonly NamedPart[],
  source: V1Source,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, part } of parts) {
    const value = Object.hasOwn(given, name) ? given[name] : part.fromV1(source);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function putValues(
  parts: readonly NamedPart[],
  values: Readonly<Record<string, unknown>>,
  target: V1Target,
): void {
  for (const { name, part } of parts) {
    const value = values[name];
    if (value !== undefined) part.toV1(value, target);
  }
}

/** At the end of the name of a list: what stands in all of its entries. */
const SHARED = "[]";

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
class DumpSource implements V1Source {
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

/** The policies of a v1 document, which stay as they are. */
export function readHnsPolicies(reader: JsonReader): readonly HnsPolicy[] | undefined {
  return reader.list("Policies", (policy) =>
    Object.freeze({ ...policy.whole(), Type: policy.text("Type") ?? "" }),
  );
}

/** A comma list, which some clients send as a list. */
export function readCommaList(reader: JsonReader, field: string): string | undefined {
  return reader.texts(field)?.join(",");
}

const V1_READERS: Readonly<Record<V1Kind, (reader: JsonReader, name: string) => unknown>> = {
  ...SCALAR_READERS,
  ipv4Length: (reader, name) => reader.number(name, IPV4_LENGTH_MAX),
  commaList: readCommaList,
  list: (reader, name) => reader.texts(name),
  policies: readHnsPolicies,
  objects: (reader, name) => reader.list(name, (each) => each.whole()),
};

function v1OnlyPlace([name, field]: readonly [
  string,
  NonNullable<ObjectDescription["v1Only"]>[string],
]): V1Place {
  if (field.is !== "list") return placeOf(name, field.is === "texts" ? "list" : field.is);
  return { ...placeOf(name, "objects"), entries: new ObjectReader<object>(referredObject(field.of)) };
}

/** The fields of a v1 document that was read. */
class RequestSource implements V1Source {
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

/** What a form is made of. */
interface FormParts {
  readonly parts: readonly NamedPart[];
  /** Those of them that clients say. */
  readonly requested: readonly NamedPart[];
  /** Those that clients know. */
  readonly places: readonly V1Place[];
}

function formParts(description: ObjectDescription): FormParts {
  const parts = partsOf(description);
  const known = parts.flatMap(({ part }) => part.places).filter(({ speaker }) => speaker === "client");
  return {
    parts,
    requested: parts.filter(({ isOfService }) => !isOfService),
    places: [...known, ...Object.entries(description.v1Only ?? {}).map(v1OnlyPlace)],
  };
}

/** How the policies and the list entries of a document are printed; absent: as they are. */
export type PrintedParts = Partial<Pick<V1Target, "policy" | "entry">>;

/** Puts what stands in all entries of a list there. */
function withShared(printed: Fields, shared: ReadonlyMap<string, JsonObject>): Fields {
  for (const [list, fields] of shared)
    if (Array.isArray(printed[list]))
      printed[list] = listOf(printed[list]).map((each) =>
        isJsonObject(each) ? { ...each, ...fields } : each,
      );
  return printed;
}

/** The v1 form of a described document: `T` in v2, `P` its values to be printed, `V1` in v1. */
export class V1Form<T, P, V1> {
  private readonly description: ObjectDescription;
  /** Made at first use: programs that speak v2 alone never need it. */
  private made: FormParts | undefined;

  constructor(description: ObjectDescription) {
    this.description = description;
  }

  /**
   * The v1 document in a request or an answer; `shared` is what each entry of a list says beside its own fields.
   * @throws HcnError for a field of the wrong type.
   */
  read(reader: JsonReader, shared: readonly V1Place[] = []): V1 {
    const values: Record<string, unknown> = {};
    const { places } = this.form();
    for (const place of [...places, ...shared.map((each) => ({ ...each, outer: undefined }))]) {
      const { outer, name, kind, entries } = place;
      if (outer?.endsWith(SHARED) === true) continue;
      const inside = outer === undefined ? reader : reader.object(outer);
      const ofEntries = places.filter((each) => each.outer === `${name}${SHARED}`);
      const value =
        inside &&
        (entries === undefined
          ? V1_READERS[kind](inside, name)
          : inside.list(name, (each) => entries.read(each, ofEntries)));
      if (outer === undefined) {
        if (value !== undefined) values[name] = value;
      } else if (inside !== undefined) {
        values[outer] = Object.freeze({
          ...(values[outer] as object | undefined),
          ...(value !== undefined && { [name]: value }),
        });
      }
    }
    return Object.freeze(values) as V1;
  }

  /** A request in v2 form. What only the service says is left out; `given` stands in place of what is there. */
  fromRequest(
    document: V1,
    given: { readonly [K in keyof T]?: T[K] | undefined },
    policy: PolicyForm = asItIs,
  ): T {
    const source = new RequestSource(document as Readonly<Record<string, unknown>>, policy);
    const { requested } = this.form();
    return Object.freeze(valuesFromV1(requested, source, given as Readonly<Record<string, unknown>>)) as T;
  }

  /** A dumped document in v2 form, unchecked; `given` stands in place of what is there. */
  fromDump(
    document: JsonObject,
    given: Readonly<Record<string, JsonValue | undefined>>,
    policy: PolicyForm = asItIs,
  ): Record<string, JsonValue> {
    const source = new DumpSource(document, policy);
    return valuesFromV1(this.form().parts, source, given) as Record<string, JsonValue>;
  }

  /** What clients may say of an entry of a list. */
  valuesIn(source: V1Source): JsonObject {
    return valuesFromV1(this.form().requested, source, {}) as Record<string, JsonValue>;
  }

  /** What v1 shows of the values. */
  print(
    values: P,
    { policy = asItIs, entry }: PrintedParts = {},
  ): Readonly<Record<string, JsonValue | undefined>> {
    return this.printWith(values as Readonly<Record<string, unknown>>, {
      put: () => undefined,
      policy,
      entry: entry ?? ((_form, _entry, printed) => printed),
    });
  }

  /** As `print`; `target` says what becomes of policies and entries. */
  printWith(values: Readonly<Record<string, unknown>>, { policy, entry }: V1Target): JsonObject {
    const printed: Fields = {};
    const shared = new Map<string, JsonObject>();
    const put = (place: V1Place, value: unknown): void => {
      if (place.speaker === "dump") return;
      const { outer, name } = place;
      if (outer === undefined) printed[name] = value as JsonValue;
      else if (outer.endsWith(SHARED)) {
        const list = outer.slice(0, -SHARED.length);
        shared.set(list, { ...shared.get(list), [name]: value as JsonValue });
      } else {
        const inside = printed[outer];
        printed[outer] = { ...(isJsonObject(inside) ? inside : {}), [name]: value as JsonValue };
      }
    };
    putValues(this.form().parts, values, { put, policy, entry });
    return withShared(printed, shared);
  }

  private form(): FormParts {
    this.made ??= formParts(this.description);
    return this.made;
  }
}

/** The v1 form of what `description` describes. */
export type V1FormOf<D> = V1Form<ObjectOf<D>, PrintableOf<D>, V1Of<D>>;

export function v1FormOf<const D extends ObjectDescription>(description: D): V1FormOf<D> {
  return new V1Form<ObjectOf<D>, PrintableOf<D>, V1Of<D>>(description);
}

interface FieldPolicy extends V1FieldPolicy {
  readonly field: string;
}

/** The fields of v1 that are policies in v2. */
export function fieldPoliciesOf({ v1Only = {} }: ObjectDescription): readonly FieldPolicy[] {
  return Object.entries(v1Only).flatMap(([field, { is, ...marks }]) =>
    is !== "list" && "policy" in marks && marks.policy !== undefined ? [{ field, ...marks.policy }] : [],
  );
}

/** The policies that the fields of a v1 document are in v2; empty ones are none. */
export function policiesOfFields(
  description: ObjectDescription,
  fields: Readonly<Record<string, unknown>>,
): readonly (PolicyDocument & { readonly Settings: JsonObject })[] {
  return fieldPoliciesOf(description).flatMap(({ field, type, setting }) => {
    const value = fields[field];
    if (isDefault(value) || value === false) return [];
    return [{ Type: type, Settings: { [setting]: value as JsonValue } }];
  });
}

/** The fields of a v1 document that its policies are in v1. */
export function fieldsOfPolicies(
  description: ObjectDescription,
  policies: readonly { readonly Type: string; readonly Settings?: object }[],
): Fields {
  const fields: Fields = {};
  for (const { field, type, setting } of fieldPoliciesOf(description)) {
    const settings = policies.find((policy) => policy.Type === type)?.Settings as JsonObject | undefined;
    if (settings?.[setting] !== undefined) fields[field] = settings[setting];
  }
  return fields;
}
