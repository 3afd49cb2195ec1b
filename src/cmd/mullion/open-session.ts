/** Texts → a cluster that is up. The only place that knows who brings it up. */
import { ProblemsError } from "../../api/error-details.ts";
import type { ManifestReader, Verifier } from "../../api/held-cluster.ts";
import { readInput } from "../../cluster/input/read-input.ts";
import { openSession as openCluster } from "../../cluster/open-session.ts";
import type { ClusterSession, InputText, SessionProblem } from "../../cluster/session.ts";
import { readModel } from "../../cluster/verify/model-of-cluster.ts";
import type { ObserveProgress } from "../../cluster/verify/observe.ts";
import { verifyCluster } from "../../cluster/verify/verify.ts";
import type { FileProblem } from "../../knowledge/file-problem.ts";
import { loadManifests } from "../../kube/mod.ts";

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

const readManifests: ManifestReader = (inputs, namespace) => {
  const { objects, problems, notes } = loadManifests(inputs, namespace);
  return { objects, problems: problems.map(toProblem), notes: notes.map(toProblem) };
};

/**
 * Brings up the cluster that the texts describe. `observing` hears how far a verification is.
 * @throws ProblemsError with everything that is wrong with a cluster file; HcnError when HNS refuses the network.
 */
export async function openSession(
  inputs: readonly InputText[],
  report: ReportProgress,
  observing?: ObserveProgress,
): Promise<OpenedSession> {
  const read = readInput(inputs);
  if (!("input" in read)) throw new ProblemsError(read.problems.map(toProblem));
  const { file, objects, notes, problems } = read.input;
  const heard: SessionProblem[] = [];
  let nodes = 0;
  const { session, report: begun } = await openCluster(
    { file, objects },
    {
      nodeReady: ({ name }) => {
        nodes++;
        report(`node ${name} is up`, nodes, file.nodes.length);
      },
      event: (event) => {
        if (event.type === "progress") report(event.text, event.done, event.total);
        if (event.type === "note") heard.push(noteOf(event));
      },
    },
  );
  return {
    session,
    readManifests,
    verify: verifier(observing),
    notes: [...[...problems, ...notes, ...begun.problems, ...begun.notes].map(toProblem), ...heard],
  };
}

type NoteEvent = Extract<
  Parameters<NonNullable<Parameters<typeof openCluster>[1]>["event"]>[0],
  { type: "note" }
>;

function noteOf({ text, code, reference }: NoteEvent): SessionProblem {
  const subject =
    reference === undefined
      ? ""
      : `${reference.kind} ${reference.namespace === "" ? "" : `${reference.namespace}/`}${reference.name}: `;
  const advice = code === undefined ? "" : `See: mullion explain ${code}`;
  return { code: code ?? "cluster-assumed", message: `${subject}${text}`, advice };
}
