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
