/**
 * Holds the tests to the committed inventory, or writes it again:
 *
 *   node tools/test-inventory.ts check REPORT...
 *   node tools/test-inventory.ts write REPORT...
 *
 * A report is what Vitest writes with `--reporter=json`, or, for `write` only, the titles that `vitest list --json`
 * writes. Projects without a report are left as they are. Several reports of one project tell what varies between runs.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import {
  type Inventory,
  compare,
  countRows,
  findShrinking,
  joinRuns,
  loosen,
  nextInventory,
} from "./inventory.ts";
import {
  type Inventories,
  PROJECTS,
  type Project,
  formatInventories,
  parseInventories,
  parseRenames,
  readRuns,
} from "./inventory-files.ts";

const FILE = "test/inventory/tests.txt";
const RENAMES = "test/inventory/renames.txt";
const NONE: Inventory = new Map();
const SHOWN_MAX = 200;

function readCommitted(): Inventories {
  return existsSync(FILE) ? parseInventories(readFileSync(FILE, "utf8")) : new Map<Project, Inventory>();
}

function readAll(paths: readonly string[]): ReadonlyMap<Project, readonly Inventory[]> {
  const runs = paths.flatMap((path) => readRuns(readFileSync(path, "utf8"), path));
  const given = PROJECTS.filter((project) => runs.some((run) => run.project === project));
  return new Map(
    given.map((project) => [
      project,
      runs.filter((run) => run.project === project).map((run) => run.inventory),
    ]),
  );
}

function print(problems: readonly string[]): void {
  for (const problem of problems.slice(0, SHOWN_MAX)) process.stdout.write(`${problem}\n`);
  if (problems.length > SHOWN_MAX) process.stdout.write(`and ${problems.length - SHOWN_MAX} more\n`);
}

function check(paths: readonly string[]): number {
  const committed = readCommitted();
  const problems = [...readAll(paths)].flatMap(([project, runs]) =>
    runs.flatMap((run) =>
      compare(committed.get(project) ?? NONE, run).map((problem) => `${project}: ${problem}`),
    ),
  );
  print(problems);
  if (problems.length === 0) process.stdout.write(`the tests are those of ${FILE}\n`);
  else process.stdout.write(`If that is meant: node tools/test-inventory.ts write ${paths.join(" ")}\n`);
  return problems.length === 0 ? 0 : 1;
}

/** Only fast tests draw the same values each time. */
function heldBy(project: Project, runs: readonly Inventory[]): Inventory {
  const joined = joinRuns(runs);
  return project === "unit" || runs.length > 1 ? joined : loosen(joined);
}

function write(paths: readonly string[]): number {
  const committed = readCommitted();
  const renames = parseRenames(existsSync(RENAMES) ? readFileSync(RENAMES, "utf8") : "");
  const next = new Map(committed);
  const problems: string[] = [];
  for (const [project, runs] of readAll(paths)) {
    const before = committed.get(project) ?? NONE;
    const now = nextInventory(before, heldBy(project, runs));
    problems.push(...findShrinking(before, now, renames).map((problem) => `${project}: ${problem}`));
    next.set(project, now);
    process.stdout.write(`${project}: ${now.size} titles, ${countRows(now).size} rows\n`);
  }
  print(problems);
  if (problems.length > 0) {
    process.stdout.write(`Nothing is written. What is meant stands in ${RENAMES}, with its reason.\n`);
    return 1;
  }
  writeFileSync(FILE, formatInventories(next));
  return 0;
}

function main([verb, ...paths]: readonly string[]): number {
  if (paths.length > 0 && verb === "check") return check(paths);
  if (paths.length > 0 && verb === "write") return write(paths);
  process.stderr.write("node tools/test-inventory.ts check|write REPORT...\n");
  return 2;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
