/** One fault in force: what it concerns, what it strikes, what it has done. */
import { Prng } from "../../base/prng.ts";
import type { CallMatch, FaultSchedule, FaultStatus, HnsFault } from "../../hcn/faults/fault.ts";
import { type CallFacts, matchesCall } from "./call-facts.ts";

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
