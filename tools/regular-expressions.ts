/**
 * Patterns that take longer than their text is long. `npm run patterns` asks recheck about every pattern of the program: each
 * literal, and each `new RegExp` whose text can be told from the source. What it finds must be mended, or stand in ALLOWED
 * with the reason why no text can be long there. Verdicts are kept in `~/.cache/mullion/patterns`, by pattern.
 *
 * The checker runs as JavaScript in threads of this program: its own process, which it takes when it may choose, has no limit
 * of time for the search, proves some patterns in minutes that take JavaScript a second, and is not there on every system.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker, isMainThread, parentPort } from "node:worker_threads";
import { parseAst } from "rolldown/parseAst";
import { cacheFolder } from "./cache-folder.ts";
import { type SourceFile, isTest, readFiles, readImportMap, resolveImport } from "./source-files.ts";

export interface Pattern {
  readonly source: string;
  readonly flags: string;
  /** `src/a.ts:12` */
  readonly at: string;
}

export interface FoundPatterns {
  readonly patterns: readonly Pattern[];
  /** Places of `new RegExp` whose text depends on more than constants. */
  readonly unknown: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

/** All nodes of a tree, in the order of the text. */
function nodesOf(tree: unknown): readonly Node[] {
  const nodes: Node[] = [];
  const open = [tree];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if (isNode(value)) nodes.push(value);
    open.push(...(Object.values(value) as unknown[]).toReversed());
  }
  return nodes;
}

/** Constants of a file, and the names that it imports. */
interface Scope {
  readonly path: string;
  readonly values: ReadonlyMap<string, Node>;
  readonly imports: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
}

export class PatternFinder {
  private readonly texts: ReadonlyMap<string, string>;
  private readonly scopes = new Map<string, Scope>();
  private readonly map = readImportMap();

  constructor(files: readonly SourceFile[]) {
    this.texts = new Map(files.map(({ path, text }) => [path, text]));
  }

  /** False for a file without `new RegExp`, and without a pattern that is allowed. */
  mayHold(path: string): boolean {
    const text = this.texts.get(path) ?? "";
    return text.includes("RegExp(") || ALLOWED.some(({ file }) => file === path);
  }

  find(path: string): FoundPatterns {
    const text = this.texts.get(path) ?? "";
    const patterns: Pattern[] = [];
    const unknown: string[] = [];
    for (const node of nodesOf(this.parse(path))) {
      const isCall = nameOf(node["callee"]) === "RegExp";
      if (!isCall && !isRegex(node["regex"])) continue;
      const at = `${path}:${text.slice(0, node.start).split("\n").length}`;
      if (isRegex(node["regex"]))
        patterns.push({ source: node["regex"].pattern, flags: node["regex"].flags, at });
      if (!isCall) continue;
      const [first, second] = node["arguments"] as readonly Node[];
      const source = this.valueOf(first, this.scopeOf(path));
      const flags = second === undefined ? "" : this.valueOf(second, this.scopeOf(path));
      if (source === undefined || flags === undefined) unknown.push(at);
      else patterns.push({ source, flags, at });
    }
    return { patterns, unknown };
  }

  private parse(path: string): unknown {
    const text = this.texts.get(path) ?? "";
    return parseAst(text, { lang: path.endsWith(".ts") ? "ts" : "js" });
  }

  private scopeOf(path: string): Scope {
    const known = this.scopes.get(path);
    if (known !== undefined) return known;
    const values = new Map<string, Node>();
    const imports = new Map<string, { readonly file: string; readonly name: string }>();
    for (const node of nodesOf(this.parse(path))) {
      const name = nameOf(node["id"] ?? node["local"]);
      if (node.type === "VariableDeclarator" && isNode(node["init"]) && name !== undefined)
        values.set(name, node["init"]);
      if (node.type !== "ImportDeclaration") continue;
      const file = resolveImport(path, String((node["source"] as Node)["value"]), this.map) ?? "";
      for (const one of node["specifiers"] as readonly Node[])
        imports.set(nameOf(one["local"]) ?? "", { file, name: nameOf(one["imported"]) ?? "" });
    }
    const scope = { path, values, imports };
    this.scopes.set(path, scope);
    return scope;
  }

