/**
 * What a node's `vfpctrl` says of a port, as plain data: between the engine, the text, the JSON of `/format 1` and the
 * control API. It holds what the text carries and nothing more, so that text and listing are the same thing twice.
 * Source of fields and labels: dataplane.md §7.
 */
import { TRANSPOSITION_WORDS } from "#core/base/recorder.ts";
import type { ValueOf } from "#core/base/shape.ts";
import { LAYER_COUNTERS, RULE_COUNTERS, TCP_COUNTERS } from "../counters.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

/** One line under `Conditions:`. Labels and values are those of the text. */
export const LISTED_CONDITION = {
  text: "A line under Conditions, as the text has it.",
  fields: { label: "text", value: "text" },
} as const;
export type ListedCondition = ValueOf<typeof LISTED_CONDITION>;

/** Of an excerpt of a text: labels of fields that it does not carry, whose values here are none. */
export const ABSENT = {
  list: "text",
  text: (): string => WORDS.listedAbsent,
} as const;
/** What may be an excerpt. */
export interface Excerpt {
  readonly absent?: readonly string[];
}

export const LISTED_RULE = {
  text: "A rule.",
  fields: {
    id: { is: "text", text: "What /rule takes; empty for rules that only have a name." },
    name: { is: "text", text: "The friendly name." },
    priority: "integer",
    flags: { is: "integer", text: "1 terminating, 2 stateful; others belong to the type." },
    type: { is: "text", text: "allow, block, dynnat, lbnat …" },
    conditions: { list: (): typeof LISTED_CONDITION => LISTED_CONDITION },
    ttl: { is: "integer", text: "Seconds that its flows live idle; 0 for rules that keep none." },
    data: {
      list: "text",
      text: (): string => WORDS.listedRuleData,
    },
    flagsEx: "integer",
  },
  optional: { counters: (): typeof RULE_COUNTERS => RULE_COUNTERS, absent: (): typeof ABSENT => ABSENT },
} as const;
export type ListedRule = ValueOf<typeof LISTED_RULE>;

export const LISTED_GROUP = {
  text: (): string => WORDS.listedGroup,
  fields: {
    id: "text",
    name: "text",
    priority: "integer",
    direction: { is: ["OUT", "IN"], text: "OUT: from the vNIC into the switch." },
    type: ["IPv4", "IPv6"],
    conditions: { list: (): typeof LISTED_CONDITION => LISTED_CONDITION },
    match: { is: "text", text: "Priority-based match, Longest prefix match on Destination IP." },
    rules: { list: (): typeof LISTED_RULE => LISTED_RULE },
  },
  optional: { absent: (): typeof ABSENT => ABSENT },
} as const;
export type ListedGroup = ValueOf<typeof LISTED_GROUP>;

export const LISTED_LAYER = {
  text: "A layer.",
  fields: {
    id: "text",
    name: "text",
    flags: {
      is: "integer",
      text: "1 default allow, 2 hairpin, 4 clear TNI, 8 update flows on address change.",
    },
    priority: { is: "integer", text: "Outgoing packets meet the lowest first, incoming ones the highest." },
    groups: { list: (): typeof LISTED_GROUP => LISTED_GROUP },
  },
  optional: {
    absent: (): typeof ABSENT => ABSENT,
    counters: {
      text: "Both directions.",
      fields: {
        out: (): typeof LAYER_COUNTERS => LAYER_COUNTERS,
        in: (): typeof LAYER_COUNTERS => LAYER_COUNTERS,
      },
    },
  },
} as const;
export type ListedLayer = ValueOf<typeof LISTED_LAYER>;

export const LISTED_NAT_RANGE = {
  text: (): string => WORDS.listedNatRange,
  fields: {
    pool: "text",
    ip: "text",
    protocol: "integer",
    first: "integer",
    last: "integer",
    used: { is: "integer", text: "How many of the block's ports are in use." },
  },
} as const;
export type ListedNatRange = ValueOf<typeof LISTED_NAT_RANGE>;

/** `/list-nat-pool`. */
export const LISTED_NAT_POOL = {
  text: "A NAT pool.",
  fields: {
    name: "text",
    ip: "text",
    protocol: "integer",
    ranges: { is: "integer", text: "How many it holds." },
  },
} as const;
export type ListedNatPool = ValueOf<typeof LISTED_NAT_POOL>;

export const LISTED_MAPPING = {
  text: "A mapping.",
  fields: { customerAddress: "text", providerAddress: "text", mac: "text" },
  optional: { tni: { is: "integer", text: "Absent where the rule that asks says it." } },
} as const;

export const LISTED_SPACE = {
  text: "A space of mappings.",
  fields: { id: "text", mappings: { list: (): typeof LISTED_MAPPING => LISTED_MAPPING } },
} as const;
export type ListedSpace = ValueOf<typeof LISTED_SPACE>;

/** One direction of a connection that a port remembers. */
export const LISTED_FLOW = {
  text: (): string => WORDS.listedFlow,
  fields: {
    direction: { is: ["OUT", "IN"], text: "OUT: from the vNIC into the switch." },
    protocol: "integer",
    source: "text",
    sourcePort: "integer",
    destination: "text",
    destinationPort: "integer",
    tunnelId: { is: "integer", text: "Of the tunnel that packets come in; 0 for none." },
    transposition: (): typeof TRANSPOSITION_WORDS => TRANSPOSITION_WORDS,
    packets: "integer",
    ttl: { is: "number", text: "Seconds that it lives idle." },
    idleSeconds: "number",
    isCurrent: { is: "boolean", text: "False: its next packet walks the layers." },
  },
} as const;
export type ListedFlow = ValueOf<typeof LISTED_FLOW>;

