/**
 * A unified flow: what all layers together do to packets with one key, ready to apply in one step.
 * It holds under the generation of the port's rules it was made in, while its layer flows live; unified-flow-table.ts keeps
 * what each packet needs of it
 * (dataplane.md §1.10; the lazy re-evaluation after a policy change is documented there).
 */
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { readTtl } from "#core/wire/ip-view.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { type FlowUser, keptOf } from "./layer-flow.ts";
import type { LayerMiss } from "../layer.ts";
import type { Charge } from "../token-bucket.ts";
import type { Transposition } from "../actions/transposition.ts";

const NO_MISSES: readonly LayerMiss[] = Object.freeze([]);

/** The largest IP packet: a tunnel's outer length has 16 bits. */
export const IP_BYTES_MAX = 0xffff;

/** What a walk does besides rewriting, and a unified flow goes on doing. */
export interface FlowEffects {
  readonly charges: readonly Charge[];
  readonly mirrors: readonly string[];
}

/** What a table of flows knows of one, by its record. */
export interface UnifiedFlowRecords {
  packetsOf(record: number): number;
  lastUsedMsOf(record: number): number;
  makeStale(record: number): void;
  isCurrent(record: number, generation: number, flowsMade: number, nowMs: number): boolean;
}

/** What a table does not keep in words. */
export class UnifiedFlow implements FlowUser {
  readonly transposition: Transposition;
  /** Layers that had no flow for the packet. */
  readonly misses: readonly LayerMiss[];
  /** When the layers must be walked again even if nothing changed: next hops age. */
  readonly staleAtMs: number;
  /** How long it lives idle: as long as the shortest-lived of its layer flows. */
  readonly ttlMs: number;
  readonly effects: FlowEffects | undefined;
  /** Undefined once the flow has left the table. */
  private allocators: UnifiedFlowRecords | undefined;
  private record = -1;
  /** Once it has left. */
  private leftLastUsedMs = 0;

  constructor(options: {
    readonly transposition: Transposition;
    readonly misses: readonly LayerMiss[];
    readonly effects: FlowEffects | undefined;
    readonly staleAtMs: number;
    readonly ttlMs: number;
  }) {
    this.transposition = keptOf(options.transposition);
    this.misses = options.misses.length === 0 ? NO_MISSES : options.misses.slice();
    this.effects = options.effects;
    this.staleAtMs = options.staleAtMs;
    this.ttlMs = options.ttlMs;
  }

  get packets(): number {
    return this.allocators?.packetsOf(this.record) ?? 0;
  }

  get lastUsedMs(): number {
    return this.allocators?.lastUsedMsOf(this.record) ?? this.leftLastUsedMs;
  }

  /** True when it is no longer used. */
  get hasLeft(): boolean {
    return this.allocators === undefined;
  }

  /** The table has it under `record` from now on. */
  enter(allocators: UnifiedFlowRecords, record: number): void {
    this.allocators = allocators;
    this.record = record;
  }

  /** The table no longer has it; whoever asks hears what was last. */
  leave(): void {
    this.leftLastUsedMs = this.lastUsedMs;
    this.allocators = undefined;
  }

  /** The layers must be walked again. */
  makeStale(): void {
    this.allocators?.makeStale(this.record);
  }

  /** True while this flow gives what the layers would give. */
  isCurrent(generation: number, flowsMade: number, nowMs: number): boolean {
    return this.allocators?.isCurrent(this.record, generation, flowsMade, nowMs) === true;
  }

  isMissingStill(): boolean {
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

/** Outer headers off, fields, outer headers on. */
export function applyTransposition(
  transposition: Transposition,
  packet: Packet,
  headers: Headers,
  tunnel: TunnelHeaders,
  identification: number,
): void {
  if (transposition.pops) popTunnel(packet, headers, tunnel);
  transposition.applyFields(packet.bytes, headers);
  if (transposition.push !== undefined) transposition.push.apply(packet, headers, identification);
  if (transposition.tni >= 0) packet.tni = transposition.tni;
}

/** Makes the frame in the tunnel that `tunnel` located the packet's own; `headers` then describes it. */
export function popTunnel(packet: Packet, headers: Headers, tunnel: TunnelHeaders): void {
  packet.start = tunnel.innerStart;
  packet.end = tunnel.innerEnd;
  packet.outerBytes = 0;
  headers.copyFrom(tunnel.inner);
}
