/** Texts → a cluster that is up. The only place that knows who brings it up. */
import { ProblemsError } from "#cluster/api/error-details.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import type { ManifestReader, Verifier } from "#cluster/api/held-cluster.ts";
import { furtherPolicyLimits } from "#cluster/limits/further-policies.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { splitText } from "#cluster/input/split-text.ts";
import { openSession as openCluster } from "#cluster/session/open-session.ts";
import {
  type ClusterSession,
  type InputRemarks,
  type InputText,
  type SessionProblem,
  toSessionProblem,
} from "#cluster/session/session.ts";
import type { ObserveProgress } from "#cluster/verify/observe.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import type { WindowsBuild } from "#core/catalogue/profiles.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { explainVerification } from "#diagnose/verify-text/explain-verification.ts";

/** Told how far the bring-up is. */
export type ReportProgress = (text: string, done: number, total: number) => void;

/** A cluster that is up, and what the user should know of its input. */
export interface OpenedCluster extends InputRemarks {
  /** What is said about the texts, and what was assumed because no cluster file says it; the cluster's own notes are its. */
  readonly input: InputRemarks;
  readonly session: ClusterSession;
  readonly readManifests: ManifestReader;
  readonly verify: Verifier;
  /** The cluster's Kubernetes API. */
  readonly openKubeSource: RunningCluster["openKubeSource"];
}

function verifier(progress: ObserveProgress | undefined): Verifier {
  return (session, input) => {
    const notes = [...input.notes, ...session.notes().map(toSessionProblem)];
    const options = {
      troubles: session.troubles(),
      limits: [...session.limits(), ...(input.limits ?? [])],
      input: { ...input, notes },
      ...(progress === undefined ? {} : { progress }),
    };
    return explainVerification(verifyCluster(session.cluster, undefined, options));
  };
}

function refuseClusterFile({ name }: InputText): SessionProblem {
  return {
    code: "bad-usage",
    message: "this is a cluster file, and a cluster takes one only when it comes up",
    advice: `To start over: mullion down, then mullion up -f ${name}. Manifests can be applied at any time.`,
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

/**
 * Brings up the cluster that the texts describe. `observing` hears how far a verification is; `build` is that of all
 * Windows nodes, whatever the texts say.
 * @throws ProblemsError with everything that is wrong with a cluster file; HcnError when HNS refuses the network.
 */
export async function openSession(
  inputs: readonly InputText[],
  report: ReportProgress,
  observing?: ObserveProgress,
  build?: WindowsBuild,
): Promise<OpenedCluster> {
  const read = readInput(inputs, build);
  if (!("input" in read)) throw new ProblemsError(read.problems.map(toSessionProblem));
  const { file, objects, notes, problems, assumed, facts, limits } = read.input;
  const contradictions = read.input.contradictions.map(toSessionProblem);
  let nodes = 0;
  const { session, report: begun } = await openCluster(
    { file, objects, limits },
    {
      nodeReady: ({ name }) => {
        nodes++;
        report(`node ${name} is up`, nodes, file.nodes.length);
      },
      event: (event) => {
        if (event.type === "progress") report(event.text, event.done, event.total);
      },
    },
  );
  const refused = [...problems, ...begun.problems].map(toSessionProblem);
  return {
    session,
    readManifests,
    verify: verifier(observing),
    openKubeSource: (options) => session.openKubeSource(options),
    problems: refused,
    notes: [...contradictions, ...[...notes, ...begun.notes].map(toSessionProblem)],
    input: {
      problems: refused,
      notes: [...assumed, ...notes, ...begun.applied].map(toSessionProblem),
      contradictions,
      facts,
    },
  };
}
