/**
 * The rows of the references and their tests:
 *
 *   npm run rows                          each row with its tests: file and title
 *   npm run rows -- --prove [ROW...]      changes the code, and looks whether the row's own test fails (long)
 *   npm run rows -- --check [COUNT]       a second change for some proved rows, drawn by the commit (default 50)
 *   npm run rows -- --check ROW...        a second change for these
 *
 * A proof is a mutant of a line that the test comes by and few others do: it stands in for the value, the comparison or
 * the order that the row states. The test alone runs with it, and has to fail by an assertion. What was proved stays in
 * test/inventory/rows.txt; without rows, `--prove` tries those that are not there or no longer hold. A change that
 * another row is proved by is tried last: what many rows fall with says little about each.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rowsOf } from "./inventory.ts";
import { parseInventories } from "./inventory-files.ts";
import { type Mutant, type MutantKind, findMutants } from "./mutation-points.ts";
import { type Place, type Said, runPlan } from "./mutation-plan.ts";
import { ROW_IDS } from "./row-ids.ts";
import {
  type SourceFile,
  isTest,
  readFiles,
  readImportMap,
  resolveImport,
  specifiersOf,
} from "./source-files.ts";

const TITLES = "test/inventory/tests.txt";
const PROOFS = "test/inventory/rows.txt";
const HEADER = `# Rows whose own test fails by an assertion when the line is changed. Written by: npm run rows -- --prove
# Row | file:line | before → after | test. "weak": no change that was tried makes the test fail;
# "not tried": its tests are not among the fast ones, or the tool did not find their file.
# A file without a line: the change no longer stands in it, and \`--prove\` looks for another.
`;
/** How many mutants of a kind one test tries. */
const TRIALS: Readonly<Record<MutantKind, number>> = { safe: 60, text: 25, guard: 25 };
/** Rows that are tried in one start; the list is written behind each. */
const BATCH = 40;
const MANY = 20;
/** How many times as many mutants are tried where few rows are asked for. */
const PATIENCE = 4;
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

interface RowTest {
  readonly project: string;
  readonly title: string;
  readonly files: readonly string[];
}

/** Tests with the text of what they share: the rows of a suite are those of each file that runs it. */
function withSuites(files: readonly SourceFile[]): readonly SourceFile[] {
  const suites = new Map(readFiles("test/support/**/*.suite.ts").map(({ path, text }) => [path, text]));
  const map = readImportMap();
  return files.map(({ path, text }) => {
    const shared = specifiersOf(text).flatMap(
      (name) => suites.get(resolveImport(path, name, map) ?? "") ?? [],
    );
    return { path, text: [text, ...shared].join("\n") };
  });
}

/**
 * Tests by row. A title of a table stands in its file with `$id` or `%s`; then the row stands among its values. Where it is
 * made of parts, the title of the group leads to the file.
 */
