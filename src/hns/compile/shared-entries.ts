/** Entries that several load balancers may have in common, and what came and went since somebody asked. */
import type { Changes } from "../datapath.ts";

interface Counted<T> {
  readonly entry: T;
  readonly count: number;
}

export class SharedEntries<T extends object> {
  private readonly entries = new Map<string, Counted<T>>();
  private readonly added = new Map<string, T>();
  private readonly removed = new Map<string, T>();

  /** One owner's entries change; equal entries have equal keys. */
  replace(before: readonly T[], after: readonly T[], keyOf: (entry: T) => string): void {
    for (const entry of after) this.add(keyOf(entry), entry);
    for (const entry of before) this.remove(keyOf(entry));
  }

  takeChanges(): Changes<T> {
    const changes = { added: [...this.added.values()], removed: [...this.removed.values()] };
    this.added.clear();
    this.removed.clear();
    return changes;
  }

  private add(key: string, entry: T): void {
    const known = this.entries.get(key);
    this.entries.set(key, { entry, count: (known?.count ?? 0) + 1 });
    if (known !== undefined) return;
    // Gone and back between two questions: nothing changed.
    if (!this.removed.delete(key)) this.added.set(key, entry);
  }

  private remove(key: string): void {
    const known = this.entries.get(key);
    if (known === undefined) return;
    if (known.count > 1) {
      this.entries.set(key, { ...known, count: known.count - 1 });
      return;
    }
    this.entries.delete(key);
    if (!this.added.delete(key)) this.removed.set(key, known.entry);
  }
}
