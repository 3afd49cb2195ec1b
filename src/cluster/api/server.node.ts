/** The control API on a Unix socket that only its owner can open. */
import { createAdaptorServer } from "@hono/node-server";
import { lstatSync, renameSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hono } from "hono";
import { linkOrCopy, readPlainFile, replaceFile, writeOwnerFile } from "#core/base/owner-only.node.ts";
import { LIMITS } from "#core/base/limits.ts";
import { errorCode } from "#core/base/thrown.ts";
import { ApiError } from "./error-details.ts";
import { type ClusterPlace, notASocket, placeError, removePlace } from "./state-folder.node.ts";
import { isListening } from "#contracts/hcn/http/unix-socket.node.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const OWNER_ONLY = 0o600;
const OTHERS_NOTHING = 0o177;
const REQUEST_TIMEOUT_MS = 60_000;
const CONFLICT = 409;

export function alreadyRunning(place: ClusterPlace): ApiError {
  return new ApiError(
    CONFLICT,
    "cluster-already-running",
    `a cluster ${JSON.stringify(place.name)} is running already`,
    WORDS.adviceClusterNameTaken,
  );
}

/** Binds the path with mode 0600 from its first moment: the mask holds while the system makes the file. */
async function bind(server: Server, socket: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const mask = process.umask(OTHERS_NOTHING);
    try {
      server.listen({ path: socket }, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

const LOCK_POLL_MS = 10;
const LOCK_WAIT_MS = 10_000;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function readText(path: string): string | undefined {
  try {
    return readPlainFile(path).toString("utf8");
  } catch {
    // Its owner removed it in this moment.
    return undefined;
  }
}

/** Removes the lock of a process that died with it; one that another process made in this moment is put back. */
function removeDeadLock(path: string): void {
  const text = readText(path);
  const pid = Number(text);
  // Empty: its owner is about to write.
  if (text === undefined || text === "" || isAlive(pid)) return;
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (readText(aside) !== text) linkOrCopy(aside, path);
  } catch {
    // Another process did the same; the next round sees the outcome.
  }
  rmSync(aside, { force: true });
}

/**
 * Waits for a lock between processes: a file that one of them can make, with its process id inside. Returns a function
 * that removes it.
 * @throws ApiError when another process keeps it for longer than a start takes.
 */
async function lock(path: string): Promise<() => void> {
  const end = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      writeOwnerFile(path, String(process.pid));
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
        WORDS.adviceClusterStarting,
      );
    }
    await sleep(LOCK_POLL_MS);
  }
}

/** @throws ApiError when somebody listens; an error of the system when the socket cannot be made. */
async function claim(server: Server, place: ClusterPlace): Promise<void> {
  const unlock = await lock(`${place.socket}.lock`);
  try {
    const there = lstatSync(place.socket, { throwIfNoEntry: false });
    if (there !== undefined && !there.isSocket()) throw notASocket(place);
    if (there !== undefined) {
      if (await isListening(place.socket)) throw alreadyRunning(place);
      rmSync(place.socket, { force: true });
    }
    await bind(server, place.socket);
  } finally {
    unlock();
  }
}

/** How often connections whose answer is done are looked for, while the server ends. */
const IDLE_POLL_MS = 20;

export class ControlServer {
  private readonly server: Server;
  private readonly place: ClusterPlace;
  private readonly removeFiles: () => void;

  private constructor(server: Server, place: ClusterPlace) {
    this.server = server;
    this.place = place;
    this.removeFiles = () => {
      rmSync(this.place.socket, { force: true });
      rmSync(this.place.pidFile, { force: true });
    };
  }

  /**
   * Starts to listen. A dead socket of the same name is replaced.
   * @throws ApiError `cluster-already-running`, or `bad-usage` when the socket cannot be made.
   */
  static async listen(app: Hono, place: ClusterPlace): Promise<ControlServer> {
    const server = createAdaptorServer({ fetch: app.fetch }) as Server;
    server.maxConnections = LIMITS.httpConnectionsMax;
    server.requestTimeout = REQUEST_TIMEOUT_MS;
    try {
      await claim(server, place);
      replaceFile(place.pidFile, `${process.pid}\n`, OWNER_ONLY);
    } catch (error) {
      throw placeError(place, error);
    }
    const control = new ControlServer(server, place);
    // A fault that ends the process takes its files along, and leaves the log.
    process.once("exit", control.removeFiles);
    return control;
  }

  /** Lets answers that are under way finish for `graceMs`, ends connections, and takes all files away, the log with them. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    // A connection whose answer is under way now is kept alive by its client afterwards.
    const idle = setInterval(() => this.server.closeIdleConnections(), IDLE_POLL_MS);
    const cut = setTimeout(() => this.server.closeAllConnections(), graceMs);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
    process.off("exit", this.removeFiles);
    removePlace(this.place, process.env);
  }
}
