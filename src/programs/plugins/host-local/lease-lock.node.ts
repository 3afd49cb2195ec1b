/**
 * Holding the lock of a lease folder.
 *
 * Upstream locks `<folder>/lock` with flock(2) on Unix and LockFileEx on Windows (cni.md §4.3). Node has
 * neither, so there are two ways:
 *
 * 1. Where the program flock(1) is installed (every Linux distribution ships it), it locks the file that this
 *    process opened and handed to it as descriptor 3. Such a lock belongs to the open file, not to the program
 *    that took it: when flock(1) ends, this process holds it, until it closes the file or dies. It is the very
 *    lock that upstream takes, so both wait for each other, and nothing is left behind by a crash.
 * 2. Elsewhere, `<folder>/lock.mullion` is created exclusively and holds the process id. A holder that died is
 *    recognised by its id, and its file is removed by one process at a time. This keeps processes of this
 *    project apart, not those of upstream, and it cannot see a holder in another PID namespace.
 *
 * Neither lock is what makes addresses unique: a lease is a file that is created exclusively, which holds
 * against every process. The lock makes a whole allocation one step: it keeps the order of the round robin, and the
 * search for what a container already has, free of races.
 *
 * A wait is bounded; it ends with an error that names the file.
 */
import { spawn } from "node:child_process";
import { closeSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { createFile, openInPlace, readPlainFile } from "#core/base/owner-only.node.ts";
import { errorCode } from "#core/base/thrown.ts";
import { LeaseStoreError } from "./leases.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** How a lock is taken. */
export interface LeaseLockOptions {
  /** How long to wait for its holder, in milliseconds. At least 1. */
  readonly waitMs: number;
  /** The flock(1) program; empty: there is none, the second way is used. */
  readonly flockProgram: string;
}

const LOCK_FILE_MODE = 0o750;
const POLL_MS = 5;

function busy(path: string, waitMs: number): LeaseStoreError {
  return new LeaseStoreError("busy", WORDS.leaseLockTimeout({ path, waitMs }));
}

function argumentsOf({ waitMs }: LeaseLockOptions): readonly string[] {
  return ["-x", "-w", (waitMs / 1000).toFixed(3), "3"];
}

/** How flock(1) is started, with the lock file as descriptor 3. */
function startOf(descriptor: number, { waitMs }: LeaseLockOptions) {
  const stdio: ("ignore" | "pipe" | number)[] = ["ignore", "ignore", "pipe", descriptor];
  return { stdio, env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" }, timeout: waitMs + 5_000 };
}

function isLocked(
  { status, stderr }: { readonly status: number | null; readonly stderr: string },
  path: string,
  { waitMs }: LeaseLockOptions,
): boolean {
  if (status === 0) return true;
  // A wait that ran out says nothing; a program that does not know the options does.
  if (status === 1 && stderr === "") throw busy(path, waitMs);
  return false;
}

/** @returns whether flock(1) did it; false when it cannot, so that the second way is left. */
async function lockWithProgram(
  descriptor: number,
  path: string,
  options: LeaseLockOptions,
): Promise<boolean> {
  const child = spawn(options.flockProgram, argumentsOf(options), startOf(descriptor, options));
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", resolve);
  });
  const said = child.stderr === null ? "" : await text(child.stderr);
  return isLocked({ status: await ended, stderr: said }, path, options);
}

/** Appears with the id of this process. */
function createExclusively(path: string): boolean {
  return createFile(path, `${process.pid}`, 0o600);
}

function isHolderDead(path: string): boolean {
  let holder: number;
  try {
    holder = Number.parseInt(readPlainFile(path).toString("utf8"), 10);
  } catch {
    return false;
  }
  // An empty file is one whose holder is about to write its id, or died before it did: the wait decides.
  if (!Number.isInteger(holder)) return false;
  try {
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return errorCode(error) === "ESRCH";
  }
}

/** Removes the file of a dead holder. Only who creates the second file may, and looks again before it does. */
function removeDeadHolder(path: string): void {
  const removalPath = `${path}.removal`;
  if (!isHolderDead(path) || !createExclusively(removalPath)) return;
  try {
    if (isHolderDead(path)) unlinkSync(path);
  } finally {
    unlinkSync(removalPath);
  }
}

async function lockWithFile(path: string, waitMs: number): Promise<() => void> {
  for (let waitedMs = 0; !createExclusively(path); waitedMs += POLL_MS) {
    if (waitedMs >= waitMs) throw busy(path, waitMs);
    removeDeadHolder(path);
    await wait(POLL_MS);
  }
  return () => unlinkSync(path);
}

/**
 * Takes the lock whose file is `path`, and lets this process go on meanwhile, which may hold it itself; the folder must
 * exist. @returns what lets go. @throws LeaseStoreError
 */
export async function awaitLock(path: string, options: LeaseLockOptions): Promise<() => void> {
  const descriptor = openInPlace(path, "made", LOCK_FILE_MODE);
  try {
    if (options.flockProgram !== "" && (await lockWithProgram(descriptor, path, options)))
      return () => closeSync(descriptor);
    const release = await lockWithFile(`${path}.mullion`, options.waitMs);
    closeSync(descriptor);
    return release;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Runs `work` while this process holds the lock of `folder`, which must exist. @throws LeaseStoreError */
export async function withLeaseLock<T>(folder: string, options: LeaseLockOptions, work: () => T): Promise<T> {
  const release = await awaitLock(join(folder, "lock"), options);
  try {
    return work();
  } finally {
    release();
  }
}
