/** The terminal of the real process. */
import { createReadStream } from "node:fs";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { styleText } from "node:util";
import { LIMITS } from "#core/base/limits.ts";
import { type Terminal, textColumns } from "./terminal.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Whoever is asked a second time after this ends at once. */
const SAME_SIGNAL_MS = 500;

const STREAM_PIECE_BYTES = 1_048_576;

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
async function readAll(stream: AsyncIterable<unknown>, name: string, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    length += bytes.length;
    if (length > bytesMax) throw new TooLargeError(`${name} is too large`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

async function readBytes(path: string, bytesMax: number): Promise<Buffer> {
  if (path === "-") return readAll(process.stdin, "standard input", bytesMax);
  const { size } = await stat(path);
  if (size > bytesMax) throw new TooLargeError(`${path} is too large`);
  return readAll(createReadStream(path), path, bytesMax);
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

type Style = Parameters<typeof styleText>[0];

/** Colours appear only where the stream shows them; NO_COLOR and FORCE_COLOR are obeyed (node:util). */
function style(format: Style, text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    columns: textColumns(process.stdout),
    isInteractive: process.stdout.isTTY,
    bold: (text) => style("bold", text),
    dim: (text) => style("dim", text),
    red: (text) => style("red", text),
    green: (text) => style("green", text),
    yellow: (text) => style("yellow", text),
    readFile: async (path, bytesMax = LIMITS.clusterFileBytesMax) => decode(await readBytes(path, bytesMax)),
    readBytes: (path, bytesMax = LIMITS.inputBytesMax) => readBytes(path, bytesMax),
    readStream: (path) =>
      path === "-" ? process.stdin : createReadStream(path, { highWaterMark: STREAM_PIECE_BYTES }),
    listFolder,
    async writeFile(path, bytes): Promise<void> {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
    },
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
