/** The dumps that a command line names, as objects; what is wrong with them goes to where people look. */
import { listed } from "#core/base/text-layout.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { DumpItem } from "#contracts/hcn/dumps.ts";
import type { DumpProblem } from "#hns/dump/dumped-object.ts";
import { type DumpFile, readDumps, withLongNumbers } from "#hns/dump/read-dumps.ts";
import { Failure, SilentFailure, describeSystemError, reportProblems } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

export interface ReadDumps {
  readonly objects: readonly DumpItem[];
  /** Parts of the files that could not be read; they are told already. */
  readonly problemCount: number;
  /** A text that was printed of the objects, with long numbers as the files write them. */
  readonly asWritten: (text: string) => string;
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

interface NamedFile {
  readonly path: string;
  /** Found in a folder: what collectors leave there is not all of HNS. */
  readonly isOptional: boolean;
}

async function filesOf(paths: readonly string[], terminal: Terminal): Promise<readonly NamedFile[]> {
  const files = new Map<string, NamedFile>();
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, false);
    for (const file of inside ?? [path]) {
      const isOptional = inside !== undefined && files.get(file)?.isOptional !== false;
      files.set(file, { path: file, isOptional });
    }
  }
  return [...files.values()];
}

/**
 * Reads the files, or the files of folders. Problems and notes go to standard error.
 * @throws Failure when a file cannot be read, or none holds an object.
 */
export async function readDumpFiles(paths: readonly string[], terminal: Terminal): Promise<ReadDumps> {
  const files: DumpFile[] = [];
  let left: number = LIMITS.inputBytesMax;
  for (const { path, isOptional } of await filesOf(paths, terminal)) {
    const bytes = await readBytes(path, left, terminal);
    left -= bytes.length;
    files.push({ name: path === "-" ? "standard input" : path, bytes, isOptional });
  }
  const { objects, problems, notes, passedBy, longNumbers } = readDumps(files);
  reportNotes(notes, terminal);
  reportSkipped(passedBy, terminal);
  const outcome = objects.length === 0 ? "Nothing was read." : "The rest was read.";
  if (problems.length > 0) reportProblems(problems, outcome, terminal);
  if (objects.length === 0 && problems.length === 0) throw nothingFound(paths);
  if (objects.length === 0) throw new SilentFailure(2);
  return {
    objects,
    problemCount: problems.length,
    asWritten: (text) => withLongNumbers(text, longNumbers),
  };
}

function nothingFound(paths: readonly string[]): Failure {
  return new Failure(
    "hns-dump-unreadable",
    `there are no objects of HNS in ${paths.map((path) => JSON.stringify(path)).join(", ")}`,
    WORDS.adviceDumpInput,
  );
}

const PASSED_BY_SHOWN = 5;

function reportSkipped(files: readonly string[], terminal: Terminal): void {
  if (files.length === 0) return;
  const shown = listed(files, PASSED_BY_SHOWN);
  terminal.stderr(`note: passed by, because they hold no objects of HNS: ${shown}\n`);
}

function reportNotes(notes: readonly DumpProblem[], terminal: Terminal): void {
  for (const { message, where } of notes.slice(0, NOTES_SHOWN)) {
    terminal.stderr(`note: ${where.file}:${where.line}: ${message}\n`);
  }
  const hidden = notes.length - NOTES_SHOWN;
  if (hidden > 0) terminal.stderr(`note: … and ${hidden} more\n`);
  const [first] = notes;
  if (first !== undefined) terminal.stderr(`    ${first.advice} [${first.code}]\n`);
}
