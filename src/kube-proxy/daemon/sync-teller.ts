/** What a sync came to, as metrics, events, health and log lines. */
import type { FamilySyncReport } from "../report.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { serviceSubject } from "./event-subjects.ts";
import type { Klog } from "./klog.ts";
import type { ProxyHealth } from "./proxy-health.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import { repairEvent } from "./repair-event.ts";
import { SyncLog } from "./sync-log.ts";

export interface SyncTellerParts {
  readonly hostname: string;
  readonly wallMs: () => number;
  readonly log: Klog;
  readonly health: ProxyHealth;
  readonly metrics: ProxyMetrics;
  readonly events: EventRecorder;
}

export class SyncTeller {
  private readonly parts: SyncTellerParts;
  private readonly syncLog: SyncLog;
  private isDone = false;

  constructor(parts: SyncTellerParts) {
    this.parts = parts;
    this.syncLog = new SyncLog(parts.log);
  }

  /** True when a sync has done all its work. */
  get hasSynced(): boolean {
    return this.isDone;
  }

  /** One family's sync, and how long it took. */
  tell(report: FamilySyncReport, seconds: number): void {
    const { metrics, health, wallMs } = this.parts;
    const { family, outcome, notApplied } = report;
    metrics.synced(family, seconds);
    metrics.own.notAppliedNow(family, notApplied.length);
    if (outcome === "done") {
      this.isDone = true;
      health.updated(family);
      metrics.completed(family, wallMs());
    } else metrics.own.failedSync(family, outcome);
    this.tellEvents(report);
    this.tellRepairs(report);
    this.syncLog.tell(report, seconds);
  }

  /** Forgets Services that are gone. */
  keepOnly(isThere: (namespace: string, name: string) => boolean): void {
    this.syncLog.keepOnly(isThere);
  }

  private tellEvents(report: FamilySyncReport): void {
    for (const { type, reason, namespace, name, message } of report.events) {
      const regarding = serviceSubject(namespace, name);
      this.parts.events.record({ type, reason, action: "GatherEndpoints", regarding, message });
    }
  }

  private tellRepairs({ family, repairs }: FamilySyncReport): void {
    const { metrics, log, events, hostname } = this.parts;
    for (const repair of repairs) {
      const { kind, service, message, code } = repair;
      metrics.own.repaired(family, kind);
      const name = service && `${service.namespace}/${service.name}`;
      log.warning("Repaired HNS", { kind, service: name, reason: message, code });
      events.record(repairEvent(hostname, repair));
    }
  }
}
