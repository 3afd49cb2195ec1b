/** Times as people write them: `500ms`, `1.5s`, `90s`, `1m30s`, `2h`. */

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
export type DurationUnit = keyof typeof UNITS;

const PLAIN = /^\d{1,9}(?:\.\d{1,6})?$/;

/** Those with units, for JSON schemas. */
export const DURATION_PATTERN = "^([0-9]{1,9}(\\.[0-9]{1,6})?(ms|[smhd]))+$";

/** How all of them are written, for advice. */
export const DURATION_FORMS = "500ms, 1.5s, 90s, 1m30s, 2h";

/**
 * In milliseconds, exact to a millionth; undefined for what is no time. `bare` is the unit of a number alone; without it
 * only 0 goes without.
 */
export function readDuration(text: string, bare?: DurationUnit): number | undefined {
  if (PLAIN.test(text)) {
    if (Number(text) === 0) return 0;
    return bare === undefined ? undefined : Number(text) * UNITS[bare];
  }
  if (text.length > 64 || !new RegExp(DURATION_PATTERN).test(text)) return undefined;
  let ms = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(?<![\d.])([\d.]+)(ms|[smhd])/g))
    ms += Number(amount) * UNITS[unit as DurationUnit];
  return Number(ms.toFixed(6));
}

/** Rounded, as sentences say it: `5 min`, `1.5 s`; less than a second in the smallest unit that they use. */
export function formatSpan(ms: number, smallest: "ms" | "s" = "ms"): string {
  if (ms >= UNITS.m && ms % UNITS.m === 0) return `${ms / UNITS.m} min`;
  const unit = ms >= UNITS.s ? "s" : smallest;
  return `${Number((ms / UNITS[unit]).toFixed(1))} ${unit}`;
}

/** In the largest unit that leaves no fraction: `90s`, `2h`. */
export function formatDuration(ms: number): string {
  const unit =
    (["d", "h", "m", "s"] as const).find((each) => ms > 0 && ms % UNITS[each] === 0) ??
    (ms === 0 ? "s" : "ms");
  return `${ms / UNITS[unit]}${unit}`;
}
