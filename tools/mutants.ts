/**
 * Mutation testing of `src/` with the fast tests:
 *
 *   npm run mutants -- [--count 200] [--seed COMMIT] [--again REPORT] [--long] [--afresh] [--tests FOLDER] [FILE...]
 *
 * The seed chooses lines of logic, and on each of them one mutant. Tests run once; each then runs again with the mutants
 * that it came by and that compute something else there, until one fails. What survives is printed, and is looked at: a test
 * is missing, or the mutant changes nothing. "Not reached" is what runs as modules are loaded, or in no test. With files, only
 * lines of these are taken; `--tests` says which tests are run, by their folder. `--again` takes what survived or was not
 * reached in a report that this tool printed, and chooses nothing by itself. `--long` asks the tests of `test:long` in place
 * of the fast ones. `--afresh` starts the nearest tests anew for each mutant, active from the beginning: it sees what modules
 * compute as they are loaded, and what tests keep between them.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Mutant, findMutants } from "./mutation-points.ts";
import {
  type MutationPlan,
  type Outcome,
  type Place,
  type Said,
  nameOf,
  runPlan,
  tryAfresh,
} from "./mutation-plan.ts";
import {
  type SourceFile,
  isTest,
  listPaths,
  readFiles,
  readImportMap,
  resolveImport,
  specifiersOf,
} from "./source-files.ts";

const COUNT = 200;

interface Chosen {
  readonly place: Place;
  readonly mutant: Mutant;
}

function rankOf(seed: string, text: string): string {
  return createHash("sha256").update(`${seed}\n${text}`).digest("hex");
}

/** One mutant on each of `count` lines; the seed decides which. */
export function chooseMutants(paths: readonly string[], seed: string, count: number): readonly Chosen[] {
  const lines = new Map<string, Chosen[]>();
  for (const path of paths)
    for (const mutant of findMutants(readFileSync(path, "utf8"))) {
      // Texts are what people read; their tests are those of outputs.
      if (mutant.kind === "text") continue;
      const line = `${path}:${mutant.line}`;
      const chosen = { place: [path, mutant.index] as const, mutant };
      const known = lines.get(line);
      if (known === undefined) lines.set(line, [chosen]);
      else known.push(chosen);
    }
  const ranked = [...lines].map(([line, all]) => ({ rank: rankOf(seed, line), all }));
  return ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .flatMap(({ rank, all }) => all[Number.parseInt(rank.slice(0, 8), 16) % all.length] ?? []);
}

type Result = Outcome | "not reached";

interface Verdict {
  readonly result: Result;
  /** Tests by how they ended with the mutant. */
  readonly tests: ReadonlyMap<Outcome, readonly string[]>;
}

/** What decides, first what ends the question. */
const DECISIVE: readonly Outcome[] = ["killed", "crashed", "late", "survived", "unsteady", "same"];

function verdictOf({ place }: Chosen, said: readonly Said[]): Verdict {
  const name = nameOf(place);
  const byTest = new Map<string, Outcome>();
  for (const each of said) {
    if ("outcome" in each && nameOf(each.place) === name) byTest.set(each.test, each.outcome);
    if ("same" in each && each.same.includes(name) && !byTest.has(each.test)) byTest.set(each.test, "same");
  }
  const tests = new Map<Outcome, string[]>();
  for (const [test, outcome] of byTest) addToList(tests, outcome, test);
  return { result: DECISIVE.find((outcome) => tests.has(outcome)) ?? "not reached", tests };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 100);
}

function changeOf({ mutant }: Chosen): string {
  return `${oneLine(mutant.before)} → ${mutant.isStatement ? "(left out)" : oneLine(mutant.after)}`;
}

function describe(chosen: Chosen, { result, tests }: Verdict): string {
  const { place, mutant } = chosen;
  const isKnown = result === "not reached" || result === "killed" || result === "crashed";
  const counts = [...tests].map(([outcome, all]) => `${all.length} ${outcome} (${all[0] ?? ""})`);
  const tried = isKnown ? "" : ` · ${counts.join(", ")}`;
  return `${result}: ${place[0]}:${mutant.line}: ${changeOf(chosen)}${tried}`;
}

