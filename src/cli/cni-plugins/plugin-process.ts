/** What the CNI executables have in common: the real environment, the real streams, the exit status. */
import { STDERR, STDOUT, writeOutputAtOnce } from "../output.ts";
import { readSync } from "node:fs";
import { type Compat, chooseMode } from "#core/base/compat.ts";
import { errorCode } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import { CNI_CODES, CniError, formatCniError } from "#contracts/cni/error.ts";
import { formatJson } from "#contracts/cni/json.ts";
import type { Environment } from "#contracts/cni/plugin-input.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  type CniPlugin,
  type CniProcess,
  OS_VARIABLE,
  type Platform,
  type PluginStatus,
  choosePlatform,
  runPlugin,
  type PluginMode,
} from "#contracts/cni/plugin.ts";

/** A plugin with what is to be done when its call is over. */
export interface OpenPlugin {
  readonly plugin: CniPlugin;
  close(): Promise<void>;
}

/** What a plugin is made with. */
export interface PluginPlace extends PluginMode {
  /** Of the caller, as its folder: a process that serves plugins has others. */
  readonly env: Environment;
  readonly folder: string;
  /** That of a process that serves it; undefined: the plugin looks for the node's. */
  readonly hns?: HcnClient;
}

/** Makes the plugin of an executable. */
export type PluginOpener = (place: PluginPlace) => OpenPlugin | Promise<OpenPlugin>;

const COMPAT_FLAG = "--mullion-compat=";
const COMPAT_VARIABLE = "MULLION_COMPAT";
const OS_FLAG = "--mullion-os=";

function flagOf(args: readonly string[], flag: string): string | undefined {
  return args.find((arg) => arg.startsWith(flag))?.slice(flag.length);
}

/** The mode: the flag, else the variable, else `hardened`. @throws CniError for another word. */
export function chooseCompat(args: readonly string[], env: Environment): Compat {
  const flag = flagOf(args, COMPAT_FLAG);
  const word = flag ?? env[COMPAT_VARIABLE] ?? "";
  const compat = chooseMode(word);
  if (compat !== undefined) return compat;
  const name = flag === undefined ? COMPAT_VARIABLE : "--mullion-compat";
  throw new CniError(
    CNI_CODES.invalidEnvironment,
    `${name} is ${JSON.stringify(word)}; write "upstream" or "hardened"`,
  );
}

const CHUNK_BYTES = 65_536;
const STDIN = 0;

/** Reads stdin to its end, at most one byte more than a configuration may have. */
function readAllOfStdin(): string {
  const chunks: Buffer[] = [];
  for (let length = 0; length <= LIMITS.jsonBytesMax; ) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const count = readSync(STDIN, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function readStream(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

async function readStdin(): Promise<string> {
  try {
    return readAllOfStdin();
  } catch (error) {
    // Windows ends a pipe with EOF as an error; a pipe that does not block has to be waited for.
    if (errorCode(error) === "EOF") return "";
    if (errorCode(error) === "EAGAIN") return readStream();
    throw error;
  }
}

/** Standard output takes nothing, which has been said on standard error. */
class OutputLost extends Error {}

/** A call of a plugin, by a process of its own or through a service. */
export interface ExecutableCall {
  readonly args: readonly string[];
  readonly env: Environment;
  /** Where the caller stands. */
  readonly folder: string;
  /** See `PluginPlace`. */
  readonly hns?: HcnClient;
  readStdin(): Promise<string>;
  stdout(text: string): void;
  stderr(text: string): void;
}

/** This process' own call. */
function ownCall(): ExecutableCall {
  let isLost = false;
  return {
    args: process.argv.slice(2),
    env: process.env,
    folder: process.cwd(),
    readStdin,
    // Whoever called does not know the result, so that the call failed.
    stdout: (text) => {
      isLost ||= !writeOutputAtOnce(STDOUT, text);
      if (isLost) throw new OutputLost();
    },
    stderr: (text) => {
      writeOutputAtOnce(STDERR, text);
    },
  };
}

function processOf(call: ExecutableCall, { compat }: PluginMode, platform: Platform): CniProcess {
  const system = platform === "win32" ? "windows" : "linux";
  return {
    // Delegates inherit the mode and the system.
    env: { ...call.env, [COMPAT_VARIABLE]: compat, [OS_VARIABLE]: system },
    platform,
    readStdin: () => call.readStdin(),
    stdout: (text) => call.stdout(text),
    stderr: (text) => call.stderr(text),
  };
}

async function run(open: PluginOpener, call: ExecutableCall): Promise<PluginStatus> {
  const { args, env, folder, hns } = call;
  const compat = chooseCompat(args, env);
  const platform = choosePlatform(flagOf(args, OS_FLAG), env, process.platform);
  const opened = await open({ compat, env, folder, ...(hns !== undefined && { hns }) });
  try {
    return await runPlugin(opened.plugin, processOf(call, opened.plugin, platform));
  } finally {
    await opened.close();
  }
}

/** Runs a plugin once. @returns the exit status of its process. */
export async function runPluginCall(open: PluginOpener, call: ExecutableCall): Promise<PluginStatus> {
  try {
    return await run(open, call);
  } catch (error) {
    if (error instanceof OutputLost) return 1;
    const failure = error instanceof CniError ? error : new CniError(CNI_CODES.internal, String(error));
    call.stdout(formatJson(formatCniError(failure), 4));
    return 1;
  }
}

/** Runs a plugin once, with this process' environment, stdin and stdout. Sets the exit status. */
export async function runPluginProcess(open: PluginOpener): Promise<void> {
  process.exitCode = await runPluginCall(open, ownCall());
}
