/**
 * The Go compiler for the programs of test/wine, test/live and examples/: the one that is installed, or, where that is too
 * old (Debian 12 has 1.19), a newer one that it fetches from the module proxy it is set up for (GOPROXY) into a cache
 * folder. Go checks what it fetched against its checksum database.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { cacheFolder } from "./cache-folder.ts";

/** The oldest that builds hcsshim: what `go` says in test/wine/go/go.mod. */
const NEEDED: readonly [major: number, minor: number] = [1, 23];
const FETCHED = "1.26.8";

const FETCH_TIMEOUT_MS = 300_000;

/** There is no Go, and none can be had; the message says what to do. */
export class GoMissingError extends Error {}

/** Where it is looked for: on the path, and where Go's own archive is unpacked to. */
const PROGRAMS: readonly string[] = ["go", "/usr/local/go/bin/go"];

export interface GoPlaces {
  /** The oldest that will do; by default the one that builds hcsshim. */
  readonly needed?: readonly [major: number, minor: number];
  readonly programs?: readonly string[];
  readonly cache?: string;
}

/** `1.26.8`; undefined when there is no such program. */
function versionOf(program: string): string | undefined {
  const asked = spawnSync(program, ["version"], { encoding: "utf8", env: { ...env, GOTOOLCHAIN: "local" } });
  return /\bgo(\d+\.\d+(?:\.\d+)?)/.exec(asked.stdout ?? "")?.[1];
}

function isNewEnough(version: string, needed: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}

/** A module has no executable files, so those of the compiler are made executable, as Go itself does it. */
function makeExecutable(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makeExecutable(path);
    else chmodSync(path, 0o755);
  }
}

/** Lets an old Go fetch a new one, which comes as a module. @throws GoMissingError. */
function fetchWith(
  old: string,
  oldVersion: string,
  cache: string,
  needed: readonly [number, number],
): string {
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const module = `golang.org/toolchain@v0.0.1-go${FETCHED}.${process.platform}-${architecture}`;
  const root = join(cache, module);
  const program = join(root, "bin", "go");
  if (existsSync(program) && versionOf(program) === FETCHED) return program;
  mkdirSync(cache, { recursive: true });
  const fetched = spawnSync(old, ["mod", "download", module], {
    cwd: cache,
    encoding: "utf8",
    timeout: FETCH_TIMEOUT_MS,
    env: { ...env, GOMODCACHE: cache, GOFLAGS: "-modcacherw", GOTOOLCHAIN: "local", GOWORK: "off" },
  });
  if (fetched.status !== 0) {
    const reason = (fetched.stderr ?? "").trim().split("\n").at(-1);
    throw new GoMissingError(
      `Go ${needed.join(".")} or later is needed, Go ${oldVersion} is installed, and it could not fetch ${FETCHED}: ${reason}. ` +
        "Install a newer Go, or set GOPROXY to a module proxy that can be reached.",
    );
  }
  makeExecutable(join(root, "bin"));
  makeExecutable(join(root, "pkg", "tool"));
  return program;
}

/**
 * The path of a Go compiler that is new enough.
 * @throws GoMissingError.
 */
export function findGo({
  needed = NEEDED,
  programs = PROGRAMS,
  cache = cacheFolder("go"),
}: GoPlaces = {}): string {
  const found = programs.map((program) => ({ program, version: versionOf(program) }));
  for (const { program, version } of found) {
    if (version !== undefined && isNewEnough(version, needed)) return program;
  }
  for (const { program, version } of found) {
    if (version !== undefined) return fetchWith(program, version, cache, needed);
  }
  throw new GoMissingError(
    `Go is not installed. Install it: apt-get install --no-install-recommends golang-go; when it is older than ${needed.join(".")}, a newer one is fetched with it.`,
  );
}

/** A package of a module that becomes a program for Windows, or for this machine. */
export interface GoProgram {
  /** The folder of `go.mod`. */
  readonly module: string;
  /** `./program`, as Go names packages of a module. */
  readonly package: string;
  /** Its tests are the program (`go test -c`). */
  readonly isTest?: boolean;
  readonly isForThisMachine?: boolean;
  /** The executable. */
  readonly output: string;
}

/**
 * Builds a program, for Windows on x64 unless it says otherwise.
 * @throws GoMissingError; Error with what the compiler says.
 */
export function buildGoProgram(
  go: string,
  { module, package: name, isTest = false, isForThisMachine = false, output }: GoProgram,
): void {
  const words = isTest ? ["test", "-c"] : ["build"];
  const built = spawnSync(go, [...words, "-o", output, name], {
    cwd: module,
    encoding: "utf8",
    env: {
      ...env,
      ...(!isForThisMachine && { GOOS: "windows", GOARCH: "amd64" }),
      CGO_ENABLED: "0",
      GOFLAGS: "-mod=readonly -buildvcs=false",
      GOTOOLCHAIN: "local",
      GOWORK: "off",
    },
  });
  if (built.status === 0) return;
  throw new Error(`${name} of ${module} was not built:\n${built.stderr || String(built.error)}`);
}
