/** House rules that a machine can check. A fault once found becomes a line here, with what to do instead. */
import { posix } from "node:path";
import { type SourceFile, isTest } from "./source-files.ts";

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
  /** The rule holds for these files. */
  appliesTo(path: string): boolean;
}

const isSource = (path: string): boolean => path.startsWith("src/") && path.endsWith(".ts");
const isCode = (path: string): boolean => /\.(ts|mjs|js)$/.test(path);
const touchesMachine = (path: string): boolean =>
  path.endsWith(".node.ts") || path.startsWith("src/cli/") || path.endsWith(".live.test.ts");
const isPure = (path: string): boolean => isSource(path) && !touchesMachine(path);
const isRules = (path: string): boolean => path.startsWith("tools/tidy");

const WRITES_OUTPUT: ReadonlySet<string> = new Set([
  "src/cli/output.ts",
  // The text of a program that says with constants that its own files are gone.
  "src/cli/programs/launchers.ts",
]);

const WRITES_FILES = "src/core/base/owner-only.node.ts";

/** Beside src/hns/store/, which quotes SQL. */
const QUOTES: ReadonlySet<string> = new Set([
  "src/core/base/shell-quoting.ts",
  // fish has quotes of its own.
  "src/cli/mullion/completion/scripts.ts",
]);

/** Lines for the shells of Windows, and what starts them. */
const SHELL_LINES: ReadonlySet<string> = new Set([
  "src/programs/plugins/azure-vnet/host.ts",
  "src/programs/flannel/windows/powershell-host.ts",
]);
const STARTS_SHELLS: ReadonlySet<string> = new Set([
  "src/cli/cni-plugins/azure-host.ts",
  "src/programs/flannel/windows/powershell-host.ts",
]);

