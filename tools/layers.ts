/**
 * The floors of `src/`: which folder may import which. ARCHITECTURE.md explains them; this is the table itself.
 */
import { type SourceFile, isTest, readImportMap, resolveImport, specifiersOf } from "./source-files.ts";

/** The front door of the library: a file above all floors, which shows what lies on them. */
const DOOR = "mod.node.ts";

/** From top to bottom. A folder imports only from floors below its own. */
export const FLOORS: readonly (readonly string[])[] = [
  [DOOR],
  ["cmd"],
  ["sim", "lint", "doctor", "verify-text"],
  // What people read. Nothing below sees it: a report carries codes, and who prints it adds the words.
  ["catalogue", "vfp-text"],
  ["api"],
  ["cluster"],
  ["kube/control-plane"],
  ["plugins", "flannel", "kube-proxy", "cloud-routes", "ovn", "azure", "dns"],
  ["fabric"],
  ["hns"],
  ["host"],
  ["vswitch"],
  ["vfp", "ovs", "device"],
  ["hcn", "cni", "kube"],
  ["knowledge"],
  ["wire"],
  ["net"],
  ["base"],
];

/**
 * Control-plane programs hold an `HcnClient` and nothing below it: what they do against Mullion's HNS in memory
 * they also do over a socket, and against Windows.
 */
const PROGRAMS: readonly string[] = [
  "plugins",
  "flannel",
  "kube-proxy",
  "cloud-routes",
  "ovn",
  "azure",
  "dns",
];
const SEEN_BY_PROGRAMS: readonly string[] = ["hcn", "cni", "kube", "knowledge", "net", "base"];
/** DNS speaks in messages, so it knows their bytes. */
const SEEN_BY_DNS: readonly string[] = [...SEEN_BY_PROGRAMS, "wire"];

/** Packages that run, and the folders that may use them (docs/decisions/0004-dependencies.md). */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  commander: ["cmd"],
  yaml: ["cluster", "kube", "kube/control-plane", "lint", "doctor", "cmd"],
  "dns-packet": ["wire", "dns"],
  "@kubernetes/client-node": ["kube"],
  hono: ["api", "hns", "kube/control-plane"],
  "@hono/node-server": ["api", "hns", "kube/control-plane", "cmd"],
  koffi: ["hcn"],
  "prom-client": ["kube-proxy"],
};

/**
 * Those of them that only executables use, which hold what they need of them: who installs Mullion does not install these.
 * The build finds the library that would need one (tools/library-types.ts).
 */
const BUNDLED: readonly string[] = ["commander", "@kubernetes/client-node", "prom-client"];

/** Parts of `src/kube/` that are a control plane; the rest is what programs see of one. */
const CONTROL_PLANE: readonly string[] = ["controllers", "http", "load", "memory", "patch"];
/** The packages that are installed with Mullion, and those that are in its executables. */
export function runTimePackages(): {
  readonly installed: readonly string[];
  readonly bundled: readonly string[];
} {
  const installed = Object.keys(PACKAGES).filter((name) => !BUNDLED.includes(name));
  return { installed: installed.toSorted(), bundled: BUNDLED.toSorted() };
}

/** `src/vfp/rule.ts` is in folder `vfp`. */
function folderOf(path: string): string {
  const [, folder = "", part = ""] = path.split("/");
  return folder === "kube" && CONTROL_PLANE.includes(part) ? "kube/control-plane" : folder;
}

function floorOf(folder: string): number {
  return FLOORS.findIndex((floor) => floor.includes(folder));
}

/** True when a file of folder `from` may import from folder `to`. */
export function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  if (floorOf(from) < 0 || floorOf(to) < 0) return false;
  if (from === "dns") return SEEN_BY_DNS.includes(to);
  if (PROGRAMS.includes(from)) return SEEN_BY_PROGRAMS.includes(to);
  return floorOf(to) > floorOf(from);
}

function isNodeFile(path: string): boolean {
  return path.endsWith(".node.ts");
}

/** Files that may touch the machine. */
function mayTouchMachine(path: string): boolean {
  return isNodeFile(path) || folderOf(path) === "cmd" || isTest(path);
}

function checkRelative(path: string, target: string): string | undefined {
  const [from, to] = [folderOf(path), folderOf(target)];
  if (!target.startsWith("src/")) return `${path} imports ${target}, which lies outside src/`;
  if (isNodeFile(target) && !mayTouchMachine(path)) {
    return `${path} imports ${target}: only *.node.ts files, cmd/ and tests may touch the machine`;
  }
  if (isTest(path)) return undefined;
  if (isTest(target)) return `${path} imports ${target}: only tests may`;
  if (mayImport(from, to)) return undefined;
  return `${path} imports ${target}: src/${from} may not import src/${to}`;
}

function checkPackage(path: string, name: string): string | undefined {
  if (name.startsWith("node:")) {
    return mayTouchMachine(path)
      ? undefined
      : `${path} imports ${name}: only *.node.ts files, cmd/ and tests may`;
  }
  if (isTest(path)) return undefined;
  const root = name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : (name.split("/")[0] ?? name);
  const folders = PACKAGES[root];
  if (folders === undefined) return `${path} imports the package ${root}, which is no run-time dependency`;
  return folders.includes(folderOf(path))
    ? undefined
    : `${path} imports ${root}: src/${folderOf(path)} may not`;
}

/** Every import that breaks the table, one sentence each. */
export function findForbiddenImports(files: readonly SourceFile[]): readonly string[] {
  const problems: string[] = [];
  const map = readImportMap();
  for (const { path, text } of files) {
    const folder = folderOf(path);
    if (floorOf(folder) < 0 && folder !== "testing")
      problems.push(`src/${folder} has no floor in tools/layers.ts`);
    for (const name of specifiersOf(text)) {
      const target = resolveImport(path, name, map);
      const problem = target === undefined ? checkPackage(path, name) : checkRelative(path, target);
      if (problem !== undefined) problems.push(problem);
    }
  }
  return [...new Set(problems)];
}
