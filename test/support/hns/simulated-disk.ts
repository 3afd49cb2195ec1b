/**
 * A disk in memory for the store of HNS, which fails, fills up and loses power as a real one does. What was written and
 * not flushed may be there after a power cut or not, each sector by itself; a flush that fails forgets what it had, as
 * Linux does: the next one succeeds without having written it.
 */
import type { Prng } from "#core/base/prng.ts";
import type { FormerStore, StoreDisk, StoreFile, StoreLock } from "#hns/store/store-disk.node.ts";

const SECTOR_BYTES = 512;

export type DiskError = "EIO" | "ENOSPC" | "EROFS";
export type DiskCall = "read" | "write" | "sync" | "rename" | "open";

/** The error that the system gives. */
export function systemError(code: DiskError, call: string): Error {
  const texts = {
    EIO: "i/o error",
    ENOSPC: "no space left on device",
    EROFS: "read-only file system",
  } as const;
  return Object.assign(new Error(`${code}: ${texts[code]}, ${call}`), { code, syscall: call });
}

interface Unsynced {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** A file: what programs see of it, what the disk has of it, and what only the system has. */
interface Node {
  seen: Uint8Array;
  stored: Uint8Array;
  unsynced: Unsynced[];
  /** The bytes may also be those of another disk, or of the other view: a write copies them first. */
  isShared: boolean;
}

/** Writes into the bytes themselves as long as they are long enough. */
function written(before: Uint8Array, offset: number, bytes: Uint8Array): Uint8Array {
  const length = offset + bytes.length;
  const after = length <= before.length ? before : new Uint8Array(length);
  if (after !== before) after.set(before);
  after.set(bytes, offset);
  return after;
}

function ownBytes(node: Node): void {
  if (!node.isShared) return;
  node.seen = node.seen.slice();
  node.stored = node.stored.slice();
  node.isShared = false;
}

/** The file system's names, as programs see them and as the disk has them. */
export class SimulatedDisk implements StoreDisk {
  /** Asked before each call; an error that it returns is the call's. */
  failing: ((call: DiskCall, path: string) => DiskError | undefined) | undefined;
  /** Bytes that may be written before the disk is full. */
  room: number = Number.POSITIVE_INFINITY;
  /** Calls that change the disk, so far. */
  calls = 0;
  /** Thrown once so many calls were made: the power is gone. */
  powerCutAt: number = Number.POSITIVE_INFINITY;
  private names = new Map<string, Node>();
  private storedNames = new Map<string, Node>();
  private lockFormat = 0;
  private isLocked = false;

  prepare(): void {
    this.check("open", "");
  }

  protect(): void {
    // One user.
  }

  list(folder: string): readonly string[] {
    const prefix = `${folder}/`;
    const found = [...this.names.keys()].filter((path) => path.startsWith(prefix));
    return [...new Set(found.map((path) => path.slice(prefix.length).split("/")[0] ?? ""))];
  }

  read(path: string): Uint8Array | undefined {
    this.check("read", path);
    return this.names.get(path)?.seen.slice();
  }

  open(path: string, how: "new" | "existing"): StoreFile {
    this.check("open", path);
    const known = how === "existing" ? this.names.get(path) : undefined;
    if (how === "existing" && known === undefined) throw new Error(`ENOENT: ${path}`);
    const node = known ?? {
      seen: new Uint8Array(),
      stored: new Uint8Array(),
      unsynced: [],
      isShared: false,
    };
    if (known === undefined) this.names.set(path, node);
    return {
      write: (bytes, offset) => this.write(node, path, bytes, offset),
      sync: async () => Promise.resolve().then(() => this.sync(node, path)),
      syncNow: () => this.sync(node, path),
      truncate: (length) => {
        this.check("write", path);
        node.seen = node.seen.slice(0, length);
        node.unsynced = node.unsynced.filter(({ offset }) => offset < length);
        node.stored = node.stored.slice(0, length);
      },
      close: () => undefined,
    };
  }

  rename(from: string, to: string): void {
    this.check("rename", to);
    const node = this.names.get(from);
    if (node === undefined) throw new Error(`ENOENT: ${from}`);
    this.names.delete(from);
    this.names.set(to, node);
  }

  link(from: string, to: string): void {
    this.check("write", to);
    const node = this.names.get(from);
    if (node !== undefined) this.names.set(to, node);
  }

