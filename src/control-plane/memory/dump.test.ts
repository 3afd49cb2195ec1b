/** A dump of a cluster is taken as it is: nodes, addresses, pods and slices are those that were dumped. */
import { describe, expect, it } from "vitest";
import type { MemoryKube } from "./memory-kube.ts";
import { apply, start } from "#test/support/kubernetes/kube.suite.ts";

const owner = (kind: string, name: string, uid: string) =>
  `ownerReferences: [{apiVersion: apps/v1, kind: ${kind}, name: ${name}, uid: ${uid}, controller: true}]`;

const NODE = `
apiVersion: v1
kind: Node
metadata: {name: win-1, uid: n-1, labels: {kubernetes.io/os: windows}}
spec: {podCIDR: 10.9.1.0/24, podCIDRs: [10.9.1.0/24]}
status: {nodeInfo: {operatingSystem: windows, kernelVersion: 10.0.17763.5000, kubeletVersion: v1.28.3}}
---`;

const TEMPLATE = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}";
const HASHED = TEMPLATE.replace("{app: web}", "{app: web, pod-template-hash: abc}");

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, uid: d-1}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, ${TEMPLATE}}
---`;

const REPLICA_SET = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-abc, uid: r-1, labels: {app: web, pod-template-hash: abc}, ${owner("Deployment", "web", "d-1")}}
spec: {replicas: 3, selector: {matchLabels: {app: web, pod-template-hash: abc}}, ${HASHED}}
---`;

const POD = (name: string, ip: string) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, uid: u-${name}, labels: {app: web, pod-template-hash: abc}, ${owner("ReplicaSet", "web-abc", "r-1")}}
spec: {nodeName: win-1, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: ${ip}, podIPs: [{ip: ${ip}}], conditions: [{type: Ready, status: "True"}]}
---`;

const SERVICE = `
apiVersion: v1
kind: Service
metadata: {name: web, uid: s-1}
spec: {clusterIP: 10.96.4.4, clusterIPs: [10.96.4.4], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, selector: {app: web}, ports: [{port: 80, targetPort: 80, protocol: TCP}]}
---`;

const SLICE = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-xyz
  uid: e-1
  labels: {kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}
addressType: IPv4
endpoints:
- {addresses: [10.9.1.7], conditions: {ready: false, serving: true, terminating: true}, nodeName: win-1, targetRef: {kind: Pod, name: web-abc-1, namespace: default, uid: u-web-abc-1}}
ports: [{name: "", port: 80, protocol: TCP}]
---`;

const PODS = POD("web-abc-1", "10.9.1.7") + POD("web-abc-2", "10.9.1.8");
const names = (kube: MemoryKube) => kube.objects("Pod").map(({ metadata }) => metadata.name);
const addresses = (kube: MemoryKube) =>
  kube
    .objects("EndpointSlice")
    .flatMap(({ endpoints }) => (endpoints ?? []).map((endpoint) => endpoint.addresses[0]));

