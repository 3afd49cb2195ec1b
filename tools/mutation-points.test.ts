import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { applyMutant, buildIn, findMutants } from "./mutation-points.ts";

const changes = (code: string): readonly string[] =>
  findMutants(code).map((mutant) => applyMutant(code, mutant));

describe("mutants of a text", () => {
  it.each([
    ["export const f = (a: number) => a < 3;", ["a <= 3", "a >= 3", "a < 4"]],
    ["export const f = (a: boolean, b: boolean) => a && !b;", ["(a) || (!b)"]],
    ["export const f = (a: number[]) => a.some(Boolean);", ["a.every(Boolean)"]],
    ["export const f = (a: number) => `${a} ms`;", ['("~" + `${a} ms`)']],
  ])("%s", (code, expected) => {
    const start = code.indexOf("=> ") + 3;
    expect(changes(code).map((text) => text.slice(start, -1))).toEqual(expected);
  });

  it("leave types, keys and imports alone, and know their lines", () => {
    const code = `import x from "x";\ntype T = "a" | 4;\nexport const y: T = { b: 5 };\n`;
    expect(findMutants(code).map(({ line, before, after }) => [line, before, after])).toEqual([
      [3, "5", "6"],
    ]);
  });

  it("leave the inner links of an optional chain alone", () => {
    const code = "export const f = (a?: string[]) => a?.push('b').toFixed().startsWith(String(4));\n";
    expect(findMutants(code).map(({ after }) => after)).toEqual([
      "a?.push('b').toFixed().endsWith(String(4))",
      '"b~"',
      "5",
    ]);
  });

  it.each([
    ["`${a} (uplink)`", "text"],
    ["`open ${a}: Access is denied.`", "text"],
    ["`${a} ms`", "text"],
    ["`${a}/${b}`", "safe"],
    ["`pod/${a}`", "safe"],
    ["`${a} ${b}`", "safe"],
    ["`${a}\\n`", "safe"],
  ])("a template with words between its holes is a text, a key is not: %s", (template, kind) => {
    expect(findMutants(`export const f = (a: string, b: string) => ${template};`)).toMatchObject([{ kind }]);
  });

  it("a condition from which the compiler learns something is a guard", () => {
    const code =
      "export function f(a?: number): number {\n  if (a === undefined) return 0;\n  return a;\n}\n";
    expect(findMutants(code).map(({ kind, line }) => [kind, line])).toEqual([
      ["guard", 2],
      ["guard", 2],
      ["safe", 2],
    ]);
  });
});

it("built in, each mutant is a choice, and no other one changes", () => {
  const code = "const f = (a, b) => { const c = []; c.push(a - 1); return a < b ? c : [b * 2]; };";
  const mutants = findMutants(code);
  const built = buildIn(code, mutants, "src/f.ts");
  expect(built.split("\n")).toHaveLength(1);
  const run = (text: string, active: number): unknown => {
    const __mutation = { of: () => (index: number) => index === active };
    return runInNewContext(`${text} JSON.stringify([f(1, 2), f(2, 1), f(1, 1)]);`, { __mutation });
  };
  expect(run(built, -1)).toEqual(run(code, -1));
  for (const mutant of mutants) expect(run(built, mutant.index)).toEqual(run(applyMutant(code, mutant), -1));
  expect(mutants.length).toBeGreaterThan(6);
});