  /** The text of an expression of constants; undefined for another one. */
  private valueOf(node: Node | undefined, scope: Scope, depth = 0): string | undefined {
    if (node === undefined || depth > 20) return undefined;
    const inner = (value: unknown): string | undefined =>
      isNode(value) ? this.valueOf(value, scope, depth + 1) : undefined;
    if (node.type === "Literal") {
      if (isRegex(node["regex"])) return node["regex"].pattern;
      const { value } = node as { readonly value?: unknown };
      return typeof value === "string" || typeof value === "number" ? `${value}` : undefined;
    }
    if (node.type === "Identifier") return this.valueOfName(nameOf(node) ?? "", scope, depth);
    if (node.type === "MemberExpression" && nameOf(node["property"]) === "source")
      return inner(node["object"]);
    if (node.type === "BinaryExpression") {
      const [left, right] = [inner(node["left"]), inner(node["right"])];
      return left === undefined || right === undefined ? undefined : left + right;
    }
    if (node.type === "CallExpression") return charactersOf(node);
    const quasi = node.type === "TaggedTemplateExpression" ? node["quasi"] : node;
    if (!isNode(quasi) || quasi.type !== "TemplateLiteral") return undefined;
    const part = node.type === "TemplateLiteral" ? "cooked" : "raw";
    let text = "";
    for (const [index, piece] of (quasi["quasis"] as readonly Node[]).entries()) {
      text += (piece["value"] as Readonly<Record<string, string>>)[part] ?? "";
      const hole = (quasi["expressions"] as readonly Node[])[index];
      const value = hole === undefined ? "" : inner(hole);
      if (value === undefined) return undefined;
      text += value;
    }
    return text;
  }

  private valueOfName(name: string, scope: Scope, depth: number): string | undefined {
    const from = scope.imports.get(name);
    if (from === undefined) return this.valueOf(scope.values.get(name), scope, depth + 1);
    if (!this.texts.has(from.file)) return undefined;
    const there = this.scopeOf(from.file);
    return this.valueOf(there.values.get(from.name), there, depth + 1);
  }
}

function isRegex(value: unknown): value is { readonly pattern: string; readonly flags: string } {
  return typeof value === "object" && value !== null && "pattern" in value;
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && typeof node["name"] === "string" ? node["name"] : undefined;
}

/** `String.fromCharCode(27)` */
function charactersOf(node: Node): string | undefined {
  const callee = node["callee"] as Node;
  if (callee.type !== "MemberExpression" || nameOf(callee["property"]) !== "fromCharCode") return undefined;
  return String.fromCharCode(...(node["arguments"] as readonly Node[]).map((each) => Number(each["value"])));
}

/** What users' texts come by: the program, and the tools that read users' files. */
export function readPatternFiles(): readonly SourceFile[] {
  return readFiles("src/**/*.ts", "bin/*.js", "launcher/**/*.{js,cjs,mjs}", "tools/check-*.ts").filter(
    ({ path }) => !isTest(path),
  );
}

interface Allowed {
  readonly file: string;
  /** The pattern; absent: a `new RegExp` of the file whose text is known only when it runs. */
  readonly source?: string;
  readonly reason: string;
}

