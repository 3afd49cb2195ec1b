/**
 * What the API says it has: versions, groups and resources, and the schemas of the served kinds, for `kubectl explain`, `kubectl apply` and clients that check what they send: OpenAPI v3
 * by group and version, and v2 as one document. They say names and types of fields, from the messages in
 * contracts/kubernetes/messages.ts, and what those that matter for networks are, from data/facts/api-fields.yaml. Schemas are called as in k8s.io/kubernetes, `api/openapi-spec`.
 */
import { encodeUtf8 } from "#core/base/encodings.ts";
import { apiFields } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { Messages } from "#contracts/kubernetes/messages.ts";
import { SERVED_RESOURCES, type ServedResource, apiVersionOf } from "./served-resources.ts";
import { controlPlane } from "#data/words.js";
import { isScaled } from "./scale.ts";

const WORDS = controlPlane();

/** What of JSON Schema both versions share. */
interface OpenApiSchema {
  readonly $ref?: string;
  readonly type?: "array" | "boolean" | "integer" | "object" | "string";
  readonly format?: string;
  readonly description?: string;
  /** One, beside a description: what stands beside a `$ref` counts for nothing in v3. */
  readonly allOf?: readonly OpenApiSchema[];
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly "x-kubernetes-group-version-kind"?: readonly object[];
}

