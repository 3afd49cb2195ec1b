/**
 * The texts that a user named with `-f` → one cluster and the Kubernetes objects that it begins with. Cluster file,
 * manifests and dumps may be mixed; several manifests add up.
 */
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import type { LoadedObject, Manifests } from "#control-plane/load/manifests.ts";
import type { ClusterFile, NetworkShape } from "../file/cluster-file.ts";
import { parseClusterFile } from "../file/parse-cluster-file.ts";
import { furtherPolicyLimits } from "../limits/further-policies.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import { kernelVersionOf } from "../session/node-object.ts";
import type { ClusterFact, InputText } from "../session/session.ts";
import { factsOfFile, factsOfObjects } from "./cluster-facts.ts";
import { type Assumption, clusterOfManifests } from "./cluster-of-manifests.ts";
import { isNetworkText } from "./evidence.ts";
import type { Contradiction } from "./network-account.ts";
import { limitOfLack } from "./network-limits.ts";
import { type RecognisedNetwork, recogniseNetwork } from "./recognise-network.ts";
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
  /** What the cluster rests on, one by one, each with who says it. */
  readonly facts: readonly ClusterFact[];
  /** What the objects say against each other, or against what Windows can. */
  readonly contradictions: readonly FileProblem[];
  /** What keeps answers about flows from being ones: the network is not carried out, or it is not told which it is. */
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

/** What counts beside the objects. */
interface ReadContext {
  readonly cniFiles: readonly InputText[];
  /** In place of that of every Windows node. */
  readonly build: WindowsBuild | undefined;
}

/** What the network part of an input comes to. */
type Rest = Pick<ClusterInput, "assumed" | "facts" | "contradictions" | "limits">;

type FileResult =
  | { readonly cluster: ClusterFile; readonly notes: readonly FileProblem[]; readonly rest: Rest }
  | { readonly problems: readonly FileProblem[] };

function contradictionOf({ code, message, where }: Contradiction): FileProblem {
  const { file = "", line = 0, column = 0 } = where ?? {};
  const advice = "Mend it in the cluster, or write a cluster file that says which of them holds.";
  return { code, file, line, column, path: "", message, advice };
}

/** Where pods have their addresses from, in messages. */
const ADDRESSES: Readonly<Record<NetworkShape, string>> = {
  "own-subnet": "a range for each node",
  "node-subnet": "addresses of the subnet of the nodes",
  "pod-subnet": "addresses of one subnet for the pods of all nodes",
};

/** What nothing of the input says of the network; the rest of what is assumed stands among the facts. */
function assumedOf({ network }: ClusterFile, { account }: RecognisedNetwork): readonly FileProblem[] {
  const messages = [
    ...(account === undefined
      ? [
          `nothing shows which network the pods have: driver ${network.driver} by ${network.plugin} is taken, with ${ADDRESSES[network.shape]}`,
        ]
      : []),
    ...(account?.isModeAssumed === true
      ? [`nothing shows the mode of ${account.plugin}: ${account.mode} is taken`]
      : []),
  ];
  return messages.map((message) => noteOf({ message }, []));
}

/** The cluster that manifests imply. Its fields stand in no file, so problems with them name no line. */
function derivedFile({ objects }: Manifests, { cniFiles, build }: ReadContext): FileResult {
  const plain = objects.map(({ object }) => object);
  const recognised = recogniseNetwork(objects, cniFiles);
  const { document, assumptions } = clusterOfManifests(plain, recognised);
  const parsed = parseClusterFile(JSON.stringify(document), DERIVED, build);
  if ("cluster" in parsed) {
    const { cluster } = parsed;
    const rest = {
      assumed: assumedOf(cluster, recognised),
      facts: factsOfObjects(cluster, objects, recognised),
      contradictions: recognised.contradictions.map(contradictionOf),
      limits: recognised.limits,
    };
    return { cluster, notes: assumptions.map((each) => noteOf(each, objects)), rest };
  }
  return withoutNetwork(objects, recognised, { problems: parsed.problems, build });
}

