/** GUIDs as text: 36 characters, lower case, without braces, everywhere inside (hcn.md §1.1). */
import { HcnError } from "./error.ts";

/** 36 characters, lower case, without braces. */
export type Guid = string;

/** What stands for "none" and, on create, for "choose one". */
export const ZERO_GUID: Guid = "00000000-0000-0000-0000-000000000000";

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Parses a GUID in either letter case, with or without braces; undefined when it is none. */
export function parseGuid(text: string | undefined): Guid | undefined {
  if (text === undefined) return undefined;
  // The text itself, so that all who hold the GUID hold one text.
  if (CANONICAL.test(text)) return text;
  const match = /^(\{?)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(\}?)$/i.exec(text);
  if (match === null || (match[1] === "{") !== (match[3] === "}")) return undefined;
  return match[2]?.toLowerCase();
}

/** A GUID that has to be one. @throws HcnError HCN_E_GUID_CONVERSION_FAILURE. */
export function checkGuid(id: Guid): Guid {
  const guid = parseGuid(id);
  if (guid !== undefined) return guid;
  throw new HcnError("HCN_E_GUID_CONVERSION_FAILURE", { detail: `${JSON.stringify(id)} is not a GUID` });
}

/** The spelling of v1 documents and of resources: upper case. */
export function formatUpperGuid(guid: Guid): string {
  return guid.toUpperCase();
}

/** True when both name the same object, whatever their letter case. */
export function equalGuids(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && a.toLowerCase() === b?.toLowerCase();
}
