/** A process of a real pod: one of `workloads:` in the cluster file, or the built-in server. */
import { type ChildProcess, spawn } from "node:child_process";
import { LIMITS } from "#core/base/limits.ts";
import type { WorkloadState } from "./live-places.ts";
import { type SandboxOptions, sandboxed } from "./sandbox.node.ts";

export interface WorkloadOptions extends SandboxOptions {
  readonly pod: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isBuiltIn: boolean;
}

/** What the built-in server prints when it serves. */
const SERVES = "Started HTTP server";
const READY_MAX_MS = 20_000;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export class Workload {
  /** What it printed last: so much as `LIMITS.workloadLogCharactersMax`. */
  log = "";
  /** Resolves when the built-in server serves, when any other one was started, or when it ended. */
  readonly ready: Promise<void>;
  private readonly options: WorkloadOptions;
  private readonly child: ChildProcess;
  private readonly ended: Promise<void>;
  private reason: string | undefined;
  private isFailed = false;

  /** Starts it. What goes wrong is in its state. */
  constructor(options: WorkloadOptions) {
    this.options = options;
    const [program = "", ...words] = sandboxed(options);
    const env = { ...options.env, PATH, HOME: "/tmp", HOSTNAME: options.hostname };
    this.child = spawn(program, words, { env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] });
    const [started, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.ended = end.promise;
    if (options.isBuiltIn) setTimeout(started.resolve, READY_MAX_MS).unref();
    else started.resolve();
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.log = (this.log + text).slice(-LIMITS.workloadLogCharactersMax);
        if (this.log.includes(SERVES)) started.resolve();
      });
    const over = (reason: string): void => {
      this.reason ??= reason;
      started.resolve();
      end.resolve();
    };
    this.child.once("error", (error) => {
      this.isFailed = true;
      over(`${program} cannot be started: ${error.message}`);
    });
    this.child.once("exit", (code, signal) => over(signal === null ? `exit code ${code ?? 0}` : signal));
    this.ready = started.promise;
  }

  get pod(): string {
    return this.options.pod;
  }

  get state(): WorkloadState {
    const { pod, isBuiltIn, command } = this.options;
    const { reason } = this;
    const head = { pod, command: [...command], isBuiltIn };
    if (reason === undefined) return { ...head, state: "running" };
    return { ...head, state: this.isFailed ? "failed" : "ended", reason };
  }

  /** Ends it and all that it started. */
  async close(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
    // A process that outlives the one that started it may have them still.
    this.child.stdout?.destroy();
    this.child.stderr?.destroy();
  }
}
