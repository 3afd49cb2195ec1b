/** Texts → a cluster that is up. The only place that knows who brings it up. */
import { ProblemsError } from "../../api/error-details.ts";
import type { ManifestReader, Verifier } from "../../api/held-cluster.ts";
import { parseClusterFile } from "../../cluster/file/parse-cluster-file.ts";
import type { FileProblem } from "../../cluster/file/problem.ts";
import { FixedSession, refuseManifests } from "../../cluster/fixed-session.ts";
import { openCluster } from "../../cluster/open-cluster.ts";
import { readModel } from "../../cluster/verify/model-of-cluster.ts";
import type { ObserveProgress } from "../../cluster/verify/observe.ts";
import { verifyCluster } from "../../cluster/verify/verify.ts";
import type { ClusterSession, InputText, SessionProblem } from "../../cluster/session.ts";

/** Two Windows nodes and a Linux node: what stands for a cluster file when there is none. */
const DEFAULT_CLUSTER: InputText = {
  name: "the default cluster",
  text: `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: default}
nodes:
  - {name: linux-1, os: linux, address: 10.0.0.10}
  - {name: win-1, os: windows, address: 10.0.0.11, build: ws2022}
  - {name: win-2, os: windows, address: 10.0.0.12, build: ws2022}
`,
};

/** Told how far the bring-up is. */
export type ReportProgress = (text: string, done: number, total: number) => void;

export interface OpenedSession {
  readonly session: ClusterSession;
  readonly readManifests: ManifestReader;
  readonly verify: Verifier;
  /** What the user should know, although it did not stop the bring-up. */
  readonly notes: readonly SessionProblem[];
}

function toProblem({ code, file, line, column, path, message, advice }: FileProblem): SessionProblem {
  return { code, message, advice, where: { file, line, column, field: path } };
}

function verifier(progress: ObserveProgress | undefined): Verifier {
  const options = progress === undefined ? {} : { progress };
  return ({ cluster }) => verifyCluster(cluster, readModel(cluster), options);
}

function twoFiles(inputs: readonly InputText[]): ProblemsError {
  const [first, second] = inputs;
  const message = `${second?.name ?? ""} comes on top of ${first?.name ?? ""}, and this version takes one cluster file`;
  return new ProblemsError([{ code: "bad-usage", message, advice: "Name one cluster file with -f." }]);
}

/**
 * Brings up the cluster that the texts describe. `observing` hears how far a verification is.
 * @throws ProblemsError with everything that is wrong with them; HcnError or CniError when a part refuses.
 */
export async function openSession(
  inputs: readonly InputText[],
  report: ReportProgress,
  observing?: ObserveProgress,
): Promise<OpenedSession> {
  if (inputs.length > 1) throw twoFiles(inputs);
  const { name, text } = inputs[0] ?? DEFAULT_CLUSTER;
  const parsed = parseClusterFile(text, name);
  if ("problems" in parsed) throw new ProblemsError(parsed.problems.map(toProblem));
  const total = parsed.cluster.nodes.length;
  let done = 0;
  const cluster = await openCluster(parsed.cluster, {
    nodeReady: (node) => {
      done++;
      report(`node ${node.name} is up`, done, total);
    },
  });
  return {
    session: new FixedSession(cluster),
    readManifests: refuseManifests,
    verify: verifier(observing),
    notes: [],
  };
}
