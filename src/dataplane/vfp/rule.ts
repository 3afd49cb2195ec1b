/**
 * Rules, groups and layers as values. They are immutable and know nothing of ports, so one compiled group serves
 * every port that needs it; ports keep counters and flows. Source: dataplane.md §1.3–1.6.
 */
import type { Provenance } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { TunnelKind } from "#core/wire/tunnels/tunnel.ts";
import type { Condition } from "./matching/condition.ts";
import type { RateLimit } from "./token-bucket.ts";

/** `out`: from the vNIC into the switch. `in`: from the switch to the vNIC (dataplane.md §0.4). */
export type VfpDirection = "out" | "in";

/** One of the destinations of an `lbnat` rule. */
export interface LbnatBackEnd {
  readonly ip: Ip;
  readonly port: number;
  /** MAC fix-up: the back end is on this switch. Without it the frame keeps its next hop. */
  readonly mac?: Mac;
}

/** Which fields of a packet the choice of a back end depends on (dataplane.md §3.1). */
export type Distribution = "5-tuple" | "3-tuple" | "2-tuple";

/** Where `routeencap` sends packets. */
export interface EncapDestination {
  readonly providerAddress: Ip;
  /** The inner destination MAC that its node knows: that of its distributed router. Without it the MAC stays. */
  readonly innerMac?: Mac;
  /** The outer destination MAC, until a `paroute` rule knows better. */
  readonly providerMac?: Mac;
}

/** What a rule does to a packet that matches it. Types have vfpctrl's names (dataplane.md §1.6). */
export type Action =
  | { readonly type: "allow" }
  /** Drops; `code` explains the drop. */
  | { readonly type: "block"; readonly code: KnowledgeCode }
  /** Static NAT of one side; without `port` the port stays. */
  | { readonly type: "nat"; readonly side: "source" | "destination"; readonly ip: Ip; readonly port?: number }
  /**
   * Source NAT with a port of the port's NAT pool `pool`; the pool says the address.
   * The reverse flow also restores the sender's MAC as destination, since only the flow knows it.
   */
  | { readonly type: "dynnat"; readonly pool: string }
  /**
   * Load balancing: a hash of the packet chooses one of `backEnds`, and the flow keeps the choice. The answer gets the
   * former destination back as source. `mac` changes the destination MAC alone: the host's half of direct server
   * return, where the port of the back end translates (dataplane.md §1.6, §2.2.3).
   */
  | {
      readonly type: "lbnat";
      readonly backEnds: readonly LbnatBackEnd[];
      readonly distribution: Distribution;
      readonly rewrites: "address-and-port" | "mac";
    }
  /** Header rewrite. Absent fields stay. With an address it ends its layer, as NAT does. */
  | {
      readonly type: "transpose";
      readonly sourceMac?: Mac;
      readonly destinationMac?: Mac;
      readonly source?: Ip;
      readonly destination?: Ip;
      readonly decrementTtl?: boolean;
      readonly dscp?: number;
      /** The packet's virtual subnet from here on; 0 for none. */
      readonly tni?: number;
    }
  /**
   * Puts outer headers on, towards fixed provider addresses: a hash of the inner headers chooses one of up to eight. The
   * port says the source.
   */
  | {
      readonly type: "routeencap";
      readonly encapsulation: TunnelKind;
      readonly tni: number;
      readonly destinations: readonly EncapDestination[];
      /** The UDP port of VXLAN, where the port's own is that of another network. */
      readonly udpPort?: number;
      readonly innerSourceMac?: Mac;
      readonly decrementTtl?: boolean;
    }
  /** Puts outer headers on, towards the provider address that the port's space `space` has for the destination. */
  | {
      readonly type: "mapencap";
      readonly encapsulation: TunnelKind;
      readonly space: string;
      /** For mappings without a number of their own. */
      readonly tni: number;
      /** Look up the destination MAC in place of the destination address. */
      readonly byMac?: boolean;
      /** Write the mapping's MAC as inner destination. */
      readonly rewritesMac?: boolean;
      readonly decrementTtl?: boolean;
    }
  /** Takes outer headers off. The inner MACs stay ("preserve MAC"), unless given here. */
  | {
      readonly type: "decap";
      /** The tunnel's number becomes the packet's virtual subnet. */
      readonly pushesTni?: boolean;
      readonly innerSourceMac?: Mac;
      readonly innerDestinationMac?: Mac;
    }
  /** Sets the DSCP. */
  | { readonly type: "mark"; readonly dscp: number }
  /** Holds packets to a rate. Each port has its own bucket. */
  | ({ readonly type: "qos" } & RateLimit)
  /**
   * Sends packets somewhere else, such as to a proxy; the answer gets the former destination back as source, and
   * `VfpPort.findOriginalDestination` tells it to whoever was put in the way.
   */
  | { readonly type: "redirect"; readonly ip: Ip; readonly port?: number; readonly mac?: Mac }
  /** Asks the host's routes and neighbours for the next hop and writes both MACs. */
  | { readonly type: "paroute" };

