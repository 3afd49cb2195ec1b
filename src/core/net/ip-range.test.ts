import { describe, expect, it } from "vitest";
import { defined } from "../base/assert.ts";
import {
  formatIpRange,
  joinRanges,
  parseIpRange,
  prefixesOfRange,
  subtractRanges,
  wholeFamily,
} from "./ip-range.ts";
import { formatPrefix } from "./ip.ts";

function ranges(...texts: readonly string[]): ReturnType<typeof joinRanges> {
  return texts.map((text) => defined(parseIpRange(text), text));
}

describe("parseIpRange, formatIpRange", () => {
  it.each([
    ["10.0.0.1", "10.0.0.1"],
    ["10.244.4.0-10.244.4.255", "10.244.4.0-10.244.4.255"],
    ["10.244.4.0/24", "10.244.4.0-10.244.4.255"],
    ["0.0.0.0/0", "0.0.0.0-255.255.255.255"],
    ["fd00::/126", "fd00::-fd00::3"],
    [" 10.0.0.1 - 10.0.0.3 ", "10.0.0.1-10.0.0.3"],
  ])("%s is %s", (text, printed) => {
    expect(formatIpRange(defined(parseIpRange(text), text))).toBe(printed);
  });

  it.each(["", "10.0.0", "10.0.0.9-10.0.0.1", "10.0.0.1-fd00::1", "10.0.0.1/24", "1.1.1.1-2.2.2.2-3.3.3.3"])(
    "%j is none",
    (text) => {
      expect(parseIpRange(text)).toBeUndefined();
    },
  );
});

it.each([
  ["10.0.0.1-10.0.0.6", "10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32"],
  ["0.0.0.0-255.255.255.255", "0.0.0.0/0"],
  ["255.255.255.254-255.255.255.255", "255.255.255.254/31"],
  ["::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0"],
])("%s as prefixes: %s", (text, prefixes) => {
  const [range] = ranges(text);
  expect(prefixesOfRange(defined(range, text)).map(formatPrefix).join(" ")).toBe(prefixes);
});

it("joins what touches or overlaps", () => {
  expect(
    joinRanges(ranges("10.0.0.4-10.0.0.9", "10.0.0.1-10.0.0.3", "10.0.0.12")).map(formatIpRange),
  ).toEqual(["10.0.0.1-10.0.0.9", "10.0.0.12"]);
});

it.each([
  [["10.0.0.0/8"], "0.0.0.0-9.255.255.255 11.0.0.0-255.255.255.255"],
  [["0.0.0.0/1"], "128.0.0.0-255.255.255.255"],
  [["128.0.0.0/1", "10.0.0.0/8", "10.1.0.0/16"], "0.0.0.0-9.255.255.255 11.0.0.0-127.255.255.255"],
  [["0.0.0.0/0"], ""],
])("everything without %j", (removed, left) => {
  const result = subtractRanges([wholeFamily(4)], ranges(...removed));
  expect(result.map(formatIpRange).join(" ")).toBe(left);
});
