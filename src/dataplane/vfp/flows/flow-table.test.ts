import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KEY_WORDS_MAX } from "../flow-key.ts";
import { FlowTable } from "./flow-table.ts";

const key = fc.oneof(
  fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 4, maxLength: 4 }),
  fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 10, maxLength: 10 }),
);
const operation = fc.record({ kind: fc.constantFrom("set", "delete", "get"), key, value: fc.nat(1000) });

describe("the flow table", () => {
  it("holds what a plain map holds, whatever is added and removed", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 300 }), (operations) => {
        const table = new FlowTable<{ readonly value: number }>(KEY_WORDS_MAX);
        const twin = new Map<string, number>();
        for (const { kind, key: words, value } of operations) {
          const name = words.join(",");
          const typed = Int32Array.from(words);
          if (kind === "set") {
            table.set(typed, typed.length, { value });
            twin.set(name, value);
          } else if (kind === "delete") {
            expect(table.delete(typed, typed.length)).toBe(twin.delete(name));
          } else {
            expect(table.get(typed, typed.length)?.value).toBe(twin.get(name));
          }
          expect(table.size).toBe(twin.size);
        }
        for (const [name, value] of twin) {
          const typed = Int32Array.from(name.split(",").map(Number));
          expect(table.get(typed, typed.length)?.value).toBe(value);
        }
        expect([...table.entries()].map((entry) => entry.value).toSorted((a, b) => a - b)).toEqual(
          [...twin.values()].toSorted((a, b) => a - b),
        );
      }),
      { numRuns: 200 },
    );
  });

  it("sees every entry when it is sampled all the way round", () => {
    const table = new FlowTable<{ readonly value: number }>(KEY_WORDS_MAX);
    for (let value = 0; value < 100; value++) table.set(Int32Array.of(value, 0, 0, 0), 4, { value });
    const seen = new Set<number>();
    for (let round = 0; round < 64; round++) for (const entry of table.sample(8)) seen.add(entry.value);
    expect(seen.size).toBe(100);
  });
});
