/** The line by which a launcher is known: whose it is, and which program it starts. A plugin reads it of its delegates. */
import { closeSync, fstatSync, lstatSync, openSync, readSync } from "node:fs";
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

/** What ends an executable of launcher/linux that has a script behind it; before it stands the length of the script. */
const TRAILER = "mullion\u0001";
const LENGTH_BYTES = 8;
const TRAILER_BYTES = LENGTH_BYTES + TRAILER.length;

/** A launcher as a file: the executable, and behind it the script that it falls back on. */
export function withScript(executable: Buffer, script: string): Buffer {
  const text = Buffer.from(script);
  const end = Buffer.alloc(TRAILER_BYTES);
  end.writeBigUInt64LE(BigInt(text.length));
  end.write(TRAILER, LENGTH_BYTES, "latin1");
  return Buffer.concat([executable, text, end]);
}

/** Where the script begins in the file: at its begin, or behind an executable. */
function scriptAt(file: number): number {
  const end = Buffer.alloc(TRAILER_BYTES);
  const { size } = fstatSync(file);
  if (size < TRAILER_BYTES || readSync(file, end, 0, TRAILER_BYTES, size - TRAILER_BYTES) < TRAILER_BYTES)
    return 0;
  if (end.toString("latin1", LENGTH_BYTES) !== TRAILER) return 0;
  return Math.max(0, size - TRAILER_BYTES - Number(end.readBigUInt64LE()));
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
    return parseMark(head.toString("utf8", 0, readSync(file, head, 0, HEAD_BYTES, scriptAt(file))));
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
