/**
 * The durable store of an HNS: a folder with a snapshot, a log and the position up to which changes were acknowledged,
 * written by one process at a time. A change is on disk before the call that made it returns; calls that wait at the same
 * time share one commit (docs/decisions/0012-store-files.md, docs/reference/durability.md).
 */
import { join } from "node:path";
import { messageOf } from "#core/base/thrown.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import type { ObjectStore, StoredChange, StoredObject } from "./stored-object.ts";
import {
  FORMAT_VERSION,
  type FolderState,
  type LogLine,
  type Opened,
  POSITION,
  formatCommit,
  formatSlot,
  logName,
  slotOffset,
} from "./store-format.node.ts";
import { MACHINE_DISK, type StoreDisk, type StoreFile, type StoreLock } from "./store-disk.node.ts";
import {
  FORMER,
  type Inspection,
  OWNER,
  README,
  README_TEXT,
  type StoreFault,
  type StoreFaultReason,
  checkFormat,
  checkOwn,
  damagedStore,
  inspectFolder,
  lockFolder,
  positionOf,
  reasonOf,
  removeQuietly,
  rewriteFolder,
  switchTo,
  unusable,
  writeFiles,
} from "./folder-files.node.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

/** The log is folded into a new snapshot when it is longer than this and than the snapshot. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;

export interface StateFolderOptions {
  /** The node whose objects these are; shown to people who look into the folder. */
  readonly node: string;
  readonly version: HnsVersion;
  /** Default: this machine's. */
  readonly disk?: StoreDisk;
  /** The log is folded into a new snapshot when it is longer than this and than the snapshot. Default 4 MiB. */
  readonly logBytesMax?: number;
}

/** A store that is open for writing. */
interface OpenFiles {
  readonly log: StoreFile;
  readonly position: StoreFile;
}

interface Waiting {
  readonly changes: readonly StoredChange[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

// Failures.

const REFUSALS = {
  "disk-full": ["ERROR_DISK_FULL", WORDS.refusalDiskFull],
  "read-only": ["ERROR_WRITE_PROTECT", "is on a read-only disk; nothing was changed"],
  "io-error": ["ERROR_WRITE_FAULT", "cannot be written; nothing was changed"],
} as const;

function refusal(path: string, { reason, text }: StoreFault, cause: unknown): HcnError {
  const [code, what] = REFUSALS[reason];
  return new HcnError(code, { detail: `The state folder ${path} ${what} (${text})`, cause });
}

/** The change may be on the disk or not. */
function outcomeUnknown(path: string, cause: unknown): HcnError {
  return new HcnError("RPC_S_CALL_FAILED", {
    detail: WORDS.changeOutcomeUnknown({ path, message: messageOf(cause) }),
    explanation: "store-outcome-unknown",
    cause,
  });
}

/** One writer's state folder. Not part of the forkable world. */
export class StateFolder implements ObjectStore {
  readonly path: string;
  /** How often the folder was opened, this time included: chance differs by it (`RestoreOptions.incarnation`). */
  readonly incarnation: number;
  /** What was damaged and could be put together again, in words. */
  readonly recoveries: readonly string[];
  private readonly disk: StoreDisk;
  private readonly lock: StoreLock;
  private readonly logBytesMax: number;
  /** Without objects: the service has them. */
  private state: FolderState;
  /** What the opening has read, for the first listing. */
  private opening: readonly StoredObject[] | undefined;
  private files: OpenFiles | undefined;
  private waiting: Waiting[] = [];
  private draining: Promise<void> | undefined;
  /** A change was refused, and the service that made it has not asked since what is stored. */
  private refused: StoreFault | undefined;
  /** What is on the disk is not certain: it is read and written anew before the next change. */
  private isUncertain = false;
  private isClosed = false;
  private writeFault: StoreFault | undefined;
  private readonly faultCounts = new Map<StoreFaultReason, number>();

  /** @throws StateFolderError. */
  constructor(path: string, options: StateFolderOptions) {
    this.path = path;
    this.disk = options.disk ?? MACHINE_DISK;
    this.logBytesMax = options.logBytesMax ?? LOG_BYTES_MAX;
    const { disk } = this;
    let names: readonly string[];
    try {
      disk.prepare(path);
      names = disk.list(path) ?? [];
      checkOwn(path, names);
      checkFormat(disk, path, names);
      disk.protect(path);
    } catch (error) {
      throw unusable(path, error);
    }
    this.lock = lockFolder(disk, path, names, "writing");
    try {
      const found = inspectFolder(disk, path, this.lock);
      if (found.damages.length > 0) throw damagedStore(path, found);
      this.incarnation = (found.state.opened?.incarnation ?? 0) + 1;
      this.recoveries = found.recoveries;
      const begun = this.begin(found, {
        incarnation: this.incarnation,
        node: options.node,
        hnsVersion: `${options.version.Major}.${options.version.Minor}`,
      });
      this.opening = [...begun.objects.values()];
      this.state = { ...begun, objects: new Map() };
      if (!names.includes(README)) this.tell(README, README_TEXT);
      this.tell(OWNER, `${JSON.stringify({ pid: process.pid })}\n`);
    } catch (error) {
      this.closeFiles();
      this.lock.close();
      throw unusable(path, error);
    }
  }

  /** Why the last write failed; undefined while the store can write. */
  get fault(): StoreFault | undefined {
    return this.writeFault;
  }

  /** How often the disk failed, by reason. */
  get faults(): ReadonlyMap<StoreFaultReason, number> {
    return this.faultCounts;
  }

  /**
   * Stores changes as one. They are on disk when the promise resolves. When it rejects, none of them is there, except with
   * RPC_S_CALL_FAILED: then it is not known. After a rejection all are refused until `list()` has said what is stored.
   */
  async write(changes: readonly StoredChange[]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setImmediate(() => void this.drain());
      this.waiting.push({ changes, resolve, reject });
    });
  }

