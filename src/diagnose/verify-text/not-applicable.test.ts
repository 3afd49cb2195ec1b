import { expect, it } from "vitest";
import { EXPECTATION_ROWS } from "#core/catalogue/expectation-table.ts";
import { whyNotApplicable } from "./explain-verification.ts";

it("every row that does not apply says why, and no other row does", () => {
  for (const { id, expected } of EXPECTATION_ROWS) {
    expect([id, whyNotApplicable(id) !== undefined]).toEqual([id, expected.outcome === "not-applicable"]);
  }
});
