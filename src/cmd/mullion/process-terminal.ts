/** The terminal of the real process. */
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { styleText } from "node:util";
import { LIMITS } from "../../base/limits.ts";
import type { Terminal } from "./terminal.ts";

const COLUMNS_MAX = 100;

/** Refuses what cannot be a cluster file before it fills the memory. */
class TooLargeError extends Error {
  override readonly name = "TooLargeError";
  readonly code = "EFBIG";
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const data = Buffer.from(chunk as Uint8Array);
    bytes += data.length;
    if (bytes > LIMITS.clusterFileBytesMax) throw new TooLargeError("standard input is too large");
    chunks.push(data);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function readTextFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > LIMITS.clusterFileBytesMax) throw new TooLargeError(`${path} is too large`);
  return readFile(path, "utf8");
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
    columns: Math.min(process.stdout.columns || COLUMNS_MAX, COLUMNS_MAX),
    isInteractive: process.stdout.isTTY,
    bold: (text) => style("bold", text),
    dim: (text) => style("dim", text),
    red: (text) => style("red", text),
    green: (text) => style("green", text),
    yellow: (text) => style("yellow", text),
    readFile: (path) => (path === "-" ? readStandardInput() : readTextFile(path)),
    async writeFile(path, bytes): Promise<void> {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
    },
    untilInterrupted(): Promise<void> {
      // Whoever waits ends the program in good order; nobody else may end it before.
      process.removeAllListeners("SIGINT");
      return new Promise((resolve) => {
        process.once("SIGINT", () => resolve());
        process.once("SIGTERM", () => resolve());
      });
    },
  };
}
