import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Ip, type Ipv4, type Ipv6, type Prefix, prefixContains, prefixOf } from "#core/net/ip.ts";
import { group, ip, layer, makePort, prefix, rule, send, udp } from "#test/support/dataplane/engine-kit.ts";
import { AddressSet } from "./condition.ts";

/** Few bits that differ, so that addresses meet prefixes. */
const address4: fc.Arbitrary<Ip> = fc
  .tuple(fc.constantFrom(0, 0x7fff_ff00, 0x8000_0000, 0xffff_ff00), fc.nat(255))
  .map(([base, low]) => (base + low) as Ipv4);
const address6: fc.Arbitrary<Ip> = fc
  .tuple(
    fc.constantFrom(0n, 0x7fff_ffffn << 96n, 0xfd00n << 112n, ((1n << 128n) - 1n) ^ 0xffn),
    fc.nat(255),
    fc.nat(2),
  )
  .map(([base, low, word]) => (base | (BigInt(low) << BigInt(word * 32))) as Ipv6);

function prefixesOf(address: fc.Arbitrary<Ip>, bits: number): fc.Arbitrary<Prefix[]> {
  return fc.array(
    fc
      .tuple(address, fc.integer({ min: 0, max: 12 }))
      .map(([value, host]) => prefixOf(value, host > 11 ? 0 : bits - host)),
    { maxLength: 12 },
  );
}

describe("a set of addresses", () => {
  it("holds what its prefixes hold, in both families", () => {
    fc.assert(
      fc.property(
        prefixesOf(address4, 32),
        prefixesOf(address6, 128),
        fc.array(fc.oneof(address4, address6), { minLength: 1 }),
        (four, six, asked) => {
          const prefixes = [...four, ...six];
          const set = new AddressSet("s", prefixes);
          for (const one of asked)
            expect(set.hasAddress(one)).toBe(prefixes.some((each) => prefixContains(each, one)));
        },
      ),
    );
  });

  it("ends where its ranges end", () => {
    const set = new AddressSet("s", [
      prefix("10.0.0.0/24"),
      prefix("10.0.9.9/32"),
      prefix("fd00::/120"),
      prefix("fd00::9:9/128"),
    ]);
    const inside = ["10.0.0.0", "10.0.0.255", "10.0.9.9", "fd00::", "fd00::ff", "fd00::9:9"];
    const outside = [
      "9.255.255.255",
      "10.0.1.0",
      "10.0.9.8",
      "10.0.9.10",
      "fd00::100",
      "fd00::9:8",
      "fd00::9:a",
    ];
    expect(inside.filter((each) => !set.hasAddress(ip(each)))).toEqual([]);
    expect(outside.filter((each) => set.hasAddress(ip(each)))).toEqual([]);
  });

  it("joins neighbours and what overlaps", () => {
    const set = new AddressSet("s", [
      prefix("10.0.0.0/25"),
      prefix("10.0.0.128/25"),
      prefix("10.0.0.7/32"),
      prefix("10.0.2.0/24"),
    ]);
    expect(set.rangeCount).toBe(2);
  });

  it("is found beside an exact destination, among many rules", () => {
    const condition = {
      protocols: [17],
      destination: [prefix("10.9.9.9/32")],
      destinationPorts: [{ first: 2, last: 2 }],
    };
    const nodes = new AddressSet("nodes", [prefix("10.0.0.0/24")]);
    const block = { type: "block", code: "acl-rule-blocked" } as const;
    const others = Array.from({ length: 20 }, (_, index) =>
      rule(
        `other ${index}`,
        { type: "allow" },
        { priority: 200, condition: { ...condition, protocols: [index + 30] } },
      ),
    );
    const port = makePort([layer("ACL", 15)]);
    port.setGroups("ACL", [
      group([...others, rule("set", block, { condition: { ...condition, destinationSets: [nodes] } })]),
    ]);
    for (const to of ["10.9.9.9", "10.0.0.7"])
      expect(send(port, "out", udp(["10.0.0.1", 1], [to, 2]))).toBe("drop");
    expect(send(port, "out", udp(["10.0.0.1", 1], ["10.0.1.7", 2]))).toBe("pass");
  });

  it("is a condition of rules, beside prefixes and in place of them", () => {
    const nodes = new AddressSet("nodes", [prefix("10.0.0.0/24"), prefix("fd00::/64")]);
    const port = makePort([layer("ACL", 15, { isDefaultAllow: false })]);
    const allow = rule(
      "allow",
      { type: "allow" },
      {
        condition: { destinationSets: [nodes], destination: [prefix("10.9.9.9/32")], sourceSets: [nodes] },
      },
    );
    port.setGroups("ACL", [group([allow]), group([allow], { family: 6, name: "six" })]);
    const verdict = (from: string, to: string): string => send(port, "out", udp([from, 1], [to, 2]));
    expect(verdict("10.0.0.1", "10.0.0.2")).toBe("pass");
    expect(verdict("10.0.0.1", "10.9.9.9")).toBe("pass");
    expect(verdict("10.9.9.9", "10.0.0.2")).toBe("drop");
    expect(verdict("10.0.0.1", "10.0.1.1")).toBe("drop");
    expect(verdict("fd00::1", "fd00::2")).toBe("pass");
    expect(verdict("fd00::1", "fd00:1::2")).toBe("drop");
    expect(nodes.hasAddress(ip("10.0.1.0"))).toBe(false);
  });
});
