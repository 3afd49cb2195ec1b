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
import { spawnSync } from "node:child_process";
import { closeSync, unlinkSync } from "node:fs";
import { join } from "node:path";
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

/** @returns whether flock(1) did it; false when it cannot, so that the second way is left. */
function lockWithProgram(descriptor: number, path: string, options: LeaseLockOptions): boolean {
  const seconds = (options.waitMs / 1000).toFixed(3);
  const run = spawnSync(options.flockProgram, ["-x", "-w", seconds, "3"], {
    stdio: ["ignore", "ignore", "pipe", descriptor],
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    timeout: options.waitMs + 5_000,
    encoding: "utf8",
  });
  if (run.status === 0) return true;
  // A wait that ran out says nothing; a program that does not know the options does.
  if (run.error === undefined && run.status === 1 && run.stderr === "") throw busy(path, options.waitMs);
  return false;
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
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

function lockWithFile(path: string, waitMs: number): () => void {
  for (let waitedMs = 0; !createExclusively(path); waitedMs += POLL_MS) {
    if (waitedMs >= waitMs) throw busy(path, waitMs);
    removeDeadHolder(path);
    sleep(POLL_MS);
  }
  return () => unlinkSync(path);
}

/** Takes the lock whose file is `path`; its folder must exist. @returns what lets go. @throws LeaseStoreError */
export function takeLock(path: string, options: LeaseLockOptions): () => void {
  const descriptor = openInPlace(path, "made", LOCK_FILE_MODE);
  try {
    if (options.flockProgram !== "" && lockWithProgram(descriptor, path, options))
      return () => closeSync(descriptor);
    const release = lockWithFile(`${path}.mullion`, options.waitMs);
    closeSync(descriptor);
    return release;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Runs `work` while this process holds the lock of `folder`, which must exist. @throws LeaseStoreError */
export function withLeaseLock<T>(folder: string, options: LeaseLockOptions, work: () => T): T {
  const release = takeLock(join(folder, "lock"), options);
  try {
    return work();
  } finally {
    release();
  }
}
