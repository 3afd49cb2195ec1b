/**
 * A program of this machine's kernel at the far end of a TAP: TCP connections by plan, each with what it sends, when it reads
 * and how it ends. Between it and the TAP a namespace routes, so that the path may be narrower than the link.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { TapDevice } from "#dataplane/device/linux/tap.node.ts";
import { NetworkNamespace } from "#dataplane/device/linux/network-namespace.node.ts";
import type { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";

/** How long a stream is; its bytes follow from the id of the connection. */
export interface KernelPlan {
  readonly id: number;
  /** The kernel connects, and not the other side. */
  readonly connects: boolean;
  readonly bytes: number;
  /** It begins to read only then, so that its window closes. */
  readonly readsAfterMs: number;
  /** It ends the connection with a reset then; undefined: it finishes. */
  readonly resetsAfterMs: number | undefined;
  /** It finishes when the other side has, and not when all is sent. */
  readonly finishesLast: boolean;
}

/** What the kernel saw of a connection. */
export interface KernelEnd {
  readonly id: number;
  readonly received: number;
  /** What came is the begin of the other side's stream. */
  readonly isRight: boolean;
  readonly sawFinish: boolean;
  /** `ECONNRESET`, or another. */
  readonly error?: string;
}

/** Byte `index` of the stream that a side of the connection `id` sends. */
export function streamByte(id: number, index: number): number {
  return (id * 31 + index * 7 + (index >> 8)) & 0xff;
}

export const KERNEL_ADDRESS = "198.51.100.2";
export const OUR_ADDRESS = "192.0.2.10";
export const GATEWAY = "192.0.2.1";
export const KERNEL_PORT = 7_000;
/** Where it connects to. */
export const OUR_PORT = 7_001;
/** The source port of a connection is this and its id. */
export const FIRST_SOURCE_PORT = 20_000;

const PROGRAM = `
const net = require("node:net");
${streamByte.toString()}
const byte = streamByte;
const plans = new Map();
function run(plan, socket) {
  const seen = { id: plan.id, received: 0, isRight: true, sawFinish: false };
  socket.setKeepAlive(true, 1000);
  socket.pause();
  setTimeout(() => socket.resume(), plan.readsAfterMs);
  socket.on("data", (piece) => {
    for (const value of piece) if (value !== byte(plan.id, seen.received++)) seen.isRight = false;
  });
  socket.on("end", () => { seen.sawFinish = true; if (plan.finishesLast) socket.end(); });
  socket.on("error", (error) => { seen.error = error.code; });
  socket.on("close", () => console.log(JSON.stringify(seen)));
  const all = Buffer.from(Array.from({ length: plan.bytes }, (_, index) => byte(plan.id, index)));
  if (plan.finishesLast) socket.write(all); else socket.end(all);
  // While Node shuts a socket down, it cannot reset it (EINVAL), and then leaves it open for ever.
  const reset = () => {
    if (socket.writableEnded && !socket.writableFinished) socket.once("finish", reset);
    else socket.resetAndDestroy();
  };
  if (plan.resetsAfterMs !== undefined) setTimeout(reset, plan.resetsAfterMs);
}
const early = new Map();
const server = net.createServer({ allowHalfOpen: true }, (socket) => {
  const id = socket.remotePort - ${FIRST_SOURCE_PORT};
  const plan = plans.get(id);
  if (plan !== undefined) return run(plan, socket);
  // It is here before its plan.
  socket.on("error", () => {});
  early.set(id, socket);
});
server.listen({ port: ${KERNEL_PORT}, host: "0.0.0.0", backlog: 1024 }, () => console.log("{}"));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const plan = JSON.parse(line);
  plans.set(plan.id, plan);
  if (early.has(plan.id)) run(plan, early.get(plan.id));
  if (plan.connects)
    run(plan, net.connect({ port: ${OUR_PORT}, host: "${OUR_ADDRESS}", localPort: ${FIRST_SOURCE_PORT} + plan.id, allowHalfOpen: true }));
}).on("close", () => process.exit());`;

/** Else what is lost is waited for up to a quarter of an hour. */
const SETTINGS: Readonly<Record<string, string>> = {
  tcp_fin_timeout: "3",
  tcp_keepalive_intvl: "1",
  tcp_keepalive_probes: "20",
  // Small windows, that close.
  tcp_rmem: "4096 8192 16384",
};

export interface KernelPeerOptions {
  readonly hasOffloads: boolean;
  /** Of the way between the router and the program. */
  readonly pathMtuBytes: number;
}

export class KernelPeer {
  readonly tap: TapDevice;
  /** Resolves with each end that the kernel has seen. */
  readonly ends: KernelEnd[] = [];
  private readonly namespaces: readonly NetworkNamespace[];
  private readonly program: ChildProcess;
  private readonly listening: Promise<unknown>;

  private constructor(tap: TapDevice, namespaces: readonly NetworkNamespace[], program: ChildProcess) {
    this.tap = tap;
    this.namespaces = namespaces;
    this.program = program;
    const lines = createInterface({ input: program.stdout! });
    this.listening = once(lines, "line");
    void this.listening.then(() => lines.on("line", (line) => this.ends.push(JSON.parse(line) as KernelEnd)));
  }

  static async open(
    calls: SystemCalls,
    { hasOffloads, pathMtuBytes }: KernelPeerOptions,
  ): Promise<KernelPeer> {
    const far = NetworkNamespace.make(calls, () => undefined).namespace;
    const farPath = `/proc/${process.pid}/fd/${far.fd}`;
    const { namespace: router, built: tap } = NetworkNamespace.make(calls, () => {
      const made = TapDevice.open(calls, { name: "tap0", mtuBytes: 1_500, hasOffloads });
      const script = `set -e
        ip link set tap0 up
        ip address add ${GATEWAY}/24 dev tap0
        echo 1 > /proc/sys/net/ipv4/ip_forward
        ip link add far mtu ${pathMtuBytes} up type veth peer name eth0 mtu ${pathMtuBytes} netns /proc/self/fd/3
        ip address add 198.51.100.1/24 dev far`;
      // ip(8) names namespaces by a process or a path.
      execFileSync("sh", ["-c", script.replace("/proc/self/fd/3", farPath)]);
      return made;
    });
    const settings = Object.entries(SETTINGS)
      .map(([name, value]) => `echo ${value} > /proc/sys/net/ipv4/${name}`)
      .join("; ");
    const start = `ip link set lo up; ip link set eth0 up; ip address add ${KERNEL_ADDRESS}/24 dev eth0
      ip route add default via 198.51.100.1; ${settings}; exec "$@"`;
    const words = [`--net=${farPath}`, "sh", "-ec", start, "sh", process.execPath, "-e", PROGRAM];
    const program = spawn("nsenter", words, { stdio: ["pipe", "pipe", "inherit"] });
    const peer = new KernelPeer(tap, [router, far], program);
    await peer.listening;
    return peer;
  }

  plan(plan: KernelPlan): void {
    this.program.stdin!.write(`${JSON.stringify(plan)}\n`);
  }

  async close(): Promise<void> {
    const ended = once(this.program, "exit");
    this.program.stdin!.end();
    await ended;
    this.tap.close();
    for (const namespace of this.namespaces) namespace.close();
  }
}
