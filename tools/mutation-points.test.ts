import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type Choices, applyMutant, buildIn, findMutants } from "./mutation-points.ts";

const changes = (code: string): readonly string[] =>
  findMutants(code).map((mutant) => applyMutant(code, mutant));

describe("mutants of a text", () => {
  it.each([
    ["export const f = (a: number) => a < 3;", ["a <= 3", "a >= 3", "a < 4"]],
    ["export const f = (a: boolean, b: boolean) => a && !b;", ["(a) || (!b)"]],
    ["export const f = (a: number[]) => a.some(Boolean);", ["a.every(Boolean)"]],
    ["export const f = (a: number) => `${a} ms`;", ["` ms`"]],
    ["export const f = (a: number, b: number) => `${a}/${ b }`;", ["`${a}/`"]],
    ["export const f = (a: number, b: number) => `${a}/${(b)}.`;", ["`${a}/.`"]],
    ["export const f = () => `word`;", ['("~" + `word`)']],
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

  it("leave assertions alone: what they hold cannot be otherwise", () => {
    const code = "export const f = (a: number) => { assert(a > 3, `a is ${a}`); return a > 4; };\n";
    expect(findMutants(code).map(({ before }) => before)).toEqual(["a > 4", "a > 4", "4"]);
  });

  it("keep what stands in parentheses together", () => {
    expect(changes("export const f = (a: number, b: number) => a * (b - a);")).toContain(
      "export const f = (a: number, b: number) => a + (b - a);",
    );
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

/** What the runner gives, with one mutant active; `differing` and `turns` take what the text says of itself. */
function choicesOf(active: number, differing = new Set<number>(), turns: string[] = []): Choices {
  return {
    choose: (index, differs) => {
      if (differs) differing.add(index);
      return index === active;
    },
    compare: (index, value, mutated) => {
      if (value !== mutated()) differing.add(index);
      return value;
    },
    turn: () => {
      turns.push("turn");
    },
  };
}

it("built in, each mutant is a choice, and no other one changes", () => {
  const code = "const f = (a, b) => { const c = []; c.push(a - 1); return a < b ? c : [b * 2]; };";
  const mutants = findMutants(code);
  const built = buildIn(code, mutants, "src/f.ts");
  expect(built.split("\n")).toHaveLength(1);
  const run = (text: string, active: number): unknown => {
    const __mutation = { of: () => choicesOf(active) };
    return runInNewContext(`${text} JSON.stringify([f(1, 2), f(2, 1), f(1, 1)]);`, { __mutation });
  };
  expect(run(built, -1)).toEqual(run(code, -1));
  for (const mutant of mutants) expect(run(built, mutant.index)).toEqual(run(applyMutant(code, mutant), -1));
  expect(mutants.length).toBeGreaterThan(6);
});

it.each([
  ["a boundary that no value meets", "const f = (a) => a < 3;", "a <= 3", 5, false],
  ["a boundary that a value meets", "const f = (a) => a < 3;", "a <= 3", 3, true],
  [
    "an error instead of a value",
    "const f = (a) => a !== undefined && a.b > 1;",
    "(a !== undefined) || (a.b > 1)",
    undefined,
    true,
  ],
  ["a call, which may do anything", "const f = (a) => String(a) < '3';", "String(a) <= '3'", 5, true],
  ["what is left out", "let b = 5; const f = (a) => { b = a; };", "", 5, true],
])("what a test comes by may be the same to it: %s", (_what, code, after, given, expected) => {
  const mutant = findMutants(code).filter((each) => each.after === after);
  const differing = new Set<number>();
  const compare: Choices["compare"] = (index, value, mutated) => {
    try {
      if (!Object.is(value, mutated())) differing.add(index);
    } catch {
      differing.add(index);
    }
    return value;
  };
  const __mutation = { of: () => ({ ...choicesOf(-1, differing), compare }) };
  runInNewContext(`${buildIn(code, mutant, "src/f.ts")} f(given);`, { __mutation, given });
  expect(mutant).toHaveLength(1);
  expect(differing.size > 0).toBe(expected);
});

it.each([
  ["while (n > 0) n--;", 3],
  ["do { n--; } while (n > 0);", 3],
  ["for (let i = 0; i < n; i++) for (const x of [1, 2]) sum(x);", 9],
  ["for (const key in { a: 1 }) sum(key);", 1],
])("each turn of a loop is counted, whatever is mutated in it: %s", (loop, expected) => {
  const code = `let n = 3; const sum = () => 0; ${loop}`;
  for (const mutants of [[], findMutants(code)]) {
    const turns: string[] = [];
    const __mutation = { of: () => choicesOf(-1, new Set(), turns) };
    runInNewContext(buildIn(code, mutants, "src/f.ts"), { __mutation });
    expect(turns).toHaveLength(expected);
  }
});
