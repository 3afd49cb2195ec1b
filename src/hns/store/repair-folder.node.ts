/** Whether a state folder is whole, and how it goes back to its last good state. */
import { join } from "node:path";
import { messageOf } from "#core/base/thrown.ts";
import {
  DamagedFileError,
  FORMER,
  type Inspection,
  KEPT_PREFIX,
  MARKER,
  NO_LOCK,
  StateFolderError,
  inspectFolder,
  lockFolder,
  removeQuietly,
  rewriteFolder,
} from "./folder-files.node.ts";
import { MACHINE_DISK, type StoreDisk, type StoreLock } from "./store-disk.node.ts";
import { FORMAT_VERSION, POSITION, describeDamage, generationsAmong } from "./store-format.node.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

/** What a check found. */
export interface FolderReport {
  readonly folder: string;
  /** 1: the database of before, whose rows have no checksums. */
  readonly format: number;
  /** Objects that are whole. */
  readonly objects: number;
  /** Changes that were acknowledged and are there. */
  readonly changes: number;
  /** How often it was opened. */
  readonly openings: number;
  /** What is damaged, in words: file, place, how many changes are missing. */
  readonly damages: readonly string[];
  /** What is damaged and stands in another place, too: nothing is lost. */
  readonly recoveries: readonly string[];
}

export interface RepairReport extends FolderReport {
  /** Where the files lie that were there before; undefined: nothing had to be mended. */
  readonly kept: string | undefined;
}

function unreadable(path: string, error: unknown): StateFolderError {
  return new StateFolderError(`The state folder ${path} cannot be read: ${messageOf(error)}.`);
}

/** @throws StateFolderError for a folder that is not there, or holds no store. */
function storeNames(disk: StoreDisk, path: string): readonly string[] {
  let names: readonly string[] | undefined;
  try {
    names = disk.list(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  if (names === undefined) throw new StateFolderError(WORDS.folderMissing({ path }));
  if (names.includes(MARKER) || names.includes(POSITION) || generationsAmong(names).length > 0) return names;
  const first = names.length === 0 ? "it is empty" : `it holds ${names[0] ?? ""}`;
  throw new StateFolderError(WORDS.folderNotState({ path, first }));
}

function reportOf(path: string, { state, format, damages, recoveries }: Inspection): FolderReport {
  return {
    folder: path,
    format,
    objects: state.objects.size,
    changes: state.changes,
    openings: state.opened?.incarnation ?? 0,
    damages: damages.map(describeDamage),
    recoveries,
  };
}

/**
 * Looks whether a folder is whole, and changes nothing.
 * @throws StateFolderError: it holds no store, another process has it, a newer Mullion wrote it.
 */
export function checkFolder(path: string, disk: StoreDisk = MACHINE_DISK): FolderReport {
  const names = storeNames(disk, path);
  const { lock, problem } = tryLock(disk, path, names, "reading");
  try {
    const report = reportOf(path, inspectFolder(disk, path, lock));
    return problem === undefined ? report : { ...report, recoveries: [...report.recoveries, problem] };
  } catch (error) {
    throw error instanceof StateFolderError ? error : unreadable(path, error);
  } finally {
    lock.close();
  }
}

/** The lock, or what is wrong with the file where the files beside it are those of format 2. */
function tryLock(
  disk: StoreDisk,
  path: string,
  names: readonly string[],
  access: "writing" | "reading",
): { readonly lock: StoreLock; readonly problem: string | undefined } {
  const isMissing = !names.includes(MARKER);
  try {
    if (!isMissing || access === "writing")
      return { lock: lockFolder(disk, path, names, access), problem: undefined };
  } catch (error) {
    if (!(error instanceof DamagedFileError) || !names.includes(POSITION)) throw error;
  }
  return { lock: NO_LOCK, problem: `${MARKER} is ${isMissing ? "missing" : "damaged"}; it holds no objects` };
}

/** Gives the files that are there a second name in a folder of their own. @returns its path. */
function keepFiles(disk: StoreDisk, path: string, names: readonly string[]): string {
  let number = 1;
  while (names.includes(`${KEPT_PREFIX}${number}`)) number++;
  const kept = join(path, `${KEPT_PREFIX}${number}`);
  disk.makeFolder(kept);
  for (const name of names)
    if (name === POSITION || generationsAmong([name]).length > 0)
      disk.link(join(path, name), join(kept, name));
  disk.syncFolder(kept);
  disk.syncFolder(path);
  return kept;
}

/**
 * Goes back to the last good state: all objects and changes that are whole, up to the first change that is not. The files
 * that were there are kept, and are as they were until the last step.
 * @throws StateFolderError as `checkFolder`, and when the disk does not take it.
 */
export function repairFolder(path: string, disk: StoreDisk = MACHINE_DISK): RepairReport {
  // A lock is made or replaced below: first the files say whether this Mullion knows their format.
  checkFolder(path, disk);
  const names = storeNames(disk, path);
  const { problem, ...tried } = tryLock(disk, path, names, "writing");
  if (problem !== undefined) disk.rename(join(path, MARKER), join(path, `${MARKER}.damaged`));
  const lock = problem === undefined ? tried.lock : lockFolder(disk, path, names, "writing");
  try {
    const found = inspectFolder(disk, path, lock);
    const report = reportOf(path, found);
    if (found.format !== FORMAT_VERSION || (found.damages.length === 0 && found.recoveries.length === 0)) {
      if (problem === undefined) return { ...report, kept: undefined };
      lock.setFormat(FORMAT_VERSION, join(path, FORMER));
      return { ...report, recoveries: [problem], kept: join(path, `${MARKER}.damaged`) };
    }
    const kept = keepFiles(disk, path, names);
    rewriteFolder(disk, path, found.state);
    lock.setFormat(FORMAT_VERSION, join(path, FORMER));
    return { ...report, kept };
  } catch (error) {
    if (error instanceof StateFolderError) throw error;
    removeQuietly(disk, join(path, `${POSITION}.new`));
    throw new StateFolderError(WORDS.repairStopped({ path, message: messageOf(error) }));
  } finally {
    lock.close();
  }
}
