/** Metrics that upstream's kube-proxy does not have: repairs, calls of HNS, what is not programmed. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { IpFamily } from "#core/net/ip.ts";
import { REPAIR_KINDS, type RepairKind } from "../sync/repair.ts";

/** 0.001 × 2^n. */
export const DURATION_BUCKETS: readonly number[] = Array.from(
  { length: 15 },
  (_, exponent) => 0.001 * 2 ** exponent,
);

const OWN = "mullion_kube_proxy";

/** The family as labels of upstream write it. */
export function familyLabel(family: IpFamily): "IPv4" | "IPv6" {
  return family === 4 ? "IPv4" : "IPv6";
}

export class OwnMetrics {
  private readonly repairs: Counter;
  private readonly hnsCalls: Histogram;
  private readonly notApplied: Gauge;
  private readonly failedSyncs: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.repairs = new Counter({
      name: `${OWN}_repairs_total`,
      help: "Repairs made in HNS, by kind",
      labelNames: ["ip_family", "kind"],
      registers,
    });
    this.hnsCalls = new Histogram({
      name: `${OWN}_hns_call_duration_seconds`,
      help: "Calls of HNS by operation, kind of object and outcome",
      labelNames: ["operation", "kind", "outcome"],
      buckets: [...DURATION_BUCKETS],
      registers,
    });
    this.notApplied = new Gauge({
      name: `${OWN}_service_ports_not_applied`,
      help: "Service ports that are not programmed and will be tried again",
      labelNames: ["ip_family"],
      registers,
    });
    this.failedSyncs = new Counter({
      name: `${OWN}_failed_syncs_total`,
      help: "Syncs that ended before their work was done, by reason",
      labelNames: ["ip_family", "reason"],
      registers,
    });
  }

  failedSync(family: IpFamily, reason: string): void {
    this.failedSyncs.inc({ ip_family: familyLabel(family), reason });
  }

  notAppliedNow(family: IpFamily, count: number): void {
    this.notApplied.set({ ip_family: familyLabel(family) }, count);
  }

  repaired(family: IpFamily, kind: RepairKind): void {
    this.repairs.inc({ ip_family: familyLabel(family), kind });
  }

  /** Counters of families that are proxied stand there from the start, at zero. */
  announce(families: readonly IpFamily[]): void {
    for (const family of families)
      for (const kind of REPAIR_KINDS) this.repairs.inc({ ip_family: familyLabel(family), kind }, 0);
  }

  hnsCall(operation: string, kind: string, isGood: boolean, seconds: number): void {
    this.hnsCalls.observe({ operation, kind, outcome: isGood ? "ok" : "error" }, seconds);
  }
}
