/** Runs each test, and again with mutants that it comes by: its hooks and its function, in one process. */
import { type RunnerTestCase, type RunnerTestSuite, TestRunner } from "vitest";
import {
  type MutationPlan,
  type Outcome,
  type Place,
  isOver,
  nameOf,
  readKilled,
  readPlan,
  say,
  testKey,
} from "./mutation-plan.ts";
import type { Choices } from "./mutation-points.ts";

/** More choices and turns of loops than most tests make, and how many times those of the test itself: a loop that does not end. */
const CHOICES_MIN = 30_000_000;
const CHOICES_FACTOR = 20;
/** A trial ends after so much processor time, or after so many times what its test takes without a mutant. */
const BUSY_MS = 3_000;
const BUSY_FACTOR = 5;
/**
 * A trial that waits and computes nothing ends after this, or after so many times what its test takes. A busy machine
 * gives less time to all, but it gives some.
 */
const WAIT_MS = 20_000;
const WAIT_FACTOR = 20;
const LOOK_MS = 500;
/** Processor time for all trials of one test of a row, and of a sample, so that a busy machine tries as many. */
const TEST_MS = 30_000;
const SAMPLE_MS = 120_000;
/** Of all tests of some files together. */
const AFRESH_CHOICES_MAX = 3_000_000_000;
/** Mutants that are active at once, until a test fails. */
const GROUP_MAX = 32;

const REACHED = 1;
const DIFFERS = 2;

class NeverEnds extends Error {}

/** The mutants of the files that are loaded. */
class Mutation {
  private readonly seen = new Map<string, Uint8Array>();
  private readonly active = new Map<string, Uint8Array>();
  private isActive = false;
  private choices = 0;
  private limit = Number.POSITIVE_INFINITY;
  /** Active from the moment at which their files are loaded. */
  private readonly always: readonly Place[];

  constructor(always: readonly Place[]) {
    this.always = always;
    this.isActive = always.length > 0;
    if (this.isActive) this.limit = AFRESH_CHOICES_MAX;
  }

  /** What a file calls at its beginning. */
  of(path: string, count: number): Choices {
    const seen = new Uint8Array(count);
    const active = new Uint8Array(count);
    for (const [file, index] of this.always) if (file === path) active.fill(1, index, index + 1);
    this.seen.set(path, seen);
    this.active.set(path, active);
    return {
      choose: (index, differs) => {
        seen[index] = (seen[index] ?? 0) | (differs ? REACHED | DIFFERS : REACHED);
        this.count();
        return active[index] === 1;
      },
      compare: (index, value, mutated) => {
        if (((seen[index] ?? 0) & DIFFERS) === 0 && !this.isActive && isOther(value, mutated))
          seen[index] = REACHED | DIFFERS;
        return value;
      },
      turn: () => {
        this.count();
      },
    };
  }

  /** Makes these mutants active and no others. @param limit choices and turns until it counts as endless. */
  set(places: readonly Place[], limit = Number.POSITIVE_INFINITY): void {
    for (const active of this.active.values()) active.fill(0);
    for (const [path, index] of places) this.active.get(path)?.fill(1, index, index + 1);
    this.isActive = places.length > 0;
    this.choices = 0;
    this.limit = limit;
  }

  get made(): number {
    return this.choices;
  }

  forget(): void {
    for (const seen of this.seen.values()) seen.fill(0);
  }

  /** How a test came by: not at all, or so that the mutant computes the same, or so that it can be noticed. */
  seenOf([path, index]: Place): "" | "same" | "differs" {
    const seen = this.seen.get(path)?.[index] ?? 0;
    if (seen === 0) return "";
    return (seen & DIFFERS) === 0 ? "same" : "differs";
  }

  list(): Readonly<Record<string, readonly number[]>> {
    const all = [...this.seen].map(([path, seen]) => {
      const indexes = [...seen.entries()].flatMap(([index, value]) => (value === 0 ? [] : [index]));
      return [path, indexes] as const;
    });
    return Object.fromEntries(all.filter(([, indexes]) => indexes.length > 0));
  }

  private count(): void {
    if (++this.choices > this.limit) throw new NeverEnds("the mutant does not end");
  }
}

