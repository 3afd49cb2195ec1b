/**
 * How the folders of `src/` became rooms, in three steps that can be run again on an older tree:
 * `node tools/room-moves.ts imports` writes every import that crosses folders as `#room/…`, edits only;
 * `node tools/room-moves.ts move` moves whole folders, renames only;
 * `node tools/room-moves.ts relative` writes imports inside a room as relative paths again.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { posix } from "node:path";

/** Folders before and after; the longest match wins. */
const MOVES: Readonly<Record<string, string>> = {
  "src/base": "src/core/base",
  "src/net": "src/core/net",
  "src/wire": "src/core/wire",
  "src/knowledge": "src/core/catalogue",
  "src/hcn": "src/contracts/hcn",
  "src/cni": "src/contracts/cni",
  "src/kube": "src/contracts/kubernetes",
  "src/kube/controllers": "src/control-plane/controllers",
  "src/kube/http": "src/control-plane/http",
  "src/kube/load": "src/control-plane/load",
  "src/kube/memory": "src/control-plane/memory",
  "src/kube/patch": "src/control-plane/patch",
  "src/dns": "src/control-plane/dns",
  "src/cloud-routes": "src/control-plane/cloud",
  "src/device": "src/dataplane/device",
  "src/vfp": "src/dataplane/vfp",
  "src/vswitch": "src/dataplane/switch",
  "src/host": "src/dataplane/host",
  "src/fabric": "src/dataplane/fabric",
  "src/hns": "src/hns",
  "src/plugins": "src/programs/plugins",
  "src/kube-proxy": "src/programs/kube-proxy",
  "src/flannel": "src/programs/flannel",
  "src/cluster": "src/cluster",
  "src/api": "src/cluster/api",
  "src/lint": "src/diagnose/lint",
  "src/catalogue": "src/diagnose/catalogue",
  "src/verify-text": "src/diagnose/verify-text",
  "src/vfp-text": "src/diagnose/vfp-text",
  "src/cmd": "src/cli",
  "src/testing": "test/support",
};
const FOLDERS = Object.keys(MOVES).toSorted((a, b) => b.length - a.length);

