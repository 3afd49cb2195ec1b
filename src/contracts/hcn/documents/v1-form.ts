/**
 * The v1 form of described documents (hcn.md §2.12, field map): v1 is flat, with names of its own, a field per address
 * family, texts with commas for lists, and true for bits.
 */
import { defined } from "#core/base/assert.ts";
import type { JsonValue } from "#core/base/json.ts";
import {
  type Field,
  type ObjectDescription,
  type ObjectOf,
  type ScalarKind,
  type V1Name,
  type V1NamePerFamily,
  type V1Of,
  fieldsOf,
  referredObject,
} from "../description/description.ts";
import type { JsonReader } from "../description/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import type { HnsPolicy } from "../description/description.ts";
import { type PrintableOf, isDefault } from "../description/object-json.ts";
import { SCALAR_READERS } from "../description/object-json.ts";

/** How a value stands in a v1 document. */
export type V1Kind = Exclude<ScalarKind, "texts"> | "ipv4Length" | "commaList" | "list" | "policies";

/** A name in v1 documents, and what stands there. */
export interface V1Place {
  /** Where it is inside an object. */
  readonly outer: string | undefined;
  readonly name: string;
  readonly kind: V1Kind;
  /** Where the name is known: in requests and answers, in answers and dumps, in dumps. */
  readonly speaker: "client" | "service" | "dump";
}

/** Where values of a v1 document come from. What is not there, or has another type, is undefined. */
export type V1Source = (place: V1Place) => unknown;

type Fields = Record<string, JsonValue | undefined>;
type Put = (place: V1Place, value: unknown) => void;

