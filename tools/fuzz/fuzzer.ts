/** The loop: an input that reaches a branch for the first time, or more often, is kept and changed on. */
import { Prng } from "#core/base/prng.ts";
import { change } from "./change-bytes.ts";
import { type BranchCounts, noBranches } from "./count-branches.ts";

/** What is fuzzed: throws, or takes too long, when something is wrong. */
export interface Target {
  readonly name: string;
  /** Inputs to begin with. */
  readonly seeds: readonly Uint8Array[];
  /** One line: what an input is. */
  readonly about: string;
  run(bytes: Uint8Array): unknown;
}

export interface Finding {
  readonly bytes: Uint8Array;
  readonly what: string;
}

export interface FuzzResult {
  readonly runs: number;
  /** Branches that some input reached, each with how often as a feature of its own. */
  readonly features: number;
  readonly corpus: readonly Uint8Array[];
  readonly findings: readonly Finding[];
}

export interface FuzzOptions {
  readonly seed: number;
  /** What an input runs is counted here. */
  readonly counts: BranchCounts;
  readonly words: readonly Uint8Array[];
  /** True when it is to end; asked after each run. */
  isOver(runs: number): boolean;
  /** Milliseconds of a clock, for inputs that take too long. */
  nowMs(): number;
}

/** No input of 4 KiB takes as long, on any machine. */
export const INPUT_MS_MAX = 2_000;
const FINDINGS_MAX = 8;

/** What came of one input; undefined: nothing wrong. */
export async function tryInput(
  target: Target,
  bytes: Uint8Array,
  nowMs: () => number,
  mayRepeat = true,
): Promise<string | undefined> {
  const beginMs = nowMs();
  try {
    await target.run(bytes);
  } catch (error) {
    const { stack } = error instanceof Error ? error : new Error(String(error));
    return (stack ?? "").split("\n").slice(0, 4).join("\n");
  }
  const milliseconds = nowMs() - beginMs;
  // A machine may do something else for a while; an input that is slow is slow again.
  if (milliseconds > INPUT_MS_MAX && mayRepeat) return tryInput(target, bytes, nowMs, false);
  return milliseconds > INPUT_MS_MAX ? `took ${milliseconds.toFixed(0)} ms` : undefined;
}

/** Where an error was thrown: findings of one place are one finding. */
function placeOf(what: string): string {
  return what
    .replace(/\d+ ms/, "")
    .split("\n")
    .slice(0, 2)
    .join("\n")
    .replace(/["'`].*?["'`]|\d+/g, "");
}

/** Fuzzes a target. Same seed and corpus, same inputs. */
export async function fuzz(
  target: Target,
  corpus: readonly Uint8Array[],
  options: FuzzOptions,
): Promise<FuzzResult> {
  const prng = new Prng(options.seed).derive(`fuzz ${target.name}`);
  const known = noBranches();
  const forgotten = noBranches();
  let features = 0;
  const kept: Uint8Array[] = [];
  const findings: Finding[] = [];
  const places = new Set<string>();
  const nowMs = (): number => options.nowMs();
  const attempt = async (bytes: Uint8Array): Promise<void> => {
    // What ran between two inputs is of neither.
    options.counts.takeInto(forgotten);
    const what = await tryInput(target, bytes, nowMs);
    const fresh = options.counts.takeInto(known);
    features += fresh;
    if (what !== undefined && !places.has(placeOf(what))) {
      places.add(placeOf(what));
      findings.push({ bytes, what });
    }
    if (fresh > 0 && what === undefined) kept.push(bytes);
  };
  let runs = 0;
  for (const bytes of [...target.seeds, ...corpus]) {
    await attempt(bytes);
    runs++;
  }
  while (!options.isOver(runs) && findings.length < FINDINGS_MAX) {
    // Newer inputs reach what others do not: half of the time one of the last few.
    const recent = Math.min(kept.length, 16);
    const index =
      prng.below(2) === 0 ? kept.length - 1 - prng.below(Math.max(1, recent)) : prng.below(kept.length || 1);
    await attempt(change(kept[index] ?? new Uint8Array(0), prng, kept, options.words));
    runs++;
  }
  return { runs, features, corpus: kept, findings };
}

/** The smallest inputs that together reach what all do: what is worth keeping in a file. */
export async function minimize(
  target: Target,
  inputs: readonly Uint8Array[],
  counts: BranchCounts,
): Promise<readonly Uint8Array[]> {
  const known = new Set<number>();
  const kept: Uint8Array[] = [];
  for (const bytes of inputs.toSorted((a, b) => a.length - b.length)) {
    counts.take();
    await tryInput(target, bytes, () => 0);
    const fresh = counts.take().filter((branch) => !known.has(branch));
    for (const branch of fresh) known.add(branch);
    if (fresh.length > 0) kept.push(bytes);
  }
  return kept;
}
