import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FlowKey } from "../flow-key.ts";
import { Transposition } from "../actions/transposition.ts";
import { UnifiedFlow } from "./unified-flow.ts";
import { UnifiedFlowTable } from "./unified-flow-table.ts";

const TTL_MS = 100;

/** A key of `length` words that `seed` tells from others. */
function keyOf(seed: number, length: number): FlowKey {
  const key = new FlowKey();
  for (let i = 0; i < length; i++) key.words[i] = i === 0 ? 6 : seed * (i + 1);
  key.length = length;
  key.tupleLength = length - 4;
  return key;
}

function flow(): UnifiedFlow {
  return new UnifiedFlow({
    transposition: new Transposition(),
    misses: [],
    effects: undefined,
    staleAtMs: Number.POSITIVE_INFINITY,
    ttlMs: TTL_MS,
  });
}

const operation = fc.record({
  kind: fc.constantFrom("add", "add", "add", "remove", "touch"),
  seed: fc.integer({ min: 1, max: 60 }),
  length: fc.constantFrom(8, 8, 8, 9, 18, 30),
});

describe("UnifiedFlowTable", () => {
  it("does what a map does, for keys of all lengths", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const table = new UnifiedFlowTable(8);
        const twin = new Map<string, { readonly flow: UnifiedFlow; packets: number }>();
        for (const { kind, seed, length } of operations) {
          const name = `${seed} ${length}`;
          const key = keyOf(seed, length);
          const record = table.find(key.words, length);
          expect(record >= 0).toBe(twin.has(name));
          if (kind === "add") {
            const added = flow();
            table.add(key, key, added, { generation: 1, flowsMade: 0, nowMs: 0 });
            twin.set(name, { flow: added, packets: 1 });
          } else if (record >= 0 && kind === "remove") {
            table.remove(record);
            twin.delete(name);
          } else if (record >= 0) {
            table.touch(record, 1);
            twin.get(name)!.packets++;
          }
          expect(table.size).toBe(twin.size);
        }
        const listed = [...table.items()].map(({ key, value }) => ({
          name: `${key[1]! / 2} ${key.length}`,
          value,
        }));
        expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(twin.keys()));
        for (const { name, value } of listed) {
          expect(value).toBe(twin.get(name)?.flow);
          expect(value.packets).toBe(twin.get(name)?.packets);
        }
      }),
    );
  });

  it("sweeps what is idle or of older rules, a few records at a time, and gives their room to others", () => {
    const table = new UnifiedFlowTable(8);
    const flows = Array.from({ length: 40 }, flow);
    for (const [index, each] of flows.entries()) {
      const key = keyOf(index + 1, 8);
      table.add(key, key, each, { generation: index < 10 ? 1 : 2, flowsMade: 0, nowMs: index < 20 ? 0 : 50 });
    }
    let removed = 0;
    for (let round = 0; round < 10; round++) removed += table.sweep(4, 2, TTL_MS);
    expect(removed).toBe(20);
    expect(table.size).toBe(20);
    expect(flows.map(({ hasLeft }) => hasLeft).indexOf(false)).toBe(20);
    expect(flows[0]).toMatchObject({ lastUsedMs: 0, hasLeft: true });
    expect(flows[30]).toMatchObject({ lastUsedMs: 50, packets: 1 });
  });

  it("made smaller when most flows have gone, it finds each of the others with its packets and its object", () => {
    const table = new UnifiedFlowTable(8);
    const flows = Array.from({ length: 400 }, flow);
    const keys = flows.map((_, index) => keyOf(index + 1, 8));
    for (const [index, each] of flows.entries()) {
      const nowMs = index % 40 === 7 ? 50 : 0;
      table.add(keys[index]!, keys[index]!, each, { generation: 1, flowsMade: 0, nowMs });
      if (nowMs > 0) table.touch(table.find(keys[index]!.words, 8), nowMs + index);
    }
    table.forgetIdle(1, TTL_MS);
    const left = flows.filter(({ hasLeft }) => !hasLeft);
    expect(left).toHaveLength(10);
    for (const each of left) {
      const key = keys[flows.indexOf(each)]!;
      const record = table.find(key.words, 8);
      expect(table.packetsOf(record)).toBe(2);
      expect(each.lastUsedMs).toBe(50 + flows.indexOf(each));
      table.remove(record);
      expect(each.hasLeft).toBe(true);
    }
    expect(table.size).toBe(0);
  });
});
