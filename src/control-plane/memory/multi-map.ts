/** A map with a set of texts per key; a key without members is not there. Plain data, so that it can be forked. */
export class MultiMap {
  private readonly sets = new Map<string, Set<string>>();

  add(key: string, member: string): void {
    const set = this.sets.get(key);
    if (set === undefined) this.sets.set(key, new Set([member]));
    else set.add(member);
  }

  delete(key: string, member: string): void {
    const set = this.sets.get(key);
    if (set === undefined) return;
    set.delete(member);
    if (set.size === 0) this.sets.delete(key);
  }

  /** In the order in which they were added. */
  get(key: string): ReadonlySet<string> {
    return this.sets.get(key) ?? NONE;
  }
}

const NONE: ReadonlySet<string> = new Set<string>();
