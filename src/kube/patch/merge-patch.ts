/** Merge patches (RFC 7386): null takes a field away, mappings are joined, everything else replaces. */

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isMapping(patch)) return patch;
  const fields = new Map(isMapping(document) ? Object.entries(document) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, applyMergePatch(fields.get(name), value));
  }
  return Object.fromEntries(fields);
}
