// docs/reference/kubernetes-page.md shows each sentence of the Kubernetes page beside every build, as runs have it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PAGE_BUILDS, formatPageRows, readPageRows } from "#test/support/cluster/kubernetes-page.suite.ts";
import { MARKED_ANSWERS, markWanted, marksOf } from "#test/support/cluster/kubernetes-page-marks.suite.ts";
import { DOCUMENTED_SENTENCES } from "#core/catalogue/page-sentences.ts";

describe("the Kubernetes page beside the builds", () => {
  it("every sentence is tried, and the page of the reference shows what came of it", async () => {
    const rows = await readPageRows(PAGE_BUILDS);
    expect(new Set(rows.map(({ sentence }) => sentence))).toEqual(new Set(DOCUMENTED_SENTENCES));
    expect(rows.filter(({ observed }) => observed === "not tried")).toEqual([]);
    // node tools/write-kubernetes-page.ts writes the table again.
    const page = readFileSync("docs/reference/kubernetes-page.md", "utf8");
    expect(page).toContain(`\n${formatPageRows(rows)}\n`);
  });
});

describe("what the page denies or dates, and builds do otherwise: the mark, and JSON", () => {
  it.each(MARKED_ANSWERS.filter(({ isLong }) => isLong === true))("$item: $asked", async (answer) => {
    const [seen, wanted] = [await marksOf(answer), markWanted(answer)];
    expect(seen.text).toContain(wanted.text);
    // A cluster file that is refused is answered with no document.
    expect(seen.documentation ?? [wanted.documentation]).toContainEqual(wanted.documentation);
  });
});
