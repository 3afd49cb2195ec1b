/**
 * Stands between the calls of programs and the service, and does what faults say. Outside of the forkable world: calls
 * hang in it as promises.
 *
 * Faults are asked in the order in which they came; the first one that ends a call ends the asking. First come those
 * that concern the service as a whole, then those of single objects, then those of calls.
 */
import type { Clock, Task } from "#core/base/clock.ts";
import { type Log, SILENT_LOG } from "#core/base/log.ts";
import type { HcnNotification, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type {
  EffectOf,
  FaultStatus,
  HnsFault,
  HnsFaultPlan,
  HnsFaults,
  QuirkStatus,
  RestartState,
} from "./fault.ts";
import { FAULTS_MAX, invalidFault } from "./read-fault.ts";
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import {
  type CallFacts,
  describeCall,
  needsPorts,
  type FaultTarget,
  listsGhost,
  ActiveFault,
  type Refusal,
  absenceRefusal,
  objectRefusal,
  injectedError,
} from "./active-faults.ts";
import { COST_MODEL_TABLE, costModelOf, costOf } from "./cost-model.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

// Calls that wait: for a time of the clock, or for a request that lets them go on.

/** The waiting call is no part of the world: a fork, which has the task too, wakes none. */
class WakeUp implements Task {
  /** Not enumerable, so that no fork has it. */
  declare private readonly resolve?: () => void;

  constructor(resolve: () => void) {
    Object.defineProperty(this, "resolve", { value: resolve, enumerable: false });
  }

  run(): void {
    this.resolve?.();
  }
}

/** Resolves after `ms` of the clock. */
export async function waitFor(clock: Clock, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    clock.schedule(ms, new WakeUp(resolve));
  });
}

/** Calls that hang at a time; a further one is refused, so that they cannot fill the memory. */
const WAITING_MAX = 4_096;

interface HungCall {
  readonly faultId: string;
  readonly goOn: () => void;
  readonly fail: (error: HcnError) => void;
}

/** Calls that hang on faults. */
class HungCalls {
  private readonly calls = new Set<HungCall>();

  /** Resolves when the call is released. @throws HcnError when the service ends before. */
  async hang(faultId: string): Promise<void> {
    if (this.calls.size >= WAITING_MAX) {
      throw new HcnError("RPC_S_SERVER_UNAVAILABLE", {
        detail: `injected fault ${faultId}: ${WAITING_MAX} calls hang already`,
        explanation: "hns-fault-injected",
      });
    }
    await new Promise<void>((resolve, reject) => {
      this.calls.add({ faultId, goOn: resolve, fail: reject });
    });
  }

  count(faultId: string): number {
    return this.of(faultId).length;
  }

  /** Lets calls go on; all of them without a fault's id. @returns how many. */
  release(faultId?: string): number {
    const calls = this.of(faultId);
    for (const call of calls) {
      this.calls.delete(call);
      call.goOn();
    }
    return calls.length;
  }

  /** Ends all calls with what their callers see when the service goes away. */
  fail(why: string): void {
    for (const call of this.of()) {
      this.calls.delete(call);
      call.fail(new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail: why, explanation: "hns-fault-injected" }));
    }
  }

  private of(faultId?: string): readonly HungCall[] {
    return [...this.calls].filter((call) => faultId === undefined || call.faultId === faultId);
  }
}

// The injector: what faults make of each call.

interface FaultInjectorOptions {
  readonly target: FaultTarget;
  readonly clock: Clock;
  /** Tells all who listen that the service went away, and forgets them. */
  readonly disconnect: () => void;
  /** Where chance comes from until a plan says otherwise. */
  readonly seed: string;
  /** The faults in force, shared with other clients; they are data, so that a fork has its own. */
  readonly inForce?: Map<string, ActiveFault>;
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
  private readonly active: Map<string, ActiveFault>;
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
    this.active = options.inForce ?? new Map<string, ActiveFault>();
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

  /** True while there is no answer, because the service was stopped or has died. */
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
    if (this.active.has(fault.id)) throw invalidFault(WORDS.faultIdTaken({ id: fault.id }));
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

  /** The defect that holds the service, until it restarts or a request releases its calls. */
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
  private timeOf({ model, factor = 1 }: EffectOf<"cost">, facts: CallFacts): number {
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
