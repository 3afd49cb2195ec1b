/** Open vSwitch's extension of the Hyper-V switch, as far as OVN uses it: logical flows decide where frames go. */
import type { Clock } from "#core/base/clock.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import {
  CONSUMED,
  type Decision,
  type PipelineWitness,
  type SwitchExtension,
  drop,
  toPortAs,
} from "../switch/decision.ts";
import type { SwitchPort } from "../switch/switch-port.ts";
import type { SwitchTables } from "../switch/switch-tables.ts";
import { Chassis, type ChassisReports } from "./chassis.ts";
import { ChassisTunnels, type TunnelPort } from "./chassis-tunnels.ts";
import { type Arrival, Datagrams, cutTo } from "./datagrams.ts";
import { type CachedFlow, type CachedOutcome, FlowCache } from "./flow-cache.ts";
import type { FlowOrigin } from "./frame-key.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import { OuterHeaders, TunnelArrival } from "./outer-headers.ts";
import { tellPassage } from "./passage-text.ts";
import type { WireGateway } from "./wire-gateway.ts";
import { type Ending, type Passage, receiveFromTunnel, runLogicalFlows } from "./logical-pipeline.ts";

/** Options of Port_Binding by which a chassis is told whether to bind it (ovn-sb(5)). */
const BINDING_OPTIONS = ["requested-chassis", "iface-id-ver", "l3gateway-chassis"] as const;

const CODES = {
  drop: "ovn-packet-dropped",
  refused: "ovn-flow-refused",
  loop: "forwarding-loop",
} as const;

export class LogicalFlowExtension implements SwitchExtension {
  readonly name = "Open vSwitch Extension";
  private network: LogicalNetwork;
  /** Names of ports of the switch, and the logical ports bound to them (`external_ids:iface-id`). */
  private bindings: ReadonlyMap<string, string>;
  private switchPorts: ReadonlyMap<string, string>;
  private readonly chassis: Chassis;
  private tunnels: TunnelPort | undefined;
  private readonly carrier = new ChassisTunnels();
  /** Of the wire, where a logical switch is on it. */
  private readonly gateway: WireGateway | undefined;
  private readonly cache: FlowCache;
  private readonly innerHeaders = new Headers();
  private readonly wholeHeaders = new Headers();
  private readonly datagrams: Datagrams;
  private readonly arrival = new TunnelArrival();

  /** `claimed`: ports that this chassis has besides those that are bound, such as `cr-…`. Without `tunnels` it has every port. */
  constructor(
    network: LogicalNetwork,
    bindings: ReadonlyMap<string, string>,
    clock: Clock,
    claimed: ReadonlySet<string> = new Set(),
    tunnels?: TunnelPort,
    gateway?: WireGateway,
    cache: FlowCache = new FlowCache(),
  ) {
    this.cache = cache;
    this.gateway = gateway;
    this.network = network;
    this.bindings = bindings;
    this.switchPorts = logicalPorts(bindings);
    this.chassis = new Chassis(new Set([...bindings.values(), ...claimed]), clock, tunnels?.chassis);
    this.tunnels = tunnels;
    this.datagrams = new Datagrams(clock);
  }

  /**
   * The databases have changed: flows, ports and peers are these from now on. Connections, sessions and what was learned stay; known
   * ways stay where nothing of it concerns them.
   */
  renew(
    network: LogicalNetwork,
    bindings: ReadonlyMap<string, string>,
    claimed: ReadonlySet<string>,
    tunnels: TunnelPort,
    services: ReadonlySet<string>,
  ): void {
    if (!isSameMap(bindings, this.bindings) || !isSameTunnel(tunnels, this.tunnels)) this.cache.clear();
    this.network = network;
    this.bindings = bindings;
    this.switchPorts = logicalPorts(bindings);
    this.chassis.settle(new Set([...bindings.values(), ...claimed]));
    this.chassis.yieldVirtuals((port) => network.chassisOf(port));
    this.tunnels = tunnels;
    this.gateway?.serve(services);
  }

  /** Whether `takeReports` may have something. */
  hasReports(): boolean {
    return this.chassis.hasReports();
  }

  /** What the chassis has met since it was asked last that belongs into the southbound database. */
  takeReports(): ChassisReports {
    return this.chassis.takeReports(this.network.multicast);
  }

