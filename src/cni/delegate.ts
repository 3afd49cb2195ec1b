/** Delegation: a plugin that calls another, usually for IPAM (cni.md §1.8). */
import { CNI_CODES, CniError } from "./error.ts";
import type { CniCommand } from "./parameters.ts";
import type { PluginRequest } from "./plugin.ts";
import { type PluginCall, type PluginRunner, readPrintedResult, runForOutput } from "./plugin-runner.ts";
import type { CniResult } from "./result.ts";

/**
 * Calls a delegate of the given type with everything its caller got: the environment but for the verb, and the
 * whole configuration. Rejects with the delegate's error, code and all.
 */
export interface Delegate {
  add(type: string, request: PluginRequest): Promise<CniResult>;
  del(type: string, request: PluginRequest): Promise<void>;
  check(type: string, request: PluginRequest): Promise<void>;
  status(type: string, request: PluginRequest): Promise<void>;
  gc(type: string, request: PluginRequest): Promise<void>;
}

/** A `Delegate` over any way of running plugins. */
export class RunnerDelegate implements Delegate {
  private readonly runner: PluginRunner;

  constructor(runner: PluginRunner) {
    this.runner = runner;
  }

  async add(type: string, request: PluginRequest): Promise<CniResult> {
    return readPrintedResult(await this.run("ADD", type, request), request.cniVersion).result;
  }

  async del(type: string, request: PluginRequest): Promise<void> {
    await this.run("DEL", type, request);
  }

  async check(type: string, request: PluginRequest): Promise<void> {
    await this.run("CHECK", type, request);
  }

  async status(type: string, request: PluginRequest): Promise<void> {
    await this.run("STATUS", type, request);
  }

  async gc(type: string, request: PluginRequest): Promise<void> {
    await this.run("GC", type, request);
  }

  private async run(command: CniCommand, type: string, request: PluginRequest): Promise<string> {
    if (type === "") throw new CniError(CNI_CODES.internal, "no plugin name provided");
    const call: PluginCall = {
      type,
      env: { ...request.env, CNI_COMMAND: command },
      stdin: request.configurationText,
    };
    const exit = await this.runner.run(call);
    if (exit.stderr !== "") request.warn(exit.stderr.trimEnd());
    return runForOutput({ run: () => Promise.resolve(exit) }, call);
  }
}
