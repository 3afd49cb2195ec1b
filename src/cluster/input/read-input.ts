/**
 * The texts that a user named with `-f` → one cluster and the Kubernetes objects that it begins with. Cluster file,
 * manifests and dumps may be mixed; several manifests add up.
 */
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { LoadedObject, Manifests } from "#control-plane/load/manifests.ts";
import type { ClusterFile } from "../file/cluster-file.ts";
import { parseClusterFile } from "../file/parse-cluster-file.ts";
import { furtherPolicyLimits } from "../limits/further-policies.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import type { InputText } from "../session/session.ts";
import { type Assumption, clusterOfManifests } from "./cluster-of-manifests.ts";
import { splitText } from "./split-text.ts";

/** What the texts say. */
export interface ClusterInput {
  readonly file: ClusterFile;
  /** In the order of the texts. */
  readonly objects: readonly LoadedObject[];
  /** What was passed by or assumed: for the user to see, nothing is wrong. */
  readonly notes: readonly FileProblem[];
  /** Objects that Kubernetes would refuse; the rest goes on. */
  readonly problems: readonly FileProblem[];
  /** What a cluster rests on that no file describes: for answers that say so. Empty with a cluster file. */
  readonly assumed: readonly FileProblem[];
  /** What the texts show and the cluster does not carry out, so that answers about flows are none. */
  readonly limits: readonly FlowLimit[];
}

/** `problems` without a cluster: nothing can be built. */
export type ClusterInputResult =
  | { readonly input: ClusterInput }
  | { readonly problems: readonly FileProblem[] };

/** What a cluster that no file describes is called in messages. */
const DERIVED = "the cluster of the manifests";
const ADVICE = "Write a cluster file to override it (docs/reference/cluster-file.md).";

/** An assumption, at the node that it is about. */
function noteOf({ message, node }: Assumption, objects: readonly LoadedObject[]): FileProblem {
  const origin =
    node === undefined
      ? undefined
      : objects.find(({ object }) => object.kind === "Node" && object.metadata.name === node)?.origin;
  const { file = "", line = 0, column = 0 } = origin ?? {};
  return { code: "cluster-assumed", file, line, column, path: "", message, advice: ADVICE };
}

/** Texts in which there is nothing at all, when nothing else was found either. */
function emptyTexts(texts: readonly InputText[]): readonly FileProblem[] {
  const code = "input-without-documents";
  const message = "there is neither a cluster file nor a Kubernetes object in this file";
  const advice =
    "Write a cluster file (examples/two-windows-nodes/cluster.yaml is one), or Kubernetes manifests.";
  return texts.map(({ name }) => ({ code, file: name, line: 1, column: 1, path: "", message, advice }));
}

function secondClusterFile(first: InputText, second: InputText): FileProblem {
  const isSame = first.name === second.name;
  return {
    code: "cluster-file-duplicate-name",
    file: second.name,
    line: second.text.split("\n").findIndex((line) => /^\s*[^\s#-]/.test(line)) + 1,
    column: 1,
    path: "",
    message: isSame
      ? "this is a second cluster file in the same text"
      : `there are two cluster files: ${first.name} and this one`,
    advice: "Name one cluster file; any number of manifests may be added.",
  };
}

type FileResult =
  | { readonly cluster: ClusterFile; readonly notes: readonly FileProblem[] }
  | { readonly problems: readonly FileProblem[] };

/** The cluster that manifests imply. Its fields stand in no file, so problems with them name no line. */
function derivedFile({ objects }: Manifests): FileResult {
  const { document, assumptions } = clusterOfManifests(objects.map(({ object }) => object));
  const parsed = parseClusterFile(JSON.stringify(document), DERIVED);
  if ("cluster" in parsed)
    return { cluster: parsed.cluster, notes: assumptions.map((each) => noteOf(each, objects)) };
  const advice = "It was derived from the Node objects: write a cluster file to say it yourself.";
  return {
    problems: parsed.problems.map((problem) => ({
      ...problem,
      line: 0,
      column: 0,
      advice: `${problem.advice} ${advice}`,
    })),
  };
}

/** The network is taken the same for every input without a cluster file, whatever its objects show. */
function assumedOf({ network, kubeProxy, nodes }: ClusterFile): readonly FileProblem[] {
  const modes = [...new Set(nodes.map(({ compat }) => compat))].toSorted().join(" and ");
  const dsr = kubeProxy.enableDSR ? "with DSR" : "without DSR";
  const messages = [
    `no cluster file says which network the pods have: driver ${network.driver} by ${network.plugin} is taken, with a range for each node, whatever plugin the objects show`,
    `kube-proxy of Windows nodes is taken ${dsr}, and programs in mode ${modes}`,
  ];
  return messages.map((message) => noteOf({ message }, []));
}

function fileOf(clusterFiles: readonly InputText[], loaded: Manifests): FileResult {
  const [first, second] = clusterFiles;
  if (first === undefined) return derivedFile(loaded);
  if (second !== undefined) return { problems: [secondClusterFile(first, second)] };
  const parsed = parseClusterFile(first.text, first.name);
  return "cluster" in parsed ? { cluster: parsed.cluster, notes: [] } : parsed;
}

/**
 * Reads everything. A cluster file with a problem stops it, because every default would be a guess then; a broken
 * manifest does not.
 */
export function readInput(texts: readonly InputText[]): ClusterInputResult {
  const split = texts.map(splitText);
  const clusterFiles = split.flatMap((each) => each.clusterFiles);
  const loaded = loadManifests(split.flatMap(({ manifests }) => manifests ?? []));
  if (texts.length > 0 && clusterFiles.length === 0 && loaded.objects.length === 0)
    return { problems: loaded.problems.length > 0 ? loaded.problems : emptyTexts(texts) };
  const found = fileOf(clusterFiles, loaded);
  if (!("cluster" in found)) return found;
  const { objects, problems } = loaded;
  const notes = [...found.notes, ...loaded.notes];
  const limits = furtherPolicyLimits(loaded.policies);
  const assumed = clusterFiles.length === 0 ? assumedOf(found.cluster) : [];
  return { input: { file: found.cluster, objects, notes, problems, assumed, limits } };
}
