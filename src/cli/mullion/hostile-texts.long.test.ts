// Every reader with a megabyte of every unit; without MULLION_WHOLE=1 two thirds of them with a fifth of it, others each time.
import { describe, expect, it } from "vitest";
import { READERS, UNITS, secondsOf, textOf } from "#test/support/cli/hostile-texts.ts";

const MEGABYTE = 1_000_000;
/** Half a million faults in one YAML text take the library some four seconds; a square takes minutes. */
const SECONDS_MAX = 12;
const SEED = Number(process.env["SEED"] ?? 0);

/** What is left of the whole: a square is as visible against a fifth of the time. */
function shareOf(index: number): number {
  return process.env["MULLION_WHOLE"] === "1" || (index + SEED) % 3 === 0 ? 1 : 1 / 5;
}

describe.each(Object.keys(READERS))("a megabyte for %s", (file) => {
  it.each(UNITS.map((unit, index) => [unit, shareOf(index)] as const))(
    "of %j",
    async (unit, share) => {
      expect(await secondsOf(file, textOf(unit, MEGABYTE * share))).toBeLessThan(SECONDS_MAX * share);
    },
    300_000,
  );
});
