/**
 * What the durable store asks of a disk: the one place where it writes. Tests put a disk in its place that fails, fills
 * up and loses power.
 */
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";
import { assert } from "#core/base/assert.ts";
import {
  checkPlainFile,
  linkOrCopy,
  openInPlace,
  openNewFile,
  readPlainFile,
  restrictToOwner,
} from "#core/base/owner-only.node.ts";
import { errorCode } from "#core/base/thrown.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** An open file. Each call throws, or rejects with, the system's error. */
export interface StoreFile {
  /** All of the bytes. */
  write(bytes: Uint8Array, offset: number): void;
  /** What was written is on the disk when the promise resolves. */
  sync(): Promise<void>;
  syncNow(): void;
  truncate(length: number): void;
  close(): void;
}

/** The folder's lock, held until it is closed or the process ends, and the number of the folder's layout. */
export interface StoreLock {
  /** 0 in a new folder. */
  readonly format: number;
  /** What a folder of format 1 holds; undefined in others. */
  readFormer(): FormerStore | undefined;
  /** Says that the folder has this format, and clears what format 1 had after it is copied to `copy`. */
  setFormat(format: number, copy: string): void;
  close(): void;
}

/** The rows of a database of format 1, as they are. */
export interface FormerStore {
  readonly objects: readonly Readonly<Record<string, unknown>>[];
  readonly incarnation: number;
}

export interface StoreDisk {
  /** Makes the folder and those above it, where it is missing. */
  prepare(folder: string): void;
  /** Takes the rights of all others to the folder. */
  protect(folder: string): void;
  /** The names in a folder; undefined when there is no folder. */
  list(folder: string): readonly string[] | undefined;
  /** Undefined when there is no such file. */
  read(path: string): Uint8Array | undefined;
  /** Opens a file for writing. `new`: what was there goes. */
  open(path: string, how: "new" | "existing"): StoreFile;
  rename(from: string, to: string): void;
  /** Gives a file a second name, or makes a copy where there are no such names. */
  link(from: string, to: string): void;
  /** What is not there is no error. */
  remove(path: string): void;
  makeFolder(path: string): void;
  /** Names of new, renamed and removed files are on the disk. */
  syncFolder(folder: string): void;
  /** `reading`: the lock keeps writers out and changes nothing. @throws the error of SQLite. */
  lock(path: string, access: "writing" | "reading"): StoreLock;
}

// SQLite as Node has it built in: the lock that ends with its process, and the store of format 1.

/** "MULN", so that `file` and SQLite know whose database it is. */
const APPLICATION_ID = 0x4d55_4c4e;

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

/** The database is one of another program. */
export class ForeignDatabaseError extends Error {
  override readonly name = "ForeignDatabaseError";
}

/** The structure of the database of format 1 is damaged. */
export class FormerStoreError extends Error {
  override readonly name = "FormerStoreError";
}

class SqliteLock implements StoreLock {
  format: number;
  private readonly database: DatabaseSync;
  private hasTables: boolean;

  constructor(path: string, access: "writing" | "reading") {
    const { DatabaseSync } = loadSqlite();
    // With these rights before SQLite opens it; its other files get the same.
    if (access === "writing") closeSync(openInPlace(path, "made", FILE_MODE));
    else checkPlainFile(path);
    this.database = new DatabaseSync(path, { readOnly: access === "reading" });
    try {
      // Exclusive before anything is read: SQLite takes the lock with the first access and keeps it until the end.
      this.database.exec("PRAGMA locking_mode = EXCLUSIVE");
      if (access === "writing") this.database.exec("BEGIN EXCLUSIVE; COMMIT");
      this.format = this.numberOf("user_version");
      // A process that was killed while it made the store leaves a database without tables.
      this.hasTables = this.database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() !== undefined;
      if (this.hasTables && this.numberOf("application_id") !== APPLICATION_ID)
        throw new ForeignDatabaseError(path);
    } catch (error) {
      this.database.close();
      throw error;
    }
  }

  readFormer(): FormerStore | undefined {
    if (!this.hasTables || this.format > 1) return undefined;
    const check = Object.values(this.database.prepare("PRAGMA quick_check(1)").get() ?? {})[0];
    if (check !== "ok") throw new FormerStoreError(String(check));
    const objects = this.database
      .prepare("SELECT kind, id, document, internal FROM objects ORDER BY position")
      .all();
    const incarnation = this.database.prepare("SELECT value FROM meta WHERE key = 'incarnation'").get();
    return { objects, incarnation: Number(incarnation?.["value"] ?? 0) };
  }

  setFormat(format: number, copy: string): void {
    if (format === this.format && !this.hasTables) return;
    if (this.hasTables) {
      // An upgrade that did not come to its end left a copy that is not whole.
      rmSync(copy, { force: true });
      this.database.prepare("VACUUM INTO ?").run(copy);
      const handle = openInPlace(copy, "refused", FILE_MODE);
      fsyncSync(handle);
      closeSync(handle);
    }
    this.database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
    this.database.exec(WORDS.sqlMarkFormat({ applicationId: APPLICATION_ID, format }));
    // The log of format 1 goes with it.
    this.database.exec("PRAGMA journal_mode = DELETE");
    this.format = format;
    this.hasTables = false;
  }

  close(): void {
    this.database.close();
  }

  private numberOf(pragma: string): number {
    const [value] = Object.values(this.database.prepare(`PRAGMA ${pragma}`).get() ?? {});
    return Number(value);
  }
}

// Files of this machine.

class MachineFile implements StoreFile {
  private readonly handle: number;

  constructor(handle: number) {
    this.handle = handle;
  }

  write(bytes: Uint8Array, offset: number): void {
    let done = 0;
    while (done < bytes.length)
      done += writeSync(this.handle, bytes, done, bytes.length - done, offset + done);
  }

  async sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.handle, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  syncNow(): void {
    fdatasyncSync(this.handle);
  }

  truncate(length: number): void {
    ftruncateSync(this.handle, length);
  }

  close(): void {
    closeSync(this.handle);
  }
}

/** What `read` gives; undefined where there is nothing. */
function unlessMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The disk of this machine. */
export const MACHINE_DISK: StoreDisk = Object.freeze<StoreDisk>({
  prepare(folder) {
    if (!existsSync(folder)) {
      try {
        mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
      } catch {
        // On a read-only disk the recursive call says that nothing was found; this one says why.
        mkdirSync(folder, { mode: FOLDER_MODE });
      }
    }
  },
  protect: (folder) => restrictToOwner(folder, "folder"),
  list: (folder) => unlessMissing(() => readdirSync(folder)),
  read: (path) => unlessMissing(() => readPlainFile(path)),
  open(path, how) {
    return new MachineFile(
      how === "new" ? openNewFile(path, FILE_MODE) : openInPlace(path, "refused", FILE_MODE),
    );
  },
  rename: (from, to) => renameSync(from, to),
  link: linkOrCopy,
  remove: (path) => rmSync(path, { force: true }),
  makeFolder: (path) => mkdirSync(path, { mode: FOLDER_MODE }),
  /** A new file is there after a power failure only when its folder was written, too. */
  syncFolder(folder) {
    if (process.platform === "win32") return;
    const handle = openSync(folder, "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  },
  lock: (path, access) => new SqliteLock(path, access),
});
