/** Cells, and what came of them, in the words of the report. */
import { defined } from "#core/base/assert.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { PageDifference } from "#core/catalogue/documentation.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Cell } from "./cells/cell.ts";
import type { Expectation } from "#core/catalogue/expectations.ts";
import type { VerifyModel, VerifyNode } from "./model.ts";
import { nodeOf } from "./facts.ts";
import type { RestsOn } from "./resting-cells.ts";
import type { CellResult, Disagreement } from "./observation.ts";
import { type ClusterTrouble, type InputRemarks, type SessionProblem, placeOf } from "../session/session.ts";
import type {
  CellDisagreement,
  CellLimit,
  CellOutcome,
  NotJudged,
  PageDifferenceReport,
  VerifyBasis,
  VerifyCell,
  VerifyCounts,
  VerifyFinding,
} from "./report.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** A cell with what came of it. */
export interface Evaluated {
  readonly cell: Cell;
  readonly result: CellResult;
  /** Why it is not judged; empty when it is. */
  readonly limits: readonly CellLimit[];
  /** The cell that was tried in its place. */
  readonly restsOn?: RestsOn;
}

function verdictOf({ result: { attempts, disagreement }, limits }: Evaluated): VerifyCell["verdict"] {
  if (limits.length > 0) return "not-judged";
  if (disagreement !== undefined) return "finding";
  return attempts === undefined ? "not-tried" : "as-expected";
}

/** The expected value in words. */
export function describeExpectation(expected: Expectation): string {
  switch (expected.outcome) {
    case "works":
      return "works";
    case "denied":
      return expected.proof === "any-failure" ? "denied" : `denied: ${expected.code}`;
    case "not-applicable":
      return "does not apply";
  }
}

/** What is said of a cell that is not judged. */
function unjudged({ cell, result, limits }: Evaluated): Pick<VerifyCell, "notJudged" | "observed"> {
  if (limits.length === 0) return {};
  return { notJudged: limits, observed: result.disagreement?.observed ?? describeExpectation(cell.expected) };
}

function systemOf(os: Cell["sourceOs"], node: VerifyNode | undefined): string {
  if (node?.windows === undefined) return os;
  const { profile, revision } = node.windows;
  return revision === undefined ? profile.name : `${profile.name}.${revision}`;
}

/** The node behind each reference that a cell may ask: nodes, and the nodes of pods. */
export function nodesByReference(model: VerifyModel): ReadonlyMap<string, VerifyNode> {
  const nodes = model.nodes.map((node) => [node.reference, node] as const);
  return new Map([...nodes, ...model.pods.map(({ reference, node }) => [reference, node] as const)]);
}

/** The difference in the words of the report: ids, for whoever has the texts. */
export function describePage(page: PageDifference | undefined): PageDifferenceReport | undefined {
  if (page === undefined) return undefined;
  const { sentence, difference } = page;
  return {
    edition: defined(sentence.editions.at(-1), "a sentence stands in an edition"),
    sentence: sentence.id,
    difference: difference.id,
    evidence: difference.evidence,
    source: difference.source,
  };
}

