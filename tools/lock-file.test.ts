import { expect, it } from "vitest";
import { findSuperfluous, findUnpinned, readLockFile } from "./lock-file.ts";

it("package-lock.json holds every package by its digest, but for those of other systems that npm left out", () => {
  const lock = readLockFile();
  expect(lock.lockfileVersion).toBe(3);
  expect(Object.keys(lock.packages ?? {}).length).toBeGreaterThan(50);
  expect(findUnpinned(lock)).toEqual([]);
  expect(findSuperfluous(lock)).toEqual([]);
});

it("a package without a digest, or with a weak one, is told", () => {
  const packages = {
    "": { version: "1.0.0" },
    "node_modules/a": { version: "1.0.0" },
    "node_modules/b": { version: "1.0.0", integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" },
    "node_modules/c": { version: "1.0.0", integrity: `sha512-${"A".repeat(86)}==` },
    "node_modules/d": { link: true },
    "node_modules/e": { version: "1.0.0", optional: true, os: ["win32"] },
    "node_modules/f": { version: "1.0.0", optional: true },
  };
  // Also one for another system: those that may lack a digest stand in a list, by version.
  const all = ["a", "b", "e", "f"].map((name) => `node_modules/${name}`);
  expect(findUnpinned({ packages })).toEqual(all);
  const listed = { version: "2.6.8", optional: true, os: ["win32"] };
  const other = { ...listed, version: "2.6.9" };
  const path = "node_modules/@biomejs/cli-win32-x64";
  expect([
    findUnpinned({ packages: { [path]: listed } }),
    findUnpinned({ packages: { [path]: other } }),
  ]).toEqual([[], [path]]);
  expect(findSuperfluous({ packages: { [path]: listed } })).not.toContain(`${path}@2.6.8`);
  expect(findSuperfluous({ packages: {} })).toContain(`${path}@2.6.8`);
});
