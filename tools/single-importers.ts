/**
 * Small files that exist for one neighbour only: what one file needs lives in it. A file counts when it is production
 * code of `src/`, has fewer than 80 lines with comments and blanks counted in, and exactly one production file imports
 * it, which lies in the same folder and is not the folder's door: what a door hands on is there for everybody.
 */
import { posix } from "node:path";
import { type SourceFile, importedFiles, isTest, readImportMap } from "./source-files.ts";

/** Below so many lines a file is small. */
export const SMALL_LINES = 80;

export interface SingleImporter {
  readonly path: string;
  readonly lines: number;
  /** The only file that imports it. */
  readonly importer: string;
}

/** Why files may stand alone. */
export interface AllowedAlone {
  /** A path, or a pattern: `*` stands for any part of a name, `**` for folders as well. */
  readonly files: string;
  readonly reason: string;
}

function isDoor(path: string): boolean {
  return /\/mod(?:\.node)?\.ts$/.test(path);
}

function countLines(text: string): number {
  return text.trimEnd().split("\n").length;
}

/** The production files that import each path. */
function importersOf(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  const map = readImportMap();
  for (const file of files) {
    const { path } = file;
    for (const target of importedFiles(file, map)) {
      const known = importers.get(target) ?? new Set<string>();
      known.add(path);
      importers.set(target, known);
    }
  }
  return importers;
}

/** The small files that one neighbour alone imports, in the order of `files`. */
export function findSingleImporters(files: readonly SourceFile[]): readonly SingleImporter[] {
  const production = files.filter(({ path }) => path.startsWith("src/") && !isTest(path));
  const importers = importersOf(production);
  return production.flatMap(({ path, text }) => {
    const [importer, ...others] = importers.get(path) ?? [];
    if (importer === undefined || others.length > 0) return [];
    const isNeighbour = posix.dirname(importer) === posix.dirname(path) && !isDoor(importer);
    const lines = countLines(text);
    return isNeighbour && lines < SMALL_LINES ? [{ path, lines, importer }] : [];
  });
}

function toPattern(files: string): RegExp {
  const text = files
    .replaceAll(".", "\\.")
    .replaceAll("**", "\0")
    .replaceAll("*", "[^/]*")
    .replaceAll("\0", ".*");
  return new RegExp(`^${text}$`);
}

/** Small files of one neighbour without a reason to stand alone, and reasons that nothing needs; one sentence each. */
export function findUnreasoned(
  files: readonly SourceFile[],
  allowed: readonly AllowedAlone[],
): readonly string[] {
  const found = findSingleImporters(files);
  const patterns = allowed.map((entry) => ({ ...entry, pattern: toPattern(entry.files) }));
  const alone = found
    .filter(({ path }) => !patterns.some(({ pattern }) => pattern.test(path)))
    .map(
      ({ path, lines, importer }) =>
        `${path} (${lines} lines) is there for ${posix.basename(importer)} alone: it belongs there, ` +
        "or tools/single-importers.json says why not",
    );
  const idle = patterns
    .filter(({ pattern }) => !found.some(({ path }) => pattern.test(path)))
    .map((entry) => `tools/single-importers.json: no file needs the reason of ${entry.files}`);
  return [...alone, ...idle];
}
