/**
 * `npm run build`: what the package ships of TypeScript. `dist/ROOM/` is the library, with types, as far as the public
 * modules reach; `dist/programs/` the executables. With `--all` (`npm pack` does that), what the compilers of Debian
 * make for Windows comes along.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildShim } from "./build-shim.ts";
import { bundlePrograms } from "./bundle-programs.ts";
import { bundleWeb } from "./bundle-web.ts";
import { finishLibrary } from "./library-types.ts";

const ROOT = join(fileURLToPath(new URL(".", import.meta.url)), "..");
const DIST = join(ROOT, "dist");
const PROGRAMS = join(DIST, "programs");

/** Takes away what an earlier build left, and leaves what the other compilers made. */
function clear(): void {
  const paths = [
    ...list(DIST).filter((path) => path !== PROGRAMS && path !== join(DIST, "shim")),
    ...list(PROGRAMS).filter((path) => !path.endsWith(".exe") && !basename(path).startsWith("launcher")),
  ];
  for (const path of paths) rmSync(path, { recursive: true });
}

function list(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

function compileLibrary(): void {
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [compiler, "-p", join(ROOT, "tsconfig.build.json")], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
  finishLibrary(ROOT, DIST);
}

// First, because it says at once when a compiler is missing.
if (process.argv.includes("--all")) buildShim();
clear();
compileLibrary();
await bundlePrograms(ROOT, PROGRAMS);
await bundleWeb(join(DIST, "web"));
