/**
 * The newest events of a cluster, for streams that begin late, fall behind or come back. A stream has no queue of its
 * own: it remembers the last id that it sent, so that a listener who does not read costs nothing.
 */
import { assert } from "../base/assert.ts";
import { LIMITS } from "../base/limits.ts";
import type { SessionEvent } from "../cluster/session/session.ts";

/** What follows an id. */
export interface EventBatch {
  /** How many events after the id are forgotten already. */
  readonly missed: number;
  readonly events: readonly SessionEvent[];
}

export class EventHistory {
  private readonly capacity: number;
  private events: SessionEvent[] = [];
  private lastId = 0;
  /** Of the first event that was ever heard here; what came before was nobody's to hear. */
  private firstId: number | undefined;
  private wakeUps: (() => void)[] = [];

  constructor(capacity: number = LIMITS.apiEventsKeptMax) {
    this.capacity = capacity;
  }

  /** The id of the newest event; 0 before the first. */
  get newestId(): number {
    return this.lastId;
  }

  add(event: SessionEvent): void {
    assert(event.id > this.lastId, "ids of events grow");
    this.lastId = event.id;
    this.firstId ??= event.id;
    this.events.push(event);
    // Cut in large pieces, so that an event costs no copy of the others.
    if (this.events.length >= this.capacity * 2) this.events = this.events.slice(-this.capacity);
    this.wake();
  }

  /** The events after `id`. An id from the future (of a cluster that is gone) counts as the newest. */
  after(id: number): EventBatch {
    if (id >= this.lastId) return { missed: 0, events: [] };
    const kept = this.events.slice(-this.capacity);
    const events = kept.filter((event) => event.id > id);
    const heardFrom = Math.max(id, (this.firstId ?? 1) - 1);
    const oldest = events[0]?.id ?? this.lastId;
    return { missed: oldest - heardFrom - 1, events };
  }

  /** Calls `wakeUp` once, with the next event or with `wake`. Returns a function that takes it back. */
  onNext(wakeUp: () => void): () => void {
    this.wakeUps.push(wakeUp);
    return () => {
      this.wakeUps = this.wakeUps.filter((each) => each !== wakeUp);
    };
  }

  /** Wakes whoever waits. */
  wake(): void {
    const waiting = this.wakeUps;
    this.wakeUps = [];
    for (const wakeUp of waiting) wakeUp();
  }
}
