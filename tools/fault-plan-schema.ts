/** JSON schema of a plan of faults: schemas/hns-fault-plan.v1alpha1.json. */
import type { JsonSchema } from "#core/base/shape.ts";
import { QUIRK_NAMES } from "#core/catalogue/quirks.ts";
import type { FaultEffectName } from "#hns/failures/faults/fault.ts";
import {
  CALL_FIELDS,
  EFFECT_FIELDS,
  EFFECT_MEANINGS,
  FAULT_ID,
  type FieldShape,
  type Fields,
} from "#hns/failures/faults/fault-fields.ts";
import { FAULTS_MAX, FAULT_PLAN_KIND, FAULT_PLAN_VERSION } from "#hns/failures/faults/read-fault.ts";

/** An object with these fields and no others. */
function closedObject(
  description: string,
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    type: "object",
    description,
    additionalProperties: false,
    required: Object.keys(required),
    properties: { ...required, ...optional },
  };
}

function schemaOf(shape: FieldShape): JsonSchema {
  switch (shape.type) {
    case "number":
      return { type: shape.isWhole ? "integer" : "number", minimum: shape.min, maximum: shape.max };
    case "boolean":
      return { type: "boolean" };
    case "text":
      return { type: "string", minLength: 1 };
    case "one-of":
      return { enum: shape.names };
    case "numbers":
      return { type: "array", minItems: 1, maxItems: FAULTS_MAX, items: { type: "integer" } };
    case "error":
      return {
        anyOf: [{ type: "string", minLength: 1 }, { type: "integer" }],
      };
    case "calls":
      return { type: "object", additionalProperties: false, properties: properties(CALL_FIELDS) };
  }
}

function properties(fields: Fields): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { shape, meaning }]) => [
      name,
      { description: meaning, ...schemaOf(shape) },
    ]),
  );
}

function faultSchema(effect: FaultEffectName): JsonSchema {
  const fields = EFFECT_FIELDS[effect];
  const required = Object.entries(fields).filter(([, field]) => field.isRequired === true);
  const optional = Object.entries(fields).filter(([, field]) => field.isRequired !== true);
  return closedObject(
    EFFECT_MEANINGS[effect],
    { effect: { const: effect }, ...properties(Object.fromEntries(required)) },
    {
      id: {
        description: "By which it is listed and removed; without it, the service gives it a name.",
        type: "string",
        pattern: FAULT_ID.source,
      },
      ...properties(Object.fromEntries(optional)),
    },
  );
}

const QUIRK_SETTING: JsonSchema = {
  anyOf: [
    { enum: ["on", "off"] },
    closedObject(
      "It strikes now and then.",
      { rate: { description: "How likely it strikes.", type: "number", minimum: 0, maximum: 1 } },
      { seed: { description: "Where chance comes from.", type: "string", minLength: 1 } },
    ),
  ],
};

/** JSON schema, draft 7, of a plan. */
export function faultPlanSchema(): JsonSchema {
  const effects = Object.keys(EFFECT_FIELDS) as FaultEffectName[];
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Mullion plan of HNS faults",
    ...closedObject(
      "Faults between programs and HNS, as `mullion hns fault add -f FILE` takes them.",
      { apiVersion: { const: FAULT_PLAN_VERSION }, kind: { const: FAULT_PLAN_KIND } },
      {
        seed: {
          description: "Where chance comes from: equal seeds and calls, equal faults.",
          anyOf: [{ type: "string", maxLength: 128 }, { type: "number" }],
        },
        faults: {
          description: "Asked in this order; the first one that ends a call ends the asking.",
          type: "array",
          maxItems: FAULTS_MAX,
          items: { oneOf: effects.map(faultSchema) },
        },
        quirks: {
          description: "Defects of the service, by name: on, off, or at a rate.",
          type: "object",
          additionalProperties: false,
          properties: Object.fromEntries(QUIRK_NAMES.map((name) => [name, QUIRK_SETTING])),
        },
      },
    ),
  };
}
