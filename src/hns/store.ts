/**
 * Where the service's objects are kept over a restart. A call returns only when its changes are stored.
 * The only store so far keeps them in memory.
 */
import type { StoreChange } from "./service-context.ts";

export interface ObjectStore {
  /** Stores changes as one; they are there when the promise resolves. Calls are carried out in their order. */
  write(changes: readonly StoreChange[]): Promise<void>;
  /** All objects as they were stored last, in order of creation. */
  list(): Promise<readonly StoreChange[]>;
}

export class MemoryObjectStore implements ObjectStore {
  private readonly objects = new Map<string, StoreChange>();

  async write(changes: readonly StoreChange[]): Promise<void> {
    for (const change of changes) {
      const key = `${change.kind}/${change.id}`;
      if (change.document === undefined) this.objects.delete(key);
      else this.objects.set(key, change);
    }
    return Promise.resolve();
  }

  async list(): Promise<readonly StoreChange[]> {
    return Promise.resolve([...this.objects.values()]);
  }
}
