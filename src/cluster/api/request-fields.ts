/**
 * Reads the fields of a request's body. Unknown fields are refused: a setting that silently does nothing costs hours.
 */
import { nearestNames } from "#core/base/nearest-name.ts";
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

/** The fields of one object. */
export class RequestFields {
  private readonly value: ReadonlyMap<string, unknown>;
  private readonly where: string;

  private constructor(value: ReadonlyMap<string, unknown>, where: string) {
    this.value = value;
    this.where = where;
  }

  /** @throws ApiError when `value` is no object, or has a field that is not `known`. */
  static of(value: unknown, known: readonly string[], where = ""): RequestFields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      const what = where === "" ? "the body" : where;
      return refuseRequest(`${what} must be a JSON object, but is ${nameType(value)}`, SEE_SCHEMA);
    }
    const fields = new Map<string, unknown>(Object.entries(value));
    for (const field of fields.keys()) {
      if (known.includes(field)) continue;
      const [near] = nearestNames(field, known, 1);
      const advice = near === undefined ? `Fields are: ${known.join(", ")}.` : `Did you mean ${near}?`;
      refuseRequest(
        `there is no field ${JSON.stringify(where === "" ? field : `${where}.${field}`)}`,
        advice,
      );
    }
    return new RequestFields(fields, where);
  }

  private refuse(field: string, expected: string): never {
    const path = this.where === "" ? field : `${this.where}.${field}`;
    const value = this.value.get(field);
    const found = value === undefined ? "is missing" : `is ${nameType(value)}`;
    return refuseRequest(`${path} must be ${expected} and ${found}`, SEE_SCHEMA);
  }

  text(field: string): string {
    const value = this.value.get(field);
    return typeof value === "string" ? value : this.refuse(field, "a text");
  }

  optionalText(field: string): string | undefined {
    return this.value.get(field) === undefined ? undefined : this.text(field);
  }

  /** A text that is one of `allowed`. */
  optionalChoice<T extends string>(field: string, allowed: readonly T[]): T | undefined {
    const text = this.optionalText(field);
    const found = allowed.find((each) => each === text);
    return text === undefined || found !== undefined
      ? found
      : refuseRequest(`${field} cannot be ${JSON.stringify(text)}`, `Write one of: ${allowed.join(", ")}.`);
  }

  optionalFlag(field: string): boolean {
    const value = this.value.get(field);
    if (value === undefined) return false;
    return typeof value === "boolean" ? value : this.refuse(field, "true or false");
  }

  optionalInteger(field: string, from: number, to: number): number | undefined {
    const value = this.value.get(field);
    if (value === undefined) return undefined;
    const isGood = typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;
    return isGood ? value : this.refuse(field, `a whole number from ${from} to ${to}`);
  }

  /** A list of which each item is read by `read`; undefined when the field is absent. */
  optionalList<T>(field: string, read: (item: unknown, where: string) => T): readonly T[] | undefined {
    const value = this.value.get(field);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.refuse(field, "a list");
    return value.map((item, index) => read(item, `${field}[${index}]`));
  }
}