  /** Frames of ports that are bound to no logical port are left to the switch. */
  decide(
    tables: SwitchTables,
    source: SwitchPort,
    packet: Packet,
    headers: Headers,
    witness?: PipelineWitness,
  ): Decision | undefined {
    const isUplink = source.name === this.tunnels?.switchPort;
    // Of frames from the wire it is first told whose they are.
    if (isUplink) {
      const known = this.followInside(tables, packet, headers);
      if (known !== undefined) return known;
      const received = this.carrier.receive(packet, headers, this.chassis.nowMs);
      if (received?.kind === "waits") return CONSUMED;
      if (received?.kind === "refused") return drop("ovn-packet-dropped", received.text);
      if (received !== undefined) return this.fromTunnel(tables, source, received, witness);
    } else {
      const flow = this.findFlow(tables, source, packet, headers);
      if (flow !== undefined) return this.follow(flow, tables, source, packet, headers);
    }
    const { gateway } = this;
    if (gateway !== undefined && isUplink) {
      const owner = gateway.ownerOf(packet, headers);
      if (owner === "node") return undefined;
      if (owner === "ovn") return this.fromWire(tables, source, gateway.localnet, packet, headers, witness);
      runLogicalFlows(this.network, this.chassis, gateway.localnet, packet);
      return undefined;
    }
    const inport = this.bindings.get(source.name);
    if (inport === undefined) return undefined;
    return this.walk(tables, source, source, inport, packet, headers, witness);
  }

  /** The frame in a tunnel goes a known way to a port of this switch: its outer headers come off where it is. */
  private followInside(tables: SwitchTables, packet: Packet, headers: Headers): Decision | undefined {
    const { arrival } = this;
    if (packet.tag !== 0 || packet.segmentBytes !== 0 || !arrival.read(packet, headers)) return undefined;
    const { start, end } = packet;
    packet.start = arrival.start;
    packet.end = arrival.end;
    const isReadable = headers.parse(packet) === undefined;
    const flow = isReadable ? this.findFlow(tables, arrival, packet, headers) : undefined;
    if (flow?.outcome.kind === "deliver") {
      packet.outerBytes = 0;
      flow.take(packet, headers, this.chassis.nowMs);
      return flow.outcome.port.delivery;
    }
    packet.start = start;
    packet.end = end;
    headers.parse(packet);
    return undefined;
  }

  private fromWire(
    tables: SwitchTables,
    source: SwitchPort,
    localnet: string,
    packet: Packet,
    headers: Headers,
    witness: PipelineWitness | undefined,
  ): Decision {
    const flow = this.findFlow(tables, localnet, packet, headers);
    if (flow !== undefined) return this.follow(flow, tables, source, packet, headers);
    return this.walk(tables, source, localnet, localnet, packet, headers, witness);
  }

  /** A packet goes through the tables. */
  private walk(
    tables: SwitchTables,
    source: SwitchPort,
    origin: FlowOrigin,
    inport: string,
    packet: Packet,
    headers: Headers,
    witness: PipelineWitness | undefined,
  ): Decision {
    const arrival = this.datagrams.take(packet, headers);
    if (arrival !== undefined)
      return this.carryWhole(tables, source, arrival, witness, (whole) =>
        runLogicalFlows(this.network, this.chassis, inport, whole),
      );
    const passage = runLogicalFlows(this.network, this.chassis, inport, packet);
    const decision = this.carryOut(tables, source, passage, witness);
    this.keep(tables, origin, packet, headers, passage, decision);
    return decision;
  }

  /** A datagram that came in fragments: nothing until it is whole, then what the tables say of it, in fragments again. */
  private carryWhole(
    tables: SwitchTables,
    source: SwitchPort,
    arrival: Arrival,
    witness: PipelineWitness | undefined,
    run: (whole: Packet) => Passage,
  ): Decision {
    if (arrival.kind === "waits") return CONSUMED;
    if (arrival.kind === "failed") return drop("reassembly-failed", arrival.text);
    const { packet, longestBytes } = arrival;
    if (this.wholeHeaders.parse(packet) !== undefined)
      return drop("reassembly-failed", "what the fragments make up is no packet");
    return this.carryOut(tables, source, run(packet), witness, longestBytes);
  }

  /** The packet is our own: it was taken out of its outer headers. */
  private fromTunnel(
    tables: SwitchTables,
    source: SwitchPort,
    { keys, packet }: { readonly keys: OvnTunnelKeys; readonly packet: Packet },
    witness: PipelineWitness | undefined,
  ): Decision {
    const { innerHeaders: headers } = this;
    const isReadable = headers.parse(packet) === undefined;
    const flow = isReadable ? this.findFlow(tables, keys, packet, headers) : undefined;
    if (flow !== undefined) {
      const decision = this.follow(flow, tables, source, packet, headers);
      return decision.kind === "to" ? { ...decision, frame: decision.frame ?? packet } : decision;
    }
    const datagram = isReadable ? this.datagrams.take(packet, headers) : undefined;
    if (datagram !== undefined)
      return this.carryWhole(tables, source, datagram, witness, (whole) =>
        receiveFromTunnel(this.network, this.chassis, keys, whole),
      );
    const passage = receiveFromTunnel(this.network, this.chassis, keys, packet);
    const decision = this.carryOut(tables, source, passage, witness);
    if (isReadable) this.keep(tables, keys, packet, headers, passage, decision);
    return decision;
  }

