import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { parsePrefix } from "#core/net/ip.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import { RuleIndex, indexRule } from "#dataplane/vfp/matching/rule-index.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { findSwapped, ruleListOf } from "./rule-lists.ts";

const prefix = (text: string): NonNullable<Condition["destination"]>[number] =>
  defined(parsePrefix(text), "a prefix");

function rule(id: string, condition: Condition): Rule {
  const provenance = { object: "test", id, name: id };
  const action = { type: "allow" } as const;
  return {
    id,
    name: id,
    priority: 100,
    condition,
    action,
    isTerminating: true,
    isStateful: false,
    provenance,
  };
}

function indexOf(conditions: readonly Condition[], ranks: readonly number[] = []): RuleIndex {
  return RuleIndex.of(
    conditions.map((condition, at) => indexRule(rule(`${at}`, condition), ranks[at] ?? 100, at)),
    4,
  );
}

describe("rules that stand the other way round on another machine", () => {
  const TCP = 6;
  const UDP = 17;
  it.each<[what: string, one: Condition, other: Condition, matters: boolean]>([
    [
      "other destinations",
      { destination: [prefix("10.0.0.1/32")] },
      { destination: [prefix("10.0.0.2/32")] },
      false,
    ],
    [
      "a destination in another",
      { destination: [prefix("10.0.0.1/32")] },
      { destination: [prefix("10.0.0.0/24")] },
      true,
    ],
    ["other protocols", { protocols: [TCP] }, { protocols: [UDP] }, false],
    [
      "other ports",
      { destinationPorts: [{ first: 80, last: 80 }] },
      { destinationPorts: [{ first: 443, last: 443 }] },
      false,
    ],
    [
      "ports in common",
      { destinationPorts: [{ first: 1, last: 443 }] },
      { destinationPorts: [{ first: 443, last: 500 }] },
      true,
    ],
    ["a condition for all", {}, { protocols: [TCP] }, true],
  ])("%s: it matters only when one packet can match both", (_, one, other, matters) => {
    const list = defined(ruleListOf(indexOf([one, other])), "an index is a list of rules");
    expect(findSwapped(list, [1, 0])).toEqual(matters ? [0, 1] : undefined);
    expect(findSwapped(list, [0, 1])).toBeUndefined();
  });

  it("matters between ranks whatever they ask for", () => {
    const conditions = [{ protocols: [TCP] }, { protocols: [UDP] }];
    const list = defined(ruleListOf(indexOf(conditions, [1, 2])), "an index is a list of rules");
    expect(findSwapped(list, [1, 0])).toEqual([0, 1]);
  });
});

describe("an index of rules", () => {
  const conditions = Array.from({ length: 20 }, (_, at): Condition => {
    return { protocols: [6], destination: [prefix(`10.0.0.${at}/32`)] };
  });

  it("is sound as it was made and as it was changed", () => {
    const index = indexOf(conditions);
    const [first] = index.list();
    const added = indexRule(rule("new", { protocols: [6], destination: [prefix("10.9.9.9/32")] }), 100, 99);
    expect(index.isSound()).toBe(true);
    expect(index.with(new Set([defined(first, "a rule").rule]), [added]).isSound()).toBe(true);
  });

  it("is not when a rule lies where no packet looks for it", () => {
    const index = indexOf(conditions);
    const fields = index as unknown as { tables: readonly { buckets: readonly (readonly unknown[])[] }[] };
    const [table] = fields.tables;
    const { buckets } = defined(table, "so many rules lie in a table");
    // The first bucket goes behind the others.
    const turned = Object.assign(Object.create(Object.getPrototypeOf(table) as object) as object, table, {
      buckets: [...buckets.slice(1), ...buckets.slice(0, 1)],
    });
    const damaged = Object.create(RuleIndex.prototype) as RuleIndex;
    Object.assign(damaged, index, { tables: [turned] });
    expect(damaged.isSound()).toBe(false);
  });
});
