/** Fields of v1 that are policies in v2. */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { ObjectDescription, V1FieldPolicy } from "../description/description.ts";
import { isDefault } from "../description/object-json.ts";
import type { PolicyDocument } from "../documents/base-document.ts";
import type { Fields } from "./place.ts";

interface FieldPolicy extends V1FieldPolicy {
  readonly field: string;
}

/** The fields of v1 that are policies in v2. */
export function fieldPoliciesOf({ v1Only = {} }: ObjectDescription): readonly FieldPolicy[] {
  return Object.entries(v1Only).flatMap(([field, { is, ...marks }]) =>
    is !== "list" && "policy" in marks && marks.policy !== undefined ? [{ field, ...marks.policy }] : [],
  );
}

/** The policies that the fields of a v1 document are in v2; empty ones are none. */
export function policiesOfFields(
  description: ObjectDescription,
  fields: Readonly<Record<string, unknown>>,
): readonly (PolicyDocument & { readonly Settings: JsonObject })[] {
  return fieldPoliciesOf(description).flatMap(({ field, type, setting }) => {
    const value = fields[field];
    if (isDefault(value) || value === false) return [];
    return [{ Type: type, Settings: { [setting]: value as JsonValue } }];
  });
}

/** The fields of a v1 document that its policies are in v1. */
export function fieldsOfPolicies(
  description: ObjectDescription,
  policies: readonly { readonly Type: string; readonly Settings?: object }[],
): Fields {
  const fields: Fields = {};
  for (const { field, type, setting } of fieldPoliciesOf(description)) {
    const settings = policies.find((policy) => policy.Type === type)?.Settings as JsonObject | undefined;
    if (settings?.[setting] !== undefined) fields[field] = settings[setting];
  }
  return fields;
}
