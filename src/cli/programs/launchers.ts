/** Launchers in a folder of this machine: written, recognized, taken away. */
import { replaceFile } from "#core/base/owner-only.node.ts";
import type { CniErrorObject } from "#contracts/cni/error.ts";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../installation.ts";
import { errorCode } from "#core/base/thrown.ts";
import { bundleFolder, formatMark, readMark, withScript } from "./launcher-mark.ts";
import { PROGRAMS, findProgram } from "./table.ts";
import { quotePosix } from "#core/base/shell-quoting.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

// Launchers: the small files that start a program of this installation from the folder where a runtime looks for it. Each
// says in a line of its own whose it is, so that it is found again, replaced and taken away, and nothing else is.

interface LauncherOptions {
  readonly program: string;
  /** The folder of this installation. */
  readonly root: string;
  /** The file that starts programs: bin/start.cjs. */
  readonly start: string;
  /** The Node that runs them, as long as it is there; else that of `PATH`. */
  readonly node: string;
  /** In a clone: run the source even where bundles have been built. */
  readonly isSource?: boolean;
}

const NOTE = 'Written by "mullion programs install"; "mullion programs remove" removes it.';
const ADVICE = "Install Mullion again, or write the launchers again: mullion programs install";

/** What somebody who runs the launcher reads; a runtime, which expects an error as JSON, gets it so. */
function failureOf(program: string, message: string): { readonly json: string; readonly text: string } {
  const error: CniErrorObject = { code: 999, msg: `${program}: ${message}`, details: ADVICE };
  return {
    json: `${JSON.stringify(error, undefined, 4)}\n`,
    text: `${program}: ${message}\n    ${ADVICE}\n`,
  };
}

/** For systems with a shell. `MULLION_NODE` names another Node; one that is not there is a fault. */
function formatShellLauncher(options: LauncherOptions): string {
  const { program, start, node, isSource = false } = options;
  const noStart = failureOf(program, `${start} is missing`);
  const noNode = failureOf(program, WORDS.launcherWithoutNode({ node }));
  return `#!/bin/sh
# ${formatMark(options)}
# ${NOTE}
start=${quotePosix(start)}
node=$MULLION_NODE
if [ -z "$node" ]; then
  node=${quotePosix(node)}
  [ -x "$node" ] || node=node
fi
if [ ! -f "$start" ]; then
  json=${quotePosix(noStart.json)}
  text=${quotePosix(noStart.text)}
elif ! command -v "$node" > /dev/null; then
  json=${quotePosix(noNode.json)}
  text=${quotePosix(noNode.text)}
else
  exec "$node" "$start" ${isSource ? "--source " : ""}${program} "$@"
fi
if [ -n "$CNI_COMMAND" ]; then
  printf %s "$json"
  exit 1
fi
printf %s "$text" >&2
exit 2
`;
}

/** For Windows: what NAME.exe (launcher/) runs, beside which it lies as NAME.cjs. */
function formatScriptLauncher(options: LauncherOptions): string {
  const { program, start } = options;
  const { json, text } = failureOf(program, `${start} is missing`);
  return `// ${formatMark(options)}
// ${NOTE}
"use strict";
const fs = require("fs");
const start = ${JSON.stringify(start)};
if (fs.existsSync(start)) require(start).start(${JSON.stringify(program)}, true);
else if (process.env.CNI_COMMAND) {
  fs.writeSync(1, ${JSON.stringify(json)});
  process.exitCode = 1;
} else {
  fs.writeSync(2, ${JSON.stringify(text)});
  process.exitCode = 2;
}
`;
}

const EXECUTABLE = 0o755;
const READABLE = 0o644;
const DIGEST_LENGTH = 12;

/** An installation of this package, as launchers see it. */
export interface Installation {
  /** Its folder. */
  readonly root: string;
  /** The Node that runs its programs. */
  readonly node: string;
  readonly platform: string;
  /** In a clone: the launchers run the source even where bundles have been built. */
  readonly isSource?: boolean;
  /** The executable of launcher/linux that fits this machine; undefined: plugins are started by a shell. */
  readonly executable: string | undefined;
}

