/**
 * Programs of the machine that flanneld calls, as a seam: the real ones, or recorded ones in tests; and rows of JSON that they
 * print: what has the wrong type counts as absent.
 */
import { parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf, textOf } from "#core/base/json.ts";

export interface CommandRunner {
  /** @returns what it prints. @throws Error with what it says when it fails. */
  run(program: string, words: readonly string[]): Promise<string>;
}

/** The objects of a list, or the one that stands alone, as PowerShell prints a list of one. */
export function jsonRows(text: string): readonly JsonObject[] {
  if (text.trim() === "") return [];
  const value = parseJson(text.trim().replace(/^\ufeff/, ""));
  const list = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  return list.filter((row) => isJsonObject(row));
}

export function textIn(row: JsonObject, field: string): string {
  return textOf(row[field]);
}

export function numberIn(row: JsonObject, field: string): number | undefined {
  const value = row[field];
  return typeof value === "number" ? value : undefined;
}

export function rowsIn(row: JsonObject, field: string): readonly JsonObject[] {
  const value = row[field];
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter((item) => isJsonObject(item)) : [];
}

export function objectIn(row: JsonObject, field: string): JsonObject {
  return mappingOf(row[field]);
}
