/** Fields of v2 that are objects, or lists of them; and all fields of a description. */
import { assert } from "#core/base/assert.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import {
  type Field,
  type ObjectDescription,
  type V1Name,
  fieldsOf,
  referredObject,
} from "../description/description.ts";
import { isDefault } from "../description/object-json.ts";
import {
  type FormMaker,
  type V1Part,
  type V1Place,
  type V1Source,
  type V1Target,
  isList,
  isPerFamily,
  isSingle,
  kindOf,
  listOf,
  placeOf,
} from "./place.ts";
import { defaultRoutesPart, flagsPart, isIpv6, listPart, policiesPart, singlePart } from "./value-parts.ts";

/** A list of objects; `type`: each is a policy of that type. */
function entriesPart(name: V1Name, description: ObjectDescription, formOf: FormMaker, type?: string): V1Part {
  const form = formOf(description);
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
function joinedPart(
  name: string,
  description: ObjectDescription,
  beside: JsonObject,
  formOf: FormMaker,
): V1Part {
  const inner = fieldsOf(description).find(([field]) => field === name)?.[1];
  assert(inner?.is === "list" && typeof inner.v1 === "string", "a list of entries is joined");
  const part = entriesPart(inner.v1, referredObject(inner.of), formOf);
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

/** The fields of an object, which v1 has beside the others. */
function objectPart(description: ObjectDescription, formOf: FormMaker): V1Part {
  const parts = partsOf(description, formOf);
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

function listFieldPart(
  field: Extract<Field, { readonly is: "list" }>,
  formOf: FormMaker,
): V1Part | undefined {
  const { v1 } = field;
  const of = referredObject(field.of);
  if (v1 === undefined) return undefined;
  if (typeof v1 === "string" || "answer" in v1 || "dump" in v1) return entriesPart(v1, of, formOf);
  if ("policies" in v1) return entriesPart(v1.policies, of, formOf, v1.type);
  if ("joined" in v1) return joinedPart(v1.joined, of, v1.with, formOf);
  return "perFamilyOf" in v1 ? perFamilyPart(of, v1.perFamilyOf) : defaultRoutesPart(v1.defaultRoutes);
}

/** Undefined for a field that v1 does not have. */
function partOf(field: Field, formOf: FormMaker): V1Part | undefined {
  if (field.is === "object") return objectPart(referredObject(field.of), formOf);
  if (field.is === "list") return listFieldPart(field, formOf);
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

export interface NamedPart {
  readonly name: string;
  readonly part: V1Part;
  readonly isOfService: boolean;
}

const NO_PART: V1Part = Object.freeze({ places: [], fromV1: () => undefined, toV1: () => undefined });

export function partsOf(description: ObjectDescription, formOf: FormMaker): readonly NamedPart[] {
  return fieldsOf(description).map(([name, field]) => ({
    name,
    part: partOf(field, formOf) ?? NO_PART,
    isOfService: field.by === "service",
  }));
}

/** The values of the fields, in their order. Those that are `given` stand in place of those of the source. */
export function valuesFromV1(
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

export function putValues(
  parts: readonly NamedPart[],
  values: Readonly<Record<string, unknown>>,
  target: V1Target,
): void {
  for (const { name, part } of parts) {
    const value = values[name];
    if (value !== undefined) part.toV1(value, target);
  }
}
