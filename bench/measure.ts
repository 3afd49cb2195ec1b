/** How every figure here is taken: interleaved rounds in one process, the median of each, ratios between them. */
import { execFileSync } from "node:child_process";
import { type Channel, channel } from "node:diagnostics_channel";
import { cpus, totalmem } from "node:os";

/** One thing to time. `run` does `operations` operations and returns something that depends on them. */
export interface Candidate {
  readonly name: string;
  readonly operations: number;
  /** Collects garbage before each round, so that none of it falls into the same candidate's time again and again. */
  readonly isCollectedBefore?: boolean;
  run(): number;
}

export interface Measured {
  readonly name: string;
  /** Nanoseconds per operation, the median of all rounds. */
  readonly ns: number;
  readonly minNs: number;
}

/** A figure of a run. `×` is the ratio to the floor of its table. */
export interface Figure {
  readonly table: string;
  readonly row: string;
  readonly unit: "×" | "ns" | "s" | "bytes" | "KiB" | "GiB" | "calls";
  readonly value: number;
}

/** Where every figure goes that is printed, so that `run.ts` can keep them. */
export const FIGURES: Channel = channel("mullion.bench.figure");

export function publishFigure(table: string, row: string, value: number, unit: Figure["unit"] = "×"): void {
  FIGURES.publish({ table, row, unit, value });
}

const ROUNDS = 9;
const WARM_UP_ROUNDS = 3;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/**
 * Times all candidates in turns, so that whatever disturbs the machine disturbs all of them. Short rounds want many: one
 * that takes less than a slice of the processor's time is seldom interrupted.
 */
export function measure(candidates: readonly Candidate[], rounds: number = ROUNDS): Measured[] {
  const samples = candidates.map((): number[] => []);
  let sink = 0;
  const warmUp = Math.ceil((rounds * WARM_UP_ROUNDS) / ROUNDS);
  for (let round = -warmUp; round < rounds; round++) {
    for (const [index, candidate] of candidates.entries()) {
      if (candidate.isCollectedBefore === true) globalThis.gc?.();
      const started = process.hrtime.bigint();
      sink ^= candidate.run();
      const elapsed = Number(process.hrtime.bigint() - started);
      if (round >= 0) samples[index]?.push(elapsed / candidate.operations);
    }
  }
  if (sink === 0.5) process.stdout.write("");
  return candidates.map(({ name }, index) => {
    const own = samples[index] ?? [];
    return { name, ns: median(own), minNs: Math.min(...own) };
  });
}

/** What it leaves on the heap to ask how full the heap is, and to compile what is run again and again. */
const SETTLING_RUNS = 8;

function heapGrowth(run: () => void): number {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  run();
  return process.memoryUsage().heapUsed - before;
}

/**
 * Bytes that one operation leaves on the heap, measured over `operations` with the collector quiet, once the compiler is:
 * code that it makes lies on the same heap. What asking costs by itself is taken off.
 */
export function measureAllocation(operations: number, run: () => void): number {
  for (let i = 0; i < SETTLING_RUNS; i++) heapGrowth(run);
  const own = heapGrowth(() => undefined);
  return Math.max(0, heapGrowth(run) - own) / operations;
}

function formatNs(ns: number): string {
  return ns >= 1e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${ns.toFixed(1)} ns`;
}

/** Prints a table: nanoseconds, the ratio to the row called `base`, and the fastest round. */
export function printTable(title: string, rows: readonly Measured[], base: string): void {
  const floor = rows.find((row) => row.name === base)?.ns ?? Number.NaN;
  const width = Math.max(...rows.map((row) => row.name.length));
  process.stdout.write(`\n${title}\n`);
  for (const row of rows) {
    publishFigure(title, row.name, row.ns, "ns");
    publishFigure(title, row.name, row.ns / floor);
    const ratio = (row.ns / floor).toFixed(2).padStart(8);
    const fastest = row.minNs === row.ns ? "" : `   fastest ${formatNs(row.minNs)}`;
    process.stdout.write(
      `  ${row.name.padEnd(width)}  ${formatNs(row.ns).padStart(12)}  ${ratio} ×${fastest}\n`,
    );
  }
}

/** The line that stands above all figures: what was measured, on what. */
export function describeRun(): string {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const gib = Math.round(totalmem() / 1024 ** 3);
  return `commit ${commit}, Node ${process.version}, ${cpus().length} cores, ${gib} GiB`;
}
