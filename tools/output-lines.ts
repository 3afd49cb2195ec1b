/** The lines of `test/inventory/outputs.txt`, and how two such files differ. */
import { createHash } from "node:crypto";

/** One output: its exit code, the hashes of what it printed, and the command. */
export interface OutputLine {
  /** "-" for what is no command. */
  readonly exitCode: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly name: string;
}

const HEAD = `# What every command prints. Written by: node tools/outputs.ts write
# A line each: exit code, hash of standard output (with the files that it wrote), hash of standard error, the command.
# "file": a schema. "declaration": a name that the package declares to TypeScript, under its subpath; "-": one that
# these only name. To see an output: node tools/outputs.ts show COMMAND
# What changes on purpose stands in test/inventory/changes.md.
`;

const NOTHING = "-";

/** Twelve digits; "-" for nothing. */
export function hashOf(text: string): string {
  return text === "" ? NOTHING : createHash("sha256").update(text).digest("hex").slice(0, 12);
}

export function formatLines(lines: readonly OutputLine[]): string {
  const rows = lines.map(({ exitCode, stdout, stderr, name }) => `${exitCode} ${stdout} ${stderr} ${name}`);
  return `${HEAD}${rows.join("\n")}\n`;
}

/** Reads what `formatLines` wrote. */
export function parseLines(text: string): readonly OutputLine[] {
  const rows = text.split("\n").filter((row) => row !== "" && !row.startsWith("#"));
  return rows.map((row) => {
    const [exitCode = "", stdout = "", stderr = "", ...words] = row.split(" ");
    return { exitCode, stdout, stderr, name: words.join(" ") };
  });
}

function byName(lines: readonly OutputLine[]): ReadonlyMap<string, readonly OutputLine[]> {
  return Map.groupBy(lines, ({ name }) => name);
}

function sameHashes(a: readonly OutputLine[], b: readonly OutputLine[]): boolean {
  const keys = (lines: readonly OutputLine[]): string =>
    lines.map(({ exitCode, stdout, stderr }) => `${exitCode} ${stdout} ${stderr}`).join(", ");
  return keys(a) === keys(b);
}

/** What differs in a command: its exit code, its output, its errors. */
function partsThatDiffer(a: readonly OutputLine[], b: readonly OutputLine[]): string {
  if (a.length !== b.length) return `${a.length} -> ${b.length} of this name`;
  const parts = (["exitCode", "stdout", "stderr"] as const).filter(
    (part) => a.map((line) => line[part]).join(" ") !== b.map((line) => line[part]).join(" "),
  );
  return parts
    .map((part) => (part === "exitCode" ? `exit code ${a[0]?.exitCode} -> ${b[0]?.exitCode}` : part))
    .join(", ");
}

/** Every difference between what is committed and what is printed now; none when they agree. */
export function compareLines(
  committed: readonly OutputLine[],
  now: readonly OutputLine[],
): readonly string[] {
  const [before, after] = [byName(committed), byName(now)];
  const problems: string[] = [];
  for (const [name, lines] of before) {
    const others = after.get(name);
    if (others === undefined) problems.push(`lost: ${name}`);
    else if (!sameHashes(lines, others))
      problems.push(`changed (${partsThatDiffer(lines, others)}): ${name}`);
  }
  for (const name of after.keys()) if (!before.has(name)) problems.push(`new: ${name}`);
  return problems;
}

/**
 * An output without what differs between machines and versions: the package's version becomes VERSION, the folder it runs
 * in FOLDER. Time, chance and the width of the screen come from the simulation and the terminal in memory.
 */
export function normaliseOutput(text: string, version: string, folder: string): string {
  const number = new RegExp(`(?<![\\d.])${version.replaceAll(".", "\\.")}(?![\\d.]*\\d)`, "g");
  return text.replaceAll(folder, "FOLDER").replaceAll(number, "VERSION");
}
