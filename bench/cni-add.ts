/**
 * What do ADD and DEL of a pod cost, as processes? win-bridge with host-local against HNS, by a process of Node and by the
 * launcher that hands the call to the service of HNS, next to Debian's Go plugins `bridge` and `host-local`, which do the same
 * for Linux: all in a network namespace made for the run, by turns.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BenchNode,
  GO_PLUGINS,
  type PluginCommand,
  layOutLaunchers,
  layOutPackage,
  runCommand,
  runTogether,
  startNode,
} from "./cni-fixture.ts";
import { type Candidate, FIGURES, type Figure, measure, printTable, publishFigure } from "./measure.ts";

const RUNS_PER_ROUND = 3;
const PARALLEL = 200;
/** In the process that runs in the namespace: the file for its figures. */
const INSIDE = "MULLION_BENCH_INSIDE";

const GO_ROW = "Go bridge + host-local, ADD";

/** Makes the command for pod number `pod`. */
type CommandOf = (verb: string, pod: number) => PluginCommand;

function environment(
  verb: string,
  pod: number,
  more: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    CNI_COMMAND: verb,
    CNI_CONTAINERID: `bench-${pod}`,
    CNI_IFNAME: `eth${pod}`,
    ...more,
  };
}

/** win-bridge: one namespace of HNS for all pods, an endpoint for each. */
function ours(bin: string, node: BenchNode): CommandOf {
  const { variables, namespace, folder } = node;
  const ipam = {
    type: "host-local",
    subnet: "10.244.0.0/16",
    rangeStart: "10.244.0.3",
    dataDir: join(folder, "leases"),
  };
  const value = { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } };
  const policies = [{ name: "EndpointPolicy", value }];
  const stdin = JSON.stringify({ cniVersion: "1.0.0", name: "cbr0", apiVersion: 2, policies, ipam });
  return (verb, pod) => ({
    argv: [join(bin, "win-bridge")],
    env: environment(verb, pod, { ...variables, CNI_NETNS: namespace, CNI_PATH: bin }),
    stdin,
  });
}

/** bridge: one namespace of Linux for all pods, an interface for each. */
function goPair(folder: string, pod: ChildProcess): CommandOf {
  const ipam = { type: "host-local", subnet: "10.99.0.0/16", dataDir: join(folder, "go-leases") };
  const stdin = JSON.stringify({ cniVersion: "1.0.0", name: "go", bridge: "bench0", isGateway: true, ipam });
  return (verb, number) => ({
    argv: [join(GO_PLUGINS, "bridge")],
    env: environment(verb, number, { CNI_NETNS: `/proc/${pod.pid}/ns/net`, CNI_PATH: GO_PLUGINS }),
    stdin,
  });
}

function repeated(name: string, call: (count: number) => string): Candidate {
  let count = 0;
  return {
    name,
    operations: RUNS_PER_ROUND,
    run: () => {
      let bytes = 0;
      for (let i = 0; i < RUNS_PER_ROUND; i++) bytes += call(count++).length;
      return bytes;
    },
  };
}

/** ADD and DEL of the same pods; in each round the ADDs come first. */
function lifeOf(name: string, command: CommandOf): readonly Candidate[] {
  return ["ADD", "DEL"].map((verb) =>
    repeated(`${name}, ${verb}`, (count) => runCommand(command(verb, count))),
  );
}

function version(name: string, command: CommandOf): Candidate {
  return repeated(`${name}, VERSION`, () => runCommand(command("VERSION", 0)));
}

/** How long the service of HNS works for one ADD and one DEL, apart from the processes. */
async function printInsideHns(node: BenchNode, command: CommandOf): Promise<void> {
  const pods = Array.from({ length: 20 }, (_, i) => 10_000 + i);
  process.stdout.write("\nInside HNS, per call of the plugin\n");
  for (const verb of ["ADD", "DEL"]) {
    const before = await node.spent();
    for (const pod of pods) runCommand(command(verb, pod));
    const after = await node.spent();
    const ms = ((after.seconds - before.seconds) * 1_000) / pods.length;
    const calls = (after.calls - before.calls) / pods.length;
    process.stdout.write(`  ${verb}  ${ms.toFixed(2)} ms in ${calls} calls of HNS\n`);
  }
}

