/**
 * Where the service's objects are kept over a restart. A call returns only when its changes are stored. This store keeps
 * them in memory; `state-folder.node.ts` has the one that keeps them on disk.
 */
import type { StoredChange, StoredObject } from "./stored-object.ts";

export interface ObjectStore {
  /** Stores changes as one; they are there when the promise resolves. Calls are carried out in their order. */
  write(changes: readonly StoredChange[]): Promise<void>;
  /** All objects, with every write that began before; those of one kind in order of creation. */
  list(): Promise<readonly StoredObject[]>;
}

export class MemoryObjectStore implements ObjectStore {
  private readonly objects = new Map<string, StoredObject>();

  async write(changes: readonly StoredChange[]): Promise<void> {
    for (const { kind, id, object } of changes) {
      const key = `${kind}/${id}`;
      if (object === undefined) this.objects.delete(key);
      else this.objects.set(key, object);
    }
    return Promise.resolve();
  }

  async list(): Promise<readonly StoredObject[]> {
    return Promise.resolve([...this.objects.values()]);
  }
}
