/** What a state folder holds: whose it is, what is in it, what of that is damaged, and how it is written anew. */
import { join } from "node:path";
import { errorCode, messageOf } from "#core/base/thrown.ts";
import { checkJsonObject } from "#contracts/hcn/description/json.ts";
import type { StoredKind, StoredObject } from "./stored-object.ts";
import {
  FORMAT_VERSION,
  type FolderState,
  FolderReader,
  POSITION,
  type Position,
  describeDamage,
  formatLogHead,
  formatPositionFile,
  formatSnapshot,
  generationsAmong,
  keyOf,
  logName,
  snapshotName,
  newState,
} from "./store-format.node.ts";
import {
  ForeignDatabaseError,
  FormerStoreError,
  type FormerStore,
  type StoreDisk,
  type StoreLock,
} from "./store-disk.node.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

/** The lock, and the number of the format where versions of Mullion that knew only SQLite look for it. */
export const MARKER = "hns.db";
/** The database of format 1, kept by the upgrade. */
export const FORMER = "hns.db.format-1";
export const OWNER = "owner.json";
export const README = "README.txt";
const OWN_FILES: readonly string[] = [
  MARKER,
  `${MARKER}.damaged`,
  FORMER,
  POSITION,
  `${POSITION}.new`,
  OWNER,
  README,
].concat(["-wal", "-shm", "-journal"].flatMap((end) => [`${MARKER}${end}`, `${FORMER}${end}`]));
/** Where `mullion hns repair` keeps the files that it found. */
export const KEPT_PREFIX = "before-repair-";

export const README_TEXT: string = `${WORDS.folderReadme({ position: POSITION, marker: MARKER, owner: OWNER })}\n`;

/** A state folder that cannot be used. The message is for people: what is wrong, and what to do. */
export class StateFolderError extends Error {
  override readonly name: string = "StateFolderError";
}

/** What is there is damaged as a whole: the database of format 1, or the lock. */
export class DamagedFileError extends StateFolderError {
  override readonly name: string = "DamagedFileError";
}

/** Why a store cannot write. */
export const STORE_FAULTS = ["disk-full", "io-error", "read-only"] as const;
export type StoreFaultReason = (typeof STORE_FAULTS)[number];

export interface StoreFault {
  readonly reason: StoreFaultReason;
  /** What the system said. */
  readonly text: string;
}

// Opening.

/** SQLite's primary result codes that mean something to us. */
const SQLITE_CODES = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 } as const;

/** Extended codes have the primary one in their low byte. */
function sqliteCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  return error.errcode & 0xff;
}

/** Who has the folder open, as far as its owner has told. */
function ownerOf(disk: StoreDisk, path: string): string {
  try {
    const owner: unknown = JSON.parse(Buffer.from(disk.read(join(path, OWNER)) ?? []).toString("utf8"));
    const pid = typeof owner === "object" && owner !== null && "pid" in owner ? owner.pid : undefined;
    return typeof pid === "number" ? `process ${pid}` : "another process";
  } catch {
    return "another process";
  }
}

function isOwn(name: string): boolean {
  return OWN_FILES.includes(name) || name.startsWith(KEPT_PREFIX) || generationsAmong([name]).length > 0;
}

/** Refuses a folder that holds something else. */
export function checkOwn(path: string, names: readonly string[]): void {
  const isStore = names.includes(MARKER) || names.includes(POSITION);
  const stranger = isStore ? undefined : names.find((name) => !isOwn(name));
  if (stranger === undefined) return;
  throw new StateFolderError(WORDS.folderNotEmpty({ path, stranger }));
}

export function unusable(path: string, error: unknown): StateFolderError {
  if (error instanceof StateFolderError) return error;
  if (reasonOf(error) === "disk-full")
    return new StateFolderError(WORDS.folderDiskFull({ path, message: messageOf(error) }));
  return new StateFolderError(WORDS.folderUnusable({ path, message: messageOf(error) }));
}

function formerDamage(path: string, how: string): StateFolderError {
  return new DamagedFileError(WORDS.storeDamagedUnrepairable({ path: join(path, MARKER), how }));
}

/** Takes the lock of a folder that is there. @throws StateFolderError. */
export function lockFolder(
  disk: StoreDisk,
  path: string,
  names: readonly string[],
  access: "writing" | "reading",
): StoreLock {
  const file = join(path, MARKER);
  try {
    return disk.lock(file, access);
  } catch (error) {
    if (error instanceof ForeignDatabaseError)
      throw new StateFolderError(`${file} is a database of another program. Name another folder.`);
    const code = sqliteCodeOf(error);
    if (code === SQLITE_CODES.busy)
      throw new StateFolderError(WORDS.folderInUse({ path, owner: ownerOf(disk, path) }));
    if (code === SQLITE_CODES.corrupt || code === SQLITE_CODES.notADatabase) {
      if (!names.includes(POSITION)) throw formerDamage(path, messageOf(error));
      throw new DamagedFileError(WORDS.lockFileDamaged({ file, message: messageOf(error), path }));
    }
    throw unusable(path, error);
  }
}

function newerFormat(path: string, format: number): StateFolderError {
  return new StateFolderError(WORDS.storeFormatNewer({ path, format, formatVersion: FORMAT_VERSION }));
}

/** The objects of a folder of format 1. @throws StateFolderError. */
function stateOfFormer(path: string, { objects, incarnation }: FormerStore): FolderState {
  const found = new Map<string, StoredObject>();
  for (const row of objects) {
    const [kind, id] = [String(row["kind"]) as StoredKind, String(row["id"])];
    try {
      const document = checkJsonObject(JSON.parse(String(row["document"])));
      const internal = checkJsonObject(JSON.parse(String(row["internal"])));
      found.set(keyOf(kind, id), { kind, id, document, internal });
    } catch (error) {
      throw formerDamage(path, `${kind} ${id}: ${messageOf(error)}`);
    }
  }
  return {
    ...newState(),
    objects: found,
    opened: { incarnation, node: "", hnsVersion: "" },
    isSettled: false,
  };
}

