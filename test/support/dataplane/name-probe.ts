/** An attempt as a program makes it: resolve the name, then reach the address that came first. */
import type { Task } from "#core/base/clock.ts";
import { assert } from "#core/base/assert.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import {
  type Probe,
  type ProbeOwner,
  type ProbeResult,
  EchoProbe,
  TcpProbe,
  UdpProbe,
} from "#dataplane/host/probes/probe.ts";
import { NameLookup } from "#dataplane/host/resolver/name-lookup.ts";
import type { NameResult, ResolverOwner } from "#dataplane/host/resolver/name-result.ts";

export interface NameProbeOptions {
  /** Who asks. */
  readonly compartment: Compartment;
  readonly name: string;
  readonly protocol: "tcp" | "udp" | "icmp";
  /** Not looked at for ICMP. */
  readonly port: number;
  /**
   * What a trace follows: the first packet to the address (`connection`), or that of one of the questions, by its place.
   * Default: nothing.
   */
  readonly followed?: "connection" | { readonly question: number };
  readonly owner?: ProbeOwner;
}

/** The resolution, and the attempt that it led to. */
export class NameProbe implements Probe, ProbeOwner, ResolverOwner<NameLookup>, Task {
  /** The result as a whole: a name that does not resolve makes its target unreachable. */
  result: ProbeResult | undefined;
  readonly lookup: NameLookup;
  /** The address that was tried; undefined when the name led to none. */
  address: Ip | undefined;
  private readonly options: NameProbeOptions;
  private probe: TcpProbe | UdpProbe | EchoProbe | undefined;

  constructor(options: NameProbeOptions) {
    this.options = options;
    const { compartment, name, followed } = options;
    this.lookup = new NameLookup({
      compartment,
      name,
      owner: this,
      ...(typeof followed === "object" ? { followedQuestion: followed.question } : {}),
    });
  }

  /** What the resolver found, with every question; undefined while it runs. */
  get resolution(): NameResult | undefined {
    return this.lookup.result;
  }

  start(): void {
    assert(this.lookup.result === undefined, "a probe starts once");
    this.lookup.start();
  }

  resolved(_lookup: NameLookup, result: NameResult): void {
    if (result.outcome === "failed") {
      this.end({ outcome: "unreachable", detail: `${result.name} does not resolve: ${result.detail}` });
      return;
    }
    [this.address] = result.addresses;
    // The program acts after its resolver: what it sends is no answer to the packet that brought the address.
    this.options.compartment.env.clock.schedule(0, this);
  }

  run(): void {
    const { address } = this;
    assert(address !== undefined, "a resolved name has an address");
    const { compartment, protocol, port, followed } = this.options;
    const common = {
      compartment,
      destination: address,
      isFollowed: followed === "connection",
      owner: this,
    };
    if (protocol === "tcp") this.probe = new TcpProbe({ ...common, port });
    else if (protocol === "udp") this.probe = new UdpProbe({ ...common, port });
    else this.probe = new EchoProbe(common);
    this.probe.start();
  }

  probeEnded(probe: Probe): void {
    if (probe.result !== undefined) this.end(probe.result);
  }

  private end(result: ProbeResult): void {
    this.result = result;
    this.options.owner?.probeEnded(this);
  }
}

/** `web: 10.96.0.20`, for one who reads what a name led to. */
export function formatResolution(result: NameResult): string {
  const found = result.outcome === "resolved" ? result.addresses.map(formatIp).join(", ") : result.detail;
  return `${result.name}: ${found}`;
}
