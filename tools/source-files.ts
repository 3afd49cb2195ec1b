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

/** True for tests, and for what tests share. */
export function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.startsWith("test/");
}

/** Import and export statements, and imports in expressions and types; not the word in a text. */
export const IMPORT: RegExp =
  /^(?:import|export)\b[^;"]*\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;

/** What a text imports: the specifiers as they stand there. */
export function specifiersOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "");
}

/** What `imports` of package.json says: `#room/*.ts` to the files that it names. */
export function readImportMap(): Readonly<Record<string, string>> {
  const { imports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly imports?: Readonly<Record<string, string>>;
  };
  return imports ?? {};
}

/**
 * The file that a specifier of `path` names, from the root of the repository: relative ones, and `#room/…` as `map` has
 * it. Nothing for packages.
 */
export function resolveImport(
  path: string,
  specifier: string,
  map: Readonly<Record<string, string>>,
): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
  let found: readonly [prefix: string, target: string] | undefined;
  for (const [pattern, target] of Object.entries(map)) {
    const prefix = pattern.slice(0, pattern.indexOf("*"));
    if (!specifier.startsWith(prefix) || prefix.length <= (found?.[0].length ?? 0)) continue;
    found = [prefix, target.replace(/^\.\//, "").replace(/\*.*$/, "")];
  }
  return found === undefined ? undefined : `${found[1]}${specifier.slice(found[0].length)}`;
}

/** Files of the repository that a file imports: relative ones, and those of other rooms. */
export function importedFiles(
  { path, text }: SourceFile,
  map: Readonly<Record<string, string>>,
): readonly string[] {
  return specifiersOf(text).flatMap((name) => resolveImport(path, name, map) ?? []);
}
