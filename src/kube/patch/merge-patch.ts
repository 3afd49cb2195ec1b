/** Merge patches (RFC 7386): null takes a field away, mappings are joined, everything else replaces. */
import { isFields } from "../../base/json.ts";

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const fields = new Map(isFields(document) ? Object.entries(document) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, applyMergePatch(fields.get(name), value));
  }
  return Object.fromEntries(fields);
}
