import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { ProxyMetrics } from "./proxy-metrics.ts";

async function scraped(minor: number, compat: Compat = "upstream"): Promise<string> {
  const metrics = new ProxyMetrics({ minor, showsAll: compat === "hardened", gates: [] });
  metrics.changed("service", true);
  metrics.changed("endpoint", false);
  metrics.queued(4, 1_700_000_000_000);
  metrics.synced(4, 0.003);
  metrics.completed(4, 1_700_000_001_500);
  metrics.probed("/healthz", 200);
  metrics.loadBalancerFailed("create", 6, "nodeport", "port_already_exists");
  metrics.own.repaired(4, "load-balancer-lost");
  return metrics.registry.metrics();
}

describe("metrics (kube-proxy.md §6)", () => {
  it("1.34: upstream's names, types, helps, buckets and labels", async () => {
    const text = await scraped(34);
    for (const line of [
      "# HELP kubeproxy_sync_proxy_rules_duration_seconds [ALPHA] SyncProxyRules latency in seconds",
      "# TYPE kubeproxy_sync_proxy_rules_duration_seconds histogram",
      'kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="0.002",ip_family="IPv4"} 0',
      'kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="0.004",ip_family="IPv4"} 1',
      'kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="16.384",ip_family="IPv4"} 1',
      'kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="+Inf",ip_family="IPv4"} 1',
      "# TYPE kubeproxy_sync_proxy_rules_last_timestamp_seconds gauge",
      'kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1700000001.5',
      'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv4"} 1700000000',
      "# TYPE kubeproxy_sync_proxy_rules_service_changes_total counter",
      "kubeproxy_sync_proxy_rules_service_changes_total 1",
      "kubeproxy_sync_proxy_rules_service_changes_pending 1",
      "kubeproxy_sync_proxy_rules_endpoint_changes_total 1",
      "kubeproxy_sync_proxy_rules_endpoint_changes_pending 0",
      'kubeproxy_proxy_healthz_total{code="200"} 1',
      'mullion_kube_proxy_repairs_total{ip_family="IPv4",kind="load-balancer-lost"} 1',
    ])
      expect(text.split("\n")).toContain(line);
    expect(
      text.match(/duration_seconds_bucket.*kubeproxy|kubeproxy_sync_proxy_rules_duration_seconds_bucket/g),
    ).toHaveLength(16);
    expect(text).not.toContain("winkernel_lb");
  });

  it("1.32: no family label on syncs", async () => {
    expect((await scraped(32)).split("\n")).toContain(
      "kubeproxy_sync_proxy_rules_last_timestamp_seconds 1700000001.5",
    );
  });

  it("1.37: failures of load balancers by family, kind and error", async () => {
    expect((await scraped(37)).split("\n")).toContain(
      'kubeproxy_sync_proxy_rules_winkernel_lb_create_failures_total{ip_family="IPv6",lb_type="nodeport",error="port_already_exists"} 1',
    );
  });

  it("1.23 registered none for kernelspace; hardened does", async () => {
    expect(await scraped(23)).not.toContain("kubeproxy_sync");
    expect(await scraped(23, "hardened")).toContain("kubeproxy_sync_proxy_rules_service_changes_total 1");
  });
});
