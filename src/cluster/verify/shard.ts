/**
 * A report in parts: what one machine of several has found out (schemas/verify-shard.v1alpha1.json), and the whole report
 * put together from all parts. One machine alone goes the same way, with one part.
 */
import { type JsonSchema, type ValueOf, DOCUMENT_VERSION, documentSchema } from "#core/base/shape.ts";
import { defined } from "#core/base/assert.ts";
import { LIMIT_REASON, type LimitReason, formatReason } from "../session/flow-limit.ts";
import { CLUSTER_FACT, SESSION_PROBLEM, type SessionProblem, placeOf } from "../session/session.ts";
import { withCauses } from "./causes.ts";
import {
  basisOf,
  countCells,
  describeOutcome,
  inputFindings,
  nodesByReference,
  troubleFindings,
} from "./describe.ts";
import { SHARD_MACHINES, type ShardMachines, machineNotes, machinesOf } from "./machines.ts";
import type { VerifyPlan } from "./plan.ts";
import {
  CELL_OUTCOME,
  SHARD_NUMBER,
  type ShardNumber,
  VERIFY_FINDING,
  type CellOutcome,
  type NotJudged,
  type VerifyBasis,
  type VerifyCell,
  type VerifyFinding,
  type VerifyPartial,
  type VerifyReport,
} from "./report.ts";
import type { CellResult } from "./observation.ts";
import type { BatchResult } from "./run-batch.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** What all parts of one report have in common. */
export const SHARD_SUBJECT = {
  text: "What is verified: the same in all shards.",
  fields: {
    version: { is: "text", text: "Of Mullion." },
    input: {
      is: "text",
      text: (): string => WORDS.shardSubjectInput,
    },
    allowed: { list: "text", text: "What --allow names." },
    command: { is: "text", text: "The command that traces in this cluster." },
  },
} as const;
export type ShardSubject = ValueOf<typeof SHARD_SUBJECT>;

/** Of a report that nobody merges. */
export const NO_SUBJECT: ShardSubject = Object.freeze({
  version: "",
  input: "",
  allowed: Object.freeze([]),
  command: "",
});

/** A class of nodes of which flows rest on others. */
export const SHARD_CLASS = {
  text: "A class of nodes of which flows rest on others.",
  fields: {
    digest: { is: "text", text: (): string => WORDS.shardClassDigest },
    nodes: { is: "count", text: "Nodes of the class." },
    tried: { is: "count", text: "Flows that this shard has tried for others of the class." },
  },
} as const;
export type ShardClass = ValueOf<typeof SHARD_CLASS>;

export const VERIFY_SHARD = {
  text: (): string => WORDS.verifyShard,
  document: "VerificationShard",
  fields: {
    shard: (): typeof SHARD_NUMBER => SHARD_NUMBER,
    subject: (): typeof SHARD_SUBJECT => SHARD_SUBJECT,
    cluster: { is: "text", text: "Its name." },
    compat: { list: ["upstream", "hardened"] },
    input: {
      is: {
        text: "What was said about the input.",
        fields: {
          problems: { list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM },
          notes: { list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM },
          contradictions: { list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM },
          facts: { list: (): typeof CLUSTER_FACT => CLUSTER_FACT },
        },
      },
      text: "What was said about the input.",
    },
    troubles: { list: (): typeof VERIFY_FINDING => VERIFY_FINDING, text: "What did not come up." },
    limits: { list: (): typeof LIMIT_REASON => LIMIT_REASON, text: "What keeps flows from being judged." },
    shares: { list: "count", text: "Cells of each shard, in their order." },
    attempts: { is: "count", text: "What this shard has sent." },
    outcomes: { list: (): typeof CELL_OUTCOME => CELL_OUTCOME, text: "Of the cells of this shard." },
  },
  optional: {
    machines: {
      is: (): typeof SHARD_MACHINES => SHARD_MACHINES,
      text: (): string => WORDS.verifyShardMachines,
    },
    classes: {
      list: (): typeof SHARD_CLASS => SHARD_CLASS,
      text: (): string => WORDS.verifyShardClasses,
    },
  },
} as const;
export type VerifyShard = ValueOf<typeof VERIFY_SHARD>;

