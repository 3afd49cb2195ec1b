/**
 * A reporter for whole runs of the fast tests: the slowest of them, and the processor time of the run. It fails a run that
 * takes more than it may. A plugin brings it in, so that it also works beside reporters named on the command line.
 *
 * Processor time, because it does not depend on how many processors there are. Each worker measures itself (user and
 * system time, and on Linux that of the programs which its tests started and waited for) at the end of each file; the last
 * and highest figure of each worker counts, and that of this process. What workers do after their last file is missing.
 */
import { availableParallelism, loadavg } from "node:os";
import type { Plugin } from "vitest/config";
import type { Reporter, TestModule } from "vitest/node";
import { sampleSpeed, slownessOf } from "./yardstick.ts";

const PROJECT = "unit";
const SHOWN = 20;
/** Two processors for two minutes, on a machine as fast as the yardstick's reference. */
const SECONDS_PROMISED = 240;
/** What fails. The promise is missed at present, and each run says so; nothing may be added to that. */
const SECONDS_MAX = 420;
/** Ended files between two looks at the machine's speed. */
const FILES_PER_SAMPLE = 10;
/** With more waiting per processor than this, the caches are shared with others and every second of work costs more. */
const LOAD_PER_PROCESSOR_MAX = 1.5;

/** A test with its duration. */
export interface TimedTest {
  readonly title: string;
  readonly file: string;
  readonly milliseconds: number;
}

/** What a run of all fast tests took. */
export interface RunCost {
  readonly processorSeconds: number;
  readonly wallSeconds: number;
  /** Processes that want a processor, per processor. */
  readonly load: number;
  /** How many times as long as on the reference machine the same work took meanwhile; at least 1. */
  readonly slowness: number;
}

function scaled(seconds: number, { slowness }: RunCost): number {
  return Math.round(seconds * slowness);
}

/** The sum of the highest figure of each process. */
export function sumProcesses(figures: readonly { readonly pid: number; readonly seconds: number }[]): number {
  const highest = new Map<number, number>();
  for (const { pid, seconds } of figures) highest.set(pid, Math.max(seconds, highest.get(pid) ?? 0));
  return [...highest.values()].reduce((total, seconds) => total + seconds, 0);
}

/** True when the run took too much, on a machine that had time for it. */
export function isTooMuch(cost: RunCost): boolean {
  return cost.processorSeconds > scaled(SECONDS_MAX, cost) && cost.load <= LOAD_PER_PROCESSOR_MAX;
}

/** The slowest tests, and one line of what all took. */
export function formatCost(tests: readonly TimedTest[], cost: RunCost): string {
  const slowest = tests.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, SHOWN);
  const lines = slowest.map(
    ({ title, file, milliseconds }) =>
      `${(milliseconds / 1_000).toFixed(2).padStart(7)} s  ${file}: ${title.slice(0, 80)}`,
  );
  const seconds = `${cost.processorSeconds.toFixed(0)} s of processor time in ${cost.wallSeconds.toFixed(0)} s`;
  return `\n Slowest tests\n${lines.join("\n")}\n\n ${seconds}; ${verdictOn(cost)}\n`;
}

function verdictOn(cost: RunCost): string {
  const { processorSeconds, load, slowness } = cost;
  const [promised, most] = [scaled(SECONDS_PROMISED, cost), scaled(SECONDS_MAX, cost)];
  const slow = slowness > 1 ? ` on a machine ${slowness.toFixed(1)} times as slow as the reference` : "";
  if (processorSeconds <= promised) return `at most ${promised}${slow}`;
  if (processorSeconds <= most) return `more than the ${promised} that are promised${slow}`;
  if (isTooMuch(cost)) return `FAILED, at most ${most}${slow}`;
  return `more than ${most}${slow}, not judged because the machine is busy (load ${load.toFixed(1)} per processor)`;
}

class SlowTests implements Reporter {
  private begin = 0;
  private ended = 0;
  private readonly samples: number[] = [];

  onTestRunStart(): void {
    this.begin = performance.now();
    // The first one also compiles the work.
    sampleSpeed();
  }

  onTestModuleEnd(): void {
    this.ended++;
    if (this.ended % FILES_PER_SAMPLE === 0) this.samples.push(sampleSpeed());
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const own = modules.filter(({ project }) => project.name === PROJECT);
    const files = await own[0]?.project.globTestFiles();
    // A run of a few files is somebody at work.
    if (files === undefined || own.length < files.testFiles.length) return;
    const { user, system } = process.cpuUsage();
    const workers = own.flatMap((module) => module.meta().processor ?? []);
    const cost = {
      processorSeconds: sumProcesses([...workers, { pid: process.pid, seconds: (user + system) / 1e6 }]),
      wallSeconds: (performance.now() - this.begin) / 1_000,
      load: (loadavg()[0] ?? 0) / availableParallelism(),
      slowness: slownessOf(this.samples),
    };
    const tests = own.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        title: test.fullName,
        file: module.relativeModuleId,
        milliseconds: test.diagnostic()?.duration ?? 0,
      })),
    );
    process.stdout.write(formatCost(tests, cost));
    if (isTooMuch(cost)) process.exitCode = 1;
  }
}

/** For `plugins` of vitest.config.ts. */
export function slowTests(): Plugin {
  return {
    name: "slow-tests",
    configureVitest({ vitest }) {
      const { reporters } = vitest.config;
      if (!reporters.some((reporter) => reporter instanceof SlowTests)) reporters.push(new SlowTests());
    },
  };
}
