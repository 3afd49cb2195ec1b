/** Texts → a cluster that is up. The only place that knows who brings it up. */
import { getHeapStatistics } from "node:v8";
import { ProblemsError } from "#cluster/api/error-details.ts";
import { isFields } from "#core/base/json.ts";
import type { ClusterFile } from "#cluster/file/cluster-file.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import type { ManifestReader, Verifier } from "#cluster/api/held-cluster.ts";
import { furtherPolicyLimits } from "#cluster/limits/further-policies.ts";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { splitText } from "#cluster/input/split-text.ts";
import { openSession as openCluster } from "#cluster/session/open-session.ts";
import {
  type ClusterSession,
  type InputRemarks,
  type InputText,
  type Raising,
  type SessionProblem,
  toSessionProblem,
} from "#cluster/session/session.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import type { ComparisonPlan } from "#cluster/classes/node-classes.ts";
import { type VerifyOptions, type VerifyPlan, planVerification } from "#cluster/verify/plan.ts";
import { KeptResults } from "#cluster/verify/kept/kept-results.ts";
import { judgeAgain, verifyAgain } from "#cluster/verify/kept/verify-again.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { explainVerification } from "#diagnose/verify-text/explain-verification.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Told how far the bring-up is. */
export type ReportProgress = (text: string, done: number, total: number) => void;

/** How large the cluster of an input will be, before anything of it is there. */
export interface ClusterSize {
  readonly nodes: number;
  readonly pods: number;
  readonly services: number;
}

/** Told of the bring-up of a cluster. */
export interface OpenReport {
  /** Now and then while manifests are read, with the objects so far; what it throws ends the reading. */
  readonly reads?: (objects: number) => void;
  readonly begins?: (size: ClusterSize) => void;
  readonly progress?: ReportProgress;
  /** Before so many nodes that wait come up because all do; what it throws keeps them waiting. */
  readonly beforeRest?: (nodes: number) => void;
}

/**
 * Pods, counted once for each node: what kube-proxies of a cluster program grows with it. Up to here a cluster that stays
 * up has all its machines at once (docs/decisions/0013-machines-on-demand.md).
 */
const AT_THE_START_MAX = 300_000;

function raisingBySize({ nodes, pods }: ClusterSize): Raising {
  return nodes * pods > AT_THE_START_MAX ? "when asked" : "at the start";
}

/** A cluster that is up, and what the user should know of its input. */
export interface OpenedCluster extends InputRemarks {
  /** What is said about the texts, and what was assumed because no cluster file says it; the cluster's own notes are its. */
  readonly input: InputRemarks;
  readonly session: ClusterSession;
  readonly readManifests: ManifestReader;
  readonly verify: Verifier;
  /** What `verify` would ask, for whoever asks it in parts. */
  /** @param comparisons machines that will be compared, where flows may rest on those of equal nodes. */
  readonly plan: (comparisons?: ComparisonPlan) => VerifyPlan;
  /** What the programs of its nodes remember, for whoever compares machines whole. */
  readonly memories: RunningCluster["memories"];
  /** Verifies it, and keeps what is known already of a cluster that was like it. */
  readonly judge: (known: KeptResults, at: string) => AsyncGenerator<number, VerifyReport, undefined>;
  /** The cluster's Kubernetes API. */
  readonly openKubeSource: RunningCluster["openKubeSource"];
}

function verifyOptions(session: ClusterSession, input: InputRemarks): VerifyOptions {
  return {
    troubles: session.troubles(),
    limits: [...session.limits(), ...(input.limits ?? [])],
    input: { ...input, notes: [...input.notes, ...session.notes().map(toSessionProblem)] },
  };
}

/** Verifies one cluster again and again. */
function verifier(): Verifier {
  const known = new KeptResults();
  return async (session, input, isWhole) => {
    const at = new Date().toISOString();
    const options = { ...verifyOptions(session, input), at, isWhole };
    return explainVerification(await verifyAgain(session, known, options));
  };
}

/** An object that may say how many pods it asks for. */
interface MaybeSized {
  readonly kind: string;
  readonly spec?: unknown;
}

/** Pods of the input, and those that its workloads ask for: about as many as there will be; and its Services. */
function sizeOf({ nodes, pods }: ClusterFile, objects: readonly LoadedObject[]): ClusterSize {
  const asked = objects.reduce((sum, { object: { kind, spec } }: { readonly object: MaybeSized }) => {
    if (kind === "Pod") return sum + 1;
    return isFields(spec) && typeof spec["replicas"] === "number" ? sum + spec["replicas"] : sum;
  }, 0);
  const services = objects.filter(({ object }) => object.kind === "Service").length;
  return { nodes: nodes.length, pods: pods.length + asked, services };
}

