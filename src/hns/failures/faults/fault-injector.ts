/**
 * Stands between the calls of programs and the service, and does what faults say. Outside of the forkable world: calls
 * hang in it as promises.
 *
 * Faults are asked in the order in which they came; the first one that ends a call ends the asking. First come those
 * that concern the service as a whole, then those of single objects, then those of calls.
 */
import type { Clock } from "#core/base/clock.ts";
import { type Log, SILENT_LOG } from "#core/base/log.ts";
import type { HcnNotification, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type {
  CostFault,
  FaultStatus,
  HnsFault,
  HnsFaultPlan,
  RestartState,
  CallMatch,
  FaultSchedule,
} from "#contracts/hcn/faults/fault.ts";
import type { HnsFaults, QuirkStatus } from "#contracts/hcn/faults/hns-faults.ts";
import { FAULTS_MAX, invalidFault } from "#contracts/hcn/faults/read-fault.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import {
  type CallFacts,
  describeCall,
  needsPorts,
  endpointAddedBy,
  matchesCall,
  type FaultTarget,
  listsGhost,
} from "./call-facts.ts";
import { COST_MODEL_TABLE, costModelOf, costOf } from "./cost-model.ts";
import { injectedError } from "./fault-errors.ts";
import { HungCalls, waitFor } from "./waiting-calls.ts";
import { Prng } from "#core/base/prng.ts";

// One fault in force: what it concerns, what it strikes, what it has done.

const CHANCE_STEPS = 0x1_0000_0000;

function scheduleOf(fault: HnsFault): FaultSchedule {
  return fault.effect === "stop" || fault.effect === "stale-endpoint" || fault.effect === "degrade"
    ? {}
    : fault;
}

function callsOf(fault: HnsFault): CallMatch | undefined {
  return "calls" in fault ? fault.calls : undefined;
}

export class ActiveFault {
  readonly id: string;
  readonly fault: HnsFault;
  /** Ids of objects that exist for it. */
  readonly objects: string[] = [];
  private readonly prng: Prng;
  private seen = 0;
  private struck = 0;
  private expiresAtMs: number | undefined;

  constructor(id: string, fault: HnsFault, seed: string) {
    this.id = id;
    this.fault = fault;
    this.prng = new Prng(`${seed}/fault/${id}`);
  }

  /** Counts a call that it concerns. @returns true when it strikes the call. */
  strikes(facts: CallFacts): boolean {
    return matchesCall(callsOf(this.fault), facts) && this.strikesNext();
  }

  /** Counts one more of what it concerns. @returns true when it strikes. */
  strikesNext(): boolean {
    this.seen++;
    const { nth, after = 0, every = 1, rate, times } = scheduleOf(this.fault);
    if (times !== undefined && this.struck >= times) return false;
    if (nth !== undefined && this.seen !== nth) return false;
    if (this.seen <= after || (this.seen - after) % every !== 0) return false;
    if (rate !== undefined && this.prng.nextU32() >= rate * CHANCE_STEPS) return false;
    this.struck++;
    return true;
  }

  /** A number from 0 up to `limit`, drawn from its seed. */
  draw(limit: number): number {
    return (this.prng.nextU32() / CHANCE_STEPS) * limit;
  }

  /** A GUID of its own. */
  guid(): string {
    return this.prng.guid();
  }

  /** The service is away because of it until then. */
  goesDownUntil(atMs: number): void {
    this.expiresAtMs = atMs;
  }

  isDown(nowMs: number): boolean {
    return this.fault.effect === "stop" || (this.expiresAtMs !== undefined && nowMs < this.expiresAtMs);
  }

  status(waiting: number): FaultStatus {
    return { id: this.id, fault: this.fault, seen: this.seen, struck: this.struck, waiting };
  }
}

// Faults that refuse calls as long as they are there: a service that is away, objects that are not as they should be.

export interface Refusal {
  /** Name or number of the error. */
  readonly error: string | number;
  /** What happens, for the message. */
  readonly what: string;
}

/** What a call fails with because the service is away. */
export function absenceRefusal(active: ActiveFault, facts: CallFacts, nowMs: number): Refusal | undefined {
  if (!active.isDown(nowMs)) return undefined;
  const { fault } = active;
  const error = fault.effect === "stop" ? fault.error : undefined;
  return {
    error: error ?? "RPC_S_SERVER_UNAVAILABLE",
    what: `${describeCall(facts)}: the service is not running`,
  };
}

