/** What happens in a running cluster, numbered, to everybody who listens. */
import type { VirtualClock } from "#core/base/clock.ts";
import type { SessionEvent } from "./session.ts";

/** An event without the fields that the sender fills in. */
type Unnumbered<E> = E extends SessionEvent ? Omit<E, "id" | "atMs"> : never;

export class SessionEvents {
  private readonly clock: VirtualClock;
  private readonly listeners = new Set<(event: SessionEvent) => void>();
  private lastId = 0;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  subscribe(listener: (event: SessionEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  send(event: Unnumbered<SessionEvent>): void {
    this.lastId++;
    const numbered: SessionEvent = { ...event, id: this.lastId, atMs: this.clock.nowMs };
    for (const listener of this.listeners) listener(numbered);
  }
}
