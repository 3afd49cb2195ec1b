/**
 * Keeping files and folders of this machine for their owner, and writing files where others may have put something: in
 * /tmp, beside a socket, in the folder of a runtime. A file is made under a name that nobody can guess, with its mode, and
 * never through a link; then it takes the place of what was there, if that is the user's own. Nothing else in Mullion writes
 * files: tools/tidy.ts holds it.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  type Stats,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { ownerOnly } from "./owner-only.ts";
import { type PathRules, WINDOWS_PATHS, pathRulesOf } from "./path-rules.ts";
import { errorCode } from "./thrown.ts";

/** Runs a program of Windows to its end. @throws when it fails. */
export type RunProgram = (program: string, args: readonly string[]) => void;

const TIMEOUT_MS = 30_000;

function runProgram(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, {
    stdio: "ignore",
    windowsHide: true,
    timeout: TIMEOUT_MS,
  });
  if (error !== undefined) throw new Error(`cannot run ${program}: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status ?? "a signal"}`);
}

/** By its whole path: what lies in the current folder under that name is another program. */
function icaclsProgram(): string {
  const system = WINDOWS_PATHS.join(process.env["SystemRoot"] ?? "C:\\Windows", "System32");
  return WINDOWS_PATHS.join(system, "icacls.exe");
}

/**
 * Takes the rights of all others to a path of the user's own.
 * @throws the system's error, or one that names the program that failed.
 */
export function restrictToOwner(
  path: string,
  kind: "file" | "folder",
  paths: PathRules = pathRulesOf(process.platform),
  run: RunProgram = runProgram,
): void {
  const { mode, icacls } = ownerOnly(paths, path, kind);
  if (icacls.length === 0) chmodSync(path, mode);
  for (const args of icacls) run(icaclsProgram(), args);
}

/** Makes a file that no other user can read at any moment. @throws as `restrictToOwner`; EEXIST when it is there. */
export function writeOwnerFile(
  path: string,
  text: string,
  paths: PathRules = pathRulesOf(process.platform),
  run: RunProgram = runProgram,
): void {
  const { mode, icacls } = ownerOnly(paths, path, "file");
  const file = openSync(path, "wx", mode);
  try {
    // On Windows rights come after the file: it stays empty until they are right.
    writeFileSync(file, icacls.length === 0 ? text : "");
  } catch (error) {
    // A full disk: an empty file would stand there as the whole, as a lock without an owner for instance.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  if (icacls.length === 0) return;
  restrictToOwner(path, "file", paths, run);
  writeFileSync(path, text);
}

/** What stands at a path is not the user's own, or not what may be written to. */
export class ForeignFileError extends Error {
  override readonly name = "ForeignFileError";
  /** As errors of the system have it. */
  readonly syscall = "open";
}

/** The user's id; undefined on Windows, where files have none. */
function ownId(): number | undefined {
  return process.geteuid?.();
}

function isOthers({ uid }: Stats, own: number | undefined): boolean {
  return own !== undefined && uid !== own;
}

/** Nothing, or a file of the user's own. @throws ForeignFileError */
function checkReplaceable(path: string, own: number | undefined): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (there.isSymbolicLink()) throw new ForeignFileError(`${path} is a symbolic link; name the file itself`);
  if (!there.isFile()) throw new ForeignFileError(`${path} is not a file`);
  if (isOthers(there, own)) throw new ForeignFileError(`${path} belongs to another user`);
}

const DRAFT_BYTES = 8;
const DRAFT = /^\.(.+)\.[0-9a-f]{16}$/;

function draftOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(DRAFT_BYTES).toString("hex")}`);
}

/**
 * Removes what processes that died left beside files of a folder: for whoever holds the folder's lock, so that nobody else
 * is writing there.
 * @param of the file whose drafts go. Default: those of all files.
 */
export function removeDrafts(folder: string, of?: string): void {
  for (const name of readdirSync(folder)) {
    const file = DRAFT.exec(name)?.[1];
    if (file !== undefined && file === (of ?? file)) rmSync(join(folder, name), { force: true });
  }
}

function replace(path: string, write: (draft: string) => void): void {
  const draft = draftOf(path);
  try {
    write(draft);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Puts a file into the place of what was there, whole or not at all. A link is replaced itself, and what it leads to stays.
 * @throws an error of the system.
 */
export function replaceFile(path: string, content: string | Uint8Array, mode: number): void {
  replace(path, (draft) => writeFileSync(draft, content, { mode, flag: "wx", flush: true }));
}

/**
 * As `replaceFile`, for a path that a user names: no other user can read it at any moment, also on Windows.
 * @param own the user's id; another one in tests.
 * @throws ForeignFileError for a link, for a folder and for a file of another user; errors of the system.
 */
export function replaceOwnerFile(path: string, text: string, own: number | undefined = ownId()): void {
  checkReplaceable(path, own);
  replace(path, (draft) => writeOwnerFile(draft, text));
}

/**
 * Gives a file a second name, or makes a copy where the file system has no such names.
 * @throws an error of the system: EEXIST when the name is taken.
 */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
}

/**
 * Makes a file that appears with all its content, unless something has that name: a link, too.
 * @returns false when the name is taken, by whatever process. @throws an error of the system.
 */
export function createFile(path: string, content: string, mode: number): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false;
  const draft = draftOf(path);
  try {
    writeFileSync(draft, content, { mode, flag: "wx", flush: true });
    linkOrCopy(draft, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Reads a file where others may have put something else: what waits for a writer or never ends, as a pipe or a device, is
 * refused. A link is followed.
 * @throws ForeignFileError; errors of the system.
 */
export function readPlainFile(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new ForeignFileError(`${path} is not a file`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * As `readPlainFile`, for what another library opens, whose locks a second descriptor would take away.
 * @throws ForeignFileError; errors of the system.
 */
export function checkPlainFile(path: string): void {
  if (!statSync(path).isFile()) throw new ForeignFileError(`${path} is not a file`);
}

/** Windows has no such flag: links there need rights that users do not have. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/**
 * Opens the file of that very name for writing where it stands, and keeps what is in it: a lock, a log, what others watch.
 * `made`: it is made when it is missing.
 * @throws ForeignFileError for a link and for what is no file; errors of the system.
 */
export function openInPlace(path: string, missing: "made" | "refused", mode: number): number {
  const make = missing === "made" ? constants.O_CREAT : 0;
  let file: number;
  try {
    // A pipe without a reader refuses at once.
    file = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | NO_FOLLOW | make, mode);
  } catch (error) {
    if (errorCode(error) === "ELOOP") throw new ForeignFileError(`${path} is a symbolic link`);
    throw error;
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new ForeignFileError(`${path} is not a file`);
}

/** Writes the file of that very name where it stands, for readers that watch it. @throws as `openInPlace` */
export function writeInPlace(path: string, text: string, mode: number): void {
  const file = openInPlace(path, "made", mode);
  try {
    ftruncateSync(file);
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/**
 * A file that the user names as the place of a result: also a link, a pipe and a device (`/dev/stdout`) that stands there
 * already.
 * @throws an error of the system.
 */
export function openNamedFile(path: string, mode?: number): number {
  return openSync(path, "w", mode);
}

/** Writes a file that the user names, whatever stands there; missing folders are made. @throws an error of the system. */
export function writeNamedFile(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const file = openNamedFile(path);
  try {
    writeFileSync(file, content);
  } finally {
    closeSync(file);
  }
}

/** A new file of the owner's, empty and open for writing, in the place of the one that was there. @throws as `replaceOwnerFile` */
export function openOwnerFile(path: string): number {
  checkReplaceable(path, ownId());
  return openNewFile(path, 0o600);
}

/** A new file, empty and open for writing and reading, in the place of what was there. @throws an error of the system. */
export function openNewFile(path: string, mode: number): number {
  rmSync(path, { force: true });
  return openSync(path, "wx+", mode);
}

/**
 * Refuses a folder that another user made, or to which a link of another user leads; nothing is there, or the user's own.
 * A link of the user's own, or the system's, is followed.
 * @throws ForeignFileError; errors of the system.
 */
export function checkOwnFolder(path: string, own: number | undefined = ownId()): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (there.isSymbolicLink() && there.uid !== 0 && isOthers(there, own))
    throw new ForeignFileError(`${path} is a symbolic link of another user`);
  const folder = statSync(path, { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true) throw new ForeignFileError(`${path} does not lead to a folder`);
  if (isOthers(folder, own)) throw new ForeignFileError(`${path} belongs to another user`);
}
