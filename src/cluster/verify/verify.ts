/** The whole check: cells, their observation in a copy, the comparison, the report. */
import { defined } from "#core/base/assert.ts";
import { type KnowledgeCode, isKnowledgeCode } from "#core/catalogue/codes.ts";
import { FLOWS } from "#core/catalogue/expectations.ts";
import { type Ip, formatIp, prefixContains } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import type { FlowLimit } from "../session/flow-limit.ts";
import type { ClusterTrouble, InputRemarks } from "../session/session.ts";
import type { TraceLeg, TraceReport } from "../trace/trace-report.ts";
import { followAttempt } from "../trace/trace.ts";
import { type Cell, asIpv6 } from "./cells/cell.ts";
import { CellLimits, notJudgedFindings } from "./cell-limits.ts";
import { attemptsExpected } from "./cells/cell-run.ts";
import {
  type Evaluated,
  basisOf,
  countCells,
  describeCell,
  describeFinding,
  inputFindings,
  nodesByReference,
  traceWords,
  troubleFindings,
} from "./describe.ts";
import { nodeOf } from "./facts.ts";
import { evaluate } from "./evaluate.ts";
import type { VerifyModel, VerifyNode } from "./model.ts";
import { readModel } from "./model-of-cluster.ts";
import type { CellAttempt, Evidence, Observation } from "./observation.ts";
import { type ObserveProgress, observeCells } from "./observe.ts";
import { ownCells } from "./cells/own-cells.ts";
import { podCells } from "./cells/pod-cells.ts";
import type { VerifyBasis, VerifyCell, VerifyFinding, VerifyReport } from "./report.ts";
import { serviceCells } from "./cells/service-cells.ts";
import { compartmentOf, setStage } from "./stage.ts";
import { stateCells } from "./cells/state-cells.ts";

function codesOf(leg: TraceLeg | undefined): readonly KnowledgeCode[] {
  return (leg?.steps ?? []).flatMap(({ code }) => (code === undefined ? [] : [code]));
}

function evidenceOf(report: TraceReport): Evidence {
  const codes = [
    ...codesOf(report.forward),
    ...codesOf(report.reply),
    ...(report.code === undefined ? [] : [report.code]),
  ];
  return {
    code: report.code,
    codes: [...new Set(codes)].filter((code) => isKnowledgeCode(code)),
    summary: report.summary,
  };
}

/**
 * Follows an attempt such as `failed` of `cell` in `cluster`, a copy that nobody needs afterwards, to see why it ended as
 * it did. A cell that is denied counts as proved only by what its trace shows, and a cell that came out otherwise than
 * expected is tried again here, alone.
 */
function traceCell(cluster: Cluster, cell: Cell, failed: CellAttempt): Evidence {
  const source = defined(cell.source, "a cell that is tried has a sender");
  const address = defined(cell.target.address ?? failed.resolved, "a pod or node was asked");
  const node = nodeOf(source);
  const { report } = followAttempt(cluster, {
    from: {
      description: {
        reference: source.reference,
        ...(node === undefined ? {} : { node: node.name }),
        address: formatIp(source.address),
      },
      compartment: compartmentOf(cluster, source),
      ip: source.address,
    },
    to: {
      description: { reference: cell.target.reference, address: formatIp(address) },
      compartment: undefined,
      ip: address,
    },
    protocol: cell.protocol,
    port: cell.protocol === "icmp" ? undefined : cell.target.port,
    sourcePort: failed.sourcePort,
  });
  return evidenceOf(report);
}

export interface VerifyOptions {
  readonly progress?: ObserveProgress;
  /** What did not come up. */
  readonly troubles?: readonly ClusterTrouble[];
  /** What was said about the input when it was read and applied. */
  readonly input?: InputRemarks;
  /** What keeps flows from being judged. */
  readonly limits?: readonly FlowLimit[];
}

/** The question of a cell without what it is called: the user's expectation of it replaces the table's. */
function questionOf(cell: Cell): string {
  const { target, protocol, sourceReference, probe } = cell;
  return `${cell.family} ${protocol} ${sourceReference} ${target.reference} ${target.name ?? ""} ${target.port} ${probe}`;
}

/** Each question once; who comes first is kept and stands for the others' pairs as well. */
function withoutRepetitions(cells: readonly Cell[]): readonly Cell[] {
  const kept = new Map<string, Cell>();
  for (const cell of cells) {
    const first = kept.get(cell.id);
    if (first === undefined) kept.set(cell.id, cell);
    else if (first.standsFor < cell.standsFor) kept.set(cell.id, { ...first, standsFor: cell.standsFor });
  }
  return [...kept.values()];
}

