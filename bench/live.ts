/**
 * What do real programs in real pods get from us, against the kernel's own bridge, VXLAN and nftables in the same minute?
 * Not one of `npm run bench`, since it needs root, /dev/net/tun and programs of Debian:
 * `apt-get install iperf3 nftables iproute2 iputils-ping`, then `node bench/live.ts [--seconds 2] [--rounds 3]`.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { describeRun } from "./measure.ts";

const NEEDED = ["iperf3", "nft", "ip", "ping"];
const NAME = `bench${process.pid}`;
const KERNEL = `mullion-bench-kernel${process.pid}`;
const TICKS_PER_S = 100;
const IDLE_MS = 3_000;

/** Two namespaces, and an address of the second one that the first one sends to. */
interface Path {
  readonly from: string;
  readonly to: string;
}

type Kind = "TCP, 1 flow" | "TCP, 4 flows" | "UDP, 18 bytes" | "RTT";

/** What is measured over a path, as iperf3 and ping are called; more is better but of RTT. */
const KINDS: Readonly<Record<Kind, { readonly words: readonly string[]; readonly unit: string }>> = {
  "TCP, 1 flow": { words: [], unit: "Gbit/s" },
  "TCP, 4 flows": { words: ["-P", "4"], unit: "Gbit/s" },
  "UDP, 18 bytes": { words: ["-u", "-l", "18", "-b", "0"], unit: "k/s" },
  RTT: { words: [], unit: "µs" },
};

interface Row {
  readonly name: string;
  readonly ours: Path;
  readonly kernel: Path;
  readonly kinds: readonly Kind[];
}

