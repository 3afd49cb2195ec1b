/**
 * `npm run build:shim`: builds what is written in C, with the compilers of Debian: the DLLs for Windows programs
 * (shim/), the launchers of our own executables (launcher/), and what tests them.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROGRAM_NAMES } from "./bundle-programs.ts";

const ROOT = join(fileURLToPath(new URL(".", import.meta.url)), "..");

/** Programs that the build needs, and the Debian packages that they are in. */
const NEEDED: readonly (readonly [program: string, debianPackage: string])[] = [
  ["make", "make"],
  ["gcc", "gcc libc6-dev"],
  ["x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"],
];

/** What to say when a program is missing; undefined when none is. */
function missingPrograms(): string | undefined {
  const missing = NEEDED.filter(([program]) => spawnSync(program, ["--version"]).error !== undefined);
  if (missing.length === 0) return undefined;
  const programs = missing.map(([program]) => program).join(", ");
  const packages = missing.map(([, debianPackage]) => debianPackage).join(" ");
  return (
    `What is written in C cannot be built: ${programs} is missing. Install it:\n` +
    `  apt-get install --no-install-recommends ${packages}\n`
  );
}

function make(folder: string, ...variables: readonly string[]): void {
  const argv = ["--directory", join(ROOT, folder), "--no-print-directory", "all", ...variables];
  const { status } = spawnSync("make", argv, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

/** Builds what is not built yet. Ends the process when it cannot. */
export function buildShim(): void {
  const fault = missingPrograms();
  if (fault !== undefined) {
    process.stderr.write(fault);
    process.exit(2);
  }
  make("shim");
  make("launcher", `NAMES=${PROGRAM_NAMES.join(" ")}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildShim();
