/** How long after a failure something is tried again: at once, then after 1 s, 2 s, 4 s …, at most a minute. */

const FIRST_MS = 1_000;
const LAST_MS = 60_000;

/** Failures in a row of one thing. Plain data. */
export interface BackOff {
  failures: number;
  /** Not to be tried before. */
  retryAtMs: number;
}

export function noFailures(): BackOff {
  return { failures: 0, retryAtMs: 0 };
}

export function isDue(backOff: BackOff, nowMs: number | undefined): boolean {
  return nowMs === undefined || backOff.failures === 0 || backOff.retryAtMs <= nowMs;
}

/** It failed once more. Without a time every sync tries again. */
export function noteFailure(backOff: BackOff, nowMs: number | undefined): void {
  const waitMs = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(backOff.failures, 16));
  backOff.failures++;
  backOff.retryAtMs = (nowMs ?? 0) + waitMs;
}

/** It went well, or is another thing now. */
export function forgetFailures(backOff: BackOff): void {
  backOff.failures = 0;
  backOff.retryAtMs = 0;
}

/** How long until the first of them is due; undefined when none has failed. */
export function nextRetryMs(backOffs: Iterable<BackOff>, nowMs: number | undefined): number | undefined {
  let next: number | undefined;
  for (const { failures, retryAtMs } of backOffs) {
    if (failures === 0) continue;
    const waitMs = nowMs === undefined ? FIRST_MS : Math.max(0, retryAtMs - nowMs);
    if (next === undefined || waitMs < next) next = waitMs;
  }
  return next;
}
