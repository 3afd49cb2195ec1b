import { describe, expect, it } from "vitest";
import { type Ip, type Prefix, parseIp, parsePrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { Renaming } from "./renaming.ts";

const ip = (text: string): Ip => parseIp(text) ?? (0 as Ip);
const prefix = (text: string): Prefix => parsePrefix(text) ?? { address: ip("0.0.0.0"), length: 0 };
const mac = (text: string): Mac => parseMac(text) ?? (0 as Mac);

/** Node win-1 with pod web-a at .5, and node win-2 with pod web-b at .9. */
const RENAMING = new Renaming({
  names: [
    ["win-1", "win-2"],
    ["default/web-a", "default/web-b"],
    ["default_web-a", "default_web-b"],
    ["web-a", "web-b"],
  ],
  addresses: [
    [ip("10.0.0.11"), ip("10.0.0.12")],
    [ip("10.244.0.5"), ip("10.244.1.9")],
  ],
  ranges: [[prefix("10.244.0.0/24"), prefix("10.244.1.0/24")]],
  macs: [[mac("00-15-5D-00-00-11"), mac("00-15-5D-00-00-12")]],
});

describe("a renaming", () => {
  it.each([
    // Names, by themselves and in what is called after them.
    ["win-1", "win-2"],
    ["pod default/web-a", "pod default/web-b"],
    ["cbr0-default_web-a-eth0", "cbr0-default_web-b-eth0"],
    ["win-10", "win-10"],
    ["linux-1", "linux-1"],
    // Addresses: the node's, the pods' onto each other, and the same place for all others.
    ["10.0.0.11", "10.0.0.12"],
    ["10.0.0.110", "10.0.0.110"],
    ["10.244.0.5", "10.244.1.9"],
    ["10.244.0.1", "10.244.1.1"],
    // Where the other's pod has its place, the place that is left.
    ["10.244.0.9", "10.244.1.5"],
    ["10.244.7.5", "10.244.7.5"],
    ["10.244.0.5/24", "10.244.1.9/24"],
    // Ranges: an own one and what lies in it; what is larger is nobody's.
    ["10.244.0.0/24", "10.244.1.0/24"],
    ["10.244.0.128/25", "10.244.1.128/25"],
    ["10.244.0.0/16", "10.244.0.0/16"],
    ['{"rangeStart":"10.244.0.5"}', '{"rangeStart":"10.244.1.5"}'],
    // Keys that are made of numbers.
    [`${ip("10.0.0.11")}|6|30080`, `${ip("10.0.0.12")}|6|30080`],
    // MACs, in any letters, and those that are made of an address.
    ["00-15-5D-00-00-11", "00-15-5d-00-00-12"],
    ["00:15:5d:00:00:11", "00:15:5d:00:00:12"],
    ["02-11-0a-f4-00-05", "02-11-0a-f4-01-09"],
  ])("makes %s %s, and the other way round", (one, other) => {
    expect(RENAMING.ofText(one)).toBe(other);
    expect(RENAMING.ofText(other).toLowerCase()).toBe(one.toLowerCase());
  });

  it("is one to one on a whole range", () => {
    const first = Number(ip("10.244.0.0"));
    const there = Array.from({ length: 256 }, (_, place) => RENAMING.ofNumber(first + place));
    expect(new Set(there).size).toBe(256);
    expect(Math.min(...there)).toBe(Number(ip("10.244.1.0")));
    expect(Math.max(...there)).toBe(Number(ip("10.244.1.255")));
    expect(there.map((each) => RENAMING.ofNumber(each))).toEqual(
      Array.from({ length: 256 }, (_, place) => first + place),
    );
  });

  it("tells ends of ranges from addresses", () => {
    expect(RENAMING.ofPlace(Number(ip("10.244.0.5")))).toBe(Number(ip("10.244.1.5")));
    expect(RENAMING.ofPrefix(prefix("10.244.0.5/32"))).toEqual(prefix("10.244.1.9/32"));
    expect(RENAMING.ofPrefix(prefix("10.244.0.0/16"))).toEqual(prefix("10.244.0.0/16"));
  });

  it.each([0, 80, 30_080, 1_735_689_600_000])("leaves the number %d as it is", (value) => {
    expect(RENAMING.ofNumber(value)).toBe(value);
  });
});
