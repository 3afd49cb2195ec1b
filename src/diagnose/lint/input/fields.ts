/**
 * Looking into values whose shape is not checked. A rule runs on patches, fragments and objects that an API server
 * would refuse, so it never trusts a type; what is not there, or is of another type, reads as absent.
 */
import { type Fields, isFields } from "#core/base/json.ts";

/** A way to a field from the outermost value of a document: names and list positions. */
export type LintPath = readonly (string | number)[];

/** What stands at the end of a path; undefined where it leads nowhere. */
export function valueAt(value: unknown, ...path: LintPath): unknown {
  let found = value;
  for (const step of path) {
    if (typeof step === "number") found = Array.isArray(found) ? (found as unknown[])[step] : undefined;
    else found = isFields(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

export function textAt(value: unknown, ...path: LintPath): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : undefined;
}

/** A number, also one that was written in quotes. */
export function numberAt(value: unknown, ...path: LintPath): number | undefined {
  const found = valueAt(value, ...path);
  if (typeof found === "number") return found;
  return typeof found === "string" && /^-?\d{1,15}$/.test(found.trim()) ? Number(found) : undefined;
}

export function isTrueAt(value: unknown, ...path: LintPath): boolean {
  return valueAt(value, ...path) === true;
}

const NO_FIELDS: Fields = Object.freeze({});
const NO_ITEMS: readonly unknown[] = Object.freeze([]);

export function fieldsAt(value: unknown, ...path: LintPath): Fields {
  const found = valueAt(value, ...path);
  return isFields(found) ? found : NO_FIELDS;
}

export function listAt(value: unknown, ...path: LintPath): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as readonly unknown[]) : NO_ITEMS;
}

/** The field of a mapping whose name is `name` in any letter case, as Go's JSON reader finds it. */
export function keyOf(value: unknown, name: string): string | undefined {
  if (!isFields(value)) return undefined;
  if (Object.hasOwn(value, name)) return name;
  const wanted = name.toLowerCase();
  return Object.keys(value).find((key) => key.toLowerCase() === wanted);
}
