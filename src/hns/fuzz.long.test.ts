import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { PROFILE_NAMES } from "#core/catalogue/profiles.ts";
import { runHttpFuzz, runHnsFuzz } from "#test/support/hns/hns-fuzz-run.ts";

const RUNS = 30;
const STEPS = 1_000;
/** FUZZ_SEED replays one run. */
const FIRST = Number(process.env["FUZZ_SEED"] ?? randomInt(2 ** 31));

it("random and damaged requests break nothing and leave no half objects", { timeout: 600_000 }, () => {
  for (let run = 0; run < RUNS; run++) {
    const seed = FIRST + run;
    const profile = PROFILE_NAMES[seed % PROFILE_NAMES.length] ?? "ws2022";
    expect(runHnsFuzz(seed, STEPS, profile), `replay: FUZZ_SEED=${seed}, profile ${profile}`).toBeUndefined();
  }
});

it("random and damaged bodies of HTTP requests get an answer in its form", { timeout: 600_000 }, async () => {
  for (let run = 0; run < RUNS; run++)
    expect(await runHttpFuzz(FIRST + run, STEPS), `replay: FUZZ_SEED=${FIRST + run}`).toBeUndefined();
});
