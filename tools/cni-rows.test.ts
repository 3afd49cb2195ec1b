/**
 * The behaviours of CNI plugins that the notes list (cni.md §8: 158 rows, §7: 89 worked examples) are tests with the row's
 * id in their names. At most three in a hundred may stand in fidelity.md instead, with what was tried.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { CNI_EXAMPLES, CNI_ROWS } from "./row-ids.ts";
import { isTest, readFiles } from "./source-files.ts";

const MISSING_SHARE_MAX = 0.03;

/** A comment is no test. */
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

function idsOfTests(): ReadonlySet<string> {
  const files = readFiles("{src,test,tools,examples}/**/*.ts").filter(({ path }) => isTest(path));
  const texts = files.map(({ text }) => text.replace(COMMENT, ""));
  return new Set(texts.flatMap((text) => text.match(/\bCNI-(?:\d{3}|EX-[A-F]\d+)\b/g) ?? []));
}

it.each([
  ["rows of §8", CNI_ROWS],
  ["worked examples of §7", CNI_EXAMPLES],
])("all %s are tests, or stand among what is not kept", (_, ids) => {
  const tested = idsOfTests();
  const missing = ids.filter((id) => !tested.has(id));
  const notKept = readFileSync("docs/reference/fidelity.md", "utf8");
  expect(missing.filter((id) => !notKept.includes(id))).toEqual([]);
  expect(missing.length / ids.length).toBeLessThanOrEqual(MISSING_SHARE_MAX);
});

it("no test names a row that there is not", () => {
  const all = new Set([...CNI_ROWS, ...CNI_EXAMPLES]);
  expect([...idsOfTests()].filter((id) => !all.has(id))).toEqual([]);
});
