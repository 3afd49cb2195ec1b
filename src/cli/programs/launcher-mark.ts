/** The line by which a launcher is known: whose it is, and which program it starts. A plugin reads it of its delegates. */
import { closeSync, lstatSync, openSync, readSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Of a launcher no more is read; the line stands near its begin. */
const HEAD_BYTES = 4_096;
const MARK = /^(?:#|\/\/) mullion-launcher: ([a-z0-9-]+) (".*")$/m;

export interface LauncherMark {
  readonly program: string;
  /** The folder of the installation that wrote it. */
  readonly root: string;
}

/** The line without the sign of a comment. */
export function formatMark({ program, root }: LauncherMark): string {
  return `mullion-launcher: ${program} ${JSON.stringify(root)}`;
}

/** Undefined for a text that is no launcher. */
export function parseMark(text: string): LauncherMark | undefined {
  const [, program, root] = MARK.exec(text) ?? [];
  if (program === undefined || root === undefined) return undefined;
  try {
    return { program, root: String(JSON.parse(root)) };
  } catch {
    return undefined;
  }
}

/** Where the programs of a package lie as bundles; for Windows with a launcher beside each. */
export function bundleFolder(root: string): string {
  return join(root, "dist", "programs");
}

/** The mark of a file; undefined for what is no launcher, or cannot be read. */
export function readMark(path: string): LauncherMark | undefined {
  let file: number;
  try {
    if (!lstatSync(path).isFile()) return undefined;
    file = openSync(path, "r");
  } catch {
    return undefined;
  }
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return parseMark(head.toString("utf8", 0, readSync(file, head)));
  } finally {
    closeSync(file);
  }
}

/** The file that carries the mark: on Windows the script beside the executable. */
function markedPath(path: string): string {
  return path.endsWith(".exe") ? `${path.slice(0, -".exe".length)}.cjs` : path;
}

/**
 * The program that an executable starts, when it is one of this very installation.
 * @param path with all links followed.
 */
export function ownProgramOf(path: string, root: string): string | undefined {
  if (dirname(path) === bundleFolder(root)) return basename(path, ".exe");
  const mark = readMark(markedPath(path));
  return mark?.root === root ? mark.program : undefined;
}
