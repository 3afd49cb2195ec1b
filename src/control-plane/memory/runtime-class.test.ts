// RuntimeClasses add to pods when they are created (k8s.io/kubernetes, plugin/pkg/admission/runtimeclass).
import { describe, expect, it } from "vitest";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { start } from "#test/support/kubernetes/kube.suite.ts";

const NODES = ["linux", "windows"]
  .map(
    (os) => `
apiVersion: v1
kind: Node
metadata: { name: ${os}-1, labels: { kubernetes.io/os: ${os} } }
spec: { taints: [${os === "windows" ? "{ key: os, value: windows, effect: NoSchedule }" : ""}] }
---`,
  )
  .join("");

const CLASS = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: windows }
handler: runhcs-wcow-process
scheduling:
  nodeSelector: { kubernetes.io/os: windows }
  tolerations: [{ key: os, operator: Equal, value: windows, effect: NoSchedule }]
---`;

function pod(spec: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec: { ${spec}containers: [{ name: c, image: i }] }
---`;
}

function deployment(spec: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { ${spec}containers: [{ name: c, image: i }] }
---`;
}

function podOf(text: string): Pod | undefined {
  return start(text, { clusterCIDRs: [] }).objects("Pod")[0];
}

const OF_CLASS = "runtimeClassName: windows, ";
const TOLERATION = { key: "os", operator: "Equal", value: "windows", effect: "NoSchedule" };

describe("a RuntimeClass", () => {
  it.each<readonly [what: string, text: string, node: string | undefined]>([
    ["leads a pod to its nodes, past their taints", NODES + CLASS + pod(OF_CLASS), "windows-1"],
    ["leads the pods of a workload", NODES + CLASS + deployment(OF_CLASS), "windows-1"],
    ["may stand behind the pod", NODES + pod(OF_CLASS) + CLASS, "windows-1"],
    ["does nothing to other pods", NODES + CLASS + pod(""), "linux-1"],
    ["that is not there does nothing", NODES + pod(OF_CLASS), "linux-1"],
    [
      "that contradicts the pod leaves it no node",
      NODES + CLASS + pod(`${OF_CLASS}nodeSelector: { kubernetes.io/os: linux }, `),
      undefined,
    ],
  ])("%s", (_, text, node) => {
    expect(podOf(text)?.spec?.nodeName).toBe(node);
  });

  it.each<readonly [what: string, own: string, tolerations: readonly object[]]>([
    ["its own", "", [TOLERATION]],
    [
      "the same",
      "tolerations: [{ key: os, operator: Equal, value: windows, effect: NoSchedule }], ",
      [TOLERATION],
    ],
    ["a wider one of the pod", "tolerations: [{ operator: Exists }], ", [{ operator: "Exists" }]],
    [
      "another one of the pod",
      "tolerations: [{ key: gpu, operator: Exists }], ",
      [{ key: "gpu", operator: "Exists" }, TOLERATION],
    ],
  ])("adds tolerations to those of the pod: %s", (_, own, tolerations) => {
    expect(podOf(NODES + CLASS + pod(OF_CLASS + own))?.spec?.tolerations).toEqual(tolerations);
  });

  it("shows in the pod", () => {
    expect(
      podOf(NODES + CLASS + pod(`${OF_CLASS}nodeSelector: { disk: ssd }, `))?.spec?.nodeSelector,
    ).toEqual({
      "kubernetes.io/os": "windows",
      disk: "ssd",
    });
  });

  it("added already what a pod of a dump shows", () => {
    const dumped = pod(`${OF_CLASS}nodeName: linux-1, `).replace("name: web", "name: web, uid: u-1");
    expect(podOf(NODES + CLASS + dumped)?.spec?.tolerations).toBeUndefined();
  });
});
