/**
 * Fuzzing that follows branches, of every reader of what strangers write:
 *
 *   npm run fuzz -- [--seconds 20] [--seed N] [--target NAME,…] [--keep] [--replay FILE]
 *
 * The targets `shim` and `launcher` are in C and need clang; the others follow branches of src/. Each target has a corpus in `test/corpora/`. An input that reaches a new branch is changed on; one that throws what is no
 * answer, or takes too long, is written to `out/fuzz/` and ends the run with 1. `--keep` writes the smallest inputs that
 * reach what was reached back into the corpus, and adds a line to `test/corpora/runs.txt`.
 */
import { execFileSync } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { BranchCounts, countBranches, listTexts } from "./fuzz/count-branches.ts";
import { type FuzzResult, type Target, fuzz, minimize, tryInput } from "./fuzz/fuzzer.ts";
import { C_TARGETS, type CTargetName, fuzzC, replayC } from "./fuzz/c-targets.ts";

const CORPORA = "test/corpora";
const FINDINGS = "out/fuzz";
const SECONDS = 20;

/** Counts branches of everything in `src/` that is loaded from now on. */
function countEverything(): BranchCounts {
  const counts = new BranchCounts();
  Object.assign(globalThis, { __branches: counts });
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const path = url.startsWith("file:") ? relative(".", fileURLToPath(url)) : "";
      if (!path.startsWith("src/") || !path.endsWith(".ts") || loaded.source === undefined) return loaded;
      const code =
        typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
      for (const text of listTexts(code)) counts.texts.add(text);
      return { ...loaded, source: countBranches(code, path) };
    },
  });
  return counts;
}

/** Inputs of a target that were worth keeping. */
export function readCorpus(name: string): readonly Uint8Array[] {
  const path = join(CORPORA, `${name}.json`);
  if (!existsSync(path)) return [];
  return (JSON.parse(readFileSync(path, "utf8")) as readonly string[]).map((text) =>
    Buffer.from(text, "base64"),
  );
}

function writeCorpus(name: string, inputs: readonly Uint8Array[]): void {
  mkdirSync(CORPORA, { recursive: true });
  const lines = inputs.map((bytes) => `  ${JSON.stringify(Buffer.from(bytes).toString("base64"))}`);
  writeFileSync(join(CORPORA, `${name}.json`), `[\n${lines.join(",\n")}\n]\n`);
}

function tell(
  target: Target,
  seed: number,
  { runs, features, corpus, findings }: FuzzResult,
  seconds: number,
): void {
  const rate = (runs / seconds).toFixed(0).padStart(7);
  process.stdout.write(
    `${target.name.padEnd(10)} ${String(runs).padStart(9)} runs ${rate}/s ${String(features).padStart(6)} features ${String(corpus.length).padStart(5)} inputs ${String(findings.length).padStart(3)} findings  seed ${seed}\n`,
  );
  mkdirSync(FINDINGS, { recursive: true });
  for (const { bytes, what } of findings) {
    const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
    const path = join(FINDINGS, `${target.name}-${digest}`);
    writeFileSync(path, bytes);
    process.stdout.write(
      `  ${path}: ${what.replaceAll("\n", "\n    ")}\n  npm run fuzz -- --target ${target.name} --replay ${path}\n`,
    );
  }
}

/** @returns the line for the log. */
function fuzzInC(name: CTargetName, seed: number, seconds: number, keep: boolean): string {
  const result = fuzzC(name, readCorpus(name), { seed, seconds, keep, findings: FINDINGS });
  const findings = result.finding === undefined ? 0 : 1;
  process.stdout.write(
    `${name.padEnd(10)} ${String(result.runs).padStart(9)} runs ${(result.runs / seconds).toFixed(0).padStart(7)}/s ${String(result.features).padStart(6)} features ${String(result.corpus.length).padStart(5)} inputs ${String(findings).padStart(3)} findings  seed ${seed}\n${result.finding ?? ""}`,
  );
  if (findings > 0) process.exitCode = 1;
  if (keep) writeCorpus(name, result.corpus);
  return `${name} ${result.runs} runs, ${result.features} features, ${findings} findings, ${seconds} s`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string" },
      seed: { type: "string" },
      target: { type: "string" },
      keep: { type: "boolean" },
      replay: { type: "string" },
    },
  });
  const counts = countEverything();
  const { listTargets } = await import("./fuzz/targets.ts");
  const names = values.target?.split(",");
  const all = await listTargets();
  const targets = all.filter(({ name }) => names === undefined || names.includes(name));
  const inC = C_TARGETS.filter((name) => names?.includes(name) ?? true);
  const chosen = targets.length + inC.length;
  if (chosen === 0 || chosen < (names?.length ?? 0))
    throw new Error(`--target takes ${[...all.map(({ name }) => name), ...C_TARGETS].join(", ")}`);
  const nowMs = (): number => performance.now();
  if (values.replay !== undefined) {
    for (const target of targets) {
      const what = await tryInput(target, readFileSync(values.replay), nowMs);
      process.stdout.write(`${target.name}: ${what ?? "nothing wrong"}\n`);
      if (what !== undefined) process.exitCode = 1;
    }
    for (const name of names === undefined ? [] : inC) {
      const broken = replayC(name, values.replay);
      process.stdout.write(`${name}: ${broken ?? "nothing wrong"}\n`);
      if (broken !== undefined) process.exitCode = 1;
    }
    return;
  }
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  const words = [...counts.texts].map((text) => new TextEncoder().encode(text));
  const lines: string[] = [];
  for (const target of targets) {
    const endMs = nowMs() + Number(values.seconds ?? SECONDS) * 1_000;
    const beginMs = nowMs();
    const result = await fuzz(target, readCorpus(target.name), {
      seed,
      counts,
      words,
      nowMs,
      isOver: () => nowMs() > endMs,
    });
    const seconds = (nowMs() - beginMs) / 1_000;
    tell(target, seed, result, seconds);
    if (result.findings.length > 0) process.exitCode = 1;
    if (values.keep === true)
      writeCorpus(target.name, (await minimize(target, result.corpus, counts)).slice(0, 400));
    lines.push(
      `${target.name} ${result.runs} runs, ${result.features} features, ${result.findings.length} findings, ${seconds.toFixed(0)} s`,
    );
  }
  for (const name of inC)
    lines.push(fuzzInC(name, seed, Number(values.seconds ?? SECONDS), values.keep === true));
  if (values.keep === true) {
    const commit = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { encoding: "utf8" }).trim();
    appendFileSync(
      join(CORPORA, "runs.txt"),
      lines.map((line) => `${commit} seed ${seed}: ${line}\n`).join(""),
    );
  }
}

await main();
