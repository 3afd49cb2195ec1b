import { describe, expect, it } from "vitest";
import { SOAKED, WORKS, findLeaks } from "#test/support/cluster/soak.suite.ts";

describe("a cluster that does the same work again and again", () => {
  it.each(Object.entries(SOAKED))("holds no more afterwards: %s", async (_network, fields) => {
    expect(await findLeaks(fields, WORKS, 3)).toEqual([]);
  });
});