/** What v1 has of one field. */
interface V1Part {
  readonly places: readonly V1Place[];
  /** The value; undefined when nothing of it is there. */
  fromV1(source: V1Source): unknown;
  toV1(value: unknown, put: Put): void;
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

function kindOf({ is }: SingleField): V1Kind {
  if (is === "texts") return "commaList";
  return is === "enumeration" ? "text" : is;
}

function isSingle(field: Field): field is SingleField {
  return field.is !== "object" && field.is !== "list" && field.is !== "flags";
}

function isPerFamily(v1: V1Name | V1NamePerFamily): v1 is V1NamePerFamily {
  return Array.isArray(v1);
}

/** A comma list, or a list of texts; undefined when it is empty. */
function commaList(value: unknown): readonly string[] | undefined {
  const given: readonly unknown[] =
    typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  const items = given
    .filter((item) => typeof item === "string")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? undefined : items;
}

/** One field of v2 that is one field of v1. */
function singlePart(place: V1Place): V1Part {
  const isList = place.kind === "commaList";
  return {
    places: [place],
    fromV1(source) {
      const value = source(place);
      if (isList) return commaList(value);
      return value === "" ? undefined : value;
    },
    toV1: (value, put) => put(place, isList ? (value as readonly string[]).join(",") : value),
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
      let flags = Number(source(number) ?? 0);
      for (const { place, bit } of rows) if (source(place) === true) flags |= bit;
      return flags === 0 ? undefined : flags;
    },
    toV1(value, put) {
      for (const { place, bit } of rows) if ((Number(value) & bit) !== 0) put(place, true);
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
    toV1: (value, put) =>
      putValues(parts, value as Readonly<Record<string, unknown>>, (place, each) => {
        if (!isDefault(each)) put(place, each);
      }),
  };
}

/** One entry per family, whose fields v1 has beside the others. */
function perFamilyPart(description: ObjectDescription, key: string): V1Part {
  const families = [0, 1].map((family) =>
    fieldsOf(description).flatMap(([name, field]): readonly NamedPart[] => {
      if (!isSingle(field) || field.v1 === undefined || !isPerFamily(field.v1)) return [];
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
    toV1(value, put) {
      for (const entry of value as readonly Readonly<Record<string, unknown>>[])
        putValues(families[isIpv6(entry[key]) ? 1 : 0] ?? [], entry, put);
    },
  };
}

function defaultRoutesPart(names: readonly string[]): V1Part {
  const places = names.map((name) => placeOf(name, "text"));
  return {
    places,
    fromV1(source) {
      const hops = places.map(source).filter((hop) => typeof hop === "string" && hop !== "");
      if (hops.length === 0) return undefined;
      return hops.map((NextHop) => ({
        NextHop,
        DestinationPrefix: DEFAULT_DESTINATIONS[isIpv6(NextHop) ? 1 : 0],
      }));
    },
    toV1(value, put) {
      for (const { NextHop, DestinationPrefix } of value as readonly Readonly<Record<string, unknown>>[]) {
        const leadsAnywhere = DEFAULT_DESTINATIONS.some((each) => each === DestinationPrefix);
        const place = places[isIpv6(NextHop) ? 1 : 0];
        if (leadsAnywhere && place !== undefined && !UNSPECIFIED.includes(NextHop)) put(place, NextHop);
      }
    },
  };
}

/** Undefined for a field that v1 does not have. */
function partOf(field: Field): V1Part | undefined {
  if (field.is === "object") return objectPart(referredObject(field.of));
  if (field.v1 === undefined) return undefined;
  if (field.is === "flags") return flagsPart(field.bits, field.v1);
  if (field.is !== "list")
    return isPerFamily(field.v1) ? undefined : singlePart(placeOf(field.v1, kindOf(field)));
  return "perFamilyOf" in field.v1
    ? perFamilyPart(referredObject(field.of), field.v1.perFamilyOf)
    : defaultRoutesPart(field.v1.defaultRoutes);
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

function putValues(parts: readonly NamedPart[], values: Readonly<Record<string, unknown>>, put: Put): void {
  for (const { name, part } of parts) {
    const value = values[name];
    if (value !== undefined) part.toV1(value, put);
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
};

function v1OnlyPlace([name, { is }]: readonly [string, { readonly is: ScalarKind }]): V1Place {
  return placeOf(name, is === "texts" ? "list" : is);
}

/** What a form is made of. */
interface FormParts {
  readonly parts: readonly NamedPart[];
  /** Those that clients know. */
  readonly places: readonly V1Place[];
}

function formParts(description: ObjectDescription): FormParts {
  const parts = partsOf(description);
  const known = parts.flatMap(({ part }) => part.places).filter(({ speaker }) => speaker === "client");
  return { parts, places: [...known, ...Object.entries(description.v1Only ?? {}).map(v1OnlyPlace)] };
}

/** The v1 form of a described document: `T` in v2, `P` its values to be printed, `V1` in v1. */
export class V1Form<T, P, V1> {
  private readonly description: ObjectDescription;
  /** Made at first use: programs that speak v2 alone never need it. */
  private made: FormParts | undefined;

  constructor(description: ObjectDescription) {
    this.description = description;
  }

  /** The v1 document in a request or an answer. @throws HcnError for a field of the wrong type. */
  read(reader: JsonReader): V1 {
    const values: Record<string, unknown> = {};
    for (const { outer, name, kind } of this.form().places) {
      const inside = outer === undefined ? reader : reader.object(outer);
      const value = inside && V1_READERS[kind](inside, name);
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
  fromRequest(document: V1, given: Partial<T>): T {
    const fields = document as Readonly<Record<string, unknown>>;
    const requested = this.form().parts.filter(({ isOfService }) => !isOfService);
    const source: V1Source = ({ outer, name, speaker }) => {
      if (speaker !== "client") return undefined;
      const inside = outer === undefined ? fields : fields[outer];
      return (inside as Readonly<Record<string, unknown>> | undefined)?.[name];
    };
    return Object.freeze(valuesFromV1(requested, source, given as Readonly<Record<string, unknown>>)) as T;
  }

  /** A dumped document in v2 form; `given` stands in place of what is there. */
  fromDump(
    source: V1Source,
    given: Readonly<Record<string, JsonValue | undefined>>,
  ): Record<string, JsonValue> {
    return valuesFromV1(this.form().parts, source, given) as Record<string, JsonValue>;
  }

  /** What v1 shows of the values. */
  print(values: P): Readonly<Record<string, JsonValue | undefined>> {
    const printed: Fields = {};
    putValues(this.form().parts, values as Readonly<Record<string, unknown>>, (place, value) => {
      if (place.speaker === "dump") return;
      if (place.outer === undefined) printed[place.name] = value as JsonValue;
      else {
        const outer = printed[place.outer];
        printed[place.outer] = { ...(isJsonObject(outer) ? outer : {}), [place.name]: value as JsonValue };
      }
    });
    return printed;
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
