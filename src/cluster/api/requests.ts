/** Bodies of requests, checked at the edge: what comes out of here has the shape that its type says. */
import type { InputText, ObjectReference } from "../session/session.ts";
import { NODE_ACTIONS, type NodeAction, type NodeChange } from "../life/node-change.ts";
import { RESTART_STATES } from "#contracts/hcn/faults/fault.ts";
import type {
  ApplyRequest,
  ControlPlaneRequest,
  DeleteRequest,
  NodeRequest,
  TimeRequest,
  TraceQuestion,
} from "./documents.ts";
import { KUBE_KINDS } from "./kube-kinds.ts";
import { RequestFields, refuseRequest } from "./request-fields.ts";

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
  const found = KUBE_KINDS.find((each) => each.kind === kind);
  if (found === undefined) {
    return refuseRequest(
      `${where}.kind cannot be ${JSON.stringify(kind)}`,
      `Write one of: ${KUBE_KINDS.map((each) => each.kind).join(", ")}.`,
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

export function readApplyRequest(body: unknown): ApplyRequest {
  const fields = RequestFields.of(body, INPUT_FIELDS);
  const inputs = fields.optionalList("inputs", readInput) ?? [];
  if (inputs.length === 0) refuseRequest("inputs must be a list of texts", "Give at least one manifest.");
  return { inputs, ...withNamespace(fields.optionalText("namespace")) };
}

export function readDeleteRequest(body: unknown): DeleteRequest {
  const fields = RequestFields.of(body, [...INPUT_FIELDS, "references"]);
  const inputs = fields.optionalList("inputs", readInput) ?? [];
  const references = fields.optionalList("references", readReference) ?? [];
  if (inputs.length + references.length === 0)
    refuseRequest("the request names nothing to delete", "Give references, inputs, or both.");
  return { inputs, references, ...withNamespace(fields.optionalText("namespace")) };
}

export function readTimeRequest(body: unknown): TimeRequest {
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

export function readNodeRequest(body: unknown): NodeRequest {
  const all = ["node", "do", ...Object.values(CHANGE_FIELDS).flat()];
  const action = RequestFields.of(body, all).optionalChoice("do", NODE_ACTIONS);
  if (action === undefined)
    return refuseRequest("do is missing", `Say what happens: one of ${NODE_ACTIONS.join(", ")}.`);
  const fields = RequestFields.of(body, ["node", "do", ...CHANGE_FIELDS[action]]);
  return { node: fields.text("node"), ...readChange(fields, action) };
}

export function readControlPlaneRequest(body: unknown): ControlPlaneRequest {
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
  const protocol = fields.optionalChoice("protocol", ["tcp", "udp", "icmp"]) ?? "tcp";
  const family = fields.optionalChoice("family", ["ipv4", "ipv6"]);
  const port = fields.optionalInteger("port", 1, PORT_MAX);
  if (protocol === "icmp" && port !== undefined)
    refuseRequest("ICMP has no ports", "Leave out port, or choose protocol tcp.");
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
