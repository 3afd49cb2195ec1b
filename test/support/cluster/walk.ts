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
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";

/** Where a packet stands: what `1 A stack`, `4 wire` of a table become. */
export interface Stage {
  /** `send A`, `forward W1`, `wire`, `deliver C`, `drop R`. */
  readonly at: string;
  readonly eth: string;
  readonly ip: string;
  readonly ttl: number;
  /** Absent for ICMP. */
  readonly l4?: string;
  /** What is around the packet in a tunnel: `W1m→W2m W1→W2 ttl 128 DF :4789 VNI 4096`. */
  readonly outer?: string;
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

  /** `names`: further addresses and MACs, such as those of services. */
  constructor(cluster: Cluster, names: Readonly<Record<string, string>>) {
    const counts = { windows: 0, linux: 0 };
    for (const { spec, host } of cluster.nodes) {
      const symbol = `${spec.os === "windows" ? "W" : "L"}${++counts[spec.os]}`;
      this.machines.set(spec.name, symbol);
      this.ips.set(spec.address, symbol);
      for (const each of host.root.listInterfaces()) {
        const isAdapter = each.hasAddress(spec.address);
        const leg = spec.os === "windows" ? `BR${symbol.slice(1)}` : `${symbol}b`;
        const own = each.name.startsWith("flannel.") ? `${symbol}v` : `${leg}m`;
        this.macs.set(each.mac, isAdapter ? `${symbol}m` : own);
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
      const mac = parseMac(text);
      if (mac !== undefined) this.macs.set(mac, name);
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

/** `send A`, `forward W1`, `wire`, `W1 out LB_DSR`. */
function nameOfStage({ event }: HeardEvent, symbols: Symbols): string {
  if (event.kind === "wire") return "wire";
  if (event.kind === "layer")
    return `${symbols.machines.get(event.node) ?? event.node} ${event.direction} ${event.layer}`;
  return `${event.kind} ${symbols.place(event)}`;
}

/** The outer headers of a packet in a tunnel as the tables write them. */
function outerOf(frame: Uint8Array, outer: Headers, tunnel: TunnelHeaders, symbols: Symbols): string {
  const mac = (offset: number): string => symbols.mac(readU48(frame, offset) as Mac);
  const isDontFragment = (readU16(frame, outer.network + 6) & 0x4000) !== 0;
  return [
    `${mac(6)}→${mac(0)}`,
    `${symbols.ip(sourceIp(frame, outer))}→${symbols.ip(destinationIp(frame, outer))}`,
    `ttl ${readU8(frame, outer.network + 8)}`,
    ...(isDontFragment ? ["DF"] : []),
    `:${readU16(frame, outer.transport + 2)}`,
    `VNI ${tunnel.id}`,
  ].join(" ");
}

function stageOf(heard: HeardEvent, symbols: Symbols): Stage {
  const { frame } = heard;
  const whole = new Headers();
  whole.parseBytes(frame, 0, frame.length);
  const tunnel = new TunnelHeaders();
  tunnel.locate(frame, whole);
  const isInTunnel = tunnel.kind !== undefined;
  const headers = isInTunnel ? tunnel.inner : whole;
  const start = isInTunnel ? tunnel.innerStart : 0;
  const mac = (offset: number): string => symbols.mac(readU48(frame, start + offset) as Mac);
  const port = (offset: number): string => symbols.port(readU16(frame, headers.transport + offset));
  const hasPorts = headers.protocol === 6 || headers.protocol === 17;
  return {
    at: nameOfStage(heard, symbols),
    eth: `${mac(6)}→${mac(0)}`,
    ip: `${symbols.ip(sourceIp(frame, headers))}→${symbols.ip(destinationIp(frame, headers))}`,
    ttl: readU8(frame, headers.network + 8),
    ...(hasPorts ? { l4: `${port(0)}→${port(2)}` } : {}),
    ...(isInTunnel && { outer: outerOf(frame, whole, tunnel, symbols) }),
  };
}

/** Names p and q from the ports that the packet had. */
function namePorts(events: readonly HeardEvent[], symbols: Symbols): void {
  const headers = new Headers();
  const seen: number[] = [];
  const tunnel = new TunnelHeaders();
  for (const { frame } of events) {
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.transport < 0) continue;
    tunnel.locate(frame, headers);
    const { transport } = tunnel.kind === undefined ? headers : tunnel.inner;
    const source = readU16(frame, transport);
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
    /** With the layers of ports in which a rule or a flow is found: `W1 out LB_DSR`. */
    readonly showsLayers?: boolean;
  } = {},
): Walk {
  const { names = {}, showsLayers = false, ...request } = options;
  const symbols = new Symbols(cluster, names);
  const { report, heard } = tracePacket(cluster, { protocol: "tcp", port: undefined, ...request, from, to });
  const isStage = ({ event }: HeardEvent): boolean =>
    event.kind === "layer" ? showsLayers && event.outcome !== "miss" : STAGE_KINDS.has(event.kind);
  const stages = heard.filter(isStage);
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
