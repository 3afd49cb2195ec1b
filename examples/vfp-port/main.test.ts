import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example vfp-port translates a connection and its answer, and drops what nobody asked for", () => {
  expect(runExample()).toEqual([
    "out: pass, 10.244.1.7 → 10.244.2.9",
    "in: pass, 10.96.0.80 → 10.244.1.7",
    "in: drop, 10.244.3.3 → 10.244.1.7",
    "unified flows: 2",
  ]);
});
