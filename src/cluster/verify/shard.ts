/**
 * A report in parts: what one machine of several has found out (schemas/verify-shard.v1alpha1.json), and the whole report
 * put together from all parts. One machine alone goes the same way, with one part.
 */
import { type JsonSchema, type ValueOf, DOCUMENT_VERSION, documentSchema } from "#core/base/shape.ts";
import { defined } from "#core/base/assert.ts";
import { LIMIT_REASON, type LimitReason, formatReason } from "../session/flow-limit.ts";
import { CLUSTER_FACT, SESSION_PROBLEM, placeOf } from "../session/session.ts";
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

/** Which batches each of so many shards runs: each as many attempts as it can, next to one another. */
function sharesOf({ batches }: VerifyPlan, count: number): readonly (readonly number[])[] {
  const total = batches.reduce((sum, { attempts }) => sum + attempts, 0);
  const shares = Array.from({ length: count }, (): number[] => []);
  let before = 0;
  for (const [batch, { attempts }] of batches.entries()) {
    const middle = before + attempts / 2;
    const share = total === 0 ? 0 : Math.min(count - 1, Math.floor((middle / total) * count));
    shares[share]?.push(batch);
    before += attempts;
  }
  return shares;
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
  const results = done.flatMap((each) => each.results).toSorted((a, b) => a.position - b.position);
  const outcomes = results.map((result) => {
    const cell = defined(plan.cells[result.position], "a result is of a cell of the plan");
    const evaluated = { cell, result, limits: isAsked.has(cell) ? limits.of(cell) : [] };
    return describeOutcome(result.position, evaluated, nodes);
  });
  const shares = sharesOf(plan, shard.count).map((own) =>
    own.reduce((sum, batch) => sum + (plan.batches[batch]?.positions.length ?? 0), 0),
  );
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
  const basis = { ...said, notes: [...said.notes, ...machineNotes(parts.map(({ machines }) => machines))] };
  const partial = partialOf(parts);
  const listed = [
    ...(partial === undefined ? [] : partialFindings(one, partial)),
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