function refuseClusterFile({ name }: InputText): SessionProblem {
  return {
    code: "bad-usage",
    message: WORDS.clusterFileOnlyAtUp,
    advice: WORDS.adviceStartOver({ name }),
    where: { file: name, line: 1, column: 1, field: "" },
  };
}

const readManifests: ManifestReader = (inputs, namespace) => {
  const split = inputs.map(splitText);
  const clusterFiles = split.flatMap((each) => each.clusterFiles);
  const manifests = split.flatMap((each) => each.manifests ?? []);
  const { objects, policies, problems, notes } = loadManifests(manifests, namespace);
  return {
    objects,
    limits: furtherPolicyLimits(policies),
    problems: [...clusterFiles.map(refuseClusterFile), ...problems.map(toSessionProblem)],
    notes: notes.map(toSessionProblem),
  };
};

/** What a connection takes on a switch port (bench/README.md, "memory of a flow"). */
const FLOW_BYTES = 3_072;
/** The other half is for machines, programs and answers. */
const FLOW_SHARE = 0.5;
/**
 * No question comes near to this: what it answers does not depend on the machine (docs/reference/durability.md). It takes
 * less than half of the smallest heap that a cluster comes up in.
 */
const FLOWS_MIN = 16_384;

/** Of the limit that Node tells, what is for new objects alone: three times 64 MiB, in Node 22 three times 16. */
const NEW_BYTES: number = (Number.parseInt(process.versions.v8, 10) >= 13 ? 192 : 48) * 2 ** 20;

/** Bytes that this process can keep. */
export function heapLimit(): number {
  return getHeapStatistics().heap_size_limit - NEW_BYTES;
}

/** Connections that this process has memory for. */
function flowsInMemory(): number {
  const bytes = Math.min(process.availableMemory(), heapLimit());
  return Math.max(FLOWS_MIN, Math.floor((bytes * FLOW_SHARE) / FLOW_BYTES));
}

/**
 * Brings up the cluster that the texts describe. `overrides` go before what the texts say.
 * @throws ProblemsError with everything that is wrong with a cluster file; HcnError when HNS refuses the network.
 */
export async function openSession(
  inputs: readonly InputText[],
  { reads, begins, progress, beforeRest }: OpenReport = {},
  overrides: FileOverrides = {},
  raising: Raising | "by size" = "at the start",
): Promise<OpenedCluster> {
  const read = readInput(inputs, overrides, (files) => loadManifests(files, undefined, reads));
  if (!("input" in read)) throw new ProblemsError(read.problems.map(toSessionProblem));
  const { file, objects, notes, problems, assumed, facts, limits } = read.input;
  const contradictions = read.input.contradictions.map(toSessionProblem);
  const size = sizeOf(file, objects);
  begins?.(size);
  let nodes = 0;
  const { session, report: begun } = await openCluster(
    { file, objects, limits, flowsMax: flowsInMemory() },
    {
      nodeReady: ({ name }) => {
        nodes++;
        progress?.(`node ${name} is up`, nodes, file.nodes.length);
      },
      event: (event) => {
        if (event.type === "progress") progress?.(event.text, event.done, event.total);
      },
      ...(beforeRest === undefined ? {} : { beforeRest }),
    },
    raising === "by size" ? raisingBySize(size) : raising,
  );
  const refused = [...problems, ...begun.problems].map(toSessionProblem);
  const said = {
    problems: refused,
    notes: [...assumed, ...notes, ...begun.applied].map(toSessionProblem),
    contradictions,
    facts,
  };
  return {
    session,
    readManifests,
    verify: verifier(),
    judge: (known, at) => judgeAgain(session, known, { ...verifyOptions(session, said), at }),
    plan: (comparisons) =>
      planVerification(session.cluster, undefined, {
        ...verifyOptions(session, said),
        ...(comparisons === undefined ? {} : { comparisons }),
      }),
    memories: () => session.memories(),
    openKubeSource: (options) => session.openKubeSource(options),
    problems: refused,
    notes: [...contradictions, ...[...notes, ...begun.notes].map(toSessionProblem)],
    input: said,
  };
}
