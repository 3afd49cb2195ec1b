import { existsSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { compareCodes } from "#test/support/cluster/one-code.suite.ts";

const EXAMPLES = readdirSync("examples").filter((name) => existsSync(`examples/${name}/cluster.yaml`));

let sum = 0;

it.each(EXAMPLES)("trace and verify give each denied packet of examples/%s one code", async (name) => {
  const { different, compared } = await compareCodes(name, true);
  sum += compared;
  expect(different).toEqual([]);
});

it("has compared many", () => {
  expect(sum).toBeGreaterThan(60);
});
