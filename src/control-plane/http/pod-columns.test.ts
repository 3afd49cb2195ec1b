import { expect, it } from "vitest";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { kubectlColumns } from "./columns.ts";

type ContainerStatuses = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>;

const RUNNING = { ready: true, state: { running: {} } };
const ENDED = { ready: false, state: { terminated: { reason: "Completed", exitCode: 0 } } };
const FAILED = { ready: false, state: { terminated: { exitCode: 3 } } };
const KILLED = { ready: false, state: { terminated: { signal: 9, exitCode: 137 } } };
const WAITING = { ready: false, state: { waiting: { reason: "ImagePullBackOff" } } };

// printPod of pkg/printers/internalversion: the last container that tells something comes last, and counts; "Completed"
// beside one that runs is "Running" or, where the pod is not ready, "NotReady".
it.each<[status: string, isReady: "True" | "False", states: readonly object[], ready: string]>([
  ["Running", "True", [RUNNING, RUNNING], "2/2"],
  ["Completed", "False", [ENDED, ENDED], "0/2"],
  ["NotReady", "False", [ENDED, RUNNING], "1/2"],
  ["Running", "True", [ENDED, RUNNING], "1/2"],
  ["ExitCode:3", "False", [FAILED, RUNNING], "1/2"],
  ["Signal:9", "False", [RUNNING, KILLED], "1/2"],
  ["ImagePullBackOff", "False", [WAITING, ENDED], "0/2"],
])("kubectl get pods: %s, Ready %s", (status, isReady, states, ready) => {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default", uid: "u", resourceVersion: "1" },
    spec: { containers: [{ name: "c0" }, { name: "c1" }] },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: isReady }],
      containerStatuses: states.map((state, index) => ({
        name: `c${index}`,
        ...state,
      })) as unknown as ContainerStatuses,
    },
  };
  const cells = new Map(kubectlColumns("Pod").map(({ name, cell }) => [name.toLowerCase(), cell(pod, 0)]));
  expect([cells.get("ready"), cells.get("status")]).toEqual([ready, status]);
});
