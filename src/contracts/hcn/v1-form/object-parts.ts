/** Fields of v2 that are objects, or lists of them; and all fields of a description. */
import { assert, defined } from "#core/base/assert.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf } from "#core/base/json.ts";
import {
  type Field,
  type ObjectDescription,
  type V1Name,
  type PolicyOwner,
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
  SHARED,
  commaList,
} from "./place.ts";
import { enumerationName } from "../description/json.ts";
import { parseGuid } from "../guid.ts";

// Fields of v2 that are values in v1: one value, a list of texts, policies, bits, next hops.

const DEFAULT_DESTINATIONS = ["0.0.0.0/0", "::/0"] as const;
const UNSPECIFIED: readonly unknown[] = [undefined, "", "0.0.0.0", "::"];

export function isIpv6(text: unknown): boolean {
  return typeof text === "string" && text.includes(":");
}

/** One field of v2 that is one field of v1. */
export function singlePart(place: V1Place, names?: readonly (string | undefined)[]): V1Part {
  const isCommaList = place.kind === "commaList";
  return {
    places: [place],
    fromV1(source) {
      const value = source.value(place);
      if (isCommaList) return commaList(value);
      // v1 writes names in any letter case.
      if (names !== undefined && typeof value === "string" && value !== "")
        return enumerationName(names, value) ?? value;
      return value === "" || value === place.none ? undefined : value;
    },
    toV1(value, target) {
      const texts = listOf(value).filter((item) => typeof item === "string");
      if (!isCommaList) target.put(place, value);
      else if (texts.length > 0) target.put(place, texts.join(","));
    },
  };
}

/** A list of texts that is a list in v1, too. */
export function listPart(place: V1Place, prefix = ""): V1Part {
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

export function policiesPart(place: V1Place, owner: PolicyOwner): V1Part {
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

export function flagsPart(
  bits: Readonly<Record<string, number>>,
  names: Readonly<Record<string, string>>,
): V1Part {
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

export function defaultRoutesPart(names: readonly string[]): V1Part {
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
      const lists = listOf(value).map((each) => mappingOf(each)[name]);
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
