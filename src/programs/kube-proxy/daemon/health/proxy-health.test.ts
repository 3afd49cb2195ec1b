import { describe, expect, it } from "vitest";
import type { Node } from "#contracts/kubernetes/objects.ts";
import type { HttpAnswer } from "./http-answer.ts";
import { ProxyHealth, type ProxyHealthOptions } from "./proxy-health.ts";

const BEGIN_MS = Date.UTC(2026, 10, 22, 3, 47, 8);

function health(options: Partial<ProxyHealthOptions> = {}): {
  readonly health: ProxyHealth;
  readonly time: { seconds: number };
  readonly ask: (path?: string) => HttpAnswer;
} {
  const time = { seconds: 0 };
  const subject = new ProxyHealth({
    wallMs: () => BEGIN_MS + time.seconds * 1_000,
    timeoutMs: 60_000,
    minor: 34,
    drainsNodes: true,
    ...options,
  });
  return { health: subject, time, ask: (path = "/healthz") => subject.handle(path) as HttpAnswer };
}

function node(change: Partial<Node> = {}): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "win-1", namespace: "", uid: "1", resourceVersion: "1" },
    ...change,
  };
}

describe("health of the proxy (kube-proxy.md §5.2)", () => {
  it("is good until a change has waited for 60 s, and again when it has been programmed", () => {
    const { health: subject, time, ask } = health();
    expect(ask().status).toBe(200);
    subject.updated(4);
    time.seconds = 10;
    subject.queued(4);
    time.seconds = 30;
    subject.queued(4);
    time.seconds = 69.9;
    expect(ask().status).toBe(200);
    time.seconds = 70;
    expect(ask().status).toBe(503);
    expect(ask("/livez").status).toBe(503);
    expect(subject.isHealthy).toBe(false);
    subject.updated(4);
    expect(ask().status).toBe(200);
  });

  it("does not look at families that never were updated", () => {
    const { health: subject, time, ask } = health();
    subject.updated(4);
    subject.queued(6);
    time.seconds = 1_000;
    expect(ask().status).toBe(200);
  });

  it("answers in upstream's form", () => {
    const { health: subject, time, ask } = health();
    subject.updated(4);
    subject.queued(4);
    expect(ask()).toEqual({
      status: 200,
      headers: { "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" },
      body: '{"lastUpdated": "2026-11-22 03:47:08.000 +0000 UTC","currentTime": "2026-11-22 03:47:08.000 +0000 UTC", "nodeEligible": true}',
    });
    time.seconds = 60;
    expect(JSON.parse(ask("/livez").body)).toEqual({
      lastUpdated: "2026-11-22 03:47:08.000 +0000 UTC",
      currentTime: "2026-11-22 03:48:08.000 +0000 UTC",
    });
    expect(ask("/metrics").status).toBe(404);
  });

  it("a node that goes away is not eligible, and live", () => {
    const { health: subject, ask } = health();
    subject.setNode(
      node({ spec: { taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] } }),
    );
    expect([ask().status, ask("/livez").status]).toEqual([503, 200]);
    expect(JSON.parse(ask().body)).toMatchObject({ nodeEligible: false });
    subject.setNode(node());
    expect(ask().status).toBe(200);
    const deleted = { ...node().metadata, deletionTimestamp: "2026-11-22T03:47:08Z" };
    subject.setNode(node({ metadata: deleted }));
    expect(ask().status).toBe(503);
    subject.setNode(undefined);
    expect(ask().status).toBe(503);
  });

  it("1.27: no livez, no word of the node", () => {
    const { ask } = health({ minor: 27, drainsNodes: false });
    expect(ask("/livez").status).toBe(404);
    expect(ask().body).not.toContain("nodeEligible");
  });

  it("hardened: not healthy before the first sync, and live", () => {
    const { health: subject, ask } = health({ isReady: () => false });
    expect([ask().status, ask("/livez").status]).toEqual([503, 200]);
    // The zero of Go's time until a sync has been.
    const lastUpdated = (): unknown => (JSON.parse(ask().body) as { lastUpdated: unknown }).lastUpdated;
    expect(lastUpdated()).toBe("0001-01-01 00:00:00 +0000 UTC");
    subject.updated(4);
    expect(lastUpdated()).toBe("2026-11-22 03:47:08.000 +0000 UTC");
  });
});
