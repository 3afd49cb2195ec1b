import { describe, it } from "vitest";
import { DRIVERS, surviveHostileFrames } from "#test/support/hns/hostile-frames.suite.ts";

describe("a node under hostile frames", () => {
  it.each(DRIVERS)("%s: survives them, fast path equal to slow path, and works as before", async (driver) => {
    await surviveHostileFrames(driver, 11, 3_000);
  });
});
