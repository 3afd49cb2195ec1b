import { assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { editDistance, nearestNames } from "./nearest-name.ts";

describe("editDistance", () => {
  it.each([
    ["", "", 0],
    ["pod", "pod", 0],
    ["pod", "pods", 1],
    ["adress", "address", 1],
    ["podCDIR", "podCIDR", 1],
    ["kitten", "sitting", 3],
  ])("%s to %s is %d", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  it("stops at the limit", () => {
    expect(editDistance("kitten", "sitting", 2)).toBe(3);
    expect(editDistance("a", "abcdefgh", 2)).toBe(3);
  });

  it("is the same in both directions, and zero only for equal texts", () => {
    assert(
      property(string({ maxLength: 12 }), string({ maxLength: 12 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});

describe("nearestNames", () => {
  const known = ["address", "build", "compat", "name", "os", "podCIDR"];
  it.each([
    ["adress", ["address"]],
    ["podcidr", ["podCIDR"]],
    ["podCIDRs", ["podCIDR"]],
    ["bulid", ["build"]],
    ["o", ["os"]],
    ["kernel", []],
    ["", []],
    ["x".repeat(100_000), []],
  ])("%s means %j", (text, names) => {
    expect(nearestNames(text, known)).toEqual(names);
  });

  it("puts the nearest first and keeps to the count", () => {
    expect(nearestNames("port", ["ports", "pod", "port", "router"], 2)).toEqual(["port", "ports"]);
  });
});
