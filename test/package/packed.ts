/** The package as users get it: packed, and installed in an empty folder that lies outside of the clone. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT: string = join(fileURLToPath(new URL(".", import.meta.url)), "..", "..");

function npm(folder: string, ...args: readonly string[]): string {
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  return execFileSync("npm", [...args, ...quiet], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Packs the clone, which builds everything first. @returns the path of the tarball. */
export function pack(): string {
  const folder = join(ROOT, "out", "package");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  npm(ROOT, "pack", "--pack-destination", folder);
  const [tarball = ""] = readdirSync(folder);
  return join(folder, tarball);
}

/** Makes a folder with a project that has `packages` as dependencies. */
export function makeProject(...packages: readonly string[]): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mullion-package-")));
  const manifest = { name: "project", private: true, type: "module" };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  npm(folder, "install", ...packages);
  return folder;
}

/** The newest Node of a major version, from npm. @returns the path of the program. */
export function installNode(major: number): string {
  const { platform, arch } = process;
  // What the package `node` chooses among; npm runs no script of it.
  const name = `node-${platform === "win32" ? "win" : platform}-${arch}`;
  const folder = makeProject(`${name}@${major}`);
  return join(folder, "node_modules", name, "bin", platform === "win32" ? "node.exe" : "node");
}

export interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of somebody who has this Node and nothing of the clone. */
export function environment(node: string, home: string): Record<string, string> {
  const { PATH = "", LANG = "C.UTF-8" } = process.env;
  const path = PATH.split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { PATH: [dirname(node), ...path].join(delimiter), LANG, HOME: home, XDG_RUNTIME_DIR: home };
}
