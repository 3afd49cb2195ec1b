/** A tool for people as a process: its arguments, this terminal, the exit code. */
import { processTerminal } from "../mullion/process-terminal.ts";
import type { Terminal } from "../mullion/terminal.ts";

/** Runs a tool once, and sets the exit code. A reader that went away (`hnsdiag … | findstr`) is no fault. */
export async function startTool(
  run: (argv: readonly string[], terminal: Terminal) => Promise<number>,
): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
  process.exitCode = await run(process.argv.slice(2), processTerminal());
}
