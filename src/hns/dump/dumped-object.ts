/** What readers of dumps find: objects of HNS with their places, and what is missing from them. */
import type { JsonObject } from "#core/base/json.ts";
import type { Dialect } from "#contracts/hcn/description/object-json.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { StoredKind } from "../store/stored-object.ts";

/** Where an object begins: file, line and column from 1. */
export interface DumpPlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One object as a file describes it. */
export interface DumpedObject {
  readonly kind: StoredKind;
  /** v1: `Get-HnsNetwork`, hnsdiag. v2: `SchemaVersion` 2. */
  readonly dialect: Dialect;
  /** As it stands in the file; a value that PowerShell cut off is the text that stands in its place. */
  readonly document: JsonObject;
  /** Paths of the values that are cut off: `Policies`, `Subnets[0].Policies`. */
  readonly cut: readonly string[];
  /** From a dump of our own: what the service knows beyond the document. */
  readonly internal?: JsonObject;
  /** From a dump of our own: the v1 form that the document was made from. */
  readonly v1?: JsonObject;
  readonly where: DumpPlace;
}

/** What is wrong with a file, or missing from it, and what to do. */
export interface DumpProblem {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
  /** Full sentences. */
  readonly advice: string;
  readonly where: DumpPlace & { readonly field: string };
}

export interface DumpRead {
  readonly objects: readonly DumpedObject[];
  /** What could not be read. */
  readonly problems: readonly DumpProblem[];
  /** What was read and is less than the service held. */
  readonly notes: readonly DumpProblem[];
  /** Lines with letters on them that belong to no object: prompts, tables beside JSON, headings. */
  readonly linesPassedBy: number;
}
