/** What a run with mutants is to do, and what it says; files, because workers of Vitest are processes of their own. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** A mutant: path from the root, and its number there. */
export type Place = readonly [path: string, index: number];

export interface MutationPlan {
  /**
   * `reach`: says which mutants each test comes by. `try`: runs each test with mutants. `afresh`: runs all with the sample
   * active from the moment at which its file is loaded.
   */
  readonly mode: "reach" | "try" | "afresh";
  /** The tests of `test:long` in place of the fast ones. */
  readonly isLong?: boolean;
  /** The files that get their mutants; undefined: all. */
  readonly files?: readonly string[];
  /** By `file > title`: what to try there, in this order; until one is killed by an assertion. */
  readonly trials?: Readonly<Record<string, readonly Place[]>>;
  /** What every test tries that comes by it, until it is killed. Other mutants are not built in. */
  readonly sample?: readonly Place[];
}

/**
 * How a test ended with a mutant: `crashed` is any error that is no assertion, and a run that does not end. `same`: what the
 * mutant computes is what the program computes, each time that the test comes by. `unsteady`: the test failed, and fails a
 * second time without a mutant, too. `late`: no processor time was left for it.
 */
export type Outcome = "killed" | "crashed" | "survived" | "same" | "unsteady" | "late";

export type Said =
  | { readonly test: string; readonly reached: Readonly<Record<string, readonly number[]>> }
  | { readonly test: string; readonly place: Place; readonly outcome: Outcome }
  /** What the test came by without a chance to notice it. */
  | { readonly test: string; readonly same: readonly string[] };

/** What no further test needs to try. */
export function isOver(outcome: Outcome): boolean {
  return outcome === "killed" || outcome === "crashed";
}

/** Of this process, or of the one that started it. */
const FOLDER = process.env["MULLION_MUTATION"] ?? `out/mutation-${process.pid}`;
const PLAN = `${FOLDER}/plan.json`;
const KILLED = `${FOLDER}/killed.txt`;

export function readPlan(): MutationPlan {
  return JSON.parse(readFileSync(PLAN, "utf8")) as MutationPlan;
}

export function say(said: Said): void {
  appendFileSync(`${FOLDER}/${process.pid}.jsonl`, `${JSON.stringify(said)}\n`);
  if ("outcome" in said && isOver(said.outcome)) appendFileSync(KILLED, `${nameOf(said.place)}\n`);
}

export function nameOf([path, index]: Place): string {
  return `${path}#${index}`;
}

/** The names of what any worker has killed so far. */
export function readKilled(): ReadonlySet<string> {
  return new Set(existsSync(KILLED) ? readFileSync(KILLED, "utf8").split("\n") : []);
}

/** The name of a test in plans and in what is said. */
export function testKey(file: string, title: string): string {
  return `${file} > ${title}`;
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** @returns whether all tests passed. */
function startVitest(plan: MutationPlan, args: readonly string[], timeout?: number): boolean {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(PLAN, JSON.stringify(plan));
  const workers = `--maxWorkers=${availableParallelism()}`;
  const { status } = spawnSync("vitest", ["run", ...CONFIG, workers, "--reporter=dot", ...args], {
    stdio: "ignore",
    env: { ...process.env, MULLION_MUTATION: FOLDER, PATH: `node_modules/.bin:${process.env["PATH"] ?? ""}` },
    ...(timeout === undefined ? {} : { timeout, killSignal: "SIGKILL" }),
  });
  return status === 0;
}

/** A run of some files that takes longer does not end. */
const AFRESH_MS = 300_000;

/**
 * Runs files with the mutant active from their beginning, each time anew: what a test keeps from one trial to the next, and
 * what is computed as a module is loaded, is the mutant's then. @returns an outcome; `unsteady`: they fail without it, too.
 */
export function tryAfresh(place: Place, files: readonly string[]): Outcome {
  const plan: MutationPlan = { mode: "afresh", files: [place[0]], sample: [place] };
  if (startVitest(plan, ["--bail=1", ...files], AFRESH_MS)) return "survived";
  const said = readSaid();
  const failed = said.flatMap((each) => ("outcome" in each ? (each.test.split(" > ")[0] ?? []) : []));
  const isSteady = startVitest({ ...plan, sample: [] }, failed.length > 0 ? [...new Set(failed)] : files);
  rmSync(FOLDER, { recursive: true, force: true });
  if (!isSteady) return "unsteady";
  return said.some((each) => "outcome" in each && each.outcome === "killed") ? "killed" : "crashed";
}

function readSaid(): readonly Said[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(`${FOLDER}/${name}`, "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line) as Said);
}

const CONFIG = ["--config", "tools/mutation.config.ts"];

/** Runs tests by a plan: those of `files` whose titles have one of `parts`, or all. @returns what they said. */
export function runPlan(
  plan: MutationPlan,
  files: readonly string[],
  parts: readonly string[] = [],
): readonly Said[] {
  const pattern = parts.length === 0 ? [] : ["-t", `(${parts.map(escapeRegExp).join("|")})(?!\\w)`];
  // Its own verdict is of no use here: a test that fails without a mutant says nothing, and is not counted.
  startVitest(plan, [...files, ...pattern]);
  const said = readSaid();
  if (said.length === 0) throw new Error(`no test ran: vitest run ${CONFIG.join(" ")} ${files.join(" ")}`);
  rmSync(FOLDER, { recursive: true, force: true });
  return said;
}