export const LISTED_PORT_STATE = {
  text: "As /get-port-state says.",
  fields: {
    enabled: "boolean",
    blocked: "boolean",
    blockedOnRestore: "boolean",
    blockedLayerCreation: "boolean",
    preservingVlan: "boolean",
    vmContextSet: "boolean",
  },
} as const;
export type ListedPortState = ValueOf<typeof LISTED_PORT_STATE>;

export const LISTED_ADDRESS_INFO = {
  text: "As /get-address-info says.",
  fields: {
    providerIpv4: "text",
    providerIpv6: "text",
    customerIpv4: "text",
    customerIpv6: "text",
    mac: "text",
    fakeMac: "text",
    flags: "integer",
  },
} as const;
export type ListedAddressInfo = ValueOf<typeof LISTED_ADDRESS_INFO>;

/** One direction of `/get-port-counter`. */
export const LISTED_PORT_COUNTERS = {
  text: "As /get-port-counter counts, for one direction.",
  base: (): typeof TCP_COUNTERS => TCP_COUNTERS,
  fields: { totalPackets: "integer" },
} as const;
export type ListedPortCounters = ValueOf<typeof LISTED_PORT_COUNTERS>;

/** One class of `/get-port-flow-stats`. */
export const LISTED_FLOW_CLASS = {
  text: "A class of flows.",
  fields: { name: "text", count: "integer", maximum: "integer", created: "integer" },
  optional: { limit: { is: "integer", text: "Absent: none is set." } },
} as const;
export type ListedFlowClass = ValueOf<typeof LISTED_FLOW_CLASS>;

/** What of the forwarding settings differs between switches (dataplane.md §1.9). */
export const LISTED_FORWARDING = {
  text: "What of /get-switch-forwarding-settings differs between switches.",
  fields: {
    innerMac: { is: "boolean", text: "Frames in tunnels go by the MAC inside." },
    allToExternal: { is: "boolean", text: (): string => WORDS.listedAllToExternal },
    vxlanPort: "integer",
  },
} as const;
export type ListedForwarding = ValueOf<typeof LISTED_FORWARDING>;

/** Frames that a port or its switch dropped (dataplane.md §7.9). */
export const LISTED_DROP = {
  text: "Frames that were dropped for one reason.",
  fields: { reason: { is: "text", text: "In the words of Hyper-V." }, packets: "integer" },
  optional: { code: { is: "text", text: "mullion explain CODE; absent in what a real node printed." } },
} as const;
export type ListedDrop = ValueOf<typeof LISTED_DROP>;

/** A port of a switch, as `/list-vmswitch-port` shows it. */
export const LISTED_SWITCH_PORT = {
  text: "A switch port.",
  fields: {
    name: { is: "text", text: "The GUID that /port takes." },
    friendlyName: "text",
    switchName: "text",
    switchFriendlyName: "text",
    portId: "integer",
    type: ["External", "Internal", "Synthetic"],
    isLearning: "boolean",
    forwarding: (): typeof LISTED_FORWARDING => LISTED_FORWARDING,
    nicName: "text",
    nicFriendlyName: "text",
    mtu: "integer",
    mac: "text",
    vmName: "text",
    vmId: "text",
    bytesSent: "integer",
    bytesReceived: "integer",
    ingressDrops: {
      list: (): typeof LISTED_DROP => LISTED_DROP,
      text: "Of frames from behind the port: ingress is the switch's.",
    },
    egressDrops: { list: (): typeof LISTED_DROP => LISTED_DROP },
  },
} as const;
export type ListedSwitchPort = ValueOf<typeof LISTED_SWITCH_PORT>;

/** Everything of one port. */
export const LISTED_PORT = {
  text: "What VFP holds for a port.",
  fields: {
    state: (): typeof LISTED_PORT_STATE => LISTED_PORT_STATE,
    addressInfo: (): typeof LISTED_ADDRESS_INFO => LISTED_ADDRESS_INFO,
    layers: {
      list: (): typeof LISTED_LAYER => LISTED_LAYER,
      text: "As /list-layer orders them: hairpin layers last.",
    },
    natPools: { list: (): typeof LISTED_NAT_POOL => LISTED_NAT_POOL },
    natRanges: { list: (): typeof LISTED_NAT_RANGE => LISTED_NAT_RANGE },
    spaces: { list: (): typeof LISTED_SPACE => LISTED_SPACE },
    flows: { list: (): typeof LISTED_FLOW => LISTED_FLOW },
    counters: {
      text: "Both directions.",
      fields: {
        out: (): typeof LISTED_PORT_COUNTERS => LISTED_PORT_COUNTERS,
        in: (): typeof LISTED_PORT_COUNTERS => LISTED_PORT_COUNTERS,
      },
    },
    flowClasses: { list: (): typeof LISTED_FLOW_CLASS => LISTED_FLOW_CLASS },
  },
} as const;
export type ListedPort = ValueOf<typeof LISTED_PORT>;

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
