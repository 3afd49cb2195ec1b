/** A log on standard error, one line of JSON for each event: what a holder in the background leaves to read. */
import { STDERR, writeOutput } from "../output.ts";
import type { Log } from "#core/base/log.ts";

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
