import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Ip,
  type Ipv4,
  type Ipv6,
  addToIp,
  bitsOf,
  familyOf,
  formatIp,
  isMulticastIp,
  parseIp,
  parseIpv4,
  parseIpv6,
} from "./ip.ts";

const ip = (text: string): Ip => parseIp(text)!;
const anyIpv6 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
/** Groups that are often zero, so that runs appear. */
const groupedIpv6 = fc
  .array(fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 0xffffn })), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.reduce((value, group) => (value << 16n) | group, 0n));

describe("IPv4", () => {
  it.each([
    { text: "0.0.0.0", value: 0 },
    { text: "10.244.1.10", value: 0x0af4010a },
    { text: "255.255.255.255", value: 0xffff_ffff },
    { text: "192.168.0.1", value: 0xc0a8_0001 },
  ])("$text", ({ text, value }) => {
    expect(parseIp(text)).toBe(value);
    expect(formatIp(value as Ipv4)).toBe(text);
    expect(familyOf(value as Ipv4)).toBe(4);
  });

  it.each([
    "",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.2.3.4",
    "1.2.3.04",
    "1..2.3",
    "1.2.3.4 ",
    "+1.2.3.4",
    "0x1.2.3.4",
    "1e1.2.3.4",
    "1.2.3.٤",
  ])("'%s' is refused", (text) => {
    expect(parseIpv4(text)).toBeUndefined();
    expect(parseIp(text)).toBeUndefined();
  });

  it("format then parse gives the same address", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), (value) => {
        expect(parseIp(formatIp(value as Ipv4))).toBe(value);
      }),
    );
  });
});

describe("IPv6", () => {
  // RFC 4291 §2.2 and RFC 5952 §4, §5.
  it.each([
    { text: "::", printed: "::" },
    { text: "::1", printed: "::1" },
    { text: "1::", printed: "1::" },
    { text: "2001:DB8:0:0:8:800:200C:417A", printed: "2001:db8::8:800:200c:417a" },
    { text: "FF01:0:0:0:0:0:0:101", printed: "ff01::101" },
    { text: "2001:db8:0:0:1:0:0:1", printed: "2001:db8::1:0:0:1" },
    { text: "2001:0:0:1:0:0:0:1", printed: "2001:0:0:1::1" },
    { text: "2001:db8:0:1:1:1:1:1", printed: "2001:db8:0:1:1:1:1:1" },
    { text: "2001:0db8:0000:0001:0001:0001:0001:0001", printed: "2001:db8:0:1:1:1:1:1" },
    { text: "1:2:3:4:5:6:7::", printed: "1:2:3:4:5:6:7:0" },
    { text: "::2:3:4:5:6:7:8", printed: "0:2:3:4:5:6:7:8" },
    { text: "::13.1.68.3", printed: "::d01:4403" },
    { text: "::ffff:129.144.52.38", printed: "::ffff:129.144.52.38" },
    { text: "::ffff:8190:3426", printed: "::ffff:129.144.52.38" },
    { text: "64:ff9b::192.0.2.33", printed: "64:ff9b::c000:221" },
    { text: "1:2:3:4:5:6:1.2.3.4", printed: "1:2:3:4:5:6:102:304" },
    { text: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", printed: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
  ])("$text is printed as $printed", ({ text, printed }) => {
    const value = parseIpv6(text);
    expect(typeof value).toBe("bigint");
    expect(formatIp(value!)).toBe(printed);
    expect(parseIp(printed)).toBe(value);
  });

  it.each([
    ":",
    ":::",
    "1",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "::1:2:3:4:5:6:7:8",
    "12345::",
    "g::",
    "1:2:3:4:5:6:7:1.2.3.4",
    "1.2.3.4::",
    "1.2.3.4::5",
    "::1.2.3.4:5",
    "::1.2.3",
    "::256.1.1.1",
    "fe80::1%eth0",
    "[::1]",
    "1: :2",
    ":1:2:3:4:5:6:7",
  ])("'%s' is refused", (text) => {
    expect(parseIpv6(text)).toBeUndefined();
  });

  it("format then parse gives the same address, in RFC 5952's shortest form", () => {
    fc.assert(
      fc.property(fc.oneof(anyIpv6, groupedIpv6), (value) => {
        const text = formatIp(value as Ipv6);
        expect(parseIp(text)).toBe(value);
        expect(text).toBe(text.toLowerCase());
        expect(text).not.toMatch(/(^|:)0[0-9a-f]/);
        // Without `::` no two groups in a row are zero.
        if (!text.includes("::")) expect(text).not.toMatch(/(^|:)0:0(:|$)/);
      }),
    );
  });
});

describe("addresses of both families", () => {
  it.each([
    { from: "10.0.0.255", offset: 1, to: "10.0.1.0" },
    { from: "10.0.0.0", offset: -1, to: "9.255.255.255" },
    { from: "255.255.255.255", offset: 1, to: undefined },
    { from: "0.0.0.0", offset: -1, to: undefined },
    { from: "fd00::ffff", offset: 1, to: "fd00::1:0" },
    { from: "::", offset: -1, to: undefined },
    { from: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", offset: 1, to: undefined },
  ])("$from plus $offset is $to", ({ from, offset, to }) => {
    expect(addToIp(ip(from), offset)).toBe(to === undefined ? undefined : ip(to));
  });

  it.each([
    { text: "224.0.0.1", isMulticast: true },
    { text: "239.255.255.255", isMulticast: true },
    { text: "223.255.255.255", isMulticast: false },
    { text: "240.0.0.0", isMulticast: false },
    { text: "255.255.255.255", isMulticast: false },
    { text: "ff02::1", isMulticast: true },
    { text: "fe80::1", isMulticast: false },
  ])("$text is multicast: $isMulticast", ({ text, isMulticast }) => {
    expect(isMulticastIp(ip(text))).toBe(isMulticast);
  });

  it("have their bits", () => {
    expect([bitsOf(4), bitsOf(6), familyOf(ip("::"))]).toEqual([32, 128, 6]);
  });
});
