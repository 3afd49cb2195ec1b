/** What belongs to the service as a whole and to none of its objects. Plain data, part of its state. */

/** Frozen; replaced as a whole on each change. */
export interface ServiceGlobals {
  /** MACs of the fabric's management for accelerated networking, as they were written (hcn.md §9.10). */
  readonly accelnetMacs: readonly string[];
}

export const NO_GLOBALS: ServiceGlobals = Object.freeze({ accelnetMacs: Object.freeze([]) });
