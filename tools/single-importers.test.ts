import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type AllowedAlone, findSingleImporters, findUnreasoned } from "./single-importers.ts";
import { type SourceFile, readFiles } from "./source-files.ts";

/** Folders that the rule holds for. */
const FOLDERS = [
  "src/cli",
  "src/cluster",
  "src/contracts",
  "src/control-plane",
  "src/core",
  "src/dataplane",
  "src/diagnose",
  "src/hns",
  "src/programs",
];

const ALLOWED = JSON.parse(readFileSync("tools/single-importers.json", "utf8")) as readonly AllowedAlone[];

const FILES = readFiles("src/**/*.ts");

const USER: SourceFile = { path: "src/dataplane/vfp/port.ts", text: 'import { rule } from "./rule.ts";\n' };
const RULE: SourceFile = { path: "src/dataplane/vfp/rule.ts", text: "export const rule = 1;\n" };

describe("a small file that one neighbour alone imports", () => {
  it.each(FOLDERS)("has a reason in %s", (folder) => {
    const allowed = ALLOWED.filter(({ files }) => files.startsWith(`${folder}/`));
    // Files of other folders import, too: what is found is narrowed down, not what is read.
    const problems = findUnreasoned(FILES, allowed);
    expect(problems.filter((problem) => problem.includes(`${folder}/`))).toEqual([]);
  });

  it("has a reason that says something", () => {
    expect(ALLOWED.filter(({ reason }) => reason.length < 20)).toEqual([]);
  });

  it("is found with its lines and its importer", () => {
    expect(findSingleImporters([USER, RULE])).toEqual([
      { path: "src/dataplane/vfp/rule.ts", lines: 1, importer: "src/dataplane/vfp/port.ts" },
    ]);
    expect(findUnreasoned([USER, RULE], [])).toEqual([
      "src/dataplane/vfp/rule.ts (1 lines) is there for port.ts alone: it belongs there, " +
        "or tools/single-importers.json says why not",
    ]);
  });

  it.each([
    ["a second importer", [USER, RULE, { ...USER, path: "src/dataplane/vfp/group.ts" }]],
    ["an importer in another folder", [{ path: "src/hns/a.ts", text: 'import "../vfp/rule.ts";' }, RULE]],
    ["a door as its importer", [{ ...USER, path: "src/dataplane/vfp/mod.ts" }, RULE]],
    ["a test as its importer", [{ ...USER, path: "src/dataplane/vfp/rule.test.ts" }, RULE]],
    ["eighty lines", [USER, { ...RULE, text: RULE.text.repeat(80) }]],
  ])("is not one with %s", (_what, files) => {
    expect(findSingleImporters(files)).toEqual([]);
  });

  it.each(["src/dataplane/vfp/rule.ts", "src/dataplane/vfp/*.ts", "src/**.ts"])(
    "may stand alone by the reason of %s",
    (files) => {
      expect(findUnreasoned([USER, RULE], [{ files, reason: "a seam" }])).toEqual([]);
    },
  );
});

describe("a reason that no file needs", () => {
  it("is told", () => {
    expect(findUnreasoned([RULE], [{ files: "src/dataplane/vfp/rule.ts", reason: "a seam" }])).toEqual([
      "tools/single-importers.json: no file needs the reason of src/dataplane/vfp/rule.ts",
    ]);
  });
});
