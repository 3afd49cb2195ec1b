/**
 * Bodies of requests, checked at the edge against their shapes: what comes out of here has the shape that its type says.
 * Unknown fields are refused: a setting that silently does nothing costs hours.
 */
import type { ObjectReference } from "../session/session.ts";
import { NODE_REQUEST, type NodeRequest } from "../life/node-change.ts";
import {
  DELETE_REQUEST,
  type DeleteBody,
  EMPTY_REQUEST,
  TRACE_REQUEST,
  type TraceQuestion,
} from "./documents.ts";
import { KUBE_KIND_TABLE } from "./kube-kinds.ts";
import { isFields } from "#core/base/json.ts";
import {
  type Field,
  type ObjectShape,
  describe,
  type Shape,
  type ValueOf,
  fieldOf,
  fieldsOf,
  isChoice,
  resolveShape,
} from "#core/base/shape.ts";
import { adviseName } from "#core/base/nearest-name.ts";
import { ApiError } from "./error-details.ts";

const BAD_REQUEST = 400;

/** @throws ApiError 400 `api-request-invalid`. */
export function refuseRequest(message: string, advice: string): never {
  throw new ApiError(BAD_REQUEST, "api-request-invalid", message, advice);
}

function nameType(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}

const SEE_SCHEMA =
  "The schema of all requests is schemas/api.v1alpha1.json, or GET /v1alpha1/schemas/api.v1alpha1.json.";

function refuseValue(where: string, expected: string, value: unknown): never {
  const found = value === undefined ? "is missing" : `is ${nameType(value)}`;
  return refuseRequest(`${where} must be ${expected} and ${found}`, SEE_SCHEMA);
}

/** Refuses fields that none of the shapes has. */
function requireObject(
  value: unknown,
  known: readonly string[],
  where: string,
): Readonly<Record<string, unknown>> {
  if (!isFields(value)) {
    const what = where === "" ? "the body" : where;
    return refuseRequest(`${what} must be a JSON object, but is ${nameType(value)}`, SEE_SCHEMA);
  }
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue;
    const advice = adviseName(field, known, `Fields are: ${known.join(", ")}.`);
    refuseRequest(`there is no field ${JSON.stringify(inside(where, field))}`, advice);
  }
  return value;
}

function inside(where: string, field: string): string {
  return where === "" ? field : `${where}.${field}`;
}

function checkObject(shape: ObjectShape, value: unknown, where: string): void {
  const { required, optional } = fieldsOf(shape);
  const fields = requireObject(value, [...Object.keys(required), ...Object.keys(optional)], where);
  for (const [name, field] of Object.entries(required)) checkField(field, fields[name], inside(where, name));
  for (const [name, field] of Object.entries(optional))
    if (fields[name] !== undefined) checkField(field, fields[name], inside(where, name));
}

function checkField(field: Field, value: unknown, where: string): void {
  const { is, min, max, text } = fieldOf(field);
  if (min === undefined || max === undefined) return checkValue(is, value, where);
  if (value === undefined)
    refuseRequest(`${where} is missing`, describe(text ?? `Write a number from ${min} to ${max}.`));
  const isGood = typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
  if (!isGood) refuseValue(where, `a whole number from ${min} to ${max}`, value);
}

function checkChoice(choices: readonly unknown[], value: unknown, where: string): void {
  if (choices.some((each) => each === value)) return;
  const advice = `Write one of: ${choices.join(", ")}.`;
  if (value === undefined) refuseRequest(`${where} is missing`, advice);
  if (typeof value !== "string") refuseValue(where, "a text", value);
  refuseRequest(`${where} cannot be ${JSON.stringify(value)}`, advice);
}

/** @throws ApiError for a value that is none of the shape; what requests do not consist of is a fault of ours. */
function checkValue(given: Shape, value: unknown, where: string): void {
  const shape = resolveShape(given);
  if (shape === "text") {
    if (typeof value !== "string") refuseValue(where, "a text", value);
  } else if (shape === "words") {
    if (typeof value !== "string") refuseValue(where, "a text", value);
    if (value === "") refuseRequest(`${where} is empty`, "Name the object.");
  } else if (shape === "boolean") {
    if (typeof value !== "boolean") refuseValue(where, "true or false", value);
  } else if (isChoice(shape)) {
    checkChoice(shape, value, where);
  } else if (typeof shape === "object" && "list" in shape) {
    if (!Array.isArray(value)) refuseValue(where, "a list", value);
    value.forEach((item, index) => {
      checkValue(shape.list, item, `${where}[${index}]`);
    });
    if (value.length < (shape.min ?? 0)) refuseRequest(`${where} is empty`, "Give at least one.");
  } else if (typeof shape === "object" && "fields" in shape) {
    checkObject(shape, value, where);
  } else {
    throw new Error(`requests have no values such as ${where}`);
  }
}

/** A body of this shape. @throws ApiError 400 `api-request-invalid`. */
export function readRequest<S extends ObjectShape>(shape: S, body: unknown): ValueOf<S> {
  checkObject(shape, body, "");
  return body as ValueOf<S>;
}

type NamedObject = NonNullable<DeleteBody["references"]>[number];

function referenceOf({ kind, name, namespace = "default" }: NamedObject, index: number): ObjectReference {
  const found = KUBE_KIND_TABLE.find((each) => each.kind === kind);
  if (found === undefined) {
    return refuseRequest(
      `references[${index}].kind cannot be ${JSON.stringify(kind)}`,
      `Write one of: ${KUBE_KIND_TABLE.map((each) => each.kind).join(", ")}.`,
    );
  }
  return { kind: found.kind, namespace: found.isNamespaced ? namespace : "", name };
}

/** What is to be deleted, with whole references. */
export function readDeleteRequest(
  body: unknown,
): Omit<DeleteBody, "references"> & { readonly references: readonly ObjectReference[] } {
  const { references = [], ...rest } = readRequest(DELETE_REQUEST, body);
  if (references.length + (rest.inputs ?? []).length === 0)
    refuseRequest("the request names nothing to delete", "Give references, inputs, or both.");
  return { ...rest, references: references.map(referenceOf) };
}

/** Each action has its own fields. */
export function readNodeRequest(body: unknown): NodeRequest {
  const shapes: readonly ObjectShape[] = NODE_REQUEST.oneOf;
  const all = shapes
    .map(fieldsOf)
    .flatMap(({ required, optional }) => Object.keys({ ...required, ...optional }));
  const action = requireObject(body, [...new Set(all)], "")["do"];
  const actions = NODE_REQUEST.oneOf.map(({ fields }) => fields.do[0]);
  checkChoice(actions, action, "do");
  const index = actions.findIndex((each) => each === action);
  checkObject(shapes[index] ?? EMPTY_REQUEST, body, "");
  return body as NodeRequest;
}

export function readTraceQuestion(body: unknown): TraceQuestion {
  const question = readRequest(TRACE_REQUEST, body);
  const { protocol = "tcp", port } = question;
  if (protocol === "icmp" && port !== undefined)
    refuseRequest("ICMP has no ports", "Leave out port, or choose protocol tcp.");
  if (protocol === "dns" && port !== undefined)
    refuseRequest("a lookup asks on port 53", "Leave out port, or choose protocol udp.");
  return { ...question, protocol };
}
