/**
 * What a node's `vfpctrl` says of a port, as plain data: between the engine, the text, the JSON of `/format 1` and the
 * control API. It holds what the text carries and nothing more, so that text and listing are the same thing twice.
 * Source of fields and labels: dataplane.md §7.
 */
import type { TranspositionWords } from "#core/base/recorder.ts";
import type { LayerCounters, PortCounters, RuleCounters, TcpCounters } from "../counters.ts";

/** One line under `Conditions:`. Labels and values are those of the text. */
export interface ListedCondition {
  /** `Protocols`, `Source IP`, `Destination ports` … */
  readonly label: string;
  readonly value: string;
}

export interface ListedRule {
  /** What `/rule` takes. Empty for rules that only have a name. */
  readonly id: string;
  /** The friendly name. */
  readonly name: string;
  readonly priority: number;
  /** Bits of `RuleFlag` and of its type. */
  readonly flags: number;
  /** `allow`, `block`, `dynnat`, `lbnat` … */
  readonly type: string;
  readonly conditions: readonly ListedCondition[];
  /** Seconds that its flows live idle; 0 for rules that keep none. */
  readonly ttl: number;
  /** The lines between `Flow TTL` and `FlagsEx`, by four blanks a level. */
  readonly data: readonly string[];
  readonly flagsEx: number;
  readonly counters?: RuleCounters;
}

export interface ListedGroup {
  readonly id: string;
  readonly name: string;
  readonly priority: number;
  readonly direction: "OUT" | "IN";
  readonly type: "IPv4" | "IPv6";
  readonly conditions: readonly ListedCondition[];
  /** `Priority-based match`, `Longest prefix match on Destination IP`. */
  readonly match: string;
  readonly rules: readonly ListedRule[];
}

export interface ListedLayer {
  readonly id: string;
  readonly name: string;
  /** Bits of `LayerFlag`. */
  readonly flags: number;
  readonly priority: number;
  readonly groups: readonly ListedGroup[];
  readonly counters?: { readonly out: LayerCounters; readonly in: LayerCounters };
}

/** A block of ports that a NAT pool has of the node. */
export interface ListedNatRange {
  readonly pool: string;
  readonly ip: string;
  readonly protocol: number;
  readonly first: number;
  readonly last: number;
  /** How many of the block's ports are in use. */
  readonly used: number;
}

/** `/list-nat-pool`. */
export interface ListedNatPool {
  readonly name: string;
  readonly ip: string;
  readonly protocol: number;
  /** How many ranges it holds. */
  readonly ranges: number;
}

export interface ListedMapping {
  readonly customerAddress: string;
  readonly providerAddress: string;
  readonly mac: string;
  /** Absent where the rule that asks says it. */
  readonly tni?: number;
}

export interface ListedSpace {
  readonly id: string;
  readonly mappings: readonly ListedMapping[];
}

/** One direction of a connection that a port remembers, with the sum of what all layers do to it. */
export interface ListedFlow {
  readonly direction: "OUT" | "IN";
  readonly protocol: number;
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
  /** Of the tunnel that packets come in; 0 for none. */
  readonly tunnelId: number;
  /** In the words of dataplane.md §1.10. */
  readonly transposition: TranspositionWords;
  readonly packets: number;
  /** Seconds that it lives idle. */
  readonly ttl: number;
  readonly idleSeconds: number;
  /** False: its next packet walks the layers. */
  readonly isCurrent: boolean;
}

/** `/get-port-state`. */
export interface ListedPortState {
  readonly enabled: boolean;
  readonly blocked: boolean;
  readonly blockedOnRestore: boolean;
  readonly blockedLayerCreation: boolean;
  readonly preservingVlan: boolean;
  readonly vmContextSet: boolean;
}

/** `/get-address-info`. */
export interface ListedAddressInfo {
  readonly providerIpv4: string;
  readonly providerIpv6: string;
  readonly customerIpv4: string;
  readonly customerIpv6: string;
  readonly mac: string;
  readonly fakeMac: string;
  readonly flags: number;
}

/** One direction of `/get-port-counter`. */
export interface ListedPortCounters extends PortCounters, TcpCounters {
  readonly totalPackets: number;
}

/** One class of `/get-port-flow-stats`. */
export interface ListedFlowClass {
  readonly name: string;
  readonly count: number;
  /** Absent: none is set. */
  readonly limit?: number;
  readonly maximum: number;
  readonly created: number;
}

/** What of `/get-switch-forwarding-settings` differs between switches (dataplane.md §1.9). */
export interface ListedForwarding {
  /** Frames in tunnels go by the MAC inside. */
  readonly innerMac: boolean;
  /** What comes from pods goes to the uplink, whoever it is for. */
  readonly allToExternal: boolean;
  readonly vxlanPort: number;
}

/** A port of a switch, as `/list-vmswitch-port` shows it. */
export interface ListedSwitchPort {
  /** A GUID: what `/port` takes. */
  readonly name: string;
  readonly friendlyName: string;
  readonly switchName: string;
  readonly switchFriendlyName: string;
  readonly portId: number;
  readonly type: "External" | "Internal" | "Synthetic";
  readonly isLearning: boolean;
  readonly forwarding: ListedForwarding;
  readonly nicName: string;
  readonly nicFriendlyName: string;
  readonly mtu: number;
  readonly mac: string;
  readonly vmName: string;
  readonly vmId: string;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Ingress and egress are the switch's: ingress is what came from behind the port. */
  readonly ingressDrops: readonly ListedDrop[];
  readonly egressDrops: readonly ListedDrop[];
}

/** Frames that a port or its switch dropped, by reason. */
export interface ListedDrop {
  /** In the words of Hyper-V (dataplane.md §7.9). */
  readonly reason: string;
  /** Of Mullion's catalogue; absent in what a real node printed. */
  readonly code?: string;
  readonly packets: number;
}

/** Everything of one port. */
export interface ListedPort {
  readonly state: ListedPortState;
  readonly addressInfo: ListedAddressInfo;
  readonly layers: readonly ListedLayer[];
  readonly natPools: readonly ListedNatPool[];
  readonly natRanges: readonly ListedNatRange[];
  readonly spaces: readonly ListedSpace[];
  readonly flows: readonly ListedFlow[];
  readonly counters: { readonly out: ListedPortCounters; readonly in: ListedPortCounters };
  readonly flowClasses: readonly ListedFlowClass[];
}

/** Numbers in front of the words of `Flags` on layers (dataplane.md §1.3). */
export const LayerFlag = {
  defaultAllow: 1,
  hairpin: 2,
  clearTni: 4,
  updateFlows: 8,
} as const;

/** Numbers in front of the words of `Flags` on rules (dataplane.md §1.5). */
export const RuleFlag = {
  terminating: 1,
  stateful: 2,
  nonSynOnly: 4,
  trackTcpState: 8,
  synOnly: 16,
  skipHairpin: 32,
  mirror: 16_384,
} as const;

/** Bits of `Flags` that belong to one type of rule (dataplane.md §1.6). */
export const TypeFlag = {
  natSource: 256,
  natDestination: 512,
  natIpOnly: 1_024,
  decapPreserveMac: 256,
  decapPushVsid: 512,
  lbMacFixUp: 4_096,
  lbModifyIp: 65_536,
  lbModifyPort: 131_072,
  lbCreateFlow: 524_288,
} as const;

/** Match types of groups, as they are printed (dataplane.md §1.4). */
export const MatchWord = {
  priority: "Priority-based match",
  "lpm-destination": "Longest prefix match on Destination IP",
} as const;
