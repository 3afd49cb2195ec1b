/** `mullion doctor --watch`: nodes are looked at again and again; what is told is what became wrong, and what was mended. */
import { setTimeout as pause } from "node:timers/promises";
import { formatDuration } from "#core/base/duration.ts";
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import { plural } from "#core/base/text-layout.ts";
import type { FileReading } from "#diagnose/doctor/read-evidence.ts";
import { type DoctorReport, examineNodes, nodeNames } from "#diagnose/doctor/doctor.ts";
import { type Change, type DoctorEvent, FindingHistory } from "#diagnose/doctor/finding-history.ts";
import { formatFinding } from "#diagnose/doctor/format-text.ts";
import { collect } from "./doctor-sources.ts";
import { Failure } from "./failure.ts";
import type { ExitCode, Terminal } from "./terminal.ts";
import type { FollowedCluster } from "./followed-cluster.ts";
import type { DoctorRequest } from "./verbs.ts";
import { doctor as doctorWords } from "#data/words.js";

const WORDS = doctorWords();

/** How soon a Ctrl-C is heeded. */
const STEP_MS = 100;

export interface DoctorWatchRequest extends DoctorRequest {
  readonly watchEveryMs: number;
}

type Told = Omit<DoctorEvent, "apiVersion" | "kind" | "time">;

/** A name that no node has is a mistake, and no sound node. */
export function unknownNode(node: string, names: readonly string[]): Failure {
  const advice = WORDS.adviceNode({ names: names.join(", ") || "none" });
  return new Failure("bad-usage", `no Windows node is called ${node}`, advice);
}

class DoctorWatch {
  private readonly history = new FindingHistory();
  private readonly request: DoctorWatchRequest;
  private readonly terminal: Terminal;
  private isStopped = false;
  private hasBegun = false;
  private lastReason = "";
  private checksMade = 0;
  private followed: FollowedCluster | undefined;
  /** What the last look has read. */
  private seen: readonly FileReading[] = [];
  private report: DoctorReport | undefined;

  constructor(request: DoctorWatchRequest, terminal: Terminal) {
    this.request = request;
    this.terminal = terminal;
  }

  async run(): Promise<ExitCode> {
    try {
      return await this.watch();
    } finally {
      await this.followed?.close();
    }
  }

  private async watch(): Promise<ExitCode> {
    void this.untilInterrupted();
    while (!this.isStopped) {
      const beganMs = performance.now();
      await this.look();
      // Who is looked at has to work, too: at least half of the time is its own.
      const tookMs = performance.now() - beganMs;
      const endMs = performance.now() + Math.max(this.request.watchEveryMs, tookMs);
      while (!this.isStopped && performance.now() < endMs)
        await pause(Math.min(STEP_MS, Math.max(1, endMs - performance.now())));
    }
    return this.end();
  }

  private async untilInterrupted(): Promise<void> {
    await this.terminal.untilInterrupted();
    this.isStopped = true;
  }

  /** The cluster is listed once, and heard of from there. */
  private async follow(kubeconfig: string): Promise<FollowedCluster> {
    const { FollowedCluster: Followed } = await import("./followed-cluster.ts");
    this.followed ??= await Followed.open(kubeconfig);
    return this.followed;
  }

  private async look(): Promise<void> {
    const time = new Date().toISOString();
    try {
      const { kubeconfig, node } = this.request;
      const cluster = kubeconfig === undefined ? undefined : await this.follow(kubeconfig);
      const { readings, logs } = await collect(
        this.request,
        this.terminal,
        cluster && (() => cluster.read()),
      );
      this.lastReason = "";
      const isSame =
        logs.length === 0 &&
        readings.length === this.seen.length &&
        readings.every((reading, index) => reading === this.seen[index]);
      // What is followed and has not changed says what it said.
      const report =
        isSame && this.report !== undefined ? this.report : await examineNodes(readings, { logs, node });
      this.seen = readings;
      this.report = report;
      this.checksMade = report.checksMade;
      if (node !== undefined && report.nodes.length === 0 && !this.hasBegun)
        throw unknownNode(node, nodeNames(readings, logs));
      if (!this.hasBegun) this.begin(report.nodes, time);
      for (const change of this.history.take(report, time)) this.tell(change);
    } catch (error) {
      // A server that does not answer shows nothing: what is wrong stays wrong. Without a first answer there is none to wait for.
      if (!(error instanceof Failure) || !this.hasBegun) throw error;
      if (error.message !== this.lastReason) this.say({ event: "not-read", reason: error.message }, time);
      this.lastReason = error.message;
    }
  }

  private begin(nodes: readonly string[], time: string): void {
    this.hasBegun = true;
    this.say({ event: "begin", nodes, checksMade: this.checksMade }, time);
  }

  private tell({ event, finding, since }: Change): void {
    this.say({ event, finding, since }, event === "wrong" ? since : new Date().toISOString());
  }

  private end(): ExitCode {
    const wrong = this.history.wrong.map(({ finding }) => finding);
    const reason = this.lastReason === "" ? {} : { reason: this.lastReason };
    this.say({ event: "end", wrong, checksMade: this.checksMade, ...reason }, new Date().toISOString());
    if (wrong.length > 0) return 1;
    // Who was not seen at last is not known to be sound.
    return this.checksMade > 0 && this.lastReason === "" ? 0 : 2;
  }

  private say(told: Told, time: string): void {
    const { terminal, request } = this;
    const event: DoctorEvent = { apiVersion: DOCUMENT_VERSION, kind: "DoctorEvent", ...told, time };
    terminal.stdout(request.output === "json" ? `${JSON.stringify(event)}\n` : eventText(event, terminal));
  }
}

/** `12:30:05`; the day is the reader's. */
function clockTime(time: string): string {
  return time.slice("2026-01-01T".length, "2026-01-01T00:00:00".length);
}

function eventText(
  { event, time, nodes = [], finding, since, reason = "", wrong = [], checksMade = 0 }: DoctorEvent,
  terminal: Terminal,
): string {
  const at = `${clockTime(time)} UTC`;
  if (event === "begin")
    return `${at}  ${WORDS.watchBegins({ nodes: nodes.join(", ") || "no node", checks: plural(checksMade, "check") })}\n`;
  if (event === "not-read") return `${at}  ${terminal.yellow("not read")}  ${reason}\n`;
  if (event === "end") {
    const made = `${plural(checksMade, "check")} made.`;
    const unread = reason === "" ? "" : `  ${WORDS.watchEndsUnread({ reason })}\n`;
    if (wrong.length === 0)
      return `${at}  ${reason === "" ? "Nothing is wrong" : "Nothing was wrong"}; ${made}\n${unread}`;
    const lines = wrong.map((each) => `  ${each.node}: ${each.certainty}: ${each.code}: ${each.message}\n`);
    return `${at}  ${plural(wrong.length, "finding")} left; ${made}\n${lines.join("")}${unread}`;
  }
  if (finding === undefined || since === undefined) return "";
  if (event === "wrong")
    return `${at}  ${terminal.red("wrong")}\n${formatFinding(finding, undefined, terminal)}\n`;
  const length = formatDuration(
    Math.max(1, Math.round((Date.parse(time) - Date.parse(since)) / 1_000)) * 1_000,
  );
  return `${at}  ${terminal.green("mended")} after ${length}: ${finding.node}: ${finding.code}: ${finding.message}\n`;
}

/** Looks until the user ends it. The exit code is 1 where something is wrong then. */
export function watchNodes(request: DoctorWatchRequest, terminal: Terminal): Promise<ExitCode> {
  return new DoctorWatch(request, terminal).run();
}
