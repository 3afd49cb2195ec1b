// Starts a program of this package. In a clone its source runs as it is (Node strips the types); an installed package has
// dist/programs in its place. On a Node that cannot run the source this file starts itself again with that of
// node_modules. CommonJS, because that starts faster, and written so that a very old Node can say that it is too old.
// What a start in a package does not need is loaded where it is used: a plugin lives for some milliseconds.
//
// A launcher (src/cli/programs/launcher-text.ts) runs this file itself: node start.cjs [--source] NAME ARGUMENT...
"use strict";
const { existsSync } = require("node:fs");
const { join } = require("node:path");

const root = join(__dirname, "..");

/**
 * Runs a program with the arguments of this process; the promise, if there is one, ends with it.
 * @param {string} name mullion, or one of src/cli/programs/table.ts; its bundle is dist/programs/NAME.cjs
 * @param {boolean} isBundleFirst in a clone that has been built: the bundle, which starts faster, or the source
 */
function start(name, isBundleFirst) {
  const isOwn = name === "mullion";
  const source = join(root, "src", "cli", ...(isOwn ? ["mullion", "main.ts"] : ["programs", "start.ts"]));
  const bundle = join(root, "dist", "programs", `${name}.cjs`);
  if (isBundleFirst && existsSync(bundle)) return startBundle(bundle);
  if (existsSync(source)) return startSource(name, source);
  if (existsSync(bundle)) return startBundle(bundle);
  fail(name, `neither ${source} nor ${bundle} exists`, "Install the package again.");
}

/**
 * To compile a plugin takes longer than to run it, so Node keeps what it has compiled in a folder of this package, as long
 * as it may write there.
 */
function startBundle(bundle) {
  const nodeModule = require("node:module");
  if (nodeModule.enableCompileCache) nodeModule.enableCompileCache(join(root, "dist", ".compiled"));
  return require(bundle).ended;
}

/**
 * Leads `#room/…` to its file without Node's search through `imports` of package.json, which costs a start from the sources
 * more than a relative path does.
 */
function nameRooms() {
  const nodeModule = require("node:module");
  if (!nodeModule.registerHooks) return;
  const sources = `${require("node:url").pathToFileURL(join(root, "src")).href}/`;
  nodeModule.registerHooks({
    resolve(specifier, context, nextResolve) {
      // Other packages have names of their own that begin so; texts are no room.
      const isOwn =
        specifier.startsWith("#") &&
        !specifier.startsWith("#data/") &&
        context.parentURL?.startsWith(sources);
      if (!isOwn) return nextResolve(specifier, context);
      return { url: sources + specifier.slice(1), format: "module-typescript", shortCircuit: true };
    },
  });
}

function startSource(name, source) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) {
    const modules = join(root, "node_modules");
    if (existsSync(modules)) require("node:module").enableCompileCache(join(modules, ".cache", "mullion"));
    nameRooms();
    const started = import(require("node:url").pathToFileURL(source).href);
    return name === "mullion" ? started : started.then(({ startProgram }) => startProgram(name));
  }
  const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
  if (existsSync(node)) runWith(name, node);
  else {
    const message = `Node 22.18 or later is needed, and this is ${process.versions.node}`;
    fail(
      name,
      message,
      "Install it from https://nodejs.org, or run npm ci in the clone: that brings a Node along.",
    );
  }
}

/** Runtimes call CNI plugins, and expect errors on stdout as JSON. */
function fail(name, message, advice) {
  if (process.env.CNI_COMMAND) {
    const error = { code: 999, msg: `${name}: ${message}`, details: advice };
    process.stdout.write(`${JSON.stringify(error, undefined, 4)}\n`);
    process.exitCode = 1;
    return;
  }
  process.stderr.write(`${name}: ${message}\n    ${advice}\n`);
  process.exitCode = 2;
}

/** The command line as it was given. */
const words = process.argv.slice(1);

/** Runs the program again with another Node; input, output, signals and the exit code pass through. */
function runWith(name, node) {
  const { spawn } = require("node:child_process");
  const { constants } = require("node:os");
  const child = spawn(node, words, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) =>
    fail(name, `cannot start ${node}: ${error.message}`, "Run npm ci in the clone."),
  );
  child.on("exit", (code, signal) => {
    process.exitCode = code === null ? 128 + (constants.signals[signal] || 15) : code;
  });
}

module.exports = { start };

if (require.main === module) {
  const isSource = words[1] === "--source";
  process.argv.splice(1, isSource ? 3 : 2, __filename);
  start(words[isSource ? 2 : 1] || "mullion", !isSource);
}
