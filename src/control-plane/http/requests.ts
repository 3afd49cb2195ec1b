/** Bodies and parameters of requests to the emulator's API, checked. */
import { LIMITS } from "#core/base/limits.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import { showValue } from "../load/checks/field-check.ts";
import { isNestedDeeper } from "#contracts/kubernetes/text/json-pieces.ts";
import { readAnyYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import type {
  DeleteOptions,
  JsonPatchOperation,
  KubePatch,
  WriteOptions,
} from "#contracts/kubernetes/source.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { type RequestTarget, apiVersionOf } from "./served-resources.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

const UNSUPPORTED_MEDIA = 415;
const METHOD_NOT_ALLOWED = 405;

export function badRequest(message: string): KubeError {
  return new KubeError("kubernetes-request-invalid", 400, message);
}

export function unsupportedMedia(message: string): KubeError {
  return new KubeError("kubernetes-request-invalid", UNSUPPORTED_MEDIA, message);
}

export function methodNotAllowed(): KubeError {
  return new KubeError(
    "kubernetes-request-invalid",
    METHOD_NOT_ALLOWED,
    "the server does not allow this method on the requested resource",
  );
}

/** No such path, resource or subresource. */
export function unknownResource(): KubeError {
  return new KubeError("object-not-found", 404, "the server could not find the requested resource");
}

/** The media type without its parameters. */
function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

const PROTOBUF = "application/vnd.kubernetes.protobuf";

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("the body is not written in UTF-8");
  }
}

/** The value of a body in JSON, YAML or protobuf. @throws KubeError. */
export function parseBody(bytes: Uint8Array, contentType: string | undefined): unknown {
  const type = mediaTypeOf(contentType);
  return type === PROTOBUF ? decodeProtobuf(bytes) : parseText(decodeText(bytes), type);
}

function parseText(text: string, type: string): unknown {
  if (type === "application/yaml") return parseYaml(text);
  if (type !== "" && !type.endsWith("json")) {
    throw unsupportedMedia(WORDS.bodyMediaTypeUnsupported({ protobuf: PROTOBUF }));
  }
  if (isNestedDeeper(text, LIMITS.documentDepthMax))
    throw badRequest(`the body is nested more than ${LIMITS.documentDepthMax} levels deep`);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${error instanceof Error ? error.message : ""}`);
  }
}

function parseYaml(text: string): unknown {
  const reading = readAnyYaml(text);
  if ("faults" in reading) throw badRequest(reading.faults[0]?.message ?? "the body is not YAML");
  return reading.values[0];
}

/** A patch by its media type. @throws KubeError `kubernetes-request-invalid`. */
export function readPatch(bytes: Uint8Array, contentType: string | undefined): KubePatch {
  const type = mediaTypeOf(contentType);
  const names: Readonly<Record<string, KubePatch["type"]>> = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
  };
  const kind = Object.hasOwn(names, type) ? names[type] : undefined;
  if (kind === undefined) {
    const applied = type.startsWith("application/apply-patch")
      ? " Server-side apply is not served here; leave out --server-side."
      : "";
    throw unsupportedMedia(
      WORDS.patchMediaTypeUnsupported({ types: Object.keys(names).join(", "), applied }),
    );
  }
  const body = parseText(decodeText(bytes), "application/json");
  if (kind === "json") {
    if (!Array.isArray(body)) throw badRequest("a JSON patch is a list of operations");
    return { type: kind, body: body as readonly JsonPatchOperation[] };
  }
  if (!isFields(body)) throw badRequest("the patch is not a mapping");
  return { type: kind, body };
}

/** The body of a write with the name and the namespace of its path. @throws KubeError when they contradict each other. */
export function placed(value: unknown, { resource, namespace, name }: RequestTarget): Fields {
  if (!isFields(value)) throw badRequest("the object provided is unrecognized: it is not a mapping");
  const { apiVersion, kind, metadata = {} } = value;
  if (apiVersion === undefined || kind === undefined) throw badRequest(WORDS.objectUnrecognized);
  if (!isFields(metadata)) throw badRequest("metadata is not a mapping");
  const given = metadata["namespace"];
  if (resource.isNamespaced && given !== undefined && given !== "" && given !== namespace) {
    throw badRequest(WORDS.namespaceMismatch);
  }
  if (name !== undefined && metadata["name"] !== name) {
    throw badRequest(WORDS.nameMismatch({ objectName: showValue(metadata["name"]), name }));
  }
  if (apiVersion !== apiVersionOf(resource) || kind !== resource.kind) {
    throw badRequest(
      WORDS.typeMismatch({
        apiVersion: showValue(apiVersion),
        kind: showValue(kind),
        expectedApiVersion: apiVersionOf(resource),
        expectedKind: resource.kind,
      }),
    );
  }
  return { ...value, metadata: resource.isNamespaced ? { ...metadata, namespace } : metadata };
}

/** What may be written at a path. @throws KubeError for a subresource that is not served. */
export function writeOptionsOf({ resource, subresource }: RequestTarget): WriteOptions {
  if (subresource === undefined) return {};
  if (subresource === "status" && resource.hasStatus) return { subresource };
  throw unknownResource();
}

/** Whether a change is only to be tried. @throws KubeError `kubernetes-request-invalid`. */
export function isDryRun(query: (name: string) => string | undefined): boolean {
  const text = query("dryRun") ?? "";
  if (text === "" || text === "All") return text === "All";
  throw badRequest(`Invalid value: ${JSON.stringify(text)}: supported values: "All"`);
}

/** What a deletion depends on, and whether it is only to be tried. */
export function readDeleteOptions(
  bytes: Uint8Array,
  contentType: string | undefined,
  query: (name: string) => string | undefined,
): DeleteOptions & { readonly isDry: boolean } {
  const body = bytes.length === 0 ? {} : parseBody(bytes, contentType);
  if (!isFields(body)) throw badRequest("the options of a deletion are a mapping");
  const { preconditions = {}, dryRun = [], propagationPolicy = query("propagationPolicy") } = body;
  if (propagationPolicy === "Orphan") throw badRequest(WORDS.orphanUnsupported);
  if (!isFields(preconditions)) throw badRequest("preconditions are a mapping");
  const { uid, resourceVersion } = preconditions;
  return {
    isDry: Array.isArray(dryRun) && dryRun.includes("All"),
    ...(typeof uid === "string" ? { uid } : {}),
    ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
  };
}

// Errors and good news as the API's `Status` objects (k8s.io/apimachinery, `meta/v1.Status`).

const INTERNAL = 500;

export interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly uid?: string;
}

/** A `Status`, as far as the server reads it itself. */
export interface FailureStatus {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: object;
  readonly status: "Failure";
  readonly message: string;
  readonly reason: string;
  readonly details: object;
  readonly code: number;
}

/** The `Status` of an error, with what it is about. An error that is none of the API's is not described. */
export function statusOf(error: unknown, about: StatusDetails = {}): FailureStatus {
  const known =
    error instanceof KubeError
      ? error
      : new KubeError("kubernetes-unreachable", INTERNAL, "Internal error occurred: see the server's log", {
          reason: "InternalError",
        });
  const { message, reason, status, causes, subject, retryAfterSeconds } = known;
  const reported = causes.map((cause) => ({ reason: "FieldValueInvalid", ...cause }));
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    details: {
      ...about,
      ...subject,
      ...(reported.length === 0 ? {} : { causes: reported }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
    code: status,
  };
}

export function successStatus(details: StatusDetails): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}