const FLOW_ORDER: ReadonlyMap<string, number> = new Map(FLOWS.map((flow, index) => [flow, index]));

function inOrder(cells: readonly Cell[]): readonly Cell[] {
  const last = FLOWS.length;
  const rank = ({ flow, family }: Cell): number =>
    (FLOW_ORDER.get(flow) ?? last) + (family === 6 ? last + 1 : 0);
  return cells.toSorted((a, b) => rank(a) - rank(b));
}

/** Flows that begin with a name, which is asked for by IPv4 alone. */
function isByName({ flow, target }: Cell): boolean {
  return target.name !== undefined || flow.endsWith("-name");
}

/** The same questions by IPv6: none in a cluster of IPv4 alone. */
function ipv6Cells(cluster: Cluster, limits: CellLimits): readonly Cell[] {
  if (cluster.file.ipv6 === undefined) return [];
  const model = readModel(cluster, 6, limits);
  const cells = [...podCells(model), ...serviceCells(model, nodeBehind(cluster, model))];
  return cells.filter((cell) => !isByName(cell)).map(asIpv6);
}

/** The node to which the router leads an address: where the address of a load balancer comes out. */
function nodeBehind(cluster: Cluster, model: VerifyModel): (address: Ip) => VerifyNode | undefined {
  const { compartment } = cluster.underlay.router;
  return (address) => {
    const nextHop = compartment
      .listRoutes()
      .find((route) => route.nextHop !== undefined && prefixContains(route.prefix, address));
    return model.nodes.find((node) => node.address === nextHop?.nextHop);
  };
}

/** Attempts that one copy is made for: it remembers each connection, some 12 KB of it. */
const ATTEMPTS_PER_COPY = 20_000;

/** Cells in their order, as many at a time as a copy is made for. */
function* inParts(cells: readonly Cell[]): Generator<readonly Cell[]> {
  let part: Cell[] = [];
  let attempts = 0;
  for (const cell of cells) {
    const more = attemptsExpected(cell);
    if (attempts + more > ATTEMPTS_PER_COPY && part.length > 0) {
      yield part;
      part = [];
      attempts = 0;
    }
    part.push(cell);
    attempts += more;
  }
  if (part.length > 0) yield part;
}

function observeInCopies(
  cluster: Cluster,
  model: VerifyModel,
  cells: readonly Cell[],
  progress?: ObserveProgress,
): ReadonlyMap<string, Observation> {
  const observations = new Map<string, Observation>();
  for (const part of inParts(cells)) {
    const before = observations.size;
    const observed = (done: number): void => progress?.observed(before + done, cells.length);
    const stage = setStage(cluster, model, cells);
    for (const [id, each] of observeCells(stage, part, { observed })) observations.set(id, each);
  }
  return observations;
}

function isTried(cell: Cell): boolean {
  if (cell.expected.outcome === "not-applicable" || cell.source === undefined || cell.probe === "state")
    return false;
  return cell.target.address !== undefined || cell.target.name !== undefined;
}

/** A copy of its own for attempts that are made alone, made when the first one is. */
class Bench {
  private readonly cluster: Cluster;
  private readonly model: VerifyModel;
  private readonly cells: readonly Cell[];
  private copy: Cluster | undefined;
  attempts = 0;

  constructor(cluster: Cluster, model: VerifyModel, cells: readonly Cell[]) {
    this.cluster = cluster;
    this.model = model;
    this.cells = cells;
  }

  /** Tries the cell once more, with nobody else at work. */
  observeAlone(cell: Cell): Observation {
    const observation = observeCells(this.stage(), [cell]).get(cell.id) ?? {
      attempts: [],
      resolved: undefined,
    };
    this.attempts += observation.attempts.length;
    return observation;
  }

  /** Follows the attempt that failed. */
  trace(cell: Cell, observation: Observation): Evidence | undefined {
    const failed = observation.attempts.find(({ outcome }) => outcome !== "answered");
    if (failed === undefined || (cell.target.address ?? failed.resolved) === undefined) return undefined;
    if (failed.outcome === "name-not-found" || failed.outcome === "name-wrong") return undefined;
    this.attempts++;
    return traceCell(this.stage(), cell, failed);
  }

  private stage(): Cluster {
    this.copy ??= setStage(this.cluster, this.model, this.cells);
    return this.copy;
  }
}

