/**
 * Metrics with the names of upstream (kube-proxy.md §6), and those that upstream does not have: repairs, calls of HNS, what is
 * not programmed.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { IpFamily } from "#core/net/ip.ts";
import { REPAIR_KINDS, type RepairKind } from "../report.ts";
import type { FeatureGate } from "../configuration/feature-gates.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** 0.001 × 2^n. */
const DURATION_BUCKETS: readonly number[] = Array.from(
  { length: 15 },
  (_, exponent) => 0.001 * 2 ** exponent,
);

const OWN = "mullion_kube_proxy";

/** The family as labels of upstream write it. */
export function familyLabel(family: IpFamily): "IPv4" | "IPv6" {
  return family === 4 ? "IPv4" : "IPv6";
}

class OwnMetrics {
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

/** First minors: metrics for kernelspace at all (#106581), a family with syncs, counters of failures. */
const KERNELSPACE_SINCE = 24;
const FAMILY_LABEL_SINCE = 33;
const FAILURES_SINCE = 37;
const PROBES_SINCE = 34;

/** Labels of the failure counters. */
export type LoadBalancerType = "clusterip" | "nodeport" | "externalip" | "ingressip" | "healthcheck";
export type FailureReason =
  | "network_not_found"
  | "port_already_exists"
  | "not_implemented"
  | "invalid_ip"
  | "other";
export type FailedCall = "create" | "update" | "delete";

interface ProxyMetricsOptions {
  readonly minor: number;
  readonly showsAll: boolean;
  readonly gates: readonly (FeatureGate & { readonly isOn: boolean })[];
}

/** The stability that upstream writes before each help text. */
function alpha(text: string): string {
  return `[ALPHA] ${text}`;
}

const SYNC = "kubeproxy_sync_proxy_rules";

/** All metrics of one process. */
export class ProxyMetrics {
  readonly registry: Registry = new Registry();
  /** Those that upstream does not have. */
  readonly own: OwnMetrics;
  private readonly hasFamily: boolean;
  private readonly duration: Histogram;
  private readonly lastTimestamp: Gauge;
  private readonly lastQueued: Gauge;
  private readonly pending: Readonly<Record<"endpoint" | "service", Gauge>>;
  private readonly total: Readonly<Record<"endpoint" | "service", Counter>>;
  private readonly probes: Readonly<Record<"/healthz" | "/livez", Counter>>;
  private readonly failures: Readonly<Record<FailedCall, Counter>>;

  constructor({ minor, showsAll, gates }: ProxyMetricsOptions) {
    this.hasFamily = minor >= FAMILY_LABEL_SINCE;
    const labelNames = this.hasFamily ? ["ip_family"] : [];
    const isShown = minor >= KERNELSPACE_SINCE || showsAll;
    const shown = isShown ? [this.registry] : [];
    const gauge = (name: string, help: string, labels: readonly string[] = []): Gauge =>
      new Gauge({ name: `${SYNC}_${name}`, help: alpha(help), labelNames: labels, registers: shown });
    const counter = (name: string, help: string, labels: readonly string[], since = 0): Counter =>
      new Counter({ name, help: alpha(help), labelNames: labels, registers: minor >= since ? shown : [] });
    this.duration = new Histogram({
      name: `${SYNC}_duration_seconds`,
      help: alpha("SyncProxyRules latency in seconds"),
      labelNames,
      buckets: [...DURATION_BUCKETS],
      registers: shown,
    });
    this.lastQueued = gauge(
      "last_queued_timestamp_seconds",
      "The last time a sync of proxy rules was queued",
      labelNames,
    );
    this.lastTimestamp = gauge(
      "last_timestamp_seconds",
      "The last time proxy rules were successfully synced",
      labelNames,
    );
    this.pending = {
      endpoint: gauge("endpoint_changes_pending", "Pending proxy rules Endpoint changes"),
      service: gauge("service_changes_pending", "Pending proxy rules Service changes"),
    };
    this.total = {
      endpoint: counter(`${SYNC}_endpoint_changes_total`, "Cumulative proxy rules Endpoint changes", []),
      service: counter(`${SYNC}_service_changes_total`, "Cumulative proxy rules Service changes", []),
    };
    this.probes = {
      "/healthz": counter(
        "kubeproxy_proxy_healthz_total",
        "Cumulative proxy healthz HTTP status",
        ["code"],
        PROBES_SINCE,
      ),
      "/livez": counter(
        "kubeproxy_proxy_livez_total",
        "Cumulative proxy livez HTTP status",
        ["code"],
        PROBES_SINCE,
      ),
    };
    const failures = (call: FailedCall): Counter =>
      counter(
        `${SYNC}_winkernel_lb_${call}_failures_total`,
        `Cumulative HNS load balancer ${call} failures`,
        ["ip_family", "lb_type", "error"],
        FAILURES_SINCE,
      );
    this.failures = { create: failures("create"), update: failures("update"), delete: failures("delete") };
    this.addBuild(minor, gates);
    this.own = new OwnMetrics(this.registry);
  }

  /** A change of a Service or of an EndpointSlice has come; it waits when it changes anything. */
  changed(kind: "endpoint" | "service", isEffective: boolean): void {
    this.total[kind].inc();
    if (isEffective) this.pending[kind].inc();
  }

  /** A sync has taken over what waited. */
  takenOver(): void {
    this.pending.endpoint.set(0);
    this.pending.service.set(0);
  }

  queued(family: IpFamily, wallMs: number): void {
    this.lastQueued.set(this.labels(family), wallMs / 1_000);
  }

  synced(family: IpFamily, seconds: number): void {
    this.duration.observe(this.labels(family), seconds);
  }

  completed(family: IpFamily, wallMs: number): void {
    this.lastTimestamp.set(this.labels(family), wallMs / 1_000);
  }

  probed(path: "/healthz" | "/livez", status: number): void {
    this.probes[path].inc({ code: String(status) });
  }

  loadBalancerFailed(call: FailedCall, family: IpFamily, type: LoadBalancerType, error: FailureReason): void {
    this.failures[call].inc({ ip_family: familyLabel(family), lb_type: type, error });
  }

  private labels(family: IpFamily): Record<string, string> {
    return this.hasFamily ? { ip_family: familyLabel(family) } : {};
  }

  private addBuild(minor: number, gates: ProxyMetricsOptions["gates"]): void {
    const registers = [this.registry];
    const build = new Gauge({
      name: "kubernetes_build_info",
      help: alpha("Version of Kubernetes whose kube-proxy this is; it is Mullion's"),
      labelNames: ["major", "minor", "git_version", "platform"],
      registers,
    });
    build.set(
      { major: "1", minor: String(minor), git_version: `v1.${minor}.0-mullion`, platform: "windows/amd64" },
      1,
    );
    const enabled = new Gauge({
      name: "kubernetes_feature_enabled",
      help: WORDS.metricFeatureEnabled,
      labelNames: ["name", "stage"],
      registers,
    });
    for (const { name, stage, isOn } of gates) enabled.set({ name, stage }, isOn ? 1 : 0);
  }
}
