/**
 * The durable store of an HNS: a folder with one SQLite database, written by one process at a time. A change is on disk
 * before the call that made it returns; calls that wait at the same time share one transaction
 * (docs/decisions/0005-hns-store.md).
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { messageOf } from "#core/base/thrown.ts";
import { restrictToOwner } from "#core/base/owner-only.node.ts";
import type { JsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { checkJsonObject } from "#contracts/hcn/description/json.ts";
import type { ObjectStore } from "./store.ts";
import type { StoredChange, StoredKind, StoredObject } from "./stored-object.ts";
import { assert } from "#core/base/assert.ts";

// SQLite as Node has it built in.

/** Primary result codes of SQLite that mean something to us. */
const SQLITE_CODES = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 } as const;

/** The primary result code of a failed call; undefined when the failure is none of SQLite's. */
function sqliteCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  // Extended codes have the primary one in their low byte.
  return error.errcode & 0xff;
}

/**
 * Loads the module. Node 22 warns its users that the module may change, which is our affair and not that of a user who
 * runs a command: that one warning is kept back.
 */
export function loadSqlite(): typeof Sqlite {
  const before = Object.getOwnPropertyDescriptor(process, "emitWarning");
  assert(before !== undefined, "Node's process can warn");
  process.emitWarning = () => undefined;
  try {
    const sqlite = process.getBuiltinModule("node:sqlite");
    assert(sqlite !== undefined, "Node 22.18 and later have node:sqlite");
    return sqlite;
  } finally {
    Object.defineProperty(process, "emitWarning", before);
  }
}

// The folder: the layout of its database, and which process has it open.

/** The number of the layout of the database. A store with a higher one was written by a newer Mullion. */
const FORMAT_VERSION = 1;
/** "MULN", so that `file` and SQLite know whose database it is. */
const APPLICATION_ID = 0x4d55_4c4e;
const DATABASE = "hns.db";
const OWNER = "owner.json";
const README = "README.txt";
const OWN_FILES: readonly string[] = [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, OWNER, README];

const README_TEXT = `This is the state folder of a Mullion HNS (mullion hns serve --data).

${DATABASE}     the objects, a SQLite database. Table objects: one row per object, with its HCN v2
             document and, in the column "internal", what the document does not say.
             Table meta: who wrote it.
${OWNER}   the process that has the folder open.

Read it while no process has it open:  sqlite3 ${DATABASE} 'select kind, id, document from objects'
A readable dump that another service can load:  mullion hns dump
`;