/** A network that fits no cluster file with these nodes: they run on the usual one, and no flow of pods is answered. */
function withoutNetwork(
  objects: readonly LoadedObject[],
  recognised: RecognisedNetwork,
  {
    problems,
    build,
  }: { readonly problems: readonly FileProblem[]; readonly build: WindowsBuild | undefined },
): FileResult {
  const plain = objects.map(({ object }) => object);
  const { document, assumptions } = clusterOfManifests(plain);
  const parsed = parseClusterFile(JSON.stringify(document), DERIVED, build);
  const [first] = problems;
  if (!("cluster" in parsed) || recognised.account === undefined || first === undefined) {
    const advice = "It was derived from the Node objects: write a cluster file to say it yourself.";
    const derived = "cluster" in parsed ? problems : parsed.problems;
    return {
      problems: derived.map((problem) => ({
        ...problem,
        line: 0,
        column: 0,
        advice: `${problem.advice} ${advice}`,
      })),
    };
  }
  const message = `the network ${recognised.account.plugin} is recognised and not carried out: ${first.message}`;
  const { cluster } = parsed;
  const lack = limitOfLack({ code: "network-not-emulated", message }, recognised.at?.where);
  return {
    cluster,
    notes: assumptions.map((each) => noteOf(each, objects)),
    rest: {
      assumed: assumedOf(cluster, recognised),
      facts: factsOfObjects(cluster, objects, recognised),
      contradictions: recognised.contradictions.map(contradictionOf),
      limits: [lack, ...recognised.limits],
    },
  };
}

function fileOf(clusterFiles: readonly InputText[], loaded: Manifests, context: ReadContext): FileResult {
  const [first, second] = clusterFiles;
  if (first === undefined) return derivedFile(loaded, context);
  if (second !== undefined) return { problems: [secondClusterFile(first, second)] };
  const parsed = parseClusterFile(first.text, first.name, context.build);
  if (!("cluster" in parsed)) return parsed;
  const { cluster, written } = parsed;
  const { policies } = recogniseNetwork(loaded.objects, []);
  const facts = factsOfFile(cluster, written, policies);
  return { cluster, notes: [], rest: { assumed: [], facts, contradictions: [], limits: [] } };
}

/** A Windows node as it would report itself on another build. */
function nodeOnBuild(loaded: LoadedObject, build: WindowsBuild): LoadedObject {
  const { object } = loaded;
  if (object.kind !== "Node" || nodeOs(object) !== "windows") return loaded;
  const { metadata, status } = object;
  const labels = { ...metadata.labels, "node.kubernetes.io/windows-build": `10.0.${build.profile.build}` };
  const reported =
    status?.nodeInfo === undefined
      ? {}
      : { status: { ...status, nodeInfo: { ...status.nodeInfo, kernelVersion: kernelVersionOf(build) } } };
  return { ...loaded, object: { ...object, metadata: { ...metadata, labels }, ...reported } };
}

/**
 * Reads everything. A cluster file with a problem stops it, because every default would be a guess then; a broken
 * manifest does not. `build` takes the place of that of every Windows node.
 */
export function readInput(texts: readonly InputText[], build?: WindowsBuild): ClusterInputResult {
  const cniFiles = texts.filter(isNetworkText);
  const split = texts.filter((text) => !cniFiles.includes(text)).map(splitText);
  const clusterFiles = split.flatMap((each) => each.clusterFiles);
  const read = loadManifests(split.flatMap(({ manifests }) => manifests ?? []));
  const loaded =
    build === undefined ? read : { ...read, objects: read.objects.map((each) => nodeOnBuild(each, build)) };
  if (texts.length > 0 && clusterFiles.length === 0 && loaded.objects.length === 0)
    return { problems: loaded.problems.length > 0 ? loaded.problems : emptyTexts(texts) };
  const found = fileOf(clusterFiles, loaded, { cniFiles, build });
  if (!("cluster" in found)) return found;
  const { objects, problems } = loaded;
  const notes = [...found.notes, ...loaded.notes];
  const limits = [...found.rest.limits, ...furtherPolicyLimits(loaded.policies)];
  return { input: { file: found.cluster, objects, notes, problems, ...found.rest, limits } };
}
