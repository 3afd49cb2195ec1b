/** The executable `mullion`. */
import { readFileSync } from "node:fs";
import { demo } from "./demo.ts";
import { get } from "./get.ts";
import { hnsServe } from "./hns-serve.ts";
import { processTerminal } from "./process-terminal.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

/** The package's version; the file stands at the root both in a clone and in an installed package. */
function packageVersion(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}

/** A reader that went away (`mullion … | head`) is no fault. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
}

process.stdout.on("error", endQuietly);
process.stderr.on("error", endQuietly);
process.once("SIGINT", () => {
  process.stderr.write("\n");
  process.exit(130);
});

process.exitCode = await runMullion({
  argv: process.argv.slice(2),
  verbs: { trace, get, verify, demo, hnsServe },
  terminal: processTerminal(),
  version: packageVersion(),
  isDebug: process.env["MULLION_DEBUG"] === "1",
});
