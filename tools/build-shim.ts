/** `npm run build:shim`: builds the DLLs for Windows programs, and what tests them, with the compilers of Debian. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Programs that the build needs, and the Debian packages that they are in. */
const NEEDED: readonly (readonly [program: string, debianPackage: string])[] = [
  ["make", "make"],
  ["gcc", "gcc libc6-dev"],
  ["x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"],
];

const missing = NEEDED.filter(([program]) => spawnSync(program, ["--version"]).error !== undefined);
if (missing.length > 0) {
  const programs = missing.map(([program]) => program).join(", ");
  const packages = missing.map(([, debianPackage]) => debianPackage).join(" ");
  process.stderr.write(
    `The shim cannot be built: ${programs} is missing. Install it:\n` +
      `  apt-get install --no-install-recommends ${packages}\n`,
  );
  process.exit(2);
}
const folder = join(fileURLToPath(new URL(".", import.meta.url)), "..", "shim");
const { status } = spawnSync("make", ["--directory", folder, "--no-print-directory", "all"], {
  stdio: "inherit",
});
process.exit(status ?? 1);
