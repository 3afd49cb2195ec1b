/**
 * Packet walks in the notation of dataplane.md §0.4, so that a test reads like the table it comes from:
 * A, B pods on W1, C on W2, D on L1, X outside, `Am` a MAC, BR1 a bridge endpoint, p the client's port, q a NAT port.
 */
import { readU16, readU48, readU8 } from "#core/base/bytes.ts";
import type { Cluster } from "#cluster/cluster.ts";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { openCluster } from "#cluster/session/open-cluster.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import type { HeardEvent } from "#cluster/trace/trace-collector.ts";
import type { ProbeProtocol, TraceReport } from "#cluster/trace/trace-report.ts";
import type { Ip } from "#core/net/ip.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";

/** Where a packet stands: what `1 A stack`, `4 wire` of a table become. */
export interface Stage {
  /** `send A`, `forward W1`, `wire`, `deliver C`, `drop R`. */
  readonly at: string;
  readonly eth: string;
  readonly ip: string;
  readonly ttl: number;
  /** Absent for ICMP. */
  readonly l4?: string;
}

export interface Walk {
  readonly forward: readonly Stage[];
  readonly reply: readonly Stage[];
  readonly report: TraceReport;
}

const STAGE_KINDS: ReadonlySet<string> = new Set(["send", "forward", "wire", "deliver", "drop"]);

/** Parses a cluster file that a test wrote; its problems are the test's. */
export async function openTestCluster(text: string): Promise<Cluster> {
  const parsed = parseClusterFile(text, "test.yaml");
  if (!("cluster" in parsed)) throw new Error(parsed.problems.map((problem) => problem.message).join("\n"));
  return openCluster(parsed.cluster);
}

/** The symbols of §0.4 for the machines of one cluster. */
class Symbols {
  readonly machines = new Map<string, string>();
  private readonly ips = new Map<Ip, string>();
  private readonly macs = new Map<Mac, string>();
  private readonly ports = new Map<number, string>();

  /** `names`: further addresses, such as those of services. */
  constructor(cluster: Cluster, names: Readonly<Record<string, string>>) {
    const counts = { windows: 0, linux: 0 };
    for (const { spec, host } of cluster.nodes) {
      const symbol = `${spec.os === "windows" ? "W" : "L"}${++counts[spec.os]}`;
      this.machines.set(spec.name, symbol);
      this.ips.set(spec.address, symbol);
      for (const each of host.root.listInterfaces()) {
        const isAdapter = each.hasAddress(spec.address);
        const leg = spec.os === "windows" ? `BR${symbol.slice(1)}` : `${symbol}b`;
        this.macs.set(each.mac, isAdapter ? `${symbol}m` : `${leg}m`);
        for (const { ip } of each.addresses) if (!isAdapter) this.ips.set(ip, leg);
      }
    }
    for (const pod of cluster.pods) {
      this.ips.set(pod.address, pod.spec.name.toUpperCase());
      for (const each of pod.compartment.listInterfaces())
        this.macs.set(each.mac, `${pod.spec.name.toUpperCase()}m`);
    }
    for (const outside of cluster.outside) this.ips.set(outside.ip, "X");
    for (const each of cluster.underlay.router.compartment.listInterfaces()) {
      this.macs.set(each.mac, "Rm");
      for (const { ip } of each.addresses) this.ips.set(ip, "R");
    }
    for (const [text, name] of Object.entries(names)) {
      const ip = parseIp(text);
      if (ip !== undefined) this.ips.set(ip, name);
    }
  }

  ip(ip: Ip): string {
    return this.ips.get(ip) ?? formatIp(ip);
  }

  mac(mac: Mac): string {
    return this.macs.get(mac) ?? formatMac(mac);
  }

  /** The port of the client's first packet is p; a port that NAT chose is q. */
  port(port: number): string {
    return this.ports.get(port) ?? String(port);
  }

  namePort(port: number, symbol: string): void {
    this.ports.set(port, symbol);
  }

  /** `pod default/a` is A, the host's compartment its machine. */
  place(event: HeardEvent["event"]): string {
    const pod = /^pod [^/]+\/(.+)$/.exec(event.place);
    if (pod?.[1] !== undefined) return pod[1].toUpperCase();
    return this.machines.get(event.node) ?? (event.node.startsWith("router") ? "R" : "X");
  }
}

function stageOf(heard: HeardEvent, symbols: Symbols): Stage {
  const { frame } = heard;
  const headers = new Headers();
  headers.parseBytes(frame, 0, frame.length);
  const mac = (offset: number): string => symbols.mac(readU48(frame, offset) as Mac);
  const port = (offset: number): string => symbols.port(readU16(frame, headers.transport + offset));
  const hasPorts = headers.protocol === 6 || headers.protocol === 17;
  return {
    at: heard.event.kind === "wire" ? "wire" : `${heard.event.kind} ${symbols.place(heard.event)}`,
    eth: `${mac(6)}→${mac(0)}`,
    ip: `${symbols.ip(sourceIp(frame, headers))}→${symbols.ip(destinationIp(frame, headers))}`,
    ttl: readU8(frame, headers.network + 8),
    ...(hasPorts ? { l4: `${port(0)}→${port(2)}` } : {}),
  };
}

/** Names p and q from the ports that the packet had. */
function namePorts(events: readonly HeardEvent[], symbols: Symbols): void {
  const headers = new Headers();
  const seen: number[] = [];
  for (const { frame } of events) {
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.transport < 0) continue;
    const source = readU16(frame, headers.transport);
    if (!seen.includes(source)) seen.push(source);
  }
  for (const [index, port] of seen.entries()) symbols.namePort(port, index === 0 ? "p" : "q");
}

/** Follows one packet and its answer from stage to stage. */
export function walk(
  cluster: Cluster,
  from: string,
  to: string,
  options: {
    readonly protocol?: ProbeProtocol;
    readonly port?: number;
    /** Symbols of addresses that are no machine's: `{"10.96.0.50": "V"}`. */
    readonly names?: Readonly<Record<string, string>>;
  } = {},
): Walk {
  const { names = {}, ...request } = options;
  const symbols = new Symbols(cluster, names);
  const { report, heard } = tracePacket(cluster, { protocol: "tcp", port: undefined, ...request, from, to });
  const stages = heard.filter(({ event }) => STAGE_KINDS.has(event.kind));
  const [first] = stages;
  const forward = stages.filter(({ tag }) => tag === 1);
  namePorts(forward, symbols);
  const isAgain = (each: HeardEvent, index: number): boolean =>
    index > 0 && each.event.kind === "send" && each.event.place === first?.event.place;
  const end = forward.findIndex(isAgain);
  return {
    forward: (end < 0 ? forward : forward.slice(0, end)).map((each) => stageOf(each, symbols)),
    reply: stages.filter(({ tag }) => tag === 2).map((each) => stageOf(each, symbols)),
    report,
  };
}
