/**
 * What is written in C, under clang's libFuzzer with the sanitizers for memory and undefined behaviour. The first byte of an
 * input says what the others are: for the shim JSON, text, a service's answer, or its stream (shim/test/fuzz.c); for the
 * launcher command lines, paths and messages (launcher/test/fuzz.c).
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** A target in C: the folder whose Makefile builds it, and the program. */
interface CTarget {
  readonly folder: string;
  readonly program: string;
}

/** The name of a target in C. */
export type CTargetName = "shim" | "launcher";

const TARGETS: Readonly<Record<CTargetName, CTarget>> = {
  shim: { folder: "shim", program: "out/shim/sanitized/shim-libfuzzer" },
  launcher: { folder: "launcher", program: "out/launcher/launcher-libfuzzer" },
};

export const C_TARGETS: readonly CTargetName[] = ["shim", "launcher"];

const INPUT_BYTES_MAX = 4_096;
const KEPT_BYTES_MAX = 512;

/** What one run of libFuzzer found. */
export interface CFuzzResult {
  readonly runs: number;
  readonly features: number;
  /** The smallest inputs that reach what was reached; those that were given, when they are not to be kept. */
  readonly corpus: readonly Uint8Array[];
  /** What libFuzzer wrote when it stopped before its time. */
  readonly finding: string | undefined;
}

/** @throws an error that says what is missing. */
export function buildCFuzzer(name: CTargetName): string {
  const { folder, program } = TARGETS[name];
  if (spawnSync("clang", ["--version"]).error !== undefined)
    throw new Error(
      "clang is missing, which fuzzes what is written in C. Install it:\n  apt-get install --no-install-recommends clang libclang-rt-14-dev\nOr name other targets with --target.",
    );
  const target = join("..", program);
  const argv = ["--directory", folder, "--no-print-directory", "--silent", target];
  const { status } = spawnSync("make", argv, { stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0)
    throw new Error(`The fuzzer of ${folder} cannot be built; see the compiler's text above.`);
  return resolve(program);
}

function run(program: string, argv: readonly string[]): { readonly text: string; readonly isGood: boolean } {
  const { status, stdout, stderr } = spawnSync(program, argv, { encoding: "utf8", maxBuffer: 1 << 28 });
  return { text: `${stdout}${stderr}`, isGood: status === 0 };
}

function lastNumber(text: string, pattern: RegExp): number {
  return Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0);
}

/** Runs one input. @returns what is wrong with it. */
export function replayC(name: CTargetName, path: string): string | undefined {
  const { text, isGood } = run(buildCFuzzer(name), [path]);
  return isGood ? undefined : text;
}

/**
 * Fuzzes for so many seconds. Inputs that stop it are written to `findings`.
 * @throws as `buildCFuzzer`
 */
export function fuzzC(
  name: CTargetName,
  corpus: readonly Uint8Array[],
  options: { seed: number; seconds: number; keep: boolean; findings: string },
): CFuzzResult {
  const program = buildCFuzzer(name);
  const folder = mkdtempSync(join(tmpdir(), `mullion-${name}-fuzz-`));
  try {
    const [inputs, small] = [join(folder, "inputs"), join(folder, "small")];
    for (const made of [inputs, small, options.findings]) mkdirSync(made, { recursive: true });
    for (const [index, bytes] of corpus.entries()) writeFileSync(join(inputs, `kept-${index}`), bytes);
    const limits = [
      `-seed=${options.seed}`,
      `-max_total_time=${options.seconds}`,
      `-max_len=${INPUT_BYTES_MAX}`,
    ];
    const prefix = `-artifact_prefix=${join(options.findings, `${name}-`)}`;
    const { text, isGood } = run(program, [...limits, prefix, "-print_final_stats=1", inputs]);
    if (options.keep) run(program, ["-merge=1", `-max_len=${KEPT_BYTES_MAX}`, small, inputs]);
    const files = options.keep ? readdirSync(small).toSorted() : [];
    return {
      runs: lastNumber(text, /number_of_executed_units: +(\d+)/g),
      features: lastNumber(text, / ft: (\d+)/g),
      corpus: options.keep ? files.map((file) => readFileSync(join(small, file))) : corpus,
      finding: isGood ? undefined : text.slice(-4_000),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
