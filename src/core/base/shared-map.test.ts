import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fork } from "./fork.ts";
import { SharedMap } from "./shared-map.ts";

type Step =
  | { readonly do: "set"; readonly key: number; readonly value: string }
  | { readonly do: "delete"; readonly key: number }
  | { readonly do: "settle" }
  | { readonly do: "fork" };

const key = fc.nat(6);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("set" as const), key, value: fc.string({ minLength: 1, maxLength: 2 }) }),
  fc.record({ do: fc.constant("delete" as const), key }),
  fc.record({ do: fc.constant("settle" as const) }),
  fc.record({ do: fc.constant("fork" as const) }),
);

function expectSame(map: SharedMap<number, string>, plain: Map<number, string>): void {
  expect([...map.entries()]).toEqual([...plain]);
  expect([...map.values()]).toEqual([...plain.values()]);
  expect(map.size).toBe(plain.size);
  for (let each = 0; each <= 6; each++) {
    expect(map.get(each)).toBe(plain.get(each));
    expect(map.has(each)).toBe(plain.has(each));
  }
}

describe("a shared map", () => {
  it("is a map, whatever is settled and forked in between, and forks leave it alone", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let [map, plain] = [new SharedMap<number, string>(), new Map<number, string>()];
        const left: [SharedMap<number, string>, Map<number, string>][] = [];
        for (const each of steps) {
          if (each.do === "set") {
            map.set(each.key, each.value);
            plain.set(each.key, each.value);
          } else if (each.do === "delete") {
            expect(map.delete(each.key)).toBe(plain.delete(each.key));
          } else if (each.do === "settle") {
            map.settle();
          } else {
            left.push([map, plain]);
            [map, plain] = [fork({ map }).map, new Map(plain)];
          }
          expectSame(map, plain);
        }
        for (const [former, formerPlain] of left) expectSame(former, formerPlain);
      }),
    );
  });

  it("shares what is settled with its forks", () => {
    const map = new SharedMap<number, { readonly n: number }>();
    const value = { n: 1 };
    map.set(1, value);
    expect(fork({ map }).map.get(1)).not.toBe(value);
    map.settle();
    expect(fork({ map }).map.get(1)).toBe(value);
  });
});
