/** Azure's plugins as processes: they have `-v` and `--version` beside the contract (cni.md §5.2). */
import { writeSync } from "node:fs";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";

const STDOUT = 1;

/** Prints the version when it is asked for, else runs the plugin once. */
export async function runAzureProcess(open: PluginOpener): Promise<void> {
  const isAsked = process.argv.slice(2).some((word) => word === "-v" || word === "--version");
  if (!isAsked) return runPluginProcess(open);
  const { packageVersion } = await import("../installation.ts");
  writeSync(STDOUT, `Azure CNI Version mullion-${packageVersion()}\n`);
}
