/** Which of the leases that a node knows are programmed: all of them in the reference, those that may be in `better`. */
import type { Compat } from "../cni/parameters.ts";
import type { Finding } from "./flannel-error.ts";
import type { FlannelLog } from "./flannel-log.ts";
import { type Lease, type LeaseEvent, formatSubnets } from "./lease.ts";
import type { NetworkConfig } from "./network-config.ts";
import { refusePeer } from "./peer-check.ts";

export interface PeersParts {
  readonly config: NetworkConfig;
  readonly own: Lease;
  readonly compat: Compat;
  readonly log: FlannelLog;
}

interface Refused {
  readonly lease: Lease;
  readonly finding: Finding;
}

/** The name of a lease among all: two nodes may say that they have the same subnet. */
export function leaseKey(lease: Lease): string {
  return `${lease.owner ?? ""} ${formatSubnets(lease)}`;
}

/** Plain data. */
export class Peers {
  private readonly parts: PeersParts;
  private readonly accepted = new Map<string, Lease>();
  private readonly refused = new Map<string, Refused>();

  constructor(parts: PeersParts) {
    this.parts = parts;
  }

  /** What of the changes is to be programmed. */
  filter(events: readonly LeaseEvent[]): readonly LeaseEvent[] {
    if (this.parts.compat === "reference") return events;
    return events.flatMap((event) =>
      event.type === "added" ? this.add(event.lease) : this.remove(event.lease),
    );
  }

  findings(): readonly Finding[] {
    return [...this.refused.values()].map(({ finding }) => finding);
  }

  private add(lease: Lease): readonly LeaseEvent[] {
    const { config, own, log } = this.parts;
    const key = leaseKey(lease);
    const before = this.accepted.get(key);
    const finding = refusePeer(lease, { config, own, others: this.accepted.values() });
    if (finding === undefined) {
      this.accepted.set(key, lease);
      this.refused.delete(key);
      return [{ type: "added", lease }];
    }
    if (this.refused.get(key)?.finding.message !== finding.message) log.write("E", finding.message);
    this.refused.set(key, { lease, finding });
    if (before === undefined) return [];
    // What leads to where the node is no more would be a wrong route.
    this.accepted.delete(key);
    return [{ type: "removed", lease: before }, ...this.retry()];
  }

  private remove(lease: Lease): readonly LeaseEvent[] {
    const key = leaseKey(lease);
    this.refused.delete(key);
    const before = this.accepted.get(key);
    if (before === undefined) return [];
    this.accepted.delete(key);
    return [{ type: "removed", lease: before }, ...this.retry()];
  }

  /** A lease that has gone may have been in the way of another one. */
  private retry(): readonly LeaseEvent[] {
    const waiting = [...this.refused.values()].filter(
      ({ finding }) => finding.code === "flannel-lease-conflict",
    );
    return waiting.flatMap(({ lease }) => this.add(lease));
  }
}
