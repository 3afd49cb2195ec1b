/** A Wine prefix, the folder that stands for a machine with Windows, with our DLLs in its system32. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceFile } from "#core/base/owner-only.node.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** Where Wine's programs may be. */
export interface WinePrograms {
  readonly launchers: readonly string[];
  readonly servers: readonly string[];
}

/** Debian's package wine64 puts no command on the path. */
const DEBIAN: WinePrograms = {
  launchers: ["/usr/lib/wine/wine64", "/usr/bin/wine64", "/usr/bin/wine"],
  servers: ["/usr/lib/wine/wineserver64", "/usr/bin/wineserver"],
};

/** Go programs load them from system32 and from nowhere else. */
const SHIM_LIBRARIES: readonly string[] = ["computenetwork.dll", "vmcompute.dll", "bcryptprimitives.dll"];

/** Making a prefix takes seconds; who waits for longer has found a Wine that does not work. */
const TIMEOUT_MS = 120_000;

/** What is missing, and the command that brings it. */
export class WineMissingError extends Error {}

type Variables = Readonly<Record<string, string>>;

export interface WinePrefix {
  /** Starts Windows programs. */
  readonly wine: string;
  readonly server: string;
  /** Variables without which Wine would take another prefix, or talk. */
  readonly variables: Variables;
}

function findProgram(paths: readonly string[]): string {
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new WineMissingError(
    "Wine is not installed. Install it: apt-get install --no-install-recommends wine64",
  );
}

/**
 * Runs a program of Wine's own. Without pipes: the first program in a prefix starts Windows' services, which hold
 * whatever it was given.
 */
async function run(program: string, args: readonly string[], variables: Variables): Promise<void> {
  const env = { ...process.env, ...variables };
  const child = spawn(program, args, { env, stdio: "ignore", timeout: TIMEOUT_MS });
  await once(child, "exit");
  if (child.exitCode === 0) return;
  throw new WineMissingError(
    `Wine does not work here: ${program} ${args.join(" ")} ended with ${child.exitCode}`,
  );
}

/** Other processes see a prefix only when it is complete. */
async function makePrefix(wine: string, server: string, folder: string): Promise<void> {
  const unfinished = `${folder}.new-${process.pid}`;
  mkdirSync(dirname(folder), { recursive: true });
  const variables = variablesOf(unfinished);
  try {
    await run(wine, ["wineboot", "-i"], variables);
    // Node and Go ask for the version and refuse what Wine pretends to be by itself.
    const version = ["reg", "add", "HKCU\\Software\\Wine", "/v", "Version", "/d", "win10", "/f"];
    await run(wine, version, variables);
    await run(server, ["-w"], variables);
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/**
 * Wine reads the names of files and the arguments of programs by the locale. In one without UTF-8, such as that of a CI
 * machine which sets none, it finds nothing whose name has more than ASCII.
 */
export function localeFor(environment: Readonly<Record<string, string | undefined>>): Variables {
  // POSIX: the first of these that is not empty counts.
  const locale = environment["LC_ALL"] || environment["LC_CTYPE"] || environment["LANG"] || "";
  return /utf-?8/i.test(locale) ? {} : { LC_ALL: "C.UTF-8" };
}

function variablesOf(folder: string): Variables {
  // Without mscoree and mshtml it does not ask for .NET and a browser.
  const own = { WINEPREFIX: folder, WINEDEBUG: "-all", WINEDLLOVERRIDES: "mscoree,mshtml=" };
  return { ...localeFor(process.env), ...own };
}

function placeLibraries(libraries: string, folder: string): void {
  const system32 = join(folder, "drive_c", "windows", "system32");
  for (const name of SHIM_LIBRARIES) {
    const from = join(libraries, name);
    const to = join(system32, name);
    if (!existsSync(from)) {
      throw new WineMissingError(WORDS.wineShimMissing({ from }));
    }
    if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) continue;
    // A program that runs keeps the file it has loaded.
    replaceFile(to, readFileSync(from), statSync(from).mode);
  }
}

/**
 * Makes the prefix when it is not there, which takes some seconds, puts the DLLs of `libraries` into it, and starts
 * Windows' services. They end by themselves some seconds after the last program.
 * @throws WineMissingError.
 */
export async function prepareWinePrefix(
  folder: string,
  libraries: string,
  { launchers, servers }: WinePrograms = DEBIAN,
): Promise<WinePrefix> {
  const wine = findProgram(launchers);
  const server = findProgram(servers);
  if (!existsSync(folder)) await makePrefix(wine, server, folder);
  placeLibraries(libraries, folder);
  const variables = variablesOf(folder);
  const nothing = ["cmd", "/c", "exit"];
  try {
    await run(wine, nothing, variables);
  } catch {
    // A server that is ending, because another program has just ended, takes a new one along: seen as exit code 127.
    await run(server, ["-w"], variables);
    await run(wine, nothing, variables);
  }
  return { wine, server, variables };
}
