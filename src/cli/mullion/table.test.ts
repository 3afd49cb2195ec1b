import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Listing, formatListing } from "./table.ts";

interface Row {
  readonly name: string;
  readonly node: string;
  readonly count: number;
}

function listing(rows: readonly Row[]): Listing<Row> {
  return {
    singular: "pod",
    plural: "pods",
    columns: [
      { title: "NAME", text: (row) => row.name },
      { title: "COUNT", isRightAligned: true, text: (row) => String(row.count) },
      { title: "NODE", text: (row) => row.node },
      { title: "EXTRA", isWide: true, text: () => "x" },
    ],
    rows,
    name: (row) => `default/${row.name}`,
    data: (row) => ({ name: row.name, count: row.count }),
  };
}

const ROWS: readonly Row[] = [
  { name: "web", node: "win-1", count: 7 },
  { name: "a-long-name", node: "", count: 1000 },
];

describe("formatListing", () => {
  it("aligns a table", () => {
    expect(formatListing(listing(ROWS), "table")).toBe(
      ["NAME          COUNT   NODE", "web               7   win-1", "a-long-name    1000   <none>", ""].join(
        "\n",
      ),
    );
  });

  it("adds columns to a wide table", () => {
    expect(formatListing(listing(ROWS.slice(0, 1)), "wide")).toBe(
      "NAME   COUNT   NODE    EXTRA\nweb        7   win-1   x\n",
    );
  });

  it("prints names that other verbs take", () => {
    expect(formatListing(listing(ROWS), "name")).toBe("pod/default/web\npod/default/a-long-name\n");
  });

  it("prints the same data as JSON and as YAML", () => {
    const expected = {
      items: [
        { name: "web", count: 7 },
        { name: "a-long-name", count: 1000 },
      ],
    };
    expect(JSON.parse(formatListing(listing(ROWS), "json"))).toEqual(expected);
    expect(parse(formatListing(listing(ROWS), "yaml"))).toEqual(expected);
  });

  it("says in words that a table is empty, and keeps data well formed", () => {
    expect(formatListing(listing([]), "table")).toBe("There are no pods.\n");
    expect(formatListing(listing([]), "name")).toBe("");
    expect(JSON.parse(formatListing(listing([]), "json"))).toEqual({ items: [] });
  });
});