export const ALLOWED: readonly Allowed[] = [
  {
    file: "src/cluster/classes/renaming.ts",
    reason: "words of a cluster's names, each escaped, one or another of them: nothing repeats",
  },
  {
    file: "src/programs/flannel/node/external-interface.ts",
    reason: "the user's own pattern, of --iface-regex, over names and addresses of interfaces",
  },
  {
    file: "src/cluster/input/known-networks.ts",
    reason: "the name of a key, which the code writes, between blanks and an equals sign",
  },
  {
    file: "src/diagnose/doctor/log-runs.ts",
    reason: "words that readers of one log line look for, which the code writes, one or another of them",
  },
  {
    file: "src/diagnose/lint/input/shown-objects.ts",
    reason: "a field's name, escaped, at the begin of one line",
  },
  {
    file: "src/diagnose/lint/rules/kubernetes/names.ts",
    reason: "names of Services, of letters, digits and hyphens alone",
  },
];

/** What a list of allowed things says too much, and places that it does not know. */
export function checkAllowed(finder: PatternFinder, paths: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const used = new Set<Allowed>();
  for (const path of paths) {
    if (!finder.mayHold(path)) continue;
    const { unknown, patterns } = finder.find(path);
    for (const at of unknown) {
      const entry = ALLOWED.find(({ file, source }) => file === path && source === undefined);
      if (entry === undefined) problems.push(`${at}: the text of this pattern is not known: use a scanner`);
      else used.add(entry);
    }
    for (const entry of ALLOWED)
      if (entry.file === path && patterns.some(({ source }) => source === entry.source)) used.add(entry);
  }
  for (const entry of ALLOWED)
    if (!used.has(entry)) problems.push(`${entry.file}: ALLOWED names a pattern that is gone`);
  return problems;
}

interface Verdict {
  readonly status: string;
  readonly complexity?: { readonly summary: string };
  readonly attack?: { readonly pattern: string };
}

type Check = (source: string, flags: string, options: Readonly<Record<string, unknown>>) => Promise<Verdict>;

/** By name: the types of the package are not needed, and what has it not installed reads so. */
const CHECKER = "recheck";
/** A verdict is of the pattern and of the checker's version alone, so all clones share it. */
function cachePath(): string {
  const { version } = JSON.parse(readFileSync(`node_modules/${CHECKER}/package.json`, "utf8")) as {
    readonly version: string;
  };
  return join(cacheFolder("patterns"), `${CHECKER}-${version}.json`);
}
/** Of the proof: what it finds at all it finds soon. Then of the search for an attack. */
const PROOF_MS = 3_000;
const SEARCH_MS = 60_000;
/** Of both, when the checker does not look at its clock, or a machine does everything else first. */
const PATTERN_MS_MAX = 900_000;
/** Attacks count steps, not time: by time, a busy machine would find what is none. */
const SEARCH = { incubationTimeout: null, attackTimeout: null, attackLimit: 20_000_000 };
const AT_ONCE = 2;
const TOLD_EACH = 50;
const NO_VERDICT = "not judged in time";

function readCache(): Map<string, string> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(cachePath(), "utf8")) as Record<string, string>));
  } catch {
    return new Map();
  }
}

/** What was judged stays judged, also when the program is ended. */
function writeCache(verdicts: ReadonlyMap<string, string>): void {
  const known = [...verdicts].filter(([, verdict]) => verdict !== NO_VERDICT);
  const path = cachePath();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(Object.fromEntries(known)));
}

/** Asks again, with more patience, when most of the time went to others: what is judged does not depend on them. */
async function search(check: Check, { source }: Pattern, flags: string): Promise<Verdict> {
  for (let timeout = SEARCH_MS; ; timeout *= 2) {
    const before = process.threadCpuUsage();
    const verdict = await check(source, flags, { ...SEARCH, checker: "fuzz", timeout });
    const { user, system } = process.threadCpuUsage(before);
    if (verdict.status !== "unknown" || (user + system) / 1_000 > SEARCH_MS) return verdict;
  }
}