function isOther(value: unknown, mutated: () => unknown): boolean {
  try {
    return !Object.is(value, mutated());
  } catch {
    // An error is another result.
    return true;
  }
}

const given = readPlan();
const mutation = new Mutation(given.mode === "afresh" ? (given.sample ?? []) : []);
/** What fell, of all files that this worker runs. */
const killed = new Set<string>();
Object.assign(globalThis, { __mutation: mutation });

type Work = () => unknown;

/** An assertion of a test: of Chai or of Node. Those of the program itself are errors as any other. */
function isAssertion(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isOfTest = "showDiff" in error || ("code" in error && error.code === "ERR_ASSERTION");
  return (error.name === "AssertionError" && isOfTest) || isAssertion(error.cause);
}

function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

interface Times {
  /** Milliseconds of this process's processors, and of the clock. */
  readonly busy: number;
  readonly waited: number;
}

function timesNow(): Times {
  return { busy: processorTime(), waited: performance.now() };
}

function since(begun: Times): Times {
  const now = timesNow();
  return { busy: now.busy - begun.busy, waited: now.waited - begun.waited };
}

/** Ends what computes for too long, and what only waits for too long; not what a busy machine is late with. */
async function within(work: Work, limits: Times): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const begun = timesNow();
  const late = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const { busy, waited } = since(begun);
      if (busy > limits.busy || waited > limits.waited) reject(new NeverEnds("the test does not end"));
    }, LOOK_MS);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    clearInterval(timer);
  }
}

/** The suites around a test, the file first. */
function suitesOf(test: RunnerTestCase): readonly RunnerTestSuite[] {
  const suites: RunnerTestSuite[] = [];
  for (let { suite } = test; suite !== undefined; { suite } = suite) suites.unshift(suite);
  return suites[0] === test.file ? suites : [test.file, ...suites];
}

/** What one trial of a test may take. */
interface Limits extends Times {
  readonly choices: number;
}

export default class MutationRunner extends TestRunner {
  private readonly plan: MutationPlan = given;
  /** What the hooks around a suite come by: all its tests do. */
  private readonly made = new WeakMap<RunnerTestSuite, ReadonlyMap<string, "same" | "differs">>();
  private begunSuite: RunnerTestSuite | undefined;
  /** The processor time at which the trials of a test end. */
  private endMs = 0;
  /** False after a test failed a second time without a mutant. */
  private readonly steady = new WeakMap<RunnerTestCase, boolean>();

