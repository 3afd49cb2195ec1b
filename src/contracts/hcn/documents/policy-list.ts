/** The list of policies that a document holds. */
import type { PolicyDocument } from "./base-document.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type JsonReader, present } from "../description/json-reader.ts";

/**
 * The policies of a document. An empty object is no policy: `Policies: [{}]` clears a list (hcn.md §5.3).
 * Types come as names or as numbers of `numbers`; a name is kept as it was written, because only the reader of the
 * policy knows which names exist.
 */
export function readPolicies(
  reader: JsonReader,
  numbers: readonly (string | undefined)[],
): readonly PolicyDocument[] | undefined {
  const policies = reader.list("Policies", (policy) => {
    const type = policy.raw("Type");
    if (type === undefined && policy.raw("Settings") === undefined) return undefined;
    const name = typeof type === "number" ? (numbers[type] ?? String(type)) : policy.text("Type");
    return present<PolicyDocument>({ Type: name ?? "", Settings: policySettings(policy) });
  });
  return policies && Object.freeze(policies.filter((policy) => policy !== undefined));
}

/** Old samples write the fields of a policy beside its type (hcn.md §3): those fields are its settings then. */
function policySettings(policy: JsonReader): JsonObject | undefined {
  const settings = policy.raw("Settings");
  if (settings !== undefined) return policy.object("Settings")?.whole();
  const { Type: _type, ...rest } = policy.whole();
  return Object.keys(rest).length === 0 ? undefined : Object.freeze(rest);
}
