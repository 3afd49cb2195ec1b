/**
 * A unified flow: what all layers together do to packets with one key, ready to apply in one step.
 * It holds under the generation of the port's rules it was made in, while its layer flows live
 * (dataplane.md §1.10; the lazy re-evaluation after a policy change is documented there).
 */
import type { Headers } from "../wire/headers.ts";
import { readTtl } from "../wire/ttl.ts";
import type { FlowKey } from "./flow-key.ts";
import { FlowRewrite } from "./flow-rewrite.ts";
import type { FlowUser, LayerFlowPair } from "./layer-flow.ts";
import type { LayerMiss } from "./layer.ts";
import { FLOW_TTL_MS } from "./rule.ts";
import type { Transposition } from "./transposition.ts";

export class UnifiedFlow implements FlowUser {
  readonly transposition: Transposition;
  /** Layers that had no flow for the packet. */
  readonly misses: readonly LayerMiss[];
  readonly generation: number;
  /** When the layers must be walked again even if nothing changed: next hops age. */
  readonly staleAtMs: number;
  lastUsedMs: number;
  packets = 1;
  isStale = false;
  private readonly rewrite: FlowRewrite | undefined;

  constructor(options: {
    /** The key of the packets that this flow is for. */
    readonly key: FlowKey;
    readonly transposition: Transposition;
    readonly pairs: readonly LayerFlowPair[];
    readonly misses: readonly LayerMiss[];
    readonly generation: number;
    readonly staleAtMs: number;
    readonly nowMs: number;
  }) {
    this.transposition = options.transposition;
    this.misses = options.misses;
    this.generation = options.generation;
    this.staleAtMs = options.staleAtMs;
    this.lastUsedMs = options.nowMs;
    for (const pair of options.pairs) pair.addUser(this);
    this.rewrite = options.key.family === 4 ? new FlowRewrite(options.key, options.transposition) : undefined;
  }

  /** True when the packet has too few hops left for this flow: only the layers can say where it ends. */
  isOutOfHops(bytes: Uint8Array, headers: Headers): boolean {
    const { ttlDecrements } = this.transposition;
    return ttlDecrements > 0 && readTtl(bytes, headers) <= ttlDecrements;
  }

  /** Rewrites a packet of this flow. */
  apply(bytes: Uint8Array, headers: Headers): void {
    if (this.rewrite === undefined) this.transposition.apply(bytes, headers);
    else this.rewrite.apply(bytes, headers);
  }

  /** True while this flow gives what the layers would give. */
  isCurrent(generation: number, nowMs: number): boolean {
    if (this.generation !== generation || nowMs >= this.staleAtMs) return false;
    if (nowMs - this.lastUsedMs >= FLOW_TTL_MS) return false;
    return !this.isStale && (this.misses.length === 0 || this.isMissingStill());
  }

  /** Notes one more packet; the layer flows behind this one ask for it when they want to know. */
  touch(nowMs: number): void {
    this.lastUsedMs = nowMs;
    this.packets++;
  }

  private isMissingStill(): boolean {
    for (const miss of this.misses) if (!miss.layer.isStillMissed(miss)) return false;
    return true;
  }
}
