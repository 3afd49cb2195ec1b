/** Arithmetic on TCP sequence numbers: unsigned 32-bit integers that wrap (RFC 9293 §3.4). */

/** `a` plus `count`, wrapped. */
export function addSequence(a: number, count: number): number {
  return (a + count) >>> 0;
}

/** The signed distance from `b` to `a`: positive when `a` is later. */
export function sequenceDistance(a: number, b: number): number {
  return (a - b) | 0;
}

export function isBefore(a: number, b: number): boolean {
  return sequenceDistance(a, b) < 0;
}

export function isAfter(a: number, b: number): boolean {
  return sequenceDistance(a, b) > 0;
}
