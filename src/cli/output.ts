/**
 * The gate through which all output of all programs goes: nothing else writes to standard output or standard error (a test
 * of tools/tidy.ts holds it). What steers a terminal is written so that it is seen: texts of JSON stay the same values.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { visibleText } from "#core/base/visible-text.ts";
import { errorCode } from "#core/base/thrown.ts";
import type { Log } from "#core/base/log.ts";

export const STDOUT = 1;
export const STDERR = 2;
export type Descriptor = typeof STDOUT | typeof STDERR;

function streamOf(descriptor: Descriptor): NodeJS.WriteStream {
  return descriptor === STDOUT ? process.stdout : process.stderr;
}

/** Writes a text; `keepsStyles` leaves bold and colours. */
export function writeOutput(descriptor: Descriptor, text: string, keepsStyles = false): void {
  streamOf(descriptor).write(visibleText(text, keepsStyles));
}

/** Puts a text into the place of the one before, in the line that the terminal is in; an empty one takes it away. */
export function writeStatus(text: string): void {
  streamOf(STDERR).write(`\r\u001B[K${visibleText(text)}`);
}

/**
 * Writes without Node's streams, which take milliseconds to make, and which Node for Windows cannot make of Wine's
 * pipes. What a pipe that does not block has no room for goes through the stream after all.
 * @returns false when it cannot be written, which is then said on standard error.
 */
export function writeOutputAtOnce(descriptor: Descriptor, text: string): boolean {
  let rest: Uint8Array = Buffer.from(visibleText(text));
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const code = errorCode(error);
      if (code !== "EAGAIN") {
        // A caller that does not read any more is none of the plugin's business.
        if (code === "EPIPE") return true;
        if (descriptor === STDOUT) writeOutputAtOnce(STDERR, `cannot write to standard output: ${code}\n`);
        return false;
      }
      streamOf(descriptor)
        .on("error", () => undefined)
        .write(rest);
      return true;
    }
  }
  return true;
}

/** Writes bytes that are for a program, such as a capture. Resolves when the reader has room for more. */
export async function writeOutputBytes(bytes: Uint8Array): Promise<void> {
  const stream = streamOf(STDOUT);
  if (stream.write(bytes)) return;
  await once(stream, "drain");
}

// A log on standard error, one line of JSON for each event: what a holder in the background leaves to read.

/** Errors with their stack: they are faults of our own. */
function plain(value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}

export function processLog(): Log {
  return {
    write(level, event, fields = {}): void {
      const data = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
      const at = new Date().toISOString();
      writeOutput(STDERR, `${JSON.stringify({ at, level, event, ...data })}\n`);
    },
  };
}
