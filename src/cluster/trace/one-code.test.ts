// A slice of the long run: the rows whose last drop is a symptom.
import { expect, it } from "vitest";
import { compareCodes } from "#test/support/cluster/one-code.suite.ts";

it.each([
  ["driver-overlay", 10],
  ["driver-transparent", 8],
  ["trouble-exception-list", 7],
] as const)("trace and verify give each denied packet of examples/%s one code: %i", async (name, count) => {
  const { different, compared } = await compareCodes(name, false);
  expect(different).toEqual([]);
  expect(compared).toBe(count);
});