function listRows(): ReadonlyMap<string, readonly RowTest[]> {
  const files = withSuites(
    readFiles("{src,test,tools,examples}/**/*.test.ts").filter(({ path }) => isTest(path)),
  );
  const known = new Set<string>(ROW_IDS);
  const pathsOfRow = new Map<string, string[]>();
  for (const { path, text } of files)
    for (const row of new Set(rowsOf(text.replace(COMMENT, "")).filter((each) => known.has(each)))) {
      addToList(pathsOfRow, row, path);
    }
  const pathsOfGroup = (title: string): readonly string[] => {
    const [group = title] = title.split(" > ");
    return files.filter(({ text }) => text.includes(`"${group}"`)).map(({ path }) => path);
  };
  const rows = new Map<string, RowTest[]>(ROW_IDS.map((row) => [row, []]));
  for (const [project, inventory] of parseInventories(readFileSync(TITLES, "utf8")))
    for (const { title } of inventory.values())
      for (const row of new Set(rowsOf(title))) {
        addToList(rows, row, { project, title, files: pathsOfRow.get(row) ?? pathsOfGroup(title) });
      }
  // What the inventory does not have yet.
  for (const [row, paths] of pathsOfRow)
    if ((rows.get(row) ?? []).length === 0)
      rows.set(row, [{ project: "new", title: "(not in the inventory yet)", files: paths }]);
  return new Map([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function printRows(): void {
  const rows = listRows();
  const missing: string[] = [];
  for (const [row, tests] of rows) {
    if (tests.length === 0) missing.push(row);
    for (const { title, files } of tests)
      process.stdout.write(`${row}\t${files.join(", ") || "(file unknown)"}\t${title}\n`);
  }
  for (const row of missing) process.stdout.write(`${row}\t-\tno test\n`);
  process.stdout.write(`${rows.size} rows, ${missing.length} of them without a test\n`);
}

/** Lines of the list by row, each at the line of its file where the change stands now. */
function readProofs(): Map<string, string> {
  const text = existsSync(PROOFS) ? readFileSync(PROOFS, "utf8") : "";
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const mutants = new Map<string, readonly Mutant[]>();
  return new Map(lines.map((line) => [line.split(" | ")[0] ?? "", followed(line, mutants)]));
}

/** A proof whose change has moved within its file, at its new line; one whose change is gone has none. */
function followed(line: string, mutants: Map<string, readonly Mutant[]>): string {
  const [row = "", at = "", change, ...test] = line.split(" | ");
  if (change === undefined) return line;
  const [path = "", number = ""] = at.split(":");
  const known = mutants.get(path) ?? (existsSync(path) ? findMutants(readFileSync(path, "utf8")) : []);
  mutants.set(path, known);
  const far = (mutant: Mutant): number => Math.abs(mutant.line - Number(number));
  const [nearest] = known.filter((each) => changeOf(each) === change).toSorted((a, b) => far(a) - far(b));
  return [row, nearest === undefined ? path : `${path}:${nearest.line}`, change, ...test].join(" | ");
}

/** True when the proof's change stands in its file. */
function holds(line: string): boolean {
  return /^[^|]*\| [^|]*:\d+ \|/.test(line);
}

function changeOf({ before, after, isStatement }: Mutant): string {
  return `${shorten(before)} → ${isStatement ? "(left out)" : shorten(after)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}

function shorten(text: string): string {
  const line = oneLine(text).replaceAll(" | ", " \\| ");
  return line.length > 90 ? line.slice(0, 90) : line;
}

/** `isDsrOff` says is, dsr and off; words of one or two letters say nothing. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = text.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
  return new Set(
    words.filter((word) => word.length > 2 && !/^(?:src|test|the|and|for|with|const|return)$/.test(word)),
  );
}

const KINDS: readonly MutantKind[] = ["safe", "text", "guard"];

class Prover {
  private readonly mutants = new Map<string, readonly Mutant[]>();
  private readonly lines = new Map<string, readonly string[]>();
  private readonly words = new Map<string, ReadonlySet<string>>();
  /** How many tests come by a mutant. */
  private readonly visits = new Map<string, number>();
  /** `file:line` of proofs that stand already. */
  private readonly taken: ReadonlySet<string>;

  private readonly isPatient: boolean;

  constructor(taken: ReadonlySet<string>, isPatient: boolean) {
    this.taken = taken;
    this.isPatient = isPatient;
  }

  mutantOf([path, index]: Place): Mutant | undefined {
    const known = this.mutants.get(path) ?? findMutants(readFileSync(path, "utf8"));
    this.mutants.set(path, known);
    return known[index];
  }

  count(said: readonly Said[]): void {
    for (const each of said)
      if ("reached" in each)
        for (const [path, indexes] of Object.entries(each.reached))
          for (const index of indexes) this.visits.set(`${path}#${index}`, this.visitsOf([path, index]) + 1);
  }

  private visitsOf([path, index]: Place): number {
    return this.visits.get(`${path}#${index}`) ?? 0;
  }

  /** What a test tries: first the lines that speak of what its title speaks of, of these the ones few others come by. */
  trialsOf(test: string, reached: Readonly<Record<string, readonly number[]>>): readonly Place[] {
    const words = wordsOf(test);
    const places = Object.entries(reached).flatMap(([path, indexes]) =>
      indexes.map((index): Place => [path, index]),
    );
    const related = this.relations(places, words);
    const rated = places
      .map((place, at) => ({
        place,
        isTaken: this.taken.has(this.addressOf(place)),
        related: related[at] ?? 0,
        visits: this.visitsOf(place),
      }))
      .toSorted(
        (a, b) => Number(a.isTaken) - Number(b.isTaken) || b.related - a.related || a.visits - b.visits,
      );
    return KINDS.flatMap((kind) =>
      rated
        .map(({ place }) => place)
        .filter((place) => this.mutantOf(place)?.kind === kind && !this.isAssertion(place))
        .slice(0, TRIALS[kind] * (this.isPatient ? PATIENCE : 1)),
    );
  }

  addressOf(place: Place): string {
    return `${place[0]}:${this.mutantOf(place)?.line ?? 0}`;
  }

  private isAssertion(place: Place): boolean {
    return /^(?:assert|defined|unreachable)\(/.test(this.mutantOf(place)?.before ?? "");
  }

  /** How much a line and its path are about what a title is about; a word that many of the lines have says little. */
  private relations(places: readonly Place[], words: ReadonlySet<string>): readonly number[] {
    const found = places.map((place) => [...this.wordsAt(place)].filter((word) => words.has(word)));
    const lines = new Map<string, number>();
    for (const word of found.flat()) lines.set(word, (lines.get(word) ?? 0) + 1);
    return found.map((own) => own.reduce((sum, word) => sum + 1 / (lines.get(word) ?? 1), 0));
  }

  private wordsAt(place: Place): ReadonlySet<string> {
    const address = this.addressOf(place);
    const known =
      this.words.get(address) ??
      wordsOf(`${place[0]} ${this.lineOf(place[0], this.mutantOf(place)?.line ?? 0)}`);
    this.words.set(address, known);
    return known;
  }

  private lineOf(path: string, line: number): string {
    const known = this.lines.get(path) ?? readFileSync(path, "utf8").split("\n");
    this.lines.set(path, known);
    return known[line - 1] ?? "";
  }

  describe(row: string, place: Place, test: string): string {
    const mutant = this.mutantOf(place);
    if (mutant === undefined) return `${row} | weak`;
    return `${row} | ${this.addressOf(place)} | ${changeOf(mutant)} | ${oneLine(test)}`;
  }
}

function prove(given: readonly string[]): void {
  const proofs = readProofs();
  const rows = listRows();
  const open = [...rows.keys()].filter((row) => {
    const line = proofs.get(row);
    return line === undefined || /\| (?:weak|not tried)$/.test(line) || !holds(line);
  });
  const chosen = (given.length > 0 ? given : open).filter((row) => (rows.get(row) ?? []).length > 0);
  for (let at = 0; at < chosen.length; at += BATCH) {
    const batch = chosen.slice(at, at + BATCH);
    for (const [row, line] of proveBatch(batch, rows, placesOf(proofs, batch))) {
      proofs.set(row, line);
      process.stdout.write(`${line}\n`);
    }
    const lines = [...proofs]
      .filter(([row]) => rows.has(row))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, line]) => line);
    writeFileSync(PROOFS, `${HEADER}${lines.join("\n")}\n`);
    const weak = lines.filter((line) => line.endsWith("| weak")).length;
    const untried = lines.filter((line) => line.endsWith("| not tried")).length;
    process.stdout.write(`${lines.length} rows in ${PROOFS}: ${weak} weak, ${untried} not tried\n`);
  }
}

