import { describe, expect, it } from "vitest";
import {
  type Inventory,
  type RanTest,
  type Rename,
  compare,
  countRows,
  findShrinking,
  inventoryOf,
  joinRuns,
  loosen,
  nextInventory,
  normaliseTitle,
  rowsOf,
} from "./inventory.ts";
import { formatInventories, parseInventories, parseRenames, readRuns } from "./inventory-files.ts";

const F = "F-9";
const ran = (title: string, assertions = 1, runs = 0): RanTest => ({ title, assertions, runs });
const BASE = inventoryOf([ran("rules > block", 3), ran("rules > twice"), ran("rules > twice", 2)]);
const rename = (block: string): readonly Rename[] => parseRenames(block);

describe("titles", () => {
  it.each([
    ['src/vfp/rule.ts from "../hns/store.ts"', '…/rule.ts from "…/store.ts"'],
    ["ends of lines: \u2028 and \u0085", "ends of lines: \\u2028 and \\u0085"],
    ["files beside tools/tidy.test.ts", "files beside …/tidy.test.ts"],
    ["the name ../web and /a/b.ts stay", "the name ../web and /a/b.ts stay"],
    ["examples/dual-stack/cluster.yaml stays", "examples/dual-stack/cluster.yaml stays"],
    ["function read(a, b) {\n\treturn (0,__vite_ssr_import_3__.x)(a);\n} of", "function read of"],
    ["() => (0,__vite_ssr_import_3__.nameOf)(__vite_ssr_import_11__.A)", "() => nameOf(A)"],
    ["two\nlines\t ", "two\\nlines"],
  ])("%j is kept as %j", (title, kept) => {
    expect(normaliseTitle(title)).toBe(kept);
  });

  it("name rows of the references, and other words are none", () => {
    // Put together, so that nobody who looks for rows takes these for tests of theirs.
    const parts = ["CNI 001", "CNI EX-A1", "KP A1", "CP F12", "WALK O-1"];
    const rows = parts.map((part) => part.replace(" ", "-"));
    expect(rowsOf(rows.join(", "))).toEqual(rows);
    expect(rowsOf("L2Bridge, UTF-8, KB4489899, RFC-1918")).toEqual([]);
  });

  it("of one row are counted together", () => {
    expect([...countRows(inventoryOf([ran(`${F}2 a`), ran(`${F}1 b ${F}1`), ran(`${F}2 a`)]))]).toEqual([
      [`${F}1`, 1],
      [`${F}2`, 2],
    ]);
  });
});

describe("a check", () => {
  it("finds nothing when all is as it was", () => {
    expect(compare(BASE, BASE)).toEqual([]);
  });

  it.each<readonly [string, readonly RanTest[], readonly string[]]>([
    ["a lost title", [ran("rules > twice"), ran("rules > twice", 2)], ["lost: rules > block"]],
    [
      "fewer assertions",
      [ran("rules > block", 2), ran("rules > twice"), ran("rules > twice", 2)],
      ["changed: rules > block: assertions 3 -> 2"],
    ],
    [
      "one of two tests",
      [ran("rules > block", 3), ran("rules > twice", 3)],
      ["changed: rules > twice: tests 2 -> 1"],
    ],
    [
      "fewer runs of a property, and a new title",
      [ran("rules > block", 3, 9), ran("rules > twice"), ran("rules > twice", 2), ran("more")],
      ["changed: rules > block: runs 0 -> 9", "new: more"],
    ],
  ])("finds %s", (_, tests, problems) => {
    expect(compare(BASE, inventoryOf(tests))).toEqual(problems);
  });

  it("holds only the least of what varied", () => {
    const varied = joinRuns([inventoryOf([ran("waits", 7)]), inventoryOf([ran("waits", 4)])]);
    expect(compare(varied, inventoryOf([ran("waits", 40)]))).toEqual([]);
    expect(compare(varied, inventoryOf([ran("waits", 3)]))).toEqual(["changed: waits: assertions >=4 -> 3"]);
  });

  it("holds of a single run of chance that something is asserted", () => {
    const once = loosen(inventoryOf([ran("fuzz", 812, 500)]));
    expect(compare(once, inventoryOf([ran("fuzz", 1, 1)]))).toEqual([]);
    expect(compare(once, inventoryOf([ran("fuzz", 0, 0)]))).toEqual([
      "changed: fuzz: assertions >=1 -> 0, runs >=1 -> 0",
    ]);
  });

  it("holds only the title of what was not counted yet", () => {
    const listed = inventoryOf([{ title: "later", assertions: undefined, runs: undefined }]);
    expect(compare(listed, inventoryOf([ran("later", 5)]))).toEqual([]);
    expect(compare(listed, inventoryOf([]))).toEqual(["lost: later"]);
  });
});

