/** The executable `mullion`. */
import { apply, deleteObjects } from "./apply.ts";
import { demo } from "./demo.ts";
import { down } from "./down.ts";
import { get } from "./get.ts";
import { hnsServe } from "./hns-serve.ts";
import { packageVersion } from "./package-version.ts";
import { processTerminal } from "./process-terminal.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { up } from "./up.ts";
import { verify } from "./verify.ts";

/** A reader that went away (`mullion … | head`) is no fault. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}

process.stdout.on("error", endQuietly);
process.stderr.on("error", endQuietly);

process.exitCode = await runMullion({
  argv: process.argv.slice(2),
  verbs: { trace, get, verify, up, apply, delete: deleteObjects, down, demo, hnsServe },
  terminal: processTerminal(),
  version: packageVersion(),
  isDebug: process.env["MULLION_DEBUG"] === "1",
});