  /** What is stored, read from the disk again after a change was refused. @throws HcnError when it cannot be read. */
  async list(): Promise<readonly StoredObject[]> {
    await this.drain();
    if (this.isClosed) throw this.closedError();
    const objects = this.opening ?? [...this.reread().objects.values()];
    this.opening = undefined;
    this.refused = undefined;
    return objects;
  }

  /** Writes what waits, and lets the folder go. */
  async close(): Promise<void> {
    await this.drain();
    if (this.isClosed) return;
    this.isClosed = true;
    this.closeFiles();
    removeQuietly(this.disk, join(this.path, OWNER));
    this.lock.close();
  }

  /** Makes the files of this opening ready. @returns the state, with the opening in it. */
  private begin({ state, format }: Inspection, opened: Opened): FolderState {
    const { disk, path } = this;
    if (!state.isSettled || format !== FORMAT_VERSION) {
      const next = rewriteFolder(disk, path, { ...state, opened });
      this.lock.setFormat(FORMAT_VERSION, join(path, FORMER));
      this.openFiles(next.generation);
      return next;
    }
    this.lock.setFormat(FORMAT_VERSION, join(path, FORMER));
    const { log, position } = this.openFiles(state.generation);
    const line = formatCommit(state, { opened });
    log.write(line.bytes, state.logEnd);
    log.syncNow();
    const next = { ...state, opened, commit: state.commit + 1, sum: line.sum };
    const slot = formatSlot({ ...positionOf(next), offset: state.logEnd }, line.bytes);
    position.write(slot.bytes, slotOffset(next.commit));
    position.syncNow();
    return { ...next, logEnd: state.logEnd + line.bytes.length };
  }

  /** Writes what people read; it need not outlive a power cut. */
  private tell(name: string, text: string): void {
    const file = this.disk.open(join(this.path, name), "new");
    file.write(Buffer.from(text), 0);
    file.close();
  }

  private openFiles(generation: number): OpenFiles {
    this.closeFiles();
    const log = this.disk.open(join(this.path, logName(generation)), "existing");
    try {
      this.files = { log, position: this.disk.open(join(this.path, POSITION), "existing") };
      return this.files;
    } catch (error) {
      log.close();
      throw error;
    }
  }

  private closeFiles(): void {
    const { files } = this;
    this.files = undefined;
    for (const file of [files?.log, files?.position]) {
      try {
        file?.close();
      } catch {
        // A disk that failed may say so once more.
      }
    }
  }

  /** Carries out all that waits, one commit after the other; what comes meanwhile shares the next one. */
  private async drain(): Promise<void> {
    this.draining ??= this.commitAll().finally(() => {
      this.draining = undefined;
    });
    return this.draining;
  }

