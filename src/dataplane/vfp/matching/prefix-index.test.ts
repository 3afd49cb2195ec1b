import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Ip, type Ipv4, type Ipv6, prefixContains, prefixOf } from "#core/net/ip.ts";
import { group, headersOf, ip, prefix, rule, udp } from "#test/support/dataplane/engine-kit.ts";
import { FlowKey } from "../flow-key.ts";
import type { Rule } from "../rule.ts";

const four: fc.Arbitrary<Ip> = fc
  .integer({ min: 0, max: 0xfff })
  .map((low) => (0x0af4_0000 + low * 16) as Ipv4);
const six: fc.Arbitrary<Ip> = fc
  .tuple(fc.nat(15), fc.nat(15))
  .map(([a, b]) => ((0xfd00n << 112n) | (BigInt(a) << 60n) | BigInt(b)) as Ipv6);

function rules(address: fc.Arbitrary<Ip>, bits: number): fc.Arbitrary<Rule[]> {
  const one = fc.record({
    address,
    length: fc.oneof(fc.nat(bits), fc.constant(bits), fc.constant(0)),
    sourcePort: fc.boolean(),
  });
  return fc.array(one, { maxLength: 60 }).map((list) =>
    list.map(({ address: value, length, sourcePort }, index) =>
      rule(
        String(index),
        { type: "allow" },
        {
          condition: {
            destination: [prefixOf(value, length)],
            // Some ask for more than the prefix, so that a shorter one may win.
            ...(sourcePort ? { sourcePorts: [{ first: 9, last: 9 }] } : {}),
          },
        },
      ),
    ),
  );
}

function keyOf(destination: Ip): FlowKey {
  const packet =
    typeof destination === "number"
      ? udp(["10.0.0.1", 1], ["10.0.0.2", 2])
      : udp(["fd00::1", 1], ["fd00::2", 2]);
  const key = new FlowKey();
  const headers = headersOf(packet);
  const at = new DataView(packet.bytes.buffer, packet.bytes.byteOffset);
  if (typeof destination === "number") at.setUint32(headers.network + 16, destination);
  else {
    at.setBigUint64(headers.network + 24, destination >> 64n);
    at.setBigUint64(headers.network + 32, destination & ((1n << 64n) - 1n));
  }
  key.read(packet, headers, "out");
  return key;
}

/** What a search through the whole list finds. */
function naive(list: readonly Rule[], destination: Ip): Rule | undefined {
  return list
    .filter(
      ({ condition }) =>
        condition.sourcePorts === undefined && prefixContains(condition.destination![0]!, destination),
    )
    .toSorted((a, b) => b.condition.destination![0]!.length - a.condition.destination![0]!.length)[0];
}

describe.each([
  { family: 4 as const, address: four, bits: 32 },
  { family: 6 as const, address: six, bits: 128 },
])("the longest prefix among IPv$family rules", ({ family, address, bits }) => {
  it("is what a search through the list finds, also in groups that were changed", () => {
    fc.assert(
      fc.property(
        rules(address, bits),
        rules(address, bits),
        fc.array(address, { minLength: 1 }),
        (first, more, asked) => {
          const made = group(first, { match: "lpm-destination", family });
          const removed = first.filter((_, index) => index % 3 === 0);
          const changed = made.replaceRules(removed, more);
          const left = [...first.filter((_, index) => index % 3 !== 0), ...more];
          expect(changed.size).toBe(left.length);
          for (const destination of asked) {
            expect(made.find(keyOf(destination))).toBe(naive(first, destination));
            expect(changed.find(keyOf(destination))).toBe(naive(left, destination));
          }
          for (const each of left) expect(changed.has(each)).toBe(true);
          for (const each of removed) expect(changed.has(each)).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });
});

it("a group's own condition is asked first", () => {
  const only = group([rule("all", { type: "allow" })], {
    condition: { destination: [prefix("10.1.0.0/16")] },
  });
  expect(only.find(keyOf(ip("10.1.2.3")))?.id).toBe("all");
  expect(only.find(keyOf(ip("10.2.2.3")))).toBeUndefined();
  expect(
    only.replaceRules([], [rule("more", { type: "allow" })]).find(keyOf(ip("10.2.2.3"))),
  ).toBeUndefined();
});