const NOTHING: Observation = { attempts: [] };

/** Compares what was seen; what disagrees is tried again alone, and only that counts. */
function settle(cell: Cell, first: Observation, bench: Bench, cluster: Cluster): Omit<Evaluated, "limits"> {
  const evidence = cell.expected.outcome === "denied" ? bench.trace(cell, first) : undefined;
  if (evaluate(cell, first, evidence, cluster) === undefined)
    return { cell, observation: first, disagreement: undefined };
  const again = bench.observeAlone(cell);
  const proof = bench.trace(cell, again);
  return { cell, observation: again, disagreement: evaluate(cell, again, proof, cluster) };
}

const NO_LIMITS: Evaluated["limits"] = Object.freeze([]);

/** All cells of the matrix, each question once. `states` are those that are answered by looking. */
export function listCells(
  cluster: Cluster,
  model: VerifyModel,
  limits: CellLimits,
  states: Iterable<Cell>,
): readonly Cell[] {
  const own = ownCells(cluster, model);
  const replaced = new Set(own.map(questionOf));
  const table = [
    ...podCells(model),
    ...serviceCells(model, nodeBehind(cluster, model)),
    ...ipv6Cells(cluster, limits),
    ...states,
  ];
  return inOrder(withoutRepetitions([...own, ...table.filter((cell) => !replaced.has(questionOf(cell)))]));
}

/** Findings about the input, then about limits, then about cells in their order. */
function listFindings(
  model: VerifyModel,
  troubles: readonly ClusterTrouble[],
  basis: VerifyBasis,
  evaluated: readonly Evaluated[],
  cells: readonly VerifyCell[],
): readonly VerifyFinding[] {
  const traceOf = (position: number): string | undefined => {
    const each = evaluated[position];
    return each === undefined ? undefined : traceWords(each.cell);
  };
  return [
    ...inputFindings(model.clusterName, basis, cells),
    ...troubleFindings(model, troubles),
    ...notJudgedFindings(basis.notJudged, cells, traceOf),
    ...evaluated.flatMap((each, position) =>
      each.disagreement === undefined || each.limits.length > 0
        ? []
        : [describeFinding(each, each.disagreement, position)],
    ),
  ];
}

/**
 * Checks every flow of `cluster`, which stays as it is: all attempts are made in copies. Without `given` the cluster is
 * read here, with pods apart that the limits tell apart.
 * @throws RequestError for an expectation of the cluster file about somebody who does not exist.
 */
export function verifyCluster(
  cluster: Cluster,
  given?: VerifyModel,
  options: VerifyOptions = {},
): VerifyReport {
  const limits = new CellLimits(cluster, options.limits ?? []);
  const model = given ?? readModel(cluster, 4, limits);
  const states = new Map(
    stateCells(model, options.troubles ?? []).map(({ cell, observation }) => [cell, observation]),
  );
  const cells = listCells(cluster, model, limits, states.keys());
  const tried = cells.filter(isTried);
  const observations = observeInCopies(cluster, model, tried, options.progress);
  const bench = new Bench(cluster, model, tried);
  const evaluated = cells.map((cell): Evaluated => {
    const state = states.get(cell);
    if (state !== undefined) {
      const disagreement = evaluate(cell, state, undefined, cluster);
      return { cell, observation: state, disagreement, limits: NO_LIMITS };
    }
    if (!isTried(cell)) return { cell, observation: undefined, disagreement: undefined, limits: NO_LIMITS };
    const settled = settle(cell, observations.get(cell.id) ?? NOTHING, bench, cluster);
    return { ...settled, limits: limits.of(cell) };
  });
  const nodes = nodesByReference(model);
  const described = evaluated.map((each) => describeCell(each, nodes));
  const summary = limits.summarize(described);
  const basis = basisOf(options.input ?? { problems: [], notes: [] }, summary.notJudged);
  const findings = listFindings(model, options.troubles ?? [], basis, evaluated, summary.cells);
  const sent =
    [...observations.values()].reduce((sum, { attempts }) => sum + attempts.length, 0) + bench.attempts;
  return {
    apiVersion: "mullion/v1alpha1",
    kind: "Verification",
    cluster: model.clusterName,
    compat: [...new Set(model.nodes.map(({ compat }) => compat))].toSorted(),
    basis,
    counts: countCells(summary.cells, sent, findings.length),
    cells: summary.cells,
    findings,
  };
}