function describeCell(evaluated: Evaluated, nodes: ReadonlyMap<string, VerifyNode>): VerifyCell {
  const { cell, result, restsOn } = evaluated;
  const { expected, target, source } = cell;
  const sender = source?.kind === "pod" ? source.node : source?.kind === "node" ? source : undefined;
  const receiver = nodes.get(target.reference);
  const isCodeGiven =
    expected.outcome !== "works" && !(expected.outcome === "denied" && expected.proof === "any-failure");
  const code = isCodeGiven ? expected.code : undefined;
  const documentation = describePage(cell.page);
  return {
    flow: cell.flow,
    protocol: cell.protocol,
    ...(cell.family === 6 ? { family: "ipv6" as const } : {}),
    relation: cell.relation,
    from: cell.sourceReference,
    fromSystem: systemOf(cell.sourceOs, sender),
    to: target.reference,
    toSystem:
      cell.relation === "service" && receiver === undefined ? "service" : systemOf(cell.targetOs, receiver),
    ...(target.port === 0 ? {} : { port: target.port }),
    ...(target.name === undefined ? {} : { name: target.name }),
    expected: expected.outcome,
    ...(code === undefined ? {} : { code }),
    row: cell.row,
    documentedIn: cell.documentedIn,
    ...(documentation === undefined ? {} : { documentation }),
    verdict: verdictOf(evaluated),
    ...unjudged(evaluated),
    attempts: restsOn === undefined ? (result.attempts ?? 0) : 0,
    ...(restsOn === undefined ? {} : { restsOn }),
    ...(cell.probe === "sweep" ? { backEnds: result.backEnds ?? 0 } : {}),
    standsFor: cell.standsFor,
  };
}

/** The words behind `mullion trace` that show the cell. */
export function traceWords(cell: Cell): string | undefined {
  const { target, protocol } = cell;
  if (cell.source === undefined || cell.flow === "bring-up") return undefined;
  const isNamed = /^(?:pod|node|service)\//.test(target.reference) || cell.relation === "outside";
  const reference = isNamed && cell.flow !== "outside-to-ingress" ? target.reference : undefined;
  // Who is asked by name is traced by name: the name may be what leads nowhere. Not where the receiver itself is meant.
  const isReceiverMeant = cell.expected.outcome === "denied" && cell.expected.proof === "not-reached";
  const to =
    (isReceiverMeant ? undefined : target.name) ??
    reference ??
    (target.address === undefined ? undefined : formatIp(target.address));
  if (to === undefined) return undefined;
  const how =
    protocol === "icmp"
      ? "--protocol icmp"
      : `${protocol === "udp" ? "--protocol udp " : ""}--port ${target.port}`;
  return `${cell.sourceReference} ${to} ${how}${cell.family === 6 ? " --family ipv6" : ""}`;
}

/** What a report says of a cell, wherever it is put together. */
export function describeOutcome(
  position: number,
  evaluated: Evaluated,
  nodes: ReadonlyMap<string, VerifyNode>,
): CellOutcome {
  const { cell, result, limits } = evaluated;
  const { disagreement } = result;
  const trace = traceWords(cell);
  const isFound = disagreement !== undefined && limits.length === 0;
  return {
    position,
    cell: describeCell(evaluated, nodes),
    ...(trace === undefined || (limits.length === 0 && !isFound) ? {} : { trace }),
    ...(isFound ? { disagreement: describeDisagreement(cell, disagreement, nodes) } : {}),
  };
}

function describeDisagreement(
  { source, sourceReference, target }: Cell,
  { expected, observed, code, at }: Disagreement,
  nodes: ReadonlyMap<string, VerifyNode>,
): CellDisagreement {
  const own = source === undefined ? nodes.get(sourceReference) : nodeOf(source);
  return {
    expected,
    observed,
    ...(code === undefined ? {} : { code }),
    ...(at === undefined ? {} : { at }),
    sender: own?.name ?? sourceReference,
    receiver: nodes.get(target.reference)?.name ?? "",
  };
}

/** Verdicts of cells that came out neither as expected nor as not applicable. */
const OPEN: ReadonlySet<VerifyCell["verdict"]> = new Set(["finding", "not-judged"]);

export function countCells(cells: readonly VerifyCell[], attempts: number, findings: number): VerifyCounts {
  const of = (expected: VerifyCell["expected"]): number =>
    cells.filter(({ expected: own, verdict }) => own === expected && !OPEN.has(verdict)).length;
  const resting = cells.flatMap(({ restsOn }) => restsOn?.how ?? []);
  const compared = resting.filter((how) => how === "compared").length;
  const answered = cells.filter(({ verdict }) => verdict !== "not-tried").length;
  return {
    cells: cells.reduce((sum, { standsFor }) => sum + standsFor, 0),
    tried: answered - resting.length,
    ...(resting.length === 0 ? {} : { compared, takenOver: resting.length - compared }),
    attempts,
    works: of("works"),
    denied: of("denied"),
    notApplicable: of("not-applicable"),
    notJudged: cells.filter(({ verdict }) => verdict === "not-judged").length,
    findings,
  };
}

