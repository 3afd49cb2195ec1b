/**
 * `npm run bench [-- NAME…]`: runs the benchmarks, prints their tables under one line that says where, and keeps the
 * figures in `out/bench.json`. `--write` writes the table of README.md from them. `--against FILE` compares them with
 * the figures of another run, of another commit for instance, and ends with 1 when one is worse by more than 5 %.
 */
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
  "cni-start-up",
  "cni-add",
  "manifests",
  "explain-log",
  "lint",
  "matrix",
  "cluster-size",
  "flannel",
  "network-policies",
  "hns-objects",
  "shim-calls",
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
if (values.write && positionals.length > 0) {
  process.stderr.write("--write needs all benchmarks: name none\n");
  process.exit(2);
}

const figures: KeptFigure[] = [];
const where = describeRun();
process.stdout.write(`${where}\n`);
for (const name of positionals.length > 0 ? positionals : BENCHMARKS) {
  const keep = (figure: unknown): void => void figures.push({ bench: name, ...(figure as Figure) });
  FIGURES.subscribe(keep);
  const module = (await import(`./${name}.ts`)) as { run(): void | Promise<void> };
  await module.run();
  FIGURES.unsubscribe(keep);
}
const kept: BenchRun = { where, figures };
mkdirSync("out", { recursive: true });
writeFileSync(KEPT, `${JSON.stringify(kept, undefined, 1)}\n`);
if (values.write) writeFileSync(README, withCurrentTable(readFileSync(README, "utf8"), kept));
if (values.against !== undefined) {
  const { text, isWorse } = compareRuns(JSON.parse(readFileSync(values.against, "utf8")) as BenchRun, kept);
  process.stdout.write(text);
  if (isWorse) process.exitCode = 1;
}
