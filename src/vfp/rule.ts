/**
 * Rules, groups and layers as values. They are immutable and know nothing of ports, so one compiled group serves
 * every port that needs it; ports keep counters and flows. Source: dataplane.md §1.3–1.6.
 */
import type { Provenance } from "../base/recorder.ts";
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Ip } from "../net/ip.ts";
import type { Mac } from "../net/mac.ts";
import type { Condition } from "./condition.ts";

/** `out`: from the vNIC into the switch. `in`: from the switch to the vNIC (dataplane.md §0.4). */
export type Direction = "out" | "in";

/** One of the destinations of an `lbnat` rule. */
export interface BackEnd {
  readonly ip: Ip;
  readonly port: number;
  /** MAC fix-up: the back end is on this switch. Without it the frame keeps its next hop. */
  readonly mac?: Mac;
}

/** Which fields of a packet the choice of a back end depends on (dataplane.md §3.1). */
export type Distribution = "5-tuple" | "3-tuple" | "2-tuple";

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
      readonly backEnds: readonly BackEnd[];
      readonly distribution: Distribution;
      readonly rewrites: "address-and-port" | "mac";
    }
  /** Header rewrite. Absent fields stay. */
  | {
      readonly type: "transpose";
      readonly sourceMac?: Mac;
      readonly destinationMac?: Mac;
      readonly decrementTtl?: boolean;
    }
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
  readonly direction: Direction;
  /** Groups exist per family: `in`/`out` and `inv6`/`outv6` (dataplane.md §1.4). */
  readonly family: 4 | 6;
  /** Groups of a layer are asked in ascending order. */
  readonly priority: number;
  readonly match: MatchType;
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
  /** False: a trace is silent about this layer while it has no rules. Default true. */
  readonly isToldWhenEmpty?: boolean;
}

/** Milliseconds that an idle flow lives: 240 s (dataplane.md §1.10, observed on ACL and NAT rules). */
export const FLOW_TTL_MS = 240_000;
