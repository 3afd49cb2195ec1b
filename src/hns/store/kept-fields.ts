/**
 * What an imported document says, where HNS would show something else of the object. What HNS does not know is shown
 * unchanged. Where HNS has a value of its own, that of the document stands as long as HNS's is what it was at the import:
 * what was looked at is shown as it was, and what changes is shown as it became.
 *
 * The same goes for a list as a whole, in its order. Once HNS's list is another one, entries are known again by their id, as
 * the only ones, or by what HNS showed of them; what was kept of an entry goes when the entry goes. An entry that HNS has
 * nothing of, such as a policy of an unknown type, stays as it is; one that only HNS has stays away as long as it is the same.
 */
import { type JsonObject, type JsonValue, canonicalJson, equalJson, isJsonObject } from "#core/base/json.ts";

/** What is kept of an object, apart for each dialect: the same name may mean something else in the other. */
export interface KeptFields {
  readonly v1?: JsonObject;
  readonly v2?: JsonObject;
}

/** What an entry of a list is known by. */
const IDENTITIES = ["ID", "Id", "Tag"] as const;

/** In the place of a value: what the document says, and what HNS showed then. */
const GIVEN = "$given";
const OWN = "$own";
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

/** The same for the same entry of two lists; ids are written in either letter case. */
function entryKey(entry: JsonValue): string {
  return canonicalJson(typeof entry === "string" ? entry.toLowerCase() : entry);
}

function keysOf(entries: readonly JsonValue[]): ReadonlySet<string> {
  return new Set(entries.map(entryKey));
}

/** True when two entries have the same type, and what else both have is equal. */
function isAlike(a: JsonObject, b: JsonObject): boolean {
  if (typeOf(a) !== typeOf(b)) return false;
  return Object.keys(a).every(
    (field) => field === "Type" || b[field] === undefined || equalJson(a[field], b[field]),
  );
}

interface Partner {
  readonly shown: JsonObject;
  readonly key: Key;
}

/** Finds for entries of an original list what HNS shows of them. Lists are long: each is gone through once. */
class Partners {
  /** The only entries of both lists. */
  private readonly only: JsonObject | undefined;
  private readonly free: Set<JsonObject>;
  private readonly byIdentity = new Map<string, JsonObject>();
  private readonly originalsByType: ReadonlyMap<string | undefined, readonly JsonObject[]>;
  private readonly shownByType: ReadonlyMap<string | undefined, readonly JsonObject[]>;
  /** The position of an entry among those of its type. */
  private readonly places = new Map<JsonObject, number>();

  constructor(original: readonly JsonValue[], shown: readonly JsonValue[]) {
    const known = keysOf(original);
    const objects = shown.filter(isJsonObject);
    this.only = original.length === 1 && shown.length === 1 ? objects[0] : undefined;
    this.free = new Set(objects.filter((entry) => !known.has(entryKey(entry))));
    for (const entry of objects.toReversed()) {
      const identity = identityOf(entry);
      if (identity !== undefined) this.byIdentity.set(identity, entry);
    }
    this.originalsByType = Map.groupBy(original.filter(isJsonObject), typeOf);
    this.shownByType = Map.groupBy(objects, typeOf);
    for (const entries of this.originalsByType.values())
      for (const [place, entry] of entries.entries()) this.places.set(entry, place);
  }

  find(entry: JsonObject): Partner | undefined {
    const identity = identityOf(entry);
    if (identity !== undefined) {
      const shown = this.byIdentity.get(identity);
      return shown && { shown, key: identity };
    }
    if (this.only !== undefined) return { shown: this.only, key: ONLY };
    const shown = this.alike(entry) ?? this.ofSameType(entry);
    if (shown === undefined) return undefined;
    this.free.delete(shown);
    return { shown, key: shown };
  }

  private alike(entry: JsonObject): JsonObject | undefined {
    for (const other of this.free) if (isAlike(entry, other)) return other;
    return undefined;
  }

  /** HNS keeps the order of policies: the n-th of a type is the n-th there, when it took them all. */
  private ofSameType(entry: JsonObject): JsonObject | undefined {
    const type = typeOf(entry);
    if (type === undefined) return undefined;
    const shown = this.shownByType.get(type) ?? [];
    if (this.originalsByType.get(type)?.length !== shown.length) return undefined;
    return shown[this.places.get(entry) ?? -1];
  }
}

/** What is kept of the entries of a list. */
interface KeptEntries {
  readonly parts: readonly { readonly key: Key; readonly kept: JsonObject }[];
  /** Entries that HNS has nothing of. */
  readonly whole: readonly JsonValue[];
  /** Entries that only HNS has. */
  readonly added: readonly JsonValue[];
}

