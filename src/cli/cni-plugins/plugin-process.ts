/** What the CNI executables have in common: the real environment, the real streams, the exit status. */
import { STDERR, STDOUT, writeOutputAtOnce } from "../output.ts";
import { readSync } from "node:fs";
import { type Compat, chooseMode } from "#core/base/compat.ts";
import { errorCode } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import { CNI_CODES, CniError, formatCniError } from "#contracts/cni/error.ts";
import { formatJson } from "#contracts/cni/json.ts";
import type { Environment } from "#contracts/cni/plugin-input.ts";
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

/** Makes the plugin of an executable. */
export type PluginOpener = (mode: PluginMode) => OpenPlugin | Promise<OpenPlugin>;

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

function realProcess({ compat }: PluginMode, platform: Platform): CniProcess {
  const system = platform === "win32" ? "windows" : "linux";
  let isLost = false;
  return {
    // Delegates inherit the mode and the system.
    env: { ...process.env, [COMPAT_VARIABLE]: compat, [OS_VARIABLE]: system },
    platform,
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

async function run(open: PluginOpener): Promise<PluginStatus> {
  const args = process.argv.slice(2);
  const compat = chooseCompat(args, process.env);
  const platform = choosePlatform(flagOf(args, OS_FLAG), process.env, process.platform);
  const opened = await open({ compat });
  try {
    return await runPlugin(opened.plugin, realProcess(opened.plugin, platform));
  } finally {
    await opened.close();
  }
}

/** Runs a plugin once, with this process' environment, stdin and stdout. Sets the exit status. */
export async function runPluginProcess(open: PluginOpener): Promise<void> {
  try {
    process.exitCode = await run(open);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof OutputLost) return;
    const failure = error instanceof CniError ? error : new CniError(CNI_CODES.internal, String(error));
    writeOutputAtOnce(STDOUT, formatJson(formatCniError(failure), 4));
  }
}