  /** A packet that somebody follows goes through the tables, so that it can be told what it met there. */
  private findFlow(
    tables: SwitchTables,
    origin: FlowOrigin,
    packet: Packet,
    headers: Headers,
  ): CachedFlow | undefined {
    if (packet.tag !== 0) return undefined;
    this.cache.settle(this.network, this.chassis, tables);
    return this.cache.find(origin, packet, headers, this.chassis.nowMs);
  }

  /** Carries a known way out. */
  private follow(
    flow: CachedFlow,
    tables: SwitchTables,
    source: SwitchPort,
    packet: Packet,
    headers: Headers,
  ): Decision {
    flow.take(packet, headers, this.chassis.nowMs);
    const { outcome } = flow;
    switch (outcome.kind) {
      case "deliver":
        return outcome.port.delivery;
      case "drop":
        return outcome.drop;
      case "encapsulate":
        if (packet.segmentBytes !== 0) return this.decideOf(tables, source, [{ ...outcome.ending, packet }]);
        outcome.outer.prependTo(packet);
        headers.parse(packet);
        return outcome.port.delivery;
      case "output":
      case "tunnel":
        return this.decideOf(tables, source, [{ ...outcome, packet }]);
    }
  }

  /** Keeps the way of a packet that came through the tables. */
  private keep(
    tables: SwitchTables,
    origin: FlowOrigin,
    packet: Packet,
    headers: Headers,
    { endings, conditions }: Passage,
    decision: Decision,
  ): void {
    const [ending, second] = endings;
    if (packet.tag !== 0 || !conditions.isRepeatable) return;
    if (ending === undefined || second !== undefined) return;
    const outcome = outcomeOf(ending, decision);
    if (outcome === undefined) return;
    const after = outcome.kind !== "drop" && "packet" in ending ? ending.packet : undefined;
    const settled = { network: this.network, chassis: this.chassis, tables };
    this.cache.remember(origin, packet, headers, conditions, outcome, after, settled);
  }

  private carryOut(
    tables: SwitchTables,
    source: SwitchPort,
    { steps, endings }: Passage,
    witness: PipelineWitness | undefined,
    longestBytes?: number,
  ): Decision {
    if (witness !== undefined)
      for (const { title, frame, steps: logical } of tellPassage(this.network, steps))
        witness({ text: title, logical }, frame);
    return this.decideOf(tables, source, endings, longestBytes);
  }

  /** `longestBytes`: of what leaves, from the IP header on; undefined where nothing was put together. */
  private decideOf(
    tables: SwitchTables,
    source: SwitchPort,
    endings: readonly Ending[],
    longestBytes?: number,
  ): Decision {
    const out = endings
      .flatMap((ending): readonly Ending[] => cutEnding(ending, longestBytes))
      .flatMap((ending) => this.leaving(ending));
    const [first] = out;
    if (first === undefined) return this.fault(endings);
    const reason = `logical flows: output to ${[...new Set(out.map(({ name }) => name))].join(", ")}`;
    const ports = tables.ports.filter((port) => out.some(({ switchPort }) => switchPort === port.name));
    const [only] = ports;
    if (only === undefined) return drop("ovn-port-unbound", `${reason}: ${this.unbound(first.name)}`);
    const isOneFrame = out.every((other) => isSameFrame(other.packet, first.packet));
    if (!isOneFrame) {
      const [delivery, ...further] = out.flatMap(({ switchPort, name, packet }) =>
        ports
          .filter((port) => port.name === switchPort)
          .map((port) => toPortAs(port, packet, `logical flows: output to ${name}`)),
      );
      if (delivery !== undefined) return { ...delivery, further };
    }
    if (ports.length > 1) return { kind: "to", ports, reason, frame: first.packet };
    if (only === source) return { kind: "reply", frame: first.packet, reason, isFromPort: false };
    return toPortAs(only, first.packet, reason);
  }

  /** Which row says that nothing is bound to a port, with what decides who may bind it. */
  private unbound(name: string): string {
    const options = this.network.ports.get(name)?.options ?? new Map<string, string>();
    const deciding = BINDING_OPTIONS.filter((option) => options.has(option)).map(
      (option) => `${option}=${options.get(option) ?? ""}`,
    );
    return `no port of this switch is bound to it (${[`Port_Binding ${name}`, ...deciding].join(", ")})`;
  }