/** What a call fails with that concerns an endpoint which is only listed, or changes an object which is degraded. */
export function objectRefusal({ fault, objects }: ActiveFault, facts: CallFacts): Refusal | undefined {
  const added = endpointAddedBy(facts);
  if (fault.effect === "stale-endpoint" && fault.address === undefined) {
    if (!objects.some((id) => id === facts.id || id === added)) return undefined;
    return {
      error: "HCN_E_ENDPOINT_NOT_FOUND",
      what: `endpoint ${objects.join()} is listed, but is not there`,
    };
  }
  if (fault.effect !== "degrade") return undefined;
  const isChange = facts.operation === "modify" || facts.operation === "delete";
  const changed = added ?? (isChange ? facts.id : undefined);
  if (fault.object.toLowerCase() !== changed) return undefined;
  return { error: "HCN_E_DEGRADED_OPERATION", what: `${fault.kind} ${fault.object} is degraded` };
}

export interface FaultInjectorOptions {
  readonly target: FaultTarget;
  readonly clock: Clock;
  /** Tells all who listen that the service went away, and forgets them. */
  readonly disconnect: () => void;
  /** Where chance comes from until a plan says otherwise. */
  readonly seed: string;
}

/** The service restarts by itself after a crash (hcn.md §4.6). */
const DOWN_DEFAULT_MS = 120_000;

/** What faults make of one call. */
interface Verdict {
  readonly lateMs: number;
  /** The fault that ends the call. */
  readonly end: ActiveFault | undefined;
}

export class FaultInjector implements HnsFaults {
  private readonly target: FaultTarget;
  private readonly clock: Clock;
  private readonly disconnect: () => void;
  private log: Log;
  private readonly hung = new HungCalls();
  private readonly active = new Map<string, ActiveFault>();
  private seed: string;
  private added = 0;
  /** Until then the service is busy with calls whose time the cost model says. */
  private busyUntilMs = 0;
  /** The defect on which all calls hang since it struck. */
  private deadlock: QuirkName | undefined;

  constructor(options: FaultInjectorOptions) {
    this.target = options.target;
    this.clock = options.clock;
    this.disconnect = options.disconnect;
    this.seed = options.seed;
    this.log = SILENT_LOG;
  }

  /** From now on what faults do is written there. */
  logTo(log: Log): void {
    this.log = log;
  }

  /** True when a call goes to the service as if there were no faults. */
  get isIdle(): boolean {
    return this.active.size === 0 && this.deadlock === undefined && !this.target.mayHang;
  }

  /** True while nobody answers, because the service was stopped or has died. */
  get isAway(): boolean {
    return [...this.active.values()].some((each) => each.isDown(this.clock.nowMs));
  }

  /** Makes a call, with what faults make of it. @throws HcnError what they let it fail with. */
  async perform<T>(facts: CallFacts, run: () => Promise<T>): Promise<T> {
    this.refuse((active) => absenceRefusal(active, facts, this.clock.nowMs));
    const defect = this.deadlockOf(facts);
    if (defect !== undefined) await this.hung.hang(defect);
    this.refuse((active) => objectRefusal(active, facts));
    const { lateMs, end } = this.evaluate(facts);
    if (end !== undefined) return this.endCall(end, facts, run);
    // The time runs from the call on; what the call does is done at once.
    const late = lateMs > 0 ? waitFor(this.clock, lateMs) : undefined;
    const result = await run();
    await late;
    return result;
  }

  /** False when a notification is lost. */
  delivers(notification: HcnNotification): boolean {
    // HCS's are not HNS's to lose.
    if (notification.computeSystem !== undefined) return true;
    for (const active of this.active.values()) {
      const { fault } = active;
      if (fault.effect !== "lose-notifications") continue;
      if (fault.types !== undefined && !fault.types.includes(notification.type)) continue;
      if (!active.strikesNext()) continue;
      this.report(active, `notification ${notification.type} of ${notification.data.ID}`);
      return false;
    }
    return true;
  }

