/**
 * The texts that a user named with `-f` → one cluster and the Kubernetes objects that it begins with. Cluster file,
 * manifests and dumps may be mixed; several manifests add up.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { LIMITS } from "#core/base/limits.ts";
import { withoutPrompts } from "#core/base/source-text.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { nodeOs } from "#control-plane/controllers/kubelet-admission.ts";
import {
  type LoadedObject,
  type ManifestFile,
  type Manifests,
  isLong,
} from "#control-plane/load/manifests.ts";
import type { ClusterFile, NetworkShape } from "../file/cluster-file.ts";
import { type FileOverrides, parseClusterFile } from "../file/parse-cluster-file.ts";
import { furtherPolicyLimits } from "../limits/further-policies.ts";
import { unreadTextLimits } from "../limits/unread-texts.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import { kernelVersionOf } from "../session/node-object.ts";
import type { ClusterFact, InputText } from "../session/session.ts";
import {
  type NamelessPods,
  describeExternalAddresses,
  describeInitContainers,
  describeNamelessPods,
  describeOpenImages,
  describeProbes,
  describeUndeclaredPorts,
  namelessPods,
  undeclaredPorts,
} from "./assumed-ports.ts";
import { factsOfFile, factsOfObjects, withEngineOfObjects } from "./cluster-facts.ts";
import { type Assumption, clusterOfManifests } from "./cluster-of-manifests.ts";
import { isNetworkText } from "./evidence.ts";
import { lonelyPorts } from "./lonely-ports.ts";
import { emptyTexts, otherText } from "./other-texts.ts";
import type { Contradiction } from "./network-account.ts";
import { limitOfLack } from "./network-limits.ts";
import { type RecognisedNetwork, recogniseNetwork } from "./recognise-network.ts";
import { withPolicyEngine } from "./policy-engine-of-input.ts";
import { isClusterFile, splitText } from "./split-text.ts";
import { clusterInput } from "#data/words.js";

const WORDS = clusterInput();

/** What the texts say. */
export interface ClusterInput {
  readonly file: ClusterFile;
  /** In the order of the texts. */
  readonly objects: readonly LoadedObject[];
  /** What was passed by or assumed: for the user to see, nothing is wrong. */
  readonly notes: readonly FileProblem[];
  /** Objects that Kubernetes would refuse; the rest goes on. */
  readonly problems: readonly FileProblem[];
  /** What a cluster rests on that no file describes, and on which ports something is taken to listen: for answers that say so. */
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

/** What is said of no field, and of no file where nothing says which. */
function problemAt(
  { file = "", line = 0, column = 0 }: Partial<Pick<FileProblem, "file" | "line" | "column">> = {},
  code: KnowledgeCode,
  message: string,
  advice: string,
): FileProblem {
  return { code, file, line, column, path: "", message, advice };
}

/** An assumption, at the node that it is about. */
function noteOf({ message, node }: Assumption, objects: readonly LoadedObject[]): FileProblem {
  const origin =
    node === undefined
      ? undefined
      : objects.find(({ object }) => object.kind === "Node" && object.metadata.name === node)?.origin;
  return problemAt(origin, "cluster-assumed", message, ADVICE);
}

function secondClusterFile(first: InputText, second: InputText): FileProblem {
  const line = second.text.split("\n").findIndex((each) => /^\s*[^\s#-]/.test(each)) + 1;
  const message =
    first.name === second.name
      ? "this is a second cluster file in the same text"
      : `there are two cluster files: ${first.name} and this one`;
  const advice = "Name one cluster file; any number of manifests may be added.";
  return problemAt({ file: second.name, line, column: 1 }, "cluster-file-duplicate-name", message, advice);
}

/** A text that is read as a stream is manifests alone. */
function clusterFileInLong({ name }: InputText): FileProblem {
  const message = WORDS.clusterFileInLargeText({ wholeFileBytesMax: LIMITS.wholeFileBytesMax / 1_048_576 });
  const place = { file: name, line: 1, column: 1 };
  return problemAt(place, "cluster-file-too-large", message, WORDS.adviceSeparateFiles);
}

/** What counts beside the objects. */
interface ReadContext {
  readonly cniFiles: readonly InputText[];
  readonly overrides: FileOverrides;
}

/** What the network part of an input comes to. */
type Rest = Pick<ClusterInput, "assumed" | "facts" | "contradictions" | "limits">;

type FileResult =
  | { readonly cluster: ClusterFile; readonly notes: readonly FileProblem[]; readonly rest: Rest }
  | { readonly problems: readonly FileProblem[] };

function contradictionOf({ code, message, where }: Contradiction): FileProblem {
  return problemAt(where, code, message, WORDS.adviceResolveContradiction);
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
          WORDS.podNetworkAssumed({
            driver: network.driver,
            plugin: network.plugin,
            addresses: ADDRESSES[network.shape],
          }),
        ]
      : []),
    ...(account?.isModeAssumed === true
      ? [`nothing shows the mode of ${account.plugin}: ${account.mode} is taken`]
      : []),
  ];
  return messages.map((message) => noteOf({ message }, []));
}