  private async commitAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting;
      this.waiting = [];
      const fault = await this.commit(batch.flatMap(({ changes }) => changes)).catch(
        (error: unknown) => error,
      );
      if (fault === undefined) for (const { resolve } of batch) resolve();
      else for (const { reject } of batch) reject(fault);
    }
  }

  /** @throws HcnError. */
  private async commit(changes: readonly StoredChange[]): Promise<undefined> {
    if (this.isClosed) throw this.closedError();
    // They were made after a change that is not there.
    if (this.refused !== undefined) throw refusal(this.path, this.refused, undefined);
    this.opening = undefined;
    try {
      if (this.isUncertain) this.makeCertain();
    } catch (error) {
      throw refusal(this.path, this.noteFault(error), error);
    }
    const line = formatCommit(this.state, { changes });
    await this.append(line, changes.length);
    this.writeFault = undefined;
    if (this.state.logEnd > Math.max(this.logBytesMax, this.state.snapshotBytes)) this.fold();
  }

  /**
   * The line goes to the log and, beside what it is the position of, to the position: both at once, since whichever is on
   * the disk first tells of the commit. A line that has no room there goes to the log first.
   */
  private async append(line: LogLine, added: number): Promise<void> {
    const { files, state, path } = this;
    if (files === undefined) throw this.closedError();
    try {
      files.log.write(line.bytes, state.logEnd);
    } catch (error) {
      throw this.takeBack(files.log, error);
    }
    const next = { ...state, commit: state.commit + 1, changes: state.changes + added, sum: line.sum };
    const slot = formatSlot({ ...positionOf(next), offset: state.logEnd }, line.bytes);
    try {
      if (!slot.hasTail) await files.log.sync();
      files.position.write(slot.bytes, slotOffset(next.commit));
      const syncs = slot.hasTail ? [files.log.sync(), files.position.sync()] : [files.position.sync()];
      for (const result of await Promise.allSettled(syncs))
        if (result.status === "rejected") throw result.reason;
    } catch (error) {
      this.isUncertain = true;
      this.noteFault(error);
      throw outcomeUnknown(path, error);
    }
    this.state = { ...next, logEnd: state.logEnd + line.bytes.length };
  }

  /** The line is not whole. When what there is of it can be cut off, nothing was changed. */
  private takeBack(log: StoreFile, error: unknown): HcnError {
    const fault = this.noteFault(error);
    try {
      log.truncate(this.state.logEnd);
      log.syncNow();
      return refusal(this.path, fault, error);
    } catch {
      this.isUncertain = true;
      return outcomeUnknown(this.path, error);
    }
  }

  private noteFault(error: unknown): StoreFault {
    const fault = { reason: reasonOf(error), text: messageOf(error) };
    this.refused = fault;
    this.writeFault = fault;
    this.faultCounts.set(fault.reason, (this.faultCounts.get(fault.reason) ?? 0) + 1);
    return fault;
  }

  /** After a failed write or flush the system may show what the disk does not have: it is read and written anew. */
  private makeCertain(): void {
    const state = this.readState();
    this.closeFiles();
    const next = rewriteFolder(this.disk, this.path, state);
    this.openFiles(next.generation);
    this.state = { ...next, objects: new Map() };
    this.isUncertain = false;
    this.writeFault = undefined;
  }

  /** Folds the log into a new snapshot. Where that is not possible, the log goes on. */
  private fold(): void {
    let next: FolderState;
    try {
      next = writeFiles(this.disk, this.path, this.readState());
    } catch (error) {
      this.faultCounts.set(reasonOf(error), (this.faultCounts.get(reasonOf(error)) ?? 0) + 1);
      // Not with each change: when it has grown by as much again.
      this.state = { ...this.state, snapshotBytes: 2 * this.state.logEnd };
      return;
    }
    try {
      switchTo(this.disk, this.path, next.generation);
      this.openFiles(next.generation);
      this.state = { ...next, objects: new Map() };
    } catch (error) {
      // What was acknowledged is in the old files and in the new ones; which of them count, the disk has to say.
      this.isUncertain = true;
      this.noteFault(error);
      this.refused = undefined;
    }
  }

  private readState(): FolderState {
    const found = inspectFolder(this.disk, this.path, this.lock);
    if (found.damages.length > 0) throw damagedStore(this.path, found);
    return found.state;
  }

  /** @throws HcnError ERROR_FILE_CORRUPT. */
  private reread(): FolderState {
    try {
      if (this.isUncertain) {
        try {
          this.makeCertain();
        } catch {
          // It cannot be written yet. What is read is what another process would find now.
        }
      }
      return this.readState();
    } catch (error) {
      throw new HcnError("ERROR_FILE_CORRUPT", {
        detail: `The state folder ${this.path} cannot be read: ${messageOf(error)}`,
        cause: error,
      });
    }
  }

  private closedError(): HcnError {
    return new HcnError("ERROR_WRITE_FAULT", {
      detail: `The state folder ${this.path} is closed; nothing was changed`,
    });
  }
}

/**
 * Opens the state folder at `path`, which is made when it is not there, and keeps everybody else out until `close()`.
 * @throws StateFolderError: another process has it, a newer Mullion wrote it, it is damaged, it cannot be written.
 */
export function openStateFolder(path: string, options: StateFolderOptions): StateFolder {
  return new StateFolder(path, options);
}
