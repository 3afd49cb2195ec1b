/** What of a document does not come back: fields that are gone, and fields that have another value. */
import type { JsonValue } from "#core/base/json.ts";
import { isJsonObject } from "#core/base/json.ts";

export interface FieldDifference {
  readonly path: string;
  readonly given: JsonValue;
  /** Undefined: the field is gone. */
  readonly shown: JsonValue | undefined;
}

/** Fields with such a value may be left out (hcn.md §1.6). */
function isDefault(value: JsonValue): boolean {
  if (value === null || value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Ids and names of types are written in either letter case, MACs with either separator. */
function isSame(given: JsonValue, shown: JsonValue): boolean {
  if (typeof given === "string" && typeof shown === "string")
    return given.toLowerCase().replaceAll(":", "-") === shown.toLowerCase().replaceAll(":", "-");
  if (typeof given === "number" && typeof shown === "number")
    // File times are larger than what a double holds exactly.
    return Math.abs(given - shown) <= Math.abs(given) / 1e12;
  return given === shown;
}

function* compareLists(
  given: readonly JsonValue[],
  shown: readonly JsonValue[],
  path: string,
): Generator<FieldDifference, void, undefined> {
  const free = [...shown];
  for (const [index, item] of given.entries()) {
    const at = `${path}[${index}]`;
    const choices = free.map((other) => [...compareValues(item, other, at)]);
    const best = choices.reduce((a, b, i) => (b.length < (choices[a]?.length ?? 0) ? i : a), 0);
    const differences = choices[best];
    if (differences === undefined) yield { path: at, given: item, shown: undefined };
    else {
      free.splice(best, 1);
      yield* differences;
    }
  }
}

function* compareValues(
  given: JsonValue,
  shown: JsonValue | undefined,
  path: string,
): Generator<FieldDifference, void, undefined> {
  if (isDefault(given)) return;
  if (shown === undefined) yield { path, given, shown };
  else if (Array.isArray(given) && Array.isArray(shown))
    yield* compareLists(given as readonly JsonValue[], shown as readonly JsonValue[], path);
  else if (isJsonObject(given) && isJsonObject(shown)) {
    for (const [field, value] of Object.entries(given))
      if (value !== undefined)
        yield* compareValues(value, shown[field], path === "" ? field : `${path}.${field}`);
  } else if (!isSame(given, shown)) yield { path, given, shown };
}

/** Everything of `given` that does not stand in `shown`. */
export function lostFields(given: JsonValue, shown: JsonValue): readonly FieldDifference[] {
  return [...compareValues(given, shown, "")];
}