export const SHARD_SCHEMA: JsonSchema = documentSchema("Mullion shard of a verification", VERIFY_SHARD);

/** What is said of all cells together, and the cells' own limits with their positions in it. */
function summarizeLimits(
  limits: readonly LimitReason[],
  cells: readonly VerifyCell[],
): { readonly notJudged: readonly NotJudged[]; readonly cells: readonly VerifyCell[] } {
  const flows = new Map<number, number>();
  for (const { notJudged = [], standsFor } of cells)
    for (const { limit } of notJudged) flows.set(limit, (flows.get(limit) ?? 0) + standsFor);
  const used = [...flows.keys()].toSorted((a, b) => a - b);
  const notJudged = used.flatMap((index) => {
    const limit = limits[index];
    if (limit === undefined) return [];
    const { code, message, where } = limit;
    const place = where === undefined ? {} : { where };
    return { code, message, advice: adviceOn(code), ...place, flows: Math.max(1, flows.get(index) ?? 0) };
  });
  const positions = new Map(used.map((index, position) => [index, position]));
  const renumbered = cells.map((cell) => {
    if (cell.notJudged === undefined) return cell;
    const own = cell.notJudged.map((each) => ({ ...each, limit: positions.get(each.limit) ?? 0 }));
    return { ...cell, notJudged: own };
  });
  return { notJudged, cells: renumbered };
}

function adviceOn(code: string): string {
  return `More: mullion explain ${code}.`;
}

function nameOf({ from, to, name, protocol, port }: VerifyCell): string {
  const how = `${protocol.toUpperCase()}${port === undefined ? "" : ` port ${port}`}`;
  return `${from} → ${to}${name === undefined ? "" : ` as ${name}`}, ${how}`;
}

/** One finding for each cause, with one of its flows. */
function notJudgedFindings(
  notJudged: readonly NotJudged[],
  cells: readonly VerifyCell[],
  traceOf: (position: number) => string | undefined,
): readonly VerifyFinding[] {
  return notJudged.map((each, limit) => {
    const position = cells.findIndex((cell) => cell.notJudged?.some((own) => own.limit === limit));
    const cell = cells[position];
    const reason = cell?.notJudged?.find((own) => own.limit === limit);
    const flows = `${each.flows} ${each.flows === 1 ? "flow is" : "flows are"} not judged`;
    const own = reason === undefined || reason.message === each.message ? "" : `: ${formatReason(reason)}`;
    const example = cell === undefined ? "" : `; for example ${nameOf(cell)}${own}`;
    const trace = traceOf(position);
    return {
      about: placeOf(each) || "the cluster",
      limit,
      expected: "all that could change a flow is carried out here",
      observed: `${flows}: ${each.message}${example}`,
      code: each.code,
      ...(trace === undefined ? {} : { trace }),
    };
  });
}

/** Batches in so many shares: each of as much work as it can, next to one another. */
function sharesOf(
  { batches }: VerifyPlan,
  count: number,
  of: readonly number[] = [...batches.keys()],
): readonly (readonly number[])[] {
  const workOf = (batch: number): number => batches[batch]?.work ?? 0;
  const total = of.reduce((sum, batch) => sum + workOf(batch), 0);
  const shares = Array.from({ length: count }, (): number[] => []);
  let before = 0;
  for (const batch of of) {
    const middle = before + workOf(batch) / 2;
    const share = total === 0 ? 0 : Math.min(count - 1, Math.floor((middle / total) * count));
    shares[share]?.push(batch);
    before += workOf(batch);
  }
  return shares;
}

/** What of some batches is for one of so many who share them. */
export function shareOf(
  plan: VerifyPlan,
  batches: readonly number[],
  { index, count }: ShardNumber,
): readonly number[] {
  return sharesOf(plan, count, batches)[index - 1] ?? [];
}

/** Cells of batches, those included that rest on them. */
export function cellsOfBatches({ batches, resting }: VerifyPlan, own: readonly number[]): number {
  const tried = own.flatMap((batch) => batches[batch]?.positions ?? []);
  if (resting.on.size === 0) return tried.length;
  const isTried = new Set(tried);
  return tried.length + [...resting.on.values()].filter(({ cell }) => isTried.has(cell)).length;
}