async function timeTogether(
  command: CommandOf,
  verb: string,
): Promise<{ ms: number; printed: readonly string[] }> {
  const commands = Array.from({ length: PARALLEL }, (_, pod) => command(verb, 20_000 + pod));
  const begin = performance.now();
  const printed = await runTogether(commands);
  return { ms: performance.now() - begin, printed };
}

/** All at once on one range: every address once. */
async function printParallel(rows: readonly (readonly [string, CommandOf])[]): Promise<void> {
  process.stdout.write(`\n${PARALLEL} ADDs at once on one range, and their DELs\n`);
  for (const [name, command] of rows) {
    const added = await timeTogether(command, "ADD");
    const addresses = added.printed.map((text) => /"address": "([^"]+)"/.exec(text)?.[1]);
    if (new Set(addresses).size !== PARALLEL) throw new Error(`${name} gave an address twice`);
    const deleted = await timeTogether(command, "DEL");
    const each = (ms: number): string =>
      `${(ms / 1_000).toFixed(2)} s, ${(ms / PARALLEL).toFixed(1)} ms each`;
    process.stdout.write(`  ${name}: ADD ${each(added.ms)}; DEL ${each(deleted.ms)}\n`);
  }
}

/** The measurement itself, in a network namespace of its own where there can be one. */
async function measureInside(): Promise<void> {
  const bin = await layOutPackage();
  const launchers = layOutLaunchers();
  const node = await startNode();
  const hasGo = process.env[INSIDE] !== undefined;
  const pod = spawn("unshare", hasGo ? ["--net", "sleep", "infinity"] : ["--version"], { stdio: "ignore" });
  try {
    const own = ours(bin, node);
    const handed = ours(launchers, node);
    const go = goPair(node.folder, pod);
    const floor = repeated("node -e 0", () =>
      runCommand({ argv: [process.execPath, "-e", "0"], env: {}, stdin: "" }),
    );
    const rows = measure([
      floor,
      version("win-bridge", own),
      ...lifeOf("win-bridge + host-local", own),
      ...lifeOf("the same through the service", handed),
      ...(hasGo ? [version("Go bridge", go), ...lifeOf("Go bridge + host-local", go)] : []),
    ]);
    printTable("A pod's ADD and DEL as processes", rows, hasGo ? GO_ROW : floor.name);
    if (hasGo) printTable("The same, against a Node that does nothing", rows.slice(0, 6), floor.name);
    await printInsideHns(node, own);
    await printParallel([
      ["win-bridge + host-local", own],
      ["the same through the service", handed],
      ...(hasGo ? ([["Go bridge + host-local", go]] as const) : []),
    ]);
  } finally {
    pod.kill("SIGKILL");
    await node.stop();
  }
}

/** The same in a process of a namespace of its own, which leaves its figures in a file. */
export async function measureInNamespace(): Promise<void> {
  const figures: unknown[] = [];
  const keep = (figure: unknown): void => void figures.push(figure);
  FIGURES.subscribe(keep);
  await measureInside();
  writeFileSync(process.env[INSIDE] ?? "", JSON.stringify(figures));
}

/** Why the Go plugins cannot be measured here; undefined when they can. */
function missing(): string | undefined {
  if (!existsSync(join(GO_PLUGINS, "bridge")))
    return "Debian's package containernetworking-plugins is not installed";
  const probe = spawnSync("unshare", ["--net", "true"]);
  return probe.status === 0 ? undefined : "no network namespace can be made: that needs root and unshare(1)";
}

export async function run(): Promise<void> {
  const reason = missing();
  if (reason !== undefined) {
    process.stdout.write(`\nWithout the Go plugins: ${reason}.\n`);
    return measureInside();
  }
  const folder = mkdtempSync(join(tmpdir(), "mullion-bench-"));
  const file = join(folder, "figures.json");
  const script =
    'const { measureInNamespace } = await import("./bench/cni-add.ts"); await measureInNamespace();';
  const node = [process.execPath, "--input-type=module", "-e", script];
  const env = { ...process.env, [INSIDE]: file };
  try {
    const { status } = spawnSync("unshare", ["--net", ...node], { env, stdio: "inherit" });
    if (status !== 0) throw new Error("The measurement in the namespace failed");
    const figures = JSON.parse(readFileSync(file, "utf8")) as readonly Figure[];
    for (const { table, row, value, unit } of figures) publishFigure(table, row, value, unit);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
