/** The terminal of the real process, and tools that run on it. */
import { STDERR, STDOUT, writeOutput, writeOutputBytes, writeStatus } from "../output.ts";
import { close, closeSync, createReadStream, openSync, readSync, write } from "node:fs";
import { readFile, readdir, stat } from "node:fs/promises";
import { availableParallelism, constants } from "node:os";
import { join, resolve as absolutePath } from "node:path";
import { promisify, styleText } from "node:util";
import { openNamedFile, writeNamedFile } from "#core/base/owner-only.node.ts";
import type { TextChunks } from "#contracts/kubernetes/text/plain-list.ts";
import { LIMITS } from "#core/base/limits.ts";
import { type ByteSink, type Terminal, textColumns } from "./terminal.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Whoever is asked a second time after this ends at once. */
const SAME_SIGNAL_MS = 500;

const STREAM_PIECE_BYTES = 1_048_576;
const CHUNK_BYTES = 4_194_304;
/** What is held of standard input; a longer text has to be a file. */
const STANDARD_INPUT_BYTES_MAX = 4_294_967_296;

/** Refuses what cannot be a cluster file before it fills the memory. */
class TooLargeError extends Error {
  override readonly name = "TooLargeError";
  readonly code = "EFBIG";
}

/** Text as its first bytes say: UTF-8, or what PowerShell writes with `>` (UTF-16 with a byte order mark). */
function decode(bytes: Buffer): string {
  const isLittle = bytes[0] === 0xff && bytes[1] === 0xfe;
  const isBig = bytes[0] === 0xfe && bytes[1] === 0xff;
  if (isLittle || isBig) return new TextDecoder(isLittle ? "utf-16le" : "utf-16be").decode(bytes);
  return new TextDecoder().decode(bytes);
}

/** Reads all of a stream: pipes and devices have no size that could be checked before. */
async function readAll(
  stream: AsyncIterable<unknown>,
  name: string,
  bytesMax: number,
): Promise<readonly Uint8Array[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    length += bytes.length;
    if (length > bytesMax) throw new TooLargeError(`${name} is too large`);
    chunks.push(bytes);
  }
  return chunks;
}

async function readBytes(path: string, bytesMax: number, standardInput: StandardInput): Promise<Buffer> {
  if (path !== "-") {
    const { size } = await stat(path);
    if (size > bytesMax) throw new TooLargeError(`${path} is too large`);
    // What has no size, such as a pipe, may never end.
    if (size === 0) return Buffer.concat(await readAll(createReadStream(path), path, bytesMax));
    const bytes = await readFile(path);
    if (bytes.length > bytesMax) throw new TooLargeError(`${path} is too large`);
    return bytes;
  }
  const chunks = await standardInput.read(bytesMax);
  if (lengthOf(chunks) > bytesMax) throw new TooLargeError("standard input is too large");
  return Buffer.concat(chunks);
}

/** The bytes of a file; each reading begins at its first. */
export class FileChunks {
  /** Where it is, from any folder. */
  readonly path: string;

  constructor(path: string) {
    this.path = absolutePath(path);
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    const file = openSync(this.path, "r");
    try {
      const buffer = new Uint8Array(CHUNK_BYTES);
      for (let length = 1; length > 0; ) {
        length = readSync(file, buffer);
        if (length > 0) yield buffer.subarray(0, length);
      }
    } finally {
      closeSync(file);
    }
  }
}

/** Standard input, which can be read once only. */
class StandardInput {
  private chunks: Promise<readonly Uint8Array[]> | undefined;

  async read(bytesMax: number): Promise<readonly Uint8Array[]> {
    this.chunks ??= readAll(process.stdin, "standard input", bytesMax);
    return this.chunks;
  }
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

async function readChunks(path: string, standardInput: StandardInput): Promise<TextChunks | undefined> {
  if (path !== "-") {
    const { size } = await stat(path);
    return size > LIMITS.wholeFileBytesMax ? new FileChunks(path) : undefined;
  }
  const chunks = await standardInput.read(STANDARD_INPUT_BYTES_MAX);
  return lengthOf(chunks) > LIMITS.wholeFileBytesMax ? chunks : undefined;
}

async function listFolder(path: string, isRecursive: boolean): Promise<readonly string[] | undefined> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return undefined;
  const entries = await readdir(path, { recursive: isRecursive, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() || entry.isSymbolicLink());
  return files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

async function foldersIn(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => (entry.isDirectory() ? [join(path, entry.name)] : [])).toSorted();
}

const writeTo = promisify(write);
const closeFile = promisify(close);

async function openFile(path: string): Promise<ByteSink> {
  if (path === "-") return { write: writeOutputBytes, close: () => Promise.resolve() };
  const file = openNamedFile(path);
  return {
    write: async (bytes) => {
      for (let at = 0; at < bytes.length; ) at += (await writeTo(file, bytes, at)).bytesWritten;
    },
    close: () => closeFile(file),
  };
}

type Style = Parameters<typeof styleText>[0];

/** Colours appear only where the stream shows them; NO_COLOR and FORCE_COLOR are obeyed (node:util). */
function style(format: Style, text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const keepsStyles = style("bold", "x") !== "x";
  const standardInput = new StandardInput();
  return {
    stdout: (text) => writeOutput(STDOUT, text, keepsStyles),
    stderr: (text) => writeOutput(STDERR, text, keepsStyles),
    status: writeStatus,
    columns: textColumns(process.stdout),
    isInteractive: process.stdout.isTTY,
    threads: availableParallelism(),
    bold: (text) => style("bold", text),
    dim: (text) => style("dim", text),
    red: (text) => style("red", text),
    green: (text) => style("green", text),
    yellow: (text) => style("yellow", text),
    readFile: async (path, bytesMax = LIMITS.clusterFileBytesMax) =>
      decode(await readBytes(path, bytesMax, standardInput)),
    readBytes: (path, bytesMax = LIMITS.inputBytesMax) => readBytes(path, bytesMax, standardInput),
    readChunks: (path) => readChunks(path, standardInput),
    readStream: (path) =>
      path === "-" ? process.stdin : createReadStream(path, { highWaterMark: STREAM_PIECE_BYTES }),
    listFolder,
    foldersIn,
    writeFile: async (path, bytes) => writeNamedFile(path, bytes),
    openFile,
    untilInterrupted(): Promise<void> {
      return new Promise((resolve) => {
        let firstAtMs: number | undefined;
        const heard = (signal: NodeJS.Signals): void => {
          const nowMs = Date.now();
          firstAtMs ??= nowMs;
          // One Ctrl-C may come twice: from the terminal, and from bin/mullion.js, which passes it on.
          if (nowMs - firstAtMs > SAME_SIGNAL_MS) process.exit(128 + constants.signals[signal]);
          resolve();
        };
        for (const signal of SIGNALS) process.on(signal, heard);
      });
    },
  };
}

// A tool for people as a process: its arguments, this terminal, the exit code.

/** For streams: a reader that went away (`hnsdiag … | findstr`) is no fault. */
export function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}

/** Runs a tool once, and sets the exit code. */
export async function startTool(
  run: (argv: readonly string[], terminal: Terminal) => Promise<number>,
): Promise<void> {
  process.stdout.on("error", endQuietly);
  process.exitCode = await run(process.argv.slice(2), processTerminal());
}
