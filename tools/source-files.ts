/** The project's own text files, for the tests of this folder. */
import { globSync, readFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";

/** A file: its path from the root with slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const LEFT_OUT = /^(?:node_modules|dist|coverage|out|\.git)$/;

/** Paths of the files that match one of the patterns, sorted. Dependencies and build results are left out. */
export function listPaths(...patterns: readonly string[]): readonly string[] {
  const entries = patterns.flatMap((pattern) =>
    globSync(pattern, { exclude: (entry) => LEFT_OUT.test(entry.name), withFileTypes: true }),
  );
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(".", join(entry.parentPath, entry.name)).split(sep).join(posix.sep));
  return [...new Set(paths)].toSorted();
}

/** Files that match one of the patterns, in the order of their paths. */
export function readFiles(...patterns: readonly string[]): readonly SourceFile[] {
  return listPaths(...patterns).map((path) => ({ path, text: readFileSync(path, "utf8") }));
}

/** True for tests, and for suites that tests share. */
export function isTest(path: string): boolean {
  return /\.(test|suite)\.ts$/.test(path) || path.startsWith("src/testing/");
}
