/** Each promise of docs/reference/durability.md names a test, and the test is there. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const PAGE = "docs/reference/durability.md";

it("docs/reference/durability.md names for each promise a test that exists", () => {
  const rows = readFileSync(PAGE, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (Promise|File|-+) /.test(line));
  expect(rows.length).toBeGreaterThan(18);
  for (const row of rows) {
    const [, file = "", title = ""] = /`([\w./-]+\.test\.ts)` "([^"]+)" *\|$/.exec(row) ?? [];
    expect(file, row).not.toBe("");
    expect(readFileSync(file, "utf8"), `${file}: ${title}`).toContain(title);
  }
});
