/**
 * Fields of imported documents that HNS does not know. They are kept with the object, and results show them unchanged
 * among the fields that HNS has. Where both have a field, HNS's own value stands.
 *
 * Entries of lists are known again by their id, as the only ones, or by what HNS shows of them; what was kept of an entry
 * goes when the entry goes. An entry that HNS has nothing of, such as a policy of an unknown type, stays as it is.
 */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { equalJson } from "#contracts/hcn/description/json.ts";
import { isJsonObject } from "#core/base/json.ts";

/** What is kept of an object, apart for each dialect: the same name may mean something else in the other. */
export interface KeptFields {
  readonly v1?: JsonObject;
  readonly v2?: JsonObject;
}

/** What an entry of a list is known by. */
const IDENTITIES = ["ID", "Id", "Tag"] as const;

/** In the place of an entry: what was kept of it, and which it is (its identity, or what HNS shows of it). */
const KEPT = "$kept";
const ENTRY = "$entry";
const ONLY = "$only";

type Key = string | JsonObject;

function identityOf(entry: JsonObject): string | undefined {
  for (const field of IDENTITIES) {
    const value = entry[field];
    if (typeof value === "string" && value !== "") return `${field.toLowerCase()}|${value.toLowerCase()}`;
  }
  return undefined;
}

/** The type of a policy or a resource, without its letter case. */
function typeOf(entry: JsonValue): string | undefined {
  const type = isJsonObject(entry) ? entry["Type"] : undefined;
  return typeof type === "string" ? type.toLowerCase() : undefined;
}

/** True for the same entry of two lists; ids are written in either letter case. */
function isSameEntry(a: JsonValue, b: JsonValue): boolean {
  if (typeof a === "string" && typeof b === "string") return a.toLowerCase() === b.toLowerCase();
  return equalJson(a, b);
}

/** True when what both have is equal. */
function agrees(a: JsonObject, b: JsonObject): boolean {
  return Object.keys(a).every((field) => b[field] === undefined || equalJson(a[field], b[field]));
}

interface Partner {
  readonly shown: JsonObject;
  readonly key: Key;
}

/** Finds for entries of an original list what HNS shows of them. */
class Partners {
  private readonly original: readonly JsonValue[];
  private readonly shown: readonly JsonValue[];
  private readonly free: Set<JsonValue>;

  constructor(original: readonly JsonValue[], shown: readonly JsonValue[]) {
    this.original = original;
    this.shown = shown;
    this.free = new Set(shown.filter((entry) => !original.some((other) => isSameEntry(entry, other))));
  }

  find(entry: JsonObject): Partner | undefined {
    const identity = identityOf(entry);
    const objects = this.shown.filter(isJsonObject);
    if (identity !== undefined) {
      const shown = objects.find((other) => identityOf(other) === identity);
      return shown && { shown, key: identity };
    }
    const [only] = objects;
    if (this.original.length === 1 && this.shown.length === 1 && only !== undefined)
      return { shown: only, key: ONLY };
    const shown = this.alike(entry) ?? this.ofSameType(entry);
    if (shown === undefined) return undefined;
    this.free.delete(shown);
    return { shown, key: shown };
  }

  private alike(entry: JsonObject): JsonObject | undefined {
    return [...this.free]
      .filter(isJsonObject)
      .find(
        (other) =>
          typeOf(other) === typeOf(entry) && agrees({ ...entry, Type: null }, { ...other, Type: null }),
      );
  }

  /** HNS keeps the order of policies: the n-th of a type is the n-th there, when it took them all. */
  private ofSameType(entry: JsonObject): JsonObject | undefined {
    const type = typeOf(entry);
    if (type === undefined) return undefined;
    const originals = this.original.filter((other) => typeOf(other) === type);
    const shown = this.shown.filter(isJsonObject).filter((other) => typeOf(other) === type);
    return originals.length === shown.length ? shown[originals.indexOf(entry)] : undefined;
  }
}

