/** What `vfpctrl` prints about ports: the list of a switch, states, addresses, counters (dataplane.md §7.5–7.9). */
import type {
  ListedAddressInfo,
  ListedDrop,
  ListedFlow,
  ListedFlowClass,
  ListedForwarding,
  ListedNatPool,
  ListedNatRange,
  ListedPort,
  ListedPortCounters,
  ListedPortState,
  ListedSpace,
  ListedSwitchPort,
} from "./listing.ts";
import { summarizeTransposition } from "./transposition-words.ts";
import type { TcpCounters } from "../counters.ts";

/** Labels of `/get-port-counter`. Those that Retina reads are observed (dataplane.md §7.8). Inferred: the first ones. */
export const PORT_COUNTER_LABELS: readonly (readonly [keyof ListedPortCounters, string])[] = [
  ["totalPackets", "Total packets"],
  ["droppedPackets", "Dropped packets"],
  ["pendingPackets", "Pending packets"],
  ["unifiedFlowMatch", "Unified flow match packets"],
  ["droppedAcl", "Dropped ACL packets"],
  ["synPackets", "SYN packets"],
  ["synAckPackets", "SYN-ACK packets"],
  ["finPackets", "FIN packets"],
  ["rstPackets", "RST packets"],
];

export const TCP_COUNTER_LABELS: readonly (readonly [keyof TcpCounters, string])[] = [
  ["verified", "TCP Connections Verified"],
  ["timedOut", "TCP Connections Timed Out"],
  ["reset", "TCP Connections Reset"],
  ["resetBySyn", "TCP Connections Reset by SYN"],
  ["closedByFin", "TCP Connections Closed by FIN"],
  ["halfOpenTimeouts", "TCP Half Open Timeouts"],
  ["expiredToTimeWait", "TCP Connections Expired to TimeWait"],
];

/** Labels of `/list-vmswitch-port` end in one column. */
const LABEL_WIDTH = 22;

function field(label: string, value: string | number): string {
  return `${label.padEnd(LABEL_WIDTH)}: ${value}`;
}

function dropLines(side: "Ingress" | "Egress", drops: readonly ListedDrop[]): readonly string[] {
  const total = drops.reduce((sum, { packets }) => sum + packets, 0);
  const byReason = new Map<string, number>();
  for (const { reason, packets } of drops) byReason.set(reason, (byReason.get(reason) ?? 0) + packets);
  return [
    `    ${side} Packet Drops : ${total}`,
    ...[...byReason].map(([reason, packets]) => `    ${side} packet drops : ${reason} : ${packets}`),
  ];
}

/**
 * One port of `/list-vmswitch-port`, with the empty line behind it. `Port type:` has two colons, and three lines are
 * sentences: scripts that count lines with a colon rely on both (dataplane.md §7.9, users.md §4).
 */
export function switchPortLines(port: ListedSwitchPort): readonly string[] {
  return [
    field("Port name", port.name),
    field("Port Friendly name", port.friendlyName),
    field("Switch name", port.switchName),
    field("Switch Friendly name", port.switchFriendlyName),
    field("PortId", port.portId),
    field("VMQ Weight", 0),
    field("VMQ Usage", 0),
    field("SR-IOV Weight", 0),
    field("SR-IOV Usage", 0),
    field("Port type:", port.type),
    "Port is Initialized.",
    `MAC Learning is ${port.isLearning ? "Enabled" : "Disabled"}.`,
    field("NIC name", port.nicName),
    field("NIC Friendly name", port.nicFriendlyName),
    field("MTU", port.mtu),
    field("MAC address", port.mac),
    field("VM name", port.vmName),
    field("VM ID", port.vmId),
    "NIC is Connected.",
    "NIC Statistics:",
    `    Bytes Sent : ${port.bytesSent}`,
    `    Bytes Received : ${port.bytesReceived}`,
    ...dropLines("Ingress", port.ingressDrops),
    ...dropLines("Egress", port.egressDrops),
    "",
  ];
}

function truth(value: boolean): string {
  return value ? "TRUE" : "FALSE";
}

