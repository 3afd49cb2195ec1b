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
  /**
   * Undefined: the first one waits for its next hop, and the others with it. Inferred: the order that fragments came in is
   * kept, since a later one is not matched before the first (dataplane.md §1.2, §1.10).
   */
  readonly transposition: Transposition | undefined;
  readonly effects: FlowEffects | undefined;
}

interface Known<Train> {
  readonly train: Train;
  readonly expiresAtMs: number;
}

/** The number that all fragments of a datagram share; -1 for what is no fragment. */
export function identificationOf(bytes: Uint8Array, headers: Headers): number {
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

/** What is known of datagrams whose first fragment has passed, `Train` of each. */
export class FragmentCache<Train extends object = FragmentTrain> {
  private readonly trains = new Map<string, Known<Train>>();

  get size(): number {
    return this.trains.size;
  }

  /**
   * Remembers what happened to a first fragment.
   * @returns false when the cache is full.
   */
  remember(name: string, train: Train, nowMs: number): boolean {
    this.dropExpired(nowMs);
    this.trains.delete(name);
    if (this.trains.size >= LIMITS.fragmentsPerPortMax) return false;
    this.trains.set(name, { train, expiresAtMs: nowMs + LIFETIME_MS });
    return true;
  }

  /** What to do with a later fragment; undefined when its first one has not passed. */
  find(name: string, nowMs: number): Train | undefined {
    const known = this.trains.get(name);
    return known !== undefined && nowMs < known.expiresAtMs ? known.train : undefined;
  }

  /** Another datagram has the name now, and nothing is to be known of it. */
  forget(name: string): void {
    this.trains.delete(name);
  }

  private dropExpired(nowMs: number): void {
    // Entries expire in the order in which they were made.
    for (const [name, { expiresAtMs }] of this.trains) {
      if (nowMs < expiresAtMs) return;
      this.trains.delete(name);
    }
  }
}