/** What came of cells that were tried, and the same of those that rest on them; by position. */
function withResting({ cells, resting }: VerifyPlan, results: readonly CellResult[]): readonly CellResult[] {
  const byPosition = new Map(results.map((result) => [result.position, result]));
  const rest = [...resting.on].flatMap(([position, { cell }]): readonly CellResult[] => {
    const result = byPosition.get(cell);
    if (result === undefined) return [];
    const { disagreement, attempts = 0 } = result;
    if (disagreement === undefined) return [{ position, attempts }];
    const { observed } = disagreement;
    const said = WORDS.observedOnEqualNode({ cell: cells[cell]?.id ?? "", observed });
    return [{ position, attempts, disagreement: { ...disagreement, observed: said } }];
  });
  return [...results, ...rest].toSorted((a, b) => a.position - b.position);
}

/** The classes of nodes whose cells rest on others, and what this shard has tried for them. */
function classesOfShard({ resting }: VerifyPlan, results: readonly CellResult[]): readonly ShardClass[] {
  const known = new Set(results.map(({ position }) => position));
  return resting.classes.map(({ digest, nodes, tried }) => ({
    digest,
    nodes,
    tried: [...tried].filter((position) => known.has(position)).length,
  }));
}

/** The batches of one shard. */
export function batchesOfShard(plan: VerifyPlan, { index, count }: ShardNumber): readonly number[] {
  return sharesOf(plan, count)[index - 1] ?? [];
}

/** What a machine has found out, as far as it came. `machines`: what came of those that it compared. */
export function shardOf(
  plan: VerifyPlan,
  shard: ShardNumber,
  subject: ShardSubject,
  done: readonly BatchResult[],
  machines?: ShardMachines,
): VerifyShard {
  const { model, limits, options } = plan;
  const nodes = nodesByReference(model);
  const isAsked = new Set(plan.tried);
  const results = withResting(
    plan,
    done.flatMap((each) => each.results),
  );
  const outcomes = results.map((result) => {
    const cell = defined(plan.cells[result.position], "a result is of a cell of the plan");
    const restsOn = plan.resting.on.get(result.position);
    const evaluated = { cell, result, limits: isAsked.has(cell) ? limits.of(cell) : [] };
    const described = restsOn === undefined ? evaluated : { ...evaluated, restsOn };
    return describeOutcome(result.position, described, nodes);
  });
  const shares = sharesOf(plan, shard.count).map((own) => cellsOfBatches(plan, own));
  const classes = classesOfShard(plan, results);
  const { problems, notes, contradictions = [], facts = [] } = options.input ?? { problems: [], notes: [] };
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "VerificationShard",
    shard,
    subject,
    cluster: model.clusterName,
    compat: [...new Set(model.nodes.map(({ compat }) => compat))].toSorted(),
    input: { problems, notes, contradictions, facts },
    troubles: troubleFindings(model, options.troubles ?? []),
    limits: limits.reasons,
    shares,
    attempts: done.reduce((sum, { sent }) => sum + sent, 0),
    outcomes,
    ...(machines === undefined ? {} : { machines }),
    ...(classes.length === 0 ? {} : { classes }),
  };
}

/** Findings about the input, then about limits, then about cells in their order. */
function listFindings(
  { cluster, troubles }: VerifyShard,
  basis: VerifyBasis,
  outcomes: readonly CellOutcome[],
  cells: VerifyReport["cells"],
  isWhole: boolean,
): readonly VerifyFinding[] {
  return [
    ...inputFindings(cluster, basis, isWhole ? cells : undefined),
    ...troubles,
    ...notJudgedFindings(basis.notJudged, cells, (position) => outcomes[position]?.trace),
    ...outcomes.flatMap(({ disagreement, trace }, position) => {
      if (disagreement === undefined) return [];
      const { expected, observed, code } = disagreement;
      return {
        cell: position,
        expected,
        observed,
        ...(code === undefined ? {} : { code }),
        ...(trace === undefined ? {} : { trace }),
      };
    }),
  ];
}

