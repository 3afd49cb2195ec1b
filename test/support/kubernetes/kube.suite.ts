/** Small clusters for tests of the control plane. */
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { type Prefix, parsePrefix } from "#core/net/ip.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { KubeApplyReport } from "#control-plane/memory/admission/apply.ts";
import type { MemoryKubeOptions } from "#control-plane/memory/control-plane.ts";

export function range(text: string): Prefix {
  return defined(parsePrefix(text), text);
}

export const OPTIONS: MemoryKubeOptions = Object.freeze({
  clusterCIDRs: [range("10.244.0.0/16")],
  serviceCIDRs: [range("10.96.0.0/16")],
});

function node(name: string, os: string, kernelVersion: string, rest: string): string {
  return `
apiVersion: v1
kind: Node
metadata: {name: ${name}}
${rest}
status:
  nodeInfo: {operatingSystem: ${os}, architecture: amd64, kernelVersion: ${kernelVersion}}
---`;
}

export function windowsNode(name: string, rest = ""): string {
  return node(name, "windows", "10.0.20348.2582", rest);
}

export function linuxNode(name: string, rest = ""): string {
  return node(name, "linux", "6.1.0-18-amd64", rest);
}

/** A workload of one container with the port `http`; `podSpec` and `spec` are lines of YAML in flow style. */
export function workload(kind: string, name: string, spec: string, podSpec = ""): string {
  return `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}}
spec: {${spec === "" ? "" : `${spec}, `}selector: {matchLabels: {app: ${name}}}, template: {metadata: {labels: {app: ${name}}},
  spec: {${podSpec === "" ? "" : `${podSpec}, `}containers: [{name: web, image: web, ports: [{name: http, containerPort: 80}]}]}}}
---`;
}

export function pod(name: string, spec = "", metadata = ""): string {
  return `
apiVersion: v1
kind: Pod
metadata: {name: ${name}${metadata === "" ? "" : `, ${metadata}`}}
spec: {${spec === "" ? "" : `${spec}, `}containers: [{name: web, image: web}]}
---`;
}

export function service(name: string, spec: string): string {
  return `
apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: {${spec}}
---`;
}

/** The objects of a text that has no problems. */
export function objectsOf(text: string, file = "a.yaml"): readonly LoadedObject[] {
  const { objects, problems } = loadManifests([{ name: file, text }]);
  defined(problems.length === 0 ? problems : undefined, JSON.stringify(problems));
  return objects;
}

export function apply(kube: MemoryKube, text: string): KubeApplyReport {
  const report = kube.apply(objectsOf(text));
  kube.reconcile();
  return report;
}

export function start(text: string, options: Partial<MemoryKubeOptions> = {}): MemoryKube {
  const kube = new MemoryKube(new Prng(7), { ...OPTIONS, ...options });
  apply(kube, text);
  return kube;
}

/** What the kubelets do: every pod with a node gets an address and runs. */
export function runPods(kube: MemoryKube): void {
  let next = 0;
  for (const { metadata, spec, status } of kube.objects("Pod")) {
    next++;
    if (spec?.nodeName === undefined || status?.phase !== "Pending") continue;
    kube.setPodStatus(metadata.namespace, metadata.name, {
      phase: "Running",
      podIP: `10.244.${next >> 8}.${next & 255}`,
      conditions: [{ type: "Ready", status: "True" }],
    });
  }
  kube.reconcile();
}

/** Nodes of the pods, by name of the pod; `-` for a pod without one. */
export function nodesOf(kube: MemoryKube): string[] {
  return kube.objects("Pod").map(({ spec }) => spec?.nodeName ?? "-");
}

/** Why a pod has no node. */
export function reasonOf({ status }: Pod): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return condition?.status === "False" ? `${condition.reason}: ${condition.message}` : undefined;
}
