/**
 * How faults are injected. Not part of `HcnClient`, because Windows has no such thing: a program that is tested sees
 * HNS alone, and the test beside it sees this.
 */
import type { QuirkName, QuirkSetting } from "#core/catalogue/quirks.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { FaultStatus, HnsFault, HnsFaultPlan, RestartState } from "./fault.ts";

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
