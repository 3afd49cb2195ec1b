/** Runs each test, and again with mutants that it comes by: its hooks and its function, in one process. */
import { type RunnerTestCase, type RunnerTestSuite, TestRunner } from "vitest";
import { type MutationPlan, type Outcome, type Place, readPlan, say, testKey } from "./mutation-plan.ts";

/** More choices than any test of ours makes: a loop that does not end. */
const CHOICES_MAX = 30_000_000;
/** A trial ends after these, or after so many times what its test takes without a mutant. */
const WAIT_MS = 3_000;
const WAIT_FACTOR = 5;
/**
 * Processor time for all trials of one test of a row, and of a sample, so that a busy machine tries as many. What starts
 * programs is slow, and they have no mutants.
 */
const TEST_MS = 30_000;
const SAMPLE_MS = 10_000;
/** Tests that may try one mutant before it counts as one that survives them. */
const TRIALS_MAX = 30;

class NeverEnds extends Error {}

/** The mutants of the files that are loaded. */
class Mutation {
  private readonly seen = new Map<string, Uint8Array>();
  private path = "";
  private index = -1;
  private choices = 0;

  /** What a file calls at its beginning. @returns true for the mutant that is active. */
  of(path: string, count: number): (index: number) => boolean {
    const seen = new Uint8Array(count);
    this.seen.set(path, seen);
    return (index) => {
      seen[index] = 1;
      if (++this.choices > CHOICES_MAX) throw new NeverEnds("the mutant does not end");
      return index === this.index && path === this.path;
    };
  }

  set(place: Place | undefined): void {
    [this.path, this.index] = place ?? ["", -1];
    this.choices = 0;
  }

  forget(): void {
    this.choices = 0;
    for (const seen of this.seen.values()) seen.fill(0);
  }

  hasSeen([path, index]: Place): boolean {
    return this.seen.get(path)?.[index] === 1;
  }

  list(): Readonly<Record<string, readonly number[]>> {
    const all = [...this.seen].map(([path, seen]) => {
      const indexes = [...seen.entries()].flatMap(([index, value]) => (value === 1 ? [index] : []));
      return [path, indexes] as const;
    });
    return Object.fromEntries(all.filter(([, indexes]) => indexes.length > 0));
  }
}

const mutation = new Mutation();
Object.assign(globalThis, { __mutation: mutation });

type Work = () => unknown;

function isAssertion(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "AssertionError" || isAssertion(error.cause);
}

function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function within(work: Work, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new NeverEnds("the test does not end"));
    }, waitMs);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The suites around a test, the file first. */
function suitesOf(test: RunnerTestCase): readonly RunnerTestSuite[] {
  const suites: RunnerTestSuite[] = [];
  for (let { suite } = test; suite !== undefined; { suite } = suite) suites.unshift(suite);
  return suites[0] === test.file ? suites : [test.file, ...suites];
}

export default class MutationRunner extends TestRunner {
  private readonly plan: MutationPlan = readPlan();
  private readonly tried = new Map<string, number>();
  private readonly killed = new Set<string>();

  /** Called by Vitest instead of the test's function, behind its hooks. */
  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    mutation.set(undefined);
    // What hooks come by is of all tests alike.
    if (this.plan.sample === undefined) mutation.forget();
    const begun = performance.now();
    await run();
    const waitMs = Math.max(WAIT_MS, WAIT_FACTOR * (performance.now() - begun));
    const key = testKey(test.file.name, test.fullTestName);
    if (this.plan.mode === "reach") say({ test: key, reached: mutation.list() });
    else await this.tryMutants(test, key, waitMs);
    mutation.forget();
  }

  /** What modules come by as they are loaded is not a test's. */
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onBeforeRunSuite(suite);
    if (suite === suite.file) mutation.forget();
  }

  private async tryMutants(test: RunnerTestCase, key: string, waitMs: number): Promise<void> {
    const places = this.plan.trials?.[key] ?? this.sampled();
    const begun = processorTime();
    const isQuick = this.plan.sample !== undefined && this.plan.isPatient !== true;
    const limitMs = isQuick ? SAMPLE_MS : TEST_MS;
    for (const place of places) {
      if (processorTime() - begun > limitMs) break;
      const outcome = await this.outcomeOf(test, place, waitMs);
      say({ test: key, place, outcome });
      if (outcome === "survived") continue;
      this.killed.add(place.join("#"));
      if (this.plan.sample === undefined && outcome === "killed") break;
    }
    mutation.set(undefined);
    // What the last mutant left in the variables of the suites is made anew.
    if (places.length > 0) await this.callHooks(test, "beforeAll").catch(() => undefined);
  }

  /** What this test comes by of the sample, as long as it lives. */
  private sampled(): readonly Place[] {
    const places = (this.plan.sample ?? []).filter((place) => {
      const name = place.join("#");
      const isOver = this.plan.isPatient !== true && (this.tried.get(name) ?? 0) >= TRIALS_MAX;
      return !this.killed.has(name) && !isOver && mutation.hasSeen(place);
    });
    for (const place of places) {
      const name = place.join("#");
      this.tried.set(name, (this.tried.get(name) ?? 0) + 1);
    }
    return places;
  }

  private async outcomeOf(test: RunnerTestCase, place: Place, waitMs: number): Promise<Outcome> {
    mutation.set(place);
    try {
      await within(() => this.attempt(test), waitMs);
      return "survived";
    } catch (error) {
      return isAssertion(error) ? "killed" : "crashed";
    } finally {
      mutation.set(undefined);
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
