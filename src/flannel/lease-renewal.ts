/** Keeps the node's own lease: renews it before it runs out, where leases do (control-planes.md §1.5). */
import { type Finding, FlannelError, findingOf, messageOf } from "./flannel-error.ts";
import type { FlannelLog } from "./flannel-log.ts";
import type { LeaseStore } from "./lease-store.ts";
import type { Lease } from "./lease.ts";

export interface LeaseRenewalParts {
  readonly store: LeaseStore;
  readonly log: FlannelLog;
  /** How long before its end. */
  readonly marginMs: number;
}

const RETRY_MS = 60_000;
/** No wait is longer than a day: a clock that was set back puts nothing off for ever. */
const WAIT_MAX_MS = 24 * 60 * 60 * 1_000;

/** What became of the lease: undefined when nothing did. */
export type Renewal =
  | { readonly state: "renewed"; readonly lease: Lease }
  | { readonly state: "lost"; readonly finding: Finding }
  | undefined;

/** Plain data. */
export class LeaseRenewal {
  private readonly parts: LeaseRenewalParts;
  private dueAtMs: number | undefined;

  constructor(parts: LeaseRenewalParts) {
    this.parts = parts;
  }

  /** A lease was taken or renewed. */
  taken({ timeToLiveMs }: Lease, nowMs: number): void {
    this.dueAtMs = timeToLiveMs === undefined ? undefined : nowMs + timeToLiveMs - this.parts.marginMs;
  }

  /** How long until it is due; undefined: this lease does not run out. */
  waitMs(nowMs: number): number | undefined {
    return this.dueAtMs === undefined ? undefined : Math.max(this.dueAtMs - nowMs, 0);
  }

  /** Renews it when that is due. */
  async tick(lease: Lease, nowMs: number): Promise<Renewal> {
    const { store, log } = this.parts;
    if (this.dueAtMs === undefined) return undefined;
    this.dueAtMs = Math.min(this.dueAtMs, nowMs + WAIT_MAX_MS);
    if (nowMs < this.dueAtMs) return undefined;
    try {
      const renewed = await store.renew(lease);
      if (renewed?.timeToLiveMs === undefined) {
        this.dueAtMs = undefined;
        return undefined;
      }
      this.taken(renewed, nowMs);
      log.write("I", `Lease renewed, new expiration in ${renewed.timeToLiveMs / 1_000} s`);
      return { state: "renewed", lease: renewed };
    } catch (error) {
      if (error instanceof FlannelError && error.code === "flannel-lease-conflict")
        return { state: "lost", finding: findingOf(error, "flannel-lease-conflict") };
      log.write("E", `Error renewing lease (trying again in 1 min): ${messageOf(error)}`);
      this.dueAtMs = nowMs + RETRY_MS;
      return undefined;
    }
  }
}
