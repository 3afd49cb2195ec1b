import { describe, expect, it } from "vitest";
import { PatternFinder, checkAllowed, readPatternFiles } from "./regular-expressions.ts";

describe("patterns", () => {
  it("are known before the program runs, but for those that are allowed", () => {
    const files = readPatternFiles();
    const paths = files.map(({ path }) => path);
    expect(checkAllowed(new PatternFinder(files), paths)).toEqual([]);
  });

  it.each([
    ["const A = /a+$/m;", ["/a+$/m"]],
    ['const B = "b*";\nnew RegExp(`^${B}$`, "i");', ["/^b*$/i"]],
    ["const C = String.raw`\\d`;\nRegExp(C + '+');", ["/\\d+/"]],
    ["const D = /d/;\nnew RegExp(D.source, 'g');", ["/d/", "/d/g"]],
    ['import { E } from "./b.ts";\nnew RegExp(E);', ["/from b/"]],
    ["// /a+/ in a comment\nconst text = '/b+/';", []],
  ])("of %j are found", (text, found) => {
    const finder = new PatternFinder([
      { path: "src/a.ts", text },
      { path: "src/b.ts", text: 'export const E = "from b";' },
    ]);
    const { patterns, unknown } = finder.find("src/a.ts");
    expect(patterns.map(({ source, flags }) => `/${source}/${flags}`)).toEqual(found);
    expect(unknown).toEqual([]);
  });

  it("whose text a user gives are told", () => {
    const finder = new PatternFinder([
      { path: "src/a.ts", text: "function f(x: string) {\n  return new RegExp(x);\n}" },
    ]);
    expect(finder.find("src/a.ts").unknown).toEqual(["src/a.ts:2"]);
  });
});