const LAYOUT = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS objects (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    document TEXT NOT NULL,
    internal TEXT NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
`;

/** A state folder that cannot be used. The message is for people: what is wrong, and what to do. */
export class StateFolderError extends Error {
  override readonly name = "StateFolderError";
}

export interface StateFolderOptions {
  /** The node whose objects these are; shown to people who look into the folder. */
  readonly node: string;
  readonly version: HnsVersion;
  /** The database may not grow beyond this many pages of 4 KiB. Default: as large as the disk. */
  readonly pagesMax?: number;
}

interface Waiting {
  readonly changes: readonly StoredChange[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch {
    // On a read-only disk the recursive call says that nothing was found; this one says why.
    mkdirSync(path, { mode: 0o700 });
  }
}

/** Makes the folder, for its owner alone, and refuses one that holds something else. */
function prepareFolder(path: string): void {
  try {
    if (!existsSync(path)) makeFolder(path);
    const files = readdirSync(path);
    const stranger = files.includes(DATABASE) ? undefined : files.find((file) => !OWN_FILES.includes(file));
    if (stranger !== undefined) {
      throw new StateFolderError(
        `${path} is not a state folder: it holds ${stranger}. Name a new or an empty folder.`,
      );
    }
    restrictToOwner(path, "folder");
    // With these rights before SQLite opens it; its other files get the same.
    closeSync(openSync(join(path, DATABASE), "a", 0o600));
    if (!files.includes(README)) writeFileSync(join(path, README), README_TEXT, { mode: 0o600 });
    syncFolder(path);
  } catch (error) {
    if (error instanceof StateFolderError) throw error;
    throw new StateFolderError(
      `The state folder ${path} cannot be used: ${messageOf(error)}. Name a folder that this user can write.`,
    );
  }
}

/** A new file is there after a power failure only when its folder was written, too. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}

/** Who has the folder open, as far as its owner has told. */
function ownerOf(path: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(join(path, OWNER), "utf8"));
    const pid = typeof owner === "object" && owner !== null && "pid" in owner ? owner.pid : undefined;
    return typeof pid === "number" ? `process ${pid}` : "another process";
  } catch {
    return "another process";
  }
}

function damaged(file: string, how: string): StateFolderError {
  return new StateFolderError(
    `The store ${file} is damaged (${how}). Move it away and restore a dump, or start empty.`,
  );
}

function openingFault(path: string, error: unknown): StateFolderError {
  const code = sqliteCodeOf(error);
  const file = join(path, DATABASE);
  if (code === SQLITE_CODES.busy) {
    return new StateFolderError(
      `The state folder ${path} is in use by ${ownerOf(path)}. Stop it, or name another folder.`,
    );
  }
  if (code === SQLITE_CODES.corrupt || code === SQLITE_CODES.notADatabase)
    return damaged(file, messageOf(error));
  if (code === SQLITE_CODES.full)
    return new StateFolderError(`There is no space left for the state folder ${path}.`);
  return new StateFolderError(
    `The store ${file} cannot be opened: ${messageOf(error)}. Name a folder that this user can write.`,
  );
}

function numberOf(database: DatabaseSync, pragma: string): number {
  const [value] = Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {});
  return Number(value);
}

/** Takes the only place of a writer, and checks whose database it is before anything is changed. */
function prepareDatabase(database: DatabaseSync, path: string, options: StateFolderOptions): void {
  // Exclusive before anything is read: SQLite takes the lock with the first access and keeps it until the end.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
  const format = numberOf(database, "user_version");
  if (format > FORMAT_VERSION) {
    throw new StateFolderError(
      `The store in ${path} was written by a newer Mullion: its format is ${format}, and this one knows ${FORMAT_VERSION}. Update Mullion, or name another folder.`,
    );
  }
  // A process that was killed while it made the store leaves a database without tables.
  const hasTables = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;
  if (hasTables && numberOf(database, "application_id") !== APPLICATION_ID) {
    throw new StateFolderError(
      `${join(path, DATABASE)} is a database of another program. Name another folder.`,
    );
  }
  const check = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {})[0];
  if (check !== "ok") throw damaged(join(path, DATABASE), String(check));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  // Where fsync alone leaves data in the drive's cache (macOS); elsewhere these change nothing.
  database.exec("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
  database.exec(`BEGIN; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION};`);
  database.exec(`${LAYOUT} COMMIT`);
  if (options.pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${options.pagesMax}`);
}

/** How a failed write is told to the client whose call it fails. */
function writeFault(path: string, error: unknown): HcnError {
  if (error instanceof HcnError) return error;
  if (sqliteCodeOf(error) === SQLITE_CODES.full) {
    return new HcnError("ERROR_DISK_FULL", {
      detail: `The state folder ${path} has no space left; nothing was changed. Make room and call again`,
      cause: error,
    });
  }
  return new HcnError("ERROR_WRITE_FAULT", {
    detail: `The state folder ${path} cannot be written (${messageOf(error)}); nothing was changed`,
    cause: error,
  });
}

/** One writer's state folder. Not part of the forkable world. */
export class StateFolder implements ObjectStore {
  readonly path: string;
  /** How often the folder was opened, this time included: chance differs by it (`RestoreOptions.incarnation`). */
  readonly incarnation: number;
  private readonly database: DatabaseSync;
  private readonly put: StatementSync;
  private readonly remove: StatementSync;
  private waiting: Waiting[] = [];
  private isClosed = false;

