/**
 * OpenAPI v2 in protobuf, the only form in which clients in Go read it: kubectl asks for it before it applies a `List`
 * (google/gnostic-models, `openapiv2/OpenAPIv2.proto`; k8s.io/client-go, `discovery.OpenAPISchema`).
 */
import { encodeUtf8 } from "#core/base/encodings.ts";
import { type OpenApiSchema, openApiV2Definitions } from "./openapi.ts";

export const OPENAPI_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** Wire type of texts and messages. */
const LENGTH = 2;
const MORE = 0x80;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= MORE) {
    bytes.push((rest % MORE) + MORE);
    rest = Math.floor(rest / MORE);
  }
  return [...bytes, rest];
}

/** A field that holds a text, or another message. */
function field(number: number, content: Uint8Array | string): Uint8Array {
  const bytes = typeof content === "string" ? encodeUtf8(content) : content;
  const head = varint(number * 8 + LENGTH);
  return join([Uint8Array.from([...head, ...varint(bytes.length)]), bytes]);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** `NamedSchema`s, each in its field 1: what `Definitions` and `Properties` are. */
function namedSchemas(schemas: Iterable<readonly [string, OpenApiSchema]>): Uint8Array {
  const named = [...schemas].map(([name, schema]) =>
    field(1, join([field(1, name), field(2, encodeSchema(schema))])),
  );
  return join(named);
}

/** `NamedAny`, whose value is a text of YAML; JSON is one. */
function extension(name: string, value: unknown): Uint8Array {
  return join([field(1, name), field(2, field(2, JSON.stringify(value)))]);
}

/** A `Schema`; the numbers are those of its fields. */
function encodeSchema(schema: OpenApiSchema): Uint8Array {
  const { $ref, type, format, description, items, additionalProperties, properties } = schema;
  const kinds = schema["x-kubernetes-group-version-kind"];
  return join([
    ...($ref === undefined ? [] : [field(1, $ref)]),
    ...(format === undefined ? [] : [field(2, format)]),
    ...(description === undefined ? [] : [field(4, description)]),
    ...(additionalProperties === undefined ? [] : [field(21, field(1, encodeSchema(additionalProperties)))]),
    ...(type === undefined ? [] : [field(22, field(1, type))]),
    ...(items === undefined ? [] : [field(23, field(1, encodeSchema(items)))]),
    ...(properties === undefined ? [] : [field(25, namedSchemas(Object.entries(properties)))]),
    ...(kinds === undefined ? [] : [field(31, extension("x-kubernetes-group-version-kind", kinds))]),
  ]);
}

/** The whole `Document`. */
export function openApiV2Protobuf(): Uint8Array {
  const info = join([field(1, "Kubernetes"), field(2, "mullion")]);
  const definitions = namedSchemas(openApiV2Definitions());
  return join([field(1, "2.0"), field(2, info), field(8, new Uint8Array()), field(9, definitions)]);
}
