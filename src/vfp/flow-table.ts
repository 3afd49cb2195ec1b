/**
 * A hash table for flows: keys are words of a `FlowKey`, kept in one typed array; lookups allocate nothing.
 * Open addressing with linear probing; deletion shifts the following entries back, so no slot is ever wasted.
 */
import { assert } from "../base/assert.ts";
import { wordAt } from "../base/bytes.ts";

const CAPACITY_MIN = 16;
/** Grows when more than this part of the slots is taken. */
const LOAD_MAX = 0.6;

/** Mixes `length` words from `offset` on. */
export function hashWords(words: Int32Array, offset: number, length: number): number {
  let hash = length;
  for (let i = 0; i < length; i++) {
    hash = Math.imul(hash ^ wordAt(words, offset + i), 0x9e37_79b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 13), 0x85eb_ca6b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const NO_KEYS = new Int32Array(0);
const NO_LENGTHS = new Uint8Array(0);

/** Values by key words. Slots are as wide as the longest key so far: a table of plain IPv4 flows stays small. */
export class FlowTable<Value extends object> {
  private strideWords: number;
  /** 0 until the first flow: most tables of most ports never hold one. */
  private capacity = 0;
  private keys: Int32Array = NO_KEYS;
  /** Length of each slot's key in words; 0 for a free slot. */
  private lengths: Uint8Array = NO_LENGTHS;
  private values: (Value | undefined)[] = [];
  private count = 0;
  /** Where the last sweep stopped. */
  private hand = 0;

  /** `strideWords`: as long as keys are expected to be. */
  constructor(strideWords: number) {
    this.strideWords = strideWords;
  }

  get size(): number {
    return this.count;
  }

  /** The value under the first `length` words of `words`. */
  get(words: Int32Array, length: number): Value | undefined {
    if (this.count === 0 || length > this.strideWords) return undefined;
    const slot = this.findSlot(words, length);
    return this.lengths[slot] === 0 ? undefined : this.values[slot];
  }

  /** Puts `value` under the key, in place of what was there. */
  set(words: Int32Array, length: number, value: Value): void {
    assert(length > 0, "a flow key has words");
    if (length > this.strideWords) this.rebuild(this.capacity, length);
    if (this.count + 1 > this.capacity * LOAD_MAX)
      this.rebuild(Math.max(CAPACITY_MIN, this.capacity * 2), this.strideWords);
    const slot = this.findSlot(words, length);
    if (this.lengths[slot] === 0) this.count++;
    this.lengths[slot] = length;
    this.values[slot] = value;
    const at = slot * this.strideWords;
    for (let i = 0; i < length; i++) this.keys[at + i] = wordAt(words, i);
  }

  /** Removes the key. @returns false when it was not there. */
  delete(words: Int32Array, length: number): boolean {
    if (this.count === 0 || length > this.strideWords) return false;
    const slot = this.findSlot(words, length);
    if (this.lengths[slot] === 0) return false;
    this.removeSlot(slot);
    return true;
  }

  clear(): void {
    this.lengths.fill(0);
    this.values.fill(undefined);
    this.count = 0;
  }

  /** All values, in no order that means anything. */
  *entries(): Generator<Value> {
    for (let slot = 0; slot < this.capacity; slot++) {
      const value = this.values[slot];
      if (this.lengths[slot] !== 0 && value !== undefined) yield value;
    }
  }

  /** All keys with their values, in no order that means anything. Keys are copies. */
  *items(): Generator<{ readonly key: Int32Array; readonly value: Value }> {
    for (let slot = 0; slot < this.capacity; slot++) {
      const value = this.values[slot];
      const length = this.lengths[slot] ?? 0;
      const at = slot * this.strideWords;
      if (length !== 0 && value !== undefined) yield { key: this.keys.slice(at, at + length), value };
    }
  }

  /** The next `slots` values after those of the last call, so that a table is swept piece by piece. */
  sample(slots: number): Value[] {
    const found: Value[] = [];
    for (let i = 0; i < Math.min(slots, this.capacity); i++) {
      const value = this.values[this.hand];
      if (this.lengths[this.hand] !== 0 && value !== undefined) found.push(value);
      this.hand = (this.hand + 1) & (this.capacity - 1);
    }
    return found;
  }

  /** The slot that holds the key, or the free slot where it belongs. */
  private findSlot(words: Int32Array, length: number): number {
    const mask = this.capacity - 1;
    let slot = hashWords(words, 0, length) & mask;
    for (;;) {
      const taken = this.lengths[slot];
      if (taken === 0) return slot;
      if (taken === length && this.isKey(slot, words, length)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private isKey(slot: number, words: Int32Array, length: number): boolean {
    const at = slot * this.strideWords;
    for (let i = 0; i < length; i++) if (this.keys[at + i] !== words[i]) return false;
    return true;
  }

  private homeSlot(slot: number): number {
    return hashWords(this.keys, slot * this.strideWords, this.lengths[slot] ?? 0) & (this.capacity - 1);
  }

  private removeSlot(slot: number): void {
    const mask = this.capacity - 1;
    this.count--;
    let free = slot;
    for (let next = (free + 1) & mask; this.lengths[next] !== 0; next = (next + 1) & mask) {
      // An entry may move back only when its home lies at or before the free slot on its probe path.
      const distance = (next - this.homeSlot(next)) & mask;
      if (distance < ((next - free) & mask)) continue;
      this.keys.copyWithin(free * this.strideWords, next * this.strideWords, (next + 1) * this.strideWords);
      this.lengths[free] = this.lengths[next] ?? 0;
      this.values[free] = this.values[next];
      free = next;
    }
    this.lengths[free] = 0;
    this.values[free] = undefined;
  }

  private rebuild(newCapacity: number, newStrideWords: number): void {
    const { keys, lengths, values, capacity, strideWords } = this;
    this.capacity = newCapacity;
    this.strideWords = newStrideWords;
    this.hand = 0;
    this.keys = new Int32Array(newCapacity * newStrideWords);
    this.lengths = new Uint8Array(this.capacity);
    this.values = Array.from({ length: this.capacity });
    for (let slot = 0; slot < capacity; slot++) {
      const length = lengths[slot] ?? 0;
      if (length !== 0) this.move(keys, slot * strideWords, length, values[slot]);
    }
  }

  /** Puts an entry of the former table, whose keys all differ, into this one. */
  private move(keys: Int32Array, from: number, length: number, value: Value | undefined): void {
    const mask = this.capacity - 1;
    let slot = hashWords(keys, from, length) & mask;
    while (this.lengths[slot] !== 0) slot = (slot + 1) & mask;
    this.lengths[slot] = length;
    this.values[slot] = value;
    const to = slot * this.strideWords;
    for (let i = 0; i < length; i++) this.keys[to + i] = wordAt(keys, from + i);
  }
}
