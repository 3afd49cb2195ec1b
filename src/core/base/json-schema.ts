/** Pieces of JSON schemas that several published schemas are made of. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** An object with these fields and no others. */
export function closedObject(
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

/** The same schema, with what it is for. */
export function described(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description };
}
