// node tools/write-kubernetes-page.ts: writes the table of docs/reference/kubernetes-page.md again, from runs.
import { readFileSync, writeFileSync } from "node:fs";
import { PAGE_BUILDS, formatPageRows, readPageRows } from "#test/support/cluster/kubernetes-page.suite.ts";

const PAGE = "docs/reference/kubernetes-page.md";
const before = readFileSync(PAGE, "utf8").split("\n");
const text = before.filter((line) => !line.startsWith("|"));
const table = before.findIndex((line) => line.startsWith("|"));
text.splice(table < 0 ? text.length - 1 : table, 0, formatPageRows(await readPageRows(PAGE_BUILDS)));
writeFileSync(PAGE, text.join("\n"));
console.log(PAGE);
