/**
 * `npm run bench [-- NAME…]`: runs the benchmarks, prints their tables under one line that says where, and keeps the
 * figures in `out/bench.json`. `--write` writes the table of README.md from them. `--against FILE` compares them with
 * the figures of another run, of another commit for instance, and ends with 1 when one is worse by more than 5 %.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type BenchRun, type KeptFigure, compareRuns, withCurrentTable } from "./current-table.ts";
import { FIGURES, type Figure, describeRun } from "./measure.ts";

const BENCHMARKS = [
  "flow-hit",
  "first-packet",
  "engine-memory",
  "load-balancer",
  "service-proxy",
  "many-policies",
  "policy-engines",
  "ovn",
  "ovn-flow-hit",
  "ovn-northd",
  "cni-start-up",
  "cni-add",
  "manifests",
  "explain-log",
  "lint",
  "doctor",
  "azure-network",
  "matrix",
  "cluster-size",
  "large-clusters",
  "shards",
  "flannel",
  "network-policies",
  "hns-objects",
  "shim-calls",
  "pages",
];
const README = "bench/README.md";
const KEPT = "out/bench.json";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean", default: false }, against: { type: "string" } },
});
const unknown = positionals.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`No benchmark is called ${unknown.join(", ")}; there are ${BENCHMARKS.join(", ")}\n`);
  process.exit(2);
}

/** Runs one benchmark in this process. */
async function runHere(name: string): Promise<readonly KeptFigure[]> {
  const figures: KeptFigure[] = [];
  const keep = (figure: unknown): void => void figures.push({ bench: name, ...(figure as Figure) });
  FIGURES.subscribe(keep);
  const module = (await import(`./${name}.ts`)) as { run(): void | Promise<void> };
  await module.run();
  FIGURES.unsubscribe(keep);
  return figures;
}

/** Runs one in a process of its own: what others have compiled and left on the heap changes the figures. */
function runApart(name: string): readonly KeptFigure[] {
  const { status } = spawnSync(process.execPath, ["--expose-gc", "bench/run.ts", name], { stdio: "inherit" });
  if (status !== 0) throw new Error(`The benchmark ${name} failed`);
  return (JSON.parse(readFileSync(KEPT, "utf8")) as BenchRun).figures;
}

const where = describeRun();
const [only, ...others] = positionals;
const isOne = only !== undefined && others.length === 0;
if (isOne) process.stdout.write(`${where}\n`);
const figures = isOne
  ? await runHere(only)
  : (positionals.length > 0 ? positionals : BENCHMARKS).flatMap((name) => runApart(name));
const kept: BenchRun = { where, figures };
mkdirSync("out", { recursive: true });
writeFileSync(KEPT, `${JSON.stringify(kept, undefined, 1)}\n`);
if (values.write) writeFileSync(README, withCurrentTable(readFileSync(README, "utf8"), kept, positionals));
if (values.against !== undefined) {
  const { text, isWorse } = compareRuns(JSON.parse(readFileSync(values.against, "utf8")) as BenchRun, kept);
  process.stdout.write(text);
  if (isWorse) process.exitCode = 1;
}