export interface Rule {
  /** Unique in its group. */
  readonly id: string;
  /** The friendly name that `vfpctrl /list-rule` prints. */
  readonly name: string;
  /** 0 to 65535; the lowest matching number wins. */
  readonly priority: number;
  readonly condition: Condition;
  readonly action: Action;
  /** Ends the layer. Without it the layer goes on with its next group. NAT rules are terminating. */
  readonly isTerminating: boolean;
  /** Makes a flow pair, so that the answer passes and is rewritten back, and ends the layer. Only in stateful layers. */
  readonly isStateful: boolean;
  /** How much less the MSS option of a SYN says on its way, and that of its answer (dataplane.md §1.5). Default 0. */
  readonly mssDelta?: number;
  readonly reverseMssDelta?: number;
  /**
   * Where a copy of each packet goes. Inferred: as it leaves the port, if it does; of a flow, packets in the rule's
   * direction (dataplane.md §10 says only that there is a copy).
   */
  readonly mirrorTo?: string;
  /** How long its flows live idle, in milliseconds. Default: what the port is set to. */
  readonly flowTtlMs?: number;
  /** In a hairpin layer: what this rule lets pass is not turned (rule flag 32). Default false. */
  readonly skipsHairpin?: boolean;
  /** What `vfpctrl` prints as its id. Default: its name. Empty for rules that only have a name. */
  readonly listedId?: string;
  /** `vfpctrl` prints a GUID as its id, which nobody gave it (`listedGuid`). Default false. */
  readonly hasListedGuid?: boolean;
  /** Further bits of its flags as `vfpctrl` prints them; without any effect here. */
  readonly listedFlags?: number;
  readonly provenance: Provenance;
  /** Section that says so when the rule's effect is inferred. */
  readonly inferred?: string;
  /**
   * What to tell a trace when everything about a packet fits this rule except one thing: its protocol, or that its
   * destination is an exception. Has no effect on packets.
   */
  readonly missCodes?: {
    readonly protocols?: KnowledgeCode;
    readonly destinationExcept?: KnowledgeCode;
  };
}

/** How the best rule of a group is found. */
export type MatchType = "priority" | "lpm-destination";

/** What to tell a trace when a packet that fits `condition` matches no rule of the group. Has no effect on packets. */
export interface MissNote {
  readonly condition: Condition;
  readonly code: KnowledgeCode;
  readonly text: string;
}

/** What a group is made from; `createGroup` in group.ts makes it. */
export interface GroupDefinition {
  readonly name: string;
  readonly direction: VfpDirection;
  /** Groups exist per family: `in`/`out` and `inv6`/`outv6` (dataplane.md §1.4). */
  readonly family: 4 | 6;
  /** Groups of a layer are asked in ascending order. */
  readonly priority: number;
  readonly match: MatchType;
  /** What a packet must have for the group to be asked at all. Default: nothing. */
  readonly condition?: Condition | undefined;
  /** For `lpm-destination`, each rule has exactly one destination prefix. */
  readonly rules: readonly Rule[];
  readonly missNotes?: readonly MissNote[];
}

export interface LayerDefinition {
  readonly name: string;
  /** Outgoing packets walk layers in ascending order, incoming ones in descending order (dataplane.md §1.3). */
  readonly priority: number;
  /** Keeps flows. */
  readonly isStateful: boolean;
  /** A packet that matches nothing goes on; without it, it is dropped. */
  readonly isDefaultAllow: boolean;
  /**
   * A packet that a rule of this layer lets pass is turned round: it goes on in the other direction, through the layers
   * behind this one, and leaves the port on the side it came from (layer flag 2, dataplane.md §1.3). So do the answers
   * of its flows. Default false.
   */
  readonly isHairpin?: boolean;
  /**
   * The packet's virtual subnet is cleared before the layer looks at it (layer flag 4, "clear TNI"). Inferred: before and
   * not behind, since the decap rule that pushes a new one stands in such a layer (dataplane.md §2.2.1). Default false.
   */
  readonly clearsTni?: boolean;
  /**
   * Flows are evaluated again when an address of the port changes (layer flag 8). Here they are in every layer; it is
   * printed as `vfpctrl` prints it. Default false.
   */
  readonly updatesFlows?: boolean;
  /** False: a trace is silent about this layer while it has no rules. Default true. */
  readonly isShownWhenEmpty?: boolean;
}

/** Milliseconds that an idle flow lives: 240 s (dataplane.md §1.10, observed on ACL and NAT rules). */
export const FLOW_TTL_MS = 240_000;
