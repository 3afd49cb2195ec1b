/** Open vSwitch's extension of the Hyper-V switch, as far as OVN uses it: logical flows decide where frames go. */
import type { Clock } from "#core/base/clock.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type Decision, type SwitchExtension, drop, toPortAs } from "../switch/decision.ts";
import type { SwitchPort } from "../switch/switch-port.ts";
import type { SwitchTables } from "../switch/switch-tables.ts";
import { Chassis } from "./chassis.ts";
import type { LogicalNetwork } from "./logical-network.ts";
import { type Ending, runLogicalFlows } from "./logical-pipeline.ts";

const CODES = {
  drop: "ovn-packet-dropped",
  refused: "ovn-flow-refused",
  loop: "forwarding-loop",
} as const;

export class LogicalFlowExtension implements SwitchExtension {
  readonly name = "Open vSwitch Extension";
  private readonly network: LogicalNetwork;
  /** Names of ports of the switch, and the logical ports bound to them (`external_ids:iface-id`). */
  private readonly bindings: ReadonlyMap<string, string>;
  private readonly switchPorts: ReadonlyMap<string, string>;
  private readonly chassis: Chassis;

  /** `claimed`: ports that this chassis has besides those that are bound, such as `cr-…`. */
  constructor(
    network: LogicalNetwork,
    bindings: ReadonlyMap<string, string>,
    clock: Clock,
    claimed: ReadonlySet<string> = new Set(),
  ) {
    this.network = network;
    this.bindings = bindings;
    this.switchPorts = new Map([...bindings].map(([switchPort, logical]) => [logical, switchPort]));
    this.chassis = new Chassis(new Set([...bindings.values(), ...claimed]), clock);
  }

  /** Frames of ports that are bound to no logical port are left to the switch. */
  decide(tables: SwitchTables, source: SwitchPort, packet: Packet, _headers: Headers): Decision | undefined {
    const inport = this.bindings.get(source.name);
    if (inport === undefined) return undefined;
    const { endings } = runLogicalFlows(this.network, this.chassis, inport, packet);
    const out = endings.filter((ending) => ending.kind === "output");
    const [first] = out;
    if (first === undefined) return this.fault(endings);
    if (out.some((other) => !isSameFrame(other.packet, first.packet))) {
      return drop("ovn-flow-refused", "its copies differ, which one decision of the switch cannot say");
    }
    const ports = tables.ports.filter((port) =>
      out.some((ending) => this.switchPorts.get(ending.port) === port.name),
    );
    const reason = `logical flows: output to ${out.map(({ port }) => port).join(", ")}`;
    if (ports.length === 1 && ports[0] === source) {
      return { kind: "reply", frame: first.packet, reason, isFromPort: false };
    }
    const [only] = ports;
    if (only === undefined)
      return drop("ovn-packet-dropped", `${reason}: no port of this switch is bound to it`);
    if (ports.length === 1) return toPortAs(only, first.packet, reason);
    return { kind: "to", ports, reason, frame: first.packet };
  }

  private fault(endings: readonly Ending[]): Decision {
    const order = ["loop", "refused", "drop"] as const;
    for (const kind of order) {
      const found = endings.find((ending) => ending.kind === kind);
      if (found !== undefined && found.kind !== "output") return drop(CODES[kind], found.text);
    }
    return drop("ovn-packet-dropped", "its flows say nothing of an output");
  }
}

function isSameFrame(a: Packet, b: Packet): boolean {
  const [left, right] = [a.frame, b.frame];
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
