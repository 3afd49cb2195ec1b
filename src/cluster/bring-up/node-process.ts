/** A program that runs on the node while the scripts go on. */
import type { BringUpFinding, ProcessReport } from "./report.ts";

/** Lines of a log that a report shows. */
const SHOWN_LINES = 20;

export abstract class NodeProcess {
  readonly name: ProcessReport["name"];
  readonly flags: readonly string[];
  /** Path of the executable, as the scripts write it. */
  readonly path: string;
  isRunning = true;
  /** A step has told that it was started. */
  isReported = false;
  /** A step has told why it ended. */
  isFailureReported = false;
  /** When it wants to work; undefined: only when something is told. */
  dueAtMs: number | undefined;
  private readonly lines: string[] = [];
  private reported = 0;

  constructor(name: ProcessReport["name"], path: string, flags: readonly string[]) {
    this.name = name;
    this.path = path;
    this.flags = flags;
  }

  /** Why it has ended by itself; undefined: it has not. */
  get failure(): BringUpFinding | undefined {
    return undefined;
  }

  /** Does what is due. */
  abstract advance(nowMs: number): Promise<void>;

  /** As `taskkill /f` does it. */
  stop(): void {
    this.isRunning = false;
    this.dueAtMs = undefined;
  }

  get commandLine(): string {
    return [this.path, ...this.flags].join(" ");
  }

  protected write(line: string): void {
    this.lines.push(line);
  }

  /** It says why, and is gone. */
  protected end(line: string): void {
    this.write(line);
    this.stop();
  }

  /** What it has said since somebody asked. */
  takeLines(): readonly string[] {
    const fresh = this.lines.slice(this.reported);
    this.reported = this.lines.length;
    return fresh;
  }

  report(): ProcessReport {
    return {
      name: this.name,
      commandLine: this.commandLine,
      state: this.isRunning ? "running" : "ended",
      log: this.lines.slice(-SHOWN_LINES),
    };
  }
}

/** A kubelet: it makes the Node, and then waits for pods, which are Docker's to start here. */
export class KubeletProcess extends NodeProcess {
  /**
   * @param refusal what it ends with; undefined: it takes its flags.
   * @param nodeIp of --node-ip: it takes addresses between commas, and passes by what is none (cmd/kubelet/app/server.go)
   */
  constructor(flags: readonly string[], refusal: string | undefined, nodeIp = "") {
    super("kubelet", String.raw`c:\k\kubelet.exe`, flags);
    if (refusal !== undefined) this.end(refusal);
    else if (nodeIp.includes(" ")) this.write(`I "Could not parse --node-ip ignoring" IP="${nodeIp}"`);
  }

  advance(): Promise<void> {
    this.dueAtMs = undefined;
    return Promise.resolve();
  }
}
