/**
 * Faults between a program and HNS: what a plan of faults says. A fault is data; the same document comes from a file,
 * over HTTP, from the command line and from a test. docs/reference/hns-faults.md is written for its readers.
 */
import type { QuirkName, QuirkSetting, QuirkSettings } from "#core/catalogue/quirks.ts";
import { HCN_KINDS, type HcnObjectKind } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { Description } from "#core/base/shape.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

// What a fault says, as data: its type, its reader, the published schema and the page come from the same descriptions.

/** Values of fields, by the word that a field says in `is`. */
interface FieldValues {
  /** From 1. */
  readonly position: number;
  /** From 0. */
  readonly count: number;
  readonly milliseconds: number;
  readonly factor: number;
  /** How likely something is: 0 to 1. */
  readonly rate: number;
  readonly boolean: boolean;
  readonly text: string;
  readonly address: string;
  readonly guid: Guid;
  /** Of a call of HNS v1. */
  readonly method: string;
  readonly path: string;
  readonly numbers: readonly number[];
  /** The name of an HRESULT that HNS is known to give, or its number. */
  readonly error: string | number;
}

/** A field that holds a value, or one of some words; with one sentence for the schema and the documentation. */
export type FaultField = { readonly text: Description } & (
  | { readonly is: keyof FieldValues }
  | { readonly oneOf: readonly string[] | (() => readonly string[]) }
);

export interface EffectDescription {
  readonly text: Description;
  /** What it has beside `effect` and `id`, and cannot be without. */
  readonly needs?: Readonly<Record<string, FaultField>>;
  readonly fields?: Readonly<Record<string, FaultField>>;
  /** What it has beside its own fields: a schedule, or a schedule and the calls that it concerns. */
  readonly takes?: "schedule" | "calls";
}

/** Which calls a fault concerns: all that fit every field. Without any field: all calls. */
export const CALL_MATCH = {
  operation: {
    oneOf: ["enumerate", "create", "query", "modify", "delete", "call"],
    text: (): string => WORDS.faultCallsOperation,
  },
  kind: { oneOf: (): readonly HcnObjectKind[] => HCN_KINDS, text: "The kind of object." },
  id: { is: "guid", text: "The id of the object." },
  name: { is: "text", text: "The name in the document of a create." },
  method: { is: "method", text: "Method of a v1 call." },
  path: { is: "path", text: (): string => WORDS.faultCallsPath },
} as const;

/** Which of the calls that a fault concerns it strikes; all fields have to agree. Without any field: each one. */
export const SCHEDULE = {
  nth: { is: "position", text: "Strikes the nth call that it concerns, counted from 1." },
  after: { is: "count", text: "Leaves the first so many alone." },
  every: { is: "position", text: "Strikes every so-manieth, counted behind `after`." },
  rate: { is: "rate", text: "How likely it strikes, drawn from the seed." },
  times: { is: "position", text: "How often it strikes at most." },
} as const;

/** The effects; docs/reference/hns-faults.md tells more of each. */
export const EFFECTS = {
  fail: {
    text: "The call fails with an error.",
    needs: {
      error: {
        is: "error",
        text: "The name of an HRESULT, `HCN_E_PORT_ALREADY_EXISTS`, or its number, `0x803b0013`.",
      },
    },
    fields: { carriedOut: { is: "boolean", text: (): string => WORDS.faultCarriedOut } },
    takes: "calls",
  },
  delay: {
    text: "The call is carried out, and answered late.",
    needs: { delayMs: { is: "milliseconds", text: (): string => WORDS.effectDelayDelayMs } },
    fields: { jitterMs: { is: "milliseconds", text: "Up to so much more, drawn from the seed." } },
    takes: "calls",
  },
  cost: {
    text: (): string => WORDS.effectCost,
    fields: {
      // The models of `cost-model.ts`.
      model: {
        oneOf: ["ws2019", "ws2019-updated", "ws2022", "ws2022-updated"],
        text: "Whose times; without it, those of the service's build.",
      },
      factor: { is: "factor", text: "Times as long as the model says." },
    },
    takes: "calls",
  },
  /** The call is not answered until it is released or the service restarts. */
  hang: {
    text: (): string => WORDS.effectHang,
    fields: { carriedOut: { is: "boolean", text: (): string => WORDS.faultCarriedOut } },
    takes: "calls",
  },
  /** The call fails because the service dies of it; for a while nobody answers, and then it is back. */
  crash: {
    text: (): string => WORDS.effectCrash,
    needs: {
      state: { oneOf: ["keep", "forget-load-balancers", "lose"], text: "What happens to the objects." },
    },
    // Two minutes: hcn.md §4.6.
    fields: { downMs: { is: "milliseconds", text: "How long calls get no answer; two minutes by default." } },
    takes: "calls",
  },
  stop: {
    text: "The service is not there as long as the fault is.",
    fields: { error: { is: "error", text: "What calls fail with: `RPC_S_SERVER_UNAVAILABLE` by default." } },
  },
  /** An endpoint that is listed and not found, or one of another machine that has a pod's address. */
  "stale-endpoint": {
    text: (): string => WORDS.effectStaleEndpoint,
    fields: {
      network: { is: "guid", text: "The network of the endpoint; needed with `address`." },
      address: { is: "address", text: (): string => WORDS.effectStaleEndpointAddress },
    },
  },
  /** It is not changed, attached or deleted. */
  degrade: {
    text: "An object is in the state Degraded.",
    needs: {
      // Those that have a degraded state (hcn.md §2.10).
      kind: { oneOf: ["Endpoint", "LoadBalancer"], text: "The kind of object." },
      object: { is: "guid", text: "Its id." },
    },
  },
  /** No block of ports is left: load balancers without DSR are refused. */
  "exhaust-ports": { text: (): string => WORDS.effectExhaustPorts, takes: "schedule" },
  /** The schedule counts notifications instead of calls. Their numbers: hcn.md §1.4. */
  "lose-notifications": {
    text: "Notifications are not delivered.",
    fields: { types: { is: "numbers", text: "Numbers of the types that are lost; without it, all." } },
    takes: "schedule",
  },
} as const;

