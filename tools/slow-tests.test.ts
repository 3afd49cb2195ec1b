import { describe, expect, it } from "vitest";
import { formatCost, isTooMuch, sumProcesses } from "./slow-tests.ts";
import { sampleSpeed, slownessOf } from "./yardstick.ts";

const test = (
  title: string,
  milliseconds: number,
): { title: string; file: string; milliseconds: number } => ({
  title,
  file: "a.test.ts",
  milliseconds,
});

describe("the cost of the fast tests", () => {
  it("is the last figure of each process, together", () => {
    const figures = [
      { pid: 1, seconds: 2 },
      { pid: 2, seconds: 5 },
      { pid: 1, seconds: 7 },
    ];
    expect(sumProcesses(figures)).toBe(12);
  });

  it.each([
    [420, 1, false],
    [421, 1, true],
    [421, 4, false],
  ])("of %i s at a load of %i is too much: %s", (processorSeconds, load, expected) => {
    expect(isTooMuch({ processorSeconds, wallSeconds: 90, load, slowness: 1 })).toBe(expected);
  });

  it("shows the twenty slowest, and what all took", () => {
    const tests = Array.from({ length: 30 }, (_, i) => test(`t${i}`, i * 10));
    const lines = formatCost(tests, { processorSeconds: 150.4, wallSeconds: 80, load: 1, slowness: 1 }).split(
      "\n",
    );
    expect(lines[2]).toBe("   0.29 s  a.test.ts: t29");
    expect(lines.filter((line) => line.includes("a.test.ts"))).toHaveLength(20);
    expect(lines.at(-2)).toBe(" 150 s of processor time in 80 s; at most 240");
  });

  it("may be more on a slower machine, as much as the same work takes longer there", () => {
    const cost = { processorSeconds: 360, wallSeconds: 180, load: 1, slowness: 1.5 };
    expect(isTooMuch({ ...cost, processorSeconds: 630 })).toBe(false);
    expect(isTooMuch({ ...cost, processorSeconds: 631 })).toBe(true);
    expect(formatCost([], cost)).toContain("; at most 360 on a machine 1.5 times as slow as the reference\n");
  });

  it.each([
    ["the median of what the work took", [9, 7, 50], 1.8],
    ["a fast machine is as the reference", [2, 2, 2], 1],
    ["a machine that hardly moves is not waited for", [90, 90, 90], 2.5],
    ["nothing was measured", [], 1],
  ])("slowness: %s", (_, samples, expected) => {
    expect(slownessOf(samples)).toBeCloseTo(expected);
  });

  it("takes samples that are times of this thread", () => {
    expect(sampleSpeed()).toBeGreaterThan(0);
  });

  it("says when it is too much, or cannot be judged", () => {
    const cost = { processorSeconds: 430, wallSeconds: 80, load: 1, slowness: 1 };
    expect(formatCost([], cost)).toContain("in 80 s; FAILED, at most 420\n");
    expect(formatCost([], { ...cost, processorSeconds: 250 })).toContain(
      "in 80 s; more than the 240 that are promised\n",
    );
    expect(formatCost([], { ...cost, load: 8 })).toContain(
      "more than 420, not judged because the machine is busy (load 8.0 per processor)",
    );
  });
});
