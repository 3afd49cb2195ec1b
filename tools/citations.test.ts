import { describe, expect, it } from "vitest";
import { CitedPage, SOURCES, citationsIn, findLostCitations, findRowIds } from "./citations.ts";
import { readFiles } from "./source-files.ts";

const PAGES = new Map(
  readFiles(`${SOURCES}/*.md`)
    .filter(({ path }) => !path.endsWith("README.md"))
    .map(({ path, text }) => [path.slice(SOURCES.length + 1, -".md".length), new CitedPage(text)]),
);
const FILES = readFiles("*.md", "{src,data,docs,tools,examples,test}/**/*.{ts,md,yaml}").filter(
  ({ path }) => !path.startsWith("test/inventory/") && !path.startsWith("tools/citations"),
);

describe("citations", () => {
  it("lead to a section, an item or a row of docs/sources", () => {
    expect(PAGES.size).toBe(7);
    const citations = FILES.flatMap((file) => citationsIn(file, new Set(PAGES.keys())));
    expect(citations.length).toBeGreaterThan(2_500);
    expect(findLostCitations(FILES, PAGES)).toEqual([]);
  });

  it("name no row of a decision table outside of tests", () => {
    const others = FILES.filter(
      ({ path }) =>
        !/\.(?:test|suite)\.ts$/.test(path) &&
        !path.startsWith("test/") &&
        !path.startsWith(SOURCES) &&
        !/^tools\/(?:inventory|row-ids|rows)\.ts$/.test(path) &&
        path !== "CONTRIBUTING.md",
    );
    expect(findRowIds(others)).toEqual([]);
  });

  const page = new CitedPage(
    "## 2. Walks\n### 2.3 Overlay\n#### O-5 To a Service\n| F-07 | a fault |\n## 9. Open\n6. An item\n**A. Letters**\n",
  );
  it.each([
    ["§2", true],
    ["§2.3", true],
    ["O-5", true],
    ["F-07", true],
    ["§9.6", true],
    ["§9.A", true],
    ["§2.4", false],
    ["§9.7", false],
    ["§9.B", false],
    ["F-08", false],
    ["O-6", false],
  ])("%s is there: %s", (id, isThere) => {
    expect(page.has(id)).toBe(isThere);
  });

  it.each([
    ["(dataplane.md §2.3, §9 (F-07))", ["§2.3", "§9", "F-07"]],
    ["dataplane.md §1.10,\n * §6.7; hcn.md §2", ["§1.10", "§6.7"]],
    ["dataplane.md O-5 and B-2a: text", ["O-5", "B-2a"]],
    ["the page dataplane.md says 3 things", []],
  ])("%j names %j", (text, ids) => {
    expect(citationsIn({ path: "a.ts", text }, new Set(["dataplane"]))[0]?.ids).toEqual(ids);
  });
});
