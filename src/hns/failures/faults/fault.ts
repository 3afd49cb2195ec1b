/**
 * Faults between a program and HNS: what a plan of faults says. A fault is data; the same document comes from a file,
 * over HTTP, from the command line and from a test. docs/reference/hns-faults.md is written for its readers.
 */
import type { QuirkName, QuirkSetting, QuirkSettings } from "#core/catalogue/quirks.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";

/** What calls do. `call` is any call of HNS v1, which counts as one of the others as well. */
export const CALL_OPERATIONS = ["enumerate", "create", "query", "modify", "delete", "call"] as const;
export type CallOperation = (typeof CALL_OPERATIONS)[number];

/** Which calls a fault concerns: all that fit every field. Without any field: all calls. */
export interface CallMatch {
  readonly operation?: CallOperation;
  readonly kind?: HcnObjectKind;
  /** The id of the object. */
  readonly id?: Guid;
  /** The name in the document of a create. */
  readonly name?: string;
  /** Method of a v1 call. */
  readonly method?: string;
  /** Path of a v1 call; `*` stands for anything within a segment. */
  readonly path?: string;
}

/** Which of the calls that a fault concerns it strikes; all fields have to agree. Without any field: each one. */
export interface FaultSchedule {
  /** The nth call, counted from 1. */
  readonly nth?: number;
  /** None of the first so many. */
  readonly after?: number;
  /** Every so-manieth, counted behind `after`. */
  readonly every?: number;
  /** How likely it strikes: 0 to 1, drawn from the seed. */
  readonly rate?: number;
  /** How often it strikes at most. */
  readonly times?: number;
}

/** What becomes of the objects when the service restarts. */
export const RESTART_STATES = ["keep", "forget-load-balancers", "lose"] as const;
export type RestartState = (typeof RESTART_STATES)[number];

/** The models of `cost-model.ts`. */
export const COST_MODELS = ["ws2019", "ws2019-updated", "ws2022", "ws2022-updated"] as const;
export type CostModelName = (typeof COST_MODELS)[number];

/** Kinds of objects that have a degraded state (hcn.md §2.10). */
export const DEGRADABLE_KINDS = ["Endpoint", "LoadBalancer"] as const;
export type DegradableKind = (typeof DEGRADABLE_KINDS)[number];

interface CallFault extends FaultSchedule {
  readonly calls?: CallMatch;
}

/** The call fails. */
export interface FailFault extends CallFault {
  readonly effect: "fail";
  /** The name of an HRESULT that HNS is known to give, or its number. */
  readonly error: string | number;
  /** The call is carried out and its answer lost; else nothing is changed. */
  readonly carriedOut?: boolean;
}

/** The call is carried out, and answered late. */
export interface DelayFault extends CallFault {
  readonly effect: "delay";
  readonly delayMs: number;
  /** Up to so much more, drawn from the seed. */
  readonly jitterMs?: number;
}

/** Every call takes the time that the model says; they are carried out one after the other. */
export interface CostFault extends CallFault {
  readonly effect: "cost";
  /** Absent: that of the service's build. */
  readonly model?: CostModelName;
  readonly factor?: number;
}

/** The call is not answered until it is released or the service restarts. */
export interface HangFault extends CallFault {
  readonly effect: "hang";
  /** The call is carried out before it hangs; else when it is released. */
  readonly carriedOut?: boolean;
}

/** The call fails because the service dies of it; for a while nobody answers, and then it is back. */
export interface CrashFault extends CallFault {
  readonly effect: "crash";
  readonly state: RestartState;
  /** How long the service is away. Default: two minutes (hcn.md §4.6). */
  readonly downMs?: number;
}

/** As long as this fault is there, the service is not. */
export interface StopFault {
  readonly effect: "stop";
  /** RPC_S_SERVER_UNAVAILABLE, the default, or EPT_S_NOT_REGISTERED. */
  readonly error?: string | number;
}

/** An endpoint that is listed and not found, or one of another machine that has a pod's address. */
export interface StaleEndpointFault {
  readonly effect: "stale-endpoint";
  /** The network that it is listed for; needed with `address`. */
  readonly network?: Guid;
  /** A remote endpoint with this address is made. Absent: an id is listed that nothing stands behind. */
  readonly address?: string;
}

/** An object is in the state Degraded; it is not changed, attached or deleted. */
export interface DegradeFault {
  readonly effect: "degrade";
  readonly kind: DegradableKind;
  /** Its id. */
  readonly object: Guid;
}

/** No block of ports is left: load balancers without DSR are refused. */
export interface ExhaustPortsFault extends FaultSchedule {
  readonly effect: "exhaust-ports";
}

/** Notifications are not delivered. The schedule counts them instead of calls. */
export interface LoseNotificationsFault extends FaultSchedule {
  readonly effect: "lose-notifications";
  /** Numbers of types (hcn.md §1.4); absent: all. */
  readonly types?: readonly number[];
}

export type FaultEffect =
  | FailFault
  | DelayFault
  | CostFault
  | HangFault
  | CrashFault
  | StopFault
  | StaleEndpointFault
  | DegradeFault
  | ExhaustPortsFault
  | LoseNotificationsFault;

export type FaultEffectName = FaultEffect["effect"];

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
