import { describe, expect, it } from "vitest";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { type CountedWorkload, workloadStatus } from "./reconcile.ts";

function pod(name: string, ready: "True" | "False", deletionTimestamp?: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: name,
      resourceVersion: "1",
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    status: { conditions: [{ type: "Ready", status: ready }] },
  };
}

function workload(kind: CountedWorkload["kind"]): CountedWorkload {
  const metadata = { name: "web", namespace: "default", uid: "web", resourceVersion: "1" };
  return { apiVersion: "apps/v1", kind, metadata };
}

const PODS = [pod("a", "True"), pod("b", "False"), pod("c", "True", "2026-01-01T00:00:00Z")];

describe("the status of a workload (apps/v1)", () => {
  it.each([
    ["Deployment", { replicas: 2, readyReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 }],
    ["ReplicaSet", { replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 1 }],
    ["StatefulSet", { replicas: 2, currentReplicas: 2, readyReplicas: 1 }],
    ["DaemonSet", { desiredNumberScheduled: 2, numberReady: 1, numberUnavailable: 1 }],
  ] as const)("of a %s counts pods that stay, and those that are ready", (kind, expected) => {
    expect(workloadStatus(workload(kind), PODS)).toMatchObject(expected);
  });
});
