/** The program `flanneld`: words and files to a running daemon, its log as klog prints it, and its end to an exit code. */
import { type FlannelLog, type Severity, findingOf } from "#programs/flannel/reports.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { FlannelHost } from "#programs/flannel/node/flannel-host.ts";
import { Flanneld, type FlanneldState } from "#programs/flannel/flanneld.ts";
import { type Listen, NOT_FOUND, textAnswer } from "#programs/kube-proxy/daemon/health/http-answer.ts";
import { FlagError, type FlanneldFlags, helpText, readFlags } from "./flags.ts";
import { type OpenStoreParts, type OpenedStore, openStore } from "./open-store.ts";

function two(value: number): string {
  return String(value).padStart(2, "0");
}

interface KlogLinesParts {
  readonly write: (line: string) => void;
  /** The time of day in milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly pid: number;
}

class KlogLines implements FlannelLog {
  private readonly parts: KlogLinesParts;

  constructor(parts: KlogLinesParts) {
    this.parts = parts;
  }

  write(severity: Severity, text: string): void {
    const ms = this.parts.wallMs();
    const at = new Date(ms);
    const micros = String(Math.floor((ms % 1_000) * 1_000)).padStart(6, "0");
    const day = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
    const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${micros}`;
    const pid = String(this.parts.pid).padStart(7);
    // One entry is one line, whatever a message holds.
    this.parts.write(`${severity}${day} ${time} ${pid} flanneld] ${text.replaceAll("\n", "\\n")}\n`);
  }
}

/** What the program sees of its process. */
export interface FlanneldProcess extends Omit<OpenStoreParts, "flags" | "log"> {
  readonly argv: readonly string[];
  readonly pid: number;
  /** Of this package. */
  readonly version: string;
  readonly stderr: (text: string) => void;
  readonly listen: Listen;
  readonly openHost: () => FlannelHost;
  /** On Windows nodes. */
  readonly openHns: (() => HcnClient) | undefined;
  /** Settles when the process is asked to end. */
  readonly untilInterrupted: () => Promise<void>;
}

/** How long it waits until it follows the store again. */
const FOLLOW_RETRY_MS = 1_000;
/** No sleep is longer: a timer of ours is cheap, one that was lost is not. */
const SLEEP_MAX_MS = 60_000;

/** Sleeps that can be ended. */
class Sleep {
  private readonly clock: FlanneldProcess["clock"];
  private wakeUp: (() => void) | undefined;
  private isAwake = false;

  constructor(clock: FlanneldProcess["clock"]) {
    this.clock = clock;
  }

  wake(): void {
    this.isAwake = true;
    this.wakeUp?.();
  }

  async for(ms: number): Promise<void> {
    if (!this.isAwake) {
      await new Promise<void>((resolve) => {
        const timer = this.clock.schedule(Math.min(ms, SLEEP_MAX_MS), { run: () => resolve() });
        this.wakeUp = () => {
          this.clock.cancel(timer);
          resolve();
        };
      });
    }
    this.wakeUp = undefined;
    this.isAwake = false;
  }
}

function waitOf(state: FlanneldState): number {
  if (state.state === "waiting") return state.retryAfterMs;
  return state.state === "running" ? (state.nextMs ?? SLEEP_MAX_MS) : 0;
}

/** One flanneld, until it ends or is asked to. */
class Daemon {
  private readonly flanneld: Flanneld;
  private readonly process: FlanneldProcess;
  private readonly log: FlannelLog;
  private readonly sleep: Sleep;
  private stopFollowing: (() => void) | undefined;
  private isStopped = false;

  constructor(process: FlanneldProcess, flanneld: Flanneld, log: FlannelLog) {
    this.process = process;
    this.flanneld = flanneld;
    this.log = log;
    this.sleep = new Sleep(process.clock);
  }

  get isReady(): boolean {
    return this.flanneld.isReady;
  }

  stop(): void {
    this.isStopped = true;
    this.sleep.wake();
  }

