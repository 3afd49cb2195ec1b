/** One batch of cells: tried in a copy, and what disagrees tried once more, alone. */
import { defined } from "#core/base/assert.ts";
import { type KnowledgeCode, isKnowledgeCode } from "#core/catalogue/codes.ts";
import { formatIp } from "#core/net/ip.ts";
import { MachineAbsent } from "../absent-machines.ts";
import type { Cluster } from "../cluster.ts";
import type { TraceLeg, TraceReport } from "../trace/trace-report.ts";
import { followAttempt } from "../trace/trace.ts";
import type { Cell } from "./cells/cell.ts";
import { CellMachines } from "./cells/cell-machines.ts";
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

/** A copy of its own for attempts that are made alone, made when the first one is, of the machines that its cells need. */
class Bench {
  private readonly plan: VerifyPlan;
  /** Nodes, by name. */
  private readonly machines: () => ReadonlySet<string>;
  private copy: Cluster | undefined;
  /** A machine was met that no cell names: the copy has all that those of the batch have. */
  private isWhole = false;
  attempts = 0;

  constructor(plan: VerifyPlan, machines: () => ReadonlySet<string>) {
    this.plan = plan;
    this.machines = machines;
  }

  /** Tries the cell once more, with nobody else at work. */
  observeAlone(cell: Cell): Observation {
    const observation = this.work((stage) => atOnce(observeCells(stage, [cell])).get(cell.id) ?? NOTHING);
    this.attempts += observation.attempts.length;
    return observation;
  }

  /** Follows the attempt that failed. */
  trace(cell: Cell, observation: Observation): Evidence | undefined {
    const failed = observation.attempts.find(({ outcome }) => outcome !== "answered");
    if (failed === undefined || (cell.target.address ?? failed.resolved) === undefined) return undefined;
    if (failed.outcome === "name-not-found" || failed.outcome === "name-wrong") return undefined;
    this.attempts++;
    return this.work((stage) => traceCell(stage, cell, failed));
  }

  private work<T>(work: (stage: Cluster) => T): T {
    try {
      return work(this.stage());
    } catch (error) {
      if (!(error instanceof MachineAbsent) || this.isWhole) throw error;
      this.isWhole = true;
      this.copy = undefined;
      return work(this.stage());
    }
  }

  private stage(): Cluster {
    const { cluster, model, tried } = this.plan;
    const { part } = cluster;
    const isCut = part !== undefined && !this.isWhole;
    this.copy ??= setStage(isCut ? { ...cluster, part: part.only(this.machines()) } : cluster, model, tried);
    return this.copy;
  }
}

/** True for a cell that is tried again alone, or followed: nothing proves yet that it came out as it should. */
function isUnproved(cell: Cell, first: Observation, cluster: Cluster): boolean {
  return cell.expected.outcome === "denied" || evaluate(cell, first, undefined, cluster) !== undefined;
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
  const observationOf = (cell: Cell): Observation => observations.get(cell.id) ?? NOTHING;
  const bench = new Bench(plan, () =>
    new CellMachines(model).of(asked.filter((cell) => isUnproved(cell, observationOf(cell), cluster))),
  );
  const results: CellResult[] = [];
  for (const [index, cell] of cells.entries()) {
    const position = positions[index] ?? 0;
    const state = states.get(cell);
    if (state !== undefined)
      results.push(resultOf(position, cell, state, evaluate(cell, state, undefined, cluster)));
    else if (isAsked.has(cell)) {
      const before = bench.attempts;
      const first = observationOf(cell);
      const settled = settle(cell, first, bench, cluster);
      const sent = first.attempts.length + bench.attempts - before;
      results.push(resultOf(position, cell, settled.observation, settled.disagreement, sent));
      if (bench.attempts !== before) yield asked.length;
    } else results.push({ position });
  }
  const first = [...observations.values()].reduce((sum, { attempts }) => sum + attempts.length, 0);
  return { batch, sent: first + bench.attempts, results };
}
