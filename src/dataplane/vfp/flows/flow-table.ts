/**
 * A hash table for flows: keys are words of a `FlowKey`, kept in one typed array; lookups allocate nothing.
 * Open addressing with linear probing; deletion shifts the following entries back, so no slot is ever wasted.
 */
import { assert } from "#core/base/assert.ts";
import { wordAt } from "#core/base/bytes.ts";
import type { FlowKey } from "../flow-key.ts";

const CAPACITY_MIN = 16;
/** Grows when more than this part of the slots is taken. */
const LOAD_MAX = 0.6;
/** Gives memory back when less than this part is taken: far below where it grew, so that it does not go to and fro. */
const LOAD_MIN = 0.05;

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

const NO_WORDS = new Int32Array(0);
/** A slot holds the number of its value + 1, and the length of its key in the low bits; 0 is free. */
const LENGTH_BITS = 6;
const LENGTH_MASK = (1 << LENGTH_BITS) - 1;

/** Values by key words. Slots are as wide as the longest key so far: a table of plain IPv4 flows stays small. */
export class FlowTable<Value extends object> {
  private strideWords: number;
  /** 0 until the first flow: most tables of most ports never hold one. */
  private capacity = 0;
  private keys: Int32Array = NO_WORDS;
  private slots: Int32Array = NO_WORDS;
  /** Side by side, whatever slots they belong to, so that a larger table copies words alone. */
  private values: (Value | undefined)[] = [];
  /** Numbers of values that are gone. */
  private free: number[] = [];
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

  /** How many slots `sample` goes through before it comes by the same one again. */
  get slotCount(): number {
    return this.capacity;
  }

  /** The value under the `length` words of `words` from `from` on. */
  get(words: Int32Array, length: number, from = 0): Value | undefined {
    if (this.count === 0 || length > this.strideWords) return undefined;
    return this.valueIn(this.findSlot(words, length, from));
  }

  /** Puts `value` under the key, in place of what was there. */
  set(words: Int32Array, length: number, value: Value, from = 0): void {
    assert(length > 0 && length <= LENGTH_MASK, "a flow key has words");
    if (length > this.strideWords) this.rebuild(this.capacity, length);
    if (this.count + 1 > this.capacity * LOAD_MAX)
      this.rebuild(Math.max(CAPACITY_MIN, this.capacity * 2), this.strideWords);
    const slot = this.findSlot(words, length, from);
    const entry = wordAt(this.slots, slot);
    if (entry !== 0) {
      this.values[numberOf(entry)] = value;
      return;
    }
    this.count++;
    const number = this.free.pop() ?? this.values.length;
    this.values[number] = value;
    this.slots[slot] = ((number + 1) << LENGTH_BITS) | length;
    const at = slot * this.strideWords;
    for (let i = 0; i < length; i++) this.keys[at + i] = wordAt(words, from + i);
  }

  /** Removes the key. @returns false when it was not there. */
  delete(words: Int32Array, length: number, from = 0): boolean {
    if (this.count === 0 || length > this.strideWords) return false;
    const slot = this.findSlot(words, length, from);
    const entry = wordAt(this.slots, slot);
    if (entry === 0) return false;
    this.values[numberOf(entry)] = undefined;
    this.free.push(numberOf(entry));
    this.removeSlot(slot);
    if (this.capacity > CAPACITY_MIN && this.count < this.capacity * LOAD_MIN) this.shrink();
    return true;
  }

  private shrink(): void {
    const former = this.values;
    this.rebuild(Math.max(CAPACITY_MIN, this.capacity / 4), this.strideWords);
    this.values = [];
    this.free = [];
    for (const [slot, entry] of this.slots.entries()) {
      if (entry === 0) continue;
      this.slots[slot] = ((this.values.length + 1) << LENGTH_BITS) | (entry & LENGTH_MASK);
      this.values.push(former[numberOf(entry)]);
    }
  }

  /** All values, in no order that means anything. */
  *entries(): Generator<Value> {
    for (const value of this.values) if (value !== undefined) yield value;
  }

  /** The next `slots` values after those of the last call, so that a table is swept piece by piece. */
  sample(slots: number): Value[] {
    const found: Value[] = [];
    for (let i = 0; i < Math.min(slots, this.capacity); i++) {
      const value = this.valueIn(this.hand);
      if (value !== undefined) found.push(value);
      this.hand = (this.hand + 1) & (this.capacity - 1);
    }
    return found;
  }

  private valueIn(slot: number): Value | undefined {
    const entry = wordAt(this.slots, slot);
    return entry === 0 ? undefined : this.values[numberOf(entry)];
  }

  /** The slot that holds the key, or the free slot where it belongs. */
  private findSlot(words: Int32Array, length: number, from: number): number {
    const { slots } = this;
    const mask = this.capacity - 1;
    let slot = hashWords(words, from, length) & mask;
    for (;;) {
      const entry = wordAt(slots, slot);
      if (entry === 0) return slot;
      if ((entry & LENGTH_MASK) === length && this.isKey(slot, words, length, from)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private isKey(slot: number, words: Int32Array, length: number, from: number): boolean {
    const at = slot * this.strideWords;
    for (let i = 0; i < length; i++) if (this.keys[at + i] !== words[from + i]) return false;
    return true;
  }

  private homeSlot(slot: number): number {
    const length = wordAt(this.slots, slot) & LENGTH_MASK;
    return hashWords(this.keys, slot * this.strideWords, length) & (this.capacity - 1);
  }

  private removeSlot(slot: number): void {
    const mask = this.capacity - 1;
    const { slots } = this;
    this.count--;
    let hole = slot;
    for (let next = (hole + 1) & mask; slots[next] !== 0; next = (next + 1) & mask) {
      // An entry may move back only when its home lies at or before the hole on its probe path.
      const distance = (next - this.homeSlot(next)) & mask;
      if (distance < ((next - hole) & mask)) continue;
      this.keys.copyWithin(hole * this.strideWords, next * this.strideWords, (next + 1) * this.strideWords);
      slots[hole] = wordAt(slots, next);
      hole = next;
    }
    slots[hole] = 0;
  }

  private rebuild(newCapacity: number, newStrideWords: number): void {
    const { keys, slots, capacity, strideWords } = this;
    this.capacity = newCapacity;
    this.strideWords = newStrideWords;
    this.hand = 0;
    this.keys = new Int32Array(newCapacity * newStrideWords);
    this.slots = new Int32Array(newCapacity);
    for (let slot = 0; slot < capacity; slot++) {
      const entry = wordAt(slots, slot);
      if (entry !== 0) this.move(keys, slot * strideWords, entry);
    }
  }

  /** Puts an entry of the former table, whose keys all differ, into this one. */
  private move(keys: Int32Array, from: number, entry: number): void {
    const mask = this.capacity - 1;
    const length = entry & LENGTH_MASK;
    let slot = hashWords(keys, from, length) & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = entry;
    const to = slot * this.strideWords;
    for (let i = 0; i < length; i++) this.keys[to + i] = wordAt(keys, from + i);
  }
}

function numberOf(entry: number): number {
  return (entry >>> LENGTH_BITS) - 1;
}

const BUCKETS_MIN = 1_024;

const NO_STAMPS = new Uint32Array(0);

/**
 * Says whether a flow may have come into being since a packet went through a layer without one.
 *
 * A unified flow that met no flow in a layer is wrong as soon as the layer makes one for the same tuple: an answer
 * that came before the question. Tuples fall into buckets; making a flow stamps the buckets of both its tuples, and a
 * unified flow holds the stamp it saw. Sharing a bucket costs a walk, never a wrong rewrite.
 */
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
