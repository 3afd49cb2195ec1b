// What kubectl's viewers of rollouts need, from kubectl's own code: pkg/polymorphichelpers/rollout_status.go (v0.34).
import { expect, it } from "vitest";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { withServedDefaults } from "./served-defaults.ts";

const metadata = {
  name: "web",
  namespace: "shop",
  uid: "1",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const pod = { metadata: {}, spec: { containers: [{ name: "web", image: "web:1" }] } };

function served(kind: string, spec: object, status: object = {}): object {
  return withServedDefaults({ kind, apiVersion: "apps/v1", metadata, spec, status } as unknown as KubeObject);
}

it.each(["StatefulSet", "DaemonSet"])("a %s rolls, and its status has seen its generation", (kind) => {
  expect(served(kind, { template: pod })).toMatchObject({
    metadata: { generation: 1 },
    spec: { updateStrategy: { type: "RollingUpdate" }, template: { spec: { restartPolicy: "Always" } } },
    status: { observedGeneration: 1 },
  });
  const onDelete = served(kind, { template: pod, updateStrategy: { type: "OnDelete" } });
  expect(onDelete).toMatchObject({ spec: { updateStrategy: { type: "OnDelete" } } });
  expect(JSON.stringify(onDelete)).not.toContain("rollingUpdate");
});

it.each([
  [4, 4, "True", "NewReplicaSetAvailable"],
  [4, 3, "True", "ReplicaSetUpdated"],
  [4, 2, "False", "ReplicaSetUpdated"],
  [1, 0, "False", "ReplicaSetUpdated"],
])(
  "a Deployment of %i with %i available: Available %s, %s",
  (replicas, availableReplicas, available, reason) => {
    expect(served("Deployment", { replicas, template: pod }, { availableReplicas })).toMatchObject({
      spec: {
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      },
      status: {
        observedGeneration: 1,
        conditions: [
          { type: "Available", status: available },
          { type: "Progressing", status: "True", reason },
        ],
      },
    });
  },
);

it("what was written stays, and an object without defaults is as it was", () => {
  const service = served("Service", { sessionAffinity: "ClientIP", type: "ExternalName" });
  expect(service).toMatchObject({ spec: { sessionAffinity: "ClientIP", type: "ExternalName" } });
  expect(JSON.stringify(service)).not.toContain("internalTrafficPolicy");
  const map = { kind: "ConfigMap", apiVersion: "v1", metadata, data: {} } as unknown as KubeObject;
  expect(withServedDefaults(map)).toBe(map);
});

it("a pod has a security context, which kubectl debug reads unasked (pkg/apis/core/v1/defaults.go, SetDefaults_PodSpec)", () => {
  expect(served("Pod", pod.spec)).toMatchObject({ spec: { securityContext: {} } });
  const own = { runAsNonRoot: true };
  expect(served("Pod", { ...pod.spec, securityContext: own })).toMatchObject({
    spec: { securityContext: own },
  });
  expect(served("Deployment", { template: pod })).toMatchObject({
    spec: { template: { spec: { securityContext: {} } } },
  });
});
