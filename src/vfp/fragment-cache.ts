/**
 * Lets later fragments follow the first one, which alone carries ports. A later fragment that arrives before
 * the first is not matched: SupportReorderedFragments is 0 (dataplane.md §1.2, §1.10).
 */
import { readU16, readU32 } from "../base/bytes.ts";
import { LIMITS } from "../base/limits.ts";
import type { Headers } from "../wire/headers.ts";
import type { FlowKey } from "./flow-key.ts";
import type { Transposition } from "./transposition.ts";

/** Inferred: no source gives the lifetime of an entry; 15 s is the port's PendingTimeout (dataplane.md §1.2). */
const LIFETIME_MS = 15_000;

interface FragmentTrain {
  readonly transposition: Transposition;
  readonly expiresAtMs: number;
}

/** Addresses, protocol, direction and identification: what all fragments of one datagram share. */
function trainKey(bytes: Uint8Array, headers: Headers, key: FlowKey): string {
  const identification =
    headers.family === 4 ? readU16(bytes, headers.network + 4) : readU32(bytes, headers.fragmentHeader + 4);
  return `${key.direction}|${key.protocol}|${identification}|${key.words.slice(2, key.tupleLength).join(",")}`;
}

export class FragmentCache {
  private readonly trains = new Map<string, FragmentTrain>();

  get size(): number {
    return this.trains.size;
  }

  /** Remembers what happened to a first fragment. `key` is the one it arrived with. */
  remember(
    bytes: Uint8Array,
    headers: Headers,
    key: FlowKey,
    transposition: Transposition,
    nowMs: number,
  ): void {
    this.dropExpired(nowMs);
    const name = trainKey(bytes, headers, key);
    this.trains.delete(name);
    if (this.trains.size >= LIMITS.fragmentsPerPortMax) return;
    this.trains.set(name, { transposition, expiresAtMs: nowMs + LIFETIME_MS });
  }

  /** What to do with a later fragment; undefined when its first one has not passed. */
  find(bytes: Uint8Array, headers: Headers, key: FlowKey, nowMs: number): Transposition | undefined {
    const train = this.trains.get(trainKey(bytes, headers, key));
    return train !== undefined && nowMs < train.expiresAtMs ? train.transposition : undefined;
  }

  private dropExpired(nowMs: number): void {
    // Entries expire in the order in which they were made.
    for (const [name, train] of this.trains) {
      if (nowMs < train.expiresAtMs) return;
      this.trains.delete(name);
    }
  }
}