const CODE = "{src,tools,bench,test,examples}/**/*.{ts,mjs}";
/** The specifier of an import or export statement, of an import in an expression or a type, of a mock. */
const SPECIFIER = /(\bfrom\s*"|^import\s*"|\b(?:import|doMock|doUnmock)\(\s*")(\.[^"]+|#[^"]+)"/gm;

function folderOf(path: string): string | undefined {
  return FOLDERS.find((folder) => path.startsWith(`${folder}/`));
}

function moved(path: string): string {
  const folder = folderOf(path);
  return folder === undefined ? path : `${MOVES[folder] ?? folder}${path.slice(folder.length)}`;
}

/** How a path is called from another room. */
function specifierOf(path: string): string {
  return `#${path.replace(/^src\//, "")}`;
}

function paths(pattern: string): readonly string[] {
  return globSync(pattern, { exclude: ["**/node_modules/**", "dist/**"] }).toSorted();
}

function edit(path: string, change: (text: string) => string): void {
  const text = readFileSync(path, "utf8");
  const changed = change(text);
  if (changed !== text) writeFileSync(path, changed);
}

/** The folders of today, as `imports` of package.json. */
function writeImports(entries: readonly (readonly [string, string])[]): void {
  const manifest = Object.entries(JSON.parse(readFileSync("package.json", "utf8")) as object).filter(
    ([name]) => name !== "imports",
  );
  const at = manifest.findIndex(([name]) => name === "exports");
  manifest.splice(at, 0, ["imports", Object.fromEntries(entries)]);
  writeFileSync("package.json", `${JSON.stringify(Object.fromEntries(manifest), undefined, 2)}\n`);
}

/** A path in a comment, a text or a page: `src/vfp/rule.ts`, `src/flannel/`, not a pattern over folders. */
const MENTION = /(?<![\w.:/"])src\/[\w-]+(?:\/[\w.*-]*)*/g;

/** What runs a long test again names its folder by the last part. */
const REPLAY = /(npm run test:long -- )src\/(?:[\w-]+\/)*([\w-]+)/g;
/** A link out of `src/` leads elsewhere once its page has moved. */
const LINK = /\[([^\]]+)\]\((?:\.\.\/)+(docs\/[\w./-]+)\)/g;

/** Pages and comments of files that move call others by the name that stays. */
function nameRooms(text: string): string {
  return text
    .replace(REPLAY, "$1$2/")
    .replace(LINK, "$1: `$2`")
    .replace(MENTION, (path) => {
      const end = path.endsWith("/") ? "/" : "";
      const name = path.slice(0, path.length - end.length);
      return folderOf(`${name}/`) === undefined ? path : specifierOf(moved(`${name}/`).replace(/\/$/, end));
    });
}

/** A path in what stays where it is: pages, tools, settings; of a source or of what it is compiled to. */
const PATH = /(?<![\w:./-])((?:\.{1,2}\/)*)(src|dist)(\/[\w-]+(?:\/[\w.*-]*)*)/g;

function namePaths(text: string): string {
  return text.replace(PATH, (path, before: string, root: string, rest: string) => {
    const end = rest.endsWith("/") ? "/" : "";
    const source = `src${rest.slice(0, rest.length - end.length)}`;
    if (folderOf(`${source}/`) === undefined) return path;
    return before + moved(`${source}/`).replace(/\/$/, end).replace(/^src/, root);
  });
}

function crossFolders(): void {
  for (const path of paths("src/**/*.{ts,md}")) edit(path, nameRooms);
  for (const path of paths(CODE)) {
    edit(path, (text) =>
      text.replace(SPECIFIER, (all, begin: string, specifier: string) => {
        if (!specifier.startsWith(".")) return all;
        const target = posix.join(posix.dirname(path), specifier);
        const folder = folderOf(target);
        if (folder === undefined || folder === folderOf(path)) return all;
        return `${begin}${specifierOf(moved(target))}"`;
      }),
    );
  }
  const here = FOLDERS.filter((folder) => existsSync(folder)).toSorted();
  writeImports(
    here.map((folder) => [`${specifierOf(MOVES[folder] ?? folder)}/*.ts`, `./${folder}/*.ts`] as const),
  );
}

function moveFolders(): void {
  const files = execFileSync("git", ["ls-files", "src"], { encoding: "utf8" }).split("\n").filter(Boolean);
  for (const path of files) {
    const target = moved(path);
    if (target === path) continue;
    mkdirSync(posix.dirname(target), { recursive: true });
    renameSync(path, target);
  }
  const staying = [
    ...paths("*.{md,json,ts}"),
    ".oxlintrc.json",
    ...paths("bin/*"),
    ...paths("{docs,bench,examples,tools,launcher,shim,test}/**/*.{md,ts}"),
  ].filter((path) => !/^package-lock|room-moves|^tools\/rooms/.test(path));
  for (const path of staying) edit(path, namePaths);
  const rooms = new Set(Object.values(MOVES).map((folder) => specifierOf(folder).split("/")[0] ?? ""));
  writeImports([
    ...[...rooms]
      .filter((room) => room !== "#test")
      .toSorted()
      .map((room) => [`${room}/*.ts`, `./src/${room.slice(1)}/*.ts`] as const),
    ["#test/*.ts", "./test/*.ts"],
  ]);
}

function relativeInside(): void {
  for (const path of paths("{src,test}/**/*.ts")) {
    const room = path.startsWith("src/") ? `#${path.split("/")[1] ?? ""}/` : "#test/";
    edit(path, (text) =>
      text.replace(SPECIFIER, (all, begin: string, specifier: string) => {
        if (!specifier.startsWith(room)) return all;
        const target = room === "#test/" ? specifier.slice(1) : `src/${specifier.slice(1)}`;
        const relative = posix.relative(posix.dirname(path), target);
        return `${begin}${relative.startsWith(".") ? relative : `./${relative}`}"`;
      }),
    );
  }
}

const steps: Readonly<Record<string, () => void>> = {
  imports: crossFolders,
  move: moveFolders,
  relative: relativeInside,
};
const step = steps[process.argv[2] ?? ""];
if (step === undefined) throw new Error("node tools/room-moves.ts imports|move|relative");
step();
