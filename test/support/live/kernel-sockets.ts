/** Sockets of this machine's kernel behind a TAP, for a forger who speaks with them frame by frame and asks for their states. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { NetworkNamespace } from "#dataplane/device/linux/network-namespace.node.ts";
import { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import { TapDevice } from "#dataplane/device/linux/tap.node.ts";
import type { Packet } from "#core/wire/packet.ts";

export const KERNEL_IP = "192.0.2.1";
export const FORGER_IP = "192.0.2.10";
export const KERNEL_MAC = "02-00-00-00-00-01";
export const FORGER_MAC = "02-00-00-00-00-10";
const FRAMES_MAX = 64;

/** A socket closes its side alone when it is told to; what else it sends, the kernel sends by itself. */
const PROGRAM = `
const net = require("node:net");
const sockets = new Map();
const keep = (port, socket) => {
  sockets.set(port, socket);
  socket.on("error", () => {}).resume();
};
net.createServer({ allowHalfOpen: true }, (socket) => keep(socket.remotePort, socket))
  .listen(Number(process.argv[1]), "${KERNEL_IP}", () => console.log("listens"));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [word, port] = line.split(" ");
  if (word === "connect") keep(Number(port), net.connect({ host: "${FORGER_IP}", port: Number(port), allowHalfOpen: true }));
  else sockets.get(Number(port))?.end();
}).on("close", () => process.exit());`;

export class KernelSockets {
  private readonly tap: TapDevice;
  private readonly namespace: NetworkNamespace;
  private readonly program: ChildProcess;
  private readonly frames: Uint8Array[] = [];

  private constructor(tap: TapDevice, namespace: NetworkNamespace, program: ChildProcess) {
    this.tap = tap;
    this.namespace = namespace;
    this.program = program;
    tap.attach({ receive: (packet) => void this.frames.push(packet.bytes.slice(packet.start, packet.end)) });
  }

  /** Listens on `port`. */
  static async open(port: number): Promise<KernelSockets> {
    const calls = new SystemCalls();
    const { namespace, built: tap } = NetworkNamespace.make(calls, () => {
      const made = TapDevice.open(calls, { name: "tap0", mtuBytes: 1_500 });
      const [own, forger] = [KERNEL_MAC, FORGER_MAC].map((mac) => mac.replaceAll("-", ":"));
      const script = `set -e
        echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
        ip link set tap0 address ${own} up
        ip address add ${KERNEL_IP}/24 dev tap0
        ip neighbour add ${FORGER_IP} lladdr ${forger} dev tap0`;
      execFileSync("sh", ["-c", script]);
      return made;
    });
    const words = [
      `--net=/proc/${process.pid}/fd/${namespace.fd}`,
      process.execPath,
      "-e",
      PROGRAM,
      `${port}`,
    ];
    const program = spawn("nsenter", words, { stdio: ["pipe", "pipe", "inherit"] });
    await once(createInterface({ input: program.stdout }), "line");
    return new KernelSockets(tap, namespace, program);
  }

  connect(port: number): void {
    this.program.stdin?.write(`connect ${port}\n`);
  }

  /** Closes the side of the socket whose peer has the port. */
  finish(port: number): void {
    this.program.stdin?.write(`finish ${port}\n`);
  }

  send(packet: Packet): void {
    this.tap.transmit(packet);
  }

  /** What the kernel sent since it was asked last, within `forMs` from now. */
  async take(forMs: number): Promise<readonly Uint8Array[]> {
    await sleep(forMs);
    this.tap.readBurst(FRAMES_MAX);
    return this.frames.splice(0);
  }

  /** As `ss` names it, of the connection whose peer has the port; `CLOSED`: there is none. */
  state(port: number): string {
    const filter = `( dport = :${port} )`;
    const words = [`--net=/proc/${process.pid}/fd/${this.namespace.fd}`, "ss", "-Htan", filter];
    return /^\S+/.exec(execFileSync("nsenter", words, { encoding: "utf8" }))?.[0] ?? "CLOSED";
  }

  async close(): Promise<void> {
    const ended = once(this.program, "exit");
    this.program.stdin?.end();
    await ended;
    this.tap.close();
    this.namespace.close();
  }
}
