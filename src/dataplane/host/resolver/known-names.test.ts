import { describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { type CachedAnswer, NameCache } from "./known-names.ts";

const ANSWER: CachedAnswer = {
  outcome: "name-error",
  addresses: [],
  canonicalName: "x.",
  expiresAtMs: 1_000,
};

describe("the names that a DNS client remembers", () => {
  it("are bounded: the one that was heard of longest ago goes", () => {
    const cache = new NameCache();
    for (let index = 0; index < LIMITS.dnsCacheNamesMax; index++) cache.set(`n${index}.`, "A", ANSWER);
    cache.set("N0.", "A", ANSWER);
    cache.set("one-more.", "A", ANSWER);
    const known = ["n0.", "n1.", "n2.", "one-more."].map((name) => cache.get(name, "A", 0) !== undefined);
    expect(known).toEqual([true, false, true, true]);
  });

  it("are forgotten when their time is over", () => {
    const cache = new NameCache();
    cache.set("web.", "A", ANSWER);
    expect([cache.get("web.", "A", 999), cache.get("web.", "A", 1_000)]).toEqual([ANSWER, undefined]);
  });
});
