// Groups that are changed against groups that are made anew: the same rules win for every destination.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Ipv4, formatIp } from "../../net/ip.ts";
import { type Prefix, maskIp } from "../../net/prefix.ts";
import type { Group } from "../../vfp/group.ts";
import type { Rule } from "../../vfp/rule.ts";
import { changeGroup, makeGroup, makeRule } from "./overlay-parts.ts";
import { HNS_DEFAULT } from "./provenance.ts";

const NAME = "GROUP";

/** `10.<second>.0.0/<length>`: few enough that prefixes meet again. */
const PREFIX = fc
  .record({ second: fc.integer({ min: 0, max: 7 }), length: fc.constantFrom(8, 14, 16, 24) })
  .map(({ second, length }): Prefix => {
    const address = (0x0a00_0000 + second * 0x1_0000) as Ipv4;
    return { address: maskIp(address, length), length };
  });

let made = 0;
function ruleFor(prefix: Prefix): Rule {
  made++;
  return makeRule({
    id: `${made}`,
    name: `${formatIp(prefix.address)}/${prefix.length}`,
    condition: { destination: [prefix] },
    action: { type: "allow" },
    provenance: HNS_DEFAULT,
  });
}

/** The rules of each prefix in the order in which they are tried: only there does it decide who wins. */
function idsByPrefix(groups: readonly Group[]): Readonly<Record<string, readonly string[]>> {
  const rules = groups.flatMap((group) => group.rules);
  const grouped = [...Map.groupBy(rules, ({ name }) => name)];
  return Object.fromEntries(grouped.map(([name, list]) => [name, list.map(({ id }) => id)]));
}

describe("a group of longest prefixes that is changed", () => {
  it("has the rules of one that is made anew, and the same ones win", () => {
    const step = fc.record({ at: fc.nat(20), removed: fc.nat(3), added: fc.array(PREFIX, { maxLength: 4 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        let rules: readonly Rule[] = [];
        let groups: readonly Group[] = [];
        for (const { at, removed, added } of steps) {
          rules = rules.toSpliced(Math.min(at, rules.length), removed, ...added.map(ruleFor));
          groups = changeGroup(groups, NAME, "out", rules);
          expect(idsByPrefix(groups)).toEqual(idsByPrefix(makeGroup(NAME, "out", rules)));
        }
      }),
    );
  });

  it("keeps its parts when one rule comes", () => {
    const rules = [0, 1, 2].map((second) =>
      ruleFor({ address: (0x0a00_0000 + second * 0x1_0000) as Ipv4, length: 16 }),
    );
    const before = changeGroup(undefined, NAME, "out", rules.slice(0, 2));
    const after = changeGroup(before, NAME, "out", rules);
    expect(after[0]?.size).toBe(3);
    expect(rules.every((rule) => after[0]?.has(rule))).toBe(true);
    expect(before[0]?.size).toBe(2);
  });
});
