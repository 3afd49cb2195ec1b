/** The two forms of a described document: reads v1, makes v2 of it, and prints v2 as v1. */
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import {
  type HnsPolicy,
  type ObjectDescription,
  type ObjectOf,
  type V1Of,
  type V1FieldPolicy,
  referredObject,
} from "../description/description.ts";
import { type JsonReader, protocolNumber } from "../description/json.ts";
import { type PrintableOf, ObjectReader, SCALAR_READERS, isDefault } from "../description/object-json.ts";
import { type NamedPart, partsOf, putValues, valuesFromV1 } from "./object-parts.ts";
import {
  type Fields,
  type PolicyForm,
  type V1Entries,
  type V1Kind,
  type V1Place,
  type V1Source,
  type V1Target,
  SHARED,
  asItIs,
  listOf,
  placeOf,
  commaList,
} from "./place.ts";
import { ZERO_GUID, parseGuid } from "../guid.ts";
import type { PolicyDocument } from "../documents/base-document.ts";

// Where the values of a v1 document come from: a dump that nobody has checked, or a document that was read.

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
    return mappingOf(value);
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

const IPV4_LENGTH_MAX = 32;

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

/** What a form is made of. */
interface FormParts {
  readonly parts: readonly NamedPart[];
  /** Those of them that clients say. */
  readonly requested: readonly NamedPart[];
  /** Those that clients know. */
  readonly places: readonly V1Place[];
}

function formOf(description: ObjectDescription): V1Entries {
  return new V1Form<unknown, unknown, unknown>(description);
}

function formParts(description: ObjectDescription): FormParts {
  const parts = partsOf(description, formOf);
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
        printed[outer] = { ...mappingOf(inside), [name]: value as JsonValue };
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

// Fields of v1 that v2 has elsewhere: as policies, as values of another field, in `Health.Extra`.

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

type V1OnlyField = NonNullable<ObjectDescription["v1Only"]>[string];
type V1OnlyScalar = Exclude<V1OnlyField, { readonly is: "list" }>;

function scalarsOf({ v1Only = {} }: ObjectDescription): readonly (readonly [name: string, V1OnlyScalar])[] {
  return Object.entries(v1Only).flatMap(([name, field]) =>
    field.is === "list" ? [] : [[name, field] as const],
  );
}

/** The values that the true flags of a v1 document ask for. */
export function valuesOfFlags(
  description: ObjectDescription,
  isTrue: (field: string) => boolean,
): Readonly<Record<string, string>> {
  const asked = scalarsOf(description).flatMap(([name, { flag }]) =>
    flag !== undefined && isTrue(name) ? [[flag.of, flag.for[0]] as const] : [],
  );
  return Object.fromEntries(asked);
}

/** What v1 has for the values of a document; nothing for a value that is no text. */
export function flagsOfValues(description: ObjectDescription, document: JsonObject): Fields {
  const flags = scalarsOf(description).flatMap(([name, { flag }]) => {
    const value = flag === undefined ? undefined : document[flag.of];
    return typeof value === "string" ? [[name, flag?.for.includes(value)] as const] : [];
  });
  return Object.fromEntries(flags);
}

/** The ids of the objects that a v1 document names. */
export function idsOfNames(
  description: ObjectDescription,
  document: JsonObject,
  idOf: (name: string) => string | undefined,
): Fields {
  const ids = scalarsOf(description).flatMap(([name, { nameFor }]) => {
    const said = document[name];
    const isSaid = nameFor !== undefined && typeof said === "string" && said !== "";
    return isSaid ? [[nameFor, idOf(said)] as const] : [];
  });
  return Object.fromEntries(ids);
}

/** What a document has of the fields that stand in `Health.Extra` of v2, and at the top of v1. */
export function extraFieldsIn(description: ObjectDescription, values: JsonObject): Fields {
  const extra = scalarsOf(description).filter(([, { isExtra }]) => isExtra === true);
  return Object.fromEntries(extra.map(([name]) => [name, values[name]]));
}