/** `/get-port-state`. */
export function portStateLines(state: ListedPortState): readonly string[] {
  return [
    "",
    "PORT STATE",
    `  Enabled : ${truth(state.enabled)}`,
    `  Blocked : ${truth(state.blocked)}`,
    `  BlockedOnRestore : ${truth(state.blockedOnRestore)}`,
    `  BlockedLayerCreation : ${truth(state.blockedLayerCreation)}`,
    `  Preserving Vlan : ${truth(state.preservingVlan)}`,
    `  VM Context Set : ${truth(state.vmContextSet)}`,
    "",
  ];
}

/** `/get-address-info`. */
export function addressInfoLines(info: ListedAddressInfo): readonly string[] {
  return [
    "",
    "ADDRESS INFO",
    `  Provider IP : ${info.providerIpv4}`,
    `  Provider IPv6 : ${info.providerIpv6}`,
    `  Customer IPv4 : ${info.customerIpv4}`,
    `  Customer IPv6 : ${info.customerIpv6}`,
    `  MAC address : ${info.mac}`,
    `  Fake MAC address : ${info.fakeMac}`,
    `  Flags : ${info.flags}`,
    "",
  ];
}

/** Values that were seen on all ports (dataplane.md §1.2), with True and False in small letters. */
const PARSER_SETTINGS: readonly (readonly [string, string])[] = [
  ["ParseVxlan", "True"],
  ["ParseEncryptedVxlan", "False"],
  ["VxlanSrcPortRange", "0-65535"],
  ["IgnoreGlobalSettings", "False"],
  ["ParseRdma", "False"],
  ["RdmaDestPort", "0"],
  ["MirrorVxlanDestPort", "0"],
  ["MirrorVxlanSrcPort", "0"],
  ["ParseErspanPacket", "False"],
  ["ParseIcmpMessage", "True"],
];

/** `/get-port-parser-settings`. */
export function parserSettingsLines(): readonly string[] {
  return [
    "",
    "  PORT PARSER SETTINGS",
    ...PARSER_SETTINGS.map(([name, value]) => `    ${name} - ${value}`),
    "",
  ];
}

function counterSide(name: string, counters: ListedPortCounters): readonly string[] {
  return [
    `  Direction - ${name}`,
    ...PORT_COUNTER_LABELS.map(([key, label]) => `      ${label} : ${counters[key]}`),
    ...TCP_COUNTER_LABELS.map(([key, label]) => `      ${label} : ${counters[key]}`),
    "",
  ];
}

/** `/get-port-counter`: OUT comes first, and every line with a colon has a number behind it (dataplane.md §7.8). */
export function portCounterLines({ counters }: ListedPort): readonly string[] {
  return ["", "PORT COUNTER", ...counterSide("OUT", counters.out), ...counterSide("IN", counters.in)];
}

/** The JSON of `/get-port-counter`: Direction 0 is egress (users.md §4). */
export function portCounterJson({ counters }: ListedPort): Readonly<Record<string, unknown>> {
  const side = (direction: number, counts: ListedPortCounters): Readonly<Record<string, unknown>> => ({
    Direction: direction,
    TotalPackets: counts.totalPackets,
    DroppedPackets: counts.droppedPackets,
    DroppedAcl: counts.droppedAcl,
    PendingPackets: counts.pendingPackets,
    TcpSynPackets: counts.synPackets,
    TcpSynAckPackets: counts.synAckPackets,
    TcpFinPackets: counts.finPackets,
    TcpResetPackets: counts.rstPackets,
  });
  return { InformationArray: { PortCounters: [side(0, counters.out), side(1, counters.in)] } };
}

/** `/get-port-flow-stats`: the classes of a port's limits (dataplane.md §7.7). Inferred: the layout of the text. */
export function flowStatisticsLines(classes: readonly ListedFlowClass[]): readonly string[] {
  return [
    "",
    "PORT FLOW STATS",
    ...classes.flatMap(({ name, count, limit, maximum, created }) => [
      `  ${name} flows`,
      `      Count : ${count}`,
      `      Limit : ${limit ?? 0}`,
      `      Maximum : ${maximum}`,
      `      Created : ${created}`,
    ]),
    "",
  ];
}

