/**
 * `mullion cni`: a runtime on the command line, as the client library's cnitool is (cni.md §10.1), with what that one
 * lacks: names and GUIDs of namespaces reach the plugins as they are (row 155), DEL and CHECK know what ADD was given, and
 * GC can be told who is alive.
 */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { basename, delimiter, dirname, extname, join } from "node:path";
import { type PathRules, pathRulesOf } from "#core/base/path-rules.ts";
import {
  type Environment,
  type GcAttachment,
  effectiveVersion,
  isCniName,
} from "#contracts/cni/plugin-input.ts";
import { type NetworkList, parseNetworkList, parseSinglePlugin } from "#contracts/cni/conflist.ts";
import { CNI_CODES, CniError, describeError, toCniError } from "#contracts/cni/error.ts";
import { ExecRunner } from "#contracts/cni/exec-plugin.node.ts";
import { FileResultCache } from "#contracts/cni/file-result-cache.node.ts";
import { parseJson, readStruct } from "#contracts/cni/json.ts";
import { type PluginRunner, runForOutput } from "#contracts/cni/plugin-runner.ts";
import { type ResultCache, type CniAttachment, CniRuntime } from "#contracts/cni/runtime.ts";
import { formatResult } from "#contracts/cni/result.ts";
import { isNamespaceGuid } from "#programs/plugins/windows-endpoint/plugin-call.ts";
import { ownPluginFolder, thisInstallation } from "../../programs/launchers.ts";
import { Failure, describeSystemError } from "../failure.ts";
import { usage } from "../options.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { parseCapabilityJson } from "./capability-options.ts";
import {
  type CniReport,
  type PluginVersions,
  type ReportedCommand,
  printReport,
  reportedError,
} from "./report.ts";
import type { CniAttachRequest, CniGcRequest, CniTarget, CniVerbs, KeptAttachment } from "./verbs.ts";
import { isJsonObject, mappingOf } from "#core/base/json.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

// Finds a list of plugins: by the path of its file, or by the name of its network in a folder (cni.md §1.1).

const LIST_ENDING = ".conflist";
const ENDINGS: readonly string[] = [LIST_ENDING, ".conf", ".json"];

function isPath(text: string): boolean {
  return text === "-" || /[/\\]/.test(text) || ENDINGS.includes(extname(text));
}

async function readText(path: string, terminal: Terminal): Promise<string> {
  try {
    return await terminal.readFile(path);
  } catch (error) {
    throw usage(
      `${path} cannot be read: ${describeSystemError(error)}`,
      "Name a .conflist file, or a network of --conf-dir.",
    );
  }
}

/** A list has `plugins`, or the ending of one; the older form is a single plugin. */
function isList(path: string, document: unknown): boolean {
  return (
    extname(path) === LIST_ENDING || (isJsonObject(document as never) && "plugins" in (document as object))
  );
}

/** The files that belong to the list: `<folder>/<network>/*.conf`. */
async function readSideFiles(path: string, network: unknown, terminal: Terminal): Promise<readonly string[]> {
  if (path === "-" || typeof network !== "string" || !isCniName(network)) return [];
  const files = (await terminal.listFolder(join(dirname(path), network), false)) ?? [];
  const texts: string[] = [];
  for (const file of files) if (extname(file) === ".conf") texts.push(await readText(file, terminal));
  return texts;
}

async function readListFile(path: string, terminal: Terminal): Promise<NetworkList> {
  const text = await readText(path, terminal);
  const document = parseJson(text);
  if (!isList(path, document)) return parseSinglePlugin(text);
  const network = mappingOf(document)["name"];
  return parseNetworkList(text, await readSideFiles(path, network, terminal));
}

function describeFile(path: string): string {
  return path === "-" ? "standard input" : path;
}