/** `file:line` of the proofs of all rows but some. */
function placesOf(proofs: ReadonlyMap<string, string>, without: readonly string[] = []): ReadonlySet<string> {
  const others = [...proofs].filter(([row]) => !without.includes(row));
  return new Set(others.flatMap(([, line]) => line.split(" | ").slice(1, 2)));
}

/** Rows in an order that the commit decides. */
function drawRows(rows: Iterable<string>, count: number): readonly string[] {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  process.stdout.write(`rows are drawn by ${commit.slice(0, 12)}\n`);
  return [...rows]
    .map((row) => ({ row, rank: createHash("sha256").update(`${commit} ${row}`).digest("hex") }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ row }) => row);
}

/** Proves rows once more elsewhere: those that are named, or drawn ones. @returns how many could not be. */
function check(given: readonly string[]): number {
  const proofs = new Map([...readProofs()].filter(([, line]) => !/\| (?:weak|not tried)$/.test(line)));
  const isCount = given.every((each) => /^\d+$/.test(each));
  const drawn = isCount ? drawRows(proofs.keys(), Number(given[0] ?? 50)) : given;
  const rows = listRows();
  let open = 0;
  for (let at = 0; at < drawn.length; at += BATCH) {
    const batch = drawn.slice(at, at + BATCH);
    const avoided = new Set(batch.map((row) => proofs.get(row)?.split(" | ")[1] ?? ""));
    for (const line of proveBatch(batch, rows, avoided).values()) {
      const [row = "", place = ""] = line.split(" | ");
      const isSecond = place.includes(":") && !proofs.get(row)?.includes(`| ${place} |`);
      if (!isSecond) open++;
      process.stdout.write(isSecond ? `${line}\n` : `${row} | no second change makes its test fail\n`);
    }
  }
  process.stdout.write(`${drawn.length} rows, ${open} without a second proof\n`);
  return open;
}

