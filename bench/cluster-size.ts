/**
 * What does a cluster of manifests cost as it grows: to bring up, to hold, to copy, to change? Phase by phase, against the
 * same phase of the size before, per unit of what the phase works on: a ratio near 1 is linear, one that grows with the
 * cluster is not. Sizes are those of `cluster-fixture.ts`; the largest one, of minutes and gigabytes, with BENCH_LARGE=1.
 */
import { type Cluster, forkCluster } from "../src/cluster/cluster.ts";
import { type ClusterInput, readInput } from "../src/cluster/input/read-input.ts";
import { openSession } from "../src/cluster/open-session.ts";
import type { RunningCluster } from "../src/cluster/running-cluster.ts";
import type { SessionEvent } from "../src/cluster/session.ts";
import { readModel } from "../src/cluster/verify/model-of-cluster.ts";
import { verifyCluster } from "../src/cluster/verify/verify.ts";
import { loadManifests } from "../src/kube/mod.ts";
import {
  CLUSTER_SIZES,
  type ClusterSize,
  type GeneratedCluster,
  generateCluster,
} from "./cluster-fixture.ts";

/** How much a phase worked on. `back ends`: those that kube-proxies of Windows enter, summed over their nodes. */
interface Unit {
  readonly name: "pods" | "nodes" | "back ends";
  readonly count: number;
}

interface Row {
  readonly name: string;
  readonly unit: Unit;
  /** Milliseconds, or MiB. */
  readonly amount: number;
  readonly isMemory: boolean;
}

const MIB = 2 ** 20;
/** Sizes that are always measured. */
const SMALL_SIZES = 2;

/** Milliseconds since it was asked last. */
class Lap {
  private last = performance.now();

  take(): number {
    const now = performance.now();
    const elapsed = now - this.last;
    this.last = now;
    return elapsed;
  }
}

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / MIB;
}

interface Units {
  readonly pods: Unit;
  readonly nodes: Unit;
  readonly backEnds: Unit;
}

function unitsOf({ nodes, pods }: ClusterSize, { windowsNodes }: GeneratedCluster): Units {
  return {
    pods: { name: "pods", count: pods },
    nodes: { name: "nodes", count: nodes },
    backEnds: { name: "back ends", count: pods * windowsNodes },
  };
}

/** Opens the cluster and notes where each phase ends. */
async function bringUp(input: ClusterInput, units: Units, rows: Row[]): Promise<RunningCluster> {
  const lap = new Lap();
  const time = (name: string, unit: Unit): void => {
    rows.push({ name, unit, amount: lap.take(), isMemory: false });
  };
  let ready = 0;
  let isPlanned = false;
  const event = (happened: SessionEvent): void => {
    if (happened.type !== "progress") return;
    const { text, done, total } = happened;
    if (text === "pods start" && !isPlanned) {
      isPlanned = true;
      time("control plane", units.pods);
    }
    if (done !== total) return;
    if (text === "pods start") time("sandboxes", units.pods);
    else time("names, kube-proxies", units.backEnds);
  };
  const nodeReady = (): void => {
    if (++ready === input.file.nodes.length) time("machines", units.nodes);
  };
  const { session } = await openSession(input, { nodeReady, event });
  time("settle", units.pods);
  const [note] = session.notes();
  if (note !== undefined || session.cluster.pods.length < units.pods.count)
    throw new Error(`a cluster that did not come up is not measured as a fast one: ${note?.message ?? ""}`);
  return session;
}

/** Holds the copy until its size is known. */
function forkRows(cluster: Cluster, units: Units): readonly Row[] {
  const before = heapMiB();
  const lap = new Lap();
  const copy = forkCluster(cluster);
  const amount = lap.take();
  const size = heapMiB() - before;
  if (copy.pods.length !== cluster.pods.length) throw new Error("a copy has all pods");
  return [
    { name: "fork", unit: units.pods, amount, isMemory: false },
    { name: "fork, heap", unit: units.backEnds, amount: size, isMemory: true },
  ];
}

async function measureSize(size: ClusterSize): Promise<readonly Row[]> {
  const generated = generateCluster(size);
  const units = unitsOf(size, generated);
  const rows: Row[] = [];
  const before = heapMiB();
  const lap = new Lap();
  const read = readInput(generated.texts);
  if (!("input" in read)) throw new Error("the cluster of a benchmark can be read");
  rows.push({ name: "parse", unit: units.pods, amount: lap.take(), isMemory: false });
  const session = await bringUp(read.input, units, rows);
  rows.push({ name: "heap", unit: units.backEnds, amount: heapMiB() - before, isMemory: true });
  const { objects } = loadManifests([generated.scaled]);
  lap.take();
  await session.apply(objects);
  rows.push({ name: "one pod more", unit: units.nodes, amount: lap.take(), isMemory: false });
  rows.push(...forkRows(session.cluster, units));
  lap.take();
  const { counts } = verifyCluster(session.cluster, readModel(session.cluster));
  rows.push({
    name: `verify, ${counts.findings} findings`,
    unit: units.pods,
    amount: lap.take(),
    isMemory: false,
  });
  return rows;
}

function formatAmount({ amount, isMemory }: Row): string {
  if (isMemory) return `${amount.toFixed(0)} MiB`;
  return amount >= 1_000 ? `${(amount / 1_000).toFixed(1)} s` : `${amount.toFixed(0)} ms`;
}

function perUnit({ amount, unit, isMemory }: Row): number {
  return (amount * (isMemory ? MIB : 1_000)) / unit.count;
}

function printSize({ nodes, pods }: ClusterSize, rows: readonly Row[], before: readonly Row[]): void {
  process.stdout.write(`\n${nodes} nodes, ${pods} pods\n`);
  for (const row of rows) {
    const each = perUnit(row);
    const smaller = before.find(({ name }) => name === row.name);
    const ratio = smaller === undefined ? "" : `${(each / perUnit(smaller)).toFixed(2)} ×`;
    const unit = `${each.toFixed(each < 10 ? 2 : 0)} ${row.isMemory ? "B" : "µs"} for each of ${row.unit.count} ${row.unit.name}`;
    process.stdout.write(
      `  ${row.name.padEnd(22)}${formatAmount(row).padStart(10)}  ${unit.padEnd(40)}${ratio.padStart(8)}\n`,
    );
  }
}

export async function run(): Promise<void> {
  const sizes = process.env["BENCH_LARGE"] === "1" ? CLUSTER_SIZES : CLUSTER_SIZES.slice(0, SMALL_SIZES);
  const [smallest] = sizes;
  // Compiles what is called often.
  if (smallest !== undefined) await measureSize(smallest);
  let before: readonly Row[] = [];
  for (const size of sizes) {
    const rows = await measureSize(size);
    printSize(size, rows, before);
    before = rows;
  }
}
