// Every reader with a megabyte of every unit.
import { describe, expect, it } from "vitest";
import { READERS, UNITS, secondsOf, textOf } from "#test/support/cli/hostile-texts.ts";

const MEGABYTE = 1_000_000;
/** Half a million faults in one YAML text take the library some four seconds; a square takes minutes. */
const SECONDS_MAX = 12;

describe.each(Object.keys(READERS))("a megabyte for %s", (file) => {
  it.each(UNITS)(
    "of %j",
    async (unit) => {
      expect(await secondsOf(file, textOf(unit, MEGABYTE))).toBeLessThan(SECONDS_MAX);
    },
    300_000,
  );
});
