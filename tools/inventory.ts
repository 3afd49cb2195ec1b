/**
 * The inventory of tests: which titles there are in each project, what they assert, and which rows of the references
 * they name. Reports of Vitest are read into it, and two inventories are compared. Files of tests may move: a title
 * counts, not where it stands.
 */
import { createHash } from "node:crypto";
import { visibleText } from "#core/base/visible-text.ts";

/** A number that is the same in every run, or the least that is held of one that is not; undefined before a first run. */
export interface Held {
  readonly count: number;
  readonly isLeast: boolean;
}

/** All tests of one title. */
export interface TitleLine {
  readonly title: string;
  readonly tests: number;
  /** Calls of `expect`, of all these tests together. */
  readonly assertions: Held | undefined;
  /** Runs of fast-check's properties. */
  readonly runs: Held | undefined;
}

/** Title to line. */
export type Inventory = ReadonlyMap<string, TitleLine>;

/** A planned change: titles that go, titles that come in their place, titles that assert less, and why. */
export interface Rename {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly lowered: readonly string[];
  readonly reason: string;
}

/** Families of rows in the references, as they stand in titles: HCN-001, CNI-EX-A1, KP-A1, CP-F1, WALK-O-1. */
const ROW =
  /(?<![\w-])(?:(?:HCN|DT|F|CNI)-\d+|CNI-EX-[A-F]\d+|(?:KP|CP)-[A-Z]\d+|WALK-(?:[A-Z]-?)?\d+)[a-z]?(?!\w)/g;

export function rowsOf(title: string): readonly string[] {
  return title.match(ROW) ?? [];
}

/** How often each row stands in the titles of the tests. */
export function countRows(inventory: Inventory): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { title, tests } of inventory.values()) {
    for (const row of new Set(rowsOf(title))) counts.set(row, (counts.get(row) ?? 0) + tests);
  }
  return new Map([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Folders whose files are moved about. */
const PATH =
  /(?<![\w./-])(?:(?:\.{1,2}\/)+(?=[\w-]+[\w./-]*\.ts\b)|(?:src|test|tools)\/)[\w./-]*?([\w.-]+\.(?:ts|md))\b/g;

/**
 * A title without what changes when code moves: paths of files keep their last part, functions whose source stands in a
 * title keep their name, imports that Vite spells as calls become names again. One line, and not a long one.
 */
export function normaliseTitle(title: string): string {
  return shorten(visibleText(withoutPlaces(title))).toWellFormed();
}

/** What a title shows at most: some hold a whole document. */
const TITLE_MAX = 240;

function shorten(title: string): string {
  if (title.length <= TITLE_MAX) return title;
  const hash = createHash("sha256").update(title).digest("hex").slice(0, 12);
  return `${title.slice(0, TITLE_MAX)}… ${title.length} characters, ${hash}`;
}

function withoutPlaces(title: string): string {
  return title
    .trim()
    .replaceAll(/\(0,\s*(__vite_ssr_import_\d+__\.\w+)\)/g, "$1")
    .replaceAll(/__vite_ssr_import_\d+__\./g, "")
    .replaceAll(/\bfunction (\w+)\([^)]*\) \{\n[\s\S]*?\n\}/g, "function $1")
    .replaceAll(PATH, "…/$1")
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")
    .replaceAll("\r", "\\r");
}

/** One test of a run. */
export interface RanTest {
  readonly title: string;
  readonly assertions: number | undefined;
  readonly runs: number | undefined;
}

function exactly(count: number | undefined): Held | undefined {
  return count === undefined ? undefined : { count, isLeast: false };
}

function sum(a: Held | undefined, b: Held | undefined): Held | undefined {
  if (a === undefined || b === undefined) return undefined;
  return { count: a.count + b.count, isLeast: a.isLeast || b.isLeast };
}

/** The inventory of one run. */
export function inventoryOf(tests: readonly RanTest[]): Inventory {
  const lines = new Map<string, TitleLine>();
  for (const test of tests) {
    const title = normaliseTitle(test.title);
    const line = { title, tests: 1, assertions: exactly(test.assertions), runs: exactly(test.runs) };
    const other = lines.get(title);
    if (other === undefined) lines.set(title, line);
    else {
      lines.set(title, {
        title,
        tests: other.tests + 1,
        assertions: sum(other.assertions, line.assertions),
        runs: sum(other.runs, line.runs),
      });
    }
  }
  return lines;
}

function atLeastSome({ count }: Held): Held {
  return count === 0 ? { count, isLeast: false } : { count: 1, isLeast: true };
}

function heldInBoth(a: Held | undefined, b: Held | undefined): Held | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const isLeast = a.isLeast || b.isLeast || a.count !== b.count;
  return { count: Math.min(a.count, b.count), isLeast };
}

/** What several runs of one project have in common: numbers in which they differ are held as the least of them. */
export function joinRuns(runs: readonly Inventory[]): Inventory {
  const lines = new Map<string, TitleLine>();
  for (const line of runs.flatMap((run) => [...run.values()])) {
    const other = lines.get(line.title);
    lines.set(
      line.title,
      other === undefined
        ? line
        : {
            title: line.title,
            tests: Math.max(other.tests, line.tests),
            assertions: heldInBoth(other.assertions, line.assertions),
            runs: heldInBoth(other.runs, line.runs),
          },
    );
  }
  return lines;
}

