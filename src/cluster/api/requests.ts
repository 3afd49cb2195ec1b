/**
 * Bodies of requests, checked at the edge: what comes out of here has the shape that its type says. Unknown fields are
 * refused: a setting that silently does nothing costs hours.
 */
import type { InputText, ObjectReference } from "../session/session.ts";
import { NODE_ACTIONS, type NodeAction, type NodeChange } from "../life/node-change.ts";
import { RESTART_STATES } from "#contracts/hcn/faults/fault.ts";
import type {
  ApplyBody,
  ControlPlaneBody,
  DeleteBody,
  NodeBody,
  TimeBody,
  TraceQuestion,
} from "./documents.ts";
import { KUBE_KIND_TABLE } from "./kube-kinds.ts";
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

const PORT_MAX = 65_535;
/** An hour in one request: everything else waits for it. */
export const TIME_MAX_MS = 3_600_000;
const INPUT_FIELDS = ["inputs", "namespace"];

function readInput(item: unknown, where: string): InputText {
  const fields = RequestFields.of(item, ["name", "text"], where);
  return { name: fields.text("name"), text: fields.text("text") };
}

function readReference(item: unknown, where: string): ObjectReference {
  const fields = RequestFields.of(item, ["kind", "namespace", "name"], where);
  const kind = fields.text("kind");
  const found = KUBE_KIND_TABLE.find((each) => each.kind === kind);
  if (found === undefined) {
    return refuseRequest(
      `${where}.kind cannot be ${JSON.stringify(kind)}`,
      `Write one of: ${KUBE_KIND_TABLE.map((each) => each.kind).join(", ")}.`,
    );
  }
  const name = fields.text("name");
  if (name === "") return refuseRequest(`${where}.name is empty`, "Name the object.");
  const namespace = found.isNamespaced ? (fields.optionalText("namespace") ?? "default") : "";
  return { kind: found.kind, namespace, name };
}

function withNamespace(namespace: string | undefined): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

export function readApplyRequest(body: unknown): ApplyBody {
  const fields = RequestFields.of(body, INPUT_FIELDS);
  const inputs = fields.optionalList("inputs", readInput) ?? [];
  if (inputs.length === 0) refuseRequest("inputs must be a list of texts", "Give at least one manifest.");
  return { inputs, ...withNamespace(fields.optionalText("namespace")) };
}

export function readDeleteRequest(body: unknown): DeleteBody {
  const fields = RequestFields.of(body, [...INPUT_FIELDS, "references"]);
  const inputs = fields.optionalList("inputs", readInput) ?? [];
  const references = fields.optionalList("references", readReference) ?? [];
  if (inputs.length + references.length === 0)
    refuseRequest("the request names nothing to delete", "Give references, inputs, or both.");
  return { inputs, references, ...withNamespace(fields.optionalText("namespace")) };
}

export function readTimeRequest(body: unknown): TimeBody {
  const fields = RequestFields.of(body, ["milliseconds"]);
  const milliseconds = fields.optionalInteger("milliseconds", 1, TIME_MAX_MS);
  if (milliseconds !== undefined) return { milliseconds };
  return refuseRequest("milliseconds is missing", `Say how long, from 1 to ${TIME_MAX_MS}.`);
}

/** The fields of a change; each action has its own. */
const CHANGE_FIELDS: Readonly<Record<NodeAction, readonly string[]>> = {
  reboot: [],
  stop: [],
  start: [],
  "restart-hns": ["state"],
  leave: [],
  rejoin: ["podCIDR"],
  "set-clock": ["byMs"],
};
/** A hundred years: further clocks do not jump. */
const CLOCK_MAX_MS = 3_155_760_000_000;

function readChange(fields: RequestFields, action: NodeAction): NodeChange {
  if (action === "restart-hns") {
    const state = fields.optionalChoice("state", RESTART_STATES);
    return { do: action, ...(state === undefined ? {} : { state }) };
  }
  if (action === "rejoin") {
    const podCIDR = fields.optionalText("podCIDR");
    return { do: action, ...(podCIDR === undefined ? {} : { podCIDR }) };
  }
  if (action !== "set-clock") return { do: action };
  const byMs = fields.optionalInteger("byMs", -CLOCK_MAX_MS, CLOCK_MAX_MS);
  if (byMs !== undefined) return { do: action, byMs };
  return refuseRequest("byMs is missing", "Say how far the clock jumps, in milliseconds.");
}

export function readNodeRequest(body: unknown): NodeBody {
  const all = ["node", "do", ...Object.values(CHANGE_FIELDS).flat()];
  const action = RequestFields.of(body, all).optionalChoice("do", NODE_ACTIONS);
  if (action === undefined)
    return refuseRequest("do is missing", `Say what happens: one of ${NODE_ACTIONS.join(", ")}.`);
  const fields = RequestFields.of(body, ["node", "do", ...CHANGE_FIELDS[action]]);
  return { node: fields.text("node"), ...readChange(fields, action) };
}

export function readControlPlaneRequest(body: unknown): ControlPlaneBody {
  const apiServer = RequestFields.of(body, ["apiServer"]).optionalChoice("apiServer", ["up", "down"]);
  if (apiServer !== undefined) return { apiServer };
  return refuseRequest("apiServer is missing", "Write up or down.");
}

/** A question without settings. */
export function readEmptyRequest(body: unknown): void {
  RequestFields.of(body, []);
}

function withText<Name extends string>(name: Name, text: string | undefined): Partial<Record<Name, string>> {
  return text === undefined ? {} : ({ [name]: text } as Record<Name, string>);
}

export function readTraceQuestion(body: unknown): TraceQuestion {
  const fields = RequestFields.of(body, [
    "from",
    "to",
    "protocol",
    "family",
    "port",
    "capture",
    "inject",
    "captureNode",
    "capturePlace",
  ]);
  const protocol = fields.optionalChoice("protocol", ["tcp", "udp", "icmp", "dns"]) ?? "tcp";
  const family = fields.optionalChoice("family", ["ipv4", "ipv6"]);
  const port = fields.optionalInteger("port", 1, PORT_MAX);
  if (protocol === "icmp" && port !== undefined)
    refuseRequest("ICMP has no ports", "Leave out port, or choose protocol tcp.");
  if (protocol === "dns" && port !== undefined)
    refuseRequest("a lookup asks on port 53", "Leave out port, or choose protocol udp.");
  return {
    from: fields.text("from"),
    to: fields.text("to"),
    protocol,
    ...(family === undefined ? {} : { family }),
    ...(port === undefined ? {} : { port }),
    capture: fields.optionalFlag("capture"),
    inject: fields.optionalFlag("inject"),
    ...withText("captureNode", fields.optionalText("captureNode")),
    ...withText("capturePlace", fields.optionalText("capturePlace")),
  };
}
