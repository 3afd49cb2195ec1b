/**
 * A unified flow: what all layers together do to packets with one key, ready to apply in one step.
 * It holds under the generation of the port's rules it was made in, while its layer flows live
 * (dataplane.md §1.10; the lazy re-evaluation after a policy change is documented there).
 */
import type { Headers } from "../wire/headers.ts";
import type { Packet } from "../wire/packet.ts";
import { readTtl } from "../wire/ttl.ts";
import type { TunnelHeaders } from "../wire/tunnel.ts";
import type { FlowKey } from "./flow-key.ts";
import { FlowRewrite } from "./flow-rewrite.ts";
import type { FlowUser, LayerFlowPair } from "./layer-flow.ts";
import type { LayerMiss } from "./layer.ts";
import type { Charge } from "./token-bucket.ts";
import type { Transposition } from "./transposition.ts";

/** The largest IP packet: a tunnel's outer length has 16 bits. */
export const IP_BYTES_MAX = 0xffff;

/** What a walk does besides rewriting, and a unified flow goes on doing. */
export interface FlowEffects {
  readonly charges: readonly Charge[];
  readonly mirrors: readonly string[];
}

export class UnifiedFlow implements FlowUser {
  readonly transposition: Transposition;
  /** Layers that had no flow for the packet. */
  readonly misses: readonly LayerMiss[];
  readonly generation: number;
  /** When the layers must be walked again even if nothing changed: next hops age. */
  readonly staleAtMs: number;
  /** How long it lives idle: as long as the shortest-lived of its layer flows. */
  readonly ttlMs: number;
  readonly effects: FlowEffects | undefined;
  lastUsedMs: number;
  packets = 1;
  isStale = false;
  private readonly rewrite: FlowRewrite | undefined;

  constructor(options: {
    /** The key that the rewritten headers arrive with: that of the packets, or of the frame in their tunnel. */
    readonly key: FlowKey;
    readonly transposition: Transposition;
    readonly pairs: readonly LayerFlowPair[];
    readonly misses: readonly LayerMiss[];
    readonly effects: FlowEffects | undefined;
    readonly generation: number;
    readonly staleAtMs: number;
    readonly ttlMs: number;
    readonly nowMs: number;
  }) {
    this.transposition = options.transposition;
    this.misses = options.misses;
    this.effects = options.effects;
    this.generation = options.generation;
    this.staleAtMs = options.staleAtMs;
    this.ttlMs = options.ttlMs;
    this.lastUsedMs = options.nowMs;
    for (const pair of options.pairs) pair.addUser(this);
    this.rewrite = options.key.family === 4 ? new FlowRewrite(options.key, options.transposition) : undefined;
  }

  /** Rewrites a packet of this flow. `headers` then describes what it has become. */
  apply(packet: Packet, headers: Headers, tunnel: TunnelHeaders, identification: number): void {
    applyTransposition(this.transposition, this.rewrite, packet, headers, tunnel, identification);
  }

  /** True while this flow gives what the layers would give. */
  isCurrent(generation: number, nowMs: number): boolean {
    if (this.generation !== generation || nowMs >= this.staleAtMs) return false;
    if (nowMs - this.lastUsedMs >= this.ttlMs) return false;
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

/**
 * False when only the layers can say where the packet ends: too few hops left, or too long for another header.
 * `headers` describes the packet, `tunnel` the tunnel that it comes in.
 */
export function suits(
  transposition: Transposition,
  packet: Packet,
  headers: Headers,
  tunnel: TunnelHeaders,
): boolean {
  const { ttlDecrements, poppedTtlDecrements, pops, push } = transposition;
  if (ttlDecrements > 0 && readTtl(packet.bytes, pops ? tunnel.inner : headers) <= ttlDecrements)
    return false;
  if (poppedTtlDecrements > 0 && readTtl(packet.bytes, headers) <= poppedTtlDecrements) return false;
  return push === undefined || packet.length + push.length <= IP_BYTES_MAX;
}

/** Outer headers off, fields, outer headers on. `rewrite`, where there is one, does what the fields say. */
export function applyTransposition(
  transposition: Transposition,
  rewrite: FlowRewrite | undefined,
  packet: Packet,
  headers: Headers,
  tunnel: TunnelHeaders,
  identification: number,
): void {
  if (transposition.pops) popTunnel(packet, headers, tunnel);
  if (rewrite === undefined) transposition.applyFields(packet.bytes, headers);
  else rewrite.apply(packet.bytes, headers);
  if (transposition.push !== undefined) transposition.push.apply(packet, headers, identification);
  if (transposition.tni >= 0) packet.tni = transposition.tni;
}

/** Makes the frame in the tunnel that `tunnel` located the packet's own; `headers` then describes it. */
export function popTunnel(packet: Packet, headers: Headers, tunnel: TunnelHeaders): void {
  packet.start = tunnel.innerStart;
  packet.end = tunnel.innerEnd;
  headers.copyFrom(tunnel.inner);
}
