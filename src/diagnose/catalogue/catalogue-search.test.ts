import { describe, expect, it } from "vitest";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { findCode } from "./catalogue.ts";

describe("findCode", () => {
  it.each(KNOWLEDGE_CODES.map((code) => [code]))("finds %s", (code) => {
    expect(findCode(code)).toEqual({ code });
  });

  it.each(["No-Route", " no-route ", "no route", "NO_ROUTE"])("takes %j for no-route", (text) => {
    expect(findCode(text)).toEqual({ code: "no-route" });
  });

  it.each([
    ["icmp-outbound-not-transalted", "icmp-outbound-not-translated"],
    ["no-rout", "no-route"],
    ["ttl-expierd", "ttl-expired"],
    ["icmp", "icmp-outbound-not-translated"],
    ["fragments", "fragment-without-first"],
    ["nat pool", "nat-port-pool-exhausted"],
  ])("suggests for %j first %s", (text, first) => {
    const search = findCode(text);
    expect(search.code).toBeUndefined();
    expect(search.code === undefined ? search.suggestions[0] : undefined).toBe(first);
  });

  it("has no suggestion for nonsense", () => {
    expect(findCode("xyzzy")).toEqual({ code: undefined, suggestions: [] });
    expect(findCode("")).toEqual({ code: undefined, suggestions: [] });
  });
});