async function findByName(name: string, folder: string, terminal: Terminal): Promise<NetworkList> {
  const files = (await terminal.listFolder(folder, false)) ?? [];
  const lists = files.filter((file) => extname(file) === LIST_ENDING);
  const singles = files.filter((file) => ENDINGS.includes(extname(file)) && !lists.includes(file));
  const names: string[] = [];
  for (const file of [...lists, ...singles]) {
    try {
      const list = await readListFile(file, terminal);
      if (list.name === name) return list;
      names.push(list.name);
    } catch (error) {
      // The client library stops here; another network's mistake is not this one's.
      terminal.stderr(`mullion: ${basename(file)} is passed over: ${describeError(error)}\n`);
    }
  }
  if (names.length === 0) {
    throw usage(`no net configurations found in ${folder}`, WORDS.adviceCniConfDir);
  }
  throw usage(
    `no net configuration with name ${JSON.stringify(name)} in ${folder}`,
    `There are: ${names.join(", ")}. Or write the path of a file.`,
  );
}

/** @throws Failure that names the file, and what is wrong with it. */
async function findList(list: string, confFolder: string, terminal: Terminal): Promise<NetworkList> {
  if (!isPath(list)) return findByName(list, confFolder, terminal);
  try {
    return await readListFile(list, terminal);
  } catch (error) {
    if (!(error instanceof CniError) && !(error instanceof Error && error.name === "JsonError")) throw error;
    throw usage(`${describeFile(list)}: ${describeError(error)}`, "More about it: mullion lint FILE");
  }
}

/** What the verbs see of this machine. */
export interface CniMachine {
  readonly env: Environment;
  readonly platform: string;
  readonly currentFolder: string;
  readonly runner: PluginRunner;
  /** The folder with this installation's plugins. @throws Failure when there can be none. */
  readonly ownPlugins: () => string;
}

/** A list with what runs it. */
interface OpenList {
  readonly list: NetworkList;
  readonly runtime: CniRuntime;
  readonly cache: ResultCache;
  readonly env: Environment;
}

const HASH_BYTES = 10;
const DEFAULT_CONF_FOLDER = "/etc/cni/net.d";
const DEFAULT_PLUGIN_FOLDER = "/opt/cni/bin";

