/** Checks of the documentation: links, paths, commands. */
import { posix } from "node:path";
import { type SourceFile, resolveImport } from "./source-files.ts";

/** What a page may refer to. */
export interface Known {
  /** Every file of the repository, from the root, with slashes. */
  readonly paths: ReadonlySet<string>;
  /** Scripts of package.json. */
  readonly scripts: ReadonlySet<string>;
  /** Verbs of `mullion`. */
  readonly verbs: ReadonlySet<string>;
  /** `imports` of package.json: what `#room/…` stands for. */
  readonly imports: Readonly<Record<string, string>>;
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;

/** The code blocks of a page in a language. */
export function codeBlocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(FENCE)].flatMap(([, name, code = ""]) => (name === language ? [code] : []));
}

/** The page without its code blocks. */
function withoutCode(text: string): string {
  return text.replace(FENCE, "");
}

/** The anchor that a heading gets. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

function anchorsOf(text: string): ReadonlySet<string> {
  return new Set(
    [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)),
  );
}

/** True for a file or a folder that holds files. */
function exists(path: string, known: Known): boolean {
  const clean = path.replace(/\/$/, "");
  return known.paths.has(clean) || [...known.paths].some((file) => file.startsWith(`${clean}/`));
}

/** Links to files and headings that do not exist. */
export function findBrokenLinks(pages: readonly SourceFile[], known: Known): readonly string[] {
  const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page.text)]));
  const problems: string[] = [];
  for (const { path, text } of pages) {
    for (const [, target = ""] of withoutCode(text).matchAll(LINK)) {
      if (/^(?:https?|mailto):/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      const full = file === "" ? path : posix.join(posix.dirname(path), file);
      if (!anchors.has(full) && !exists(full, known)) problems.push(`${path}: ${target} leads nowhere`);
      else if (anchor !== undefined && anchors.get(full)?.has(anchor) === false) {
        problems.push(`${path}: ${target} has no such heading`);
      }
    }
  }
  return problems;
}

/** As many lines, so that those behind keep their numbers. */
function blankLines(text: string): string {
  return text.replace(/[^\n]+/g, "");
}

function cellsOf(row: string): readonly string[] {
  return row.trim().replaceAll("\\|", "").slice(1, -1).split("|");
}

function isRuler(row: string): boolean {
  return cellsOf(row).every((cell) => /^ *:?-+:? *$/.test(cell));
}

/** Rows of tables with more or fewer cells than the head, and lines below the head that belong to another table. */
export function findBrokenTables(pages: readonly SourceFile[]): readonly string[] {
  const problems: string[] = [];
  for (const { path, text } of pages) {
    let table: string[] = [];
    for (const [index, line] of text.replace(FENCE, blankLines).split("\n").entries()) {
      if (line.startsWith("|")) table.push(line);
      else table = [];
      const [head] = table;
      if (head === undefined || table.length === 1) continue;
      const where = `${path}:${index + 1}`;
      if (isRuler(line) !== (table.length === 2)) problems.push(`${where}: a table has one head`);
      const [wanted, found] = [cellsOf(head).length, cellsOf(line).length];
      if (found !== wanted) problems.push(`${where}: ${found} cells below a head of ${wanted}`);
    }
  }
  return problems;
}

/** Folders whose files are called by their path in running text. */
const PATH = /^(?:\.ci|bench|bin|docs|examples|schemas|src|test|tools)\/[\w./*-]*$/;

/** `#room/folder/` or `#room/file.ts` as a path; other texts as they are. */
function resolveRoom(name: string, imports: Known["imports"]): string {
  const folder = name.endsWith("/") || name.endsWith(".ts") ? name : `${name}/`;
  return resolveImport(".", folder, imports) ?? name;
}

/** Paths in backticks that do not exist. A pattern with `*` stands for any name. */
export function findMissingPaths(pages: readonly SourceFile[], known: Known): readonly string[] {
  const problems: string[] = [];
  for (const { path, text } of pages) {
    for (const [, quoted = ""] of withoutCode(text).matchAll(/`([^`\n]+)`/g)) {
      const named = quoted.startsWith("#") ? resolveRoom(quoted, known.imports) : quoted;
      if (!PATH.test(named)) continue;
      const pattern = new RegExp(
        `^${named.replace(/\/$/, "").replaceAll(".", "\\.").replaceAll("*", "[^/]*")}(/|$)`,
      );
      if (![...known.paths].some((file) => pattern.test(file)))
        problems.push(`${path}: ${quoted} does not exist`);
    }
  }
  return problems;
}

/** npm's own words that need no script. */
const NPM_WORDS: ReadonlySet<string> = new Set(["ci", "install", "pack", "start", "test"]);

function checkCommand(line: string, known: Known): string | undefined {
  const words = line.replace(/^\$ /, "").split(/\s+/);
  const [first, second, third] = words;
  if (first === "npm" && second === "run" && !known.scripts.has(third ?? ""))
    return `there is no script ${third}`;
  if (first === "npm" && second !== "run" && !NPM_WORDS.has(second ?? ""))
    return `npm ${second} is not used here`;
  const at = first === "npx" && second === "mullion" ? 2 : 1;
  if (first !== "mullion" && at === 1) return undefined;
  const verb = words[at] ?? "";
  if (verb !== "" && !verb.startsWith("-") && !known.verbs.has(verb)) return `there is no verb ${verb}`;
  const file = words[words.indexOf("-f") + 1] ?? "";
  const isFolder = file.endsWith("/") && [...known.paths].some((path) => path.startsWith(file));
  if (words.includes("-f") && file.includes("/") && !known.paths.has(file) && !isFolder)
    return `${file} does not exist`;
  return undefined;
}

/** npm asks the registry for these: a package of that name there is not this one. */
const FROM_REGISTRY =
  /\b(?:npm|pnpm|yarn)\s(?:[\w-]+\s+)*?(?:install|i|add|exec)\s(?:[^#\n]*?\s)?mullion(?:@\S*)?(?=\s|$)|\bnpx\s+(?:-y|--yes|mullion@\S+)/;

/** Commands that install or run a package of our name from the registry, where it is not published. */
export function findUnpublished(pages: readonly SourceFile[]): readonly string[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(FENCE)].flatMap(([, , code = ""]) =>
      code
        .split("\n")
        .filter((line) => FROM_REGISTRY.test(line))
        .map((line) => `${path}: ${line.trim()}: the package is not published`),
    ),
  );
}

/** Commands in shell blocks that cannot work: unknown scripts, verbs, files. */
export function findUnknownCommands(pages: readonly SourceFile[], known: Known): readonly string[] {
  const problems: string[] = [];
  for (const { path, text } of pages) {
    for (const code of codeBlocks(text, "sh")) {
      for (const line of code.split("\n")) {
        const problem = checkCommand(line.trim(), known);
        if (problem !== undefined) problems.push(`${path}: ${line.trim()}: ${problem}`);
      }
    }
  }
  return problems;
}
