/**
 * Which files are about one cluster. A folder of many clusters (dumps, examples) is checked cluster by cluster: builds,
 * ranges and names of one say nothing about another.
 *
 * A file with Node objects, or a cluster file, brings a cluster. Such files of one folder are one cluster, unless two of
 * them hold the same object, or are both cluster files: then each is one of its own. Every other file belongs to the
 * cluster file that names it among its `manifests`, else to the cluster of its folder, or of the nearest folder above
 * that has one. What is left is checked by itself. An input with one such file, or none, is one cluster.
 */
import type { LintDocument } from "./input/document.ts";
import { objectTypeOf } from "./input/recognize.ts";
import { textAt } from "./input/fields.ts";

/** A file with what it holds. */
export interface ReadFile {
  readonly file: string;
  readonly documents: readonly LintDocument[];
}

/** The files that a cluster file names, by its own. */
export type NamedManifests = ReadonlyMap<string, readonly string[]>;

function folderOf(file: string): string {
  const end = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"));
  return end < 0 ? "" : file.slice(0, end);
}

/** Holds a cluster file. */
export function isClusterFile({ documents }: ReadFile): boolean {
  return documents.some(({ kind }) => kind === "cluster");
}

/** Holds a Node. */
export function hasNodes({ documents }: ReadFile): boolean {
  return documents.some(({ kind, value }) => kind === "kubernetes" && objectTypeOf(value) === "Node");
}

function identitiesOf({ documents }: ReadFile): ReadonlySet<string> {
  return new Set(
    documents
      .filter(({ kind }) => kind === "kubernetes")
      .map(({ value }) =>
        [
          objectTypeOf(value),
          textAt(value, "metadata", "namespace") ?? "",
          textAt(value, "metadata", "name") ?? "",
        ].join(" "),
      ),
  );
}

function shareObjects(files: readonly ReadFile[]): boolean {
  const seen = new Set<string>();
  for (const file of files) {
    const own = identitiesOf(file);
    for (const identity of own) if (seen.has(identity)) return true;
    for (const identity of own) seen.add(identity);
  }
  return false;
}

/** The clusters of one folder: the files that bring them. */
function clustersIn(files: readonly ReadFile[]): readonly (readonly ReadFile[])[] {
  const clusterFiles = files.filter(isClusterFile);
  const dumps = files.filter((file) => !isClusterFile(file));
  if (clusterFiles.length === 1) return [files];
  const ofDumps = shareObjects(dumps) ? dumps.map((file) => [file]) : [dumps];
  return [...clusterFiles.map((file) => [file]), ...(dumps.length === 0 ? [] : ofDumps)];
}

/** The folders of a file, the nearest first. */
function* foldersAbove(file: string): Generator<string> {
  for (let folder = folderOf(file); ; folder = folderOf(folder)) {
    yield folder;
    if (folder === "") return;
  }
}

/** The files of each cluster. A file that several cluster files name is in each of theirs. */
export function filesByCluster(
  files: readonly ReadFile[],
  manifests: NamedManifests = new Map(),
): readonly (readonly ReadFile[])[] {
  const named = new Set([...manifests.values()].flat());
  const bringers = files.filter((file) => (isClusterFile(file) || hasNodes(file)) && !named.has(file.file));
  if (bringers.length <= 1) return [files];
  const byFolder = Map.groupBy(bringers, ({ file }) => folderOf(file));
  const clusters = [...byFolder].flatMap(([folder, members]) =>
    clustersIn(members).map((own) => ({ folder, files: [...own] })),
  );
  const rest: ReadFile[] = [];
  for (const file of files) {
    if (bringers.includes(file)) continue;
    const naming = clusters.filter(({ files: own }) =>
      own.some((each) => manifests.get(each.file)?.includes(file.file) === true),
    );
    const near = naming.length > 0 ? naming : nearest(file.file, clusters);
    if (near.length === 0) rest.push(file);
    for (const cluster of near) cluster.files.push(file);
  }
  return [...clusters.map((each) => each.files), ...(rest.length === 0 ? [] : [rest])];
}

/** The cluster of the nearest folder that has one; none where that folder has several. */
function nearest<T extends { readonly folder: string }>(file: string, clusters: readonly T[]): readonly T[] {
  for (const folder of foldersAbove(file)) {
    const here = clusters.filter((each) => each.folder === folder);
    if (here.length > 0) return here.length === 1 ? here : [];
  }
  return [];
}