function proveBatch(
  batch: readonly string[],
  rows: ReadonlyMap<string, readonly RowTest[]>,
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const files = new Set(batch.flatMap((row) => (rows.get(row) ?? []).flatMap((test) => test.files)));
  const fast = [...files].filter((file) => !/\.(?:long|live|wine|package)\.test\.ts$/.test(file));
  const prover = new Prover(taken, batch.length < MANY);
  // Of few rows all tests of their files: what many of them come by says little about a row.
  const reached = runPlan({ mode: "reach" }, fast, batch.length < MANY ? [] : batch);
  prover.count(reached);
  const isOfBatch = (test: string): boolean => rowsOf(test).some((row) => batch.includes(row));
  const trials: Record<string, readonly Place[]> = {};
  for (const each of reached)
    if ("reached" in each && isOfBatch(each.test))
      trials[each.test] = prover.trialsOf(each.test, each.reached);
  const said = runPlan({ mode: "try", files: filesOf(trials), trials }, fast, batch);
  const tried = new Set(said.flatMap(({ test }) => [...rowsOf(test)]));
  const killed = said.flatMap((each) => ("outcome" in each && each.outcome === "killed" ? [each] : []));
  return new Map(
    batch.map((row) => {
      const own = killed.find(({ test }) => rowsOf(test).includes(row));
      if (own !== undefined) return [row, prover.describe(row, own.place, own.test)];
      return [row, tried.has(row) ? `${row} | weak` : `${row} | not tried`];
    }),
  );
}

function filesOf(trials: Readonly<Record<string, readonly Place[]>>): readonly string[] {
  return [...new Set(Object.values(trials).flatMap((places) => places.map(([path]) => path)))];
}

function main([verb, ...rows]: readonly string[]): number {
  if (verb === "--prove") {
    prove(rows);
    return 0;
  }
  if (verb === "--check") return check(rows) === 0 ? 0 : 1;
  if (verb === undefined) {
    printRows();
    return 0;
  }
  process.stderr.write("npm run rows [-- --prove [ROW...] | --check [COUNT]]\n");
  return 2;
}

process.exitCode = main(process.argv.slice(2));
