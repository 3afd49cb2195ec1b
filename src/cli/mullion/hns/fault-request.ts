/** What `mullion hns fault` and `mullion hns quirk` are asked to do. */
import type { FaultEffectName, HnsFault, RestartState } from "#hns/failures/faults/fault.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { EFFECT_FIELDS } from "#hns/failures/faults/fault-fields.ts";
import { readFault } from "#hns/failures/faults/read-fault.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import { parseDuration } from "../duration.ts";
import { Failure } from "../failure.ts";
import type { ListFormat } from "../table.ts";
import type { HnsServiceTarget } from "./connect.ts";

export type HnsFaultAction =
  | { readonly verb: "add"; readonly fault: HnsFault; readonly seed: string | undefined }
  | { readonly verb: "apply"; readonly files: readonly string[] }
  | { readonly verb: "list"; readonly output: ListFormat }
  | { readonly verb: "remove"; readonly ids: readonly string[] }
  | { readonly verb: "clear" }
  | { readonly verb: "release"; readonly id: string | undefined }
  | { readonly verb: "forget-loadbalancers"; readonly ids: readonly string[] }
  | { readonly verb: "restart"; readonly state: RestartState | undefined }
  | { readonly verb: "reboot" }
  | { readonly verb: "list-quirks"; readonly output: ListFormat }
  | {
      readonly verb: "set-quirks";
      readonly settings: readonly { readonly name: QuirkName; readonly setting: QuirkSetting }[];
    };

export interface HnsFaultRequest {
  readonly target: HnsServiceTarget;
  readonly action: HnsFaultAction;
}

/** Options of `add`, as commander hands them over: texts, and `true` for switches. */
export type FaultOptions = Readonly<Record<string, string | boolean | undefined>>;

/** Options that are fields of `calls`; `--object` is an id there, and a field of its own for `degrade`. */
const CALL_OPTIONS: Readonly<Record<string, string>> = {
  operation: "operation",
  kind: "kind",
  object: "id",
  name: "name",
  method: "method",
  path: "path",
};

/** Options that are fields of the fault itself. */
const FAULT_OPTIONS: Readonly<Record<string, string>> = {
  id: "id",
  error: "error",
  carriedOut: "carriedOut",
  delay: "delayMs",
  jitter: "jitterMs",
  model: "model",
  factor: "factor",
  state: "state",
  down: "downMs",
  network: "network",
  address: "address",
  nth: "nth",
  after: "after",
  every: "every",
  rate: "rate",
  times: "times",
};

const NUMBERS: readonly string[] = ["factor", "nth", "after", "every", "rate", "times"];
/** In milliseconds in the document, and when they come as numbers alone. */
const DURATIONS: readonly string[] = ["delayMs", "jitterMs", "downMs"];

function valueOf(option: string, field: string, value: string | boolean): JsonValue {
  if (typeof value === "boolean") return value;
  if (DURATIONS.includes(field)) return parseDuration(value, { name: `--${option}`, bare: "ms" });
  if (!NUMBERS.includes(field)) return value;
  const number = Number(value);
  return value.trim() === "" || Number.isNaN(number) ? value : number;
}

function pick(options: FaultOptions, names: Readonly<Record<string, string>>): Record<string, JsonValue> {
  const picked: Record<string, JsonValue> = {};
  for (const [option, field] of Object.entries(names)) {
    const value = options[option];
    if (value !== undefined) picked[field] = valueOf(option, field, value);
  }
  return picked;
}

/** The document that a command line describes. */
export function faultDocument(effect: string, options: FaultOptions): JsonObject {
  const fields = pick(options, FAULT_OPTIONS);
  const calls = pick(options, CALL_OPTIONS);
  if (effect === "degrade") {
    const { id, ...others } = calls;
    return { effect, ...fields, ...others, ...(id !== undefined && { object: id }) };
  }
  return { effect, ...fields, ...(Object.keys(calls).length > 0 && { calls }) };
}

/** Names of effects, for help and messages. */
export const EFFECT_NAMES: readonly FaultEffectName[] = Object.keys(EFFECT_FIELDS) as FaultEffectName[];

/** What is wrong with a fault, in the words of the command line. */
export function asFaultFailure(error: unknown): unknown {
  if (!(error instanceof HcnError) || error.explanation !== "hns-fault-invalid") return error;
  return new Failure(
    "hns-fault-invalid",
    error.detail ?? error.message,
    "See: mullion hns fault add --help, and docs/reference/hns-faults.md.",
  );
}

/** The fault that a command line describes. @throws Failure. */
export function parseFaultOptions(effect: string, options: FaultOptions): HnsFault {
  try {
    return readFault(faultDocument(effect, options));
  } catch (error) {
    throw asFaultFailure(error);
  }
}
