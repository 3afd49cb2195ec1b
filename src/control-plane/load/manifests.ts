/** What reading manifests gives: objects with their places, notes and problems. */
import type { TextChunks } from "#contracts/kubernetes/text/plain-list.ts";
import type { Fields } from "#core/base/json.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";

/** A file of manifests, as text. */
export interface ManifestFile {
  /** As the user gave it; only used in messages. */
  readonly name: string;
  readonly text: string;
  /** Of the first file of a folder. */
  readonly unreadBelow?: UnreadBelow;
}

/** Manifests in folders below one that was named, which were not read. */
export interface UnreadBelow {
  readonly folder: string;
  readonly count: number;
}

/** A file that is too long to be one text. */
export interface LongManifestFile extends ManifestFile {
  /** What it begins with. */
  readonly text: string;
  /** All its bytes, each time from the first. */
  readonly chunks: TextChunks;
}

/** Whether a file is one whose `text` is not all of it. */
export function isLong(file: ManifestFile): file is LongManifestFile {
  return "chunks" in file;
}

/** A place in a file. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
}

/** Where an object stands. */
export interface Origin extends FilePlace {
  readonly file: string;
  /** Places of fields that may be refused later: `spec.clusterIP`, `spec.ports[0].nodePort`. */
  readonly fields: Readonly<Record<string, FilePlace>>;
}

/**
 * The place of a field of an object; of what stands around it, when nobody wrote the field. The server fills in
 * `clusterIPs` from `clusterIP`, so the one stands where the other does.
 */
export function placeInOrigin(origin: Origin, path: string): FilePlace {
  const around = path.replace(/\[\d+\]$/, "");
  const { line, column } =
    origin.fields[path] ??
    origin.fields[around] ??
    origin.fields[around.replace(/clusterIPs$/, "clusterIP")] ??
    origin;
  return { line, column };
}

/**
 * An object with the place it comes from. What the API server would add is empty: `metadata.uid` and
 * `metadata.resourceVersion`, unless a dump has them; `metadata.name`, where there is a `generateName`.
 */
export interface LoadedObject {
  readonly object: KubeObject;
  readonly origin: Origin | undefined;
}

/** A policy of an API that nothing here enforces: passed by, and remembered for what it could do to flows. */
export interface PassedPolicy extends FilePlace {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for one that belongs to no namespace. */
  readonly namespace: string;
  readonly name: string;
  /** What it says, part by part, as it is written: at least one. */
  readonly specs: readonly Fields[];
}

/** A document that says how a program of the network runs, or where the cluster does; no object that is carried out. */
export interface LoadedConfiguration extends FilePlace {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly fields: Fields;
  /** It configures nothing: its kind, or an annotation, only shows where the cluster runs. */
  readonly isSign: boolean;
}

/** Frozen, all of it. */
export interface Manifests {
  /** In the order of the files. */
  readonly objects: readonly LoadedObject[];
  /** In the order of the files; no more than `manifestObjectsMax`. */
  readonly policies: readonly PassedPolicy[];
  /** In the order of the files; no more than `manifestProblemsMax`. */
  readonly configurations: readonly LoadedConfiguration[];
  /** Worth knowing; what of it could change a flow has a code of its own. */
  readonly notes: readonly FileProblem[];
  /** What is left out, and why. */
  readonly problems: readonly FileProblem[];
}
