/**
 * A flow of one layer: both directions of a connection that a stateful rule let pass or rewrote.
 * An idle flow ends after 240 s silently to either side (dataplane.md §1.10, observed).
 */
import { defined } from "#core/base/assert.ts";
import type { FlowKey } from "../flow-key.ts";
import type { NatPool } from "../actions/nat-pool.ts";
import type { LbnatBackEnd, Rule } from "../rule.ts";
import { NOTHING, type Transposition } from "../actions/transposition.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Group } from "../group.ts";

/** A rule and the group it stands in. */
export interface RuleMatch {
  readonly group: Group;
  readonly rule: Rule;
}

/** What a flow is, as the limits of a port sort it. */
export type TransportClass = "tcp" | "udp" | "other";

export function classOfProtocol(protocol: number): TransportClass {
  if (protocol === IpProtocol.tcp) return "tcp";
  return protocol === IpProtocol.udp ? "udp" : "other";
}

/** One direction of a pair. */
export interface LayerFlow {
  readonly pair: LayerFlowPair;
  readonly isMain: boolean;
  readonly transposition: Transposition;
}

/** A rule that matched in a layer, and how to find it again. */
export interface ChainStep {
  readonly match: RuleMatch;
  /** What the packet was known by here, once a rule before this one had rewritten it. */
  readonly rewrittenKey: Int32Array | undefined;
  /** Where an lbnat rule sent the packet. */
  readonly backEnd: LbnatBackEnd | undefined;
}

/**
 * `opening`: no answer seen. `open`: both sides spoke. `closing`: a FIN passed. `time-wait`: one of each side, or a RST.
 * A SYN on a flow that is not `opening` is a new connection on an old tuple and resets the flow
 * (dataplane.md §1.10, "TCP connections reset by SYN"); on an `opening` one it is a repetition.
 */
export type FlowState = "opening" | "open" | "closing" | "time-wait";

/** A unified flow, as its layer flows see it. */
export interface FlowUser {
  readonly lastUsedMs: number;
  /** True when it is no longer used. */
  readonly hasLeft: boolean;
  /** The layers must be walked again. */
  makeStale(): void;
}

const NO_USERS: readonly FlowUser[] = Object.freeze([]);

/** A change as it is kept: most are none at all. */
export function keptOf(transposition: Transposition): Transposition {
  return transposition.isEmpty && !transposition.isHairpin ? NOTHING : transposition;
}

export class LayerFlowPair {
  readonly main: LayerFlow;
  readonly answer: LayerFlow;
  /** What it is known by, in the layer's pool of keys, which may move it. */
  keys: number;
  /** The packet that made the flow asked for a connection. */
  readonly isFromSyn: boolean;
  /** All rules of the layer that matched, the stateful one last; as the layer has them now. */
  chain: readonly ChainStep[];
  readonly nat: { readonly pool: NatPool; readonly port: number } | undefined;
  /** The port's generation under which the rule was last found to be the right one. */
  generation: number;
  /** When the layers last saw it; what unified flows saw since is with them. */
  lastUsedMs: number;
  state: FlowState = "opening";
  readonly transport: TransportClass;
  /** What the rule says about idle flows; undefined leaves it to the port. */
  readonly ruleTtlMs: number | undefined;
  /** The connection is counted with this pair. */
  isCounted = false;
  /** Sides that sent a FIN: 1 the main one, 2 the other. */
  finished = 0;
  isRemoved = false;
  private users: readonly FlowUser[] = NO_USERS;
  /** True until a packet passed with it: the first one may have to wait for its next hop and come again. */
  isFresh = true;

  constructor(options: {
    readonly chain: readonly ChainStep[];
    readonly keys: number;
    readonly before: FlowKey;
    readonly forward: Transposition;
    readonly reverse: Transposition;
    readonly nat: { readonly pool: NatPool; readonly port: number } | undefined;
    readonly generation: number;
    readonly nowMs: number;
  }) {
    this.chain = options.chain.slice();
    this.keys = options.keys;
    this.isFromSyn = options.before.isSyn;
    this.nat = options.nat;
    this.generation = options.generation;
    this.lastUsedMs = options.nowMs;
    this.transport = classOfProtocol(options.before.protocol);
    this.ruleTtlMs = this.decision.match.rule.flowTtlMs;
    this.main = { pair: this, isMain: true, transposition: keptOf(options.forward) };
    this.answer = { pair: this, isMain: false, transposition: keptOf(options.reverse) };
  }

  /** The rule that made the flow. */
  get decision(): ChainStep {
    return defined(this.chain.at(-1), "a rule makes a flow");
  }

  /** A unified flow now stands for this pair: its packets keep the pair alive, and it ends with the pair. */
  addUser(user: FlowUser): void {
    this.lastUsedMs = this.latestUseMs();
    if (this.users.some((each) => each.hasLeft)) this.users = this.users.filter((each) => !each.hasLeft);
    this.users = this.users.concat(user);
  }

  isExpired(nowMs: number, ttlMs: number): boolean {
    return nowMs - this.latestUseMs() >= ttlMs;
  }

  /** What stands for the pair must ask again how long it lives. */
  releaseUsers(): void {
    this.lastUsedMs = this.latestUseMs();
    for (const user of this.users) user.makeStale();
    this.users = NO_USERS;
  }

  /** Ends the pair and all that stands for it. */
  end(): void {
    this.isRemoved = true;
    this.releaseUsers();
  }

  private latestUseMs(): number {
    let latestMs = this.lastUsedMs;
    for (const user of this.users) latestMs = Math.max(latestMs, user.lastUsedMs);
    return latestMs;
  }
}
