// Runs before `npm start`, `npm test` and `npm run ok`, on whatever Node the machine has (20 or later):
// installs the locked dependencies when they are missing or older than the lock file. Everything else in the
// project runs on the Node that this installs (node_modules/.bin is first on the path of npm scripts).
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const lockHash = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const stamp = join(root, "node_modules", ".mullion-lock");

const isCurrent = existsSync(stamp) && readFileSync(stamp, "utf8") === lockHash;
if (!isCurrent) {
  process.stderr.write("Installing the locked dependencies (once; about half a minute) …\n");
  const started = Date.now();
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const result = spawnSync(npm, ["ci", "--no-fund", "--no-audit", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (result.status !== 0) {
    const reason = result.error?.message ?? `npm ci ended with exit code ${result.status}`;
    process.stderr.write(
      `Cannot install the dependencies: ${reason}\n` +
        "Check that this machine reaches its npm registry, then run the command again.\n",
    );
    process.exit(1);
  }
  writeFileSync(stamp, lockHash);
  process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`);
}
