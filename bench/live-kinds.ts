/** What is measured over a way between two namespaces: iperf3, ping, and connections that come and go. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";

/** Two namespaces, and an address of the second one that the first one sends to. */
export interface Path {
  readonly from: string;
  readonly to: string;
}

/** More is better but of RTT. */
export type Kind = "TCP, 1 flow" | "TCP, 4 flows" | "UDP, 18 bytes" | "connections" | "RTT" | "RTT, loaded";

export const UNITS: Readonly<Record<Kind, string>> = {
  "TCP, 1 flow": "Gbit/s",
  "TCP, 4 flows": "Gbit/s",
  "UDP, 18 bytes": "k/s",
  connections: "k/s",
  RTT: "µs",
  "RTT, loaded": "µs",
};

const IPERF: Readonly<Record<"TCP, 1 flow" | "TCP, 4 flows" | "UDP, 18 bytes", readonly string[]>> = {
  "TCP, 1 flow": [],
  "TCP, 4 flows": ["-P", "4"],
  "UDP, 18 bytes": ["-u", "-l", "18", "-b", "0"],
};

/** Beside iperf3's. */
export const CONNECTIONS_PORT = 5_202;
/** A way that leads nowhere is a fault, and not waited for. */
const CONNECT = ["--connect-timeout", "5000"];

export function within(namespace: string, ...words: readonly string[]): string {
  return execFileSync("ip", ["netns", "exec", namespace, ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

interface IperfEnd {
  readonly sum_received?: { readonly bits_per_second: number };
  readonly sum?: { readonly packets: number; readonly lost_packets: number; readonly seconds: number };
}

function medianOfPings(out: string): number {
  return median([...out.matchAll(/time=([\d.]+) ms/g)].map(([, ms]) => Number(ms) * 1_000));
}

/** Measures, and serves what is measured against, with a program of `folder`. */
export class Kinds {
  private readonly program: string;
  private readonly seconds: number;

  constructor(folder: string, seconds: number) {
    this.program = join(folder, "connections");
    this.seconds = seconds;
    execFileSync("gcc", ["-O2", "bench/live-connections.c", "-o", this.program], { stdio: "inherit" });
  }

  /** Starts the servers of a namespace. */
  serve(namespace: string): readonly ChildProcess[] {
    const words = [
      ["iperf3", "-s"],
      [this.program, "serve", `${CONNECTIONS_PORT}`],
    ];
    return words.map((command) => spawn("ip", ["netns", "exec", namespace, ...command], { stdio: "ignore" }));
  }

  measure(kind: Kind, path: Path): number {
    if (kind === "RTT" || kind === "RTT, loaded") return this.ping(path, kind === "RTT, loaded");
    if (kind === "connections") {
      const words = [this.program, "call", path.to, `${CONNECTIONS_PORT}`, `${this.seconds}`];
      return Number(within(path.from, ...words)) / this.seconds / 1_000;
    }
    const { sum, sum_received: received } = this.iperf(path, IPERF[kind]);
    if (kind === "UDP, 18 bytes")
      return sum === undefined ? Number.NaN : (sum.packets - sum.lost_packets) / sum.seconds / 1_000;
    return (received?.bits_per_second ?? Number.NaN) / 1e9;
  }

  private ping({ from, to }: Path, isLoaded: boolean): number {
    const seconds = Math.ceil(this.seconds);
    const ping = `ping -n -i 0.01 -c ${seconds * 100} ${to}`;
    const load = `iperf3 -c ${to} -t ${seconds * 2} > /dev/null & sleep 0.5`;
    return medianOfPings(within(from, "sh", "-c", isLoaded ? `${load}; ${ping}; wait` : ping));
  }

  private iperf({ from, to }: Path, words: readonly string[]): IperfEnd {
    const text = within(
      from,
      "iperf3",
      "-J",
      "-c",
      to,
      "-t",
      `${Math.ceil(this.seconds)}`,
      ...CONNECT,
      ...words,
    );
    return (JSON.parse(text) as { readonly end: IperfEnd }).end;
  }
}