  /** @returns the exit code. */
  async run(): Promise<number> {
    try {
      while (!this.isStopped) {
        const state = await this.flanneld.advance(this.process.clock.nowMs);
        if (state.state === "ended") {
          this.log.write("I", `mullion explain ${state.finding.code} explains it`);
          return state.exitCode;
        }
        const isFollowing = this.flanneld.needsFollowing ? await this.follow() : true;
        await this.sleep.for(isFollowing ? waitOf(state) : FOLLOW_RETRY_MS);
      }
    } finally {
      this.stopFollowing?.();
    }
    this.log.write("I", "Exiting cleanly...");
    return 0;
  }

  private async follow(): Promise<boolean> {
    this.stopFollowing?.();
    this.stopFollowing = undefined;
    try {
      this.stopFollowing = await this.flanneld.follow(() => this.sleep.wake());
      return true;
    } catch (error) {
      this.log.write("E", `could not watch leases: ${messageOf(error)}`);
      return false;
    }
  }
}

/** The health server, when there is to be one. @returns what ends it. */
async function serveHealth(
  { healthzIp, healthzPort }: FlanneldFlags,
  { listen }: FlanneldProcess,
  log: FlannelLog,
  isReady: () => boolean,
): Promise<() => Promise<void>> {
  if (healthzPort <= 0) return () => Promise.resolve();
  const address = healthzIp.includes(":") ? `[${healthzIp}]:${healthzPort}` : `${healthzIp}:${healthzPort}`;
  log.write("I", `Start healthz server on ${address}`);
  const server = await listen(address, (path) => {
    if (path === "/healthz") return textAnswer(200, "flanneld is running");
    if (path !== "/readyz") return NOT_FOUND;
    return isReady() ? textAnswer(200, "flanneld is ready") : textAnswer(503, "flanneld is not ready yet");
  });
  return () => server.close();
}

async function stopOnSignal(process: FlanneldProcess, daemon: Daemon, log: FlannelLog): Promise<void> {
  await process.untilInterrupted();
  log.write("I", "shutdownHandler sent cancel signal...");
  daemon.stop();
}

async function serve(flags: FlanneldFlags, process: FlanneldProcess, log: FlannelLog): Promise<number> {
  let opened: OpenedStore;
  try {
    opened = await openStore({ ...process, flags, log });
  } catch (error) {
    const { code, message } = findingOf(
      error,
      "flannel-store-unreachable",
      "Failed to create SubnetManager: ",
    );
    log.write("E", message);
    log.write("I", `mullion explain ${code} explains it`);
    return 1;
  }
  const client = process.openHns?.();
  const flanneld = new Flanneld({
    store: opened.store,
    host: process.openHost(),
    client,
    files: process.files,
    log,
    options: flags.options,
  });
  const daemon = new Daemon(process, flanneld, log);
  log.write("I", "Installing signal handlers");
  void stopOnSignal(process, daemon, log);
  let closeHealth: (() => Promise<void>) | undefined;
  try {
    closeHealth = await serveHealth(flags, process, log, () => daemon.isReady);
    return await daemon.run();
  } catch (error) {
    log.write("E", messageOf(error));
    return 1;
  } finally {
    await closeHealth?.();
    await opened.close();
    await client?.close();
  }
}

/** Runs flanneld until it ends, and returns its exit code: 0 cleanly, 1 for what fails, 2 for bad words. */
export async function runFlanneld(process: FlanneldProcess): Promise<number> {
  const { argv, variables, wallMs, pid, stderr, version } = process;
  const log = new KlogLines({ write: stderr, wallMs, pid });
  let flags: FlanneldFlags;
  try {
    flags = readFlags(argv, variables);
  } catch (error) {
    if (error instanceof FlagError) {
      stderr(`${error.message}\nflanneld --help lists the flags\n`);
      return 2;
    }
    log.write("E", messageOf(error));
    return 1;
  }
  if (flags.isHelp) {
    stderr(helpText());
    return 0;
  }
  if (flags.isVersion) {
    stderr(`${version}\n`);
    return 0;
  }
  log.write("I", `flanneld of Mullion ${version}, mode ${flags.options.compat}`);
  return serve(flags, process, log);
}