  remove(path: string): void {
    this.check("write", path);
    this.names.delete(path);
  }

  makeFolder(path: string): void {
    this.check("write", path);
  }

  syncFolder(path: string): void {
    this.check("sync", path);
    this.storedNames = new Map(this.names);
  }

  lock(): StoreLock {
    if (this.isLocked) throw Object.assign(new Error("database is locked"), { errcode: 5 });
    this.isLocked = true;
    const setFormat = (format: number): void => {
      this.check("write", "lock");
      this.lockFormat = format;
    };
    return {
      format: this.lockFormat,
      readFormer: (): FormerStore | undefined => undefined,
      setFormat,
      close: () => {
        this.isLocked = false;
      },
    };
  }

  /** Changes what a file holds, as a fault of the medium does; undefined: it is gone. */
  damage(path: string, change: (bytes: Uint8Array) => Uint8Array | undefined): void {
    const node = this.names.get(path);
    if (node === undefined) return;
    const bytes = change(node.seen.slice());
    if (bytes === undefined) this.names.delete(path);
    else this.names.set(path, { seen: bytes, stored: bytes, unsynced: [], isShared: true });
    this.storedNames = new Map(this.names);
  }

  paths(): readonly string[] {
    return [...this.names.keys()];
  }

  /** The disk as it is when the power comes back. */
  afterPowerCut(prng: Prng): SimulatedDisk {
    // Names reach the disk in their order, and all of them may have: the journal of a file system is written in one piece.
    const names = prng.below(2) === 0 ? this.storedNames : this.names;
    const next = new SimulatedDisk();
    next.lockFormat = this.lockFormat;
    for (const [path, node] of names) {
      let bytes = node.unsynced.length === 0 ? node.stored : node.stored.slice();
      for (const each of node.unsynced)
        for (let at = 0; at < each.bytes.length; ) {
          const end = Math.min(each.bytes.length, at + SECTOR_BYTES - ((each.offset + at) % SECTOR_BYTES));
          if (prng.below(2) === 0) bytes = written(bytes, each.offset + at, each.bytes.subarray(at, end));
          at = end;
        }
      next.names.set(path, { seen: bytes, stored: bytes, unsynced: [], isShared: true });
      if (bytes === node.stored) node.isShared = true;
    }
    next.storedNames = new Map(next.names);
    return next;
  }

  /** The same files, without what only the system had: the process died, the machine did not. */
  afterKill(): SimulatedDisk {
    const next = new SimulatedDisk();
    next.lockFormat = this.lockFormat;
    for (const [path, node] of this.names) {
      node.isShared = true;
      next.names.set(path, { ...node, unsynced: [...node.unsynced] });
    }
    next.storedNames = new Map(next.names);
    return next;
  }

  private check(call: DiskCall, path: string): void {
    if (call !== "read") this.calls++;
    if (this.calls > this.powerCutAt) throw systemError("EIO", "power cut");
    const code = this.failing?.(call, path);
    if (code !== undefined) throw systemError(code, call);
  }

  private write(node: Node, path: string, bytes: Uint8Array, offset: number): void {
    try {
      this.check("write", path);
    } catch (error) {
      // A failed write may have written nothing, or all.
      if (this.calls % 2 === 0) this.put(node, bytes, offset);
      throw error;
    }
    const grown = Math.max(0, offset + bytes.length - node.seen.length);
    if (grown > this.room) {
      // As much as has room is there.
      this.put(node, bytes.subarray(0, bytes.length - grown + this.room), offset);
      this.room = 0;
      throw systemError("ENOSPC", "write");
    }
    this.room -= grown;
    this.put(node, bytes, offset);
  }

  private put(node: Node, bytes: Uint8Array, offset: number): void {
    ownBytes(node);
    node.seen = written(node.seen, offset, bytes);
    node.unsynced.push({ offset, bytes: bytes.slice() });
  }

  private sync(node: Node, path: string): void {
    try {
      this.check("sync", path);
    } catch (error) {
      // Linux takes what it could not write for written.
      node.unsynced = this.calls > this.powerCutAt ? node.unsynced : [];
      throw error;
    }
    ownBytes(node);
    for (const { offset, bytes } of node.unsynced) node.stored = written(node.stored, offset, bytes);
    node.unsynced = [];
  }
}
