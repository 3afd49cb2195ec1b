/**
 * Where running clusters keep their sockets: a folder of the user's own, which nobody else may enter. A name stands
 * for three files in it: `NAME.sock`, `NAME.pid` and `NAME.log`.
 */
import { type Stats, lstatSync, mkdirSync, readdirSync, rmSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { ApiError } from "./error-details.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export type Variables = Readonly<Record<string, string | undefined>>;

/** The files of one running cluster. */
export interface ClusterPlace {
  /** As `--name` gives it, or what the socket is called. */
  readonly name: string;
  readonly socket: string;
  readonly pidFile: string;
  readonly log: string;
}

export const DEFAULT_NAME = "default";
const ENDING = ".sock";
const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o002;
const NOT_OWNER_WRITE = 0o022;
/** In such a folder (/tmp) a file can be moved by its owner alone. */
const STICKY = 0o1000;
/** Systems keep the path of a socket in 104 to 108 bytes, one of them for the end. */
const SOCKET_PATH_BYTES_MAX = 103;
const NAME_PATTERN = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;
const USAGE = 400;
const FORBIDDEN = 403;

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** The user's id; -1 on Windows, where files have none. */
function ownId(): number {
  return process.getuid?.() ?? -1;
}

/**
 * `$XDG_RUNTIME_DIR/mullion` when that folder is the user's (under `sudo -E` it is not) and nobody else writes to it, else `mullion-<uid>` in the
 * folder for temporary files.
 */
export function stateFolder(variables: Variables): string {
  const runtime = variables["XDG_RUNTIME_DIR"] ?? "";
  const stat = runtime === "" ? undefined : statOf(runtime);
  const isOwn = stat?.isDirectory() === true && stat.uid === ownId() && (stat.mode & NOT_OWNER_WRITE) === 0;
  if (isOwn) return join(runtime, "mullion");
  return join(tmpdir(), `mullion-${ownId()}`);
}

function checkName(name: string): void {
  if (NAME_PATTERN.test(name)) return;
  throw new ApiError(
    USAGE,
    "bad-usage",
    `${JSON.stringify(name)} cannot be the name of a running cluster`,
    WORDS.adviceClusterName,
  );
}

/**
 * The place of a cluster. `socket` goes before `name`; without both it is the variable `MULLION_NAME`, else `default`.
 * @throws ApiError for a name or path that cannot be one.
 */
export function clusterPlace(
  wanted: { readonly name: string | undefined; readonly socket: string | undefined },
  variables: Variables,
): ClusterPlace {
  const given = variables["MULLION_NAME"] ?? "";
  const name = wanted.name ?? (given === "" ? DEFAULT_NAME : given);
  if (wanted.socket === undefined) checkName(name);
  const socket = resolve(wanted.socket ?? join(stateFolder(variables), `${name}${ENDING}`));
  if (Buffer.byteLength(socket) > SOCKET_PATH_BYTES_MAX) {
    throw new ApiError(
      USAGE,
      "bad-usage",
      `the path of the socket is longer than ${SOCKET_PATH_BYTES_MAX} bytes: ${socket}`,
      "Systems allow no more. Name a shorter path with --socket.",
    );
  }
  const stem = join(dirname(socket), basename(socket, ENDING));
  return {
    name: wanted.socket === undefined ? name : basename(socket, ENDING),
    socket,
    pidFile: `${stem}.pid`,
    log: `${stem}.log`,
  };
}

function notPrivate(message: string, advice: string): ApiError {
  return new ApiError(FORBIDDEN, "cluster-not-private", message, advice);
}

/** Something of another kind stands at the path, and stays there. */
export function notASocket(place: ClusterPlace): ApiError {
  return new ApiError(
    USAGE,
    "cluster-unreachable",
    `${place.socket} exists and is not a socket`,
    "Name another path with --socket, or remove the file.",
  );
}

/** An error of the system about a place, as the user's to mend. Other errors stay as they are. */
export function placeError(place: ClusterPlace, error: unknown): unknown {
  if (error instanceof ApiError || !(error instanceof Error) || !("syscall" in error)) return error;
  return new ApiError(
    USAGE,
    "bad-usage",
    `cannot keep a cluster in ${dirname(place.socket)}: ${error.message}`,
    WORDS.adviceSocketPath,
  );
}

/**
 * Makes the folder of a place when it is missing. The default folder must be closed to others; a folder that
 * `--socket` names may be open to readers, but must be the user's or root's (such as /tmp).
 * @throws ApiError `cluster-not-private`, or `bad-usage` when it cannot be made.
 */
export function ensureFolder(place: ClusterPlace, variables: Variables): void {
  const folder = dirname(place.socket);
  try {
    // One level only: the folder that holds it is the system's or the user's own.
    if (statOf(folder) === undefined) mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    // Somebody who starts a cluster at the same time may have made it.
    if (statOf(folder) === undefined) throw placeError(place, error);
  }
  checkFolder(folder, folder === stateFolder(variables));
}

/** @throws ApiError `cluster-not-private` when the folder may be changed by somebody else. */
function checkFolder(folder: string, isDefault: boolean): void {
  const stat = statOf(folder);
  if (stat === undefined) return;
  const isOwn = stat.uid === ownId();
  if (!stat.isDirectory() || (!isOwn && (isDefault || stat.uid !== 0))) {
    const advice = "Name another place with --socket, or set XDG_RUNTIME_DIR.";
    throw notPrivate(`${folder} is not your folder`, advice);
  }
  if ((stat.mode & OTHERS_WRITE) !== 0 && (stat.mode & STICKY) === 0)
    throw notPrivate(`all users may change ${folder}`, `Close it: chmod o-w ${folder}`);
  if (isDefault && (stat.mode & OTHERS) !== 0)
    throw notPrivate(`other users may enter ${folder}`, `Close it: chmod 700 ${folder}`);
}

/**
 * Whether there is a socket that may be spoken to.
 * @throws ApiError `cluster-not-private` when it is not the user's own.
 */
export function hasOwnSocket(place: ClusterPlace, variables: Variables): boolean {
  const stat = statOf(place.socket);
  if (stat === undefined) return false;
  const folder = dirname(place.socket);
  checkFolder(folder, folder === stateFolder(variables));
  if (!stat.isSocket()) {
    throw notASocket(place);
  }
  if (stat.uid === ownId() && (stat.mode & OTHERS) === 0) return true;
  throw notPrivate(`the socket ${place.socket} is not yours alone`, "Name another path with --socket.");
}

/** Names of the sockets in the default folder, running or not. */
export function listNames(variables: Variables): readonly string[] {
  try {
    return readdirSync(stateFolder(variables))
      .filter((file) => file.endsWith(ENDING))
      .map((file) => basename(file, ENDING))
      .toSorted();
  } catch {
    // No folder, no clusters.
    return [];
  }
}

/** Takes away what a cluster left, and the default folder with the last of them. The process id goes last: `down` waits for it. */
export function removePlace(place: ClusterPlace, variables: Variables): void {
  for (const path of [place.socket, place.log, place.pidFile]) rmSync(path, { force: true });
  removeFolderIfEmpty(variables);
}

/** The default folder goes with the last cluster. */
export function removeFolderIfEmpty(variables: Variables): void {
  try {
    rmdirSync(stateFolder(variables));
  } catch {
    // Other clusters are in it, or it was never made.
  }
}
