/** The executable `hnsdiag`. */
import { processTerminal } from "../mullion/process-terminal.ts";
import { runHnsdiag } from "./program.ts";

/** A reader that went away (`hnsdiag … | findstr`) is no fault. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

async function main(): Promise<void> {
  process.exitCode = await runHnsdiag(process.argv.slice(2), processTerminal());
}

void main();
