/** The control API on a Unix socket that only its owner can open. */
import { createAdaptorServer } from "@hono/node-server";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Hono } from "hono";
import { LIMITS } from "../base/limits.ts";
import { ApiError } from "./error-details.ts";
import { lock } from "./lock-file.node.ts";
import { type ClusterPlace, placeError, removePlace } from "./state-folder.node.ts";
import { isListening } from "../hcn/unix-socket.node.ts";

const OWNER_ONLY = 0o600;
const OTHERS_NOTHING = 0o177;
const REQUEST_TIMEOUT_MS = 60_000;
const CONFLICT = 409;

export function alreadyRunning(place: ClusterPlace): ApiError {
  return new ApiError(
    CONFLICT,
    "cluster-already-running",
    `a cluster ${JSON.stringify(place.name)} is running already`,
    "Change it with mullion apply -f FILE, end it with mullion down, or give the new one a --name of its own.",
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

/** @throws ApiError when somebody listens; an error of the system when the socket cannot be made. */
async function claim(server: Server, place: ClusterPlace): Promise<void> {
  const unlock = await lock(`${place.socket}.lock`);
  try {
    if (existsSync(place.socket)) {
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
      writeFileSync(place.pidFile, `${process.pid}\n`, { mode: OWNER_ONLY });
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
    this.server.closeIdleConnections();
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
