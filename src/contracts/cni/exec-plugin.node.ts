/** Plugins as processes, found in `CNI_PATH` and run as the client library does (cni.md §1.6, §1.8). */
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "#core/base/limits.ts";
import { pathRulesOf } from "#core/base/path-rules.ts";
import { CNI_CODES, CniError } from "./error.ts";
import type { Environment } from "./plugin-input.ts";
import {
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  pluginNotFound,
  splitPluginPath,
} from "./plugin-runner.ts";

export interface ExecRunnerOptions {
  /** Default: the machine's. Decides how `CNI_PATH` is split and which file names are tried. */
  readonly platform?: string;
  /** How long a plugin may run, in milliseconds; then it is killed. Default `LIMITS.delegateWaitMs`. */
  readonly timeoutMs?: number;
}

const BUSY_RUNS_MAX = 6;
const BUSY_WAIT_MS = 1_000;

const SIGNAL_TEXTS: Readonly<Record<string, string>> = { SIGKILL: "killed", SIGTERM: "terminated" };

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * The file of a plugin: in the first folder that has it, on Windows with `.exe` before without.
 * @throws CniError in the words of the client library.
 */
export function findPlugin(type: string, folders: readonly string[], platform: string): string {
  const paths = pathRulesOf(platform);
  if (type.includes(paths.separator)) {
    throw new CniError(CNI_CODES.internal, `invalid plugin name: ${type}`);
  }
  const names = paths.executablesOf(type);
  const candidates = folders.flatMap((folder) => names.map((name) => paths.join(folder, name)));
  const found = type === "" ? undefined : candidates.find(isFile);
  if (found === undefined) throw pluginNotFound(type, folders);
  return found;
}

function compactEnvironment(env: Environment): Record<string, string> {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}

function statusText(code: number | null, signal: string | null): string {
  if (signal === null) return `exit status ${code ?? 0}`;
  return `signal: ${SIGNAL_TEXTS[signal] ?? signal.slice(3).toLowerCase()}`;
}

/** Collects at most `LIMITS.jsonBytesMax` bytes; what is beyond is dropped and noted. */
class Output {
  private readonly chunks: Buffer[] = [];
  private length = 0;

  add(chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length <= LIMITS.jsonBytesMax) this.chunks.push(chunk);
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString("utf8");
  }
}

/** One run. Resolves with the exit; with `undefined` when the file is busy being written. */
function runOnce(path: string, call: PluginCall, timeoutMs: number): Promise<PluginExit | undefined> {
  return new Promise((resolve) => {
    const stdout = new Output();
    const stderr = new Output();
    const child = spawn(path, [], { env: compactEnvironment(call.env), stdio: "pipe", windowsHide: true });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    const finish = (status: number, text: string): void => {
      clearTimeout(timer);
      const why = isLate ? `no end within ${timeoutMs / 1_000} s` : text;
      resolve({ status, statusText: why, stdout: stdout.text, stderr: stderr.text });
    };
    child.stdout.on("data", (chunk: Buffer) => stdout.add(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.add(chunk));
    // A plugin may end without reading its configuration.
    child.stdin.on("error", () => undefined);
    child.stdin.end(call.stdin);
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ETXTBSY") {
        clearTimeout(timer);
        resolve(undefined);
        return;
      }
      finish(255, `fork/exec ${path}: ${error.message}`);
    });
    child.on("close", (code, signal) =>
      finish(signal === null ? (code ?? 0) : 255, statusText(code, signal)),
    );
  });
}

/** Runs plugins as processes. */
export class ExecRunner implements PluginRunner {
  private readonly platform: string;
  private readonly timeoutMs: number;

  constructor(options: ExecRunnerOptions = {}) {
    this.platform = options.platform ?? process.platform;
    this.timeoutMs = options.timeoutMs ?? LIMITS.delegateWaitMs;
  }

  async run(call: PluginCall): Promise<PluginExit> {
    const folders = splitPluginPath(call.env["CNI_PATH"] ?? "", this.platform);
    const path = findPlugin(call.type, folders, this.platform);
    for (let run = 1; run < BUSY_RUNS_MAX; run++) {
      const exit = await runOnce(path, call, this.timeoutMs);
      if (exit !== undefined) return exit;
      await sleep(BUSY_WAIT_MS);
    }
    throw new CniError(CNI_CODES.tryAgainLater, `fork/exec ${path}: text file busy`);
  }
}
