/** What a sync came to, as metrics, events, health and log lines. */
import type { FamilySyncReport, ServiceFinding, ServicePortStatus } from "../report.ts";
import { type EventRecorder, serviceSubject, repairEvent } from "./event-recorder.ts";
import type { Klog } from "./klog.ts";
import { familyLabel, type ProxyMetrics } from "./proxy-metrics.ts";
import type { ProxyHealth } from "./health/proxy-health.ts";

/** Faults that are said one by one in a sync; the rest is counted. */
const SHOWN_MAX = 20;

function nameOf({ namespace, name, portName, family }: ServicePortStatus): string {
  return `${namespace}/${name}${portName === "" ? "" : `:${portName}`} ${familyLabel(family)}`;
}

function textOf(findings: readonly ServiceFinding[]): string {
  return findings.map(({ code, message }) => `${code} ${message}`).join("\n");
}

/** What was said last of a service port. */
interface Said {
  readonly namespace: string;
  readonly name: string;
  readonly text: string;
}

/** What syncs report in the log: each fault when it comes, and that it has gone; not the same in every sync. */
class SyncLog {
  private readonly log: Klog;
  /** What was said last, by service port. */
  private readonly said = new Map<string, Said>();
  private readonly ends = new Map<number, string>();

  constructor(log: Klog) {
    this.log = log;
  }

  /** Says what is new in a report. */
  report(report: FamilySyncReport, seconds: number): void {
    this.reportEnd(report);
    let hidden = 0;
    let shown = 0;
    for (const status of [...report.programmed, ...report.notApplied]) {
      const text = textOf(status.findings);
      const name = nameOf(status);
      if ((this.said.get(name)?.text ?? "") === text) continue;
      if (text === "") {
        this.said.delete(name);
        this.log.info(1, "Service port is programmed again", { service: name });
        continue;
      }
      this.said.set(name, { namespace: status.namespace, name: status.name, text });
      if (shown++ < SHOWN_MAX) this.reportStatus(name, status);
      else hidden++;
    }
    if (hidden > 0) this.log.warning("More Services with faults", { count: hidden });
    this.log.info(report.programmed.length > 0 ? 2 : 4, "Synced proxy rules", {
      ipFamily: familyLabel(report.family),
      outcome: report.outcome,
      programmed: report.programmed.length,
      notApplied: report.notApplied.length,
      repairs: report.repairs.length,
      seconds: Number(seconds.toFixed(6)),
    });
  }

  /** Forgets Services that are gone: only those are asked for that something was said of. */
  keepOnly(isThere: (namespace: string, name: string) => boolean): void {
    for (const [key, { namespace, name }] of this.said) if (!isThere(namespace, name)) this.said.delete(key);
  }

  private reportStatus(service: string, { isApplied, findings }: ServicePortStatus): void {
    for (const { code, message, address } of findings) {
      const words = isApplied ? "Service port is programmed with a fault" : "Service port is not programmed";
      this.log.warning(words, {
        service,
        reason: message,
        ...(address === undefined ? {} : { address }),
        code,
      });
    }
  }

  private reportEnd({ family, outcome, finding }: FamilySyncReport): void {
    const text = finding === undefined ? "" : `${outcome} ${finding.code} ${finding.message}`;
    if ((this.ends.get(family) ?? "") === text) return;
    this.ends.set(family, text);
    const ipFamily = familyLabel(family);
    if (finding === undefined) this.log.info(0, "Syncs do their work again", { ipFamily });
    else
      this.log.error("Sync ended early; it is tried again", {
        ipFamily,
        outcome,
        reason: finding.message,
        code: finding.code,
      });
  }
}

export interface SyncReporterParts {
  readonly hostname: string;
  readonly wallMs: () => number;
  readonly log: Klog;
  readonly health: ProxyHealth;
  readonly metrics: ProxyMetrics;
  readonly events: EventRecorder;
}

export class SyncReporter {
  private readonly parts: SyncReporterParts;
  private readonly syncLog: SyncLog;
  private isDone = false;

  constructor(parts: SyncReporterParts) {
    this.parts = parts;
    this.syncLog = new SyncLog(parts.log);
  }

  /** True when a sync has done all its work. */
  get hasSynced(): boolean {
    return this.isDone;
  }

  /** One family's sync, and how long it took. */
  report(report: FamilySyncReport, seconds: number): void {
    const { metrics, health, wallMs } = this.parts;
    const { family, outcome, notApplied } = report;
    metrics.synced(family, seconds);
    metrics.own.notAppliedNow(family, notApplied.length);
    if (outcome === "done") {
      this.isDone = true;
      health.updated(family);
      metrics.completed(family, wallMs());
    } else metrics.own.failedSync(family, outcome);
    this.reportEvents(report);
    this.reportRepairs(report);
    this.syncLog.report(report, seconds);
  }

  /** Forgets Services that are gone. */
  keepOnly(isThere: (namespace: string, name: string) => boolean): void {
    this.syncLog.keepOnly(isThere);
  }

  private reportEvents(report: FamilySyncReport): void {
    for (const { type, reason, namespace, name, message } of report.events) {
      const regarding = serviceSubject(namespace, name);
      this.parts.events.record({ type, reason, action: "GatherEndpoints", regarding, message });
    }
  }

  private reportRepairs({ family, repairs }: FamilySyncReport): void {
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
