// Rates of switch ports: the arithmetic of two readings, as text.
import { describe, expect, it } from "vitest";
import { type PortReading, formatRate, ratesOf } from "./top.ts";

function reading(who: string, packets: number, drops: Readonly<Record<string, number>> = {}): PortReading {
  const count = { packets, bytes: packets * 100 };
  return { node: "win-1", who, kind: "container", received: count, sent: { packets: 0, bytes: 0 }, drops };
}

describe("rates of ports", () => {
  it.each([
    ["grow by what came", [reading("a", 10)], reading("a", 30), 10, 8_000, {}],
    ["of a new port count whole", [], reading("a", 30), 15, 12_000, {}],
    ["of a port that was made anew count from zero", [reading("a", 1_000)], reading("a", 4), 2, 1_600, {}],
    [
      "name the codes of what was dropped in between",
      [reading("a", 0, { old: 5, "acl-rule-blocked": 1 })],
      reading("a", 0, { old: 5, "acl-rule-blocked": 7, fresh: 2 }),
      0,
      0,
      { "acl-rule-blocked": 3, fresh: 1 },
    ],
  ])("%s", (_, before, after, receivedPackets, receivedBits, drops) => {
    const rate = {
      node: "win-1",
      who: "a",
      receivedPackets,
      receivedBits,
      sentPackets: 0,
      sentBits: 0,
      drops,
    };
    expect(ratesOf(before, [after], 2)).toEqual([rate]);
  });

  it("the busiest stands first", () => {
    const after = [reading("a", 1), reading("b", 3), reading("c", 2)];
    expect(ratesOf([], after, 1).map(({ who }) => who)).toEqual(["b", "c", "a"]);
  });

  it.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1.0k"],
    [12_345_678, "12.3M"],
    [5e12, "5000.0G"],
  ])("%d is written %s", (value, text) => {
    expect(formatRate(value)).toBe(text);
  });
});
