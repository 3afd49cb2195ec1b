import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { MODE_REFERENCES_MAX, countModeWords, findModeReferences } from "./mode-references.ts";
import { readFiles } from "./source-files.ts";

describe("the mode of the programs", () => {
  // The type checker's own count is in `test/long/mode-references.long.test.ts`; it takes seconds.
  it("is written no more often than the type checker may find it", () => {
    expect(countModeWords(readFiles("src/**/*.ts"))).toBeLessThanOrEqual(MODE_REFERENCES_MAX);
  });
});

const PLANTED = {
  "tsconfig.json": JSON.stringify({
    compilerOptions: { strict: true, noLib: true, allowImportingTsExtensions: true, noEmit: true },
    include: ["src"],
  }),
  "src/core/base/compat.ts":
    'export type Compat = "upstream" | "hardened";\nexport type ByMode<T> = { readonly [M in Compat]: T };\n',
  "src/programs/planted.ts": [
    'import type { ByMode, Compat } from "../core/base/compat.ts";',
    "export function first(compat: Compat | undefined, mode: { readonly kind: Compat }): number {",
    '  if (compat === "upstream") return 1;',
    "  switch (mode.kind) {",
    '    case "hardened":',
    "      return 2;",
    "  }",
    "  return { upstream: 3, hardened: 4 }[mode.kind];",
    "}",
    'export const spelled = (mode: "hardened" | "upstream", word: string): boolean => word === mode;',
    'export const other = (word: string, kind: "upstream" | "downstream"): boolean => word === "upstream" || kind === "upstream";',
    "export const table: ByMode<number> = { upstream: 1, hardened: 2 };",
  ].join("\n"),
  "src/programs/planted.test.ts":
    'import type { Compat } from "../core/base/compat.ts";\nexport const tested = (compat: Compat): boolean => compat === "upstream";\n',
} as const;

describe("planted references", () => {
  it("are found where the type is written, and where something is decided by it", () => {
    const root = mkdtempSync(join(tmpdir(), "modes-"));
    try {
      for (const [path, text] of Object.entries(PLANTED)) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), text);
      }
      expect(findModeReferences(root).map(({ line, kind }) => `${line} ${kind}`)).toEqual([
        "2 type",
        "2 type",
        "3 condition",
        "4 condition",
        "8 condition",
        "10 type",
        "10 condition",
        "12 type",
      ]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});
