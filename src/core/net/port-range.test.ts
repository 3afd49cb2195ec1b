import { describe, expect, it } from "vitest";
import { formatPortRange, isPort, parsePortRange, parsePortRanges } from "./port-range.ts";

describe("port ranges", () => {
  it.each([
    { text: "80", range: { first: 80, last: 80 }, printed: "80" },
    { text: "0", range: { first: 0, last: 0 }, printed: "0" },
    { text: "65535", range: { first: 65535, last: 65535 }, printed: "65535" },
    { text: "1000-2000", range: { first: 1000, last: 2000 }, printed: "1000-2000" },
    { text: "80-80", range: { first: 80, last: 80 }, printed: "80" },
    { text: " 80 ", range: { first: 80, last: 80 }, printed: "80" },
  ])("'$text'", ({ text, range, printed }) => {
    expect(parsePortRange(text)).toEqual(range);
    expect(formatPortRange(range)).toBe(printed);
  });

  it.each([
    "",
    "-",
    "80-",
    "-80",
    "2000-1000",
    "65536",
    "1-65536",
    "80-90-100",
    "http",
    "8 0",
    "80.5",
    "+80",
    "1e3",
    "100000",
  ])("'%s' is refused", (text) => {
    expect(parsePortRange(text)).toBeUndefined();
  });

  it("lists are read in order, and refused when one part is none", () => {
    expect(parsePortRanges("80, 443,1000-2000")).toEqual([
      { first: 80, last: 80 },
      { first: 443, last: 443 },
      { first: 1000, last: 2000 },
    ]);
    expect(parsePortRanges("80,,443")).toBeUndefined();
    expect(parsePortRanges("80;443")).toBeUndefined();
    expect(parsePortRanges("")).toBeUndefined();
  });

  it.each([
    { value: 0, is: true },
    { value: 65535, is: true },
    { value: -1, is: false },
    { value: 65536, is: false },
    { value: 1.5, is: false },
    { value: Number.NaN, is: false },
  ])("$value is a port: $is", ({ value, is }) => {
    expect(isPort(value)).toBe(is);
  });
});
