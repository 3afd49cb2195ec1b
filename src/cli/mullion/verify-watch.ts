/**
 * `mullion verify --watch`: the matrix of input files or of a running cluster, and again whenever they change. What is
 * shown then is what came out otherwise; only what the change can touch is tried again.
 */
import { stat } from "node:fs/promises";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { FileOverrides } from "#cluster/file/parse-cluster-file.ts";
import { compareVerifications } from "#cluster/verify/compare.ts";
import { KeptResults } from "#cluster/verify/kept/kept-results.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { formatComparison } from "#diagnose/verify-text/format-comparison.ts";
import { explainVerification } from "#diagnose/verify-text/explain-verification.ts";
import { formatVerification, keptText, verdictLine } from "#diagnose/verify-text/format-verify.ts";
import { type ClusterTarget, connectRunning } from "./cluster/cluster-target.ts";
import {
  COPY_SHARE,
  checkMemory,
  checkMemoryAt,
  checkMemoryToRead,
  checkRoomToBegin,
  warnOfMemory,
} from "./cluster/memory-check.ts";
import { type OpenReport, openSession } from "./cluster/open-session.ts";
import { readClusterInputs } from "./cluster/read-cluster-inputs.ts";
import { reportFailure } from "./failure.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import { traceStyle } from "./trace.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** How often files are looked at; what was written is read when it has been left alone for as long. */
const FILES_MS = 250;
/** A running cluster is asked no more often than this, and is left alone for ten times as long as its answer takes. */
const CLUSTER_MS_MIN = 1_000;
const CLUSTER_SHARE = 10;

const SIGINT_CODE = 130;

export interface WatchRequest {
  readonly target: ClusterTarget;
  readonly overrides: FileOverrides;
  /** Marks findings that the user takes. */
  readonly allow: (report: VerifyReport) => VerifyReport;
  /** The command that traces in the same cluster. */
  readonly command: string;
}

/** Something that can be judged, and changes. */
interface Watched {
  /** Undefined: stopped before the end. @throws what is wrong with it as it is. */
  judge(isStopped: () => boolean): Promise<VerifyReport | undefined>;
  /** Resolves when it may be another one, or `isStopped`. */
  untilChange(isStopped: () => boolean): Promise<void>;
}

/** What tells one state of the files from another: which there are, their sizes and times. */
async function stateOfFiles({ files, isRecursive }: ClusterTarget, terminal: Terminal): Promise<string> {
  const rows: string[] = [];
  for (const path of files) {
    const inside = await terminal.listFolder(path, isRecursive).catch(() => undefined);
    for (const file of inside ?? [path]) {
      const found = await stat(file).catch(() => undefined);
      rows.push(`${file} ${found?.size ?? "-"} ${found?.mtimeMs ?? "-"} ${found?.ino ?? "-"}`);
    }
  }
  return rows.join("\n");
}

class WatchedFiles implements Watched {
  private readonly request: WatchRequest;
  private readonly terminal: Terminal;
  private readonly known = new KeptResults();
  /** As they were when they were read. */
  private state = "";
  private isWarned = false;

  constructor(request: WatchRequest, terminal: Terminal) {
    this.request = request;
    this.terminal = terminal;
  }

  async judge(isStopped: () => boolean): Promise<VerifyReport | undefined> {
    const { target, overrides } = this.request;
    this.state = await stateOfFiles(target, this.terminal);
    const inputs = await readClusterInputs(target.files, target.isRecursive, this.terminal);
    const opened = await openSession(inputs, this.report, overrides);
    checkMemory(WORDS.beforeClusterCopy, WORDS.adviceMoreMemoryAlone, COPY_SHARE);
    const work = opened.judge(this.known, new Date().toISOString());
    for (;;) {
      await nextTurn();
      if (isStopped()) return undefined;
      const step = await work.next();
      if (step.done === true) return explainVerification(step.value);
    }
  }

  /** Everything is raised, and may be too large for this process. */
  private get report(): OpenReport {
    return {
      reads: (objects) => checkMemoryToRead(objects, WORDS.adviceMoreMemoryAlone),
      begins: (size) => {
        if (!this.isWarned) warnOfMemory(size, WORDS.adviceMoreMemoryAlone, this.terminal);
        this.isWarned = true;
        checkRoomToBegin(size, WORDS.adviceMoreMemoryAlone);
      },
      progress: (text, done, total) => {
        checkMemoryAt(text, done, total, WORDS.adviceMoreMemoryAlone);
      },
    };
  }

