/**
 * When the kube-proxies of a cluster sync without a change of objects: every sync period, as upstream does, and where
 * something failed and its time has come. The executable's is `src/kube-proxy/daemon/sync-runner.ts`.
 */
import type { Clock } from "../base/clock.ts";
import type { SyncReport, SyncRequest } from "../kube-proxy/mod.ts";

/** Upstream's default of `iptables.syncPeriod`, which winkernel goes by as well (kube-proxy.md §1.1). */
export const SYNC_PERIOD_MS = 30_000;

export class SyncSchedule {
  private readonly clock: Clock;
  private periodicAtMs: number;
  /** Nodes where something failed, and when it is tried again. */
  private readonly retryAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.clock = clock;
    this.periodicAtMs = clock.nowMs + SYNC_PERIOD_MS;
  }

  /** The first period begins now. */
  begin(): void {
    this.periodicAtMs = this.clock.nowMs + SYNC_PERIOD_MS;
  }

  /** When the next sync is due. */
  get nextAtMs(): number {
    return Math.min(this.periodicAtMs, ...this.retryAtMs.values());
  }

  /** What a sync of all nodes that begins is asked for; a period that is over ends with it. */
  request(): SyncRequest {
    const { nowMs } = this.clock;
    const comparesHns = nowMs >= this.periodicAtMs;
    if (comparesHns) this.periodicAtMs = nowMs + SYNC_PERIOD_MS;
    return { nowMs, comparesHns };
  }

  /** Takes note of what a node's sync could not do. */
  synced(node: string, { families }: SyncReport): void {
    const waits = families.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    if (waits.length === 0) this.retryAtMs.delete(node);
    // At least a moment, so that time goes on.
    else this.retryAtMs.set(node, this.clock.nowMs + Math.max(1, Math.min(...waits)));
  }
}
