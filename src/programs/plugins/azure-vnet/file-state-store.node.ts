/** The state as a file beside its lock, named as upstream names them (cni.md §5.8). */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeDrafts, replaceFile } from "#core/base/owner-only.node.ts";
import { describeSystemError, inSystemWords, readIfThere } from "../host-local/file-lease-store.node.ts";
import { type LeaseLockOptions, awaitLock } from "../host-local/lease-lock.node.ts";
import { LeaseStoreError } from "../host-local/leases.ts";
import { type LockedState, StateLockTimeout, type StateStore } from "./memory.ts";

const FOLDER_MODE = 0o755;
const FILE_MODE = 0o600;

export interface FileStateStoreOptions extends LeaseLockOptions {
  readonly folder: string;
  /** `azure-vnet`: the file is `azure-vnet.json`, the lock `azure-vnet.lock`. */
  readonly name: string;
}

export class FileStateStore implements StateStore {
  private readonly options: FileStateStoreOptions;

  constructor(options: FileStateStoreOptions) {
    this.options = options;
  }

  async withLock<T>(work: (state: LockedState) => Promise<T>): Promise<T> {
    const release = await this.lock();
    try {
      return await work({ read: () => readIfThere(this.path), write: (text) => this.write(text) });
    } finally {
      release();
    }
  }

  private get path(): string {
    return join(this.options.folder, `${this.options.name}.json`);
  }

  private async lock(): Promise<() => void> {
    const { folder, name } = this.options;
    try {
      mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
      return await awaitLock(join(folder, `${name}.lock`), this.options);
    } catch (error) {
      if (error instanceof LeaseStoreError && error.reason === "busy")
        throw new StateLockTimeout(`timed out locking store: ${error.message}`, { cause: error });
      throw new Error(describeSystemError(error), { cause: error });
    }
  }

  private write(text: string): Promise<void> {
    return inSystemWords(() => {
      // The lock is held: nobody else is drafting.
      removeDrafts(this.options.folder, `${this.options.name}.json`);
      replaceFile(this.path, text, FILE_MODE);
    });
  }
}
