/** The Go programs of the tests, built once for all of them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type GoProgram, buildGoProgram, findGo } from "../../tools/go-toolchain.ts";
import { ROOT } from "./test-daemon.ts";

const FOLDER = join(ROOT, "out", "wine", "go");
const MODULE = join(ROOT, "test", "wine", "go");

/** Tests of hcsshim's calls. */
export const HCN_TEST: string = join(FOLDER, "hcn.test.exe");
/** A program that is watched from outside. */
export const PROGRAM: string = join(FOLDER, "program.exe");

/** Tests of examples/windows-program, which people copy. */
export const EXAMPLE_TEST: string = join(FOLDER, "podnet.test.exe");

/** The folder of the stand-in for powershell.exe, and the same for this machine. */
export const POWERSHELL_FOLDER: string = join(FOLDER, "powershell");
export const POWERSHELL_HERE: string = join(POWERSHELL_FOLDER, "powershell");

const PROGRAMS: readonly GoProgram[] = [
  { module: MODULE, package: "./hcntest", isTest: true, output: HCN_TEST },
  { module: MODULE, package: "./program", output: PROGRAM },
  { module: join(ROOT, "examples", "windows-program"), package: ".", isTest: true, output: EXAMPLE_TEST },
];

/** Go's own cache makes it quick when nothing has changed. @throws GoMissingError. */
export function buildGoPrograms(): void {
  mkdirSync(FOLDER, { recursive: true });
  const go = findGo();
  for (const program of PROGRAMS) buildGoProgram(go, program);
}

/** Builds the stand-in for PowerShell. @throws GoMissingError. */
export function buildPowerShell(): void {
  mkdirSync(POWERSHELL_FOLDER, { recursive: true });
  const go = findGo();
  const source = { module: MODULE, package: "./powershell" };
  buildGoProgram(go, { ...source, output: `${POWERSHELL_HERE}.exe` });
  buildGoProgram(go, { ...source, output: POWERSHELL_HERE, isForThisMachine: true });
}
