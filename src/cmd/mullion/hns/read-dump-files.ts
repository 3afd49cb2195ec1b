/** The dumps that a command line names, as objects; what is wrong with them goes to where people look. */
import { LIMITS } from "../../../base/limits.ts";
import type { DumpItem } from "../../../hcn/dumps.ts";
import type { DumpProblem } from "../../../hns/dump/dumped-object.ts";
import { type DumpFile, readDumps } from "../../../hns/dump/read-dumps.ts";
import { Failure, SilentFailure, describeSystemError, reportProblems } from "../failure.ts";
import type { Terminal } from "../terminal.ts";

export interface ReadDumps {
  readonly objects: readonly DumpItem[];
  /** Parts of the files that could not be read; they are told already. */
  readonly problemCount: number;
}

const NOTES_SHOWN = 20;

async function readBytes(path: string, left: number, terminal: Terminal): Promise<Uint8Array> {
  try {
    return await terminal.readBytes(path, left);
  } catch (error) {
    throw new Failure(
      "hns-dump-unreadable",
      `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      "The path is relative to the folder you are in.",
    );
  }
}

async function filesOf(paths: readonly string[], terminal: Terminal): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, false);
    files.push(...(inside ?? [path]));
  }
  return [...new Set(files)];
}

/**
 * Reads the files, or the files of folders. Problems and notes go to standard error.
 * @throws Failure when a file cannot be read, or none holds an object.
 */
export async function readDumpFiles(paths: readonly string[], terminal: Terminal): Promise<ReadDumps> {
  const files: DumpFile[] = [];
  let left: number = LIMITS.inputBytesMax;
  for (const path of await filesOf(paths, terminal)) {
    const bytes = await readBytes(path, left, terminal);
    left -= bytes.length;
    files.push({ name: path === "-" ? "standard input" : path, bytes });
  }
  const { objects, problems, notes } = readDumps(files);
  tellNotes(notes, terminal);
  const outcome = objects.length === 0 ? "Nothing was read." : "The rest was read.";
  if (problems.length > 0) reportProblems(problems, outcome, terminal);
  if (objects.length === 0) throw new SilentFailure(2);
  return { objects, problemCount: problems.length };
}

function tellNotes(notes: readonly DumpProblem[], terminal: Terminal): void {
  for (const { message, where } of notes.slice(0, NOTES_SHOWN)) {
    terminal.stderr(`note: ${where.file}:${where.line}: ${message}\n`);
  }
  const hidden = notes.length - NOTES_SHOWN;
  if (hidden > 0) terminal.stderr(`note: … and ${hidden} more\n`);
  const [first] = notes;
  if (first !== undefined) terminal.stderr(`    ${first.advice} [${first.code}]\n`);
}