  /** Ids of endpoints that an enumeration lists beyond those that are there. */
  ghosts(query: HostComputeQuery | undefined): readonly Guid[] {
    const found: Guid[] = [];
    for (const { fault, objects } of this.active.values()) {
      if (fault.effect !== "stale-endpoint" || fault.address !== undefined) continue;
      found.push(...objects.filter((id) => listsGhost(query, id, fault.network)));
    }
    return found;
  }

  /** Ends all calls that hang: the service goes away for good. */
  close(): void {
    this.hung.fail("the service was closed");
  }

  async list(): Promise<readonly FaultStatus[]> {
    const statuses = [...this.active.values()].map((each) => each.status(this.hung.count(each.id)));
    return Promise.resolve(statuses);
  }

  async add(fault: HnsFault): Promise<string> {
    const id = this.chooseId(fault);
    const active = new ActiveFault(id, fault, this.seed);
    await this.begin(active);
    this.active.set(id, active);
    this.log.write("warn", "fault injected", { fault: id, effect: fault.effect });
    return id;
  }

  async apply(plan: HnsFaultPlan): Promise<readonly string[]> {
    if (plan.seed !== undefined) this.seed = plan.seed;
    const ids: string[] = [];
    try {
      for (const fault of plan.faults) ids.push(await this.add(fault));
    } catch (error) {
      for (const id of ids) await this.remove(id);
      throw error;
    }
    for (const [name, setting] of Object.entries(plan.quirks ?? {}))
      this.target.setQuirk(name as QuirkName, setting);
    return ids;
  }

  async remove(id: string): Promise<void> {
    const active = this.active.get(id);
    if (active === undefined) {
      const known =
        this.active.size === 0 ? "none is in force" : `there are ${[...this.active.keys()].join(", ")}`;
      throw new HcnError("ERROR_NOT_FOUND", { detail: `There is no fault ${JSON.stringify(id)}; ${known}` });
    }
    this.active.delete(id);
    this.hung.release(id);
    if (active.fault.effect === "degrade") await this.target.repair(active.fault.kind, active.fault.object);
    if (active.fault.effect === "stale-endpoint" && active.fault.address !== undefined)
      for (const object of active.objects) await this.target.deleteEndpoint(object);
    this.log.write("info", "fault removed", { fault: id });
  }

  async clear(): Promise<void> {
    for (const id of this.active.keys()) await this.remove(id);
  }

  async release(id?: string): Promise<number> {
    if (id === undefined || id === this.deadlock) this.deadlock = undefined;
    return Promise.resolve(this.hung.release(id));
  }

  async forgetLoadBalancers(ids?: readonly Guid[]): Promise<readonly Guid[]> {
    const forgotten = await this.target.forgetLoadBalancers(ids);
    this.log.write("warn", "load balancers forgotten", { count: forgotten.length });
    return forgotten;
  }

  async restart(state?: RestartState): Promise<void> {
    this.log.write("warn", "service restarts", { state: state ?? "as its defects are" });
    await this.target.restart(state);
    this.goAway("the service was restarted");
  }

  async reboot(): Promise<void> {
    this.log.write("warn", "machine restarts");
    await this.target.reboot();
    this.goAway("the machine was restarted");
  }

  async quirks(): Promise<readonly QuirkStatus[]> {
    return Promise.resolve(this.target.quirks());
  }

  async setQuirk(name: QuirkName, setting: QuirkSetting): Promise<void> {
    this.target.setQuirk(name, setting);
    return Promise.resolve();
  }

  private chooseId(fault: HnsFault): string {
    if (this.active.size >= FAULTS_MAX)
      throw invalidFault(`there are ${FAULTS_MAX} faults already; remove some`);
    if (fault.id === undefined) {
      do this.added++;
      while (this.active.has(`fault-${this.added}`));
      return `fault-${this.added}`;
    }
    if (this.active.has(fault.id))
      throw invalidFault(`there is a fault ${fault.id} already; remove it or choose another id`);
    return fault.id;
  }

  /** What a fault does as soon as it is there. */
  private async begin(active: ActiveFault): Promise<void> {
    const { fault, id, objects } = active;
    if (fault.effect === "stop") this.goAway("the service was stopped");
    if (fault.effect === "degrade") await this.target.degrade(fault.kind, fault.object);
    if (fault.effect !== "stale-endpoint") return;
    const isReal = fault.address !== undefined && fault.network !== undefined;
    objects.push(
      isReal ? await this.target.createRemoteEndpoint(fault.network, fault.address, id) : active.guid(),
    );
  }

