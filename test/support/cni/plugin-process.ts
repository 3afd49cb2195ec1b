/** A program of this clone as a real process, by its launcher. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { thisInstallation, writeLauncher } from "#cli/programs/launchers.ts";
import { PROGRAMS } from "#cli/programs/table.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Launchers that run the source, also where bundles have been built, and ask no service to do it. */
function writeLaunchers(folder: string): string {
  const installation = { ...thisInstallation(), executable: undefined };
  mkdirSync(folder, { recursive: true });
  for (const { name } of PROGRAMS) writeLauncher(folder, name, { ...installation, isSource: true });
  return folder;
}

/** Where the executables lie: `CNI_PATH`. */
export const BIN: string = writeLaunchers(join(ROOT, "out", "test-programs"));
/** With the Node of the project first. */
export const PROGRAM_PATH: string = [join(ROOT, "node_modules", ".bin"), process.env["PATH"] ?? ""].join(
  delimiter,
);

export interface PluginProcessExit {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs an executable with nothing in its environment but `env` and a search path; `stdin` is text, or becomes JSON. */
export function runPluginProcess(
  name: string,
  env: Readonly<Record<string, string>>,
  stdin: unknown,
  args: readonly string[] = [],
): Promise<PluginProcessExit> {
  return new Promise((resolve) => {
    const path = name === "mullion" ? join(ROOT, "bin", "mullion.js") : join(BIN, name);
    const child = spawn(path, args, { env: { PATH: PROGRAM_PATH, ...env } });
    const out = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => (out.stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (out.stderr += chunk.toString()));
    child.stdin.on("error", () => undefined);
    child.stdin.end(typeof stdin === "string" ? stdin : JSON.stringify(stdin));
    child.on("close", (status) => resolve({ status, ...out }));
  });
}
