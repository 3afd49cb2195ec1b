#!/usr/bin/env node
// Starts mullion on a Node that can run it. In a clone the source runs as it is (Node strips the types); an installed
// package has dist/ in its place. On an older Node this file starts itself again with the Node of node_modules.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);

if (isNewEnough) {
  const modules = join(root, "node_modules");
  if (existsSync(modules)) nodeModule.enableCompileCache?.(join(modules, ".cache", "mullion"));
  const source = join(root, "src", "cmd", "mullion", "main.ts");
  const built = join(root, "dist", "cmd", "mullion", "main.js");
  const main = existsSync(source) ? source : built;
  if (existsSync(main)) await import(pathToFileURL(main).href);
  else fail(`neither ${source} nor ${built} exists`, "Install the package again.");
} else {
  const name = process.platform === "win32" ? "node.exe" : "node";
  const node = join(root, "node_modules", "node", "bin", name);
  if (existsSync(node)) runWith(node);
  else {
    fail(
      `Node 22.18 or later is needed, and this is ${process.versions.node}`,
      "Install it from https://nodejs.org, or run npm ci in the clone: that brings a Node along.",
    );
  }
}

function fail(message, advice) {
  process.stderr.write(`mullion: ${message}\n    ${advice}\n`);
  process.exitCode = 2;
}

/** Runs this file again with another Node; input, output, signals and the exit code pass through. */
function runWith(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`cannot start ${node}: ${error.message}`, "Run npm ci in the clone."));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal ?? "SIGTERM"] ?? 15);
  });
}
