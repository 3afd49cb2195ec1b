/** Times on the command line: every flag and argument that takes one is read here. */
import { DURATION_FORMS, type DurationUnit, formatDuration, readDuration } from "#core/base/duration.ts";
import { usage } from "./options.ts";

export interface DurationRule {
  /** As messages call it: `--patience`. */
  readonly name: string;
  /** The unit of a number alone; absent: it needs one. */
  readonly bare?: DurationUnit;
  readonly minMs?: number;
  readonly maxMs?: number;
}

/** A time in milliseconds. @throws Failure for what is no time, or too short or long. */
export function parseDuration(text: string, { name, bare, minMs = 0, maxMs }: DurationRule): number {
  const ms = readDuration(text, bare);
  const advice = `Write an amount with its unit: ${DURATION_FORMS}.`;
  if (ms === undefined) throw usage(`${name} takes a time, not ${JSON.stringify(text)}`, advice);
  if (ms >= minMs && (maxMs === undefined || ms <= maxMs)) return ms;
  const upTo = maxMs === undefined ? "" : ` to ${formatDuration(maxMs)}`;
  throw usage(
    `${name} takes a time from ${formatDuration(minMs)}${upTo}, not ${JSON.stringify(text)}`,
    advice,
  );
}