  /** Called by Vitest instead of the test's function, behind its hooks. */
  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (this.plan.mode === "afresh") return await this.runAfresh(test, run);
    mutation.set([]);
    // What hooks come by is of all tests alike.
    if (this.plan.sample === undefined) mutation.forget();
    const begun = timesNow();
    await run();
    const { busy, waited } = since(begun);
    const limits: Limits = {
      busy: Math.max(BUSY_MS, BUSY_FACTOR * busy),
      waited: Math.max(WAIT_MS, WAIT_FACTOR * waited),
      choices: Math.max(CHOICES_MIN, CHOICES_FACTOR * mutation.made),
    };
    const key = testKey(test.file.name, test.fullTestName);
    if (this.plan.mode === "reach") say({ test: key, reached: mutation.list() });
    else await this.tryMutants(test, key, limits);
    mutation.forget();
  }

  private async runAfresh(test: RunnerTestCase, run: Work): Promise<void> {
    try {
      await run();
    } catch (error) {
      const outcome = isAssertion(error) ? "killed" : "crashed";
      for (const place of this.plan.sample ?? [])
        say({ test: testKey(test.file.name, test.fullTestName), place, outcome });
      throw error;
    }
  }

  /** What modules come by as they are loaded is not a test's. */
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    this.keepWhatHooksCameBy();
    await super.onBeforeRunSuite(suite);
    mutation.forget();
    this.begunSuite = suite;
    if (suite === suite.file) for (const name of readKilled()) killed.add(name);
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    this.keepWhatHooksCameBy();
    await super.onBeforeRunTask(test);
  }

  private keepWhatHooksCameBy(): void {
    if (this.begunSuite === undefined) return;
    const seen = (this.plan.sample ?? []).flatMap((place) => {
      const how = mutation.seenOf(place);
      return how === "" ? [] : [[nameOf(place), how] as const];
    });
    this.made.set(this.begunSuite, new Map(seen));
    this.begunSuite = undefined;
    mutation.forget();
  }

  private async tryMutants(test: RunnerTestCase, key: string, limits: Limits): Promise<void> {
    const places = this.plan.trials?.[key] ?? this.sampled(test, key);
    this.endMs = processorTime() + (this.plan.sample === undefined ? TEST_MS : SAMPLE_MS);
    if (this.plan.sample === undefined) {
      for (const place of places) if ((await this.tryGroup(test, [place], limits)) === "killed") break;
    } else {
      for (let at = 0; at < places.length; at += GROUP_MAX)
        await this.tryGroup(test, places.slice(at, at + GROUP_MAX), limits);
    }
    mutation.set([]);
    // What the last mutant left in the variables of the suites is made anew.
    if (places.length > 0) await this.callHooks(test, "beforeAll").catch(() => undefined);
  }

  /**
   * Tries mutants together, and by halves where the test fails: most tests notice none of those that are left. Two that hide
   * each other count as surviving. @returns the last outcome.
   */
  private async tryGroup(test: RunnerTestCase, places: readonly Place[], limits: Limits): Promise<Outcome> {
    const isLate = processorTime() > this.endMs;
    const outcome = isLate ? "late" : await this.outcomeOf(test, places, limits);
    if (isOver(outcome) && places.length > 1) {
      const half = Math.ceil(places.length / 2);
      await this.tryGroup(test, places.slice(0, half), limits);
      return await this.tryGroup(test, places.slice(half), limits);
    }
    for (const place of places) {
      say({ test: testKey(test.file.name, test.fullTestName), place, outcome });
      if (isOver(outcome)) killed.add(nameOf(place));
    }
    return outcome;
  }

  /** What this test comes by of the sample and may notice, as long as it lives; it says what is the same to it. */
  private sampled(test: RunnerTestCase, key: string): readonly Place[] {
    const suites = suitesOf(test);
    const same: string[] = [];
    const places = (this.plan.sample ?? []).filter((place) => {
      const name = nameOf(place);
      if (killed.has(name)) return false;
      const all = [mutation.seenOf(place), ...suites.map((suite) => this.made.get(suite)?.get(name) ?? "")];
      const canNotice = all.includes("differs");
      if (!canNotice && all.includes("same")) same.push(name);
      return canNotice;
    });
    if (same.length > 0) say({ test: key, same });
    return places;
  }

  private async outcomeOf(test: RunnerTestCase, places: readonly Place[], limits: Limits): Promise<Outcome> {
    if (this.steady.get(test) === false) return "unsteady";
    const error = await this.errorOf(test, limits, places);
    if (error === undefined) return "survived";
    // What cannot be run twice would fall with any mutant.
    const isSteady = this.steady.get(test) ?? (await this.errorOf(test, limits, [])) === undefined;
    this.steady.set(test, isSteady);
    if (!isSteady) return "unsteady";
    return isAssertion(error) ? "killed" : "crashed";
  }

  /** What the test fails with; an error that is not an `Error` is made one. */
  private async errorOf(
    test: RunnerTestCase,
    limits: Limits,
    places: readonly Place[],
  ): Promise<Error | undefined> {
    mutation.set(places, limits.choices);
    try {
      await within(() => this.attempt(test), limits);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      mutation.set([]);
    }
  }

  private async attempt(test: RunnerTestCase): Promise<void> {
    await this.callHooks(test, "beforeAll");
    const cleanups = await this.callHooks(test, "beforeEach");
    try {
      await TestRunner.getTestFn(test)();
    } finally {
      for (const cleanup of cleanups.toReversed())
        if (typeof cleanup === "function") await (cleanup as Work)();
    }
  }

  private async callHooks(
    test: RunnerTestCase,
    name: "beforeAll" | "beforeEach",
  ): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (const suite of suitesOf(test)) {
      const hooks = TestRunner.getSuiteHooks(suite)[name] as readonly ((...args: unknown[]) => unknown)[];
      const args = name === "beforeAll" ? [suite] : [test.context, suite];
      for (const hook of hooks) answers.push(await hook(...args));
    }
    return answers;
  }
}