function keptOfEntries(original: readonly JsonValue[], shown: readonly JsonValue[]): KeptEntries {
  const partners = new Partners(original, shown);
  const parts: { key: Key; kept: JsonObject }[] = [];
  const whole: JsonValue[] = [];
  const [known, there] = [keysOf(original), keysOf(shown)];
  const added = new Set(shown.filter((entry) => !known.has(entryKey(entry))));
  for (const entry of original) {
    if (there.has(entryKey(entry))) continue;
    const partner = isJsonObject(entry) ? partners.find(entry) : undefined;
    if (partner === undefined || !isJsonObject(entry)) {
      whole.push(entry);
      continue;
    }
    added.delete(partner.shown);
    const kept = keptOf(entry, partner.shown);
    if (kept !== undefined) parts.push({ key: partner.key, kept });
  }
  return { parts, whole, added: [...added] };
}

function isEmpty(value: JsonValue): boolean {
  return value === null || value === "";
}

/** Programs decode what they read: a value of another type than HNS's would break them. */
function isSameType(a: JsonValue, b: JsonValue): boolean {
  return typeof a === typeof b && Array.isArray(a) === Array.isArray(b) && !isEmpty(a) && b !== null;
}

function keptOfValue(original: JsonValue, shown: JsonValue | undefined): JsonValue | undefined {
  if (shown === undefined) return original;
  if (isJsonObject(original) && isJsonObject(shown)) return keptOf(original, shown);
  if (!isSameType(original, shown) || equalJson(original, shown)) return undefined;
  return { [GIVEN]: original, [OWN]: shown };
}

/** What of `original` does not stand in `shown`; undefined when it stands there, all of it. */
export function keptOf(original: JsonObject, shown: JsonObject): JsonObject | undefined {
  const kept: Record<string, JsonValue> = {};
  for (const [field, value] of Object.entries(original)) {
    const rest = value === undefined ? undefined : keptOfValue(value, shown[field]);
    if (rest !== undefined) kept[field] = rest;
  }
  return Object.keys(kept).length === 0 ? undefined : kept;
}

interface Overridden {
  readonly given: JsonValue;
  readonly own: JsonValue;
}

function overridden(kept: JsonValue): Overridden | undefined {
  if (!isJsonObject(kept)) return undefined;
  const { [GIVEN]: given, [OWN]: own } = kept;
  return given === undefined || own === undefined ? undefined : { given, own };
}

/** Finds what is kept of an entry: by its identity, by all of it, or as the only one. */
function partFinder(
  parts: KeptEntries["parts"],
  isOnly: boolean,
): (entry: JsonObject) => JsonObject | undefined {
  const nameOf = (key: Key): string => (typeof key === "string" ? `id ${key}` : canonicalJson(key));
  const places = new Map(parts.map(({ key }, index): [string, number] => [nameOf(key), index]).toReversed());
  return (entry) => {
    const keys = [identityOf(entry) ?? "", entry, ...(isOnly ? [ONLY] : [])];
    const found = keys.flatMap((key) => places.get(nameOf(key)) ?? []);
    return found.length === 0 ? undefined : parts[Math.min(...found)]?.kept;
  };
}

function mergeList(
  shown: readonly JsonValue[],
  given: readonly JsonValue[],
  own: readonly JsonValue[],
): readonly JsonValue[] {
  const { parts, whole, added } = keptOfEntries(given, own);
  const away = new Set(added.map(canonicalJson));
  const partOf = partFinder(parts, shown.length === 1);
  const merged = shown
    .filter((entry) => !away.has(canonicalJson(entry)))
    .map((entry) => {
      const kept = isJsonObject(entry) ? partOf(entry) : undefined;
      return kept === undefined || !isJsonObject(entry) ? entry : withKept(entry, kept);
    });
  const there = keysOf(shown);
  return [...merged, ...whole.filter((entry) => !there.has(entryKey(entry)))];
}

/** A kept value whose field HNS shows no more: what HNS had nothing of stays. */
function withoutOwn({ given, own }: Overridden): JsonValue | undefined {
  if (!Array.isArray(given) || !Array.isArray(own)) return undefined;
  const { whole } = keptOfEntries(given as readonly JsonValue[], own as readonly JsonValue[]);
  return whole.length === 0 ? undefined : whole;
}

function mergeValue(shown: JsonValue | undefined, kept: JsonValue): JsonValue | undefined {
  const both = overridden(kept);
  if (both === undefined) {
    if (shown === undefined) return keptAlone(kept);
    return isJsonObject(shown) && isJsonObject(kept) ? withKept(shown, kept) : shown;
  }
  const { given, own } = both;
  if (shown === undefined) return withoutOwn(both);
  if (equalJson(shown, own)) return given;
  if (!Array.isArray(shown) || !Array.isArray(given) || !Array.isArray(own)) return shown;
  return mergeList(shown as readonly JsonValue[], given as readonly JsonValue[], own as readonly JsonValue[]);
}

/** What is kept of an object that HNS shows no more, without what stood in the place of HNS's own. */
function keptAlone(kept: JsonValue): JsonValue | undefined {
  if (!isJsonObject(kept)) return kept;
  const alone = withKept({}, kept);
  return Object.keys(alone).length === 0 && Object.keys(kept).length > 0 ? undefined : alone;
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
