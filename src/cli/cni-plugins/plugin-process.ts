/** What the CNI executables have in common: the real environment, the real streams, the exit status. */
import { readSync, writeSync } from "node:fs";
import { type Compat, parseCompat } from "#core/base/compat.ts";
import { errorCode } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import { CNI_CODES, CniError, formatCniError } from "#contracts/cni/error.ts";
import { formatJson } from "#contracts/cni/json.ts";
import type { Environment } from "#contracts/cni/plugin-input.ts";
import {
  type CniPlugin,
  type CniProcess,
  type Platform,
  type PluginStatus,
  runPlugin,
} from "#contracts/cni/plugin.ts";

/** A plugin with what is to be done when its call is over. */
export interface OpenPlugin {
  readonly plugin: CniPlugin;
  close(): Promise<void>;
}

/** Makes the plugin of an executable. */
export type PluginOpener = (compat: Compat) => OpenPlugin | Promise<OpenPlugin>;

const COMPAT_FLAG = "--mullion-compat=";
const COMPAT_VARIABLE = "MULLION_COMPAT";

/** The mode: the flag, else the variable, else `hardened`. @throws CniError for another word. */
export function chooseCompat(args: readonly string[], env: Environment): Compat {
  const flag = args.find((arg) => arg.startsWith(COMPAT_FLAG))?.slice(COMPAT_FLAG.length);
  const word = flag ?? env[COMPAT_VARIABLE] ?? "";
  const compat = word === "" ? "hardened" : parseCompat(word);
  if (compat !== undefined) return compat;
  const name = flag === undefined ? COMPAT_VARIABLE : "--mullion-compat";
  throw new CniError(
    CNI_CODES.invalidEnvironment,
    `${name} is ${JSON.stringify(word)}; write "upstream" or "hardened"`,
  );
}

const CHUNK_BYTES = 65_536;
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

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

/**
 * Writes without Node's streams, which take milliseconds to make, and which Node for Windows cannot make of Wine's
 * pipes. What a pipe that does not block has no room for goes through the stream after all.
 */
function writeAll(descriptor: typeof STDOUT | typeof STDERR, text: string): void {
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      // A caller that does not read any more is none of the plugin's business.
      if (errorCode(error) !== "EAGAIN") return;
      const stream = descriptor === STDOUT ? process.stdout : process.stderr;
      stream.on("error", () => undefined).write(rest);
      return;
    }
  }
}

function realProcess(compat: Compat): CniProcess {
  return {
    // Delegates inherit the mode.
    env: { ...process.env, [COMPAT_VARIABLE]: compat },
    platform: process.platform as Platform,
    readStdin,
    stdout: (text) => writeAll(STDOUT, text),
    stderr: (text) => writeAll(STDERR, text),
  };
}

async function run(open: PluginOpener): Promise<PluginStatus> {
  const compat = chooseCompat(process.argv.slice(2), process.env);
  const opened = await open(compat);
  try {
    return await runPlugin(opened.plugin, realProcess(compat));
  } finally {
    await opened.close();
  }
}

/** Runs a plugin once, with this process' environment, stdin and stdout. Sets the exit status. */
export async function runPluginProcess(open: PluginOpener): Promise<void> {
  try {
    process.exitCode = await run(open);
  } catch (error) {
    const failure = error instanceof CniError ? error : new CniError(CNI_CODES.internal, String(error));
    writeAll(STDOUT, formatJson(formatCniError(failure), 4));
    process.exitCode = 1;
  }
}
