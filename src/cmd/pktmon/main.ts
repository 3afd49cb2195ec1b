/** The executable `pktmon`. */
import { processTerminal } from "../mullion/process-terminal.ts";
import { runPktmon } from "./program.ts";

/** A reader that went away (`pktmon … | findstr`) is no fault. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

async function main(): Promise<void> {
  process.exitCode = await runPktmon(process.argv.slice(2), processTerminal());
}

void main();
