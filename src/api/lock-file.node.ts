/** A lock between processes for a moment: a file that one of them can make, with its process id inside. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../base/thrown.ts";
import { ApiError } from "./error-details.ts";

const OWNER_ONLY = 0o600;
const POLL_MS = 10;
const WAIT_MS = 10_000;
const CONFLICT = 409;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Its owner took it away in this moment.
    return undefined;
  }
}

/** Takes away the lock of a process that died with it; one that somebody made in this moment is put back. */
function removeDeadLock(path: string): void {
  const text = readText(path);
  const pid = Number(text);
  // Empty: its owner is about to write.
  if (text === undefined || text === "" || isAlive(pid)) return;
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (readText(aside) !== text) linkSync(aside, path);
  } catch {
    // Somebody else did the same; the next round sees how it is then.
  }
  rmSync(aside, { force: true });
}

/**
 * Waits for the lock and takes it. Returns a function that gives it back.
 * @throws ApiError when somebody keeps it for longer than anybody should.
 */
export async function lock(path: string): Promise<() => void> {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx", mode: OWNER_ONLY });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
    removeDeadLock(path);
    if (Date.now() > end) {
      throw new ApiError(
        CONFLICT,
        "cluster-already-running",
        `another process keeps ${path}`,
        "Wait until it has started its cluster. If nothing starts, remove the file.",
      );
    }
    await sleep(POLL_MS);
  }
}
