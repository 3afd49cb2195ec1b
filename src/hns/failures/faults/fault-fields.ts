/** The fields of each fault: one table from which documents are read and the published schema is made. */
import { HCN_KINDS } from "#contracts/hcn/client.ts";
import {
  CALL_OPERATIONS,
  COST_MODELS,
  DEGRADABLE_KINDS,
  type FaultEffectName,
  RESTART_STATES,
} from "./fault.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** What a field may hold. */
export type FieldShape =
  | { readonly type: "number"; readonly min: number; readonly max: number; readonly isWhole: boolean }
  | { readonly type: "boolean" }
  | { readonly type: "text"; readonly pattern: RegExp; readonly noun: string }
  | { readonly type: "one-of"; readonly names: readonly string[] }
  | { readonly type: "numbers" }
  | { readonly type: "error" }
  | { readonly type: "calls" };

export interface Field {
  readonly shape: FieldShape;
  /** One sentence for the schema and the documentation. */
  readonly meaning: string;
  readonly isRequired?: boolean;
}

export type Fields = Readonly<Record<string, Field>>;

const COUNT_MAX = 1_000_000_000;
const DAY_MS = 86_400_000;
const FACTOR_MAX = 1_000;

function whole(min: number, meaning: string): Field {
  return { shape: { type: "number", min, max: COUNT_MAX, isWhole: true }, meaning };
}

function milliseconds(meaning: string): Field {
  return { shape: { type: "number", min: 0, max: DAY_MS, isWhole: false }, meaning };
}

function text(pattern: RegExp, noun: string, meaning: string): Field {
  return { shape: { type: "text", pattern, noun }, meaning };
}

function oneOf(names: readonly string[], meaning: string): Field {
  return { shape: { type: "one-of", names }, meaning };
}

const GUID = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;
const ANY_TEXT = /^[^\p{Cc}]{1,1024}$/u;
/** The name of a fault, which stands in paths. */
export const FAULT_ID: RegExp = /^[a-z0-9][a-z0-9-]{0,62}$/;

function required(field: Field): Field {
  return { ...field, isRequired: true };
}

export const CALL_FIELDS: Fields = {
  operation: oneOf(CALL_OPERATIONS, WORDS.faultCallsOperation),
  kind: oneOf(HCN_KINDS, "The kind of object."),
  id: text(GUID, "a GUID", "The id of the object."),
  name: text(ANY_TEXT, "a text", "The name in the document of a create."),
  method: text(/^(?:GET|POST|DELETE)$/i, "GET, POST or DELETE", "Method of a v1 call."),
  path: text(ANY_TEXT, "a path", WORDS.faultCallsPath),
};

const SCHEDULE_FIELDS: Fields = {
  nth: whole(1, "Strikes the nth call that it concerns, counted from 1."),
  after: whole(0, "Leaves the first so many alone."),
  every: whole(1, "Strikes every so-manieth, counted behind `after`."),
  rate: {
    shape: { type: "number", min: 0, max: 1, isWhole: false },
    meaning: "How likely it strikes, drawn from the seed.",
  },
  times: whole(1, "How often it strikes at most."),
};

const CALLS: Field = {
  shape: { type: "calls" },
  meaning: WORDS.faultCalls,
};

const SCHEDULED_CALLS: Fields = { calls: CALLS, ...SCHEDULE_FIELDS };

const CARRIED_OUT: Field = {
  shape: { type: "boolean" },
  meaning: WORDS.faultCarriedOut,
};

/** What each effect has beside `effect` and `id`. */
export const EFFECT_FIELDS: Readonly<Record<FaultEffectName, Fields>> = {
  fail: {
    error: required({
      shape: { type: "error" },
      meaning: "The name of an HRESULT, `HCN_E_PORT_ALREADY_EXISTS`, or its number, `0x803b0013`.",
    }),
    carriedOut: CARRIED_OUT,
    ...SCHEDULED_CALLS,
  },
  delay: {
    delayMs: required(milliseconds(WORDS.effectDelayDelayMs)),
    jitterMs: milliseconds("Up to so much more, drawn from the seed."),
    ...SCHEDULED_CALLS,
  },
  cost: {
    model: oneOf(COST_MODELS, "Whose times; without it, those of the service's build."),
    factor: {
      shape: { type: "number", min: 0, max: FACTOR_MAX, isWhole: false },
      meaning: "Times as long as the model says.",
    },
    ...SCHEDULED_CALLS,
  },
  hang: { carriedOut: CARRIED_OUT, ...SCHEDULED_CALLS },
  crash: {
    state: required(oneOf(RESTART_STATES, "What happens to the objects.")),
    downMs: milliseconds("How long calls get no answer; two minutes by default."),
    ...SCHEDULED_CALLS,
  },
  stop: {
    error: {
      shape: { type: "error" },
      meaning: "What calls fail with: `RPC_S_SERVER_UNAVAILABLE` by default.",
    },
  },
  "stale-endpoint": {
    network: text(GUID, "a GUID", "The network of the endpoint; needed with `address`."),
    address: text(ANY_TEXT, "an IP address", WORDS.effectStaleEndpointAddress),
  },
  degrade: {
    kind: required(oneOf(DEGRADABLE_KINDS, "The kind of object.")),
    object: required(text(GUID, "a GUID", "Its id.")),
  },
  "exhaust-ports": SCHEDULE_FIELDS,
  "lose-notifications": {
    types: { shape: { type: "numbers" }, meaning: "Numbers of the types that are lost; without it, all." },
    ...SCHEDULE_FIELDS,
  },
};

/** One sentence per effect, for the schema and the documentation. */
export const EFFECT_MEANINGS: Readonly<Record<FaultEffectName, string>> = {
  fail: "The call fails with an error.",
  delay: "The call is carried out, and answered late.",
  cost: WORDS.effectCost,
  hang: WORDS.effectHang,
  crash: WORDS.effectCrash,
  stop: "The service is not there as long as the fault is.",
  "stale-endpoint": WORDS.effectStaleEndpoint,
  degrade: "An object is in the state Degraded.",
  "exhaust-ports": WORDS.effectExhaustPorts,
  "lose-notifications": "Notifications are not delivered.",
};