  /** @throws StateFolderError. */
  constructor(path: string, options: StateFolderOptions) {
    this.path = path;
    prepareFolder(path);
    this.database = this.open(options);
    this.put = this.database.prepare(
      `INSERT INTO objects (kind, id, document, internal) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document, internal = excluded.internal`,
    );
    this.remove = this.database.prepare("DELETE FROM objects WHERE kind = ? AND id = ?");
    this.incarnation = this.enterMeta(options);
    writeFileSync(join(path, OWNER), `${JSON.stringify({ pid: process.pid })}\n`, { mode: 0o600 });
  }

  /** Stores changes as one. They are on disk when the promise resolves; when it rejects, none of them is there. */
  async write(changes: readonly StoredChange[]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setImmediate(() => this.commit());
      this.waiting.push({ changes, resolve, reject });
    });
  }

  async list(): Promise<readonly StoredObject[]> {
    this.commit();
    return Promise.resolve(this.read());
  }

  /** Writes what waits, and lets the folder go. */
  async close(): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    this.commit();
    this.isClosed = true;
    this.database.close();
    rmSync(join(this.path, OWNER), { force: true });
    return Promise.resolve();
  }

  private open(options: StateFolderOptions): DatabaseSync {
    let database: DatabaseSync | undefined;
    try {
      const sqlite = loadSqlite();
      database = new sqlite.DatabaseSync(join(this.path, DATABASE));
      prepareDatabase(database, this.path, options);
      return database;
    } catch (error) {
      database?.close();
      throw error instanceof StateFolderError ? error : openingFault(this.path, error);
    }
  }

  /** @returns how often the folder was opened. */
  private enterMeta(options: StateFolderOptions): number {
    const read = this.database.prepare("SELECT value FROM meta WHERE key = ?");
    const known = Number(read.get("incarnation")?.["value"] ?? 0);
    const incarnation = known + 1;
    const facts = {
      incarnation: String(incarnation),
      node: options.node,
      hnsVersion: `${options.version.Major}.${options.version.Minor}`,
    };
    const write = this.database.prepare(
      "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    );
    this.database.exec("BEGIN");
    for (const [key, value] of Object.entries(facts)) write.run(key, value);
    this.database.exec("COMMIT");
    return incarnation;
  }

  /** One transaction for all that wait. They were made one after the other, so all of them are stored or none. */
  private commit(): void {
    const { waiting } = this;
    if (waiting.length === 0) return;
    this.waiting = [];
    try {
      if (this.isClosed) throw new Error("the state folder is closed");
      this.database.exec("BEGIN IMMEDIATE");
      for (const { changes } of waiting) for (const change of changes) this.store(change);
      this.database.exec("COMMIT");
    } catch (error) {
      this.rollBack();
      const fault = writeFault(this.path, error);
      for (const { reject } of waiting) reject(fault);
      return;
    }
    for (const { resolve } of waiting) resolve();
  }

  /** SQLite ends a transaction itself when the disk is full, and not after other faults. */
  private rollBack(): void {
    if (this.isClosed || !this.database.isTransaction) return;
    this.database.exec("ROLLBACK");
  }

  private store({ kind, id, object }: StoredChange): void {
    if (object === undefined) this.remove.run(kind, id);
    else this.put.run(kind, id, JSON.stringify(object.document), JSON.stringify(object.internal ?? {}));
  }

  private read(): readonly StoredObject[] {
    const rows = this.database.prepare("SELECT kind, id, document, internal FROM objects ORDER BY position");
    return rows.all().map((row) => {
      const [kind, id] = [String(row["kind"]), String(row["id"])];
      const parse = (column: "document" | "internal"): JsonObject => this.parse(row[column], `${kind} ${id}`);
      return { kind: kind as StoredKind, id, document: parse("document"), internal: parse("internal") };
    });
  }

  private parse(text: unknown, what: string): JsonObject {
    try {
      return checkJsonObject(JSON.parse(String(text)));
    } catch (error) {
      throw damaged(join(this.path, DATABASE), `${what}: ${messageOf(error)}`);
    }
  }
}

/**
 * Opens the state folder at `path`, which is made when it is not there, and keeps everybody else out until `close()`.
 * @throws StateFolderError: another process has it, a newer Mullion wrote it, it is damaged, it cannot be written.
 */
export function openStateFolder(path: string, options: StateFolderOptions): StateFolder {
  return new StateFolder(path, options);
}
