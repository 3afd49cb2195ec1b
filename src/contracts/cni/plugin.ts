/**
 * What a plugin is: verbs over a request (cni.md §1.7), run as a function of its process: environment and stdin in, stdout
 * and an exit status out. Whole plugins run with texts, in the emulator and in tests; the real process appears in
 * `src/cli/` alone.
 */
import type { Compat } from "#core/base/compat.ts";
import { type JsonObject, mappingOf } from "#core/base/json.ts";
import {
  type CniCommand,
  type Environment,
  type PluginParameters,
  containerIdViolation,
  effectiveVersion,
  interfaceNameViolation,
  networkNameViolation,
  readParameters,
} from "./plugin-input.ts";
import { CNI_LIBRARY_1_3, type CniLibrary, SINCE, isAtLeast } from "./version.ts";
import { type CniResult, printResult } from "./result.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { StructReader, formatJson, parseJson, readStruct } from "./json.ts";
import {
  CNI_CODES,
  CniError,
  PlainFailure,
  PluginPanic,
  describeError,
  formatCniError,
  toCniError,
} from "./error.ts";

/** The operating system a plugin believes it runs on; as Node names them. */
export type Platform = "win32" | "linux" | "darwin";

/** Says which system a plugin behaves as on: `windows` or `linux`. Delegates inherit it. */
export const OS_VARIABLE = "MULLION_OS";
const OS_PLATFORMS: ReadonlyMap<string, Platform> = new Map([
  ["windows", "win32"],
  ["linux", "linux"],
]);

/**
 * The system that a plugin behaves as on: what `word` says (of a flag), else the variable; else Windows where
 * `MULLION_HNS` names an HNS, for only plugins for Windows are asked to use one; else the machine's.
 * @throws CniError for another word.
 */
export function choosePlatform(word: string | undefined, env: Environment, machine: string): Platform {
  const said = word ?? env[OS_VARIABLE] ?? "";
  if (said === "") return (env["MULLION_HNS"] ?? "") === "" ? (machine as Platform) : "win32";
  const platform = OS_PLATFORMS.get(said);
  if (platform !== undefined) return platform;
  const name = word === undefined ? OS_VARIABLE : "--mullion-os";
  throw new CniError(
    CNI_CODES.invalidEnvironment,
    `${name} is ${JSON.stringify(said)}; write "windows" or "linux"`,
  );
}

/** One validated call. */
export interface PluginRequest extends PluginParameters {
  readonly command: CniCommand;
  /** The whole environment: delegates get it. */
  readonly env: Environment;
  /** The version of the configuration; a missing one is 0.1.0 here. */
  readonly cniVersion: string;
  readonly configuration: JsonObject;
  /** The configuration as it was read: delegates get it. */
  readonly configurationText: string;
  readonly platform: Platform;
  /** Says something to the person who reads the runtime's log (stderr), one line. */
  warn(text: string): void;
}

/** Whether a plugin behaves as the published one, or mended. */
export interface PluginMode {
  readonly compat: Compat;
}

/**
 * A CNI plugin. A verb that is absent succeeds silently, as with upstream's skeleton.
 * Verbs throw `CniError`; whatever else they throw is reported with code 999.
 */
export interface CniPlugin extends PluginMode {
  /** The name of its executable, and what configurations call `type`. */
  readonly name: string;
  /** Versions of the specification it speaks, oldest first. */
  readonly supportedVersions: readonly string[];
  /** The library whose behaviour it has around its verbs; default: the newest. */
  readonly library?: CniLibrary;
  add(request: PluginRequest): Promise<CniResult>;
  del(request: PluginRequest): Promise<void>;
  /**
   * What plugins older than CHECK have in its place: a result, which is printed (azure-vnet, cni.md §5.2). Undefined:
   * `check` is called.
   */
  get?(request: PluginRequest): Promise<CniResult | undefined>;
  check?(request: PluginRequest): Promise<void>;
  /**
   * A command beside those of the contract, without parameters and configuration (azure-vnet, cni.md §5.2): what goes to
   * stdout. Undefined: there is no such command.
   */
  answer?(command: string): Promise<string> | undefined;
  status?(request: PluginRequest): Promise<void>;
  gc?(request: PluginRequest): Promise<void>;
}