/** `/list-nat-pool`. Inferred: the layout. */
export function natPoolLines(pools: readonly ListedNatPool[]): readonly string[] {
  return pools.flatMap(({ name, ip, protocol, ranges }) => [
    `NAT POOL : ${name}`,
    `    Friendly name : ${name}`,
    `    IP : ${ip}`,
    `    Protocol : ${protocol}`,
    `    NAT ranges : ${ranges}`,
    "",
  ]);
}

/**
 * `/get-switch-forwarding-settings`. The names of the settings are public (dataplane.md §1.9). Inferred: the layout, and
 * the values that no policy of HNS changes.
 */
export function forwardingLines(switchName: string, forwarding: ListedForwarding): readonly string[] {
  const { innerMac, allToExternal, vxlanPort } = forwarding;
  const flag = (value: boolean): string => (value ? "TRUE" : "FALSE");
  return [
    "",
    `SWITCH FORWARDING SETTINGS : ${switchName}`,
    `    Inner MAC forwarding : ${flag(innerMac)}`,
    `    Reduce port MTU for encapsulation : ${flag(false)}`,
    `    Inner MAC VMQ : ${flag(false)}`,
    `    Forward all traffic to external network : ${flag(allToExternal)}`,
    `    Use packet TNI : ${flag(innerMac)}`,
    `    Skip TNI validation for inner MAC forwarding : ${flag(false)}`,
    `    Drop loopback hairpin : ${flag(false)}`,
    `    VXLAN destination port : ${vxlanPort}`,
    "",
  ];
}

/** `/list-nat-range`. Inferred: the layout; names of pools and sizes of blocks are those of nodes (dataplane.md §1.8). */
export function natRangeLines(ranges: readonly ListedNatRange[]): readonly string[] {
  return [...Map.groupBy(ranges, ({ pool }) => pool)].flatMap(([pool, blocks]) => [
    `NAT POOL : ${pool}`,
    ...blocks.flatMap(({ ip, protocol, first, last, used }, index) => [
      `  NAT RANGE : ${index}`,
      `      IP : ${ip}`,
      `      Protocol : ${protocol}`,
      `      Ports : ${first}-${last}`,
      `      Ports in use : ${used}`,
    ]),
    "",
  ]);
}

/** `/list-space`. */
export function spaceLines(spaces: readonly ListedSpace[]): readonly string[] {
  return spaces.flatMap(({ id }) => [`SPACE : ${id}`, `    Friendly name : ${id}`, ""]);
}

/** `/list-mapping`. */
export function mappingLines(spaces: readonly ListedSpace[]): readonly string[] {
  return spaces.flatMap(({ id, mappings }) => [
    `SPACE : ${id}`,
    ...mappings.flatMap((mapping) => [
      `  MAPPING : ${mapping.customerAddress}`,
      `      PA : ${mapping.providerAddress}`,
      `      MAC address : ${mapping.mac}`,
      ...(mapping.tni === undefined ? [] : [`      TNI : ${mapping.tni}`]),
    ]),
    "",
  ]);
}

/**
 * `/list-unified-flow`: six lines a flow. Inferred: the layout, of which only the number of lines is known (dataplane.md
 * §7.10); the words of the transposition are those of ETW (§1.10).
 */
export function flowLines(flows: readonly ListedFlow[]): readonly string[] {
  return flows.flatMap((flow) => [
    `FLOW : ${flow.protocol} ${flow.source} ${flow.sourcePort} ${flow.destination} ${flow.destinationPort}`,
    `    Direction : ${flow.direction}`,
    `    Tunnel : ${flow.tunnelId}`,
    `    Transposition : ${summarizeTransposition(flow.transposition)}`,
    `    Packets : ${flow.packets}`,
    `    TTL : ${flow.ttl}, idle ${flow.idleSeconds}${flow.isCurrent ? "" : ", stale"}`,
    "",
  ]);
}
