/**
 * Lets later fragments follow the first one, which alone carries ports. A later fragment that arrives before
 * the first is not matched: SupportReorderedFragments is 0 (dataplane.md §1.2, §1.10).
 */
import { readU16, readU32, wordAt } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import type { FlowKey } from "../flow-key.ts";
import type { Transposition } from "../actions/transposition.ts";
import type { FlowEffects } from "./unified-flow.ts";

/** Inferred: no source gives the lifetime of an entry (dataplane.md §11, Q-20). */
const LIFETIME_MS = 30_000;

/** What happens to all fragments of one datagram. */
export interface FragmentTrain {
  readonly transposition: Transposition;
  readonly effects: FlowEffects | undefined;
}

interface KnownTrain extends FragmentTrain {
  readonly expiresAtMs: number;
}

function identificationOf(bytes: Uint8Array, headers: Headers): number {
  if (!headers.isFragment) return -1;
  return headers.family === 4
    ? readU16(bytes, headers.network + 4)
    : readU32(bytes, headers.fragmentHeader + 4);
}

/**
 * Addresses, protocol, direction, virtual subnet and identification: what all fragments of one datagram share. Of a tunnel it is the
 * inner datagram that is in fragments.
 */
export function trainKey(bytes: Uint8Array, headers: Headers, key: FlowKey, tunnel: TunnelHeaders): string {
  const words: number[] = [];
  const outer = key.outerTupleLength;
  for (let at = 2; at < key.tupleLength; at++) {
    // Ports, and the bit that says whether there are any, are those of the first fragment only.
    const isOfInnerTransport = at === outer + 1 || at === outer + 2;
    if (!isOfInnerTransport) words.push(wordAt(key.words, at));
  }
  const inner =
    tunnel.kind === undefined ? "" : `${tunnel.inner.protocol}|${identificationOf(bytes, tunnel.inner)}`;
  return `${key.direction}|${key.protocol}|${key.tni}|${identificationOf(bytes, headers)}|${inner}|${words.join(",")}`;
}

/** A part of a datagram, the first one or a later one. */
export function isUdpFragment(headers: Headers): boolean {
  return headers.isFragment && headers.protocol === IpProtocol.udp;
}

export class FragmentCache {
  private readonly trains = new Map<string, KnownTrain>();

  get size(): number {
    return this.trains.size;
  }

  /**
   * Remembers what happened to a first fragment. `key` is the one it arrived with.
   * @returns false when the cache is full.
   */
  remember(name: string, train: FragmentTrain, nowMs: number): boolean {
    this.dropExpired(nowMs);
    this.trains.delete(name);
    if (this.trains.size >= LIMITS.fragmentsPerPortMax) return false;
    this.trains.set(name, { ...train, expiresAtMs: nowMs + LIFETIME_MS });
    return true;
  }

  /** What to do with a later fragment; undefined when its first one has not passed. */
  find(name: string, nowMs: number): FragmentTrain | undefined {
    const train = this.trains.get(name);
    return train !== undefined && nowMs < train.expiresAtMs ? train : undefined;
  }

  private dropExpired(nowMs: number): void {
    // Entries expire in the order in which they were made.
    for (const [name, train] of this.trains) {
      if (nowMs < train.expiresAtMs) return;
      this.trains.delete(name);
    }
  }
}