  /** The port of the switch that an ending leads to, with the frames as they leave there. */
  private leaving(
    ending: Ending,
  ): readonly { switchPort: string | undefined; name: string; packet: Packet }[] {
    if (ending.kind === "output" && ending.port === this.gateway?.localnet) {
      this.gateway.sent(ending.packet);
      return [{ switchPort: this.tunnels?.switchPort, name: ending.port, packet: ending.packet }];
    }
    if (ending.kind === "output")
      return [{ switchPort: this.switchPorts.get(ending.port), name: ending.port, packet: ending.packet }];
    if (ending.kind !== "tunnel" || this.tunnels === undefined) return [];
    const { switchPort } = this.tunnels;
    const sent = this.carrier.send(ending, this.network, this.tunnels);
    return (sent?.packets ?? []).map((packet) => ({ switchPort, name: sent?.name ?? "", packet }));
  }

  private fault(endings: readonly Ending[]): Decision {
    const order = ["loop", "refused", "drop"] as const;
    for (const kind of order) {
      const found = endings.find((ending) => ending.kind === kind);
      if (found?.kind === kind) return drop(CODES[kind], found.text);
    }
    const tunnel = endings.find((ending) => ending.kind === "tunnel");
    if (tunnel?.kind !== "tunnel") return drop("ovn-packet-dropped", "its flows say nothing of an output");
    const { chassis } = tunnel;
    const ends = this.tunnels && this.network.tunnelBetween(this.tunnels.chassis, chassis);
    if (ends === undefined || ends.type === "vxlan")
      return drop("ovn-packet-dropped", `no tunnel leads to chassis ${chassis}`);
    return drop("neighbor-unresolved", `the MAC of ${ends.to}, where chassis ${chassis} is, is not known`);
  }
}

/** What is kept of how a packet ended; undefined for what is decided anew for each packet. */
function outcomeOf(ending: Ending, decision: Decision): CachedOutcome | undefined {
  // A tunnel whose other end is being asked for leads there soon.
  if (ending.kind === "tunnel" && decision.kind === "drop") return undefined;
  if (ending.kind !== "refused" && ending.kind !== "loop" && decision.kind === "drop")
    return { kind: "drop", drop: decision };
  switch (ending.kind) {
    case "tunnel":
      return tunnelOutcome(ending, decision);
    case "output": {
      const [port] = decision.kind === "to" ? decision.ports : [];
      const isPlain = decision.kind === "to" && decision.further === undefined && port?.kind !== "external";
      return isPlain && port !== undefined
        ? { kind: "deliver", port }
        : { kind: "output", port: ending.port };
    }
    case "drop":
    case "refused":
    case "loop":
      return undefined;
  }
}

/** A packet in GENEVE gets the headers of the one before it; segments of STT are made for each. */
function tunnelOutcome(
  { chassis, keys, packet }: Extract<Ending, { kind: "tunnel" }>,
  decision: Decision,
): CachedOutcome {
  const ending = { kind: "tunnel", chassis, keys } as const;
  const [port, second] = decision.kind === "to" ? decision.ports : [];
  const isOne = decision.kind === "to" && decision.further === undefined && second === undefined;
  if (!isOne || port === undefined || decision.frame === undefined) return ending;
  const outer = OuterHeaders.inFrontOf(packet.length, decision.frame);
  return outer === undefined ? ending : { kind: "encapsulate", port, outer, ending };
}

function isSameMap<T>(one: ReadonlyMap<string, T>, other: ReadonlyMap<string, T>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

function isSameTunnel(one: TunnelPort, other: TunnelPort | undefined): boolean {
  return (
    one.chassis === other?.chassis &&
    one.switchPort === other.switchPort &&
    one.mac === other.mac &&
    one.resolver === other.resolver &&
    isSameMap(one.peers, other.peers)
  );
}

/** Ports of the switch by the logical ports bound to them. */
function logicalPorts(bindings: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...bindings].map(([switchPort, logical]) => [logical, switchPort]));
}

function isSameFrame(a: Packet, b: Packet): boolean {
  const [left, right] = [a.frame, b.frame];
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** An ending for each fragment that its packet leaves in. */
function cutEnding(ending: Ending, longestBytes: number | undefined): readonly Ending[] {
  if (!("packet" in ending)) return [ending];
  return cutTo(ending.packet, longestBytes).map((packet) => ({ ...ending, packet }));
}
