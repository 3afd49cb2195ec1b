/**
 * The texts that a user named with `-f` → one cluster and the Kubernetes objects that it begins with. Cluster file,
 * manifests and dumps may be mixed; several manifests add up.
 */
import type { FileProblem } from "../../knowledge/file-problem.ts";
import { type LoadedObject, type Manifests, loadManifests } from "../../kube/mod.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { parseClusterFile } from "../file/parse-cluster-file.ts";
import type { InputText } from "../session.ts";
import { clusterOfManifests } from "./cluster-of-nodes.ts";

/** What the texts say. */
export interface ClusterInput {
  readonly file: ClusterFile;
  /** In the order of the texts. */
  readonly objects: readonly LoadedObject[];
  /** What was passed by or assumed: for the user to see, nothing is wrong. */
  readonly notes: readonly FileProblem[];
  /** Objects that Kubernetes would refuse; the rest goes on. */
  readonly problems: readonly FileProblem[];
}

/** `problems` without a cluster: nothing can be built. */
export type ClusterInputResult =
  | { readonly input: ClusterInput }
  | { readonly problems: readonly FileProblem[] };

/** The field `apiVersion: mullion/…` at the left edge, or first in a JSON object. */
const CLUSTER_FILE = /^[\s{]*["']?apiVersion["']?\s*:\s*["']?mullion\//m;

/** True for a text that means to be a cluster file. */
export function isClusterFile(text: string): boolean {
  return CLUSTER_FILE.test(text);
}

function note(file: string, message: string): FileProblem {
  const code = "cluster-assumed";
  return {
    code,
    file,
    // Not about a place in a text: about what stands in none.
    line: 0,
    column: 0,
    path: "",
    message,
    advice: "Write a cluster file to say otherwise.",
  };
}

/** Texts in which there is nothing at all, when nothing else was found either. */
function emptyTexts(texts: readonly InputText[]): readonly FileProblem[] {
  const code = "input-without-documents";
  const message = "there is neither a cluster file nor a Kubernetes object in this file";
  const advice =
    "Write a cluster file (examples/two-windows-nodes/cluster.yaml is one), or Kubernetes manifests.";
  return texts.map(({ name }) => ({ code, file: name, line: 1, column: 1, path: "", message, advice }));
}

function fileOf(
  clusterFiles: readonly InputText[],
  loaded: Manifests,
):
  | { readonly cluster: ClusterFile; readonly notes: readonly FileProblem[] }
  | { readonly problems: readonly FileProblem[] } {
  const [first, second] = clusterFiles;
  if (first !== undefined && second !== undefined) {
    const code = "cluster-file-duplicate-name";
    const message = `there are two cluster files: ${first.name} and this one`;
    const advice = "Name one cluster file; any number of manifests may stand beside it.";
    return { problems: [{ code, file: second.name, line: 1, column: 1, path: "", message, advice }] };
  }
  if (first !== undefined) {
    const parsed = parseClusterFile(first.text, first.name);
    return "cluster" in parsed ? { cluster: parsed.cluster, notes: [] } : parsed;
  }
  const { document, notes } = clusterOfManifests(loaded.objects.map(({ object }) => object));
  const name = "the cluster of the manifests";
  const parsed = parseClusterFile(JSON.stringify(document), name);
  return "cluster" in parsed
    ? { cluster: parsed.cluster, notes: notes.map((text) => note(name, text)) }
    : parsed;
}

/**
 * Reads everything. A cluster file with a problem stops it, because every default would be a guess then; a broken
 * manifest does not.
 */
export function readInput(texts: readonly InputText[]): ClusterInputResult {
  const clusterFiles = texts.filter(({ text }) => isClusterFile(text));
  const loaded = loadManifests(texts.filter((text) => !clusterFiles.includes(text)));
  if (texts.length > 0 && clusterFiles.length === 0 && loaded.objects.length === 0)
    return { problems: loaded.problems.length > 0 ? loaded.problems : emptyTexts(texts) };
  const found = fileOf(clusterFiles, loaded);
  if (!("cluster" in found)) return found;
  const { objects, problems } = loaded;
  return { input: { file: found.cluster, objects, notes: [...found.notes, ...loaded.notes], problems } };
}