/** What lies below a folder and nobody asked for. */
function foldersUnread(texts: readonly InputText[]): readonly FileProblem[] {
  return texts.flatMap(({ unreadBelow }): readonly FileProblem[] => {
    if (unreadBelow === undefined) return [];
    const { folder, count } = unreadBelow;
    const message = WORDS.foldersUnread({
      count,
      ...(count === 1 ? { ending: "", were: "was" } : { ending: "s", were: "were" }),
    });
    return [problemAt({ file: folder }, "input-folders-unread", message, WORDS.adviceFoldersUnread)];
  });
}

/** Where the answer takes it that a program listens and is ready, and that clients outside find its Service. */
function programsAssumed(
  objects: readonly LoadedObject[],
  nameless: readonly NamelessPods[],
): readonly FileProblem[] {
  const uncertain = nameless.filter(({ isCertain }) => !isCertain);
  const undeclared = describeUndeclaredPorts(undeclaredPorts(objects));
  const said: readonly (readonly [message: string | undefined, advice: string])[] = [
    [describeProbes(objects), WORDS.adviceProbesAssumed],
    [describeInitContainers(objects), WORDS.adviceInitContainersAssumed],
    [describeOpenImages(objects), "Fill the placeholders in before the manifests are applied."],
    [describeNamelessPods(uncertain), WORDS.advicePodNames],
    [describeExternalAddresses(objects), WORDS.adviceExternalAddresses],
  ];
  const assumed = said.flatMap(([message, advice]) =>
    message === undefined ? [] : problemAt(undefined, "cluster-assumed", message, advice),
  );
  if (undeclared === undefined) return assumed;
  const advice = WORDS.adviceUndeclaredPorts;
  return [problemAt(undefined, "service-target-port-undeclared", undeclared, advice), ...assumed];
}

/** Pods whose names do not resolve, wherever the rest of the cluster is kept. */
function namesContradicted(nameless: readonly NamelessPods[]): readonly FileProblem[] {
  return nameless.flatMap(({ pods, service, isCertain }) => {
    if (!isCertain) return [];
    const { object, origin } = pods;
    const { namespace, name } = object.metadata;
    const { file = "", line = 0, column = 0 } = origin ?? {};
    return {
      code: "pod-name-service-missing",
      file,
      line,
      column,
      path: object.kind === "StatefulSet" ? "spec.serviceName" : "",
      message: WORDS.podNamesMissing({ pods: `${object.kind} ${namespace}/${name}`, service }),
      advice: WORDS.advicePodNames,
    };
  });
}

/** The cluster that manifests imply. Its fields stand in no file, so problems with them name no line. */
function derivedFile(
  { objects, configurations }: Manifests,
  { cniFiles, overrides }: ReadContext,
): FileResult {
  const plain = objects.map(({ object }) => object);
  const recognised = recogniseNetwork({ objects, files: cniFiles, configurations });
  const { document, assumptions, findings } = clusterOfManifests(plain, recognised);
  const parsed = parseClusterFile(JSON.stringify(document), DERIVED, overrides);
  if ("cluster" in parsed) {
    const { cluster } = parsed;
    const rest = {
      assumed: assumedOf(cluster, recognised),
      facts: factsOfObjects(cluster, objects, recognised),
      contradictions: [...recognised.contradictions, ...findings].map(contradictionOf),
      limits: recognised.limits,
    };
    return { cluster, notes: assumptions.map((each) => noteOf(each, objects)), rest };
  }
  return withoutNetwork(objects, recognised, { problems: parsed.problems, overrides });
}

