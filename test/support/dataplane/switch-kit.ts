/** Rules of a switch without a switch: ports as data, the tables made of them, and decisions in short words. */
import { VirtualClock } from "#core/base/clock.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Device } from "#dataplane/device/device.ts";
import type { Decision } from "#dataplane/switch/decision.ts";
import { type ForwardingMode, VFP_FORWARDING } from "#dataplane/switch/forwarding.ts";
import { NatBindings } from "#dataplane/switch/nat-bindings.ts";
import { type DhcpLease, SwitchPort, type SwitchPortOptions } from "#dataplane/switch/switch-port.ts";
import { SwitchTables } from "#dataplane/switch/switch-tables.ts";
import { headersOf } from "./engine-kit.ts";

/** A cable that leads nowhere: a rule that sent a frame would be heard. */
const CABLE: Device = {
  mtuBytes: 1500,
  attach: () => {},
  transmit: () => {
    throw new Error("a rule only decides");
  },
};

/** A port, and what a switch and HNS set on it. */
export interface PortFacts extends Partial<SwitchPortOptions> {
  readonly kind: SwitchPortOptions["kind"];
  readonly mac: Mac;
  readonly ips?: readonly Ip[];
  readonly deliversByAddress?: boolean;
  readonly neighbors?: ReadonlyMap<Ip, Mac>;
  readonly lease?: DhcpLease;
  /** Of the port's address info (dataplane.md §1.2). */
  readonly flags?: number;
  readonly vxlanPort?: number;
}

function portOf(name: string, facts: PortFacts): SwitchPort {
  const port = new SwitchPort({ id: name, name, device: CABLE, layers: [], ...facts }, "win-1");
  port.ips = facts.ips ?? [];
  port.deliversByAddress = facts.deliversByAddress ?? false;
  if (facts.neighbors !== undefined) port.neighbors = facts.neighbors;
  port.lease = facts.lease;
  if (facts.flags !== undefined) port.vfp.address = { ...port.vfp.address, flags: facts.flags };
  if (facts.vxlanPort !== undefined)
    port.vfp.parserSettings = { ...port.vfp.parserSettings, vxlanPort: facts.vxlanPort };
  return port;
}

/** All that a rule could change of a frame. */
function stateOf({ bytes, start, end, tag, tni, vlan, segmentBytes }: Packet): string {
  return [bytes, start, end, tag, tni, vlan, segmentBytes].join(" ");
}

/** What a switch with these ports knows, in the order in which they are named. */
export class KnownPorts<Name extends string> {
  readonly tables: SwitchTables;
  readonly bindings: NatBindings;
  private readonly ports: ReadonlyMap<string, SwitchPort>;

  constructor(facts: Readonly<Record<Name, PortFacts>>) {
    const entries = Object.entries<PortFacts>(facts);
    this.ports = new Map(entries.map(([name, each]) => [name, portOf(name, each)]));
    this.bindings = new NatBindings(this.ports, new VirtualClock());
    this.tables = new SwitchTables([...this.ports.values()], this.bindings);
  }

  port(name: Name): SwitchPort {
    return this.ports.get(name)!;
  }

  /** What `rule` decides about a frame that came from behind `from`, which it has to leave as it is. */
  ask(
    rule: (
      tables: SwitchTables,
      source: SwitchPort,
      packet: Packet,
      headers: Headers,
    ) => Decision | undefined,
    from: Name,
    packet: Packet,
  ): Decision | undefined {
    const before = stateOf(packet);
    const decision = rule(this.tables, this.port(from), packet, headersOf(packet));
    if (stateOf(packet) !== before) throw new Error("the rule changed the frame");
    return decision;
  }

  /** The decision of all rules in their order. `arrivedBytes` set: the endpoint sent a tunnel of so many bytes itself. */
  decide(
    from: Name,
    packet: Packet,
    mode: ForwardingMode = VFP_FORWARDING,
    arrivedBytes?: number,
  ): Decision | undefined {
    const vlan = mode.admit(this.tables, this.port(from), headersOf(packet));
    if (typeof vlan !== "number") return vlan;
    packet.vlan = vlan;
    const history = {
      cameInTunnel: arrivedBytes !== undefined,
      arrivedBytes: arrivedBytes ?? packet.length,
    };
    return this.ask((...args) => mode.forward(...args, history), from, packet);
  }
}

/** `to a`, `reply`, `drop CODE`, `consumed`; `next rule` where the rule is not for such frames. */
export function told(decision: Decision | undefined): string {
  if (decision === undefined) return "next rule";
  if (decision.kind === "to") return `to ${decision.ports.map(({ id }) => id).join(", ")}`;
  return decision.kind === "drop" ? `drop ${decision.code}` : decision.kind;
}

/** The frame that a decision sends in place of the one that came. */
export function frameOf(decision: Decision | undefined): Packet {
  const frame = decision?.kind === "to" || decision?.kind === "reply" ? decision.frame : undefined;
  if (frame === undefined) throw new Error(`no frame of its own: ${told(decision)}`);
  return frame;
}
