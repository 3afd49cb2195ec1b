/** `npm run bench [NAME…]`: runs the benchmarks and prints their tables under one line that says where. */
import { describeRun } from "./measure.ts";

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

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`No benchmark is called ${unknown.join(", ")}; there are ${BENCHMARKS.join(", ")}\n`);
  process.exit(2);
}
process.stdout.write(`${describeRun()}\n`);
for (const name of wanted.length > 0 ? wanted : BENCHMARKS) {
  const module = (await import(`./${name}.ts`)) as { run(): void | Promise<void> };
  await module.run();
}
