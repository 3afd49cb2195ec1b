import { describe, expect, it } from "vitest";
import { fork } from "../../base/fork.ts";
import { Prng } from "../../base/prng.ts";
import { defined } from "../../base/assert.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { loadManifests } from "../load/load-manifests.ts";
import type { Pod } from "../types.ts";
import { type ApplyReport, MemoryKube } from "./memory-kube.ts";
import type { MemoryKubeOptions } from "./options.ts";

const range = (text: string) => defined(parsePrefix(text), text);

const OPTIONS: MemoryKubeOptions = {
  clusterCIDRs: [range("10.244.0.0/16")],
  serviceCIDRs: [range("10.96.0.0/16")],
};

function windowsNode(name: string, spec = ""): string {
  return `
apiVersion: v1
kind: Node
metadata: {name: ${name}}
spec: {${spec}}
status:
  nodeInfo: {operatingSystem: windows, architecture: amd64, kernelVersion: 10.0.20348.2582}
---`;
}

function linuxNode(name: string): string {
  return `
apiVersion: v1
kind: Node
metadata: {name: ${name}}
status:
  nodeInfo: {operatingSystem: linux, architecture: amd64, kernelVersion: 6.1.0}
---`;
}

function deployment(name: string, replicas: number, podSpec = ""): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      ${podSpec}
      containers:
        - {name: web, image: web, ports: [{name: http, containerPort: 80}]}
---`;
}

function service(name: string, spec: string): string {
  return `
apiVersion: v1
kind: Service
metadata: {name: ${name}}
spec: ${spec}
---`;
}

function apply(kube: MemoryKube, text: string): ApplyReport {
  const { objects, problems } = loadManifests([{ name: "a.yaml", text }]);
  expect(problems).toEqual([]);
  return kube.apply(objects);
}

function start(text: string, options: MemoryKubeOptions = OPTIONS): MemoryKube {
  const kube = new MemoryKube(new Prng(7), options);
  expect(apply(kube, text).problems).toEqual([]);
  kube.reconcile();
  return kube;
}

/** What the kubelets of all nodes do: every pod with a node runs. */
function runPods(kube: MemoryKube): void {
  let next = 2;
  for (const { metadata, spec, status } of kube.objects("Pod")) {
    if (spec?.nodeName === undefined || status?.phase === "Failed" || status?.podIP !== undefined) continue;
    kube.setPodStatus(metadata.namespace, metadata.name, {
      phase: "Running",
      podIP: `10.244.0.${++next}`,
      conditions: [{ type: "Ready", status: "True" }],
    });
  }
  kube.reconcile();
}

const nodesOf = (pods: readonly Pod[]) => pods.map(({ spec }) => spec?.nodeName);

describe("workloads", () => {
  it("a Deployment makes a ReplicaSet, and that makes pods spread over the nodes that fit", () => {
    const kube = start(
      windowsNode("win-1") +
        windowsNode("win-2") +
        linuxNode("linux-1") +
        deployment("web", 4, "nodeSelector: {kubernetes.io/os: windows}"),
    );
    expect(kube.objects("ReplicaSet")).toHaveLength(1);
    expect(
      nodesOf(kube.objects("Pod"))
        .map(String)
        .sort((a, b) => (a < b ? -1 : 1)),
    ).toEqual(["win-1", "win-1", "win-2", "win-2"]);
  });

  it("nothing changes when the controllers run again", () => {
    const kube = start(
      windowsNode("win-1") +
        deployment("web", 3) +
        service("web", "{selector: {app: web}, ports: [{port: 80}]}"),
    );
    runPods(kube);
    const version = kube.resourceVersion;
    kube.reconcile();
    expect(kube.resourceVersion).toBe(version);
  });

  it("deleting a Deployment takes ReplicaSet and pods with it", () => {
    const kube = start(windowsNode("win-1") + deployment("web", 3));
    kube.delete("Deployment", "default", "web");
    kube.reconcile();
    expect([kube.objects("ReplicaSet").length, kube.objects("Pod").length]).toEqual([0, 0]);
  });

  it("a fork goes its own way", () => {
    const kube = start(windowsNode("win-1") + deployment("web", 3));
    const other = fork(kube);
    other.delete("Deployment", "default", "web");
    expect([kube.objects("Pod").length, other.objects("Pod").length]).toEqual([3, 0]);
  });
});

describe("endpoint slices", () => {
  it("name the pods that run, ready or not", () => {
    const kube = start(
      windowsNode("win-1") +
        deployment("web", 2) +
        service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: http}]}"),
    );
    runPods(kube);
    const [slice] = kube.objects("EndpointSlice");
    expect(slice?.ports).toEqual([{ name: "", port: 80, protocol: "TCP" }]);
    expect(slice?.endpoints?.map(({ addresses, conditions }) => [addresses[0], conditions?.ready])).toEqual([
      ["10.244.0.3", true],
      ["10.244.0.4", true],
    ]);
  });
});

describe("watches", () => {
  it("tell what is remembered and what comes, and end", () => {
    const kube = start(windowsNode("win-1"));
    const seen: string[] = [];
    const stop = kube.watch("Deployment", "0", ({ type, object }) =>
      seen.push(`${type} ${object.metadata.name}`),
    );
    apply(kube, deployment("web", 1));
    apply(kube, deployment("web", 2));
    kube.delete("Deployment", "default", "web");
    stop();
    apply(kube, deployment("web", 2));
    expect(seen).toEqual(["ADDED web", "MODIFIED web", "DELETED web"]);
  });
});
