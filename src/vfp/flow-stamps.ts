/**
 * Says whether a flow may have come into being since a packet went through a layer without one.
 *
 * A unified flow that met no flow in a layer is wrong as soon as the layer makes one for the same tuple: an answer
 * that came before the question. Tuples fall into buckets; making a flow stamps the buckets of both its tuples, and a
 * unified flow holds the stamp it saw. Sharing a bucket costs a walk, never a wrong rewrite.
 */
import type { FlowKey } from "./flow-key.ts";
import { hashWords } from "./flow-table.ts";

const BUCKETS_MIN = 1_024;

export class FlowStamps {
  /** Empty until the first flow: most layers of most ports never make one. */
  private stamps: Uint32Array = new Uint32Array(0);
  private latest = 0;

  /** The bucket of a tuple, for any number of buckets. */
  hashOf(key: FlowKey): number {
    return hashWords(key.words, 0, key.tupleLength);
  }

  stampAt(hash: number): number {
    return this.stamps[hash & (this.stamps.length - 1)] ?? 0;
  }

  /** Notes a new flow of a table that now holds `flowCount`. */
  note(words: Int32Array, length: number, flowCount: number): void {
    if (flowCount > this.stamps.length || this.stamps.length === 0) this.grow();
    this.stamps[hashWords(words, 0, length) & (this.stamps.length - 1)] = ++this.latest;
  }

  /** Keeps about one flow per bucket. Everybody looks again after that, which is rare enough. */
  private grow(): void {
    const isFirst = this.stamps.length === 0;
    this.stamps = new Uint32Array(isFirst ? BUCKETS_MIN : this.stamps.length * 2);
    if (!isFirst) this.stamps.fill(++this.latest);
  }
}