/** What a folder holds, and what of it is not as it was written. */
export interface Inspection extends Pick<FolderReader, "damages" | "recoveries"> {
  readonly state: FolderState;
  /** Of the folder as it is. */
  readonly format: number;
}

/** A folder whose lock file is gone or damaged: nothing is locked, and the format is that of the files. */
export const NO_LOCK: StoreLock = Object.freeze<StoreLock>({
  format: FORMAT_VERSION,
  readFormer: () => undefined,
  setFormat: () => undefined,
  close: () => undefined,
});

/** Reads a folder whose lock is held. @throws StateFolderError for a newer format, and for a damaged store of format 1. */
export function inspectFolder(disk: StoreDisk, path: string, lock: StoreLock): Inspection {
  if (lock.format > FORMAT_VERSION) throw newerFormat(path, lock.format);
  const names = disk.list(path) ?? [];
  let former: FormerStore | undefined;
  try {
    former = lock.readFormer();
  } catch (error) {
    if (error instanceof FormerStoreError || sqliteCodeOf(error) !== undefined)
      throw formerDamage(path, messageOf(error));
    throw error;
  }
  if (former !== undefined)
    return { state: stateOfFormer(path, former), damages: [], recoveries: [], format: 1 };
  const reader = new FolderReader((name) => disk.read(join(path, name)));
  const state = reader.readState(names);
  if (reader.newerFormat !== undefined) throw newerFormat(path, reader.newerFormat);
  // A process that ended while it made the folder has acknowledged nothing.
  const isNew = lock.format === 0 && !names.includes(POSITION) && state.objects.size + state.commit === 0;
  if (isNew) return { state: newState(), damages: [], recoveries: [], format: 0 };
  return { state, damages: reader.damages, recoveries: reader.recoveries, format: FORMAT_VERSION };
}

/** Taking a lock makes its file, so where that is gone the files beside it are asked for their format first. */
export function checkFormat(disk: StoreDisk, path: string, names: readonly string[]): void {
  if (!names.includes(MARKER) && generationsAmong(names).length > 0) inspectFolder(disk, path, NO_LOCK);
}

/** How a damaged store is refused. */
export function damagedStore(path: string, { damages }: Pick<Inspection, "damages">): StateFolderError {
  const [first] = damages;
  const more = damages.length > 1 ? ` (and ${damages.length - 1} more)` : "";
  const what = first === undefined ? "it does not read" : describeDamage(first);
  return new StateFolderError(WORDS.storeDamaged({ path, what, more }));
}

// Generations: a snapshot, a log and the position that names them.

function writeThrough(disk: StoreDisk, path: string, pieces: readonly Uint8Array[]): number {
  const file = disk.open(path, "new");
  try {
    let offset = 0;
    for (const piece of pieces) {
      file.write(piece, offset);
      offset += piece.length;
    }
    file.syncNow();
    return offset;
  } finally {
    file.close();
  }
}

/** Writes the files of a new generation. Until `switchTo` the folder holds what it held before. */
export function writeFiles(disk: StoreDisk, path: string, state: FolderState): FolderState {
  const names = disk.list(path) ?? [];
  const generation = Math.max(state.generation, ...generationsAmong(names)) + 1;
  const [snapshot, log, draft] = [snapshotName(generation), logName(generation), `${POSITION}.new`];
  try {
    const { pieces, sum } = formatSnapshot(state, generation);
    const snapshotBytes = writeThrough(disk, join(path, snapshot), pieces);
    const head = formatLogHead(state, generation, sum);
    writeThrough(disk, join(path, log), [head.bytes]);
    const next = {
      ...state,
      generation,
      sum: head.sum,
      logEnd: head.bytes.length,
      isSettled: true,
      snapshotBytes,
    };
    writeThrough(disk, join(path, draft), [formatPositionFile(positionOf(next), new Uint8Array())]);
    disk.syncFolder(path);
    return next;
  } catch (error) {
    for (const name of [snapshot, log, draft]) removeQuietly(disk, join(path, name));
    throw error;
  }
}

export function removeQuietly(disk: StoreDisk, path: string): void {
  try {
    disk.remove(path);
  } catch {
    // What cannot be removed is in no one's way: its number is not used again.
  }
}

/** From here on the folder holds the new generation. */
export function switchTo(disk: StoreDisk, path: string, generation: number): void {
  disk.rename(join(path, `${POSITION}.new`), join(path, POSITION));
  disk.syncFolder(path);
  for (const name of disk.list(path) ?? []) {
    const [found] = generationsAmong([name]);
    if (found !== undefined && found !== generation) removeQuietly(disk, join(path, name));
  }
}

/** Writes what the folder holds anew, in files of its own. */
export function rewriteFolder(disk: StoreDisk, path: string, state: FolderState): FolderState {
  const next = writeFiles(disk, path, state);
  switchTo(disk, path, next.generation);
  return next;
}

export function positionOf({ generation, commit, changes, sum, logEnd }: FolderState): Position {
  return { generation, commit, changes, sum, offset: logEnd };
}

/** What a failed call to the disk is. */
export function reasonOf(error: unknown): StoreFaultReason {
  const code = errorCode(error);
  if (code === "ENOSPC" || code === "EDQUOT" || sqliteCodeOf(error) === SQLITE_CODES.full) return "disk-full";
  return code === "EROFS" ? "read-only" : "io-error";
}