describe("a dump", () => {
  it("keeps node ranges, labels and versions, pod addresses and uids", () => {
    const kube = start(NODE + DEPLOYMENT + REPLICA_SET + PODS);
    expect(kube.get("Node", "", "win-1")).toMatchObject({
      metadata: { uid: "n-1", labels: { "kubernetes.io/os": "windows" } },
      spec: { podCIDR: "10.9.1.0/24" },
      status: { nodeInfo: { kernelVersion: "10.0.17763.5000", kubeletVersion: "v1.28.3" } },
    });
    expect(Object.keys(kube.get("Node", "", "win-1")?.metadata.labels ?? {})).toEqual(["kubernetes.io/os"]);
    expect(kube.objects("Pod").map(({ metadata, status }) => [metadata.uid, status?.podIP])).toEqual([
      ["u-web-abc-1", "10.9.1.7"],
      ["u-web-abc-2", "10.9.1.8"],
    ]);
  });

  it.each([
    ["with ReplicaSets: fewer pods than asked for stay fewer", DEPLOYMENT + REPLICA_SET],
    ["without ReplicaSets", DEPLOYMENT],
    ["without Deployments", REPLICA_SET],
    ["of pods alone", ""],
  ])("%s", (_, workloads) => {
    const kube = start(NODE + workloads + PODS);
    expect(names(kube)).toEqual(["web-abc-1", "web-abc-2"]);
    expect(kube.objects("ReplicaSet").length).toBe(workloads.includes("web-abc") ? 1 : 0);
  });

  it("of workloads alone has its pods made", () => {
    expect(names(start(NODE + DEPLOYMENT))).toHaveLength(3);
    expect(names(start(NODE + DEPLOYMENT + REPLICA_SET))).toHaveLength(3);
  });

  it("lives from the moment somebody takes a pod away", () => {
    const kube = start(NODE + DEPLOYMENT + REPLICA_SET + PODS);
    kube.delete("Pod", "default", "web-abc-1");
    kube.reconcile();
    expect(names(kube)).toHaveLength(3);
  });

  it("lives from the moment somebody changes the workload", () => {
    const kube = start(NODE + DEPLOYMENT + REPLICA_SET + PODS);
    apply(kube, DEPLOYMENT.replace("replicas: 3", "replicas: 1").replace(", uid: d-1", ""));
    expect(names(kube)).toHaveLength(1);
  });

  it("without its ReplicaSets still loses all its pods with the Deployment", () => {
    const kube = start(NODE + DEPLOYMENT + PODS);
    kube.delete("Deployment", "default", "web");
    expect(names(kube)).toEqual([]);
  });

  it("keeps its slices, whatever its pods say", () => {
    const kube = start(NODE + REPLICA_SET + PODS + SERVICE + SLICE);
    expect(kube.objects("EndpointSlice")).toHaveLength(1);
    expect(kube.objects("EndpointSlice")[0]?.endpoints?.[0]?.conditions).toEqual({
      ready: false,
      serving: true,
      terminating: true,
    });
    expect(kube.get("Service", "default", "web")?.spec?.clusterIP).toBe("10.96.4.4");
  });

  it("has its slices computed again when a pod goes", () => {
    const kube = start(NODE + PODS + SERVICE + SLICE);
    kube.delete("Pod", "default", "web-abc-1");
    kube.reconcile();
    expect(kube.objects("EndpointSlice").map(({ metadata }) => metadata.name)).toEqual(["web-xyz"]);
    expect(addresses(kube)).toEqual(["10.9.1.8"]);
  });

  it("without slices has them computed", () => {
    expect(addresses(start(NODE + PODS + SERVICE))).toEqual(["10.9.1.7", "10.9.1.8"]);
  });

  it("with Endpoints in place of pods has them mirrored", () => {
    const endpoints = `
apiVersion: v1
kind: Endpoints
metadata: {name: web, uid: ep-1}
subsets: [{addresses: [{ip: 10.9.1.7}], ports: [{port: 80}]}]
---`;
    expect(addresses(start(NODE + SERVICE + endpoints))).toEqual(["10.9.1.7"]);
    expect(addresses(start(NODE + PODS + SERVICE + endpoints))).toEqual(["10.9.1.7", "10.9.1.8"]);
  });

  it("may have pods outside all ranges, which is noted", () => {
    const kube = start(NODE + POD("web-abc-1", "172.16.0.9"));
    expect(kube.notes().map(({ code, line, message }) => [code, line, message])).toEqual([
      [
        "pod-address-outside-range",
        8,
        "pod default/web-abc-1 has the address 172.16.0.9, which is in no pod range",
      ],
    ]);
  });

  it("may have slices of pods that were not dumped, which is noted", () => {
    expect(
      start(NODE + SERVICE + SLICE)
        .notes()
        .map(({ code }) => code),
    ).toEqual(["slice-target-unknown"]);
  });
});