/** `safe`, or what is wrong. Where the proof takes too long, a search for an attack decides. */
async function judge(check: Check, pattern: Pattern): Promise<string> {
  const flags = pattern.flags.replace(/[dgv]/g, "");
  let verdict = await check(pattern.source, flags, { ...SEARCH, checker: "auto", timeout: PROOF_MS });
  if (verdict.status === "unknown") verdict = await search(check, pattern, flags);
  if (verdict.status === "safe") return "safe";
  if (verdict.status === "unknown") return NO_VERDICT;
  return `${verdict.status}, ${verdict.complexity?.summary ?? ""}: ${verdict.attack?.pattern ?? ""}`;
}

/** What a thread does: judges the patterns that it is sent, one after the other. */
async function serve(port: NonNullable<typeof parentPort>): Promise<void> {
  process.env["RECHECK_BACKEND"] = "pure";
  const { check } = (await import(CHECKER)) as { readonly check: Check };
  port.on("message", (pattern: Pattern) => {
    void judge(check, pattern).then((verdict) => port.postMessage(verdict, []));
  });
}

/** A thread that judges, and another one in its place when it does not answer. */
class Judge {
  private worker: Worker | undefined;

  async verdictOn(pattern: Pattern): Promise<string> {
    const worker = (this.worker ??= new Worker(new URL(import.meta.url)));
    const { promise, resolve: settle, reject } = Promise.withResolvers<string>();
    worker.once("message", settle).once("error", reject);
    const limit = setTimeout(() => settle(NO_VERDICT), PATTERN_MS_MAX);
    worker.postMessage(pattern, []);
    try {
      const verdict = await promise;
      if (verdict === NO_VERDICT) await this.end();
      return verdict;
    } finally {
      clearTimeout(limit);
      // One by one: to remove all of them takes away those by which the thread itself is heard.
      worker.off("message", settle).off("error", reject);
    }
  }

  async end(): Promise<void> {
    await this.worker?.terminate();
    this.worker = undefined;
  }
}

/** Judges what has no verdict yet; `keep` hears now and then, and at the end, how many of them are judged. */
export async function judgeAll(
  byKey: ReadonlyMap<string, readonly Pattern[]>,
  verdicts: Map<string, string>,
  keep: (done: number, count: number) => void,
): Promise<void> {
  const waiting = [...byKey].filter(([key]) => !verdicts.has(key));
  const count = waiting.length;
  let done = 0;
  const work = async (): Promise<void> => {
    const thread = new Judge();
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [key, [pattern]] = next;
      if (pattern !== undefined) verdicts.set(key, await thread.verdictOn(pattern));
      if (++done % TOLD_EACH > 0 && done < count) continue;
      keep(done, count);
    }
    await thread.end();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function main(): Promise<void> {
  const files = readPatternFiles();
  const finder = new PatternFinder([...files, ...readFiles("src/**/*.ts")]);
  const paths = files.map(({ path }) => path);
  const problems = [...checkAllowed(finder, paths)];
  const verdicts = readCache();
  const patterns = paths.flatMap((path) => finder.find(path).patterns);
  const byKey = Map.groupBy(patterns, ({ source, flags }) => `/${source}/${flags}`);
  const beganMs = performance.now();
  await judgeAll(byKey, verdicts, (done, count) => {
    const seconds = ((performance.now() - beganMs) / 1_000).toFixed(0);
    process.stderr.write(`${done} of ${count} judged, ${seconds} s\n`);
    writeCache(verdicts);
  });
  for (const [key, places] of byKey) {
    const verdict = verdicts.get(key) ?? NO_VERDICT;
    const bad = places.filter(
      ({ source, at }) => !ALLOWED.some((each) => each.source === source && at.startsWith(`${each.file}:`)),
    );
    if (verdict !== "safe" && bad.length > 0)
      problems.push(`${bad.map(({ at }) => at).join(", ")}: ${key} is ${verdict}`);
  }
  process.stdout.write(`${byKey.size} patterns\n${problems.map((text) => `${text}\n`).join("")}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

if (!isMainThread && parentPort !== null) await serve(parentPort);
else if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? "")).href) await main();
