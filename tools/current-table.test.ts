import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type BenchRun, compareRuns, withCurrentTable } from "../bench/current-table.ts";
import { withLiveTable } from "../bench/live-table.ts";

const README = "<!-- table: npm run bench -- --write -->\nold\n<!-- end of table -->\nrest\n";

function run(value: number): BenchRun {
  const figure = { table: "First packet of each", row: "first packet, NAT" } as const;
  return { where: "commit 1", figures: [{ bench: "first-packet", ...figure, unit: "×", value }] };
}

describe("the table of bench/README.md", () => {
  const lines = readFileSync("bench/README.md", "utf8").split("\n");

  it("has every goal, measured in one run", () => {
    const rows = (text: string): readonly string[] =>
      text
        .split("\n")
        .flatMap((line) => (/^\| (?!---|Figure)/.test(line) ? [line.split("|")[1]?.trim() ?? ""] : []));
    const begin = lines.findIndex((line) => line.includes("table: npm run"));
    const now = lines.slice(begin, lines.indexOf("<!-- end of table -->", begin));
    expect(rows(now.join("\n"))).toEqual(rows(withCurrentTable(README, run(1))));
    expect(now.filter((line) => line.includes("not measured"))).toEqual([]);
  });

  it.each([
    [35, "35.00 × | 35.00 × | yes"],
    [35.1, "35.10 × | 35.00 × | **no**"],
  ])("says of %s times the floor: %s", (value, expected) => {
    const table = withCurrentTable(README, run(value)).replaceAll(/ +/g, " ");
    expect(table).toContain(`| first packet, NAT | a copy of the frame | ${expected} |`);
    expect(table).toContain("| first packet, plain | a copy of the frame | not measured | 20.00 × | – |");
    expect(table.endsWith("<!-- end of table -->\nrest\n")).toBe(true);
    expect(table).not.toContain("old");
  });
});

it("of a run of one benchmark has its rows, all others as they were, and says of which commit each is", () => {
  const whole = withCurrentTable(README, { ...run(10), where: "commit a1, Node v24" });
  const other = {
    bench: "explain-log",
    table: "explain",
    row: "find errors: none there",
    unit: "×",
  } as const;
  const some = { where: "commit b2, Node v24", figures: [{ ...other, value: 3 }] };
  const table = withCurrentTable(whole, some, ["explain-log"]).replaceAll(/ +/g, " ");
  expect(table).toContain("| first packet, NAT | a copy of the frame | 10.00 × |");
  expect(table).toContain("| errors in a log, none there | counting lines | 3.00 × |");
  expect(table).toContain("\nCommit a1, Node v24; `explain-log` of b2.\n");
});

it.each([
  [10.4, false],
  [10.6, true],
  [9, false],
])("10 against %s is worse: %s", (value, isWorse) => {
  expect(compareRuns(run(10), run(value)).isWorse).toBe(isWorse);
});

describe("the table of real programs", () => {
  const EMPTY = "<!-- table: node bench/live.ts --write -->\nold\n<!-- end of table -->\nrest\n";
  const figure = { way: "Overlay, one node", own: 2, peer: "kernel", value: 4 } as const;

  it.each([
    ["TCP, 1 flow", "kernel", 0.5, "| 0.50 × | 0.5 × | yes |"],
    ["TCP, 1 flow", "kernel", 0.4, "| 0.40 × | 0.5 × | **no** |"],
    ["TCP, 1 flow", "Open vSwitch", 0.4, "| 0.40 × |  |  |"],
    ["UDP, 18 bytes", "Open vSwitch", 1.2, "| 1.20 × | 1.3 × | **no** |"],
    ["RTT", "kernel", 9, "| 9.00 × | < 150 µs | yes |"],
  ] as const)("%s against %s, %s times it", (kind, peer, ratio, expected) => {
    const table = withLiveTable(EMPTY, "commit 1", [{ ...figure, kind, peer, ratio }]);
    expect(table).toContain(`| Overlay, one node | ${kind} | `);
    expect(table).toContain(expected);
    expect(table.endsWith("<!-- end of table -->\nrest\n")).toBe(true);
    expect(table).not.toContain("old");
  });
});
