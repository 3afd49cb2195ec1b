/**
 * One-way delays of cables, in milliseconds. They are powers of two, so that sums of them are exact and times of two
 * runs print alike. Nothing depends on their size but round-trip times; they are of the order of real ones.
 */
export const CABLE_DELAYS = {
  /** Node or router to the physical segment. */
  segmentMs: 0.0625,
  /** A virtual cable inside a machine. */
  virtualMs: 0.015_625,
  /** From the router to a host outside. */
  outsideMs: 4,
} as const;
