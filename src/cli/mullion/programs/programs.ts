/** `mullion programs` and `mullion run` on this machine. */
import { plural } from "#core/base/text-layout.ts";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { nearestNames } from "#core/base/nearest-name.ts";
import {
  type Installation,
  launcherFiles,
  occupantOf,
  removeLauncher,
  thisInstallation,
  windowsLauncher,
  writeLauncher,
} from "../../programs/launchers.ts";
import { PROGRAMS, type Program, findProgram } from "../../programs/table.ts";
import { type Failure, describeSystemError } from "../failure.ts";
import { usage } from "../options.ts";
import { type ListFormat, type Listing, formatListing } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { InstallRequest, ProgramsRequest, ProgramsVerbs, RunRequest } from "./commands.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

const LISTING: Listing<Program> = {
  singular: "program",
  plural: "programs",
  columns: [
    { title: "NAME", text: ({ name }) => name },
    { title: "KIND", text: ({ kind }) => kind },
    { title: "WHAT IT IS", text: ({ about }) => about },
  ],
  rows: PROGRAMS,
  name: ({ name }) => name,
  data: ({ name, kind, about }) => ({ name, kind, about }),
};

async function listPrograms(format: ListFormat, terminal: Terminal): Promise<ExitCode> {
  terminal.stdout(formatListing(LISTING, format));
  return Promise.resolve(0);
}

function unknownProgram(name: string): Failure {
  const near = nearestNames(
    name,
    PROGRAMS.map((program) => program.name),
  );
  const advice = near.length === 0 ? "" : `Did you mean ${near.join(", ")}? `;
  return usage(`there is no program ${JSON.stringify(name)}`, `${advice}All of them: mullion programs`);
}

/** All, or those that are named, each once. @throws Failure for a name of none. */
function chosenPrograms(names: readonly string[]): readonly string[] {
  for (const name of names) if (findProgram(name) === undefined) throw unknownProgram(name);
  return names.length === 0 ? PROGRAMS.map(({ name }) => name) : [...new Set(names)];
}

/** @throws Failure when it is none, or nothing can be written there. */
function checkFolder(folder: string, advice: string): void {
  const quoted = JSON.stringify(folder);
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) throw usage(`there is no folder ${quoted}`, advice);
  if (!found.isDirectory()) throw usage(`${quoted} is not a folder`, advice);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(folder, error);
  }
}

function unwritable(folder: string, error: unknown): Failure {
  const reasons: Readonly<Record<string, string>> = { EACCES: "this user may not write there" };
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return usage(
    `cannot write to ${JSON.stringify(folder)}: ${reasons[code] ?? describeSystemError(error)}`,
    WORDS.adviceInstallFolderPermission,
  );
}

/** What a change of the folder came upon is told as a fault of the folder. */
function change(folder: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw unwritable(folder, error);
  }
}

/** The launchers of Windows are compiled, and lie in what was built. @throws Failure when they are not there. */
function checkWindowsLaunchers(names: readonly string[], { root, platform }: Installation): void {
  if (platform !== "win32") return;
  const missing = names.map((name) => windowsLauncher(root, name)).find((path) => !existsSync(path));
  if (missing !== undefined)
    throw usage(`the launcher ${JSON.stringify(missing)} is missing`, WORDS.adviceLauncherMissing);
}

function count(names: readonly string[]): string {
  return plural(names.length, "program");
}

function tellForeign(folder: string, names: readonly string[], platform: string, terminal: Terminal): void {
  for (const name of names)
    terminal.stderr(`mullion: ${launcherFiles(folder, name, platform)[0]} is not Mullion's\n`);
}

function install(request: InstallRequest, installation: Installation, terminal: Terminal): ExitCode {
  const { folder, isForced } = request;
  const { platform } = installation;
  const names = chosenPrograms(request.names);
  checkFolder(folder, WORDS.adviceInstallFolder);
  checkWindowsLaunchers(names, installation);
  const before = new Map(names.map((name) => [name, occupantOf(folder, name, platform)]));
  const foreign = names.filter((name) => before.get(name) === "foreign");
  if (foreign.length > 0 && !isForced) {
    tellForeign(folder, foreign, platform, terminal);
    terminal.stderr(`    ${WORDS.adviceForeignPrograms}\n`);
    return 1;
  }
  for (const name of names) {
    change(folder, () => writeLauncher(folder, name, installation));
    const note = before.get(name) === "nothing" ? "" : " (replaced)";
    terminal.stdout(`${launcherFiles(folder, name, platform)[0]}${note}\n`);
  }
  terminal.stderr(`Installed ${count(names)}.\n`);
  return 0;
}

function remove({ folder, names }: ProgramsRequest, platform: string, terminal: Terminal): ExitCode {
  const chosen = chosenPrograms(names);
  checkFolder(folder, "Name the folder that mullion programs install was given.");
  const own = chosen.filter((name) => occupantOf(folder, name, platform) === "launcher");
  const foreign = chosen.filter((name) => occupantOf(folder, name, platform) === "foreign");
  for (const name of own) {
    change(folder, () => removeLauncher(folder, name, platform));
    terminal.stdout(`${launcherFiles(folder, name, platform)[0]}\n`);
  }
  terminal.stderr(`Removed ${count(own)}.\n`);
  // Whoever asks for all means all of ours.
  if (names.length === 0 || foreign.length === 0) return 0;
  tellForeign(folder, foreign, platform, terminal);
  return 1;
}

interface Starter {
  start(name: string, isBundleFirst: boolean): Promise<void> | undefined;
}

/** Runs a program in this process, which is then the program's: arguments, streams, exit code. */
async function runProgram({ name, args }: RunRequest, { root }: Installation): Promise<number> {
  if (findProgram(name) === undefined) throw unknownProgram(name);
  process.argv.splice(2, process.argv.length, ...args);
  const starter = createRequire(import.meta.url)(join(root, "bin", "start.cjs")) as Starter;
  await starter.start(name, false);
  return Number(process.exitCode ?? 0);
}

/** The verbs for an installation. */
export function programsVerbs(installation: Installation): ProgramsVerbs {
  return {
    list: listPrograms,
    install: async (request, terminal) => Promise.resolve(install(request, installation, terminal)),
    remove: async (request, terminal) => Promise.resolve(remove(request, installation.platform, terminal)),
    run: (request) => runProgram(request, installation),
  };
}

/** The verbs for the installation that this process runs from. */
export function realPrograms(): ProgramsVerbs {
  return programsVerbs(thisInstallation());
}
