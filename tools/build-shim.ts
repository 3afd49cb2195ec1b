/**
 * `npm run build:shim`: builds what is written in C, with the compilers of Debian: the DLLs for Windows programs
 * (shim/), the launchers of our own executables (launcher/), and what tests them.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROGRAM_NAMES } from "./bundle-programs.ts";

const ROOT = join(fileURLToPath(new URL(".", import.meta.url)), "..");

const DLLS: readonly string[] = ["bcryptprimitives", "computenetwork", "vmcompute"];

/** Programs that the build needs, and the Debian packages that they are in. */
const NEEDED: readonly (readonly [program: string, debianPackage: string])[] = [
  ["make", "make"],
  ["gcc", "gcc libc6-dev"],
  ["x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"],
];

/** The launchers for Linux, and what compiles each. */
const LINUX_COMPILERS: readonly (readonly [arch: string, compiler: string, debianPackage: string])[] = [
  ["x64", "x86_64-linux-gnu-gcc", "gcc"],
  ["arm64", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"],
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

/** Of what is shipped: DLLs and launchers. */
function productsOf(root: string): readonly string[] {
  return [
    ...DLLS.map((name) => join(root, "dist", "shim", `${name}.dll`)),
    ...PROGRAM_NAMES.map((name) => join(root, "dist", "programs", `${name}.exe`)),
    join(root, "dist", "programs", "launchers.json"),
  ];
}

/**
 * Builds the launchers for Linux whose compilers are here, and notes their hashes. Where there is none plugins are started
 * by a shell script, which does the same.
 * @param folder where they are put.
 */
export function buildLinuxLaunchers(folder: string): void {
  const hashes: Record<string, string> = {};
  mkdirSync(folder, { recursive: true });
  for (const [arch, compiler, debianPackage] of LINUX_COMPILERS) {
    if (spawnSync(compiler, ["--version"]).error !== undefined) {
      process.stderr.write(`No launcher for Linux on ${arch}: ${compiler} is missing (${debianPackage})\n`);
      continue;
    }
    const path = join(folder, `launcher-linux-${arch}`);
    make(join("launcher", "linux"), `CC=${compiler}`, `PROGRAM=${path}`);
    hashes[basename(path)] = createHash("sha256").update(readFileSync(path)).digest("hex");
  }
  writeFileSync(join(folder, "launchers.json"), `${JSON.stringify(hashes, undefined, 2)}\n`);
}

/** What they are made from. */
function sourcesOf(root: string): readonly string[] {
  const folders = ["shim", "shim/core", "shim/surface", "launcher", "launcher/linux"].map((folder) =>
    join(root, folder),
  );
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => statSync(path).isFile() && !path.endsWith(".md"));
}

/** Whether all that is shipped has been built, and after the last change of a source. */
export function isShimBuilt(root: string): boolean {
  const products = productsOf(root);
  if (!products.every((path) => existsSync(path))) return false;
  const oldest = Math.min(...products.map((path) => statSync(path).mtimeMs));
  return sourcesOf(root).every((path) => statSync(path).mtimeMs <= oldest);
}

/** Builds what is not built yet. Ends the process when it cannot. */
export function buildShim(): void {
  const fault = missingPrograms();
  if (fault !== undefined && isShimBuilt(ROOT)) {
    process.stderr.write(
      "There are no compilers here: the DLLs and launchers are taken as they were built.\n",
    );
    return;
  }
  if (fault !== undefined) {
    process.stderr.write(fault);
    process.exit(2);
  }
  make("shim");
  make("launcher", `NAMES=${PROGRAM_NAMES.join(" ")}`);
  buildLinuxLaunchers(join(ROOT, "dist", "programs"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildShim();
