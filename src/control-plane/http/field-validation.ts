/**
 * What becomes of fields that a kind does not have, as a client asks for with `fieldValidation` (Kubernetes documentation:
 * API concepts, "Field validation"): they are dropped, with a warning each unless the client ignores them, or refused.
 */
import type { Fields } from "#core/base/json.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KubePatch } from "#contracts/kubernetes/source.ts";
import { formatPath, stepsOf } from "#contracts/kubernetes/text/field-path.ts";
import { ObjectFields, type UnknownField, fillNulls } from "#contracts/kubernetes/object-fields.ts";
import { badRequest } from "./requests.ts";
import { type ServedResource, apiVersionOf } from "./served-resources.ts";

/** The default is that of a server: clients such as kubectl ask for Strict. */
const DIRECTIVES = ["Ignore", "Strict", "Warn"] as const;
type Directive = (typeof DIRECTIVES)[number];

const UNPROCESSABLE = 422;

/** What is sent, without what no kind has, and what the client is told. */
export interface Validated<T> {
  readonly value: T;
  readonly warnings: readonly string[];
}

function directiveOf(text: string): Directive {
  const directive = text === "" ? "Warn" : DIRECTIVES.find((each) => each === text);
  if (directive !== undefined) return directive;
  const supported = DIRECTIVES.map((each) => JSON.stringify(each)).join(", ");
  throw badRequest(
    `fieldValidation: Unsupported value: ${JSON.stringify(text)}: supported values: ${supported}`,
  );
}

function messageOf({ path }: UnknownField): string {
  return `unknown field ${JSON.stringify(formatPath(path))}`;
}

/** A copy of the value without what stands at the paths. */
function without<T>(value: T, fields: readonly UnknownField[]): T {
  const copy = structuredClone(value);
  for (const { path } of fields) {
    const steps = stepsOf(path);
    const last = steps.pop();
    let at: unknown = copy;
    for (const step of steps) at = (at as Record<string | number, unknown>)[step];
    if (last !== undefined) delete (at as Record<string | number, unknown>)[last];
  }
  return copy;
}

export class FieldValidation {
  private readonly fields = new ObjectFields();

  /** Of an object that is created or replaced. @throws KubeError `kubernetes-request-invalid` (400). */
  ofObject(object: Fields, directive: string): Validated<Fields> {
    const findings = this.fields.find(object);
    fillNulls(findings);
    const found = findings.unknown;
    const answer = this.answer(object, found, directiveOf(directive));
    if (answer !== undefined) return answer;
    const { apiVersion, kind } = object;
    const version = String(apiVersion).split("/").pop() ?? "";
    throw badRequest(
      `${String(kind)} in version ${JSON.stringify(version)} cannot be handled as a ${String(kind)}: ${strictError(found)}`,
    );
  }

  /** Of a patch; one of operations is taken as it is. @throws KubeError `object-refused` (422). */
  ofPatch(patch: KubePatch, resource: ServedResource, directive: string): Validated<KubePatch> {
    const asked = directiveOf(directive);
    if (patch.type === "json") return { value: patch, warnings: [] };
    const { body } = patch;
    const { unknown: found } = this.fields.find({
      ...body,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
    });
    const answer = this.answer(body, found, asked);
    if (answer !== undefined) return { ...answer, value: { ...patch, body: answer.value } };
    const shown = JSON.stringify(JSON.stringify(body));
    throw new KubeError(
      "object-refused",
      UNPROCESSABLE,
      `"" is invalid: patch: Invalid value: ${shown}: ${strictError(found)}`,
    );
  }

  /** Undefined: the client wants it refused. */
  private answer<T>(
    value: T,
    found: readonly UnknownField[],
    directive: Directive,
  ): Validated<T> | undefined {
    if (found.length === 0) return { value, warnings: [] };
    if (directive === "Strict") return undefined;
    const warnings = directive === "Warn" ? found.map(messageOf) : [];
    return { value: without(value, found), warnings };
  }
}

function strictError(found: readonly UnknownField[]): string {
  return `strict decoding error: ${found.map(messageOf).join(", ")}`;
}

/** Headers that carry warnings (RFC 7234, 5.5). */
export function warningHeaders(warnings: readonly string[]): readonly (readonly [string, string])[] {
  return warnings.map((warning) => ["warning", `299 - ${JSON.stringify(warning)}`]);
}
