/** What `mullion` loads before it knows its verb, and what asks a running cluster: a start that loads all takes thrice as long. */
import { describe, expect, it } from "vitest";
import { type SourceFile, importedFiles, readFiles, readImportMap } from "./source-files.ts";

const FILES: ReadonlyMap<string, SourceFile> = new Map(
  readFiles("src/**/*.ts").map((file) => [file.path, file]),
);
const MAP = readImportMap();

/** The file without what is loaded by need, and without what is gone when it runs. */
function withoutTypes({ path, text }: SourceFile): SourceFile {
  const statements = /^(?:import|export) (?:type )?[^;]*? from "[^"]+";|^import "[^"]+";/gmu;
  const isType = /^(?:import|export) type |^(?:import|export) \{(?:\s*type \w+(?: as \w+)?,?)+\s*\}/u;
  const values = [...text.matchAll(statements)].map(([all]) => all).filter((each) => !isType.test(each));
  return { path, text: values.join("\n") };
}

/** All files that are loaded with this one. */
function loadedWith(path: string): ReadonlySet<string> {
  const found = new Set([path]);
  for (const each of found) {
    const file = FILES.get(each);
    if (file !== undefined) for (const other of importedFiles(withoutTypes(file), MAP)) found.add(other);
  }
  return found;
}

describe("what is loaded at a start", () => {
  it.each([
    ["of any verb", "src/cli/mullion/main.ts"],
    ["of get", "src/cli/mullion/get/get.ts"],
    ["of trace", "src/cli/mullion/trace.ts"],
    ["of verify", "src/cli/mullion/verify.ts"],
    ["of down", "src/cli/mullion/cluster/down.ts"],
  ])("%s simulates nothing", (_, path) => {
    const loaded = [...loadedWith(path)];
    expect(loaded.length).toBeGreaterThan(40);
    expect(
      loaded.filter((each) => /^src\/(?:dataplane\/(?:switch|vfp)\/|hns\/service\/)/u.test(each)),
    ).toEqual([]);
    expect(loaded.length).toBeLessThan(150);
  });

  it("of what builds a cluster simulates", () => {
    expect(loadedWith("src/cli/mullion/cluster/connect-inputs.ts").size).toBeGreaterThan(400);
  });
});
