import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ANY_IPV4,
  type Ip,
  type Ipv4,
  type Ipv6,
  type Prefix,
  bitsOf,
  equalPrefixes,
  familyOf,
  formatIp,
  formatPrefix,
  hostPrefix,
  lastIp,
  lengthOfMask,
  maskIp,
  maskOf,
  parseInterfaceAddress,
  parseIp,
  parseIpv4,
  parsePrefix,
  prefixContains,
  prefixCovers,
  prefixFamily,
  prefixOf,
  prefixesOverlap,
} from "./ip.ts";

const ip = (text: string): Ip => parseIp(text)!;
const prefix = (text: string): Prefix => parsePrefix(text)!;
const anyIp: fc.Arbitrary<Ip> = fc.oneof(
  fc.integer({ min: 0, max: 0xffff_ffff }).map((value) => value as Ip),
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value) => value as Ip),
);
const anyPrefix = fc
  .tuple(anyIp, fc.nat(128))
  .map(([address, length]) => prefixOf(address, length % (bitsOf(familyOf(address)) + 1)));

/** Obviously right: the bits of an address as text. */
function bits(address: Ip): string {
  return address.toString(2).padStart(bitsOf(familyOf(address)), "0");
}

describe("parsePrefix", () => {
  it.each(["0.0.0.0/0", "10.244.0.0/16", "10.244.1.10/32", "::/0", "fd00:1::/64", "fd00::1/128"])(
    "%s",
    (text) => {
      expect(formatPrefix(prefix(text))).toBe(text);
    },
  );

  it.each([
    "",
    "10.0.0.0",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "/8",
    "fd00::/129",
    "10.0.0.1/8",
    "fd00::1/64",
    "10.0.0.0/8 ",
    "10.0.0.0/1e1",
  ])("'%s' is refused", (text) => {
    expect(parsePrefix(text)).toBeUndefined();
  });

  it("an interface's address keeps its host bits", () => {
    expect(parseInterfaceAddress("10.244.1.10/24")).toEqual({ ip: ip("10.244.1.10"), length: 24 });
    expect(parseInterfaceAddress("10.244.1.10")).toBeUndefined();
    expect(parseInterfaceAddress("10.244.1.10/33")).toBeUndefined();
  });
});

describe("masks of IPv4", () => {
  it.each([
    [0, "0.0.0.0"],
    [1, "128.0.0.0"],
    [16, "255.255.0.0"],
    [23, "255.255.254.0"],
    [31, "255.255.255.254"],
    [32, "255.255.255.255"],
  ])("/%d is %s", (length, text) => {
    expect(formatIp(maskOf(length))).toBe(text);
    expect(lengthOfMask(parseIpv4(text)!)).toBe(length);
  });

  it.each(["255.0.255.0", "0.255.255.255", "0.0.0.1", "255.255.255.253"])("%s is none", (text) => {
    expect(lengthOfMask(parseIpv4(text)!)).toBeUndefined();
  });
});

describe("prefixes equal what their bits say", () => {
  it("maskIp clears all bits behind the length", () => {
    fc.assert(
      fc.property(anyIp, fc.nat(128), (address, length) => {
        const size = bitsOf(familyOf(address));
        const kept = Math.min(length, size);
        expect(bits(maskIp(address, kept))).toBe(bits(address).slice(0, kept).padEnd(size, "0"));
      }),
    );
  });

  it("prefixContains compares the first bits, within one family", () => {
    fc.assert(
      fc.property(anyPrefix, anyIp, fc.boolean(), (outer, other, isNear) => {
        const inside = isNear ? lastIp(outer) : other;
        const expected =
          familyOf(inside) === prefixFamily(outer) &&
          bits(inside).startsWith(bits(outer.address).slice(0, outer.length));
        expect(prefixContains(outer, inside)).toBe(expected);
      }),
    );
  });

  it("lastIp sets all bits behind the length", () => {
    fc.assert(
      fc.property(anyPrefix, (value) => {
        const size = bitsOf(prefixFamily(value));
        expect(bits(lastIp(value))).toBe(bits(value.address).slice(0, value.length).padEnd(size, "1"));
      }),
    );
  });

  it("two prefixes overlap when one covers the other, and not otherwise", () => {
    fc.assert(
      fc.property(anyPrefix, anyPrefix, (a, b) => {
        const shared = Math.min(a.length, b.length);
        const expected =
          prefixFamily(a) === prefixFamily(b) &&
          bits(a.address).slice(0, shared) === bits(b.address).slice(0, shared);
        expect(prefixesOverlap(a, b)).toBe(expected);
        expect(prefixesOverlap(b, a)).toBe(expected);
      }),
    );
  });
});

describe("prefixes by example", () => {
  it.each([
    { outer: "10.244.0.0/16", inner: "10.244.1.0/24", covers: true },
    { outer: "10.244.1.0/24", inner: "10.244.0.0/16", covers: false },
    { outer: "10.244.1.0/24", inner: "10.244.1.0/24", covers: true },
    { outer: "0.0.0.0/0", inner: "10.0.0.0/8", covers: true },
    { outer: "0.0.0.0/0", inner: "fd00::/8", covers: false },
    { outer: "::/0", inner: "0.0.0.0/0", covers: false },
  ])("$outer covers $inner: $covers", ({ outer, inner, covers }) => {
    expect(prefixCovers(prefix(outer), prefix(inner))).toBe(covers);
  });

  it.each([
    { text: "10.244.1.0/24", last: "10.244.1.255" },
    { text: "0.0.0.0/0", last: "255.255.255.255" },
    { text: "128.0.0.0/1", last: "255.255.255.255" },
    { text: "0.0.0.0/1", last: "127.255.255.255" },
    { text: "10.0.0.1/32", last: "10.0.0.1" },
    { text: "fd00::/126", last: "fd00::3" },
  ])("the last address of $text is $last", ({ text, last }) => {
    expect(formatIp(lastIp(prefix(text)))).toBe(last);
  });

  it("hostPrefix holds one address", () => {
    expect(formatPrefix(hostPrefix(ip("10.0.0.1") as Ipv4))).toBe("10.0.0.1/32");
    expect(formatPrefix(hostPrefix(ip("fd00::1") as Ipv6))).toBe("fd00::1/128");
    expect(prefixContains(hostPrefix(ip("10.0.0.1")), ip("10.0.0.2"))).toBe(false);
  });

  it("ANY_IPV4 is everything of one family", () => {
    expect(prefixContains(ANY_IPV4, ip("203.0.113.10"))).toBe(true);
    expect(prefixContains(ANY_IPV4, ip("::1"))).toBe(false);
    expect(Object.isFrozen(ANY_IPV4)).toBe(true);
  });

  it("are equal by value", () => {
    expect(equalPrefixes(prefix("10.0.0.0/8"), prefix("10.0.0.0/8"))).toBe(true);
    expect(equalPrefixes(prefix("10.0.0.0/8"), prefix("10.0.0.0/9"))).toBe(false);
    expect(equalPrefixes(prefix("0.0.0.0/0"), prefix("::/0"))).toBe(false);
  });
});
