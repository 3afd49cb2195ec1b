/** What a store has reported and flanneld has not yet worked on. */
import type { LeaseListener } from "./lease-store.ts";
import type { Lease, LeaseEvent } from "./lease.ts";

export type Notice =
  | { readonly kind: "changed"; readonly events: readonly LeaseEvent[] }
  | { readonly kind: "listed"; readonly leases: readonly Lease[] }
  | { readonly kind: "synced" }
  | { readonly kind: "unpublished" }
  | { readonly kind: "revoked" | "conflicted" | "troubled"; readonly message: string };

/** Plain data. Bounded: one that is full forgets everything, and asks for everything anew. */
export class Inbox implements LeaseListener {
  private readonly depth: number;
  private notices: Notice[] = [];
  /** Notices were lost: the watch has to begin again. */
  isOverflowed = false;

  constructor(depth: number) {
    this.depth = depth;
  }

  get isEmpty(): boolean {
    return this.notices.length === 0;
  }

  /** The next one in order. */
  take(): Notice | undefined {
    return this.notices.shift();
  }

  changed(events: readonly LeaseEvent[]): void {
    if (events.length > 0) this.put({ kind: "changed", events });
  }

  listed(leases: readonly Lease[]): void {
    this.put({ kind: "listed", leases });
  }

  synced(): void {
    this.put({ kind: "synced" });
  }

  revoked(message: string): void {
    this.put({ kind: "revoked", message });
  }

  conflicted(message: string): void {
    this.put({ kind: "conflicted", message });
  }

  unpublished(): void {
    this.put({ kind: "unpublished" });
  }

  troubled(message: string): void {
    this.put({ kind: "troubled", message });
  }

  private put(notice: Notice): void {
    if (this.notices.length >= this.depth) {
      this.notices = [];
      this.isOverflowed = true;
    }
    if (!this.isOverflowed || notice.kind === "revoked") this.notices.push(notice);
  }
}

/** Fills an inbox, and says so to the flanneld that empties it. No part of a world. */
export class NotifyingInbox implements LeaseListener {
  private readonly inbox: Inbox;
  private readonly onChange: () => void;

  constructor(inbox: Inbox, onChange: () => void) {
    this.inbox = inbox;
    this.onChange = onChange;
  }

  changed(events: readonly LeaseEvent[]): void {
    this.inbox.changed(events);
    this.onChange();
  }

  listed(leases: readonly Lease[]): void {
    this.inbox.listed(leases);
    this.onChange();
  }

  synced(): void {
    this.inbox.synced();
    this.onChange();
  }

  revoked(message: string): void {
    this.inbox.revoked(message);
    this.onChange();
  }

  conflicted(message: string): void {
    this.inbox.conflicted(message);
    this.onChange();
  }

  unpublished(): void {
    this.inbox.unpublished();
    this.onChange();
  }

  troubled(message: string): void {
    this.inbox.troubled(message);
    this.onChange();
  }
}
