import { describe, expect, it } from "vitest";
import { formatCost, isTooMuch, sumProcesses } from "./slow-tests.ts";

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
    [240, 1, false],
    [241, 1, true],
    [241, 4, false],
  ])("of %i s at a load of %i is too much: %s", (processorSeconds, load, expected) => {
    expect(isTooMuch({ processorSeconds, wallSeconds: 90, load })).toBe(expected);
  });

  it("shows the twenty slowest, and what all took", () => {
    const tests = Array.from({ length: 30 }, (_, i) => test(`t${i}`, i * 10));
    const lines = formatCost(tests, { processorSeconds: 150.4, wallSeconds: 80, load: 1 }).split("\n");
    expect(lines[2]).toBe("   0.29 s  a.test.ts: t29");
    expect(lines.filter((line) => line.includes("a.test.ts"))).toHaveLength(20);
    expect(lines.at(-2)).toBe(" 150 s of processor time in 80 s; at most 240");
  });

  it("says when it is too much, or cannot be judged", () => {
    const cost = { processorSeconds: 250, wallSeconds: 80, load: 1 };
    expect(formatCost([], cost)).toContain("in 80 s; FAILED, at most 240\n");
    expect(formatCost([], { ...cost, load: 8 })).toContain(
      "more than 240, not judged because the machine is busy (load 8.0 per processor)",
    );
  });
});