/** A network that fits no cluster file with these nodes: they run on the usual one, and no flow of pods is answered. */
function withoutNetwork(
  objects: readonly LoadedObject[],
  recognised: RecognisedNetwork,
  { problems, overrides }: { readonly problems: readonly FileProblem[]; readonly overrides: FileOverrides },
): FileResult {
  const plain = objects.map(({ object }) => object);
  const { document, assumptions } = clusterOfManifests(plain);
  const parsed = parseClusterFile(JSON.stringify(document), DERIVED, overrides);
  const [first] = problems;
  if (!("cluster" in parsed) || recognised.account === undefined || first === undefined) {
    const advice = WORDS.adviceWriteClusterFile;
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

/** A cluster file says what the network is, and what else says it does not count. */
function notesOfUnread(
  { configurations }: Manifests,
  cniFiles: readonly InputText[],
): readonly FileProblem[] {
  const unread = [
    ...configurations
      .filter(({ isSign }) => !isSign)
      .map(({ file, line, column, kind }) => ({ file, line, column, what: kind })),
    ...cniFiles.map(({ name }) => ({ file: name, line: 1, column: 1, what: "this file" })),
  ];
  const advice = "Leave the cluster file out to have it read.";
  return unread.map(({ what, ...place }) =>
    problemAt(place, "cluster-assumed", WORDS.networkSourceIgnored({ what }), advice),
  );
}

function fileOf(clusterFiles: readonly InputText[], loaded: Manifests, context: ReadContext): FileResult {
  const [first, second] = clusterFiles;
  if (first === undefined) return derivedFile(loaded, context);
  if (second !== undefined) return { problems: [secondClusterFile(first, second)] };
  const parsed = parseClusterFile(first.text, first.name, context.overrides);
  if (!("cluster" in parsed)) return parsed;
  const { cluster, written } = parsed;
  const facts = factsOfFile(cluster, written, loaded.objects);
  const notes = notesOfUnread(loaded, context.cniFiles);
  return { cluster, notes, rest: { assumed: [], facts, contradictions: [], limits: [] } };
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
 * manifest does not. `overrides` go before what the texts say; `load` reads manifests.
 */
export function readInput(
  texts: readonly InputText[],
  overrides: FileOverrides = {},
  load: (files: readonly ManifestFile[]) => Manifests = loadManifests,
): ClusterInputResult {
  const { build } = overrides;
  const given = texts.map((each) => ({ ...each, text: withoutPrompts(each.text) }));
  const mixed = given.filter((each) => isLong(each) && isClusterFile(each.text));
  if (mixed.length > 0) return { problems: mixed.map(clusterFileInLong) };
  const cniFiles = given.filter((each) => !isLong(each) && isNetworkText(each));
  const rest = given.filter((text) => !cniFiles.includes(text));
  const others = rest.flatMap((text) => otherText(text) ?? []);
  const split = rest.filter(({ name }) => !others.some(({ file }) => file === name)).map(splitText);
  const clusterFiles = split.flatMap((each) => each.clusterFiles);
  const read = load(split.flatMap(({ manifests }) => manifests ?? []));
  const loaded =
    build === undefined ? read : { ...read, objects: read.objects.map((each) => nodeOnBuild(each, build)) };
  const configurations = loaded.configurations.filter(({ isSign }) => !isSign);
  const isEmpty = loaded.objects.length + configurations.length + cniFiles.length === 0;
  if (texts.length > 0 && clusterFiles.length === 0 && isEmpty) {
    const problems = [...others, ...loaded.problems];
    return { problems: problems.length > 0 ? problems : emptyTexts(given) };
  }
  const found = fileOf(clusterFiles, loaded, { cniFiles, overrides });
  if (!("cluster" in found)) return found;
  const { objects } = loaded;
  const cluster = withPolicyEngine(found.cluster, loaded, clusterFiles.length === 0);
  const problems = [...others, ...loaded.problems];
  const notes = [...foldersUnread(texts), ...found.notes, ...loaded.notes];
  const limits = [
    ...found.rest.limits,
    ...furtherPolicyLimits(loaded.policies),
    ...unreadTextLimits(loaded.problems),
  ];
  const nameless = namelessPods(objects);
  const assumed = [...found.rest.assumed, ...programsAssumed(objects, nameless)];
  const contradictions = [
    ...found.rest.contradictions,
    ...namesContradicted(nameless),
    ...lonelyPorts(objects),
  ];
  const { facts } = found.rest;
  const told = cluster === found.cluster ? facts : withEngineOfObjects(facts, cluster);
  const rests = { facts: told, assumed, contradictions, limits };
  return { input: { file: cluster, objects, notes, problems, ...rests } };
}
