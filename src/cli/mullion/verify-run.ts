/**
 * A verification of input files as one process runs it: batch by batch, with further processes beside it for large
 * clusters, until it is done or the user stops it. What comes of it does not depend on how many there are.
 */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import type { ClusterSession, InputText } from "#cluster/session/session.ts";
import type { KeptResult, KeptResults } from "#cluster/verify/kept/kept-results.ts";
import { PlanAgain } from "#cluster/verify/kept/verify-again.ts";
import type { VerifyPlan } from "#cluster/verify/plan.ts";
import type { ShardMachines } from "#cluster/verify/machines.ts";
import type { ShardNumber } from "#cluster/verify/report.ts";
import {
  type ComparisonPlan,
  compareInShard,
  nodesCompared,
  planComparisons,
} from "#cluster/classes/node-classes.ts";
import { comparisonsOfShard, tryBatch } from "#cluster/verify/machines-of-batch.ts";
import type { BatchResult } from "#cluster/verify/run-batch.ts";
import { type VerifyShard, batchesOfShard, shardOf, shareOf } from "#cluster/verify/shard.ts";
import { isLong } from "#control-plane/load/manifests.ts";
import { packageVersion } from "../installation.ts";
import {
  COPY_SHARE,
  checkMemory,
  checkMemoryAt,
  checkMemoryToRead,
  checkRoomToBegin,
  warnOfMemory,
} from "./cluster/memory-check.ts";
import { type ClusterSize, type OpenedCluster, openSession } from "./cluster/open-session.ts";
import { ProgressLine } from "./progress-line.ts";
import { STANDARD_INPUT } from "./read-inputs.ts";
import type { Terminal } from "./terminal.ts";
import { VerifyWorkers, workersBeside } from "./verify-workers.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

export interface RunRequest {
  readonly inputs: readonly InputText[];
  readonly overrides: FileOverrides;
  readonly shard: ShardNumber;
  /** Processes at work, this one included; undefined: as large clusters need, and this machine has. */
  readonly workers: number | undefined;
  readonly allowed: readonly string[];
  readonly command: string;
  /** What is known of a cluster that was like it; with it, this process works alone. */
  readonly known?: KeptResults;
}

export interface RunOutcome {
  readonly part: VerifyShard;
  /** The user has stopped it. */
  readonly isInterrupted: boolean;
  /** Results that were known. */
  readonly kept: readonly KeptResult[];
}

/** Of what is verified: the same on every machine that reads the same texts with the same flags, wherever they lie. */
export function digestOf(inputs: readonly InputText[], { build, asDocumented }: FileOverrides): string {
  const hash = createHash("sha256").update(JSON.stringify([build ?? "", asDocumented ?? ""]));
  for (const input of inputs) {
    if (isLong(input)) {
      hash.update("\nlong\n");
      for (const bytes of input.chunks) hash.update(bytes);
    } else hash.update(`\n${input.text.length}\n`).update(input.text);
  }
  return hash.digest("hex");
}

const MORE_MEMORY = WORDS.adviceMoreMemory;

/** What is still to do, and what is known, of one shard. */
class BatchQueue {
  private readonly session: ClusterSession;
  private readonly plan: VerifyPlan;
  private readonly own: readonly number[];
  private readonly waiting: Set<number>;
  /** What each process has begun last. */
  private readonly last = new Map<number, number>();
  /** Processes that share the work. */
  private readonly processes: number;
  readonly done: BatchResult[] = [];
  readonly cells: number;

  constructor(session: ClusterSession, plan: VerifyPlan, shard: ShardNumber, processes: number) {
    this.session = session;
    this.plan = plan;
    this.own = batchesOfShard(plan, shard);
    this.waiting = new Set(this.own);
    this.processes = processes;
    // Those that rest on others are answered, and take no time.
    this.cells = this.own.reduce((sum, batch) => sum + (plan.batches[batch]?.positions.length ?? 0), 0);
  }

  /** The one next to what the process has done: what is near in the list needs the same machines. */
  take(process: number): number | undefined {
    const from = this.last.get(process) ?? this.beginOf(process);
    const [next] = [...this.waiting].toSorted((a, b) => Math.abs(a - from) - Math.abs(b - from));
    if (next === undefined) return undefined;
    this.waiting.delete(next);
    this.last.set(process, next);
    return next;
  }

  giveBack(batch: number): void {
    this.waiting.add(batch);
  }

  end(result: BatchResult): void {
    this.done.push(result);
  }

  get cellsDone(): number {
    return this.done.reduce((sum, { results }) => sum + results.length, 0);
  }

  get attempts(): number {
    return this.done.reduce((sum, { sent }) => sum + sent, 0);
  }

  run(batch: number): AsyncGenerator<number, BatchResult, undefined> {
    return tryBatch(this.session, this.plan, batch);
  }

  /** Where a process begins: as far from the others as they are from each other. */
  private beginOf(process: number): number {
    const share = shareOf(this.plan, this.own, { index: process + 1, count: this.processes });
    return share[0] ?? this.own.at(-1) ?? 0;
  }
}

