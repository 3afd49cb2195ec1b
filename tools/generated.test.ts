import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "./generated-files.ts";

const FILES = await generatedFiles();

describe("generated files", () => {
  it.each(FILES.map((file) => [file.path, file] as const))("%s is up to date", (path, { text }) => {
    const isCurrent = readFileSync(path, "utf8") === text;
    expect(isCurrent, `${path} differs from its source: run npm run schemas`).toBe(true);
  });
});
