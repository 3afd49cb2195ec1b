/**
 * A cluster in the background: the process that holds it is `mullion up --foreground` itself, started apart from the
 * terminal. Inputs go to its standard input; progress and faults come back over a channel. As long as it is not up,
 * either of the two ends when the other does; one that is held for its parent alone (`startBeside`) always does.
 */
import type { OvnRemote } from "#cluster/ovn/remote-southbound.node.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, renameSync, rmSync } from "node:fs";
import { constants } from "node:os";
import type { ErrorDetails } from "#cluster/api/documents.ts";
import { ApiError, ReportedError, describeError } from "#cluster/api/error-details.ts";
import {
  type ClusterPlace,
  ensureFolder,
  placeError,
  removeFolderIfEmpty,
} from "#cluster/api/state-folder.node.ts";
import type { LiveOptions } from "#cluster/live/live-cluster.node.ts";
import { isLong } from "#control-plane/load/manifests.ts";
import { openOwnerFile } from "#core/base/owner-only.node.ts";
import type { InputText } from "#cluster/session/session.ts";
import { type StartedCluster, holdCluster } from "./hold-cluster.ts";
import type { ReportProgress } from "./open-session.ts";
import { Failure } from "../failure.ts";
import { processLog } from "../../output.ts";
import { FileChunks } from "../process-terminal.ts";
import type { Terminal } from "../terminal.ts";

/** The cluster that a process is to hold. */
interface Held {
  readonly place: ClusterPlace;
  readonly live: LiveOptions | undefined;
  readonly ovnRemote: OvnRemote | undefined;
}

/** What the holding process gets on its standard input. */
interface Handed {
  readonly inputs: readonly InputText[];
  /** It ends when its parent does, or lets go of it. */
  readonly endsWithParent: boolean;
}

/** What the holding process tells the one that started it. */
type Message =
  | { readonly type: "progress"; readonly text: string; readonly done: number; readonly total: number }
  | { readonly type: "ready"; readonly started: StartedCluster }
  | { readonly type: "failed"; readonly error: ErrorDetails };

const INTERNAL = 500;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Where a holder writes until it is up; two that start at the same time write to different files. */
function logOfParent(place: ClusterPlace, parent: number): string {
  return `${place.log}.${parent}`;
}

function openLog(place: ClusterPlace, log: string): number {
  try {
    return openOwnerFile(log);
  } catch (error) {
    throw placeError(place, error);
  }
}

function liveWords(live: LiveOptions | undefined): readonly string[] {
  if (live === undefined) return [];
  const { bridge, node, pods, runtimes } = live;
  return [
    "--live",
    ...(bridge === undefined ? [] : ["--live-bridge", bridge]),
    ...(node === undefined ? [] : ["--live-as", node]),
    ...pods.flatMap((pod) => ["--live-pod", pod]),
    ...runtimes.flatMap((each) => ["--live-hns", `${each.node}=${each.socket}`]),
  ];
}

function ovnWords(given: OvnRemote | undefined): readonly string[] {
  if (given === undefined) return [];
  const words = {
    "--ovn-remote": given.remote,
    "--private-key": given.privateKey,
    "--certificate": given.certificate,
    "--ca-cert": given.caCertificate,
  };
  return Object.entries(words).flatMap(([word, value]) => (value === undefined ? [] : [word, value]));
}

function spawnHolder({ place, live, ovnRemote }: Held, log: string): ChildProcess {
  const script = process.argv[1] ?? "";
  const names = ["--socket", place.socket, "--name", place.name];
  const words = ["up", "--foreground", "--held", ...names, ...liveWords(live), ...ovnWords(ovnRemote)];
  const output = openLog(place, log);
  try {
    return spawn(process.execPath, [...process.execArgv, script, ...words], {
      // Apart from the terminal and its Ctrl-C, and from the folder, which may then be removed.
      detached: true,
      cwd: "/",
      stdio: ["pipe", output, output, "ipc"],
    });
  } finally {
    closeSync(output);
  }
}

function diedEarly(code: number | null, signal: NodeJS.Signals | null): ApiError {
  const how = signal === null ? `with exit code ${code ?? 0}` : `by ${signal}`;
  return new ApiError(
    INTERNAL,
    "cluster-start-failed",
    `the process that should hold the cluster ended ${how}`,
    "See what it says in the foreground: add --foreground.",
  );
}

/** Resolves when the holder is up. @throws ReportedError with its fault; ApiError when it ends silently. */
async function untilReady(child: ChildProcess, report: ReportProgress): Promise<StartedCluster> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      // Its last words may still be in the channel.
      if (child.connected) child.once("disconnect", () => reject(diedEarly(code, signal)));
      else reject(diedEarly(code, signal));
    });
    child.on("message", (message: Message) => {
      if (message.type === "progress") report(message.text, message.done, message.total);
      else if (message.type === "failed") reject(new ReportedError(message.error));
      else resolve(message.started);
    });
  });
}

async function untilExit(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
}

/** Ends this process as the signal would have done. */
async function dieOf(signal: NodeJS.Signals): Promise<never> {
  process.kill(process.pid, signal);
  // The signal comes at once; whoever blocks it gets the exit code that shells give.
  return new Promise(() => setTimeout(() => process.exit(128 + constants.signals[signal]), 1_000));
}