/** What was raised to be verified. */
interface Raised {
  readonly session: ClusterSession;
  readonly memories: OpenedCluster["memories"];
  readonly plan: VerifyPlan;
  readonly comparisons: ComparisonPlan;
  readonly helpers: VerifyWorkers | undefined;
}

/** Resolves with the cluster, of which machines come up when cells need them; processes that will help begin at the same time. */
async function raise(
  { inputs, overrides, workers, known }: RunRequest,
  told: ProgressLine,
  terminal: Terminal,
): Promise<Raised> {
  let helpers: VerifyWorkers | undefined;
  const begins = (size: ClusterSize): void => {
    warnOfMemory(size, MORE_MEMORY, terminal);
    checkRoomToBegin(size, MORE_MEMORY);
    // What was piped in and is too long for one text is read once.
    const isOnce = inputs.some((input) => isLong(input) && input.name === STANDARD_INPUT);
    const count = isOnce ? 0 : workersBeside(size, workers);
    if (count > 0) helpers = new VerifyWorkers(count, inputs, digestOf(inputs, overrides));
  };
  try {
    const opened = await openSession(
      inputs,
      {
        reads: (objects) => checkMemoryToRead(objects, MORE_MEMORY),
        begins,
        progress: (text, done, total) => {
          checkMemoryAt(text, done, total, MORE_MEMORY);
          told.raised(text, done, total);
        },
      },
      overrides,
      "when asked",
    );
    const { session, memories } = opened;
    const comparisons = planComparisons(session.cluster, digestOf(inputs, overrides));
    // What was known is of flows, one by one.
    const plan = opened.plan(known === undefined ? comparisons : undefined);
    return { session, memories, plan, comparisons, helpers };
  } catch (error) {
    helpers?.end();
    throw error;
  }
}

interface Stop {
  isAsked: boolean;
}

async function untilStopped(terminal: Terminal, stop: Stop): Promise<void> {
  await terminal.untilInterrupted();
  stop.isAsked = true;
}

/** Runs a batch in this process, with pauses in which others are heard. */
async function runHere(
  queue: BatchQueue,
  batch: number,
  tell: (done: number) => void,
  stop: Stop,
): Promise<void> {
  const work = queue.run(batch);
  while (!stop.isAsked) {
    const step = await work.next();
    if (step.done === true) return queue.end(step.value);
    tell(step.value);
    checkMemory("while flows are tried", MORE_MEMORY);
    await nextTurn();
  }
}

/** Compares the machines that fall to a shard, which come up for it: which are up already depends on who tried the cells. */
async function compareMachines(
  { session, memories, comparisons, plan }: Raised,
  shard: ShardNumber,
): Promise<ShardMachines> {
  const own = comparisonsOfShard(plan, comparisons.chosen, shard);
  for (const node of nodesCompared(own)) await session.raise(node);
  return compareInShard(session.cluster, memories(), comparisons, own);
}

/**
 * Verifies what the texts describe, or a shard of it.
 * @throws ProblemsError for a cluster file that is wrong; Failure when the memory is nearly full.
 */
export async function runVerification(request: RunRequest, terminal: Terminal): Promise<RunOutcome> {
  const { inputs, overrides, shard, allowed, command } = request;
  const told = new ProgressLine(terminal);
  const raised = await raise(request, told, terminal);
  const { session, plan, helpers } = raised;
  // What is compared is the whole state: that of a machine which is not up says nothing.
  if (request.known !== undefined) await session.raise();
  const again = request.known === undefined ? undefined : new PlanAgain(plan, request.known);
  const queue = new BatchQueue(session, again?.open ?? plan, shard, 1 + (helpers?.count ?? 0));
  const input = digestOf(inputs, overrides);
  const stop = { isAsked: false };
  let machines: ShardMachines | undefined;
  void untilStopped(terminal, stop);
  told.begin();
  const tell = (here: number): void =>
    told.tried(queue.cellsDone + here, queue.cells, queue.attempts, helpers?.ready ?? 1);
  try {
    checkMemory(WORDS.beforeClusterCopy, MORE_MEMORY, COPY_SHARE);
    helpers?.work(queue);
    while (!stop.isAsked) {
      const batch = queue.take(0);
      if (batch !== undefined) await runHere(queue, batch, tell, stop);
      // What others have begun is theirs, unless they end before it does.
      else if (helpers?.isBusy === true) await helpers.untilChange(() => tell(0));
      else break;
    }
    if (!stop.isAsked) machines = await compareMachines(raised, shard);
  } finally {
    helpers?.end();
    told.end();
  }
  const subject = { version: packageVersion(), input, allowed, command };
  const done = again?.finish(queue.done, new Date().toISOString()) ?? queue.done;
  return {
    part: shardOf(plan, shard, subject, done, machines),
    isInterrupted: stop.isAsked,
    kept: again?.kept ?? [],
  };
}
