/** The test program of shim/test, as it is started in each of its builds. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { type WinePrefix, prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import { type ProgramResult, ROOT } from "./test-daemon.ts";

const PROGRAMS = join(ROOT, "out", "shim");
let prefix: WinePrefix;

/** What a scenario says in which all was as it has to be. */
export const GOOD: ProgramResult = { code: 0, stdout: "", stderr: "" };

/** Builds the programs and makes the Wine prefix that they run in. */
export async function openPrograms(): Promise<void> {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
  prefix = await prepareWinePrefix(join(ROOT, "out", "wine", "prefix"), join(ROOT, "dist", "shim"));
}

/** Waits until Wine's own programs have ended. */
export function closePrograms(): void {
  execFileSync(prefix.server, ["-w"], { env: { ...process.env, ...prefix.variables }, stdio: "ignore" });
}

export type Variables = Readonly<Record<string, string>>;
export type Start = (args: readonly string[], variables: Variables) => ChildProcess;

/** With gcc's sanitizers; the test program itself does not give back what it takes. */
export function startSanitized(args: readonly string[], variables: Variables): ChildProcess {
  const folder = join(PROGRAMS, "sanitized");
  const options = { LD_LIBRARY_PATH: folder, ASAN_OPTIONS: "detect_leaks=0" };
  return spawn(join(folder, "shim-test"), args, { env: { ...process.env, ...variables, ...options } });
}

/** With gcc's watch over threads, which wants addresses where it expects them. */
export function startWatchedForRaces(args: readonly string[], variables: Variables): ChildProcess {
  const folder = join(PROGRAMS, "races");
  const env = { ...process.env, ...variables, LD_LIBRARY_PATH: folder };
  return spawn("setarch", ["-R", join(folder, "shim-test"), ...args], { env });
}

export function startOnWine(args: readonly string[], variables: Variables): ChildProcess {
  const env = { ...process.env, ...variables, ...prefix.variables };
  return spawn(prefix.wine, [join(PROGRAMS, "shim-test.exe"), ...args], { env });
}

/** Starts another program. Not with pipes, which Node cannot open when Wine gives them to it; it writes to `log`. */
export function startProgramOnWine(
  program: string,
  args: readonly string[],
  variables: Variables,
  log: string,
): ChildProcess {
  const env = { ...process.env, ...variables, ...prefix.variables };
  const file = openSync(log, "w");
  const child = spawn(prefix.wine, [program, ...args], { env, stdio: ["ignore", file, file] });
  closeSync(file);
  return child;
}
