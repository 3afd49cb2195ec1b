/** The executable `vfpctrl`. */
import { processTerminal } from "../mullion/process-terminal.ts";
import { runVfpctrl } from "./program.ts";

/** A reader that went away (`vfpctrl … | findstr`) is no fault. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

async function main(): Promise<void> {
  process.exitCode = await runVfpctrl(process.argv.slice(2), processTerminal());
}

void main();
