/**
 * The behaviours of CNI plugins that the notes list (cni.md §8: 158 rows, §7: 89 worked examples) are tests with the row's
 * id in their names. At most three in a hundred may stand in fidelity.md instead, with what was tried.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isTest, readFiles } from "./source-files.ts";

const ROWS = 158;
/** Worked examples by the letter of their section. */
const EXAMPLES: readonly (readonly [string, number])[] = [
  ["A", 18],
  ["B", 13],
  ["C", 13],
  ["D", 15],
  ["E", 16],
  ["F", 14],
];
const MISSING_SHARE_MAX = 0.03;

function numbered(prefix: string, count: number, digits = 1): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i + 1).padStart(digits, "0")}`);
}

/** A comment is no test. */
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

function idsOfTests(): ReadonlySet<string> {
  const files = readFiles("{src,test,tools,examples}/**/*.ts").filter(({ path }) => isTest(path));
  const texts = files.map(({ text }) => text.replace(COMMENT, ""));
  return new Set(texts.flatMap((text) => text.match(/\bCNI-(?:\d{3}|EX-[A-F]\d+)\b/g) ?? []));
}

it.each([
  ["rows of §8", numbered("CNI-", ROWS, 3)],
  ["worked examples of §7", EXAMPLES.flatMap(([letter, count]) => numbered(`CNI-EX-${letter}`, count))],
])("all %s are tests, or stand among what is not kept", (_, ids) => {
  const tested = idsOfTests();
  const missing = ids.filter((id) => !tested.has(id));
  const notKept = readFileSync("docs/reference/fidelity.md", "utf8");
  expect(missing.filter((id) => !notKept.includes(id))).toEqual([]);
  expect(missing.length / ids.length).toBeLessThanOrEqual(MISSING_SHARE_MAX);
});

it("no test names a row that there is not", () => {
  const all = new Set([
    ...numbered("CNI-", ROWS, 3),
    ...EXAMPLES.flatMap(([letter, count]) => numbered(`CNI-EX-${letter}`, count)),
  ]);
  expect([...idsOfTests()].filter((id) => !all.has(id))).toEqual([]);
});
