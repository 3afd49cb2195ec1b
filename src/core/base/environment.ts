/** What every simulated part is given instead of the machine's time, chance and eyes. */
import type { Clock } from "./clock.ts";
import type { Prng } from "./prng.ts";
import type { Recorder } from "./recorder.ts";

/** One simulated world's surroundings; all its parts share one. */
export interface Environment {
  readonly clock: Clock;
  readonly prng: Prng;
  /** Set while a trace runs. */
  recorder: Recorder | undefined;
}