function keptOfList(original: readonly JsonValue[], shown: readonly JsonValue[]): JsonValue | undefined {
  const partners = new Partners(original, shown);
  const left: JsonValue[] = [];
  for (const entry of original) {
    if (shown.some((other) => isSameEntry(entry, other))) continue;
    const partner = isJsonObject(entry) ? partners.find(entry) : undefined;
    if (partner === undefined || !isJsonObject(entry)) {
      left.push(entry);
      continue;
    }
    const rest = keptOf(entry, partner.shown);
    if (rest !== undefined) left.push({ [ENTRY]: partner.key, [KEPT]: rest });
  }
  return left.length === 0 ? undefined : left;
}

function keptOfValue(original: JsonValue, shown: JsonValue | undefined): JsonValue | undefined {
  if (shown === undefined) return original;
  if (isJsonObject(original)) return isJsonObject(shown) ? keptOf(original, shown) : undefined;
  if (Array.isArray(original) && Array.isArray(shown))
    return keptOfList(original as readonly JsonValue[], shown as readonly JsonValue[]);
  return undefined;
}

/** What of `original` does not stand in `shown`; undefined when nothing is lost. */
export function keptOf(original: JsonObject, shown: JsonObject): JsonObject | undefined {
  const kept: Record<string, JsonValue> = {};
  for (const [field, value] of Object.entries(original)) {
    const rest = value === undefined ? undefined : keptOfValue(value, shown[field]);
    if (rest !== undefined) kept[field] = rest;
  }
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/** What was kept of an entry; undefined for an entry that is kept whole. */
function keptPart(
  entry: JsonValue,
): { readonly key: JsonValue | undefined; readonly kept: JsonObject } | undefined {
  const kept = isJsonObject(entry) ? entry[KEPT] : undefined;
  return isJsonObject(entry) && isJsonObject(kept) ? { key: entry[ENTRY], kept } : undefined;
}

function isEntry(shown: JsonObject, key: JsonValue | undefined, isOnly: boolean): boolean {
  if (key === ONLY) return isOnly;
  return typeof key === "string" ? identityOf(shown) === key : equalJson(shown, key);
}

function mergeList(shown: readonly JsonValue[], kept: readonly JsonValue[]): readonly JsonValue[] {
  const parts = kept.map(keptPart).filter((part) => part !== undefined);
  const merged = shown.map((entry) => {
    if (!isJsonObject(entry)) return entry;
    const part = parts.find(({ key }) => isEntry(entry, key, shown.length === 1));
    return part === undefined ? entry : withKept(entry, part.kept);
  });
  const whole = kept.filter(
    (entry) => keptPart(entry) === undefined && !shown.some((other) => isSameEntry(entry, other)),
  );
  return [...merged, ...whole];
}

/** A kept value that HNS shows nothing of; what was kept of the entries of a list went with them. */
function keptWhole(kept: JsonValue): JsonValue | undefined {
  if (!Array.isArray(kept)) return kept;
  const entries = kept as readonly JsonValue[];
  const whole = entries.filter((entry) => keptPart(entry) === undefined);
  return whole.length === 0 && entries.length > 0 ? undefined : whole;
}

function mergeValue(shown: JsonValue | undefined, kept: JsonValue): JsonValue | undefined {
  if (shown === undefined) return keptWhole(kept);
  if (isJsonObject(shown) && isJsonObject(kept)) return withKept(shown, kept);
  if (Array.isArray(shown) && Array.isArray(kept))
    return mergeList(shown as readonly JsonValue[], kept as readonly JsonValue[]);
  return shown;
}

/** A document with the kept fields in their places. */
export function withKept(shown: JsonObject, kept: JsonObject | undefined): JsonObject {
  if (kept === undefined) return shown;
  const merged: Record<string, JsonValue | undefined> = { ...shown };
  for (const [field, value] of Object.entries(kept)) {
    const both = value === undefined ? undefined : mergeValue(shown[field], value);
    if (both !== undefined) merged[field] = both;
  }
  return merged;
}
