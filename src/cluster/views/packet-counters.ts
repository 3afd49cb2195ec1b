/**
 * What Windows nodes counted, component by component, as `pktmon counters` shows it (dataplane.md §7.12): adapters, the
 * VFP extension on each switch port, the switch, the stacks. Only looks.
 */
import type { ValueOf } from "#core/base/shape.ts";
import type { VfpDirection } from "#dataplane/vfp/rule.ts";
import { DROP_LOCATIONS, dropReason } from "#dataplane/switch/list-switch-port.ts";
import type { DropSource, SwitchPort } from "#dataplane/switch/switch-port.ts";
import type { VirtualSwitch } from "#dataplane/switch/virtual-switch.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { selectWindowsNodes } from "./vfp-ports.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const PACKET_COUNT = {
  text: "Frames that passed.",
  fields: { packets: "integer", bytes: "integer" },
} as const;
export type PacketCount = ValueOf<typeof PACKET_COUNT>;

export const COMPONENT_DROPS = {
  text: "Frames that a component dropped for one reason.",
  fields: {
    direction: { is: ["inbound", "outbound"], text: "inbound: to whoever is behind the port." },
    reason: { is: "text", text: "In the words of Hyper-V." },
    location: {
      is: "text",
      text: (): string => WORDS.componentDropsLocation,
    },
    code: { is: "text", text: "mullion explain CODE." },
    packets: "integer",
  },
} as const;
export type ComponentDrops = ValueOf<typeof COMPONENT_DROPS>;

export const PACKET_COMPONENT = {
  text: "An adapter, a filter or a stack.",
  fields: {
    id: { is: "integer", text: "Unique on its node." },
    group: { is: "text", text: "What stands together: a switch, or the stack of a compartment." },
    name: "text",
    type: ["NIC", "Filter", "Protocol"],
    driver: "text",
    drops: { list: (): typeof COMPONENT_DROPS => COMPONENT_DROPS },
  },
  optional: {
    inbound: { is: (): typeof PACKET_COUNT => PACKET_COUNT, text: "Absent where only drops are counted." },
    outbound: (): typeof PACKET_COUNT => PACKET_COUNT,
  },
} as const;
export type PacketComponent = ValueOf<typeof PACKET_COMPONENT>;

export const NODE_PACKET_COUNTERS = {
  text: "What the components of a node counted.",
  fields: { node: "text", components: { list: (): typeof PACKET_COMPONENT => PACKET_COMPONENT } },
} as const;
export type NodePacketCounters = ValueOf<typeof NODE_PACKET_COUNTERS>;

type Component = Omit<PacketComponent, "id">;

function sideOf(direction: VfpDirection): ComponentDrops["direction"] {
  return direction === "in" ? "inbound" : "outbound";
}

function dropsOf(port: SwitchPort, source: DropSource): readonly ComponentDrops[] {
  const { location } = DROP_LOCATIONS[source];
  return port
    .listDrops()
    .filter((drops) => drops.source === source)
    .map(({ direction, code, frames }) => ({
      direction: sideOf(direction),
      reason: dropReason(source, code),
      location,
      code,
      packets: frames,
    }));
}

function countOf({ packets, bytes }: PacketCount): PacketCount {
  return { packets, bytes };
}

function portComponents(port: SwitchPort, group: string): readonly Component[] {
  const nic: Component = {
    group,
    name: port.description,
    type: "NIC",
    driver: DROP_LOCATIONS.switch.driver,
    inbound: countOf(port.counters.in),
    outbound: countOf(port.counters.out),
    drops: dropsOf(port, "switch"),
  };
  if (port.kind === "external") return [nic];
  const { packets } = port.vfp;
  return [
    nic,
    {
      group,
      name: `VFP Extension, ${port.description}`,
      type: "Filter",
      driver: DROP_LOCATIONS.vfp.driver,
      inbound: { packets: packets.in, bytes: 0 },
      outbound: { packets: packets.out, bytes: 0 },
      drops: dropsOf(port, "vfp"),
    },
  ];
}

function switchComponents(virtualSwitch: VirtualSwitch): readonly Component[] {
  return virtualSwitch.listPorts().flatMap((port) => portComponents(port, `vSwitch ${virtualSwitch.name}`));
}

function stackComponents(node: ClusterNode): readonly Component[] {
  const { driver, location } = DROP_LOCATIONS.stack;
  return node.host.listCompartments().map((compartment) => ({
    group: `TCP/IP compartment ${compartment.id}`,
    name: compartment.name,
    type: "Protocol",
    driver,
    drops: compartment.drops.list().map(({ code, count }) => ({
      direction: "inbound" as const,
      reason: "Not locally destined",
      location,
      code,
      packets: count,
    })),
  }));
}

function countNode(node: ClusterNode): NodePacketCounters {
  const switches = node.hns?.listSwitches() ?? [];
  const components = [...switches.flatMap(switchComponents), ...stackComponents(node)];
  return {
    node: node.spec.name,
    components: components.map((component, index) => ({ id: index + 1, ...component })),
  };
}

/** Counters of the Windows nodes, or of one. @throws RequestError for a node that does not exist. */
export function countPackets(cluster: Cluster, node?: string): readonly NodePacketCounters[] {
  return selectWindowsNodes(cluster, node).map(countNode);
}