/** Watches for signals while the holder starts. */
function watchSignals(): { readonly signal: Promise<NodeJS.Signals>; readonly stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const heard = (signal: NodeJS.Signals): void => resolve(signal);
  for (const signal of SIGNALS) process.on(signal, heard);
  return {
    signal: promise,
    stop: () => {
      for (const signal of SIGNALS) process.off(signal, heard);
    },
  };
}

interface Starting {
  readonly place: ClusterPlace;
  readonly child: ChildProcess;
  readonly log: string;
}

/** Starts the process that holds the cluster, and hands the inputs to it. */
function startHolder(wanted: Held, { inputs, endsWithParent }: Handed): Starting {
  const { place } = wanted;
  // The holder opens a long file again, and cannot read standard input a second time.
  if (inputs.some((each) => isLong(each) && !(each.chunks instanceof FileChunks))) {
    const message = "standard input is too long for a cluster in the background";
    throw new Failure("cluster-file-too-large", message, "Save it in a file, and name the file with -f.");
  }
  ensureFolder(place, process.env);
  const log = logOfParent(place, process.pid);
  const child = spawnHolder(wanted, log);
  // A holder that ends early is told by its exit.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(JSON.stringify({ inputs, endsWithParent } satisfies Handed));
  return { place, child, log };
}

/**
 * Waits until the cluster is up. A signal that comes before ends both and leaves nothing behind.
 * @throws ReportedError with what the holder says; ApiError `cluster-start-failed` when it ends silently.
 */
async function untilUp({ place, child, log }: Starting, report: ReportProgress): Promise<StartedCluster> {
  const watch = watchSignals();
  const ready = untilReady(child, report);
  try {
    const outcome = await Promise.race([ready, watch.signal]);
    if (typeof outcome !== "string") {
      renameSync(log, place.log);
      return outcome;
    }
    ready.catch(() => undefined);
    child.kill("SIGTERM");
    await untilExit(child);
    cleanUp(log);
    watch.stop();
    return await dieOf(outcome);
  } catch (error) {
    await untilExit(child);
    cleanUp(log);
    throw error;
  } finally {
    watch.stop();
  }
}

/** Starts a process that holds the cluster, waits until it is up, and leaves it. @throws as `untilUp`. */
export async function startInBackground(
  wanted: Held,
  inputs: readonly InputText[],
  report: ReportProgress,
): Promise<StartedCluster> {
  const starting = startHolder(wanted, { inputs, endsWithParent: false });
  try {
    return await untilUp(starting, report);
  } finally {
    const { child } = starting;
    if (child.connected) child.disconnect();
    child.unref();
  }
}

/** A cluster in a process beside this one, which goes on hearing and answering while that one works. */
export interface ClusterBeside {
  /** Resolves when it is up. @throws as `startInBackground`. */
  readonly isUp: Promise<StartedCluster>;
  /** Resolves when its process has ended. */
  readonly ended: Promise<void>;
  /** Ends it, and waits for that. */
  readonly end: () => Promise<void>;
}

/** Starts a process that holds the cluster as long as this one lives. */
export function startBeside(
  wanted: Held,
  inputs: readonly InputText[],
  report: ReportProgress,
): ClusterBeside {
  const starting = startHolder(wanted, { inputs, endsWithParent: true });
  const { child } = starting;
  const ended = untilExit(child);
  return {
    isUp: untilUp(starting, report),
    ended,
    end: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

function cleanUp(log: string): void {
  rmSync(log, { force: true });
  removeFolderIfEmpty(process.env);
}

async function readStandardInput(terminal: Terminal): Promise<Handed> {
  // Written by this program itself, and bounded by the one who read the files.
  const handed = JSON.parse(await terminal.readFile("-", Number.POSITIVE_INFINITY)) as Handed;
  const inputs = handed.inputs.map((each) =>
    isLong(each) ? { ...each, chunks: new FileChunks((each.chunks as unknown as FileChunks).path) } : each,
  );
  return { ...handed, inputs };
}

/** Sends a message to the parent; false when there is nobody any more who listens. */
async function post(message: Message): Promise<boolean> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve(false);
    else process.send(message, undefined, undefined, (error) => resolve(error === null));
  });
}

/** The holder's side: holds the cluster, tells its parent, and ends with it while it is not up. */
export async function holdForParent({ place, live, ovnRemote }: Held, terminal: Terminal): Promise<void> {
  const log = logOfParent(place, process.ppid);
  const orphaned = (): never => {
    cleanUp(log);
    process.exit(1);
  };
  process.once("disconnect", orphaned);
  const left = Promise.withResolvers<void>();
  try {
    const { inputs, endsWithParent } = await readStandardInput(terminal);
    await holdCluster({
      place,
      inputs,
      report: (text, done, total) => void post({ type: "progress", text, done, total }),
      onReady: async (started) => {
        process.off("disconnect", orphaned);
        if (endsWithParent) process.once("disconnect", left.resolve);
        const isHeard = await post({ type: "ready", started });
        if (!isHeard) cleanUp(log);
        return isHeard;
      },
      untilInterrupted: () => Promise.race([terminal.untilInterrupted(), left.promise]),
      log: processLog(),
      live,
      ovnRemote,
    });
    // Who listens to the channel keeps this process alive.
    process.off("disconnect", left.resolve);
  } catch (error) {
    process.off("disconnect", orphaned);
    await post({ type: "failed", error: describeError(error) });
    // The parent does the same, unless it is gone.
    cleanUp(log);
    process.disconnect?.();
  }
}