/** What survived or was not reached in a report of this tool, where it still stands. */
function readAgain(report: string): readonly Chosen[] {
  const lines = readFileSync(report, "utf8").split("\n");
  return lines.flatMap((line): readonly Chosen[] => {
    const [, path = "", number = "", change = ""] =
      /^(?:survived|same|unsteady|late|not reached): ([^ :]+):(\d+): (.*)$/.exec(line) ?? [];
    if (path === "" || !existsSync(path)) return [];
    const all = findMutants(readFileSync(path, "utf8"))
      .map((mutant) => ({ place: [path, mutant.index] as const, mutant }))
      .filter(
        (each) => `${change} `.startsWith(`${changeOf(each)} `) || change.startsWith(`${changeOf(each)},`),
      )
      .toSorted((a, b) => distance(a.mutant, number) - distance(b.mutant, number));
    return all.slice(0, 1);
  });
}

function distance(mutant: Mutant, line: string): number {
  return Math.abs(mutant.line - Number(line));
}

/** So many files of tests are started for one mutant. */
const NEAREST = 12;

/** How near a test is to a file: its own test, one that imports it, else as many folders as both have in common. */
function nearness(test: SourceFile, path: string, map: ReturnType<typeof readImportMap>): number {
  const own = path.replace(/(?:\.node)?\.ts$/, "");
  const imports = specifiersOf(test.text).some((each) => resolveImport(test.path, each, map) === path);
  const [folders, others] = [path.split("/"), test.path.split("/")];
  const common = folders.findIndex((folder, index) => folder !== others[index]);
  return common + (imports ? 50 : 0) + (test.path.startsWith(`${own}.`) ? 100 : 0);
}

function sayAllAfresh(chosen: readonly Chosen[]): readonly Said[] {
  const map = readImportMap();
  const tests = readFiles("src/**/*.test.ts").filter(({ path }) => !/\.(?:long|live)\.test\.ts$/.test(path));
  return chosen.map(({ place }) => sayAfresh(place, tests, map));
}

function sayAfresh(place: Place, tests: readonly SourceFile[], map: ReturnType<typeof readImportMap>): Said {
  const nearest = tests
    .map(({ path, text }) => ({ path, near: nearness({ path, text }, place[0], map) }))
    .toSorted((a, b) => b.near - a.near || (a.path < b.path ? -1 : 1))
    .slice(0, NEAREST)
    .map(({ path }) => path);
  const outcome = tryAfresh(place, nearest);
  process.stderr.write(`${outcome} ${nameOf(place)}\n`);
  return { test: nearest[0] ?? "", place, outcome };
}

function main(): void {
  const { values, positionals } = parseArgs({
    options: {
      count: { type: "string" },
      seed: { type: "string" },
      tests: { type: "string" },
      again: { type: "string" },
      long: { type: "boolean", default: false },
      afresh: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const seed = values.seed ?? execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  const isLogic = (path: string): boolean => !isTest(path) && !path.endsWith(".d.ts");
  const paths = positionals.length > 0 ? positionals : listPaths("src/**/*.ts").filter(isLogic);
  const chosen =
    values.again === undefined
      ? chooseMutants(paths, seed, Number(values.count ?? COUNT))
      : readAgain(values.again);
  const plan: MutationPlan = {
    mode: "try",
    isLong: values.long,
    files: [...new Set(chosen.map(({ place }) => place[0]))],
    sample: chosen.map(({ place }) => place),
  };
  const said = values.afresh
    ? sayAllAfresh(chosen)
    : runPlan(plan, values.tests === undefined ? [] : [values.tests]);
  const counts = new Map<Result, number>();
  for (const each of chosen) {
    const verdict = verdictOf(each, said);
    counts.set(verdict.result, (counts.get(verdict.result) ?? 0) + 1);
    process.stdout.write(`${describe(each, verdict)}\n`);
  }
  const sum = [...counts].map(([result, count]) => `${count} ${result}`).join(", ");
  const reached = chosen.length - (counts.get("not reached") ?? 0);
  const noticed = (counts.get("killed") ?? 0) + (counts.get("crashed") ?? 0);
  const score = `${noticed} of ${reached} reached ones noticed, ${((100 * noticed) / Math.max(1, reached)).toFixed(1)} %`;
  process.stdout.write(`${chosen.length} mutants of seed ${values.again ?? seed}: ${sum}; ${score}\n`);
}

main();
