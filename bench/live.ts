/**
 * What do real programs in real pods get from us, against the kernel's own bridge, VXLAN and nftables, Open vSwitch in user
 * space and slirp4netns in the same minute? Not one of `npm run bench`, since it needs root, /dev/net/tun and programs of
 * Debian: `apt-get install gcc libc6-dev iperf3 nftables iproute2 iputils-ping openvswitch-switch slirp4netns`, then
 * `node bench/live.ts [--seconds 2] [--rounds 3] [--driver L2Bridge] [--write]`. `--write` writes the table of README.md.
 */
import { type ChildProcess, type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { FLANNEL_DEVICE, flannelDeviceCommands } from "#test/support/live/flannel-device.ts";
import { CONNECTIONS_PORT, type Kind, Kinds, type Path, UNITS, median, within } from "./live-kinds.ts";
import { KernelPeer, OpenVswitchPeer, SlirpPeer } from "./live-peers.ts";
import { IDLE, type LiveFigure, withLiveTable } from "./live-table.ts";
import { describeRun } from "./measure.ts";

const NEEDED = ["gcc", "iperf3", "nft", "ip", "ping", "ovs-vswitchd", "ovsdb-server", "slirp4netns"];
const NAME = `bench${process.pid}`;
const README = "bench/README.md";
const TICKS_PER_S = 100;
const IDLE_MS = 3_000;

interface Peer {
  readonly name: string;
  readonly path: Path;
}

interface Row {
  readonly name: string;
  readonly ours: Path;
  readonly peers: readonly Peer[];
  readonly kinds: readonly Kind[];
}

/** Networks whose pods have addresses of the nodes' own network. */
const FLAT: readonly string[] = ["L2Tunnel", "Transparent"];

function clusterFile(driver: string): string {
  const name =
    { Overlay: ", name: vxlan0, vni: 4096", L2Bridge: "" }[driver] ?? `, name: ${driver.toLowerCase()}`;
  const isFlat = FLAT.includes(driver);
  const range = isFlat ? "10.0" : "10.244";
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: bench }
nodes:
  - { name: win-1, os: windows, build: ws2025, address: 10.0.0.11, podCIDR: ${range}.1.0/24 }
  - { name: win-2, os: windows, build: ws2025, address: 10.0.0.12, podCIDR: ${range}.2.0/24 }
  - { name: linux-1, os: linux, address: ${FLANNEL_DEVICE.node}, podCIDR: ${range}.3.0/24 }
network: { driver: ${driver}${name} }
${isFlat ? "underlay: { subnet: 10.0.0.0/16 }\n" : ""}pods:
  - { name: client, node: win-1 }
  - { name: near, node: win-1, labels: { app: near } }
  - { name: far, node: win-2 }
workloads:
  - { pod: client, command: [sleep, infinity] }
  - { pod: near, command: [sleep, infinity] }
  - { pod: far, command: [sleep, infinity] }
---
apiVersion: v1
kind: Service
metadata: { name: near }
spec:
  clusterIP: 10.96.0.77
  selector: { app: near }
  ports:
    - { name: t, port: 5201, targetPort: 5201 }
    - { name: u, port: 5201, targetPort: 5201, protocol: UDP }
    - { name: c, port: ${CONNECTIONS_PORT}, targetPort: ${CONNECTIONS_PORT} }
`;
}

/** A cluster that is up, and a server on the segment beside its nodes. */
class LiveBench {
  private readonly folder = mkdtempSync(join(tmpdir(), "mullion-bench-"));
  private readonly env = { ...process.env, XDG_RUNTIME_DIR: this.folder, MULLION_NAME: NAME };
  private readonly servers: readonly ChildProcess[];

  constructor(driver: string, kinds: Kinds) {
    const file = join(this.folder, "cluster.yaml");
    writeFileSync(file, clusterFile(driver));
    const place = driver === "Overlay" ? ["--live-as", "linux-1"] : ["--live"];
    const { status, stderr } = this.mullion("up", "-f", file, ...place);
    if (status !== 0) throw new Error(stderr);
    if (driver === "Overlay") this.addVxlan();
    const namespaces = ["", "_near", "_far"].map((name) => `mullion-${NAME}${name}`);
    this.servers = namespaces.flatMap((namespace) => kinds.serve(namespace));
  }

  path(to: string): Path {
    return { from: `mullion-${NAME}_client`, to };
  }

  addressOf(pod: string): string {
    return LiveBench.addressIn(`mullion-${NAME}_${pod}`);
  }

  /** Of the machine beside the nodes. */
  get outside(): string {
    return LiveBench.addressIn(`mullion-${NAME}`);
  }

  /** Processor time that the cluster takes while nothing passes, in percent. */
  async idle(): Promise<number> {
    const pid = readFileSync(join(this.folder, "mullion", `${NAME}.pid`), "utf8").trim();
    const ticks = (): number => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return Number(fields[11]) + Number(fields[12]);
    };
    // What the load has left to do is done.
    await sleep(IDLE_MS);
    const before = ticks();
    await sleep(IDLE_MS);
    return ((ticks() - before) / TICKS_PER_S / (IDLE_MS / 1_000)) * 100;
  }

  close(): void {
    for (const server of this.servers) server.kill();
    this.mullion("down");
    rmSync(this.folder, { recursive: true, force: true });
  }

  private addVxlan(): void {
    const { stdout } = this.mullion("get", "networks", "-o", "json");
    for (const words of flannelDeviceCommands(stdout, "noudpcsum")) within(`mullion-${NAME}`, ...words);
  }

  private static addressIn(namespace: string): string {
    const text = within(namespace, "ip", "-4", "address", "show", "eth0");
    return /inet ([\d.]+)/.exec(text)?.[1] ?? "";
  }

  private mullion(...words: readonly string[]): SpawnSyncReturns<string> {
    return spawnSync(process.execPath, ["bin/mullion.js", ...words], { encoding: "utf8", env: this.env });
  }
}

/** Ctrl-C: what runs ends, and nothing new begins. */
let isEnding = false;

interface Bench {
  readonly kinds: Kinds;
  readonly rounds: number;
  readonly kernel: KernelPeer;
  readonly ovs: OpenVswitchPeer;
  readonly slirp: SlirpPeer;
  readonly figures: LiveFigure[];
}

/** One after the other in turns, so that what disturbs the machine disturbs all of them. */
function compare({ name, ours, peers, kinds }: Row, bench: Bench): void {
  for (const kind of isEnding ? [] : kinds) {
    const rounds = Array.from({ length: bench.rounds }, () => ({
      own: bench.kinds.measure(kind, ours),
      others: peers.map(({ path }) => bench.kinds.measure(kind, path)),
    }));
    const own = median(rounds.map((each) => each.own));
    const compared = peers.map((peer, index) => {
      const values = rounds.map((each) => each.others[index] ?? Number.NaN);
      const ratio = median(rounds.map((each, round) => each.own / (values[round] ?? Number.NaN)));
      return { peer: peer.name, value: median(values), ratio };
    });
    for (const { peer, value, ratio } of compared)
      bench.figures.push({ way: name, kind, own, peer, value, ratio });
    const others = compared.map(
      ({ peer, value, ratio }) => `${peer} ${value.toFixed(2)} ${ratio.toFixed(2)} ×`,
    );
    process.stdout.write(
      `  ${name.padEnd(24)} ${kind.padEnd(14)} ${own.toFixed(2).padStart(9)} ${UNITS[kind].padEnd(7)} ${others.join(", ")}\n`,
    );
  }
}

const ALL: readonly Kind[] = [
  "TCP, 1 flow",
  "TCP, 4 flows",
  "UDP, 18 bytes",
  "connections",
  "RTT",
  "RTT, loaded",
];
/** ICMP to a front end meets no rule. */
const BALANCED: readonly Kind[] = ["TCP, 1 flow", "TCP, 4 flows", "UDP, 18 bytes", "connections"];
/** To the kernel's VXLAN device, in the namespace of the segment. */
const TUNNELLED: readonly Kind[] = ["TCP, 1 flow", "TCP, 4 flows", "UDP, 18 bytes"];
/** Of ways that differ from those of L2Bridge in little. */
const SOME: readonly Kind[] = ["TCP, 1 flow", "UDP, 18 bytes", "RTT"];

function rowsOf(driver: string, live: LiveBench, { kernel, ovs, slirp }: Bench): readonly Row[] {
  const bridge = { name: "kernel", path: kernel.bridge };
  const switched = [bridge, { name: "Open vSwitch", path: ovs.path }];
  const near = live.path(live.addressOf("near"));
  const kinds = FLAT.includes(driver) ? SOME : ALL;
  const rows: Row[] = [{ name: `${driver}, one node`, ours: near, peers: switched, kinds }];
  // Containers behind WinNAT do not reach those of another host.
  if (driver !== "NAT") {
    const peers = driver === "Overlay" ? [{ name: "kernel", path: kernel.vxlan }] : switched;
    rows.push({ name: `${driver}, other node`, ours: live.path(live.addressOf("far")), peers, kinds });
  }
  if (driver === "Overlay") {
    const peers = [{ name: "kernel", path: kernel.vxlan }];
    rows.push({
      name: `${driver}, kernel VXLAN`,
      ours: live.path(FLANNEL_DEVICE.pod),
      peers,
      kinds: TUNNELLED,
    });
  }
  if (driver === "L2Bridge") {
    const peers = [{ name: "kernel", path: kernel.nat }];
    rows.push({ name: `${driver}, ClusterIP`, ours: live.path("10.96.0.77"), peers, kinds: BALANCED });
  }
  // L2Bridge does not translate towards the nodes' own network.
  if (driver !== "L2Bridge") {
    const peers = [bridge, { name: "slirp4netns", path: slirp.path }];
    rows.push({
      name: `${driver}, outside`,
      ours: live.path(live.outside),
      peers,
      kinds: FLAT.includes(driver) ? SOME.slice(0, 1) : BALANCED,
    });
  }
  return rows;
}

async function measureDriver(driver: string, bench: Bench): Promise<void> {
  const live = new LiveBench(driver, bench.kinds);
  try {
    for (const row of rowsOf(driver, live, bench)) compare(row, bench);
    const own = await live.idle();
    bench.figures.push({ way: driver, kind: IDLE, own });
    process.stdout.write(`  ${driver}: idle, processor time ${own.toFixed(1)} %\n`);
  } finally {
    live.close();
  }
}

const missing = NEEDED.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);
if (missing.length > 0 || process.getuid?.() !== 0) {
  process.stderr.write(
    `bench/live.ts needs root and, from Debian: gcc libc6-dev iperf3 nftables iproute2 iputils-ping openvswitch-switch slirp4netns. Missing: ${missing.join(", ") || "root"}\n`,
  );
  process.exit(2);
}
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    driver: { type: "string", multiple: true, default: ["L2Bridge", "Overlay", "NAT", ...FLAT] },
    write: { type: "boolean", default: false },
  },
});
// `finally` takes everything away.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void (isEnding = true));
const where = describeRun();
// Of other programs: where they are many, the kernel's side gains, which works in the time of its callers.
const [, loadBefore = 0] = loadavg();
process.stdout.write(`${where}\n  ours; those of others, and the median of the ratios of ours to them\n`);
const folder = mkdtempSync(join(tmpdir(), "mullion-bench-peers-"));
const figures: LiveFigure[] = [];
const closers: (() => void)[] = [() => rmSync(folder, { recursive: true, force: true })];
function opened<T extends { close(): void }>(part: T): T {
  closers.push(() => part.close());
  return part;
}
try {
  const kinds = new Kinds(folder, Number(values.seconds));
  const bench: Bench = {
    kinds,
    rounds: Number(values.rounds),
    kernel: opened(new KernelPeer(kinds)),
    ovs: opened(new OpenVswitchPeer(kinds, folder)),
    slirp: opened(new SlirpPeer(kinds)),
    figures,
  };
  for (const driver of values.driver) await measureDriver(driver, bench);
} finally {
  for (const close of closers.toReversed()) close();
}
if (values.write && !isEnding) {
  const others = `load average ${loadBefore.toFixed(1)} when it began`;
  const conditions = `${where}; ${values.rounds} rounds of ${values.seconds} s; ${others}`;
  writeFileSync(README, withLiveTable(readFileSync(README, "utf8"), conditions, figures));
}
