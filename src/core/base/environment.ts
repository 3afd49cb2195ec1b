/** What every simulated part is given instead of the machine's time, chance and eyes. */
import type { Clock } from "./clock.ts";
import type { Prng } from "./prng.ts";
import type { Recorder } from "./recorder.ts";

/** How many connections all switch ports of a world may hold together: what the process has memory for. */
export interface FlowRoom {
  readonly max: number;
  held: number;
}

/** One simulated world's surroundings; all its parts share one. */
export interface Environment {
  readonly clock: Clock;
  readonly prng: Prng;
  /** Set while a trace runs. */
  recorder: Recorder | undefined;
  /** Undefined: each port has its own bound alone (`LIMITS.flowsPerPortMax`). */
  readonly flowRoom?: FlowRoom | undefined;
}