/** A single run of a project that draws fresh values or waits for a real machine proves only that something is asserted. */
export function loosen(inventory: Inventory): Inventory {
  return new Map(
    [...inventory].map(([title, line]) => {
      const assertions = line.assertions === undefined ? undefined : atLeastSome(line.assertions);
      const runs = line.runs === undefined ? undefined : atLeastSome(line.runs);
      return [title, { ...line, assertions, runs }];
    }),
  );
}

export function formatHeld(held: Held | undefined): string {
  return held === undefined ? "?" : `${held.isLeast ? ">=" : ""}${held.count}`;
}

/** What is wrong with a number that was run, as the inventory holds it. */
function differ(what: string, held: Held | undefined, ran: Held | undefined): readonly string[] {
  if (held === undefined || ran === undefined) return [];
  const isGood = held.isLeast ? ran.count >= held.count : ran.count === held.count;
  return isGood ? [] : [`${what} ${formatHeld(held)} -> ${ran.count}`];
}

/** Every difference between what is committed and what ran; none when they agree. */
export function compare(committed: Inventory, ran: Inventory): readonly string[] {
  const problems: string[] = [];
  for (const [title, line] of committed) {
    const now = ran.get(title);
    if (now === undefined) {
      problems.push(`lost: ${title}`);
      continue;
    }
    const changes = [
      ...(now.tests === line.tests ? [] : [`tests ${line.tests} -> ${now.tests}`]),
      ...differ("assertions", line.assertions, now.assertions),
      ...differ("runs", line.runs, now.runs),
    ];
    if (changes.length > 0) problems.push(`changed: ${title}: ${changes.join(", ")}`);
  }
  for (const title of ran.keys()) if (!committed.has(title)) problems.push(`new: ${title}`);
  return problems;
}

/** The line that is written: what varied once stays a least number. */
function nextLine(before: TitleLine | undefined, now: TitleLine): TitleLine {
  if (before === undefined) return now;
  const next = (held: Held | undefined, ran: Held | undefined): Held | undefined => {
    if (held === undefined || ran === undefined) return held ?? ran;
    if (!held.isLeast) return ran;
    return ran.count >= held.count ? held : { ...ran, isLeast: true };
  };
  return { ...now, assertions: next(before.assertions, now.assertions), runs: next(before.runs, now.runs) };
}

function isLower(before: Held | undefined, now: Held | undefined): boolean {
  if (before === undefined || now === undefined) return false;
  return now.count < before.count || (now.isLeast && !before.isLeast);
}

const REST = " > *";

/** The titles that stand in place of a title by this rename; `A > *` stands for all below the heading `A`. */
function replacements(title: string, { from, to }: Rename): readonly string[] | undefined {
  if (from.includes(title)) return to.filter((each) => !each.endsWith(REST));
  for (const pattern of from.filter((each) => each.endsWith(REST))) {
    const heading = pattern.slice(0, -1);
    if (title.startsWith(heading))
      return to
        .filter((each) => each.endsWith(REST))
        .map((each) => each.slice(0, -1) + title.slice(heading.length));
  }
  return undefined;
}

/** What shrinks without being planned, and so may not be written. */
export function findShrinking(
  before: Inventory,
  now: Inventory,
  renames: readonly Rename[],
): readonly string[] {
  const problems: string[] = [];
  const lowered = new Set(renames.flatMap((rename) => rename.lowered));
  for (const [title, line] of before) {
    const same = now.get(title);
    if (same !== undefined && same.tests >= line.tests) {
      const isLess = isLower(line.assertions, same.assertions) || isLower(line.runs, same.runs);
      if (isLess && !lowered.has(title)) {
        const [was, is] = [line, same].map(
          (each) => `${formatHeld(each.assertions)} and ${formatHeld(each.runs)}`,
        );
        problems.push(`asserts less (${was} -> ${is}): ${title}`);
      }
      continue;
    }
    const successors = renames.flatMap((rename) => replacements(title, rename) ?? []);
    const found = successors.filter((each) => now.has(each));
    if (found.length === 0) problems.push(`is gone, and no rename says what became of it: ${title}`);
    else problems.push(...findLess(line, found, now, lowered));
  }
  return problems;
}

function findLess(
  line: TitleLine,
  successors: readonly string[],
  now: Inventory,
  lowered: ReadonlySet<string>,
): readonly string[] {
  const lines = successors.flatMap((title) => now.get(title) ?? []);
  if (lines.some(({ title }) => lowered.has(title))) return [];
  const total = lines.map((each) => each.assertions).reduce(sum);
  const isLess = isLower(line.assertions, total) || lines.reduce((n, each) => n + each.tests, 0) < line.tests;
  return isLess ? [`asserts less than before as ${successors.join(", ")}: ${line.title}`] : [];
}

/** The inventory to commit after these runs. */
export function nextInventory(before: Inventory, now: Inventory): Inventory {
  return new Map([...now].map(([title, line]) => [title, nextLine(before.get(title), line)]));
}
