/** Open vSwitch's extension of the Hyper-V switch, as far as OVN uses it: logical flows decide where frames go. */
import type { Clock } from "#core/base/clock.ts";
import { Prng } from "#core/base/prng.ts";
import { parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { decapsulateGeneve, encapsulateGeneve, isGeneve } from "#core/wire/tunnels/encapsulation.ts";
import { fromOvnGeneve, toOvnGeneveOption } from "#core/wire/tunnels/ovn-metadata.ts";
import type { Packet } from "#core/wire/packet.ts";
import { readTuple, tupleKey } from "../host/netfilter/tuple.ts";
import { type Decision, type SwitchExtension, drop, toPortAs } from "../switch/decision.ts";
import type { SwitchPort } from "../switch/switch-port.ts";
import type { SwitchTables } from "../switch/switch-tables.ts";
import { Chassis } from "./chassis.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import { type Ending, receiveFromTunnel, runLogicalFlows } from "./logical-pipeline.ts";

const CODES = {
  drop: "ovn-packet-dropped",
  refused: "ovn-flow-refused",
  loop: "forwarding-loop",
} as const;

/** Where the tunnels of this chassis end: the port of the switch towards the underlay, and who is behind it. */
export interface TunnelPort {
  /** Name of the chassis. */
  readonly chassis: string;
  readonly switchPort: string;
  readonly mac: Mac;
  /** MACs of the other ends, by address. */
  readonly peers: ReadonlyMap<string, Mac>;
}

/** Outer headers as Open vSwitch writes them: TTL 64, DF, a port that spreads connections (ovs-fields(7), tunnels). */
const OUTER_TTL = 64;
const SOURCE_PORT_MIN = 32_768;
const SOURCE_PORTS = 28_232;

export class LogicalFlowExtension implements SwitchExtension {
  readonly name = "Open vSwitch Extension";
  private readonly network: LogicalNetwork;
  /** Names of ports of the switch, and the logical ports bound to them (`external_ids:iface-id`). */
  private readonly bindings: ReadonlyMap<string, string>;
  private readonly switchPorts: ReadonlyMap<string, string>;
  private readonly chassis: Chassis;
  private readonly tunnels: TunnelPort | undefined;

  /** `claimed`: ports that this chassis has besides those that are bound, such as `cr-…`. Without `tunnels` it has every port. */
  constructor(
    network: LogicalNetwork,
    bindings: ReadonlyMap<string, string>,
    clock: Clock,
    claimed: ReadonlySet<string> = new Set(),
    tunnels?: TunnelPort,
  ) {
    this.network = network;
    this.bindings = bindings;
    this.switchPorts = new Map([...bindings].map(([switchPort, logical]) => [logical, switchPort]));
    this.chassis = new Chassis(new Set([...bindings.values(), ...claimed]), clock, tunnels?.chassis);
    this.tunnels = tunnels;
  }

  /** Frames of ports that are bound to no logical port are left to the switch. */
  decide(tables: SwitchTables, source: SwitchPort, packet: Packet, headers: Headers): Decision | undefined {
    if (source.name === this.tunnels?.switchPort && isGeneve(packet.bytes, headers))
      return this.decideTunnelled(tables, source, packet.copy());
    const inport = this.bindings.get(source.name);
    if (inport === undefined) return undefined;
    return this.carryOut(tables, source, runLogicalFlows(this.network, this.chassis, inport, packet).endings);
  }

  private decideTunnelled(tables: SwitchTables, source: SwitchPort, packet: Packet): Decision {
    const headers = new Headers();
    headers.parse(packet);
    const geneve = decapsulateGeneve(packet, headers);
    const keys = typeof geneve === "string" ? undefined : fromOvnGeneve(geneve.vni, geneve.options);
    const isStrange =
      typeof geneve !== "string" &&
      geneve.options.some(({ optionClass, type }) => type >= 0x80 && optionClass !== 0x0102);
    if (keys === undefined || isStrange)
      return drop("ovn-packet-dropped", "a GENEVE packet without OVN's option, or with another critical one");
    const { endings } = receiveFromTunnel(this.network, this.chassis, keys, packet);
    return this.carryOut(tables, source, endings);
  }

  private carryOut(tables: SwitchTables, source: SwitchPort, endings: readonly Ending[]): Decision {
    const out = endings.flatMap((ending) => this.leaving(ending));
    const [first] = out;
    if (first === undefined) return this.fault(endings);
    if (out.some((other) => !isSameFrame(other.packet, first.packet))) {
      return drop("ovn-flow-refused", "its copies differ, which one decision of the switch cannot say");
    }
    const ports = tables.ports.filter((port) => out.some(({ switchPort }) => switchPort === port.name));
    const reason = `logical flows: output to ${out.map(({ name }) => name).join(", ")}`;
    if (ports.length === 1 && ports[0] === source) {
      return { kind: "reply", frame: first.packet, reason, isFromPort: false };
    }
    const [only] = ports;
    if (only === undefined)
      return drop("ovn-packet-dropped", `${reason}: no port of this switch is bound to it`);
    if (ports.length === 1) return toPortAs(only, first.packet, reason);
    return { kind: "to", ports, reason, frame: first.packet };
  }

  /** The port of the switch that an ending leads to, with the frame as it leaves there. */
  private leaving(
    ending: Ending,
  ): readonly { switchPort: string | undefined; name: string; packet: Packet }[] {
    if (ending.kind === "output")
      return [{ switchPort: this.switchPorts.get(ending.port), name: ending.port, packet: ending.packet }];
    if (ending.kind !== "tunnel" || this.tunnels === undefined) return [];
    const { chassis, switchPort, mac, peers } = this.tunnels;
    const ends = this.network.tunnelBetween(chassis, ending.chassis);
    const [source, destination] = [parseIp(ends?.from ?? ""), parseIp(ends?.to ?? "")];
    const peer = peers.get(ends?.to ?? "");
    if (ends?.type !== "geneve" || source === undefined || destination === undefined || peer === undefined)
      return [];
    const packet = ending.packet.copy();
    const inner = new Headers();
    inner.parse(packet);
    const tuple = readTuple(packet.bytes, inner);
    const hash = new Prng(tuple === undefined ? "" : tupleKey(tuple)).below(SOURCE_PORTS);
    encapsulateGeneve(packet, {
      link: { sourceMac: mac, destinationMac: peer },
      ip: { source, destination, ttl: OUTER_TTL, identification: 0, isDontFragment: true },
      sourcePort: SOURCE_PORT_MIN + hash,
      vni: ending.keys.datapath,
      options: [toOvnGeneveOption(ending.keys)],
    });
    return [{ switchPort, name: `GENEVE to ${ending.chassis}`, packet }];
  }

  private fault(endings: readonly Ending[]): Decision {
    const order = ["loop", "refused", "drop"] as const;
    for (const kind of order) {
      const found = endings.find((ending) => ending.kind === kind);
      if (found?.kind === kind) return drop(CODES[kind], found.text);
    }
    const tunnel = endings.find((ending) => ending.kind === "tunnel");
    const text =
      tunnel?.kind === "tunnel"
        ? `no tunnel of GENEVE leads to chassis ${tunnel.chassis}`
        : "its flows say nothing of an output";
    return drop("ovn-packet-dropped", text);
  }
}

function isSameFrame(a: Packet, b: Packet): boolean {
  const [left, right] = [a.frame, b.frame];
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