describe("what is written", () => {
  const now = (...tests: readonly RanTest[]): Inventory =>
    inventoryOf([ran("rules > twice"), ran("rules > twice", 2), ...tests]);

  it("may grow", () => {
    const more = now(ran("rules > block", 5), ran("more"));
    expect(findShrinking(BASE, more, [])).toEqual([]);
    expect(nextInventory(BASE, more)).toEqual(more);
  });

  it.each<readonly [string, Inventory, string, readonly string[]]>([
    ["a lost title", now(), "", ["is gone, and no rename says what became of it: rules > block"]],
    [
      "a rename to a title that there is not",
      now(),
      "- rules > block\n+ rules > blocks\nreason: grammar",
      ["is gone, and no rename says what became of it: rules > block"],
    ],
    [
      "fewer assertions",
      now(ran("rules > block", 2)),
      "",
      ["asserts less (3 and 0 -> 2 and 0): rules > block"],
    ],
    [
      "a renamed title that asserts less",
      now(ran("rules > blocks", 2)),
      "- rules > block\n+ rules > blocks\nreason: grammar",
      ["asserts less than before as rules > blocks: rules > block"],
    ],
  ])("is not %s", (_, next, renames, problems) => {
    expect(findShrinking(BASE, next, rename(renames))).toEqual(problems);
  });

  it.each<readonly [string, Inventory, string]>([
    ["a rename", now(ran("rules > blocks", 3)), "- rules > block\n+ rules > blocks\nreason: grammar"],
    [
      "one test that became two",
      now(ran("a", 1), ran("b", 2)),
      "- rules > block\n+ a\n+ b\nreason: two subjects",
    ],
    [
      "a heading with all below it",
      inventoryOf([ran("laws > block", 3), ran("laws > twice"), ran("laws > twice", 2)]),
      "- rules > *\n+ laws > *\nreason: the word of the page",
    ],
    [
      "fewer assertions with a reason",
      now(ran("rules > block", 1)),
      "~ rules > block\nreason: one comparison in place of three",
    ],
  ])("may be %s", (_, next, renames) => {
    expect(findShrinking(BASE, next, rename(renames))).toEqual([]);
  });

  it("is not a rename without a reason", () => {
    expect(() => rename("- a\n+ b")).toThrow("a planned change without a reason: - a / + b");
    expect(() => rename("- a\n+ b\nreason: ")).toThrow("without a reason");
  });

  it("keeps that a number varies", () => {
    const varied = joinRuns([inventoryOf([ran("waits", 7)]), inventoryOf([ran("waits", 4)])]);
    expect(nextInventory(varied, inventoryOf([ran("waits", 6)]))).toEqual(varied);
  });
});

describe("files", () => {
  it("are read as they were written", () => {
    const inventories = new Map([
      ["unit", BASE],
      ["long", loosen(inventoryOf([ran("fuzz", 812, 500)]))],
      ["wine", inventoryOf([{ title: "later", assertions: undefined, runs: undefined }])],
    ] as const);
    const text = formatInventories(inventories);
    expect(parseInventories(text)).toEqual(inventories);
    expect(text).toContain("== unit: 3 tests, 2 titles, 6 assertions, 0 runs of properties, 0 rows\n");
    expect(text).toContain("\n2 3 0 rules > twice\n-- rows of unit\n");
    expect(text).toContain("\n1 >=1 >=1 fuzz\n");
  });

  it("of Vitest say project and counts; a list of titles says only these", () => {
    const meta = { asserted: { project: "long", assertions: 2, runs: 1 } };
    const tests = [{ ancestorTitles: ["a"], title: "b", status: "passed", meta }];
    const report = { testResults: [{ name: "x", status: "passed", assertionResults: tests }] };
    expect(readRuns(JSON.stringify(report), "r.json")).toEqual([
      { project: "long", inventory: inventoryOf([ran("a > b", 2, 1)]) },
    ]);
    expect(readRuns(JSON.stringify([{ name: "a > b", projectName: "wine" }]), "l.json")).toEqual([
      {
        project: "wine",
        inventory: inventoryOf([{ title: "a > b", assertions: undefined, runs: undefined }]),
      },
    ]);
  });

  it.each([
    ["long", "kills (seed …) > replay: SEED=… npm run"],
    ["unit", "kills (seed 7) > replay: SEED=20348 npm run"],
  ])("of %s call a test with a seed %s", (project, title) => {
    const meta = { asserted: { project, assertions: 1, runs: 0 } };
    const tests = [
      { ancestorTitles: ["kills (seed 7)"], title: "replay: SEED=20348 npm run", status: "passed", meta },
    ];
    const report = { testResults: [{ name: "x", status: "passed", assertionResults: tests }] };
    const [run] = readRuns(JSON.stringify(report), "r.json");
    expect([...(run?.inventory.keys() ?? [])]).toEqual([title]);
  });

  it("of a run that failed are refused", () => {
    const report = { testResults: [{ name: "x.test.ts", status: "failed", assertionResults: [] }] };
    expect(() => readRuns(JSON.stringify(report), "r.json")).toThrow(
      "r.json: tests failed; mend these first: x.test.ts",
    );
  });
});