// What the answer rests on. What keeps it from being one is a finding: nothing was tried, or something was left out that
// could change a flow.

/** Of notes about objects that were passed by and could change a flow. Policies that are about one are a limit of it. */
const LEFT_OUT: readonly KnowledgeCode[] = [
  "manifest-kind-not-carried-out",
  "mesh-sidecar-left-out",
  "pod-security-violated",
  "namespace-limit-exceeded",
];

/** Of notes about what is taken to be so. */
const ASSUMED: readonly KnowledgeCode[] = [
  "cluster-assumed",
  "manifest-kind-unknown",
  "service-target-port-undeclared",
];

/** What is said of a limit is not said again as a note. */
export function basisOf(
  { problems, notes, facts = [], contradictions = [] }: InputRemarks,
  notJudged: readonly NotJudged[] = [],
): VerifyBasis {
  const isAssumed = ({ code }: SessionProblem): boolean => ASSUMED.includes(code);
  const limits = new Set(notJudged.map(({ code }) => code));
  const said = notes.filter((note) => !isAssumed(note) && !limits.has(note.code));
  const isLeftOut = ({ code }: SessionProblem): boolean => LEFT_OUT.includes(code);
  return {
    facts,
    contradictions,
    assumptions: notes.filter(isAssumed),
    refused: [...problems, ...said.filter(isLeftOut)],
    notJudged,
    notes: said.filter((note) => !isLeftOut(note)),
  };
}

function refusedFinding(problem: SessionProblem): VerifyFinding {
  const field = problem.where?.field ?? "";
  return {
    about: placeOf(problem) || "the input",
    expected: "all of the input is in the cluster",
    observed: `left out: ${field === "" ? "" : `${field}: `}${problem.message}`,
    code: problem.code,
  };
}

function contradictionFinding(problem: SessionProblem): VerifyFinding {
  return {
    about: placeOf(problem) || "the input",
    expected: "the input shows one network, which Windows can have",
    observed: problem.message,
    code: problem.code,
  };
}

/** True for a cell that asks for a packet: what did not come up is known without one. */
function isAsked({ flow, verdict }: VerifyCell): boolean {
  const isSeen = flow === "bring-up" || flow === "pod-in-host-network" || flow === "service-state";
  return verdict !== "not-tried" && !isSeen;
}

/** What did not come up and is on no node of the cluster, so that no cell is about it. */
export function troubleFindings(
  { nodes }: VerifyModel,
  troubles: readonly ClusterTrouble[],
): readonly VerifyFinding[] {
  const known = new Set(nodes.map(({ name }) => name));
  return troubles
    .filter(({ node }) => !known.has(node))
    .map(({ reference, text, code }) => ({
      about: reference,
      expected: "all of the input is in the cluster",
      observed: text,
      code,
    }));
}

/** The findings that are about the input as a whole, before those of cells; `cells`: all of them, where they are known. */
export function inputFindings(
  cluster: string,
  { refused, contradictions }: VerifyBasis,
  cells: readonly VerifyCell[] | undefined,
): readonly VerifyFinding[] {
  const nothing: VerifyFinding = {
    about: `cluster/${cluster}`,
    expected: "flows to try",
    observed: WORDS.noFlowTried,
    code: "nothing-tried",
  };
  return [
    ...(cells?.some(isAsked) === false ? [nothing] : []),
    ...contradictions.map(contradictionFinding),
    ...refused.map(refusedFinding),
  ];
}
