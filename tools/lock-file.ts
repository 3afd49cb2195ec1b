/**
 * What npm installs: every package of package-lock.json by its digest, so that another content under the same version is
 * refused. npm leaves digests out of what it did not fetch: packages for other systems. `node tools/lock-file.ts` asks npm
 * for those, and writes what it knows; a registry that does not have them leaves them without.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

interface LockedPackage {
  readonly version?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  integrity?: string;
}
export interface LockFile {
  readonly lockfileVersion?: number;
  readonly packages?: Readonly<Record<string, LockedPackage>>;
}

const LOCK_FILE = "package-lock.json";

export function readLockFile(): LockFile {
  return JSON.parse(readFileSync(LOCK_FILE, "utf8")) as LockFile;
}

function isPinned({ integrity = "" }: LockedPackage): boolean {
  return /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity);
}

/**
 * Packages for systems that nobody of us has installed on: by scope and version, the names. The registry by which the lock
 * file is made hands out only versions that it has fetched itself, and answers 404 for these (`npm view`, 2026-11-23). What
 * is not in this list needs a digest; a new version of a tool makes the list wrong, and is asked for again.
 */
const WITHOUT_DIGEST: Readonly<Record<string, string>> = {
  "@biomejs@2.6.8":
    "cli-android-arm64 cli-android-x64 cli-darwin-arm64 cli-darwin-x64 cli-linux-arm64-musl cli-linux-x64-musl cli-win32-arm64 cli-win32-x64",
  "@oxc-parser@0.156.0":
    "binding-android-arm-eabi binding-android-arm64 binding-darwin-arm64 binding-darwin-x64 binding-freebsd-x64 binding-linux-arm-gnueabihf binding-linux-arm-musleabihf binding-linux-ppc64-gnu binding-linux-riscv64-gnu binding-linux-riscv64-musl binding-linux-s390x-gnu binding-openharmony-arm64 binding-win32-arm64-msvc binding-win32-ia32-msvc binding-win32-x64-msvc",
  "@oxlint-tsgolint@7.0.2007": "darwin-arm64 darwin-x64 win32-arm64 win32-x64",
  "@oxlint@1.94.0":
    "binding-android-arm-eabi binding-android-arm64 binding-darwin-arm64 binding-darwin-x64 binding-freebsd-x64 binding-linux-arm-gnueabihf binding-linux-arm-musleabihf binding-linux-arm64-musl binding-linux-ppc64-gnu binding-linux-riscv64-gnu binding-linux-riscv64-musl binding-linux-s390x-gnu binding-linux-x64-musl binding-openharmony-arm64 binding-win32-arm64-msvc binding-win32-ia32-msvc binding-win32-x64-msvc",
};

/** One that is installed on some systems alone, not on Linux with x64 and glibc, and stands in the list. */
function isForSystem(path: string, { optional = false, os = [], version = "" }: LockedPackage): boolean {
  const [scope = "", name = ""] = path.replace("node_modules/", "").split("/");
  const listed = WITHOUT_DIGEST[`${scope}@${version}`]?.split(" ").includes(name) === true;
  return listed && optional && os.length > 0;
}

function packagesOf({ packages = {} }: LockFile): readonly (readonly [string, LockedPackage])[] {
  return Object.entries(packages).filter(([path, { link = false }]) => path !== "" && !link);
}

/** Paths of the packages that no SHA-512 holds, but for those of other systems whose digest the registry does not have. */
export function findUnpinned(lock: LockFile): readonly string[] {
  return packagesOf(lock)
    .filter(
      ([path, found]) => !isPinned(found) && (found.integrity !== undefined || !isForSystem(path, found)),
    )
    .map(([path]) => path);
}

/** Names of the list that the lock file does not have without a digest: they leave the list. */
export function findSuperfluous(lock: LockFile): readonly string[] {
  const open = new Set(
    packagesOf(lock).flatMap(([path, found]) => (isPinned(found) ? [] : [`${path}@${found.version ?? ""}`])),
  );
  return Object.entries(WITHOUT_DIGEST).flatMap(([key, names]) => {
    const at = key.lastIndexOf("@");
    const paths = names.split(" ").map((name) => `node_modules/${key.slice(0, at)}/${name}${key.slice(at)}`);
    return paths.filter((path) => !open.has(path));
  });
}

function main(): void {
  const lock = readLockFile();
  for (const [path, found] of packagesOf(lock)) {
    if (isPinned(found)) continue;
    const name = `${path.split("node_modules/").at(-1) ?? ""}@${found.version ?? ""}`;
    const { stdout } = spawnSync("npm", ["view", name, "dist.integrity"], { encoding: "utf8" });
    if (stdout.trim() !== "") found.integrity = stdout.trim();
  }
  writeFileSync(LOCK_FILE, `${JSON.stringify(lock, undefined, 2)}\n`);
  const left = packagesOf(lock).flatMap(([path, found]) => (isPinned(found) ? [] : [path]));
  process.stdout.write(left.map((path) => `${path}: npm knows no digest\n`).join(""));
  process.exitCode = left.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? "")).href) main();