/** What is missing, where something is: shards without a report, or cells of a run that was stopped. */
function partialOf(parts: readonly VerifyShard[]): VerifyPartial | undefined {
  const [
    {
      shares,
      shard: { count },
    },
  ] = parts as readonly [VerifyShard];
  const total = shares.reduce((sum, share) => sum + share, 0);
  const known = parts.reduce((sum, { outcomes }) => sum + outcomes.length, 0);
  const indexes = new Set(parts.map(({ shard }) => shard.index));
  const missing = Array.from({ length: count }, (_, index) => index + 1).filter(
    (index) => !indexes.has(index),
  );
  const stopped = parts.filter(({ shard, outcomes }) => outcomes.length < (shares[shard.index - 1] ?? 0));
  if (missing.length === 0 && stopped.length === 0) return undefined;
  return {
    cells: total - known,
    ...(missing.length === 0 ? {} : { missingShards: missing }),
    ...(stopped.length === 0 ? {} : { stoppedShards: stopped.map(({ shard }) => shard.index) }),
  };
}

function partialFindings(
  { shares, cluster, shard }: VerifyShard,
  { missingShards = [], stoppedShards = [], cells }: VerifyPartial,
): readonly VerifyFinding[] {
  const expected = "all flows are tried";
  const code = "verification-incomplete" as const;
  const shardName = (index: number): string =>
    shard.count === 1 ? `cluster/${cluster}` : `shard ${index} of ${shard.count}`;
  return [
    ...missingShards.map((index) => ({
      about: shardName(index),
      expected,
      observed: WORDS.verifyShardMissing({ flows: shares[index - 1] ?? 0 }),
      code,
    })),
    ...stoppedShards.map((index) => ({
      about: shardName(index),
      expected,
      observed:
        shard.count === 1
          ? `stopped before the end: ${cells} flows are not answered`
          : WORDS.verifyShardStopped,
      code,
    })),
  ];
}

function differenceFinding({ code, message }: SessionProblem): VerifyFinding {
  return { about: "equal nodes", expected: WORDS.machinesEqualExpected, observed: message, code };
}

/** Classes of which flows would rest on what no shard has tried. */
function untriedClasses(parts: readonly VerifyShard[]): readonly VerifyFinding[] {
  const classes = parts[0]?.classes ?? [];
  return classes.flatMap(({ digest, nodes }, index) => {
    if (parts.some((part) => (part.classes?.[index]?.tried ?? 0) > 0)) return [];
    const observed = WORDS.classNotTried({ digest, nodes });
    return {
      about: "equal nodes",
      expected: "all flows are tried",
      observed,
      code: "verification-incomplete" as const,
    };
  });
}

/** The report of all parts, at least one; what is missing is a finding. */
export function reportOf(parts: readonly VerifyShard[]): VerifyReport {
  const [first] = parts.toSorted((a, b) => a.shard.index - b.shard.index);
  const one = defined(first, "a report has a part");
  const outcomes = parts.flatMap((part) => part.outcomes).toSorted((a, b) => a.position - b.position);
  const summary = summarizeLimits(
    one.limits,
    outcomes.map(({ cell }) => cell),
  );
  const said = basisOf(one.input, summary.notJudged);
  const differing = machineNotes(parts.map(({ machines }) => machines));
  // Where flows rest on it that machines are equal, it is no mere note.
  const rests = outcomes.some(({ cell }) => cell.restsOn !== undefined);
  const basis = { ...said, notes: [...said.notes, ...(rests ? [] : differing)] };
  const partial = partialOf(parts);
  const listed = [
    ...(partial === undefined ? [] : partialFindings(one, partial)),
    ...(rests ? differing.map(differenceFinding) : []),
    ...untriedClasses(parts),
    ...listFindings(one, basis, outcomes, summary.cells, partial === undefined),
  ];
  const findings = withCauses(listed, outcomes);
  const attempts = parts.reduce((sum, part) => sum + part.attempts, 0);
  const machines = machinesOf(parts.map((part) => part.machines));
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "Verification",
    cluster: one.cluster,
    compat: one.compat,
    ...(partial === undefined ? {} : { partial }),
    basis,
    counts: countCells(summary.cells, attempts, findings.length),
    ...(machines === undefined ? {} : { machines }),
    cells: summary.cells,
    findings,
  };
}
