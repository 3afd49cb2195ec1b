/** Plugins of this process under the names of their executables. */
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { CniPlugin, Platform } from "./plugin.ts";
import {
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  pluginNotFound,
  splitPluginPath,
} from "./plugin-runner.ts";
import { type CniProcess, runPlugin } from "./program.ts";

/** A process of texts: what `runPlugin` prints is collected. */
class TextProcess implements CniProcess {
  readonly env: PluginCall["env"];
  readonly platform: Platform;
  private readonly stdin: string;
  private output = "";
  private log = "";
  private knowledge: KnowledgeCode | undefined;

  constructor(call: PluginCall, platform: Platform) {
    this.env = call.env;
    this.platform = platform;
    this.stdin = call.stdin;
  }

  readStdin(): Promise<string> {
    return Promise.resolve(this.stdin);
  }

  stdout(text: string): void {
    this.output += text;
  }

  stderr(text: string): void {
    this.log += text;
  }

  explain(code: KnowledgeCode): void {
    this.knowledge = code;
  }

  exit(status: number): PluginExit {
    return {
      status,
      statusText: `exit status ${status}`,
      stdout: this.output,
      stderr: this.log,
      knowledge: this.knowledge,
    };
  }
}

/** Runs plugins in this process by the same `runPlugin` as the executables. */
export class InProcessRunner implements PluginRunner {
  private readonly plugins: ReadonlyMap<string, CniPlugin>;
  private readonly platform: Platform;

  /** `plugins` maps `type` to plugin; `platform` is what they believe they run on. */
  constructor(plugins: ReadonlyMap<string, CniPlugin>, platform: Platform) {
    this.plugins = plugins;
    this.platform = platform;
  }

  async run(call: PluginCall): Promise<PluginExit> {
    const plugin = this.plugins.get(call.type);
    if (plugin === undefined) {
      const folders = splitPluginPath(call.env["CNI_PATH"] ?? "", this.platform);
      throw pluginNotFound(call.type, folders.length === 0 ? ["this process"] : folders);
    }
    const process = new TextProcess(call, this.platform);
    return process.exit(await runPlugin(plugin, process));
  }
}