function within(namespace: string, ...words: readonly string[]): string {
  return execFileSync("ip", ["netns", "exec", namespace, ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** A way that leads nowhere is a fault, and not waited for. */
const CONNECT = ["--connect-timeout", "5000"];

interface IperfEnd {
  readonly sum_received?: { readonly bits_per_second: number };
  readonly sum?: { readonly packets: number; readonly lost_packets: number; readonly seconds: number };
}

function iperf({ from, to }: Path, words: readonly string[], seconds: number): IperfEnd {
  const text = within(from, "iperf3", "-J", "-c", to, "-t", `${seconds}`, ...CONNECT, ...words);
  return (JSON.parse(text) as { readonly end: IperfEnd }).end;
}

function measureKind(kind: Kind, path: Path, seconds: number): number {
  if (kind === "RTT") {
    const out = within(path.from, "ping", "-n", "-i", "0.01", "-c", "200", path.to);
    return median([...out.matchAll(/time=([\d.]+) ms/g)].map(([, ms]) => Number(ms) * 1_000));
  }
  const { sum, sum_received: received } = iperf(path, KINDS[kind].words, seconds);
  if (kind === "UDP, 18 bytes")
    return sum === undefined ? Number.NaN : (sum.packets - sum.lost_packets) / sum.seconds / 1_000;
  return (received?.bits_per_second ?? Number.NaN) / 1e9;
}

function clusterFile(driver: string): string {
  const vni = driver === "Overlay" ? ", name: vxlan0, vni: 4096" : "";
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: bench }
nodes:
  - { name: win-1, os: windows, build: ws2025, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2025, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
network: { driver: ${driver}${vni} }
pods:
  - { name: client, node: win-1 }
  - { name: near, node: win-1, labels: { app: near } }
  - { name: far, node: win-2 }
workloads:
  - { pod: client, command: [sleep, infinity] }
  - { pod: near, command: [iperf3, -s] }
  - { pod: far, command: [iperf3, -s] }
---
apiVersion: v1
kind: Service
metadata: { name: near }
spec:
  clusterIP: 10.96.0.77
  selector: { app: near }
  ports: [{ name: t, port: 5201, targetPort: 5201 }, { name: u, port: 5201, targetPort: 5201, protocol: UDP }]
`;
}

/** A cluster that is up, and a server on the segment beside its nodes. */
class LiveBench {
  private readonly folder = mkdtempSync(join(tmpdir(), "mullion-bench-"));
  private readonly env = { ...process.env, XDG_RUNTIME_DIR: this.folder, MULLION_NAME: NAME };
  private readonly server: ChildProcess;

  constructor(driver: string) {
    const file = join(this.folder, "cluster.yaml");
    writeFileSync(file, clusterFile(driver));
    const { status, stderr } = this.mullion("up", "-f", file, "--live");
    if (status !== 0) throw new Error(stderr);
    this.server = serve(`mullion-${NAME}`);
  }

  path(to: string): Path {
    return { from: `mullion-${NAME}_client`, to };
  }

  addressOf(pod: string): string {
    const text = within(`mullion-${NAME}_${pod}`, "ip", "-4", "address", "show", "eth0");
    return /inet ([\d.]+)/.exec(text)?.[1] ?? "";
  }

  /** Processor time that the cluster takes while nothing passes, in percent. */
  async idle(): Promise<number> {
    const pid = readFileSync(join(this.folder, "mullion", `${NAME}.pid`), "utf8").trim();
    const ticks = (): number => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return Number(fields[11]) + Number(fields[12]);
    };
    const before = ticks();
    await sleep(IDLE_MS);
    return ((ticks() - before) / TICKS_PER_S / (IDLE_MS / 1_000)) * 100;
  }

  close(): void {
    this.server.kill();
    this.mullion("down");
    rmSync(this.folder, { recursive: true, force: true });
  }

  private mullion(...words: readonly string[]): { readonly status: number | null; readonly stderr: string } {
    return spawnSync(process.execPath, ["bin/mullion.js", ...words], { encoding: "utf8", env: this.env });
  }
}

function serve(namespace: string): ChildProcess {
  return spawn("ip", ["netns", "exec", namespace, "iperf3", "-s"], { stdio: "ignore" });
}

/** Two namespaces on a bridge of the kernel, a VXLAN device in each, and nftables' translation in the first. */
class KernelBench {
  readonly bridge: Path = { from: `${KERNEL}a`, to: "10.9.0.2" };
  readonly vxlan: Path = { from: `${KERNEL}a`, to: "10.8.0.2" };
  readonly nat: Path = { from: `${KERNEL}a`, to: "10.96.0.77" };
  private readonly server: ChildProcess;

  constructor() {
    const ip = (text: string): void => void execFileSync("ip", text.split(" "));
    ip(`netns add ${KERNEL}s`);
    ip(`-n ${KERNEL}s link add br0 up type bridge`);
    for (const [side, last] of [
      ["a", 1],
      ["b", 2],
    ] as const) {
      const own = `-n ${KERNEL}${side}`;
      ip(`netns add ${KERNEL}${side}`);
      ip(`${own} link add eth0 up type veth peer name v${side} netns ${KERNEL}s`);
      ip(`-n ${KERNEL}s link set v${side} master br0 up`);
      ip(`${own} address add 10.9.0.${last}/24 dev eth0`);
      ip(`${own} link add vx0 mtu 1450 type vxlan id 4096 remote 10.9.0.${3 - last} dstport 4789 dev eth0`);
      ip(`${own} address add 10.8.0.${last}/24 dev vx0`);
      ip(`${own} link set vx0 up`);
    }
    ip(`-n ${KERNEL}a route add 10.96.0.0/16 via 10.9.0.2`);
    const rules =
      "table ip nat { chain out { type nat hook output priority -100; ip daddr 10.96.0.77 dnat to 10.9.0.2; }; }";
    within(`${KERNEL}a`, "nft", rules);
    this.server = serve(`${KERNEL}b`);
  }

  close(): void {
    this.server.kill();
    for (const side of ["a", "b", "s"]) spawnSync("ip", ["netns", "delete", `${KERNEL}${side}`]);
  }
}

/** Ctrl-C: what runs ends, and nothing new begins. */
let isEnding = false;

interface Options {
  readonly seconds: number;
  readonly rounds: number;
}

function compare({ name, ours, kernel, kinds }: Row, { seconds, rounds }: Options): void {
  for (const kind of isEnding ? [] : kinds) {
    const pairs = Array.from({ length: rounds }, () => {
      const own = measureKind(kind, ours, seconds);
      return { own, peer: measureKind(kind, kernel, seconds) };
    });
    const ratio = median(pairs.map(({ own, peer }) => own / peer));
    const { unit } = KINDS[kind];
    const [own, peer] = [median(pairs.map((each) => each.own)), median(pairs.map((each) => each.peer))];
    process.stdout.write(
      `  ${name.padEnd(34)} ${kind.padEnd(14)} ${own.toFixed(2).padStart(9)} ${unit.padEnd(7)} ${peer.toFixed(2).padStart(9)} ${ratio.toFixed(3).padStart(8)} ×\n`,
    );
  }
}

const ALL: readonly Kind[] = ["TCP, 1 flow", "TCP, 4 flows", "UDP, 18 bytes", "RTT"];
const TCP: readonly Kind[] = ["TCP, 1 flow"];
/** ICMP to a front end meets no rule. */
const BALANCED: readonly Kind[] = ["TCP, 1 flow", "TCP, 4 flows", "UDP, 18 bytes"];

async function measureDriver(driver: string, kernel: KernelBench, options: Options): Promise<void> {
  const bench = new LiveBench(driver);
  try {
    const [near, far] = [bench.path(bench.addressOf("near")), bench.path(bench.addressOf("far"))];
    const isOverlay = driver === "Overlay";
    const wide = isOverlay || driver === "L2Bridge" ? ALL : TCP;
    compare({ name: `${driver}: pod, one node`, ours: near, kernel: kernel.bridge, kinds: wide }, options);
    const peer = isOverlay ? kernel.vxlan : kernel.bridge;
    // Containers behind WinNAT do not reach those of another host.
    if (driver !== "NAT")
      compare({ name: `${driver}: pod, other node`, ours: far, kernel: peer, kinds: wide }, options);
    if (driver === "L2Bridge") {
      const service = bench.path("10.96.0.77");
      compare({ name: `${driver}: ClusterIP`, ours: service, kernel: kernel.nat, kinds: BALANCED }, options);
    }
    // L2Bridge does not translate towards the nodes' own network.
    if (driver !== "L2Bridge") {
      const outside = bench.path("10.0.0.253");
      compare({ name: `${driver}: outside`, ours: outside, kernel: kernel.bridge, kinds: TCP }, options);
    }
    process.stdout.write(`  ${driver}: idle, processor time ${(await bench.idle()).toFixed(1)} %\n`);
  } finally {
    bench.close();
  }
}

const missing = NEEDED.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);
if (missing.length > 0 || process.getuid?.() !== 0) {
  process.stderr.write(
    `bench/live.ts needs root and, from Debian: iperf3 nftables iproute2 iputils-ping. Missing: ${missing.join(", ") || "root"}\n`,
  );
  process.exit(2);
}
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    driver: { type: "string", multiple: true, default: ["L2Bridge", "Overlay", "NAT"] },
  },
});
// `finally` takes everything away.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void (isEnding = true));
process.stdout.write(`${describeRun()}\n  ours, the kernel's, and the median of their ratios\n`);
const kernel = new KernelBench();
try {
  for (const driver of values.driver)
    await measureDriver(driver, kernel, { seconds: Number(values.seconds), rounds: Number(values.rounds) });
} finally {
  kernel.close();
}
