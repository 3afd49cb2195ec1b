/** The files of the inventory as text: `test/inventory/tests.txt`, the planned changes, and the reports of Vitest. */
import {
  type Held,
  type Inventory,
  type RanTest,
  type Rename,
  type TitleLine,
  countRows,
  formatHeld,
  inventoryOf,
} from "./inventory.ts";

/** In the order of the file. */
export const PROJECTS = ["unit", "long", "live", "ui", "wine", "package"] as const;
export type Project = (typeof PROJECTS)[number];

/** The inventory of each project. */
export type Inventories = ReadonlyMap<Project, Inventory>;

const HEAD = `# What the tests are and assert. Written by: node tools/test-inventory.ts write REPORT...
# A line per title: how many tests, their calls of expect, their runs of properties, the title. Files may move.
# ">=N": the number is not the same in every run (chance, time, another machine); at least N is held.
# "?": not counted yet, because only the list of titles was read.
# It may grow. What shrinks stands in test/inventory/renames.txt first, with the reason.
`;

function formatLine({ tests, assertions, runs, title }: TitleLine): string {
  return `${tests} ${formatHeld(assertions)} ${formatHeld(runs)} ${title}`;
}

function total(inventory: Inventory, of: (line: TitleLine) => number): number {
  return [...inventory.values()].reduce((n, line) => n + of(line), 0);
}

function formatTotals(project: Project, inventory: Inventory): string {
  const rows = countRows(inventory);
  return [
    `== ${project}: ${total(inventory, (line) => line.tests)} tests`,
    `${inventory.size} titles`,
    `${total(inventory, (line) => line.assertions?.count ?? 0)} assertions`,
    `${total(inventory, (line) => line.runs?.count ?? 0)} runs of properties`,
    `${rows.size} rows`,
  ].join(", ");
}

function formatSection(project: Project, inventory: Inventory): readonly string[] {
  const lines = [...inventory.values()].toSorted((a, b) => (a.title < b.title ? -1 : 1));
  const rows = [...countRows(inventory)].map(([row, count]) => `${row} ${count}`);
  return [
    `\n${formatTotals(project, inventory)}`,
    ...lines.map(formatLine),
    `-- rows of ${project}`,
    ...rows,
  ];
}

export function formatInventories(inventories: Inventories): string {
  const sections = PROJECTS.flatMap((project) => {
    const inventory = inventories.get(project);
    return inventory === undefined ? [] : formatSection(project, inventory);
  });
  return `${HEAD}${sections.join("\n")}\n`;
}

function parseHeld(text: string): Held | undefined {
  if (text === "?") return undefined;
  const isLeast = text.startsWith(">=");
  return { count: Number(isLeast ? text.slice(2) : text), isLeast };
}

export function isProject(name: string): name is Project {
  return PROJECTS.some((project) => project === name);
}

/** Reads what `formatInventories` wrote. Throws at a line that is none of its own. */
export function parseInventories(text: string): Inventories {
  const inventories = new Map<Project, Map<string, TitleLine>>();
  let lines: Map<string, TitleLine> | undefined;
  for (const [index, row] of text.split("\n").entries()) {
    const project = /^== (\w+):/.exec(row)?.[1];
    if (project !== undefined) {
      if (!isProject(project)) throw new Error(`line ${index + 1}: there is no project ${project}`);
      lines = new Map();
      inventories.set(project, lines);
    } else if (row.startsWith("-- rows")) lines = undefined;
    if (project !== undefined || lines === undefined || row === "") continue;
    const match = /^(\d+) (\?|(?:>=)?\d+) (\?|(?:>=)?\d+) (.*)$/.exec(row);
    if (match === null) throw new Error(`line ${index + 1} is no line of an inventory: ${row}`);
    const [, tests = "", assertions = "", runs = "", title = ""] = match;
    lines.set(title, {
      title,
      tests: Number(tests),
      assertions: parseHeld(assertions),
      runs: parseHeld(runs),
    });
  }
  return inventories;
}

/** Reads the planned changes. Throws when one gives no reason, or is none. */
export function parseRenames(text: string): readonly Rename[] {
  return text
    .split(/\n{2,}/)
    .map((block) => block.split("\n").filter((line) => line !== "" && !line.startsWith("#")))
    .filter((lines) => lines.length > 0)
    .map((lines) => {
      const marked = (mark: string): readonly string[] =>
        lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
      const [from, to, lowered, reasons] = [marked("- "), marked("+ "), marked("~ "), marked("reason: ")];
      if ((reasons[0] ?? "").trim() === "")
        throw new Error(`a planned change without a reason: ${lines.join(" / ")}`);
      if (from.length + lowered.length + to.length + reasons.length !== lines.length)
        throw new Error(`a planned change has lines that begin otherwise: ${lines.join(" / ")}`);
      return { from, to, lowered, reason: reasons.join(" ") };
    });
}

interface ReportedTest {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
  readonly meta?: {
    readonly asserted?: { readonly project: string; readonly assertions: number; readonly runs: number };
  };
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly ReportedTest[];
  }[];
}

interface ListedTest {
  readonly name: string;
  readonly projectName: string;
}

/** One run of one project. */
export interface ProjectRun {
  readonly project: Project;
  readonly inventory: Inventory;
}

function projectNamed(name: string, path: string): Project {
  if (!isProject(name)) throw new Error(`${path} is of the project "${name}", which nobody knows`);
  return name;
}

/** Titles only, of one project or of several. */
function readList(tests: readonly ListedTest[], path: string): readonly ProjectRun[] {
  const names = new Set(tests.map((test) => test.projectName));
  return [...names].map((name) => {
    const titles = tests.filter((test) => test.projectName === name);
    const ran = titles.map((test): RanTest => ({ title: test.name, assertions: undefined, runs: undefined }));
    return { project: projectNamed(name, path), inventory: inventoryOf(ran) };
  });
}

/** Long runs draw a seed each time, and say it in their titles. The fast ones have theirs by name. */
function withoutSeeds(title: string): string {
  return title.replaceAll(/\b((?:MULLION_)?seed[= ])\d+/gi, "$1…");
}

function readReport(report: Report, path: string): readonly ProjectRun[] {
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const bad = report.testResults.filter((file) => file.status === "failed").map((file) => file.name);
  if (bad.length > 0) throw new Error(`${path}: tests failed; mend these first: ${bad.join(", ")}`);
  const project = tests.find((test) => test.meta?.asserted !== undefined)?.meta?.asserted?.project;
  if (project === undefined) throw new Error(`${path} says nothing of what was asserted`);
  const ran = tests.map(({ ancestorTitles, title, meta }): RanTest => {
    const { assertions, runs } = meta?.asserted ?? { assertions: undefined, runs: undefined };
    const whole = [...ancestorTitles, title].join(" > ");
    return { title: project === "unit" ? whole : withoutSeeds(whole), assertions, runs };
  });
  return [{ project: projectNamed(project, path), inventory: inventoryOf(ran) }];
}

/** Reads a report of `vitest run --reporter=json`, or a list of `vitest list --json`. */
export function readRuns(text: string, path: string): readonly ProjectRun[] {
  const value = JSON.parse(text) as Report | readonly ListedTest[];
  return "testResults" in value ? readReport(value, path) : readList(value, path);
}