/** What a plugin sees of the world. */
export interface CniProcess {
  readonly env: Environment;
  readonly platform: Platform;
  /** Reads everything; rejects when it cannot. */
  readStdin(): Promise<string>;
  stdout(text: string): void;
  stderr(text: string): void;
  /** Hears which entry of the catalogue explains the failure; processes have no such channel. */
  explain?(code: KnowledgeCode): void;
}

/** 0: done; 1: an error object is on stdout; 2: upstream would have crashed, stdout is empty. */
export type PluginStatus = 0 | 1 | 2;

function libraryOf(plugin: CniPlugin): CniLibrary {
  return plugin.library ?? CNI_LIBRARY_1_3;
}

async function readStdin(process: CniProcess): Promise<string> {
  try {
    return await process.readStdin();
  } catch (error) {
    throw new CniError(CNI_CODES.ioFailure, `error reading from stdin: ${describeError(error)}`, {
      cause: error,
    });
  }
}

/** Checks what the skeleton checks before any plugin runs: JSON, and the network's name. */
function parseConfiguration(text: string): JsonObject {
  if (text.length > LIMITS.jsonBytesMax) {
    const message = `error unmarshall network config: longer than ${LIMITS.jsonBytesMax} characters`;
    throw new CniError(CNI_CODES.decodingFailure, message);
  }
  try {
    const document = parseJson(text);
    // Go leaves its struct empty for null; the name is then missing.
    const reader = readStruct(document ?? {}, "");
    const violation = networkNameViolation(reader.text("name"));
    if (violation !== undefined) throw violation;
    reader.text("cniVersion");
    return mappingOf(document);
  } catch (error) {
    if (error instanceof CniError) throw error;
    const message = `error unmarshall network config: ${describeError(error)}`;
    throw new CniError(CNI_CODES.decodingFailure, message, { cause: error });
  }
}

/** @throws CniError with code 3 or 4. */
function checkNames({ containerId, ifName }: PluginParameters): void {
  const violation = containerIdViolation(containerId) ?? interfaceNameViolation(ifName);
  if (violation !== undefined) throw violation;
}

async function readRequest(plugin: CniPlugin, process: CniProcess): Promise<PluginRequest> {
  const library = libraryOf(plugin);
  const parameters = readParameters(process.env, plugin.compat, library);
  if (parameters.command === "VERSION") {
    return makeRequest(process, { ...parameters, command: "VERSION" }, "", {});
  }
  const text = await readStdin(process);
  const configuration = parseConfiguration(text);
  if (library.checksNamesLast) checkNames(parameters);
  if (!library.commands.has(parameters.command)) {
    throw new CniError(CNI_CODES.invalidEnvironment, `unknown CNI_COMMAND: ${parameters.command}`);
  }
  return makeRequest(
    process,
    { ...parameters, command: parameters.command as CniCommand },
    text,
    configuration,
  );
}

type CheckedParameters = Omit<
  PluginRequest,
  "env" | "cniVersion" | "configuration" | "configurationText" | "platform" | "warn"
>;

function makeRequest(
  process: CniProcess,
  parameters: CheckedParameters,
  configurationText: string,
  configuration: JsonObject,
): PluginRequest {
  return {
    ...parameters,
    env: process.env,
    platform: process.platform,
    configuration,
    configurationText,
    cniVersion: effectiveVersion(new StructReader(configuration).text("cniVersion")),
    warn: (text) => process.stderr(`${text}\n`),
  };
}

/** The answer to VERSION: one line, whatever stdin holds (cni.md §1.4). */
export function printVersion(supportedVersions: readonly string[], { newestVersion }: CniLibrary): string {
  return `${JSON.stringify({ cniVersion: newestVersion, supportedVersions })}\n`;
}

