/**
 * The stored form of the service's objects: what a durable store keeps, and what `mullion hns dump` writes. The document
 * is the object in v2 form, which a person can read and change; `internal` holds what the document does not say.
 */
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { DumpKind } from "#contracts/hcn/dumps.ts";

/** Kinds that are stored. `Globals` is what belongs to no object: no client sees it as one. */
export type StoredKind = DumpKind;

export interface StoredObject {
  readonly kind: StoredKind;
  readonly id: Guid;
  /** The object in v2 form. */
  readonly document: JsonObject;
  /**
   * Fields of the object's record that do not follow from the document: ports, activity ids, the time of the last
   * change, fields that are unknown here. Empty or absent for an object that comes from elsewhere.
   */
  readonly internal?: JsonObject;
}

/** An object of a dump. */
export interface ImportedObject extends StoredObject {
  /** What the document was made from, where that was in v1 form: its fields are kept, too. */
  readonly v1?: JsonObject;
}

/** One change for a store: an object as it stands now, or its end. */
export interface StoredChange {
  readonly kind: StoredKind;
  readonly id: Guid;
  /** Undefined: the object is gone. */
  readonly object: StoredObject | undefined;
}

/** Something of a stored object that contradicts the rest, and what became of it. Nothing is refused for it. */
export interface RestoreNote {
  readonly kind: StoredKind;
  readonly id: Guid;
  readonly text: string;
}

/** How objects come back. */
export interface RestoreOptions {
  /**
   * The objects are those that the store holds already: nothing is noted as changed. Default false: the store is told of
   * all that went and all that came.
   */
  readonly areStored?: boolean;
  /** How often the service was started on this store: chance gives other identifiers each time. */
  readonly incarnation?: number;
  /**
   * The documents come from elsewhere. What they hold is shown as they have it, until the object changes.
   * Default false.
   */
  readonly keepsUnknownFields?: boolean;
}

// Where the service's objects are kept over a restart. A call returns only when its changes are stored. This store
// keeps them in memory; `state-folder.node.ts` has the one that keeps them on disk.

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
