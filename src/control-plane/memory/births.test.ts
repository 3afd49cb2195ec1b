import { describe, expect, it } from "vitest";
import { Births } from "./control-plane.ts";

describe("how often something of a name was made", () => {
  it("ascends for each name alone", () => {
    const births = new Births();
    expect(["a", "b", "a"].map((name) => births.next(name))).toEqual([1, 1, 2]);
  });

  it("goes on behind the highest count that was forgotten, and then ascends", () => {
    const births = new Births(2);
    expect(["a", "a", "a", "b", "c", "d", "a", "a"].map((name) => births.next(name))).toEqual([
      // "a" is forgotten with 3 as "c" comes: new names begin behind it.
      1, 2, 3, 1, 1, 4, 4, 5,
    ]);
  });

  it("never gives a name a count twice, though it was forgotten in between", () => {
    const births = new Births(2);
    const drawn = ["a", "a", "b", "c", "a", "b", "c", "a"].map((name) => `${name} ${births.next(name)}`);
    expect(new Set(drawn).size).toBe(drawn.length);
  });
});