const RULES: readonly Rule[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    instead: "time comes from a Clock",
    appliesTo: isPure,
  },
  {
    pattern: /\bMath\.random\(/,
    instead: "chance comes from a Prng",
    appliesTo: (path) => isSource(path) && !path.endsWith(".long.test.ts"),
  },
  {
    pattern:
      /\bprocess\.(?:stdout|stderr)\.write\(|\bwriteSync\(\s*(?:[12]\b|STD|process\.)|\bconsole\.\w+\(/,
    instead: "output goes through src/cli/output.ts, which shows what would steer a terminal",
    appliesTo: (path) => isSource(path) && !isTest(path) && !WRITES_OUTPUT.has(path),
  },
  {
    pattern:
      /(?<!\bterminal\.)\b(?:(?:writeFile|appendFile|copyFile|cp)(?:Sync)?|(?:link|symlink|truncate)Sync|createWriteStream)\(|\bopen(?:Sync)?\([^()]*(?:"[aw]x?\+?"|"r\+"|O_CREAT|O_WRONLY|O_RDWR)/,
    instead: "files are written by src/core/base/owner-only.node.ts",
    appliesTo: (path) => isSource(path) && !isTest(path) && path !== WRITES_FILES,
  },
  {
    pattern: /replace(?:All)?\((?:"'"|\/'\/g?),|\bshell: true\b|\bexec(?:Sync)?\(\s*[`"]/,
    instead: "words of command lines are quoted by src/core/base/shell-quoting.ts",
    appliesTo: (path) =>
      isSource(path) && !isTest(path) && !QUOTES.has(path) && !path.startsWith("src/hns/store/"),
  },
  {
    pattern: /\b(?:spawn|exec|run)\w*\(\s*"(?:powershell|pwsh|cmd)(?:\.exe)?"/,
    instead: "the shells of Windows are started in azure-host.ts and powershell-host.ts alone",
    appliesTo: (path) => isSource(path) && !isTest(path) && !STARTS_SHELLS.has(path),
  },
  {
    pattern: /["'\u2018-\u201e]\$\{[^}]*\}["'\u2018-\u201e]/,
    instead: "what stands in a line for a shell is quoted by src/core/base/shell-quoting.ts",
    appliesTo: (path) => SHELL_LINES.has(path),
  },
  {
    pattern: /\bnew DataView\(/,
    instead: "bytes are read and written by src/core/base/bytes.ts",
    appliesTo: (path) => isSource(path) && !isTest(path) && path !== "src/core/base/bytes.ts",
  },
  {
    pattern: /\bconsole\.\w+\(/,
    instead: "what happened goes to a Log, results go to the caller",
    appliesTo: (path) => isSource(path) && !path.startsWith("src/cli/"),
  },
  {
    pattern: /\bthis\.#\w|^\s+(?:static\s+|readonly\s+)*#\w+\s*[=;:(]/m,
    instead: "private fields are declared with `private`, so that a world can be forked",
    appliesTo: isSource,
  },
  {
    pattern: /^(?:export\s+)?(?:let|var)\s/m,
    instead: "no module keeps state: put it into an instance",
    appliesTo: (path) => isSource(path) && !isTest(path),
  },
  {
    pattern: /\[\s*\.\.\.\(\w+(?:\.\w+)*\.get\([^\n]*?\?\? \[\]\),\s/,
    instead: "a list is not copied for each item: group with Map.groupBy or push with addToList",
    appliesTo: (path) => isCode(path) && !isRules(path),
  },
  { pattern: /^export\s+\*/m, instead: "a door lists its names one by one", appliesTo: isCode },
  {
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b|\bfor now\b/i,
    instead: "finish it, or say in words what the code does",
    appliesTo: (path) => isCode(path) && !isRules(path),
  },
  {
    pattern:
      /(?:eslint|oxlint|biome)-(?:disable|ignore)|@ts-(?:ignore|expect-error|nocheck)|(?:v8|istanbul|c8) ignore/,
    instead: "mend the code: nothing is suppressed",
    appliesTo: (path) => isCode(path) && !isRules(path),
  },
  {
    pattern: /\b(?:it|test|describe)(?:\.\w+)*\.(?:only|skip|todo)\(/,
    instead: "no test is left out: what a test needs is installed or the test fails",
    appliesTo: (path) => isTest(path) && !isRules(path),
  },
  {
    pattern: /(?<![\w.:/])\/(?:home|Users|work)\/\w/,
    instead: "no path of somebody's machine",
    appliesTo: (path) => !isRules(path),
  },
  {
    pattern: /https?:\/\/[\w.-]*(?:registry|artifactory|nexus|verdaccio)[\w.-]*\//,
    instead: "no address of a package registry",
    appliesTo: (path) => !isRules(path),
  },
  {
    pattern: /[ \t]+$/m,
    instead: "no blanks at the end of a line",
    appliesTo: (path) => path.endsWith(".md"),
  },
  {
    pattern: /^(?:> ?)*(?:<{7}|>{7}|(?:> ){6}>) /m,
    instead: "two versions were joined here: keep one",
    appliesTo: () => true,
  },
];

const BANNED_NAMES = /^(?:utils?|helpers?|common|misc|manager|types|constants|index|service\d+)$/;

/** File and folder names: kebab-case, named after the one thing inside. */
function checkName(path: string): readonly string[] {
  if (!isCode(path)) return [];
  const parts = path.split("/");
  const problems: string[] = [];
  for (const part of parts) {
    const name = part.replace(/\.(?:ts|mjs|js)$/, "");
    if (BANNED_NAMES.test(name)) problems.push(`${path}: ${name} is no name: say what is inside`);
    if (!/^[a-z0-9.]+(?:-[a-z0-9.]+)*$/.test(name)) problems.push(`${path}: ${name} is not in kebab-case`);
  }
  return problems;
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Everything in which the files break a rule: path, line, what to do instead. */
export function findUntidiness(files: readonly SourceFile[]): readonly string[] {
  const problems: string[] = [];
  for (const { path, text } of files) {
    problems.push(...checkName(path));
    for (const rule of RULES) {
      const match = rule.appliesTo(path) ? rule.pattern.exec(text) : null;
      if (match !== null) problems.push(`${path}:${lineOf(text, match.index)}: ${rule.instead}`);
    }
  }
  return problems;
}

/** Folders of plain values and interfaces. */
const WITHOUT_README: ReadonlySet<string> = new Set(["src/core/base", "src/core/net"]);
const FILES_WITHOUT_README_MAX = 3;

/** True when the folder, or one above it below `src/`, has a README.md. */
function isExplained(folder: string, paths: ReadonlySet<string>): boolean {
  if (folder === "src" || folder === ".") return false;
  return paths.has(`${folder}/README.md`) || isExplained(posix.dirname(folder), paths);
}

/** Folders of `src/` with an idea that no README.md tells. */
export function findUnexplainedFolders(paths: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const path of paths.filter((item) => isSource(item) && !isTest(item))) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const known = new Set(paths);
  return [...counts]
    .filter(([folder, count]) => count > FILES_WITHOUT_README_MAX && !WITHOUT_README.has(folder))
    .map(([folder]) => folder)
    .filter((folder) => !isExplained(folder, known))
    .toSorted();
}

function countOf(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

function infers(path: string): boolean {
  return path.startsWith("data/facts/") || (isSource(path) && !isTest(path));
}

/**
 * Source files and tables that say `Inferred` more often than docs/reference/fidelity.md has rows for them. A row begins with
 * the file: "| `src/dataplane/vfp/rule.ts` | what is inferred | from what |".
 */
export function findUnlistedInferences(files: readonly SourceFile[], fidelity: string): readonly string[] {
  const problems: string[] = [];
  for (const { path, text } of files.filter((file) => infers(file.path))) {
    const marks = countOf(text, /\bInferred\b/g);
    const rows = fidelity.split("\n").filter((line) => line.startsWith(`| \`${path}\` `)).length;
    if (rows < marks)
      problems.push(`${path}: ${marks} inferences, ${rows} rows in docs/reference/fidelity.md`);
    if (marks === 0 && rows > 0 && !/\binferred\b/.test(text))
      problems.push(`${path}: infers nothing any more`);
  }
  return problems;
}