  /** The defect that holds the service, until it restarts or somebody releases its calls. */
  private deadlockOf(facts: CallFacts): QuirkName | undefined {
    if (this.deadlock !== undefined) return this.deadlock;
    this.deadlock = this.target.hangs(facts);
    if (this.deadlock !== undefined) this.log.write("warn", "defect strikes", { defect: this.deadlock });
    return this.deadlock;
  }

  private goAway(why: string): void {
    this.deadlock = undefined;
    this.hung.fail(why);
    this.disconnect();
  }

  /** Refuses a call where a fault that is there refuses it. */
  private refuse(refusalOf: (active: ActiveFault) => Refusal | undefined): void {
    for (const active of this.active.values()) {
      const refusal = refusalOf(active);
      if (refusal === undefined) continue;
      // What a crash leaves behind is none of the calls that it may strike.
      if (active.fault.effect !== "crash") active.strikesNext();
      throw this.failure(active, refusal.error, refusal.what);
    }
  }

  private evaluate(facts: CallFacts): Verdict {
    let lateMs = 0;
    for (const active of this.active.values()) {
      const { fault } = active;
      if (fault.effect === "exhaust-ports") {
        if (needsPorts(facts) && active.strikesNext()) return { lateMs, end: active };
      } else if (fault.effect === "delay") {
        if (active.strikes(facts)) lateMs += fault.delayMs + active.draw(fault.jitterMs ?? 0);
      } else if (fault.effect === "cost") {
        if (active.strikes(facts)) lateMs += this.timeOf(fault, facts);
      } else if (fault.effect === "fail" || fault.effect === "hang" || fault.effect === "crash") {
        if (active.strikes(facts)) return { lateMs, end: active };
      }
    }
    return { lateMs, end: undefined };
  }

  /** From now until the service has come to this call and carried it out: one call after the other. */
  private timeOf({ model, factor = 1 }: CostFault, facts: CallFacts): number {
    const { nowMs } = this.clock;
    const costs = COST_MODEL_TABLE[model ?? costModelOf(this.target.windows)];
    const costMs = costOf(costs, facts.operation, facts.kind, this.target.countObjects()) * factor;
    this.busyUntilMs = Math.max(this.busyUntilMs, nowMs) + costMs;
    return this.busyUntilMs - nowMs;
  }

  /** Carries out a fault that ends a call. */
  private async endCall<T>(active: ActiveFault, facts: CallFacts, run: () => Promise<T>): Promise<T> {
    const { fault } = active;
    const call = describeCall(facts);
    if (fault.effect === "hang") return this.hangCall(active, call, fault.carriedOut === true, run);
    if (fault.effect === "crash")
      return this.crash(active, call, fault.state, fault.downMs ?? DOWN_DEFAULT_MS);
    if (fault.effect !== "fail")
      throw this.failure(active, "HCN_E_PORT_ALREADY_EXISTS", `${call}: no block of 64 ports is left`);
    const isCarriedOut = fault.carriedOut === true;
    if (isCarriedOut) await run();
    throw this.failure(active, fault.error, `${call} fails${isCarriedOut ? ", carried out" : ""}`);
  }

  private async hangCall<T>(
    active: ActiveFault,
    call: string,
    isCarriedOut: boolean,
    run: () => Promise<T>,
  ): Promise<T> {
    this.report(active, call);
    if (!isCarriedOut) {
      await this.hung.hang(active.id);
      return run();
    }
    const result = await run();
    await this.hung.hang(active.id);
    return result;
  }

  private async crash(
    active: ActiveFault,
    call: string,
    state: RestartState,
    downMs: number,
  ): Promise<never> {
    const error = this.failure(active, "RPC_S_SERVER_UNAVAILABLE", `the service died of ${call}`);
    active.goesDownUntil(this.clock.nowMs + downMs);
    await this.target.restart(state);
    this.goAway(`injected fault ${active.id}: the service died`);
    throw error;
  }

  private failure(active: ActiveFault, error: string | number, what: string): HcnError {
    this.report(active, what);
    return injectedError(error, active.id, what);
  }

  private report(active: ActiveFault, what: string): void {
    this.log.write("warn", "fault strikes", { fault: active.id, effect: active.fault.effect, what });
  }
}
