import { describe, it } from "vitest";
import { DRIVERS, surviveHostileFrames } from "#test/support/hns/hostile-frames.suite.ts";

const seed = Number(process.env["SEED"] ?? Math.trunc(Math.random() * 2 ** 31));

describe(`a million hostile frames, replay: SEED=${seed} npm run test:long -- drivers/`, () => {
  it.each(DRIVERS)("%s: survives 200 000 of them, fast path equal to slow path", async (driver) => {
    await surviveHostileFrames(driver, seed, 200_000);
  });
});
