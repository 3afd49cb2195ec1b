/** Keeping files and folders of this machine for their owner. */
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { ownerOnly } from "./owner-only.ts";
import { type PathRules, WINDOWS_PATHS, pathRulesOf } from "./path-rules.ts";

/** Runs a program of Windows to its end. @throws when it fails. */
export type RunProgram = (program: string, args: readonly string[]) => void;

const TIMEOUT_MS = 30_000;

function runProgram(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, {
    stdio: "ignore",
    windowsHide: true,
    timeout: TIMEOUT_MS,
  });
  if (error !== undefined) throw new Error(`cannot run ${program}: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status ?? "a signal"}`);
}

/** By its whole path: what lies in the current folder under that name is another program. */
function icaclsProgram(): string {
  const system = WINDOWS_PATHS.join(process.env["SystemRoot"] ?? "C:\\Windows", "System32");
  return WINDOWS_PATHS.join(system, "icacls.exe");
}

/**
 * Takes the rights of all others to a path of the user's own.
 * @throws the system's error, or one that names the program that failed.
 */
export function restrictToOwner(
  path: string,
  kind: "file" | "folder",
  paths: PathRules = pathRulesOf(process.platform),
  run: RunProgram = runProgram,
): void {
  const { mode, icacls } = ownerOnly(paths, path, kind);
  if (icacls.length === 0) chmodSync(path, mode);
  for (const args of icacls) run(icaclsProgram(), args);
}

/** Makes a file that no other user can read at any moment. @throws as `restrictToOwner`; EEXIST when it is there. */
export function writeOwnerFile(
  path: string,
  text: string,
  paths: PathRules = pathRulesOf(process.platform),
  run: RunProgram = runProgram,
): void {
  const { mode, icacls } = ownerOnly(paths, path, "file");
  // On Windows rights come after the file: it stays empty until they are right.
  writeFileSync(path, icacls.length === 0 ? text : "", { mode, flag: "wx" });
  if (icacls.length === 0) return;
  restrictToOwner(path, "file", paths, run);
  writeFileSync(path, text);
}
