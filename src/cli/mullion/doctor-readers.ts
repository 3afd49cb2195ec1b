/**
 * Threads that read files for `mullion doctor`: logs are scanned and dumps are parsed on all processors. A thread is this
 * program once more, in a clone and in the package alike: `main.ts` calls `serveReading` where it is not the main thread.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { Worker, parentPort } from "node:worker_threads";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import { packageRoot } from "../installation.ts";
import { type Collected, Collector, type OnBytes } from "./doctor-file.ts";
import { Failure } from "./failure.ts";
import { processTerminal } from "./process-terminal.ts";
import type { Terminal } from "./terminal.ts";

/** A thread takes a second to start; so much is read meanwhile. */
const BYTES_PER_THREAD = 33_554_432;

interface Task {
  readonly path: string;
  /** The user has named it: then it has to be readable. */
  readonly isNamed: boolean;
}

interface Order extends Task {
  readonly index: number;
}

/** What became of an order. Errors of the program itself end the thread. */
type Answer =
  | { readonly index: number; readonly collected: Collected }
  | { readonly index: number; readonly failure: Pick<Failure, "code" | "message" | "advice"> };

/** How far a thread is with a long file. */
interface Progress {
  readonly path: string;
  readonly bytes: number;
}

/** A thread tells of a long file each time that it has read so much more of it. */
const BYTES_TOLD = 33_554_432;

interface Listener {
  readonly onRead: (path: string, done: number) => void;
  readonly onBytes: OnBytes;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** How many threads read these files: what the user wants, else as many as pay. Standard input is this process's own. */
export function threadsFor(
  files: readonly string[],
  { threads }: Pick<Terminal, "threads">,
  wanted: number | undefined,
): number {
  if (threads === 1 && wanted === undefined) return 1;
  if (files.includes("-")) return 1;
  if (wanted !== undefined) return Math.min(wanted, files.length);
  const bytes = files.reduce((sum, path) => sum + sizeOf(path), 0);
  return Math.min(threads, files.length, Math.floor(bytes / BYTES_PER_THREAD));
}

/** The life of a thread: it reads what it is told to, one file after the other. */
export function serveReading(): void {
  let toldAt = 0;
  const collector = new Collector(processTerminal(), (path, bytes) => {
    if (bytes < toldAt) toldAt = 0;
    if (bytes - toldAt < BYTES_TOLD) return;
    toldAt = bytes;
    answer({ path, bytes });
  });
  const answer = (given: Answer | Progress): void => parentPort?.postMessage(given, []);
  parentPort?.on("message", ({ index, path, isNamed }: Order) => {
    void collector.read(path, isNamed).then(
      () => answer({ index, collected: collector.drain() }),
      (error: unknown) => {
        if (!(error instanceof Failure)) throw error;
        const { code, message, advice } = error;
        answer({ index, failure: { code, message, advice } });
      },
    );
  });
}

/** Gives each thread the next file when it has done one. */
function readNext(
  worker: Worker,
  queue: Order[],
  answers: Answer[],
  { onRead, onBytes }: { readonly onRead: (answer: Answer) => void; readonly onBytes: OnBytes },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const order = queue.shift();
      if (order === undefined) resolve();
      else worker.postMessage(order, []);
    };
    worker.on("message", (answer: Answer | Progress) => {
      if ("bytes" in answer) {
        onBytes(answer.path, answer.bytes);
        return;
      }
      answers[answer.index] = answer;
      onRead(answer);
      next();
    });
    worker.once("error", reject);
    // A thread that is gone answers nothing; after the last answer nobody listens any more.
    worker.once("exit", (code) => reject(new Error(`a thread that reads files ended with ${code}`)));
    next();
  });
}

/**
 * Reads files in threads. What comes of it is in the order of the files.
 * @throws Failure of the first file that the user has named and that cannot be read.
 */
export async function readInThreads(
  tasks: readonly Task[],
  threads: number,
  { onRead, onBytes }: Listener,
): Promise<readonly Collected[]> {
  const program = join(packageRoot(), "bin", "mullion.js");
  const workers = Array.from({ length: threads }, () => new Worker(program));
  const answers: Answer[] = [];
  const queue = tasks.map((task, index): Order => ({ index, ...task }));
  let done = 0;
  const tell = ({ index }: Answer): void => onRead(tasks[index]?.path ?? "", ++done);
  try {
    await Promise.all(workers.map((worker) => readNext(worker, queue, answers, { onRead: tell, onBytes })));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return answers.map((answer) => {
    if ("failure" in answer) {
      const { code, message, advice } = answer.failure;
      throw new Failure(code, message, advice);
    }
    const { readings, logs, left } = answer.collected;
    return { readings: readings.map((reading) => FileReading.from(reading)), logs, left };
  });
}
