/**
 * Running a plugin by its name: the seam between a caller (a runtime, or a plugin that delegates) and plugins
 * in this process or in processes of their own. Both speak texts, so both are the same code.
 */
import { pathRulesOf } from "#core/base/path-rules.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type CniCommand, type Environment, effectiveVersion } from "./plugin-input.ts";
import { StructReader, readStruct, parseJson } from "./json.ts";
import { type JsonObject, type JsonValue, mappingOf } from "#core/base/json.ts";
import { CNI_CODES, CniError, describeError, readCniError } from "./error.ts";
import { type CniPlugin, type CniProcess, type Platform, type PluginRequest, runPlugin } from "./plugin.ts";
import { type CniResult, parseResult } from "./result.ts";

/** One call of a plugin. */
export interface PluginCall {
  /** The name of the executable. */
  readonly type: string;
  /** The complete environment; `CNI_PATH` says where plugins lie. */
  readonly env: Environment;
  readonly stdin: string;
}

/** How a call ended. */
export interface PluginExit {
  /** The exit status; 0 is success. */
  readonly status: number;
  /** How the system puts a failure, such as `exit status 1` or `signal: killed`. */
  readonly statusText: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Which entry of the catalogue explains the failure, where the plugin could say it. */
  readonly knowledge?: KnowledgeCode | undefined;
}

/** Finds and runs plugins. Rejects with `CniError` when there is none of that name, or it cannot be started. */
export interface PluginRunner {
  run(call: PluginCall): Promise<PluginExit>;
}

/** The text for a plugin that is in none of the folders (cni.md §1.8). */
export function pluginNotFound(type: string, folders: readonly string[]): CniError {
  if (type === "") return new CniError(CNI_CODES.internal, "no plugin name provided");
  if (folders.length === 0) return new CniError(CNI_CODES.internal, "no paths provided");
  const where = `[${folders.join(" ")}]`;
  return new CniError(CNI_CODES.internal, `failed to find plugin ${JSON.stringify(type)} in path ${where}`);
}

/** The folders of `CNI_PATH`. */
export function splitPluginPath(path: string, platform: string): readonly string[] {
  return pathRulesOf(platform).splitList(path);
}

function failureOf(exit: PluginExit): CniError {
  const fail = (message: string): CniError => new CniError(CNI_CODES.unknown, message, { isPrinted: true });
  if (exit.stdout === "") {
    return exit.stderr === ""
      ? fail(`netplugin failed with no error message: ${exit.statusText}`)
      : fail(`netplugin failed: ${JSON.stringify(exit.stderr)}${exit.statusText && `: ${exit.statusText}`}`);
  }
  try {
    const reader = readStruct(parseJson(exit.stdout) ?? {}, "");
    return readCniError(reader, exit.knowledge);
  } catch (error) {
    const quoted = JSON.stringify(exit.stdout);
    return fail(
      `netplugin failed but error parsing its diagnostic message ${quoted}: ${describeError(error)}`,
    );
  }
}

/** Runs a verb that gives no result. @returns stdout. @throws the plugin's error as `CniError` (cni.md §1.6). */
export async function runForOutput(runner: PluginRunner, call: PluginCall): Promise<string> {
  const exit = await runner.run(call);
  if (exit.status !== 0) throw failureOf(exit);
  return exit.stdout;
}

/** A result with the document it was read from. */
export interface PrintedResult {
  readonly result: CniResult;
  /** As the plugin printed it, `cniVersion` filled in. */
  readonly document: JsonObject;
}

/** Reads what ADD printed; a result without a version has that of the configuration. */
export function readPrintedResult(stdout: string, configVersion: string): PrintedResult {
  let printed: JsonValue;
  try {
    printed = parseJson(stdout);
  } catch (error) {
    throw new CniError(CNI_CODES.internal, `failed to unmarshal raw result: ${describeError(error)}`, {
      cause: error,
    });
  }
  const document = mappingOf(printed);
  const version = new StructReader(document).text("cniVersion") || effectiveVersion(configVersion);
  return { result: parseResult(document, version), document: { ...document, cniVersion: version } };
}

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

/** Plugins are built with cni 1.3, which leaves the status away where the delegate has said something; runtimes tell it. */
function withoutStatus(exit: PluginExit): PluginExit {
  const isPlain = exit.stderr !== "" && /^exit status \d+$/.test(exit.statusText);
  return isPlain ? { ...exit, statusText: "" } : exit;
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
    return runForOutput({ run: () => Promise.resolve(withoutStatus(exit)) }, call);
  }
}

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
