/**
 * Says whether a flow may have come into being since a packet went through a layer without one.
 *
 * A unified flow that met no flow in a layer is wrong as soon as the layer makes one for the same tuple: an answer
 * that came before the question. Tuples fall into buckets; making a flow stamps the buckets of both its tuples, and a
 * unified flow holds the stamp it saw. Sharing a bucket costs a walk, never a wrong rewrite.
 */
import type { FlowKey } from "../flow-key.ts";
import { hashWords } from "./flow-table.ts";

const BUCKETS_MIN = 1_024;

const NO_STAMPS = new Uint32Array(0);

export class FlowStamps {
  /** Empty until the first flow: most layers of most ports never make one. Then a power of two long. */
  private stamps: Uint32Array = NO_STAMPS;
  private latest = 0;

  get isUsed(): boolean {
    return this.stamps.length > 0;
  }

  /** The bucket of a tuple, for any number of buckets. */
  hashOf(key: FlowKey): number {
    return hashWords(key.words, 0, key.tupleLength);
  }

  /** Only once `isUsed`. */
  stampAt(hash: number): number {
    return this.stamps[hash & (this.stamps.length - 1)] ?? 0;
  }

  /** Notes a new flow of a table that now holds `flowCount`. */
  note(words: Int32Array, length: number, flowCount: number): void {
    if (flowCount > this.stamps.length) this.grow();
    this.stamps[hashWords(words, 0, length) & (this.stamps.length - 1)] = ++this.latest;
  }

  /** Keeps about one flow per bucket. Everybody looks again after that, which is rare enough. */
  private grow(): void {
    this.stamps = new Uint32Array(Math.max(BUCKETS_MIN, this.stamps.length * 2)).fill(++this.latest);
  }
}
