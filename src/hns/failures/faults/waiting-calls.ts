/** Calls that wait: for a time of the clock, or for somebody to let them go on. */
import type { Clock, Task } from "#core/base/clock.ts";
import { HcnError } from "#contracts/hcn/error.ts";

/** Who waits is no part of the world: a fork, which has the task too, wakes nobody. */
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

/** Calls that hang at a time; a further one is refused, so that nobody can fill the memory with them. */
const WAITING_MAX = 4_096;

interface HungCall {
  readonly faultId: string;
  readonly goOn: () => void;
  readonly fail: (error: HcnError) => void;
}

/** Calls that hang on faults. */
export class HungCalls {
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
