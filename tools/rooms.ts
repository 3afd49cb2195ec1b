/**
 * The rooms of `src/`: which folder may import which, values and types alike. ARCHITECTURE.md draws them; this is the
 * table itself.
 */
import { type SourceFile, isTest, readImportMap, resolveImport, specifiersOf } from "./source-files.ts";

/** The front door of the library: a file above all rooms, which shows what is in them. */
const DOOR = "mod.node.ts";

/** The texts of `data/`, which the words of `diagnose` are made from. */
const TEXTS = "data/texts.js";

/** The tables of `data/facts/`: whatever has rules of its own may read them. */
const FACTS = "data/facts.js";

/** The names that have rows and texts in `data/`. */
const CODES = "data/codes.js";

/** The texts of `data/words/`: what has something to say may read them. */
const WORDS = "data/words.js";

/** A room, and the order of what is in it where that matters. */
interface Room {
  readonly name: string;
  /** Sub-rooms from top to bottom; those of one list do not import one another. */
  readonly inside: readonly (readonly string[])[];
}

/** From top to bottom. A room imports only from rooms below it, through `#room/…`. */
export const ROOMS: readonly Room[] = [
  { name: "cli", inside: [] },
  // What people read is here. Nothing below sees it: a report carries codes, and who prints it adds the words.
  {
    name: "diagnose",
    inside: [["doctor"], ["lint", "verify-text"], ["catalogue", "vfp-text"]],
  },
  { name: "cluster", inside: [] },
  { name: "control-plane", inside: [] },
  { name: "programs", inside: [["plugins", "flannel", "kube-proxy", "policy", "ovn", "azure", "docker"]] },
  { name: "hns", inside: [] },
  { name: "dataplane", inside: [["fabric"], ["ovs"], ["host"], ["switch"], ["vfp", "device"]] },
  { name: "contracts", inside: [["hcn", "cni", "kubernetes", "ovsdb"]] },
  { name: "core", inside: [["catalogue"], ["wire"], ["net"], ["base"]] },
];

/**
 * Programs hold an `HcnClient` and nothing below it: what they do against Mullion's HNS in memory they also do over a
 * socket, and against Windows.
 */
const SEEN_BY_PROGRAMS: readonly string[] = ["contracts", "core/catalogue", "core/net", "core/base"];

/** Packages that run, and the folders that may use them (docs/decisions/0004-dependencies.md). */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  commander: ["cli"],
  yaml: ["cli", "diagnose", "cluster", "control-plane", "contracts/kubernetes"],
  "dns-packet": ["control-plane/dns", "core/wire"],
  "@kubernetes/client-node": ["contracts/kubernetes"],
  hono: ["cluster/api", "control-plane", "hns"],
  "@hono/node-server": ["cli", "cluster/api", "control-plane", "hns"],
  koffi: ["contracts/hcn", "dataplane/device"],
  "prom-client": ["programs/kube-proxy"],
};

/**
 * Those of them that only executables use, which hold what they need of them: who installs Mullion does not install these.
 * The build finds the library that would need one (tools/library-types.ts).
 */
const BUNDLED: readonly string[] = ["commander", "@kubernetes/client-node", "prom-client"];

/** The packages that are installed with Mullion, and those that are in its executables. */
export function runTimePackages(): {
  readonly installed: readonly string[];
  readonly bundled: readonly string[];
} {
  const installed = Object.keys(PACKAGES).filter((name) => !BUNDLED.includes(name));
  return { installed: installed.toSorted(), bundled: BUNDLED.toSorted() };
}

/** Where a file stands: `src/dataplane/vfp/rule.ts` is in `vfp` of `dataplane`. */
interface Place {
  readonly room: string;
  readonly sub: string;
}

function placeOf(path: string): Place {
  const [, room = "", sub = ""] = path.split("/");
  return { room, sub: sub.includes(".") ? "" : sub };
}

function floorOf(room: string): number {
  if (room === DOOR) return -1;
  return ROOMS.findIndex(({ name }) => name === room);
}

function isWithin(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`src/${folder}/`));
}

/** What is wrong with an import of one file by another, if anything is. */
function checkPlaces(path: string, target: string): string | undefined {
  const [from, to] = [placeOf(path), placeOf(target)];
  if (from.room !== to.room) {
    if (floorOf(to.room) <= floorOf(from.room)) return `src/${from.room} may not import src/${to.room}`;
    if (from.room !== "programs" || isWithin(target, SEEN_BY_PROGRAMS)) return undefined;
    return `programs see ${SEEN_BY_PROGRAMS.join(", ")} and nothing else`;
  }
  if (from.sub === to.sub) return undefined;
  const order = ROOMS[floorOf(from.room)]?.inside ?? [];
  const [above, below] = [from.sub, to.sub].map((sub) => order.findIndex((row) => row.includes(sub)));
  if (above === undefined || below === undefined || above < 0 || below < 0 || above < below) return undefined;
  return `src/${from.room}/${from.sub} may not import src/${to.room}/${to.sub}`;
}

/** True when the order of the rooms lets one file import the other. */
export function mayImport(path: string, target: string): boolean {
  return checkPlaces(path, target) === undefined;
}

function isNodeFile(path: string): boolean {
  return path.endsWith(".node.ts");
}

/** Files that may touch the machine. */
function mayTouchMachine(path: string): boolean {
  return isNodeFile(path) || path.startsWith("src/cli/") || isTest(path);
}

function checkFile(path: string, specifier: string, target: string): string | undefined {
  const found = `${path} imports ${target}`;
  if (isTest(path)) return undefined;
  if (isTest(target)) return `${found}: only tests may`;
  if (target === TEXTS) return placeOf(path).room === "diagnose" ? undefined : `${found}: only diagnose may`;
  if (target === FACTS || target === CODES || target === WORDS) return undefined;
  if (!target.startsWith("src/")) return `${found}, which lies outside src/`;
  if (isNodeFile(target) && !mayTouchMachine(path)) {
    return `${found}: only *.node.ts files, cli/ and tests may touch the machine`;
  }
  const crosses = placeOf(path).room !== placeOf(target).room;
  if (crosses === specifier.startsWith(".")) {
    return `${found}: ${crosses ? "another room is called #room/…" : "inside a room paths are relative"}`;
  }
  const problem = checkPlaces(path, target);
  return problem === undefined ? undefined : `${found}: ${problem}`;
}

function checkPackage(path: string, name: string): string | undefined {
  if (name.startsWith("node:")) {
    return mayTouchMachine(path)
      ? undefined
      : `${path} imports ${name}: only *.node.ts files, cli/ and tests may`;
  }
  if (isTest(path)) return undefined;
  const root = name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : (name.split("/")[0] ?? name);
  const folders = PACKAGES[root];
  if (folders === undefined) return `${path} imports the package ${root}, which is no run-time dependency`;
  return isWithin(path, folders) ? undefined : `${path} imports ${root}: src/${placeOf(path).room} may not`;
}

/** Every import that breaks the table, one sentence each. */
export function findForbiddenImports(files: readonly SourceFile[]): readonly string[] {
  const problems: string[] = [];
  const map = readImportMap();
  for (const { path, text } of files) {
    const { room } = placeOf(path);
    if (room !== DOOR && floorOf(room) < 0) problems.push(`src/${room} has no place in tools/rooms.ts`);
    for (const name of specifiersOf(text)) {
      const target = resolveImport(path, name, map);
      const problem = target === undefined ? checkPackage(path, name) : checkFile(path, name, target);
      if (problem !== undefined) problems.push(problem);
    }
  }
  return [...new Set(problems)];
}