/** Exact membership, no ranges (cni.md §1.4). @throws CniError with code 1. */
function checkSupported(configVersion: string, supported: readonly string[]): void {
  if (supported.includes(configVersion)) return;
  const list = supported.map((version) => JSON.stringify(version)).join(" ");
  throw new CniError(CNI_CODES.incompatibleVersion, "incompatible CNI versions", {
    details: `config is ${JSON.stringify(configVersion)}, plugin supports [${list}]`,
  });
}

/** The first version that knows a command; absent: all do. */
const INTRODUCED: ReadonlyMap<string, string> = new Map(
  (["CHECK", "GC", "STATUS"] as const).map((command) => [command, SINCE[command]]),
);

/** Checks that configuration and plugin know the command at all. @throws CniError with code 1 or 6. */
function checkCommandAllowed(command: string, configVersion: string, supported: readonly string[]): void {
  const introduced = INTRODUCED.get(command);
  if (introduced === undefined) return;
  if (!isAtLeast(configVersion, introduced)) {
    throw new CniError(CNI_CODES.incompatibleVersion, `config version does not allow ${command}`);
  }
  if (!supported.some((version) => isAtLeast(version, configVersion))) {
    throw new CniError(CNI_CODES.incompatibleVersion, `plugin version does not allow ${command}`);
  }
}

/** @returns what goes to stdout. */
async function dispatch(plugin: CniPlugin, request: PluginRequest): Promise<string> {
  if (request.command === "VERSION") return printVersion(plugin.supportedVersions, libraryOf(plugin));
  checkCommandAllowed(request.command, request.cniVersion, plugin.supportedVersions);
  checkSupported(request.cniVersion, plugin.supportedVersions);
  switch (request.command) {
    case "ADD": {
      const result = await plugin.add(request);
      return printResult(result, result.printedVersion ?? request.cniVersion, libraryOf(plugin));
    }
    case "DEL":
      await plugin.del(request);
      return "";
    case "CHECK": {
      const result = await plugin.get?.(request);
      if (result !== undefined) return printResult(result, request.cniVersion, libraryOf(plugin));
      await plugin.check?.(request);
      return "";
    }
    case "STATUS":
      await plugin.status?.(request);
      return "";
    case "GC":
      await plugin.gc?.(request);
      return "";
  }
}

/** In `hardened` mode an error says where it is explained. */
function withExplanation(plugin: CniPlugin, error: CniError): CniError {
  const code = error.knowledge;
  if (code === undefined || describeError(error).includes(code)) return error;
  if (plugin.compat === "upstream") return error;
  const pointer = `see "mullion explain ${code}"`;
  const details = error.details === "" ? pointer : `${error.details}; ${pointer}`;
  return new CniError(error.code, error.message, { details, knowledge: code, cause: error.cause });
}

function reportFailure(plugin: CniPlugin, process: CniProcess, thrown: unknown): PluginStatus {
  if (thrown instanceof PluginPanic) {
    process.stderr(`panic: ${thrown.message}\n`);
    return 2;
  }
  if (thrown instanceof PlainFailure) {
    process.stdout(thrown.message);
    return 1;
  }
  const error = withExplanation(plugin, toCniError(thrown));
  if (error.knowledge !== undefined) process.explain?.(error.knowledge);
  process.stdout(formatJson(formatCniError(error), 4));
  return 1;
}

/**
 * Runs one CNI command. Never throws and never exits: errors go to stdout as JSON.
 * Without `CNI_COMMAND` it says on stderr what the plugin is, and succeeds.
 */
export async function runPlugin(plugin: CniPlugin, process: CniProcess): Promise<PluginStatus> {
  if ((process.env["CNI_COMMAND"] ?? "") === "") {
    const versions = plugin.supportedVersions.join(", ");
    process.stderr(`CNI ${plugin.name} plugin of mullion\nCNI protocol versions supported: ${versions}\n`);
    return 0;
  }
  try {
    const own = plugin.answer?.(process.env["CNI_COMMAND"] ?? "");
    const output = own === undefined ? await dispatch(plugin, await readRequest(plugin, process)) : await own;
    if (output !== "") process.stdout(output);
    return 0;
  } catch (error) {
    return reportFailure(plugin, process, error);
  }
}
