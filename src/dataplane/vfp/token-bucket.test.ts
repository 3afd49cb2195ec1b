import { expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { TokenBuckets } from "./token-bucket.ts";

it("a port remembers the rates of so many rules, and forgets the oldest", () => {
  const buckets = new TokenBuckets();
  const first = buckets.get("first");
  const second = buckets.get("second");
  expect(buckets.get("first")).toBe(first);
  for (let i = 0; i < LIMITS.ratesPerPortMax - 1; i++) buckets.get(`rule ${i}`);
  expect(buckets.get("second")).toBe(second);
  expect(buckets.get("first")).not.toBe(first);
});
