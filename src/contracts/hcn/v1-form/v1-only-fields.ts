/** Fields of v1 that v2 has elsewhere: as policies, as values of another field, in `Health.Extra`. */
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

type V1OnlyField = NonNullable<ObjectDescription["v1Only"]>[string];
type V1OnlyScalar = Exclude<V1OnlyField, { readonly is: "list" }>;

function scalarsOf({ v1Only = {} }: ObjectDescription): readonly (readonly [name: string, V1OnlyScalar])[] {
  return Object.entries(v1Only).flatMap(([name, field]) =>
    field.is === "list" ? [] : [[name, field] as const],
  );
}

/** The values that the true flags of a v1 document ask for. */
export function valuesOfFlags(
  description: ObjectDescription,
  isTrue: (field: string) => boolean,
): Readonly<Record<string, string>> {
  const asked = scalarsOf(description).flatMap(([name, { flag }]) =>
    flag !== undefined && isTrue(name) ? [[flag.of, flag.for[0]] as const] : [],
  );
  return Object.fromEntries(asked);
}

/** What v1 has for the values of a document; nothing for a value that is no text. */
export function flagsOfValues(description: ObjectDescription, document: JsonObject): Fields {
  const flags = scalarsOf(description).flatMap(([name, { flag }]) => {
    const value = flag === undefined ? undefined : document[flag.of];
    return typeof value === "string" ? [[name, flag?.for.includes(value)] as const] : [];
  });
  return Object.fromEntries(flags);
}

/** The ids of the objects that a v1 document names. */
export function idsOfNames(
  description: ObjectDescription,
  document: JsonObject,
  idOf: (name: string) => string | undefined,
): Fields {
  const ids = scalarsOf(description).flatMap(([name, { nameFor }]) => {
    const said = document[name];
    const isSaid = nameFor !== undefined && typeof said === "string" && said !== "";
    return isSaid ? [[nameFor, idOf(said)] as const] : [];
  });
  return Object.fromEntries(ids);
}

/** What a document has of the fields that stand in `Health.Extra` of v2, and at the top of v1. */
export function extraFieldsIn(description: ObjectDescription, values: JsonObject): Fields {
  const extra = scalarsOf(description).filter(([, { isExtra }]) => isExtra === true);
  return Object.fromEntries(extra.map(([name]) => [name, values[name]]));
}
