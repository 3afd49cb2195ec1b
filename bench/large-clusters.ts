/**
 * What does a dump of a large cluster cost, from the file to the verdict? Each size in a process of its own, which reads
 * its file as the command line does: 100 and 500 nodes, and with BENCH_LARGE=1 5 000 with 150 000 pods and 10 000 Services.
 * `node --expose-gc bench/large-clusters.ts 100` measures one size alone. Seconds are those of processors; memory is the most
 * that the process had.
 */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defined } from "#core/base/assert.ts";
import { readClusterInputs } from "#cli/mullion/cluster/read-cluster-inputs.ts";
import { processTerminal } from "#cli/mullion/process-terminal.ts";
import { type ClusterInput, readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import type { ClusterSession } from "#cluster/session/session.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { KeptResults } from "#cluster/verify/kept/kept-results.ts";
import { verifyAgain } from "#cluster/verify/kept/verify-again.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import { DUMP_SIZES, type DumpSize, largeDump } from "#test/support/cluster/large-dump.ts";
import { type Figure, publishFigure } from "./measure.ts";

type SizeName = "100" | "500" | "5000";

/** A row of a size, as its process prints it. */
interface Row {
  readonly row: string;
  readonly unit: Figure["unit"];
  readonly value: number;
}

/** What a row may be at most; seconds are for a machine like that of the table of README.md. */
const GOALS: Readonly<Record<SizeName, Readonly<Record<string, number>>>> = {
  "100": {
    "reading, per byte": 33,
    "first trace, against reading": 2,
    verify: 5,
    "verify, against reading": 10,
    "connections of verify, each cell": 2.5,
    "batches begun again": 0,
  },
  "500": {
    "reading, per byte": 33,
    "first trace, against reading": 2,
    "everything raised": 11,
    "a trace on the running cluster": 0.3,
    "one Service changed, judged again": 2,
  },
  "5000": {
    "reading, per byte": 33,
    "first trace, against reading": 2,
    "everything raised": 300,
    "memory, at most": 8,
    verify: 300,
  },
};

/** What the pods of the dump serve. */
const SERVED = 8_080;
const MEGABYTE = 1e6;
const GIB = 2 ** 30;
/** Traces on the running cluster, of which the median counts. */
const TRACES = 5;

function writeDump(path: string, size: DumpSize): number {
  const file = openSync(path, "w");
  let bytes = 0;
  for (const item of largeDump(size)) bytes += writeSync(file, item);
  closeSync(file);
  return bytes;
}

/** Of this process, with what it collects and compiles on the side: what others do on the machine is not counted. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function secondsSince(begun: number): number {
  return processorSeconds() - begun;
}

async function readFile(path: string): Promise<ClusterInput> {
  const read = readInput(await readClusterInputs([path], false, processTerminal()));
  if (!("input" in read) || read.input.problems.length > 0)
    throw new Error("a dump is read without problems");
  return read.input;
}

/** Seconds of a trace between the first pod and the last, with the machines that it raises. */
async function traceSeconds(session: RunningCluster): Promise<number> {
  const { cluster } = session;
  const servers = cluster.pods.filter(({ spec }) => spec.ports.some(({ port }) => port === SERVED));
  const [from, to] = [servers[0], servers.at(-1)].map((pod) => {
    const { namespace, name } = defined(pod, "the cluster has pods that serve").spec;
    return `pod/${namespace}/${name}`;
  });
  const begun = processorSeconds();
  const ends = { from: defined(from, "a sender"), to: defined(to, "a receiver") };
  await session.ask((copy) => tracePacket(copy, { ...ends, protocol: "tcp", port: SERVED }));
  return secondsSince(begun);
}

/**
 * What `mullion verify` does with a running cluster, in one process: the first time all of it, then what a change can touch.
 * The whole cluster is as it should be, so that nothing is tried twice because it failed.
 */
async function judge(session: ClusterSession, known: KeptResults): Promise<VerifyReport> {
  const options = { troubles: session.troubles(), limits: session.limits(), at: "now" };
  const report = await verifyAgain(session, known, options);
  const { counts, kept } = report;
  process.stderr.write(
    `  ${counts.tried} cells, ${counts.attempts} attempts, ${counts.findings} findings, ${kept?.cells ?? 0} kept\n`,
  );
  return report;
}

/** How often a batch met a machine that it had not named before, and was tried from its beginning. */
interface Restarts {
  count: number;
}

/** The same session, which counts in `restarts`. */
function countingRestarts(session: RunningCluster, restarts: Restarts): ClusterSession {
  const askInSteps: ClusterSession["askInSteps"] = (question, touched) => {
    // The first time is none.
    restarts.count--;
    return session.askInSteps((cluster) => {
      restarts.count++;
      return question(cluster);
    }, touched);
  };
  return Object.assign(Object.create(session) as RunningCluster, { askInSteps });
}

/** The first Service of the dump, with another port. */
function changedService(text: string): ReturnType<typeof loadManifests>["objects"] {
  const item = defined(/- apiVersion: v1\n {2}kind: Service[^]*/.exec(text)?.[0], "the item of a Service");
  const list = `apiVersion: v1\nitems:\n${item.replace("port: 80\n", "port: 81\n")}kind: List\n`;
  return loadManifests([{ name: "changed.yaml", text: list }]).objects;
}

function serviceOf(size: DumpSize): string {
  for (const item of largeDump(size))
    if (item.includes("kind: Service\n") && item.includes("app-00001")) return item;
  return "";
}

/** Told as they come: the largest size takes long. */
function tell(row: string, unit: Figure["unit"], value: number): void {
  process.stdout.write(`${JSON.stringify({ row, unit, value } satisfies Row)}\n`);
  process.stderr.write(
    `  ${row}: ${value.toFixed(2)} ${unit}; ${processorSeconds().toFixed(1)} s of processors so far\n`,
  );
}

async function measureSize(size: DumpSize): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-bench-dump-"));
  try {
    const path = join(folder, "dump.yaml");
    const bytes = writeDump(path, size);
    const begun = processorSeconds();
    const input = await readFile(path);
    const reading = secondsSince(begun);
    tell("reading, per byte", "ns", (reading / bytes) * 1e9);
    process.stderr.write(
      `  read ${(bytes / MEGABYTE).toFixed(0)} MB at ${(bytes / MEGABYTE / reading).toFixed(1)} MB/s\n`,
    );
    globalThis.gc?.();
    tell("objects that were read", "GiB", process.memoryUsage().heapUsed / GIB);
    const raising = processorSeconds();
    const { session } = await openSession(input, undefined, "when asked");
    await traceSeconds(session);
    tell("first trace, against reading", "×", (reading + secondsSince(raising)) / reading);
    await session.raise();
    tell("everything raised", "s", secondsSince(raising));
    const traces: number[] = [];
    for (let trace = 0; trace < TRACES; trace++) traces.push(await traceSeconds(session));
    traces.sort((a, b) => a - b);
    tell("a trace on the running cluster", "s", traces[TRACES >> 1] ?? Number.NaN);
    globalThis.gc?.();
    tell("a cluster that is up", "GiB", process.memoryUsage().heapUsed / GIB);
    const known = new KeptResults();
    const restarts: Restarts = { count: 0 };
    const verifying = processorSeconds();
    const { counts } = await judge(countingRestarts(session, restarts), known);
    const verified = secondsSince(verifying);
    tell("verify", "s", verified);
    tell("verify, against reading", "×", verified / reading);
    tell("connections of verify, each cell", "×", counts.attempts / counts.tried);
    tell("batches begun again", "calls", restarts.count);
    const changing = processorSeconds();
    await session.apply(changedService(serviceOf(size)));
    tell("one Service changed, programmed", "s", secondsSince(changing));
    const again = processorSeconds();
    const { kept } = await judge(session, known);
    tell("one Service changed, judged again", "s", secondsSince(again));
    if (kept === undefined) throw new Error("a changed Service leaves results that can be kept");
    tell("memory, at most", "GiB", (process.resourceUsage().maxRSS * 1_024) / GIB);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs a size in a process of its own and keeps its figures. */
function runApart(name: SizeName): void {
  const { nodes, pods, services } = DUMP_SIZES[name];
  const table = `A dump of ${nodes} nodes, ${pods} pods, ${services} Services`;
  process.stdout.write(`\n${table}\n`);
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--expose-gc", "--max-old-space-size=12288", import.meta.filename, name],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  for (const line of stdout.split("\n").filter((each) => each.startsWith("{"))) {
    const { row, unit, value } = JSON.parse(line) as Row;
    publishFigure(table, row, value, unit);
    const goal = GOALS[name][row];
    const met = goal === undefined ? "" : `goal ${goal} ${unit}${value <= goal ? "" : ", not met"}`;
    process.stdout.write(`  ${row.padEnd(36)}${value.toFixed(2).padStart(10)} ${unit.padEnd(6)}${met}\n`);
  }
  if (status !== 0) throw new Error(`a dump of ${nodes} nodes could not be measured`);
}

export function run(): void {
  for (const name of ["100", "500"] as const) runApart(name);
  if (process.env["BENCH_LARGE"] === "1") runApart("5000");
}

const [, script = "", name] = process.argv;
if (import.meta.url === pathToFileURL(script).href)
  await measureSize(DUMP_SIZES[(name ?? "100") as keyof typeof DUMP_SIZES]);
