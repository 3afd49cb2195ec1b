/**
 * Further processes that try batches of one verification: each is this command once more, reads the same input and raises
 * the machines of its own cells. They talk over a channel, in numbers of batches and what came of them, and end with who started them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import type { ClusterSession, InputText } from "#cluster/session/session.ts";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import { planComparisons } from "#cluster/classes/node-classes.ts";
import { tryBatch } from "#cluster/verify/machines-of-batch.ts";
import type { BatchResult } from "#cluster/verify/run-batch.ts";
import type { VerifyPlan } from "#cluster/verify/plan.ts";
import { bytesOf } from "./cluster/memory-check.ts";
import { type ClusterSize, openSession } from "./cluster/open-session.ts";
import { STANDARD_INPUT } from "./read-inputs.ts";

/** What a helper tells. */
type Told =
  | { readonly type: "ready"; readonly digest: string }
  | { readonly type: "done"; readonly result: BatchResult };

/** Clusters that are smaller are verified before a further process is up. */
const WORK_MIN = 500;
const NODE_WORK = 10;

/** What a process takes beside what it keeps: Node, its code, and room for what is new. */
const PROCESS_BYTES = 150e6;

/** How many processes are to help. @param asked by the user, the first process included. */
export function workersBeside(size: ClusterSize, asked: number | undefined): number {
  if (asked !== undefined) return asked - 1;
  if (size.pods + size.nodes * NODE_WORK < WORK_MIN) return 0;
  const room = Math.floor(process.availableMemory() / (PROCESS_BYTES + bytesOf(size))) - 1;
  return Math.max(0, Math.min(availableParallelism() - 1, room));
}

/** Where helpers get their work from, and where what comes of it goes. */
interface Queue {
  /** `process`: from 1; the first one is that which everybody helps. */
  take(process: number): number | undefined;
  giveBack(batch: number): void;
  end(result: BatchResult): void;
}

interface Helper {
  readonly child: ChildProcess;
  /** From 1. */
  readonly number: number;
  isReady: boolean;
  batch: number | undefined;
}

export class VerifyWorkers {
  private readonly helpers = new Set<Helper>();
  private readonly digest: string;
  readonly count: number;
  private queue: Queue | undefined;
  private changed: () => void = () => undefined;

  constructor(count: number, inputs: readonly InputText[], digest: string) {
    this.digest = digest;
    this.count = count;
    const piped = inputs.find(({ name }) => name === STANDARD_INPUT);
    for (let number = 1; number <= count; number++) this.start(number, piped?.text ?? "");
  }

  /** Processes at work, the first one included. */
  get ready(): number {
    return 1 + [...this.helpers].filter(({ isReady }) => isReady).length;
  }

  /** From now on there is work. */
  work(queue: Queue): void {
    this.queue = queue;
    for (const helper of this.helpers) this.next(helper);
  }

  /** Somebody has begun something and not ended it. */
  get isBusy(): boolean {
    return [...this.helpers].some(({ batch }) => batch !== undefined);
  }

  /** Resolves when somebody has said something, and now and then. */
  async untilChange(tell: () => void): Promise<void> {
    tell();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 100);
      this.changed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.queue = undefined;
    for (const { child } of this.helpers) child.kill("SIGKILL");
    this.helpers.clear();
  }

  private start(number: number, piped: string): void {
    const [node = "", script = "", ...words] = process.argv;
    const child = spawn(node, [...process.execArgv, script, ...words, "--helper"], {
      // Apart from the terminal: its Ctrl-C is for the first process alone.
      detached: true,
      windowsHide: true,
      stdio: ["pipe", "ignore", "ignore", "ipc"],
    });
    const helper: Helper = { child, number, isReady: false, batch: undefined };
    this.helpers.add(helper);
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(piped);
    const gone = (): void => {
      if (!this.helpers.delete(helper)) return;
      // Whoever is left does it.
      if (helper.batch !== undefined) this.queue?.giveBack(helper.batch);
      this.changed();
    };
    child.on("error", gone);
    child.on("exit", gone);
    child.on("message", (told: Told) => this.heard(helper, told));
  }

  private heard(helper: Helper, told: Told): void {
    if (told.type === "ready") {
      // Files that changed in between: another cluster.
      if (told.digest !== this.digest) helper.child.kill("SIGKILL");
      else helper.isReady = true;
    } else {
      helper.batch = undefined;
      this.queue?.end(told.result);
    }
    this.next(helper);
    this.changed();
  }

  private next(helper: Helper): void {
    if (!helper.isReady || helper.batch !== undefined) return;
    helper.batch = this.queue?.take(helper.number);
    if (helper.batch !== undefined) helper.child.send(helper.batch);
  }
}

async function resultOf(session: ClusterSession, plan: VerifyPlan, batch: number): Promise<BatchResult> {
  const work = tryBatch(session, plan, batch);
  for (;;) {
    const step = await work.next();
    if (step.done === true) return step.value;
  }
}

/** The helper's side: raises the machines of its cells, and tries batches as they come, until the channel ends. */
export async function helpToVerify(
  inputs: readonly InputText[],
  overrides: FileOverrides,
  digest: string,
): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    process.once("disconnect", resolve);
  });
  const opened = await openSession(inputs, {}, overrides, "when asked");
  const { session } = opened;
  const plan = opened.plan(planComparisons(session.cluster, digest));
  const post = (told: Told): void => {
    process.send?.(told);
  };
  // One batch after the other: the next one comes when this one is told.
  process.on("message", (batch: number) => {
    void resultOf(session, plan, batch).then((result) => post({ type: "done", result }));
  });
  post({ type: "ready", digest });
  await ended;
}