type ValueOf<F> = F extends { readonly is: infer K extends keyof FieldValues }
  ? FieldValues[K]
  : F extends { readonly oneOf: readonly (infer N)[] | (() => readonly (infer N)[]) }
    ? N
    : never;
type ValuesOf<D> = { readonly [K in keyof D]: ValueOf<D[K]> };
type NeedsOf<D> = D extends { readonly needs: infer N } ? ValuesOf<N> : unknown;
type FieldsOf<D> = D extends { readonly fields: infer F } ? Partial<ValuesOf<F>> : unknown;
type SharedOf<D> = D extends { readonly takes: "calls" }
  ? FaultSchedule & { readonly calls?: CallMatch }
  : D extends { readonly takes: "schedule" }
    ? FaultSchedule
    : unknown;

export type CallMatch = Partial<ValuesOf<typeof CALL_MATCH>>;
export type FaultSchedule = Partial<ValuesOf<typeof SCHEDULE>>;
export type FaultEffectName = keyof typeof EFFECTS;

/** What one effect says. */
export type EffectOf<E extends FaultEffectName> = { readonly effect: E } & NeedsOf<(typeof EFFECTS)[E]> &
  FieldsOf<(typeof EFFECTS)[E]> &
  SharedOf<(typeof EFFECTS)[E]>;
export type FaultEffect = { readonly [E in FaultEffectName]: EffectOf<E> }[FaultEffectName];

/** What calls do. `call` is any call of HNS v1, which counts as one of the others as well. */
export type CallOperation = (typeof CALL_MATCH)["operation"]["oneOf"][number];
export const CALL_OPERATIONS: readonly CallOperation[] = CALL_MATCH.operation.oneOf;
export type CostModelName = (typeof EFFECTS)["cost"]["fields"]["model"]["oneOf"][number];
export const COST_MODELS: readonly CostModelName[] = EFFECTS.cost.fields.model.oneOf;
/** What becomes of the objects when the service restarts. */
export type RestartState = (typeof EFFECTS)["crash"]["needs"]["state"]["oneOf"][number];
export const RESTART_STATES: readonly RestartState[] = EFFECTS.crash.needs.state.oneOf;
export type DegradableKind = (typeof EFFECTS)["degrade"]["needs"]["kind"]["oneOf"][number];

/** One fault. `id`: the name by which it is listed and removed; absent: the plan gives it one. */
export type HnsFault = FaultEffect & { readonly id?: string };

/** Faults and defects in one document. */
export interface HnsFaultPlan {
  /** Where chance comes from: equal seeds and calls, equal faults. */
  readonly seed?: string;
  readonly faults: readonly HnsFault[];
  readonly quirks?: QuirkSettings;
}

/** A fault that is in force, and what it has done. */
export interface FaultStatus {
  readonly id: string;
  readonly fault: HnsFault;
  /** Calls, or notifications, that it concerned. */
  readonly seen: number;
  /** Those that it struck. */
  readonly struck: number;
  /** Calls that hang on it now. */
  readonly waiting: number;
}

// How faults are injected. Not part of `HcnClient`, because Windows has no such thing: a program that is tested sees
// HNS alone, and the test beside it sees this.

/** A defect as the service has it. */
export interface QuirkStatus {
  readonly name: QuirkName;
  readonly setting: QuirkSetting;
  /** The service's build has it on Windows. */
  readonly concernsBuild: boolean;
}

/** Failing calls reject with `HcnError`. */
export interface HnsFaults {
  /** The faults in force, in the order in which they are asked. */
  list(): Promise<readonly FaultStatus[]>;
  /** Puts a fault in force. @returns its id. */
  add(fault: HnsFault): Promise<string>;
  /** Puts all faults of a plan in force, or none of them. @returns their ids. */
  apply(plan: HnsFaultPlan): Promise<readonly string[]>;
  /** Removes a fault; calls that hang on it continue. */
  remove(id: string): Promise<void>;
  /** Takes all faults away. */
  clear(): Promise<void>;
  /** Lets hanging calls continue: those of one fault, or all. @returns how many. */
  release(id?: string): Promise<number>;
  /** Takes load balancers away behind the back of who made them; all, or those named. @returns their ids. */
  forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]>;
  /**
   * Ends the service and starts it again. Whoever listens hears that it went away. Without a state its defects decide
   * what is lost.
   */
  restart(state?: RestartState): Promise<void>;
  /** As if the machine had been restarted: what does not persist is gone. */
  reboot(): Promise<void>;
  quirks(): Promise<readonly QuirkStatus[]>;
  setQuirk(name: QuirkName, setting: QuirkSetting): Promise<void>;
}
