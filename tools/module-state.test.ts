import { describe, expect, it } from "vitest";
import { findModuleState } from "./module-state.ts";
import { readFiles } from "./source-files.ts";

describe("the modules of src/", () => {
  it("keep no state", () => {
    expect(findModuleState(readFiles("src/**/*.ts"))).toEqual([]);
  });
});

describe("planted state", () => {
  it.each([
    "const KNOWN = new Map<string, number>();\nKNOWN.set('a', 1);",
    "export const KNOWN: Map<string, number> = new Map();\nfunction f() {\n  KNOWN.delete('a');\n}",
    "const SEEN = new WeakSet<object>();\nSEEN.add({});",
    "const LIST: string[] = [];\nfunction f() {\n  LIST.push('a');\n}",
    "const LIST = [1];\nLIST[0] = 2;",
    "const STATE = { count: 0 };\nfunction f() {\n  STATE.count += 1;\n}",
    "const STATE = { count: 0 };\nfunction f() {\n  STATE.count++;\n}",
    "const STATE: Record<string, number> = {};\nfunction f() {\n  delete STATE['a'];\n}",
    "const STATE = {};\nObject.assign(STATE, { a: 1 });",
  ])("is found in %j", (text) => {
    expect(findModuleState([{ path: "src/dataplane/vfp/rule.ts", text }])).toHaveLength(1);
  });

  it.each([
    "const TABLE = new Map([['a', 1]]);\nTABLE.get('a');",
    "const TABLE = { a: 1 };\nconst b = TABLE.a === 1;",
    "const TABLE = [1, 2];\nconst f = () => TABLE.map((x) => x);",
    "function f() {\n  const list = [];\n  list.push(1);\n}",
    "// KNOWN.set('a', 1)\nconst KNOWN = new Map();",
  ])("is not seen in %j", (text) => {
    expect(findModuleState([{ path: "src/dataplane/vfp/rule.ts", text }])).toEqual([]);
  });
});
