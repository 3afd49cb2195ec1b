/** One batch of cells: tried in a copy, and what disagrees tried once more, alone. */
import { defined } from "#core/base/assert.ts";
import { type KnowledgeCode, isKnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import type { TraceLeg, TraceReport } from "../trace/trace-report.ts";
import { followAttempt } from "../trace/trace.ts";
import type { Cell } from "./cells/cell.ts";
import { evaluate } from "./evaluate.ts";
import { nodeOf } from "./facts.ts";
import type { CellAttempt, CellResult, Disagreement, Evidence, Observation } from "./observation.ts";
import { observeCells } from "./observe.ts";
import type { VerifyPlan } from "./plan.ts";
import { compartmentOf, setStage } from "./stage.ts";

export interface BatchResult {
  readonly batch: number;
  /** Everything that was sent, to see again what came out otherwise included. */
  readonly sent: number;
  /** In the order of the plan. */
  readonly results: readonly CellResult[];
}

const NOTHING: Observation = { attempts: [] };

/** Work that pauses now and then, without its pauses. */
export function atOnce<T>(work: Generator<unknown, T, undefined>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

function codesOf(leg: TraceLeg | undefined): readonly KnowledgeCode[] {
  return (leg?.steps ?? []).flatMap(({ code }) => (code === undefined ? [] : [code]));
}

function endOf(leg: TraceLeg | undefined): string | undefined {
  return leg?.steps.findLast(({ kind }) => kind === "drop")?.node ?? leg?.steps.at(-1)?.node;
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
    at: endOf(report.verdict === "no-answer" ? report.reply : report.forward),
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

/** A copy of its own for attempts that are made alone, made when the first one is. */
class Bench {
  private readonly plan: VerifyPlan;
  private copy: Cluster | undefined;
  attempts = 0;

  constructor(plan: VerifyPlan) {
    this.plan = plan;
  }

  /** Tries the cell once more, with nobody else at work. */
  observeAlone(cell: Cell): Observation {
    const observation = atOnce(observeCells(this.stage(), [cell])).get(cell.id) ?? NOTHING;
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
    const { cluster, model, tried } = this.plan;
    this.copy ??= setStage(cluster, model, tried);
    return this.copy;
  }
}

/** Compares what was seen; what disagrees is tried again alone, and only that counts. */
function settle(
  cell: Cell,
  first: Observation,
  bench: Bench,
  cluster: Cluster,
): { readonly observation: Observation; readonly disagreement: Disagreement | undefined } {
  const evidence = cell.expected.outcome === "denied" ? bench.trace(cell, first) : undefined;
  if (evaluate(cell, first, evidence, cluster) === undefined)
    return { observation: first, disagreement: undefined };
  const again = bench.observeAlone(cell);
  const proof = bench.trace(cell, again);
  return { observation: again, disagreement: evaluate(cell, again, proof, cluster) };
}

function resultOf(
  position: number,
  { probe }: Cell,
  { attempts }: Observation,
  disagreement: Disagreement | undefined,
  sent?: number,
): CellResult {
  return {
    position,
    attempts: attempts.length,
    ...(sent === undefined ? {} : { sent }),
    ...(probe === "sweep"
      ? { backEnds: new Set(attempts.flatMap(({ answeredBy }) => answeredBy ?? [])).size }
      : {}),
    ...(disagreement === undefined ? {} : { disagreement }),
  };
}

/**
 * Runs a batch of the plan. It pauses now and then, with the number of its cells that have been tried: whoever watches
 * may say so, or stop.
 */
export function* runBatch(plan: VerifyPlan, batch: number): Generator<number, BatchResult, undefined> {
  const { positions } = defined(plan.batches[batch], "the plan has the batch");
  const { cluster, model, tried, states } = plan;
  const cells = positions.map((position) => defined(plan.cells[position], "the plan has the cell"));
  const isAsked = new Set(tried);
  const asked = cells.filter((cell) => isAsked.has(cell));
  const observations =
    asked.length === 0
      ? new Map<string, never>()
      : yield* observeCells(setStage(cluster, model, tried), asked);
  const bench = new Bench(plan);
  const results: CellResult[] = [];
  for (const [index, cell] of cells.entries()) {
    const position = positions[index] ?? 0;
    const state = states.get(cell);
    if (state !== undefined)
      results.push(resultOf(position, cell, state, evaluate(cell, state, undefined, cluster)));
    else if (isAsked.has(cell)) {
      const before = bench.attempts;
      const first = observations.get(cell.id) ?? NOTHING;
      const settled = settle(cell, first, bench, cluster);
      const sent = first.attempts.length + bench.attempts - before;
      results.push(resultOf(position, cell, settled.observation, settled.disagreement, sent));
      if (bench.attempts !== before) yield asked.length;
    } else results.push({ position });
  }
  const first = [...observations.values()].reduce((sum, { attempts }) => sum + attempts.length, 0);
  return { batch, sent: first + bench.attempts, results };
}
