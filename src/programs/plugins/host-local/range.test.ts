import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Ip, formatIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import {
  type RangeSet,
  type RangeSpecification,
  checkRange,
  checkRangeSet,
  countAddresses,
  findRange,
  formatRangeSet,
  listCandidates,
  rangeContains,
} from "./leases.ts";

const ip = (text: string): Ip => parseIp(text)!;

function specify(text: string): RangeSpecification {
  const [subnet = "", start, end, gateway] = text.split(" ");
  const optional = (part: string | undefined): Ip | undefined =>
    part === undefined || part === "-" ? undefined : ip(part);
  return {
    subnet: parseInterfaceAddress(subnet)!,
    start: optional(start),
    end: optional(end),
    gateway: optional(gateway),
  };
}

const setOf = (...texts: string[]): RangeSet => checkRangeSet(texts.map(specify));
const list = (set: RangeSet, last?: string): string[] =>
  [...listCandidates(set, last === undefined ? undefined : ip(last))].map((candidate) =>
    formatIp(candidate.ip),
  );

describe("what a range leaves out is filled in (cni.md §4.1)", () => {
  it.each([
    ["10.1.2.0/24", "10.1.2.1-10.1.2.254", "10.1.2.1"],
    ["fd00:3::/120", "fd00:3::1-fd00:3::ff", "fd00:3::1"],
    ["10.1.2.0/30", "10.1.2.1-10.1.2.2", "10.1.2.1"],
    ["10.1.2.0/24 10.1.2.10 10.1.2.12 10.9.9.9", "10.1.2.10-10.1.2.12", "10.9.9.9"],
  ])("%s", (text, range, gateway) => {
    expect(formatRangeSet(setOf(text))).toBe(range);
    expect(formatIp(setOf(text)[0].gateway)).toBe(gateway);
  });
});

describe("ranges that cannot be (cni.md §4.1)", () => {
  it.each([
    ["10.1.2.0/31", "Network 10.1.2.0/31 too small to allocate from"],
    ["10.1.2.1/32", "Network 10.1.2.1/32 too small to allocate from"],
    ["fd00::/127", "Network fd00::/127 too small to allocate from"],
    [
      "10.1.2.3/24",
      "Network has host bits set. For a subnet mask of length 24 the network address is 10.1.2.0",
    ],
    ["10.1.2.0/24 10.9.0.1", "RangeStart 10.9.0.1 not in network 10.1.2.0/24"],
    ["10.1.2.0/24 fd00::1", "RangeStart fd00::1 not in network 10.1.2.0/24"],
    ["10.1.2.0/24 10.1.2.20 10.1.2.10", "RangeStart 10.1.2.20 not in network 10.1.2.0/24"],
    ["10.1.2.0/24 - 10.1.3.10", "RangeEnd 10.1.3.10 not in network 10.1.2.0/24"],
    ["10.1.2.0/24 - fd00::1", "RangeEnd fd00::1 not in network 10.1.2.0/24"],
  ])("%s", (text, message) => {
    expect(() => checkRange(specify(text))).toThrowError(message);
  });

  it.each([
    [[], "empty range set"],
    [["10.1.0.0/24", "fd00::/64"], "mixed address families"],
    [["10.1.0.0/24", "10.1.0.0/25"], "subnets 10.1.0.1-10.1.0.254 and 10.1.0.1-10.1.0.126 overlap"],
  ])("%j", (texts, message) => {
    expect(() => setOf(...texts)).toThrowError(message);
  });
});

describe("the order of candidates (cni.md §4.2)", () => {
  const set = setOf("10.1.0.0/29", "10.1.1.0/30");

  it("begins at the first, without gateways", () => {
    expect(list(set)).toEqual(["10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6", "10.1.1.2"]);
  });

  it("goes on after the last and comes round through all ranges", () => {
    expect(list(set, "10.1.0.5")).toEqual([
      "10.1.0.6",
      "10.1.1.2",
      "10.1.0.2",
      "10.1.0.3",
      "10.1.0.4",
      "10.1.0.5",
    ]);
    expect(list(set, "10.1.1.2")).toEqual([
      "10.1.0.2",
      "10.1.0.3",
      "10.1.0.4",
      "10.1.0.5",
      "10.1.0.6",
      "10.1.1.2",
    ]);
  });

  it("begins anew when the last address left the set", () => {
    expect(list(set, "10.9.9.9")).toEqual(list(set));
  });

  it("is empty when the gateway is all there is", () => {
    expect(list(setOf("10.1.0.0/24 10.1.0.7 10.1.0.7 10.1.0.7"))).toEqual([]);
    expect(list(setOf("10.1.0.0/24 10.1.0.7 10.1.0.7 10.1.0.7"), "10.1.0.7")).toEqual([]);
  });

  it("lists each address but the gateways once, wherever it begins", () => {
    const small = fc.record({
      third: fc.uniqueArray(fc.nat({ max: 20 }), { minLength: 1, maxLength: 3 }),
      length: fc.integer({ min: 27, max: 30 }),
      gateway: fc.nat({ max: 32 }),
      last: fc.nat({ max: 31 }),
    });
    fc.assert(
      fc.property(small, ({ third, length, gateway, last }) => {
        const ranges = setOf(...third.map((n) => `10.1.${n}.0/${length} - - 10.1.${n}.${gateway}`));
        const candidates = [...listCandidates(ranges, ip(`10.1.${third[0]}.${last}`))].map((one) => one.ip);
        expect(new Set(candidates).size).toBe(candidates.length);
        expect(BigInt(candidates.length)).toBe(countAddresses(ranges));
        for (const candidate of candidates) {
          const range = findRange(ranges, candidate)!;
          expect(rangeContains(range, candidate) && range.gateway !== candidate).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