/** What lies at the place of a launcher. */
export type Occupant = "nothing" | "launcher" | "foreign";

/** The files of a program's launcher in a folder; the first is the one that is run. */
export function launcherFiles(folder: string, program: string, platform: string): readonly string[] {
  const path = join(folder, program);
  return platform === "win32" ? [`${path}.exe`, `${path}.cjs`] : [path];
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** @throws an error of the system when the folder cannot be looked into. */
export function occupantOf(folder: string, program: string, platform: string): Occupant {
  const files = launcherFiles(folder, program, platform);
  if (!files.some(isThere)) return "nothing";
  return files.some((path) => readMark(path) !== undefined) ? "launcher" : "foreign";
}

/** Writes the launcher of a program, whole or not at all: a runtime may look for it at any time. @throws an error of the system. */
export function writeLauncher(folder: string, program: string, installation: Installation): void {
  const { root, platform } = installation;
  const options: LauncherOptions = { ...installation, program, start: join(root, "bin", "start.cjs") };
  const [path = "", script] = launcherFiles(folder, program, platform);
  if (script === undefined) {
    const text = formatShellLauncher(options);
    const { executable } = installation;
    const isPlugin = findProgram(program)?.kind === "CNI plugin";
    const content = executable !== undefined && isPlugin ? withScript(readFileSync(executable), text) : text;
    replaceFile(path, content, EXECUTABLE);
    return;
  }
  replaceFile(script, formatScriptLauncher(options), READABLE);
  replaceFile(path, readFileSync(windowsLauncher(root, program)), EXECUTABLE);
}

const HASHES = "launchers.json";

/**
 * The executable of launcher/linux for this machine, as it was built: what has another hash is not used.
 * @returns undefined when there is none that fits.
 */
export function linuxLauncher(root: string, platform: string, arch: string): string | undefined {
  const name = `launcher-${platform}-${arch}`;
  const folder = bundleFolder(root);
  try {
    const hashes = JSON.parse(readFileSync(join(folder, HASHES), "utf8")) as Readonly<
      Record<string, unknown>
    >;
    const path = join(folder, name);
    const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
    return hashes[name] === digest ? path : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The executable for Windows that a launcher is a copy of (launcher/). */
export function windowsLauncher(root: string, program: string): string {
  return join(bundleFolder(root), `${program}.exe`);
}

/** Takes the launcher of a program away. @throws an error of the system. */
export function removeLauncher(folder: string, program: string, platform: string): void {
  for (const path of launcherFiles(folder, program, platform)) rmSync(path, { force: true });
}

/** The installation that this process runs from. */
export function thisInstallation(): Installation {
  const root = packageRoot();
  const { execPath: node, platform, arch } = process;
  return { root, node, platform, executable: linuxLauncher(root, platform, arch) };
}

/**
 * A folder with launchers of this installation's plugins, for runtimes of ours: on Windows that of the bundles, elsewhere
 * one of the user's own, which is filled when it is first asked for. In a clone they run the source, as `mullion` does.
 * @throws an error of the system when it cannot be filled.
 */
export function ownPluginFolder(installation: Installation, cacheFolder: string): string {
  const { root, node, platform } = installation;
  if (platform === "win32") return bundleFolder(root);
  // Another installation, and another Node, have launchers of their own.
  const digest = createHash("sha256").update(`${root}\n${node}`).digest("hex").slice(0, DIGEST_LENGTH);
  const folder = join(cacheFolder, `programs-${digest}`);
  mkdirSync(folder, { recursive: true });
  for (const { name, kind } of PROGRAMS)
    if (kind === "CNI plugin" && readMark(join(folder, name)) === undefined)
      writeLauncher(folder, name, { ...installation, isSource: true });
  return folder;
}
