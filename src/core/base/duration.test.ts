import { expect, it } from "vitest";
import { formatSpan } from "./duration.ts";

it.each([
  [0, "0 ms", "0 s"],
  [35.25, "35.3 ms", "0 s"],
  [250, "250 ms", "0.3 s"],
  [1_000, "1 s", "1 s"],
  [1_540, "1.5 s", "1.5 s"],
  [90_000, "90 s", "90 s"],
  [240_000, "4 min", "4 min"],
])("%d ms is %s, or %s where nobody asks for less", (ms, exact, inSeconds) => {
  expect([formatSpan(ms), formatSpan(ms, "s")]).toEqual([exact, inSeconds]);
});
