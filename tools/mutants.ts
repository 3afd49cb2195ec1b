/**
 * Mutation testing of `src/` with the fast tests:
 *
 *   npm run mutants -- [--count 200] [--seed COMMIT] [--tests FOLDER] [FILE...]
 *
 * The seed chooses lines of logic, and on each of them one mutant. All tests run once; each then runs again with the
 * mutants that it came by, until one fails; what survives the first tests is tried by all that come by it. What survives is printed, and is looked at: a test is missing, or the mutant
 * changes nothing. "Not reached" is what runs as modules are loaded, or in no test. With files, only lines of these are
 * taken; `--tests` says which tests are run, by their folder.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Mutant, findMutants } from "./mutation-points.ts";
import { type MutationPlan, type Outcome, type Place, type Said, runPlan } from "./mutation-plan.ts";
import { isTest, listPaths } from "./source-files.ts";

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

interface Verdict {
  readonly outcome: Outcome | "not reached";
  readonly tests: readonly string[];
}

function verdictOf({ place }: Chosen, said: readonly Said[]): Verdict {
  const own = said.flatMap((each) =>
    "place" in each && each.place[0] === place[0] && each.place[1] === place[1] ? [each] : [],
  );
  const tests = own.map(({ test }) => test);
  if (own.length === 0) return { outcome: "not reached", tests };
  const killed =
    own.find(({ outcome }) => outcome === "killed") ?? own.find(({ outcome }) => outcome === "crashed");
  return { outcome: killed?.outcome ?? "survived", tests };
}

function describe({ place: [path], mutant }: Chosen, { outcome, tests }: Verdict): string {
  const oneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 100);
  const after = mutant.isStatement ? "(left out)" : oneLine(mutant.after);
  const tried = outcome === "survived" ? `, tried by ${tests.length} tests, such as ${tests[0] ?? ""}` : "";
  return `${outcome}: ${path}:${mutant.line}: ${oneLine(mutant.before)} → ${after}${tried}`;
}

function main(): void {
  const { values, positionals } = parseArgs({
    options: { count: { type: "string" }, seed: { type: "string" }, tests: { type: "string" } },
    allowPositionals: true,
  });
  const seed = values.seed ?? execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  const isLogic = (path: string): boolean => !isTest(path) && !path.endsWith(".d.ts");
  const paths = positionals.length > 0 ? positionals : listPaths("src/**/*.ts").filter(isLogic);
  const chosen = chooseMutants(paths, seed, Number(values.count ?? COUNT));
  const files = [...new Set(chosen.map(({ place }) => place[0]))];
  const sample = chosen.map(({ place }) => place);
  const tests = [values.tests ?? "src/"];
  const quick = runPlan({ mode: "try", files, sample }, tests);
  // Many tests come by some lines, and few look at them: what survived is tried by all of them.
  const left = chosen
    .filter((each) => verdictOf(each, quick).outcome === "survived")
    .map(({ place }) => place);
  const patient: MutationPlan = {
    mode: "try",
    files: [...new Set(left.map(([path]) => path))],
    sample: left,
    isPatient: true,
  };
  const said = left.length === 0 ? quick : [...quick, ...runPlan(patient, tests)];
  const counts = new Map<string, number>();
  for (const each of chosen) {
    const verdict = verdictOf(each, said);
    counts.set(verdict.outcome, (counts.get(verdict.outcome) ?? 0) + 1);
    process.stdout.write(`${describe(each, verdict)}\n`);
  }
  const sum = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  process.stdout.write(`${chosen.length} mutants of seed ${seed}: ${sum}\n`);
}

main();
