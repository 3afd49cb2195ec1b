/** Where azure-vnet keeps its state, and the lock that one call at a time holds (cni.md §5.8). */

/** The file while the lock is held. */
export interface LockedState {
  /** Undefined when there is no file. */
  read(): Promise<string | undefined>;
  /** Replaces the file as a whole: no reader sees half of it. */
  write(text: string): Promise<void>;
}

/** The lock did not come free in time. */
export class StateLockTimeout extends Error {
  override readonly name = "StateLockTimeout";
}

export interface StateStore {
  /** Runs `work` alone. @throws StateLockTimeout */
  withLock<T>(work: (state: LockedState) => Promise<T>): Promise<T>;
}

export class MemoryStateStore implements StateStore {
  /** What the file holds; undefined: there is none. */
  text: string | undefined = undefined;
  /** True: another process holds the lock and does not let go. */
  isHeld = false;
  private last: Promise<unknown> = Promise.resolve();

  withLock<T>(work: (state: LockedState) => Promise<T>): Promise<T> {
    if (this.isHeld) return Promise.reject(new StateLockTimeout("timed out locking store"));
    const state: LockedState = {
      read: () => Promise.resolve(this.text),
      write: (text) => {
        this.text = text;
        return Promise.resolve();
      },
    };
    const turn = this.last.then(() => work(state));
    // The next in the queue comes whether or not this one fails.
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
