import { describe, expect, it } from "vitest";
import {
  linuxNode,
  nodesOf,
  pod,
  reasonOf,
  start,
  windowsNode,
  workload,
} from "#test/support/kubernetes/kube.suite.ts";

const TAINT = "spec: {taints: [{key: os, value: Windows, effect: NoSchedule}]}";
const MIXED = windowsNode("win-1") + windowsNode("win-2") + linuxNode("linux-1");

/** Where one pod lands: a node, or why nowhere. */
function landing(nodes: string, spec: string): string | undefined {
  const [one] = start(nodes + pod("p", spec)).objects("Pod");
  return one === undefined ? undefined : (one.spec?.nodeName ?? reasonOf(one));
}

function affinity(expression: string): string {
  return `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [${expression}]}]}}}`;
}

const NO_MATCH = (count: number) => `${count} node(s) didn't match Pod's node affinity/selector`;

describe("a pod's node", () => {
  it.each<[string, string, string, string]>([
    ["selector, today's label", MIXED, "nodeSelector: {kubernetes.io/os: linux}", "linux-1"],
    ["selector, old label", MIXED, "nodeSelector: {beta.kubernetes.io/os: windows}", "win-1"],
    [
      "selector, build of Windows",
      MIXED,
      "nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}",
      "win-1",
    ],
    ["selector, name of the host", MIXED, "nodeSelector: {kubernetes.io/hostname: win-2}", "win-2"],
    ["selector, architecture", MIXED, "nodeSelector: {kubernetes.io/arch: amd64}", "linux-1"],
    ["affinity, In", MIXED, affinity("{key: kubernetes.io/os, operator: In, values: [windows]}"), "win-1"],
    [
      "affinity, NotIn",
      MIXED,
      affinity("{key: kubernetes.io/os, operator: NotIn, values: [windows]}"),
      "linux-1",
    ],
    [
      "affinity, Exists",
      MIXED,
      affinity("{key: node.kubernetes.io/windows-build, operator: Exists}"),
      "win-1",
    ],
    [
      "affinity, DoesNotExist",
      MIXED,
      affinity("{key: node.kubernetes.io/windows-build, operator: DoesNotExist}"),
      "linux-1",
    ],
    [
      "affinity, Gt",
      windowsNode("a").replace("{name: a}", '{name: a, labels: {size: "3"}}') +
        windowsNode("b").replace("{name: b}", '{name: b, labels: {size: "10"}}'),
      affinity('{key: size, operator: Gt, values: ["9"]}'),
      "b",
    ],
    [
      "affinity, Lt",
      windowsNode("a").replace("{name: a}", '{name: a, labels: {size: "30"}}') +
        windowsNode("b").replace("{name: b}", '{name: b, labels: {size: "10"}}'),
      affinity('{key: size, operator: Lt, values: ["11"]}'),
      "b",
    ],
    [
      "affinity, name of the node",
      MIXED,
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [win-2]}]}]}}}",
      "win-2",
    ],
    [
      "preference",
      MIXED,
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [win-2]}]}}]}}",
      "win-2",
    ],
    ["spec.os has no say in it", windowsNode("a") + linuxNode("b"), "os: {name: windows}", "a"],
    ["nodeName asks nobody", windowsNode("win-1", TAINT), "nodeName: win-1", "win-1"],
    [
      "a taint that is tolerated, Equal",
      windowsNode("win-1", TAINT),
      "tolerations: [{key: os, operator: Equal, value: Windows, effect: NoSchedule}]",
      "win-1",
    ],
    [
      "a taint that is tolerated, Exists",
      windowsNode("win-1", TAINT),
      "tolerations: [{key: os, operator: Exists}]",
      "win-1",
    ],
    ["all taints are tolerated", windowsNode("win-1", TAINT), "tolerations: [{operator: Exists}]", "win-1"],
    [
      "a taint that is only disliked",
      windowsNode("a", TAINT.replace("NoSchedule", "PreferNoSchedule")) + windowsNode("b"),
      "",
      "b",
    ],
    [
      "an unschedulable node that is tolerated",
      windowsNode("a", "spec: {unschedulable: true}"),
      "tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]",
      "a",
    ],
  ])("%s", (_, nodes, spec, node) => {
    expect(landing(nodes, spec)).toBe(node);
  });

  it.each<[string, string, string, string]>([
    ["no node", "", "", "no nodes available to schedule pods"],
    ["selector", MIXED, "nodeSelector: {gpu: big}", `0/3 nodes are available: ${NO_MATCH(3)}.`],
    [
      "selector and taint",
      windowsNode("win-1", TAINT) + linuxNode("a") + linuxNode("b"),
      "nodeSelector: {kubernetes.io/os: windows}",
      `0/3 nodes are available: 1 node(s) had untolerated taint {os: Windows}, ${NO_MATCH(2)}.`,
    ],
    [
      "a value that is not tolerated",
      windowsNode("win-1", TAINT),
      "tolerations: [{key: os, value: windows, effect: NoSchedule}]",
      "0/1 nodes are available: 1 node(s) had untolerated taint {os: Windows}.",
    ],
    [
      "an effect that is not tolerated",
      windowsNode("win-1", TAINT),
      "tolerations: [{key: os, operator: Exists, effect: NoExecute}]",
      "0/1 nodes are available: 1 node(s) had untolerated taint {os: Windows}.",
    ],
    [
      "a taint without a value",
      windowsNode("a", "spec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}"),
      "",
      "0/1 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.",
    ],
    [
      "unschedulable",
      windowsNode("a", "spec: {unschedulable: true}"),
      "",
      "0/1 nodes are available: 1 node(s) were unschedulable.",
    ],
  ])("nowhere: %s", (_, nodes, spec, message) => {
    expect(landing(nodes, spec)).toBe(`Unschedulable: ${message}`);
  });

  it("a host port is taken once per node, protocol and address", () => {
    const ports = (hostPort: string) =>
      `containers: [{name: c, image: i, ports: [{containerPort: 80, ${hostPort}}]}]`;
    const one = (name: string, hostPort: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {${ports(hostPort)}}\n---\n`;
    const kube = start(
      windowsNode("win-1") +
        "\n" +
        one("a", "hostPort: 8080") +
        one("b", "hostPort: 8080") +
        one("c", "hostPort: 8080, protocol: UDP") +
        one("d", "hostPort: 9090, hostIP: 10.0.0.1") +
        one("e", "hostPort: 9090, hostIP: 10.0.0.2") +
        one("f", "hostPort: 9090"),
    );
    expect(nodesOf(kube)).toEqual(["win-1", "-", "win-1", "win-1", "win-1", "-"]);
    expect(reasonOf(kube.objects("Pod")[1]!)).toBe(
      "Unschedulable: 0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    );
  });

  // `GetHostPorts` of Kubernetes' scheduler.
  it("a host port of a sidecar is taken, that of an init container that ends is not", () => {
    const one = (name: string, policy: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}], ` +
      `initContainers: [{name: p, image: i, ${policy}ports: [{containerPort: 80, hostPort: 8080}]}]}\n---\n`;
    const all = `${windowsNode("win-1")}\n${one("a", "restartPolicy: Always, ")}${one("b", "restartPolicy: Always, ")}${one("c", "")}`;
    expect(nodesOf(start(all))).toEqual(["win-1", "-", "win-1"]);
  });

  it("the port of a container on the host's network is a port of the host", () => {
    const spec = (name: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}\n---\n`;
    expect(nodesOf(start(`${linuxNode("a")}\n${spec("p")}${spec("q")}`))).toEqual(["a", "-"]);
  });

  it("a node takes as many pods as it says, 110 by default", () => {
    const small = windowsNode("small").replace("status:", "status:\n  allocatable: {pods: 2}");
    const kube = start(small + workload("Deployment", "web", "replicas: 3"));
    expect(nodesOf(kube).filter((node) => node === "small")).toHaveLength(2);
    expect(kube.objects("Pod").map(reasonOf)).toContain(
      "Unschedulable: 0/1 nodes are available: 1 Too many pods.",
    );
    const usual = start(windowsNode("usual") + workload("Deployment", "web", "replicas: 111"));
    expect(nodesOf(usual).filter((node) => node === "usual")).toHaveLength(110);
  });

  // kube-scheduler, `fitsRequest`; k8s.io/component-helpers, `PodRequests`.
  it.each<[what: string, offers: string, spec: string, where: string]>([
    ["within what the node has", "cpu: 4, memory: 8Gi", "requests: {cpu: 1500m, memory: 1Gi}", "win-1"],
    ["of more processors", "cpu: 4, memory: 8Gi", "requests: {cpu: 16}", "1 Insufficient cpu"],
    [
      "a limit stands for the request",
      "cpu: 4, memory: 8Gi",
      "limits: {memory: 9Gi}",
      "1 Insufficient memory",
    ],
    [
      "of two resources",
      "cpu: 1, memory: 1Gi",
      "requests: {cpu: 2, memory: 2Gi}",
      "1 Insufficient cpu, 1 Insufficient memory",
    ],
    [
      "of a device that the node does not offer",
      "cpu: 4, memory: 8Gi",
      "limits: {microsoft.com/directx: 1}",
      "1 Insufficient microsoft.com/directx",
    ],
    ["of a node that does not say what it has", "pods: 110", "requests: {cpu: 1600}", "win-1"],
  ])("requests %s", (_, offers, resources, where) => {
    const node = windowsNode("win-1").replace("status:", `status:\n  allocatable: {${offers}}`);
    const one = pod("p").replace("image: web", `image: web, resources: {${resources}}`);
    const [found] = start(node + one).objects("Pod");
    expect(found?.spec?.nodeName ?? reasonOf(found!)).toBe(
      where === "win-1" ? where : `Unschedulable: 0/1 nodes are available: ${where}.`,
    );
  });

  it("what pods ask for adds up, and an init container counts where it asks for more", () => {
    const node = windowsNode("win-1").replace("status:", "status:\n  allocatable: {cpu: 2, memory: 8Gi}");
    const template =
      "replicas: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec:";
    const half = "resources: {requests: {cpu: 500m}}";
    const whole = "initContainers: [{name: first, image: i, resources: {requests: {cpu: 1}}}]";
    const deployment = `\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {${template} {${whole}, containers: [{name: c, image: i, ${half}}]}}}\n---`;
    expect(nodesOf(start(node + deployment)).toSorted()).toEqual(["-", "win-1", "win-1"]);
  });

  // k8s.io/kubernetes, `pkg/registry/core/pod/strategy.go`.
  it("a pod with a gate waits for whoever takes it away", () => {
    expect(landing(MIXED, "schedulingGates: [{name: example.com/ready}]")).toBe(
      "SchedulingGated: Scheduling is blocked due to non-empty scheduling gates",
    );
  });

  it("pods are spread: fewest pods first, then the order of names", () => {
    const kube = start(
      windowsNode("b") + windowsNode("a") + windowsNode("c") + pod("p1") + pod("p2") + pod("p3") + pod("p4"),
    );
    expect(nodesOf(kube)).toEqual(["a", "b", "c", "a"]);
  });

  it("a pod that waits gets a node when one comes, and when a port or a place becomes free", () => {
    const one = (name: string) =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 8080}]}]}\n---\n`;
    const kube = start(one("a") + one("b"));
    expect(nodesOf(kube)).toEqual(["-", "-"]);
    kube.apply(
      start(windowsNode("win-1"))
        .objects("Node")
        .map((object) => ({ object, origin: undefined })),
    );
    kube.reconcile();
    expect(nodesOf(kube)).toEqual(["win-1", "-"]);
    kube.delete("Pod", "default", "a");
    kube.reconcile();
    expect(nodesOf(kube)).toEqual(["win-1"]);
  });
});

