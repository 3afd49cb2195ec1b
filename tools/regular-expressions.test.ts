import { describe, expect, it } from "vitest";
import {
  type Pattern,
  PatternFinder,
  checkAllowed,
  judgeAll,
  readPatternFiles,
} from "./regular-expressions.ts";

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

  it("that are super-linear are found, by threads that judge one after the other", async () => {
    const safe = ["^a+$", "b", "^[cd]*$"].map((source): [string, string] => [source, "safe"]);
    const planted: [string, string][] = [
      ["^(a|a)*$", "vulnerable, exponential"],
      ["^([0-9]+(ms|s|m)?)+$", "vulnerable, exponential"],
      ["\\s+$", "vulnerable, 2nd degree polynomial"],
    ];
    const all = [...safe, ...planted];
    const byKey = new Map(
      all.map(([source]): [string, Pattern[]] => [source, [{ source, flags: "g", at: "src/a.ts:1" }]]),
    );
    const verdicts = new Map<string, string>();
    let kept = 0;
    await judgeAll(byKey, verdicts, (done) => (kept = done));
    expect(kept).toBe(all.length);
    for (const [source, verdict] of all)
      expect(verdicts.get(source)?.startsWith(verdict), `${source}: ${verdicts.get(source)}`).toBe(true);
  });
});