const SCALARS: Readonly<Record<string, OpenApiSchema>> = {
  string: { type: "string" },
  bool: { type: "boolean" },
  bytes: { type: "string", format: "byte" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
};

/** Messages that are one value in JSON. */
const VALUES: Readonly<Record<string, OpenApiSchema>> = {
  "meta/v1.Time": { type: "string", format: "date-time" },
  "meta/v1.MicroTime": { type: "string", format: "date-time" },
  "meta/v1.FieldsV1": { type: "object" },
  "intstr.IntOrString": { type: "string", format: "int-or-string" },
  "resource.Quantity": { type: "string" },
  "runtime.RawExtension": { type: "object" },
};

/** Packages of Go by their short names: how their schemas begin. */
const PACKAGES: Readonly<Record<string, string>> = {
  v1: "io.k8s.api.core.v1",
  "apps/v1": "io.k8s.api.apps.v1",
  "batch/v1": "io.k8s.api.batch.v1",
  "coordination.k8s.io/v1": "io.k8s.api.coordination.v1",
  "discovery.k8s.io/v1": "io.k8s.api.discovery.v1",
  "events.k8s.io/v1": "io.k8s.api.events.v1",
  "networking.k8s.io/v1": "io.k8s.api.networking.v1",
  "node.k8s.io/v1": "io.k8s.api.node.v1",
  "meta/v1": "io.k8s.apimachinery.pkg.apis.meta.v1",
  intstr: "io.k8s.apimachinery.pkg.util.intstr",
  resource: "io.k8s.apimachinery.pkg.api.resource",
  runtime: "io.k8s.apimachinery.pkg.runtime",
};

/** `apps/v1.Deployment` as `io.k8s.api.apps.v1.Deployment`. */
function schemaName(message: string): string {
  const dot = message.lastIndexOf(".");
  return `${PACKAGES[message.slice(0, dot)] ?? message.slice(0, dot)}${message.slice(dot)}`;
}

type OpenApiVersion = 2 | 3;

/** Where references look. */
const REFERENCES: Readonly<Record<OpenApiVersion, string>> = {
  2: "#/definitions/",
  3: "#/components/schemas/",
};

/** Fields that no message has, because every kind does. */
const TYPE_FIELDS: Readonly<Record<string, OpenApiSchema>> = {
  apiVersion: { type: "string", description: "The group and version of the kind, such as apps/v1." },
  kind: { type: "string", description: "What the object is, such as Pod." },
};

const METADATA = "The object's name, its namespace, labels and annotations.";

/** What messages and their fields are, by message; the name `""` is the message itself. */
export function fieldDescriptions(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const textsOf = (fields: CheckedFields): ReadonlyMap<string, string> =>
    new Map(fields.names().map((name) => [name, fields.text(name)]));
  return new Map(
    CheckedFields.ofTable(apiFields())
      .rows()
      .map(([name, fields]) => [name, textsOf(fields)]),
  );
}

/** Builds the schemas that some messages consist of. */
class Schemas {
  readonly built = new Map<string, OpenApiSchema>();
  private readonly version: OpenApiVersion;
  private readonly descriptions = fieldDescriptions();
  private readonly messages = new Messages();

  constructor(version: OpenApiVersion) {
    this.version = version;
  }

  /** What is known of a field; of the message itself without a name. */
  private describe(message: string, field: string): Pick<OpenApiSchema, "description"> {
    const own = this.descriptions.get(message)?.get(field);
    const description = own ?? (field === "metadata" ? METADATA : undefined);
    return description === undefined ? {} : { description };
  }

  private typeOf(type: string): OpenApiSchema {
    const scalar = SCALARS[type];
    if (scalar !== undefined) return scalar;
    this.build(type);
    return { $ref: `${REFERENCES[this.version]}${schemaName(type)}` };
  }

  private propertiesOf(message: string): readonly (readonly [string, OpenApiSchema])[] {
    return this.messages.fieldsOf(message).flatMap(({ name, type, form }) => {
      if (form === "inline") return this.propertiesOf(type);
      const value = this.typeOf(type);
      const description = this.describe(message, name);
      if (form === "list") return [[name, { ...description, type: "array", items: value }] as const];
      if (form === "mapping")
        return [[name, { ...description, type: "object", additionalProperties: value }] as const];
      const isWrapped =
        this.version === 3 && value.$ref !== undefined && description.description !== undefined;
      return [[name, isWrapped ? { ...description, allOf: [value] } : { ...description, ...value }] as const];
    });
  }

  /** The schema of a message and of all that it refers to; `more` stands in it besides. */
  build(message: string, more: OpenApiSchema = {}): void {
    const name = schemaName(message);
    if (this.built.has(name)) return;
    // Before its fields, because messages may hold themselves.
    this.built.set(name, {});
    const value = VALUES[message];
    const fields = Object.fromEntries(this.propertiesOf(message));
    const properties = { ...more.properties, ...fields };
    this.built.set(name, value ?? { type: "object", ...more, ...this.describe(message, ""), properties });
  }
}

const DESCRIPTION = WORDS.openapiDescription;

function schemasOf(
  resources: readonly ServedResource[],
  openApi: OpenApiVersion,
): ReadonlyMap<string, OpenApiSchema> {
  const schemas = new Schemas(openApi);
  for (const resource of resources) {
    const { group, version, kind } = resource;
    schemas.build(`${apiVersionOf(resource)}.${kind}`, {
      description: DESCRIPTION,
      properties: TYPE_FIELDS,
      "x-kubernetes-group-version-kind": [{ group, version, kind }],
    });
  }
  return schemas.built;
}

const FIELD_VALIDATION = [{ name: "fieldValidation", in: "query", schema: { type: "string" } }];

/** Where explain looks for the kind of a resource, and apply for `fieldValidation`. */
function pathsOf(resource: ServedResource, root: string): readonly (readonly [string, object])[] {
  const { plural, isNamespaced, group, version, kind } = resource;
  const inside = isNamespaced ? "/namespaces/{namespace}" : "";
  const common = {
    responses: { 200: { description: "OK" } },
    "x-kubernetes-group-version-kind": { group, version, kind },
  };
  const operation = (action: string, parameters: readonly object[] = []): object => ({
    operationId: `${action}${kind}`,
    parameters,
    ...common,
    "x-kubernetes-action": action,
  });
  const collection = { get: operation("list"), post: operation("post", FIELD_VALIDATION) };
  const single = {
    get: operation("get"),
    put: operation("put", FIELD_VALIDATION),
    patch: operation("patch", FIELD_VALIDATION),
    delete: operation("delete"),
  };
  const path = `/${root}${inside}/${plural}`;
  return [
    [path, collection],
    [`${path}/{name}`, single],
  ];
}

/** The document of one group and version; `root` is its path, such as `apis/apps/v1`. */
function openApiV3(groupVersion: string, root: string): object {
  const resources = SERVED_RESOURCES.filter((each) => apiVersionOf(each) === groupVersion);
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "mullion" },
    paths: Object.fromEntries(resources.flatMap((resource) => pathsOf(resource, root))),
    components: { schemas: Object.fromEntries(schemasOf(resources, 3)) },
  };
}

/** The schemas of all kinds by name, for v2, whose references look under `#/definitions/`. */
function openApiV2Definitions(): ReadonlyMap<string, OpenApiSchema> {
  return schemasOf(SERVED_RESOURCES, 2);
}

function openApiV2(): object {
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: "mullion" },
    paths: {},
    definitions: Object.fromEntries(openApiV2Definitions()),
  };
}

/**
 * OpenAPI v2 in protobuf, the only form in which clients in Go read it: kubectl asks for it before it applies a `List`
 * (google/gnostic-models, `openapiv2/OpenAPIv2.proto`; k8s.io/client-go, `discovery.OpenAPISchema`).
 */
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
function encodeField(number: number, content: Uint8Array | string): Uint8Array {
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
    encodeField(1, join([encodeField(1, name), encodeField(2, encodeSchema(schema))])),
  );
  return join(named);
}

/** `NamedAny`, whose value is a text of YAML; JSON is one. */
function extension(name: string, value: unknown): Uint8Array {
  return join([encodeField(1, name), encodeField(2, encodeField(2, JSON.stringify(value)))]);
}

