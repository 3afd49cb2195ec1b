/**
 * What does a cluster of manifests cost as it grows: to bring up, to hold, to copy, to change? Phase by phase, against the
 * same phase of the size before, per unit of what the phase works on: a ratio near 1 is linear, one that grows with the
 * cluster is not. Sizes are those of `cluster-fixture.ts`; the largest one, of minutes and gigabytes, with BENCH_LARGE=1.
 */
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { type ClusterInput, readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import type { SessionEvent } from "#cluster/session/session.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import {
  CLUSTER_SIZES,
  type ClusterSize,
  type GeneratedCluster,
  generateCluster,
} from "./cluster-fixture.ts";
import { publishFigure } from "./measure.ts";

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

/** The rows of one size, printed as they come: the largest size takes minutes. */
class Report {
  readonly rows: Row[] = [];
  private readonly pods: number;
  private readonly before: readonly Row[];

  constructor(pods: number, before: readonly Row[]) {
    this.pods = pods;
    this.before = before;
  }

  add(name: string, unit: Unit, amount: number, isMemory = false): void {
    const row = { name, unit, amount, isMemory };
    this.rows.push(row);
    const each = perUnit(row);
    const smaller = this.before.find((other) => other.name === name);
    const ratio = smaller === undefined ? "" : `${(each / perUnit(smaller)).toFixed(2)} ×`;
    const size = `a cluster of ${this.pods} pods`;
    if (smaller !== undefined) publishFigure(size, name, each / perUnit(smaller));
    const text = `${each.toFixed(each < 10 ? 2 : 0)} ${isMemory ? "B" : "µs"} for each of ${unit.count} ${unit.name}`;
    process.stdout.write(
      `  ${name.padEnd(22)}${formatAmount(row).padStart(10)}  ${text.padEnd(40)}${ratio.padStart(8)}\n`,
    );
  }
}

function formatAmount({ amount, isMemory }: Row): string {
  if (isMemory) return `${amount.toFixed(0)} MiB`;
  return amount >= 1_000 ? `${(amount / 1_000).toFixed(1)} s` : `${amount.toFixed(0)} ms`;
}

function perUnit({ amount, unit, isMemory }: Row): number {
  return (amount * (isMemory ? MIB : 1_000)) / unit.count;
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
async function bringUp(input: ClusterInput, units: Units, report: Report): Promise<RunningCluster> {
  const lap = new Lap();
  let ready = 0;
  let isPlanned = false;
  const event = (happened: SessionEvent): void => {
    if (happened.type !== "progress") return;
    const { text, done, total } = happened;
    if (text === "pods start" && !isPlanned) {
      isPlanned = true;
      report.add("control plane", units.pods, lap.take());
    }
    if (done !== total) return;
    if (text === "pods start") report.add("sandboxes", units.pods, lap.take());
    else report.add("names, kube-proxies", units.backEnds, lap.take());
  };
  const nodeReady = (): void => {
    if (++ready === input.file.nodes.length) report.add("machines", units.nodes, lap.take());
  };
  const { session } = await openSession(input, { nodeReady, event });
  report.add("settle", units.pods, lap.take());
  const [note] = session.notes();
  if (note !== undefined || session.cluster.pods.length < units.pods.count)
    throw new Error(`a cluster that did not come up is not measured as a fast one: ${note?.message ?? ""}`);
  return session;
}

/** Holds the copy until its size is known. */
function measureFork(cluster: Cluster, units: Units, report: Report): void {
  // The first one lets tables settle that later ones share.
  forkCluster(cluster);
  const before = heapMiB();
  const lap = new Lap();
  const copy = forkCluster(cluster);
  report.add("fork", units.pods, lap.take());
  report.add("fork, heap", units.pods, heapMiB() - before, true);
  if (copy.pods.length !== cluster.pods.length) throw new Error("a copy has all pods");
}

async function measureSize(size: ClusterSize, before: readonly Row[]): Promise<readonly Row[]> {
  process.stdout.write(`\n${size.nodes} nodes, ${size.pods} pods\n`);
  const generated = generateCluster(size);
  const units = unitsOf(size, generated);
  const report = new Report(size.pods, before);
  const empty = heapMiB();
  const lap = new Lap();
  const read = readInput(generated.texts);
  if (!("input" in read)) throw new Error("the cluster of a benchmark can be read");
  report.add("parse", units.pods, lap.take());
  const session = await bringUp(read.input, units, report);
  report.add("heap", units.backEnds, heapMiB() - empty, true);
  const { objects } = loadManifests([generated.scaled]);
  lap.take();
  await session.apply(objects);
  report.add("one pod more", units.nodes, lap.take());
  measureFork(session.cluster, units, report);
  lap.take();
  const { counts } = verifyCluster(session.cluster, readModel(session.cluster));
  report.add(`verify, ${counts.findings} findings`, units.pods, lap.take());
  return report.rows;
}

export async function run(): Promise<void> {
  const sizes = process.env["BENCH_LARGE"] === "1" ? CLUSTER_SIZES : CLUSTER_SIZES.slice(0, SMALL_SIZES);
  const [smallest] = sizes;
  if (smallest === undefined) return;
  process.stdout.write("\nOnce without being counted, so that what is called often is compiled:");
  await measureSize(smallest, []);
  let before: readonly Row[] = [];
  for (const size of sizes) before = await measureSize(size, before);
}
