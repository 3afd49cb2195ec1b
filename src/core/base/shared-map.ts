/**
 * A map that forks of a world share: what it held when it was settled last is one frozen map, and a fork copies only what
 * has changed since. For tables that are large and change little, in worlds that are copied for every question.
 * Entries come in the order in which their keys were entered, as in a `Map`.
 */

/** A part of the settled entries that may be changed before `settle` does anything: few changes are cheap to copy. */
const CHANGED_SHARE = 0.125;

export class SharedMap<K, V extends object | string> {
  /** Never changed once it is here; frozen, so that forks keep it as it is. */
  private settled: ReadonlyMap<K, V> = new Map();
  /** What is newer; undefined: gone. */
  private changed = new Map<K, V | undefined>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(key: K): V | undefined {
    const newer = this.changed.get(key);
    if (newer !== undefined || this.settled.size === 0) return newer;
    return this.changed.has(key) ? undefined : this.settled.get(key);
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    if (this.settled.size === 0) {
      // What went is not noted where nothing has settled: most of a large table is entered so.
      this.changed.set(key, value);
      this.count = this.changed.size;
      return;
    }
    if (!this.has(key)) {
      // A key that went and comes back stands last.
      if (this.settled.has(key)) this.settleAll();
      this.count++;
    }
    this.changed.set(key, value);
  }

  /** @returns false when there was none. */
  delete(key: K): boolean {
    if (!this.has(key)) return false;
    this.count--;
    if (this.settled.has(key)) this.changed.set(key, undefined);
    else this.changed.delete(key);
    return true;
  }

  *entries(): Generator<[K, V]> {
    for (const [key, value] of this.settled) {
      const newer = this.changed.get(key);
      if (newer !== undefined) yield [key, newer];
      else if (!this.changed.has(key)) yield [key, value];
    }
    for (const [key, value] of this.changed)
      if (value !== undefined && !this.settled.has(key)) yield [key, value];
  }

  *keys(): Generator<K> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): Generator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  /** Makes the map cheap to fork. Costs a copy when much has changed, else nothing. */
  settle(): void {
    if (this.changed.size > this.settled.size * CHANGED_SHARE) this.settleAll();
  }

  private settleAll(): void {
    this.settled = Object.freeze(new Map(this.entries()));
    this.changed = new Map();
  }
}