describe("a kubelet", () => {
  it.each<[string, string, string, string]>([
    ["of Linux refuses a Windows pod", linuxNode("a"), "os: {name: windows}", "PodOSNotSupported"],
    [
      "refuses a pod whose selector its node does not answer",
      windowsNode("a"),
      "nodeName: a, nodeSelector: {kubernetes.io/os: linux}",
      "NodeAffinity",
    ],
  ])("%s", (_, nodes, spec, reason) => {
    const [one] = start(nodes + pod("p", spec)).objects("Pod");
    expect([one?.status?.phase, one?.status?.reason]).toEqual(["Failed", reason]);
  });

  it("that refuses pods of a Deployment is told of once; the Deployment makes no more", () => {
    const kube = start(linuxNode("a") + workload("Deployment", "web", "replicas: 3", "os: {name: windows}"));
    expect(kube.objects("Pod").map(({ status }) => status?.phase)).toEqual(["Failed", "Failed", "Failed"]);
    expect(kube.notes().map(({ code, line }) => [code, line])).toEqual([["pod-os-mismatch", 9]]);
  });
});

describe("rules that are not weighed", () => {
  const labels = "labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname";

  it.each([
    [
      "spec.affinity.podAntiAffinity",
      `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{${labels}}]}}`,
    ],
    [
      "spec.affinity.podAffinity",
      `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{${labels}}]}}`,
    ],
    [
      "spec.topologySpreadConstraints",
      `topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, ${labels}}]`,
    ],
    ["spec.schedulerName", "schedulerName: own"],
  ])("%s is told, once per workload, and of a pod by itself", (path, spec) => {
    for (const manifest of [workload("Deployment", "web", "replicas: 3", spec), pod("p", spec)]) {
      const kube = start(MIXED + manifest);
      expect(kube.notes().map((note) => [note.code, note.path])).toEqual([["scheduling-rule-ignored", path]]);
    }
  });

  it("a preference binds nobody", () => {
    const spec = `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {${labels}}}]}}`;
    expect(start(MIXED + workload("Deployment", "web", "replicas: 3", spec)).notes()).toEqual([]);
  });
});