/** Launchers of this installation's plugins, where a plugin of somebody else finds them, too. */
function ownPlugins(env: Environment): string {
  const cache = env["XDG_CACHE_HOME"] ?? "";
  const folder = join(cache === "" ? join(homedir(), ".cache") : cache, "mullion");
  try {
    return ownPluginFolder(thisInstallation(), folder);
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot write launchers of the plugins to ${JSON.stringify(folder)}: ${describeSystemError(error)}`,
      WORDS.adviceCniPluginDir,
    );
  }
}

/**
 * A place of the user's own. Not the client library's `/var/lib/cni`: GC without `--keep` would detach what containerd has
 * attached to a network of the same name.
 */
function defaultCacheFolder(env: Environment): string {
  const state = env["XDG_STATE_HOME"] ?? "";
  return join(state === "" ? join(homedir(), ".local", "state") : state, "mullion", "cni");
}

function pluginPath({ pluginFolders }: CniTarget, machine: CniMachine): string {
  if (pluginFolders.length > 0) return pluginFolders.join(delimiter);
  const given = machine.env["CNI_PATH"] ?? "";
  return given === "" ? [machine.ownPlugins(), DEFAULT_PLUGIN_FOLDER].join(delimiter) : given;
}

/** What plugins say on stderr, people see, as with cnitool. */
function heardRunner(runner: PluginRunner, terminal: Terminal): PluginRunner {
  return {
    run: async (call) => {
      const exit = await runner.run(call);
      if (exit.status === 0 && exit.stderr !== "") terminal.stderr(`${exit.stderr.trimEnd()}\n`);
      return exit;
    },
  };
}

async function open(target: CniTarget, machine: CniMachine, terminal: Terminal): Promise<OpenList> {
  const confFolder = target.confFolder ?? machine.env["NETCONFPATH"] ?? DEFAULT_CONF_FOLDER;
  const list = await findList(target.list, confFolder, terminal);
  const cache = new FileResultCache({
    folder: target.cacheFolder ?? defaultCacheFolder(machine.env),
    warn: (text) => terminal.stderr(`mullion: ${text}\n`),
  });
  const env = { ...machine.env, CNI_PATH: pluginPath(target, machine) };
  const runner = heardRunner(machine.runner, terminal);
  return { list, cache, env, runtime: new CniRuntime({ runner, cache, env }) };
}

/** What HNS knows by name stays as it is; on Linux a namespace is a path, and plugins get it whole. */
function resolveNetns(netns: string, currentFolder: string, paths: PathRules): string {
  const isName = netns === "" || netns === "none" || netns.startsWith("container:");
  return isName || isNamespaceGuid(netns) ? netns : paths.resolve(currentFolder, netns);
}

/** As cnitool makes it, so that both find what the other one attached. */
function containerIdOf(netns: string): string {
  return `cnitool-${createHash("sha512")
    .update(netns)
    .digest("hex")
    .slice(0, HASH_BYTES * 2)}`;
}

function parseArgs(text: string): CniAttachment["args"] {
  if (text === "") return [];
  return text.split(";").map((pair) => {
    const [name = "", value, ...more] = pair.split("=");
    if (name !== "" && value !== undefined && more.length === 0) return [name, value] as const;
    throw usage(WORDS.cniArgsInvalid({ pair: JSON.stringify(pair) }), "Write K=V;K2=V2.");
  });
}

function variable(env: Environment, name: string): string | undefined {
  const value = env[name] ?? "";
  return value === "" ? undefined : value;
}

/** What is not said now is what ADD was given. */
async function completeAttachment(
  request: CniAttachRequest,
  { list, cache }: OpenList,
  machine: CniMachine,
): Promise<CniAttachment> {
  const { env, platform, currentFolder } = machine;
  const given = resolveNetns(request.netns ?? "", currentFolder, pathRulesOf(platform));
  if (request.containerId === undefined && given === "")
    throw usage("neither a namespace nor a container is given", "Write NETNS, or --container-id ID.");
  const containerId = request.containerId ?? containerIdOf(given);
  const ifName = request.ifName ?? variable(env, "CNI_IFNAME") ?? "eth0";
  const key = { networkName: list.name, containerId, ifName };
  // A file that cannot be used says so when the runtime asks for it.
  const known = request.command === "ADD" ? undefined : await cache.get(key).catch(() => undefined);
  const args = request.args ?? variable(env, "CNI_ARGS");
  const json = variable(env, "CAP_ARGS");
  const byVariable = json === undefined ? undefined : parseCapabilityJson("CAP_ARGS", json);
  return {
    containerId,
    ifName,
    netns: given === "" ? (known?.netns ?? "") : given,
    args: args === undefined ? (known?.args ?? []) : (parseArgs(args) ?? []),
    capabilityArgs: request.capabilityArgs ?? byVariable ?? known?.capabilityArgs ?? {},
  };
}

/** A value that nobody declares goes nowhere, silently of the client library. */
function warnOfUndeclared(
  { plugins }: NetworkList,
  { capabilityArgs = {} }: CniAttachment,
  terminal: Terminal,
): void {
  for (const name of Object.keys(capabilityArgs)) {
    if (plugins.some(({ capabilities }) => capabilities.get(name) === true)) continue;
    terminal.stderr(`${WORDS.cniCapabilityNotDeclared({ name })}\n`);
  }
}

type Outcome = Pick<CniReport, "result" | "plugins">;

/** Runs a verb and prints how it ended. */
async function report(
  head: Pick<CniReport, "network" | "cniVersion" | "attachment"> & { readonly command: ReportedCommand },
  target: CniTarget,
  terminal: Terminal,
  work: () => Promise<Outcome>,
): Promise<ExitCode> {
  try {
    printReport({ ...head, ...(await work()) }, target.output, terminal);
    return 0;
  } catch (error) {
    printReport({ ...head, error: reportedError(toCniError(error), head.command) }, target.output, terminal);
    return 1;
  }
}

async function attach(request: CniAttachRequest, machine: CniMachine, terminal: Terminal): Promise<ExitCode> {
  const { target, command } = request;
  const opened = await open(target, machine, terminal);
  const { list, runtime } = opened;
  const attachment = await completeAttachment(request, opened, machine);
  if (command === "ADD") warnOfUndeclared(list, attachment, terminal);
  const { containerId, ifName, netns } = attachment;
  const head = {
    command,
    network: list.name,
    cniVersion: list.cniVersion,
    attachment: { containerId, ifName, netns },
  };
  return report(head, target, terminal, async () => {
    if (command === "ADD") {
      const result = await runtime.add(list, attachment);
      return { result: formatResult(result, effectiveVersion(list.cniVersion)) };
    }
    if (command === "DEL") await runtime.del(list, attachment);
    else await check(opened, attachment);
    return {};
  });
}

/** CHECK compares with the result of ADD, and there is none for what was never attached. */
async function check({ runtime, cache, list }: OpenList, attachment: CniAttachment): Promise<void> {
  const known = await cache.get({ ...attachment, networkName: list.name });
  if (known === undefined) {
    const { containerId, ifName } = attachment;
    throw new CniError(
      CNI_CODES.unknownContainer,
      WORDS.cniNotAttached({ containerId, ifName, name: list.name }),
    );
  }
  await runtime.check(list, attachment);
}

/** A container that is kept without an interface is kept with all that the cache has of it. */
async function keptAttachments(
  keep: readonly KeptAttachment[],
  { cache, list }: OpenList,
): Promise<readonly GcAttachment[]> {
  const known = (await cache.list()).filter(({ networkName }) => networkName === list.name);
  return keep.flatMap(({ containerId, ifName }) => {
    if (ifName !== undefined) return [{ containerId, ifName }];
    const own = known.filter((attachment) => attachment.containerId === containerId);
    return own.length === 0 ? [{ containerId, ifName: "eth0" }] : own;
  });
}

async function gc(
  { target, keep }: CniGcRequest,
  machine: CniMachine,
  terminal: Terminal,
): Promise<ExitCode> {
  const opened = await open(target, machine, terminal);
  const { list, runtime } = opened;
  const head = { command: "GC", network: list.name, cniVersion: list.cniVersion } as const;
  return report(head, target, terminal, async () => {
    const valid = keep === undefined ? undefined : await keptAttachments(keep, opened);
    await runtime.gc(list, valid);
    return {};
  });
}

async function status(target: CniTarget, machine: CniMachine, terminal: Terminal): Promise<ExitCode> {
  const { list, runtime } = await open(target, machine, terminal);
  const head = { command: "STATUS", network: list.name, cniVersion: list.cniVersion } as const;
  return report(head, target, terminal, async () => {
    await runtime.status(list);
    return {};
  });
}

/** A plugin that does not know the verb speaks the oldest version (cni.md §1.4). */
async function askVersions(type: string, env: Environment, runner: PluginRunner): Promise<readonly string[]> {
  const call = { type, env: { ...env, CNI_COMMAND: "VERSION" }, stdin: '{"cniVersion":"1.1.0"}' };
  try {
    return readStruct(parseJson(await runForOutput(runner, call)), "").texts("supportedVersions");
  } catch (error) {
    if (error instanceof CniError && error.message === "unknown CNI_COMMAND: VERSION") return ["0.1.0"];
    throw error;
  }
}

async function version(target: CniTarget, machine: CniMachine, terminal: Terminal): Promise<ExitCode> {
  const { list, env } = await open(target, machine, terminal);
  const head = { command: "VERSION", network: list.name, cniVersion: list.cniVersion } as const;
  let isEverySupported = true;
  const exitCode = await report(head, target, terminal, async () => {
    const plugins: PluginVersions[] = [];
    for (const type of new Set(list.plugins.map((plugin) => plugin.type))) {
      const supportedVersions = await askVersions(type, env, machine.runner);
      const isListSupported = supportedVersions.includes(effectiveVersion(list.cniVersion));
      isEverySupported &&= isListSupported;
      plugins.push({ type, supportedVersions, isListSupported });
    }
    return { plugins };
  });
  return exitCode === 0 && !isEverySupported ? 1 : exitCode;
}

/** The verbs on a machine. */
export function cniVerbs(machine: CniMachine): CniVerbs {
  return {
    attach: (request, terminal) => attach(request, machine, terminal),
    gc: (request, terminal) => gc(request, machine, terminal),
    status: (request, terminal) => status(request, machine, terminal),
    version: (request, terminal) => version(request, machine, terminal),
  };
}

/** The verbs on this machine. */
export function realCniVerbs(): CniVerbs {
  const { env, platform } = process;
  return cniVerbs({
    env,
    platform,
    currentFolder: process.cwd(),
    runner: new ExecRunner(),
    ownPlugins: () => ownPlugins(env),
  });
}
