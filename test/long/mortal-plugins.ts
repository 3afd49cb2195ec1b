/** CNI plugins as processes that are killed: at a random moment, or at one of their calls of HNS. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Prng } from "#core/base/prng.ts";
import { findPlugin } from "#contracts/cni/exec-plugin.node.ts";
import {
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  splitPluginPath,
} from "#contracts/cni/plugin-runner.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { HnsHttpServer } from "#hns/http/http-server.node.ts";

/** How a process ends. */
export type Fate =
  | { readonly kind: "lives" }
  | { readonly kind: "after"; readonly ms: number }
  /** `before`: HNS never hears of the call. `after`: HNS has done it, and nobody hears the answer. */
  | { readonly kind: "at-call"; readonly call: number; readonly moment: "before" | "after" };

export const LIVES: Fate = { kind: "lives" };

/** Longer than a plugin lives on a machine that has nothing else to do. */
const LIFE_MS_MAX = 250;
/** More calls than a plugin makes, so that some live. */
const CALLS_MAX = 12;

/** Every other process is killed. */
export function drawFate(prng: Prng): Fate {
  const kind = prng.below(4);
  if (kind === 0) return { kind: "after", ms: prng.below(LIFE_MS_MAX) };
  if (kind === 1)
    return {
      kind: "at-call",
      call: 1 + prng.below(CALLS_MAX),
      moment: prng.below(2) === 0 ? "before" : "after",
    };
  return LIVES;
}

/** The calls of HNS that a plugin makes. */
const CALLS: ReadonlySet<string> = new Set([
  "enumerate",
  "create",
  "query",
  "modify",
  "delete",
  "call",
  "queryService",
]);

/** Runs one plugin at a time, with a way to HNS of its own, so that its calls can be told from those of others. */
export class MortalRunner implements PluginRunner {
  /** Decides about the next process. */
  fate: () => Fate = () => LIVES;
  /** Processes that were killed before they ended by themselves. */
  kills = 0;
  /** Calls of HNS that the last process made. */
  calls = 0;
  private readonly socketPath: string;
  private server: HnsHttpServer | undefined;
  private child: ChildProcess | undefined;
  private closed: Promise<unknown> = Promise.resolve();
  private current: Fate = LIVES;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  async open(client: HcnClient): Promise<void> {
    const address = { socketPath: this.socketPath };
    this.server = await HnsHttpServer.listen({ client: this.watched(client), address });
  }

  async close(): Promise<void> {
    await this.server?.close();
  }

  async run(call: PluginCall): Promise<PluginExit> {
    const path = findPlugin(call.type, splitPluginPath(call.env["CNI_PATH"] ?? "", "linux"), "linux");
    this.current = this.fate();
    this.calls = 0;
    const env = { ...call.env, MULLION_HNS: `unix:${this.socketPath}` };
    const child = spawn(path, [], { env, stdio: "pipe" });
    this.child = child;
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
    child.stdin.on("error", () => undefined);
    child.stdin.end(call.stdin);
    // Not its end of output, which a child of the killed process may hold open.
    const exited = new Promise<number>((resolve) => {
      child.once("exit", (code) => resolve(code ?? 255));
    });
    const whole = new Promise((resolve) => child.once("close", resolve));
    this.closed = exited;
    const timer = this.current.kind === "after" ? setTimeout(() => this.kill(), this.current.ms) : undefined;
    const status = await exited;
    clearTimeout(timer);
    if (child.signalCode === null) await whole;
    if (child.signalCode === "SIGKILL") this.kills += 1;
    return { status, statusText: `exit status ${status}`, ...output };
  }

  private kill(): void {
    this.child?.kill("SIGKILL");
  }

  private watched(client: HcnClient): HcnClient {
    return new Proxy(client, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        const bound = (...args: readonly unknown[]): unknown => Reflect.apply(member, target, args);
        return CALLS.has(String(name))
          ? (...args: readonly unknown[]) => this.pass(() => bound(...args))
          : bound;
      },
    });
  }

  private async pass(call: () => unknown): Promise<unknown> {
    this.calls += 1;
    const { current } = this;
    const isLast = current.kind === "at-call" && current.call === this.calls;
    if (isLast && current.moment === "before") {
      this.kill();
      await this.closed;
      throw new HcnError("RPC_S_SERVER_UNAVAILABLE", { detail: "who asked is gone" });
    }
    const answer = await call();
    if (isLast) {
      this.kill();
      await this.closed;
    }
    return answer;
  }
}
