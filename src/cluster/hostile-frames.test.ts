import { describe, it } from "vitest";
import { surviveHostileFrames } from "./hostile-frames.suite.ts";

describe("a cluster under hostile frames", () => {
  it("survives them, and works as before", async () => {
    await surviveHostileFrames(1, 3_000);
  });
});
