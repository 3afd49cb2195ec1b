import { describe, expect, it } from "vitest";
import { FOREIGN_PROGRAMS, type ForeignPrograms, findNewProse, findProse } from "./prose.ts";
import { readFiles } from "./source-files.ts";

const ELEVEN = "one two three four five six seven eight nine ten eleven";

function linesOf(text: string): readonly number[] {
  return findProse({ path: "src/hns/a.ts", text }).map(({ line }) => line);
}

describe("prose in code", () => {
  it("stands nowhere; programs in other languages have a reason each", () => {
    expect(findNewProse(readFiles("src/**/*.ts"), FOREIGN_PROGRAMS)).toEqual([]);
  });

  it.each([
    ["a text of twelve words", `const a = "${ELEVEN} twelve";`],
    ["a template of twelve words", `const a = \`${ELEVEN} twelve\`;`],
    ["a template in which a hole is the twelfth word", `const a = \`${ELEVEN} \${b}\`;`],
    ["a sum of texts", `const a = "${ELEVEN}" + " twelve";`],
    ["a sum of texts and values", `const a = "${ELEVEN} " + b + ".";`],
    ["a text within a hole", `const a = \`x \${b("${ELEVEN} twelve")}\`;`],
    ["lines of a template", `const a = \`${ELEVEN.replaceAll(" ", "\n")}\ntwelve\`;`],
  ])("is %s", (_what, text) => {
    expect(linesOf(text)).toEqual([1]);
  });

  it.each([
    ["eleven words", `const a = "${ELEVEN}";`],
    ["eleven words and signs", `const a = "${ELEVEN} 12 - →";`],
    ["two texts beside one another", `const a = ["${ELEVEN}", "twelve"];`],
    ["a comment", `// ${ELEVEN} "${ELEVEN} twelve"`],
    ["a sum of numbers", "const a = 1 + 2;"],
    ["a line of values", `const a = \`one two three four five ${"${b} ".repeat(7)}\`;`],
  ])("is not %s", (_what, text) => {
    expect(linesOf(text)).toEqual([]);
  });

  it("is told with its lines", () => {
    expect(linesOf(`const a = 1;\nconst b = "${ELEVEN} twelve";\n`)).toEqual([2]);
  });
});

function programs(counts: Readonly<Record<string, number>>): Readonly<Record<string, ForeignPrograms>> {
  return Object.fromEntries(
    Object.entries(counts).map(([path, count]) => [path, { count, reason: "a program of a shell" }]),
  );
}

describe("the list of programs", () => {
  const file = { path: "src/hns/a.ts", text: `const a = 1;\nconst b = "${ELEVEN} twelve";` };

  it("takes no text more", () => {
    expect(findNewProse([file], {})).toEqual([
      "src/hns/a.ts has 1 texts of 12 words or more, and may have 0 (lines 2): put them into data/words, as data/README.md says",
    ]);
  });

  it("keeps no entry that is too high", () => {
    expect(findNewProse([file], programs({ "src/hns/a.ts": 2, "src/hns/b.ts": 1 }))).toEqual([
      "tools/prose.ts: src/hns/a.ts has 1 programs, not 2: lower its entry",
      "tools/prose.ts: src/hns/b.ts has 0 programs, not 1: lower its entry",
    ]);
  });

  it("counts no tests", () => {
    expect(findNewProse([{ ...file, path: "src/hns/a.test.ts" }], {})).toEqual([]);
  });
});
