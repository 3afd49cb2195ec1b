import { describe, expect, it } from "vitest";
import { findImportCircles } from "./import-circles.ts";
import { readFiles } from "./source-files.ts";

describe("the files of src/", () => {
  it("import each other in no circle, neither by value nor by type", () => {
    expect(findImportCircles(readFiles("src/**/*.ts"))).toEqual([]);
  });
});

describe("a planted circle", () => {
  it.each([
    ["by value", 'import { b } from "./b.ts";'],
    ["by type", 'import type { B } from "./b.ts";'],
    ["by a type among values", 'import { type B, b } from "./b.ts";'],
    ["over several lines", 'import {\n  type B,\n  b,\n} from "./b.ts";'],
    ["by export", 'export { b } from "./b.ts";'],
    ["by export of a type", 'export type { B } from "./b.ts";'],
    ["of a module that is loaded by need", 'const { b } = await import("./b.ts");'],
  ])("%s is found", (_, statement) => {
    const files = [
      { path: "src/vfp/a.ts", text: `${statement}\n` },
      { path: "src/vfp/b.ts", text: 'import { c } from "../net/c.ts";\n' },
      { path: "src/net/c.ts", text: 'import type { A } from "../vfp/a.ts";\n' },
      { path: "src/net/d.ts", text: 'import type { A } from "../vfp/a.ts";\n' },
    ];
    expect(findImportCircles(files)).toEqual([["src/net/c.ts", "src/vfp/a.ts", "src/vfp/b.ts"]]);
  });

  it("of one file with itself is found", () => {
    const file = { path: "src/vfp/a.ts", text: 'import type { A } from "./a.ts";\n' };
    expect(findImportCircles([file])).toEqual([["src/vfp/a.ts"]]);
  });

  it("is not seen where two files import a third", () => {
    const files = [
      { path: "src/vfp/a.ts", text: 'import "./b.ts";\nimport "./c.ts";\n' },
      { path: "src/vfp/b.ts", text: 'import "./c.ts";\n' },
      { path: "src/vfp/c.ts", text: 'import "node:fs";\n' },
    ];
    expect(findImportCircles(files)).toEqual([]);
  });
});
