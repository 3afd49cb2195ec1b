/** `mullion apply` and `mullion delete`: change the objects of the running cluster, as kubectl does. */
import type { ApplyAnswer, DeleteAnswer } from "#cluster/api/documents.ts";
import { namesOfKind } from "#cluster/api/kube-kinds.ts";
import type { ObjectReference, SessionProblem } from "#cluster/session/session.ts";
import { connectRunning } from "./cluster-target.ts";
import { Failure, formatProblem, reportFindings } from "../failure.ts";
import type { KindSelection } from "../get/kinds.ts";
import { readInputs } from "../read-inputs.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { ApplyRequest, DeleteRequest } from "../verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** `deployment.apps/web`. */
function formatReference({ kind, name }: ObjectReference): string {
  const { singular, group } = namesOfKind(kind);
  return `${group === "" ? singular : `${singular}.${group}`}/${name}`;
}

/** Notes, and what could not be read. */
function reportInputProblems(answer: ApplyAnswer | DeleteAnswer, terminal: Terminal): void {
  const isTaken = answer.results.length > 0;
  reportFindings(answer, isTaken ? "The other objects were taken." : "Nothing was changed.", terminal);
}

function reportRefusal(
  reference: ObjectReference,
  problem: SessionProblem | undefined,
  terminal: Terminal,
): void {
  terminal.stderr(`${formatReference(reference)} refused\n`);
  if (problem !== undefined) terminal.stderr(formatProblem(problem));
}

export async function apply(request: ApplyRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectRunning(request.running);
  const inputs = await readInputs(request.inputs.files, request.inputs.isRecursive, terminal);
  const answer = await client.apply({ inputs, namespace: request.namespace });
  for (const { reference, outcome, problem } of answer.results) {
    if (outcome === "refused") reportRefusal(reference, problem, terminal);
    else terminal.stdout(`${formatReference(reference)} ${outcome}\n`);
  }
  reportInputProblems(answer, terminal);
  if (answer.results.length === 0 && answer.problems.length === 0)
    terminal.stderr("The files name no objects that this cluster takes.\n");
  const isGood = answer.problems.length === 0 && answer.results.every(({ outcome }) => outcome !== "refused");
  return isGood ? 0 : 2;
}

function toReferences(selections: readonly KindSelection[], namespace: string): readonly ObjectReference[] {
  return selections.flatMap(({ kind, objects }) => {
    if (kind.of !== "kubernetes") {
      throw new Failure(
        "bad-usage",
        WORDS.deleteHnsObjectsUnsupported,
        "Delete the pod or Service that they serve.",
      );
    }
    const { kind: name, isNamespaced } = kind.names;
    return objects.map((object) => ({ kind: name, namespace: isNamespaced ? namespace : "", name: object }));
  });
}

export async function deleteObjects(request: DeleteRequest, terminal: Terminal): Promise<ExitCode> {
  const references = toReferences(request.selections, request.namespace);
  const client = await connectRunning(request.running);
  const inputs = await readInputs(request.inputs.files, request.inputs.isRecursive, terminal);
  const answer = await client.delete({ inputs, references, namespace: request.namespace });
  for (const { reference, outcome, problem } of answer.results) {
    if (outcome === "deleted") terminal.stdout(`${formatReference(reference)} deleted\n`);
    else if (outcome === "refused") reportRefusal(reference, problem, terminal);
    else if (!request.isMissingGood) terminal.stderr(`${formatReference(reference)} not found\n`);
  }
  reportInputProblems(answer, terminal);
  if (answer.problems.length > 0 || answer.results.some(({ outcome }) => outcome === "refused")) return 2;
  const isMissing = answer.results.some(({ outcome }) => outcome === "not-found");
  return isMissing && !request.isMissingGood ? 1 : 0;
}
