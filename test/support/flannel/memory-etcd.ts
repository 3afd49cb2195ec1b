/** An etcd in memory for tests: revisions, grants that run out, compaction, and a way to be gone. */
import type { VirtualClock } from "#core/base/clock.ts";
import type {
  EtcdClient,
  EtcdEvent,
  EtcdGrant,
  EtcdRange,
  EtcdValue,
  EtcdWatcher,
} from "#programs/flannel/etcd/subnet-registry.ts";
import { FlannelError } from "#programs/flannel/reports.ts";

interface Change {
  readonly revision: number;
  readonly event: EtcdEvent;
}

interface Watch {
  readonly prefix: string;
  readonly watcher: EtcdWatcher;
}

/** The store that several clients share. */
export class MemoryEtcd implements EtcdClient {
  isGone = false;
  /** Called before a key is created: somebody else may be faster. */
  beforeCreate: (() => void) | undefined;
  private readonly clock: VirtualClock;
  private readonly keys = new Map<string, EtcdValue>();
  private readonly grants = new Map<string, number>();
  private readonly watches = new Set<Watch>();
  private changes: Change[] = [];
  private revision = 1;
  private compactedTo = 0;
  private nextGrant = 1;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  /** As an administrator writes it. */
  set(key: string, value: string, grant = "0"): void {
    this.change({ type: "put", value: { key, value, grant } });
  }

  unset(key: string): void {
    if (this.keys.has(key)) this.change({ type: "delete", value: { key, value: "", grant: "0" } });
  }

  text(key: string): string | undefined {
    return this.keys.get(key)?.value;
  }

  allKeys(): readonly string[] {
    return [...this.keys.keys()];
  }

  /** Ends all watches, as a server does that goes down. */
  cut(): void {
    const watches = [...this.watches];
    this.watches.clear();
    for (const { watcher } of watches) watcher.ended("connection refused");
  }

  /** Forgets changes up to now. */
  compact(): void {
    this.compactedTo = this.revision;
    this.changes = [];
  }

  get(key: string): Promise<EtcdRange> {
    return this.answer(() => {
      const value = this.keys.get(key);
      return { revision: this.revision, values: value === undefined ? [] : [value] };
    });
  }

  list(prefix: string): Promise<EtcdRange> {
    return this.answer(() => ({
      revision: this.revision,
      values: [...this.keys.values()].filter(({ key }) => key.startsWith(prefix)),
    }));
  }

  put(key: string, value: string, grant: string): Promise<void> {
    return this.answer(() => this.change({ type: "put", value: { key, value, grant } }));
  }

  create(key: string, value: string, grant: string): Promise<boolean> {
    return this.answer(() => {
      this.beforeCreate?.();
      if (this.keys.has(key)) return false;
      this.change({ type: "put", value: { key, value, grant } });
      return true;
    });
  }

  delete(key: string): Promise<void> {
    return this.answer(() => this.unset(key));
  }

  grant(seconds: number): Promise<EtcdGrant> {
    return this.answer(() => {
      const id = String(this.nextGrant++);
      this.grants.set(id, this.clock.nowMs + seconds * 1_000);
      return { id, seconds };
    });
  }

  revoke(grant: string): Promise<void> {
    return this.answer(() => {
      this.grants.delete(grant);
      for (const value of this.keys.values()) if (value.grant === grant) this.unset(value.key);
    });
  }

  timeToLive(grant: string): Promise<number> {
    return this.answer(() => {
      const endMs = this.grants.get(grant);
      return endMs === undefined ? -1 : Math.round((endMs - this.clock.nowMs) / 1_000);
    });
  }

  watch(prefix: string, fromRevision: number, watcher: EtcdWatcher): () => void {
    const watch = { prefix, watcher };
    void this.begin(watch, fromRevision);
    return () => this.watches.delete(watch);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Nothing is told before the call that asks has returned. */
  private async begin(watch: Watch, fromRevision: number): Promise<void> {
    await Promise.resolve();
    const { prefix, watcher } = watch;
    if (this.isGone) watcher.ended("connection refused");
    else if (fromRevision <= this.compactedTo) watcher.compacted(this.compactedTo);
    else {
      this.watches.add(watch);
      for (const { revision, event } of this.changes)
        if (revision >= fromRevision && event.value.key.startsWith(prefix))
          watcher.changed([event], revision);
    }
  }

  /** Grants that have run out take their keys along. */
  private expire(): void {
    for (const [grant, endMs] of this.grants) {
      if (endMs > this.clock.nowMs) continue;
      this.grants.delete(grant);
      for (const value of this.keys.values()) if (value.grant === grant) this.unset(value.key);
    }
  }

  private answer<T>(work: () => T): Promise<T> {
    if (this.isGone)
      return Promise.reject(new FlannelError("flannel-store-unreachable", "connection refused"));
    this.expire();
    return Promise.resolve(work());
  }

  private change(event: EtcdEvent): void {
    this.revision++;
    if (event.type === "put") this.keys.set(event.value.key, event.value);
    else this.keys.delete(event.value.key);
    this.changes.push({ revision: this.revision, event });
    for (const { prefix, watcher } of this.watches)
      if (event.value.key.startsWith(prefix)) watcher.changed([event], this.revision);
  }
}