  async untilChange(isStopped: () => boolean): Promise<void> {
    let before = this.state;
    for (;;) {
      await pause(FILES_MS);
      if (isStopped()) return;
      const now = await stateOfFiles(this.request.target, this.terminal);
      // An editor writes in several steps.
      if (now === before && now !== this.state) return;
      before = now;
    }
  }
}

class WatchedCluster implements Watched {
  private readonly target: ClusterTarget;
  private tookMs = 0;

  constructor(target: ClusterTarget) {
    this.target = target;
  }

  async judge(): Promise<VerifyReport> {
    const beganMs = performance.now();
    const report = await (await connectRunning(this.target)).verify();
    this.tookMs = performance.now() - beganMs;
    return report;
  }

  /** Whatever changes a cluster, through whichever door, is seen by asking: what nothing has touched costs a look. */
  async untilChange(isStopped: () => boolean): Promise<void> {
    const endMs = performance.now() + Math.max(CLUSTER_MS_MIN, this.tookMs * CLUSTER_SHARE);
    while (performance.now() < endMs && !isStopped()) await pause(FILES_MS);
  }
}

/** Says what is new, and remembers what was said. */
class Screen {
  private readonly request: WatchRequest;
  private readonly terminal: Terminal;
  private last: VerifyReport | undefined;
  private lastText = "";
  private hasProblem = false;

  constructor(request: WatchRequest, terminal: Terminal) {
    this.request = request;
    this.terminal = terminal;
  }

  show(report: VerifyReport): ExitCode {
    const { terminal, last } = this;
    const style = traceStyle(terminal);
    const text = formatVerification(withoutKept(report), this.request.command, style);
    if (last === undefined) terminal.stdout(text);
    else if (text !== this.lastText || this.hasProblem) this.showChange(last, report);
    this.last = report;
    this.lastText = text;
    this.hasProblem = false;
    return report.counts.findings === 0 ? 0 : 1;
  }

  /** Shows it once. */
  fail(error: unknown): ExitCode {
    const isDebug = process.env["MULLION_DEBUG"] === "1";
    const code = reportFailure(error, this.terminal, isDebug);
    this.terminal.stderr(`${WORDS.watchContinues}\n`);
    this.hasProblem = true;
    return code;
  }

  private showChange(last: VerifyReport, report: VerifyReport): void {
    const { terminal } = this;
    const style = traceStyle(terminal);
    const sides = [
      { label: "before", report: last },
      { label: "now", report },
    ];
    const comparison = compareVerifications(sides);
    const time = new Date().toISOString().slice("2000-01-01T".length, "2000-01-01T00:00:00".length);
    const kept = keptText(report);
    const others = report.kept?.cells === report.kept?.of ? "" : "; the others were judged again";
    const judged =
      kept === undefined ? `judged again: ${report.counts.tried} cells` : `kept: ${kept}${others}`;
    terminal.stdout(`\n${time} UTC  ${judged}\n`);
    if (comparison.changes.length + comparison.input.length > 0)
      terminal.stdout(formatComparison(comparison, style));
    terminal.stdout(`${verdictLine(report, style)}\n`);
  }
}

function withoutKept({ kept: _kept, ...report }: VerifyReport): VerifyReport {
  return report;
}

async function untilStopped(terminal: Terminal, stop: { isAsked: boolean }): Promise<void> {
  await terminal.untilInterrupted();
  stop.isAsked = true;
}

/** Shows the matrix until the user ends it; the exit code is that of what was shown last. */
export async function watchVerification(request: WatchRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, allow } = request;
  const watched = target.files.length > 0 ? new WatchedFiles(request, terminal) : new WatchedCluster(target);
  const screen = new Screen(request, terminal);
  const stop = { isAsked: false };
  void untilStopped(terminal, stop);
  const isStopped = (): boolean => stop.isAsked;
  // Ended before anything was shown: there is no state to end with.
  let code: ExitCode = SIGINT_CODE;
  while (!isStopped()) {
    try {
      const report = await watched.judge(isStopped);
      if (report === undefined) break;
      code = screen.show(allow(report));
    } catch (error) {
      if (target.files.length === 0) throw error;
      code = screen.fail(error);
    }
    await watched.untilChange(isStopped);
  }
  return code;
}