/** A `Schema`; the numbers are those of its fields. */
function encodeSchema(schema: OpenApiSchema): Uint8Array {
  const { $ref, type, format, description, items, additionalProperties, properties } = schema;
  const kinds = schema["x-kubernetes-group-version-kind"];
  return join([
    ...($ref === undefined ? [] : [encodeField(1, $ref)]),
    ...(format === undefined ? [] : [encodeField(2, format)]),
    ...(description === undefined ? [] : [encodeField(4, description)]),
    ...(additionalProperties === undefined
      ? []
      : [encodeField(21, encodeField(1, encodeSchema(additionalProperties)))]),
    ...(type === undefined ? [] : [encodeField(22, encodeField(1, type))]),
    ...(items === undefined ? [] : [encodeField(23, encodeField(1, encodeSchema(items)))]),
    ...(properties === undefined ? [] : [encodeField(25, namedSchemas(Object.entries(properties)))]),
    ...(kinds === undefined ? [] : [encodeField(31, extension("x-kubernetes-group-version-kind", kinds))]),
  ]);
}

/** The whole `Document`. */
export function openApiV2Protobuf(): Uint8Array {
  const info = join([encodeField(1, "Kubernetes"), encodeField(2, "mullion")]);
  const definitions = namedSchemas(openApiV2Definitions());
  return join([
    encodeField(1, "2.0"),
    encodeField(2, info),
    encodeField(8, new Uint8Array()),
    encodeField(9, definitions),
  ]);
}

// What the emulator's API says it has: versions, groups, resources, schemas.

const VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

function groupsOf(): readonly string[] {
  return [...new Set(SERVED_RESOURCES.map(({ group }) => group))].filter((group) => group !== "");
}

function groupDocument(group: string): object {
  const served = SERVED_RESOURCES.find((each) => each.group === group);
  const version = served?.version ?? "v1";
  const named = { groupVersion: `${group}/${version}`, version };
  return { name: group, versions: [named], preferredVersion: named };
}

function resourceEntries(resource: ServedResource): readonly object[] {
  const { plural, singular, shortNames, isNamespaced, kind, hasStatus } = resource;
  const common = { namespaced: isNamespaced, kind };
  const names = shortNames.length === 0 ? {} : { shortNames };
  const categories = [
    "Pod",
    "Service",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
  ];
  const inAll = categories.includes(kind) ? { categories: ["all"] } : {};
  const entry = { name: plural, singularName: singular, ...common, verbs: VERBS, ...names, ...inAll };
  const status = { name: `${plural}/status`, singularName: "", ...common, verbs: STATUS_VERBS };
  const ofScale = { namespaced: isNamespaced, group: "autoscaling", version: "v1", kind: "Scale" };
  const scale = { name: `${plural}/scale`, singularName: "", ...ofScale, verbs: STATUS_VERBS };
  return [entry, ...(hasStatus ? [status] : []), ...(isScaled(kind) ? [scale] : [])];
}

function resourceList(groupVersion: string): object | undefined {
  const resources = SERVED_RESOURCES.filter((each) => apiVersionOf(each) === groupVersion);
  if (resources.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: resources.flatMap(resourceEntries),
  };
}

function groupVersions(): readonly string[] {
  return [...new Set(SERVED_RESOURCES.map(apiVersionOf))];
}

function rootOf(groupVersion: string): string {
  return groupVersion.includes("/") ? `apis/${groupVersion}` : `api/${groupVersion}`;
}

/** The document at a path; undefined when it is none of discovery. `gitVersion` is `v1.34.4`. */
export function discoveryDocument(path: string, gitVersion: string): object | undefined {
  const groups = groupsOf();
  if (path === "/version") {
    const [, major = "1", minor = "0"] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
    const platform = { goVersion: "none", compiler: "mullion", platform: "linux/amd64" };
    return { major, minor, gitVersion, gitCommit: "", gitTreeState: "clean", buildDate: "", ...platform };
  }
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupDocument) };
  if (path === "/openapi/v2") return openApiV2();
  if (path === "/openapi/v3") {
    const entries = groupVersions().map((each) => {
      const root = rootOf(each);
      return [root, { serverRelativeURL: `/openapi/v3/${root}?hash=mullion` }] as const;
    });
    return { paths: Object.fromEntries(entries) };
  }
  if (path.startsWith("/openapi/v3/")) {
    const wanted = groupVersions().find((each) => path === `/openapi/v3/${rootOf(each)}`);
    return wanted === undefined ? undefined : openApiV3(wanted, rootOf(wanted));
  }
  const [, root, first = "", second] = path.split("/");
  if (root === "api" && second === undefined) return resourceList(first);
  if (root !== "apis") return undefined;
  if (second === undefined) {
    return groups.includes(first)
      ? { kind: "APIGroup", apiVersion: "v1", ...groupDocument(first) }
      : undefined;
  }
  return path.split("/").length === 4 ? resourceList(`${first}/${second}`) : undefined;
}
