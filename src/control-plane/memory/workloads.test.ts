import { describe, expect, it } from "vitest";
import { LIMITS } from "#core/base/limits.ts";
import { fork } from "#core/base/fork.ts";
import { Prng } from "#core/base/prng.ts";
import { reconcileReplicaSet } from "../controllers/workloads.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { MemoryKube } from "./memory-kube.ts";
import {
  OPTIONS,
  apply,
  linuxNode,
  nodesOf,
  objectsOf,
  pod,
  runPods,
  service,
  start,
  windowsNode,
  workload,
} from "#test/support/kubernetes/kube.suite.ts";

const NODES = windowsNode("win-1") + windowsNode("win-2") + linuxNode("linux-1");
const podNames = (kube: MemoryKube) => kube.objects("Pod").map(({ metadata }) => metadata.name);

describe("Deployments", () => {
  it("make a ReplicaSet named after their template, and that makes pods named after it", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 2"));
    const [set] = kube.objects("ReplicaSet");
    const hash = set?.metadata.labels?.["pod-template-hash"];
    expect(set?.metadata.name).toBe(`web-${hash}`);
    expect(podNames(kube)).toEqual([
      expect.stringMatching(new RegExp(`^web-${hash}-[b-z2-9]{5}$`)),
      expect.stringMatching(new RegExp(`^web-${hash}-[b-z2-9]{5}$`)),
    ]);
    expect(kube.objects("Pod")[0]?.metadata).toMatchObject({
      labels: { app: "web", "pod-template-hash": hash },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: set?.metadata.name,
          uid: set?.metadata.uid,
          controller: true,
        },
      ],
    });
  });

  it("scale up and down", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 2"));
    const before = podNames(kube);
    apply(kube, workload("Deployment", "web", "replicas: 4"));
    expect(podNames(kube)).toEqual(expect.arrayContaining(before));
    expect(podNames(kube)).toHaveLength(4);
    apply(kube, workload("Deployment", "web", "replicas: 0"));
    expect(podNames(kube)).toEqual([]);
    expect(kube.objects("ReplicaSet")).toHaveLength(1);
  });

  it("say how many pods they have and how many are ready, whenever that is otherwise", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 2"));
    const [deployment, set] = (["Deployment", "ReplicaSet"] as const).map(
      (kind) => () => kube.objects(kind)[0]?.status,
    );
    expect([deployment?.(), set?.()]).toMatchObject([{ replicas: 2 }, { replicas: 2 }]);
    expect(deployment?.()).not.toMatchObject({ readyReplicas: 2 });
    runPods(kube);
    expect([deployment?.(), set?.()]).toMatchObject([{ readyReplicas: 2 }, { readyReplicas: 2 }]);
    apply(kube, workload("Deployment", "web", "replicas: 1"));
    expect([deployment?.(), set?.()]).toMatchObject([{ replicas: 1 }, { replicas: 1 }]);
  });

  it("with another template end with a new ReplicaSet, and keep the old one empty", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 2"));
    apply(kube, workload("Deployment", "web", "replicas: 2", "nodeSelector: {kubernetes.io/os: linux}"));
    expect(
      kube
        .objects("ReplicaSet")
        .map(({ spec }) => spec?.replicas)
        .toSorted((a = 0, b = 0) => a - b),
    ).toEqual([0, 2]);
    expect(nodesOf(kube)).toEqual(["linux-1", "linux-1"]);
    apply(kube, workload("Deployment", "web", "replicas: 2"));
    expect(kube.objects("ReplicaSet")).toHaveLength(2);
  });

  it("keep as many old ReplicaSets as revisionHistoryLimit says", () => {
    const kube = start(NODES);
    for (let build = 1; build <= 5; build++)
      apply(
        kube,
        workload(
          "Deployment",
          "web",
          "replicas: 1, revisionHistoryLimit: 2",
          `nodeSelector: {build: "${build}"}`,
        ),
      );
    expect(kube.objects("ReplicaSet")).toHaveLength(3);
  });

  it("that are paused roll nothing out", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 1"));
    apply(
      kube,
      workload("Deployment", "web", "replicas: 3, paused: true", "nodeSelector: {kubernetes.io/os: linux}"),
    );
    expect([kube.objects("ReplicaSet").length, podNames(kube).length]).toEqual([1, 3]);
  });

  it("may not change their selector", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 1"));
    const text = workload("Deployment", "web", "replicas: 1").replaceAll("app: web", "app: other");
    expect(apply(kube, text).problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable',
    ]);
  });

  it("make one pod again that is deleted, with another name", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 1"));
    const [before = ""] = podNames(kube);
    kube.delete("Pod", "default", before);
    kube.reconcile();
    expect(podNames(kube)).toHaveLength(1);
    expect(podNames(kube)).not.toEqual([before]);
  });

  it("of two thousand million replicas make as many pods as there is room for", () => {
    const set = start(workload("ReplicaSet", "web", "replicas: 0")).objects("ReplicaSet")[0]!;
    const vast = { ...set, spec: { ...set.spec!, replicas: 2_000_000_000 } };
    expect(reconcileReplicaSet(vast, [], (base) => `${base}x`, 3).create).toHaveLength(3);
  });

  it("take ReplicaSets and pods with them", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 3"));
    kube.delete("Deployment", "default", "web");
    kube.reconcile();
    expect([kube.objects("ReplicaSet").length, podNames(kube).length]).toEqual([0, 0]);
  });
});

describe("ReplicaSets", () => {
  it("adopt pods that nobody controls", () => {
    const kube = start(
      NODES + pod("stray", "", "labels: {app: web}") + workload("ReplicaSet", "web", "replicas: 2"),
    );
    expect(podNames(kube)).toHaveLength(2);
    expect(kube.get("Pod", "default", "stray")?.metadata.ownerReferences?.[0]?.name).toBe("web");
  });

  it("adopt a pod that comes later, and then have one too many", () => {
    const kube = start(NODES + workload("ReplicaSet", "web", "replicas: 1"));
    apply(kube, pod("stray", "", "labels: {app: web}"));
    expect(podNames(kube)).toHaveLength(1);
    expect(kube.objects("Pod")[0]?.metadata.ownerReferences?.[0]?.name).toBe("web");
  });

  it("tell addresses of pods as kubelets do: all of them, and the first alone", () => {
    const kube = start(NODES + pod("one", "", ""));
    const tell = (change: Parameters<MemoryKube["setPodStatus"]>[2]): unknown => {
      const { podIP, podIPs, hostIP, hostIPs } = kube.setPodStatus("default", "one", change).status ?? {};
      return { podIP, podIPs, hostIP, hostIPs };
    };
    expect(tell({ phase: "Running", podIPs: ["10.244.0.9", "fd00::9"], hostIP: "10.0.0.11" })).toEqual({
      podIP: "10.244.0.9",
      podIPs: [{ ip: "10.244.0.9" }, { ip: "fd00::9" }],
      hostIP: "10.0.0.11",
      hostIPs: [{ ip: "10.0.0.11" }],
    });
    expect(tell({ podIPs: ["10.244.0.8"] })).toMatchObject({
      podIP: "10.244.0.8",
      podIPs: [{ ip: "10.244.0.8" }],
    });
    expect(tell({ podIPs: [] })).toMatchObject({ podIP: undefined, podIPs: undefined });
  });

  it("replace pods that have ended", () => {
    const kube = start(NODES + workload("ReplicaSet", "web", "replicas: 1"));
    kube.setPodStatus("default", podNames(kube)[0] ?? "", { phase: "Failed" });
    kube.reconcile();
    expect(
      kube
        .objects("Pod")
        .map(({ status }) => status?.phase)
        .toSorted((a = "", b = "") => a.localeCompare(b)),
    ).toEqual(["Failed", "Pending"]);
  });
});

describe("StatefulSets", () => {
  const SET = (spec: string) => workload("StatefulSet", "db", `serviceName: db, ${spec}`);

  it("number their pods and give them a name in the DNS", () => {
    const kube = start(NODES + SET("replicas: 3"));
    expect(
      kube
        .objects("Pod")
        .map(({ metadata, spec }) => [
          metadata.name,
          spec?.hostname,
          spec?.subdomain,
          metadata.labels?.["apps.kubernetes.io/pod-index"],
        ]),
    ).toEqual([
      ["db-0", "db-0", "db", "0"],
      ["db-1", "db-1", "db", "1"],
      ["db-2", "db-2", "db", "2"],
    ]);
  });

  it("begin where they are told, and go from the end", () => {
    const kube = start(NODES + SET("replicas: 2, ordinals: {start: 5}"));
    expect(podNames(kube)).toEqual(["db-5", "db-6"]);
    apply(kube, SET("replicas: 1, ordinals: {start: 5}"));
    expect(podNames(kube)).toEqual(["db-5"]);
  });

  it("make a pod again with the same name and another uid", () => {
    const kube = start(NODES + SET("replicas: 2"));
    const before = kube.get("Pod", "default", "db-0")?.metadata.uid;
    kube.delete("Pod", "default", "db-0");
    kube.reconcile();
    expect(podNames(kube)).toEqual(["db-0", "db-1"]);
    expect(kube.get("Pod", "default", "db-0")?.metadata.uid).not.toBe(before);
  });

  it("wait in order for a pod that fits nowhere, unless they may go in parallel", () => {
    expect(podNames(start(SET("replicas: 3")))).toEqual(["db-0"]);
    expect(podNames(start(SET("replicas: 3, podManagementPolicy: Parallel")))).toEqual([
      "db-0",
      "db-1",
      "db-2",
    ]);
  });
});

describe("DaemonSets", () => {
  it("have one pod on every node that fits", () => {
    const kube = start(
      NODES + workload("DaemonSet", "agent", "", "nodeSelector: {kubernetes.io/os: windows}"),
    );
    expect(nodesOf(kube).toSorted((a, b) => a.localeCompare(b))).toEqual(["win-1", "win-2"]);
  });

  it("leave out nodes with a taint, and come to unschedulable ones", () => {
    const kube = start(
      windowsNode("a", "spec: {taints: [{key: os, value: Windows, effect: NoSchedule}]}") +
        windowsNode(
          "b",
          "spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}",
        ) +
        workload("DaemonSet", "agent", ""),
    );
    expect(nodesOf(kube)).toEqual(["b"]);
  });

  it("come to nodes without a network only with the host's network", () => {
    const tainted = windowsNode(
      "a",
      "spec: {taints: [{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]}",
    );
    expect(nodesOf(start(tainted + workload("DaemonSet", "agent", "")))).toEqual([]);
    const hostProcess = "hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true}}";
    expect(nodesOf(start(tainted + workload("DaemonSet", "agent", "", hostProcess)))).toEqual(["a"]);
  });

  it("follow nodes that come and go", () => {
    const kube = start(windowsNode("a") + workload("DaemonSet", "agent", ""));
    apply(kube, windowsNode("b"));
    expect(nodesOf(kube).toSorted((x, y) => x.localeCompare(y))).toEqual(["a", "b"]);
    kube.delete("Node", "", "a");
    kube.reconcile();
    expect(nodesOf(kube)).toEqual(["b"]);
  });

  it("that fit no node make no pods, and it is said", () => {
    const kube = start(
      NODES + workload("DaemonSet", "agent", "", "nodeSelector: {kubernetes.azure.com/os-sku: Windows2019}"),
    );
    expect([podNames(kube), kube.notes().map(({ code }) => code)]).toEqual([
      [],
      ["daemon-set-without-nodes"],
    ]);
  });
});

describe("Jobs", () => {
  const JOB = (spec: string) => `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec: {${spec}${spec === "" ? "" : ", "}template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---`;

  it.each([
    ["alone", "", 1],
    ["in parallel", "parallelism: 3", 3],
    ["not more than are left", "parallelism: 5, completions: 2", 2],
    ["suspended", "suspend: true", 0],
  ])("%s", (_, spec, count) => {
    const kube = start(NODES + JOB(spec));
    expect(podNames(kube)).toHaveLength(count);
    expect(kube.objects("Pod").every(({ metadata }) => metadata.labels?.["job-name"] === "job")).toBe(true);
  });

  it("go on until enough pods have ended well", () => {
    const kube = start(NODES + JOB("completions: 2"));
    for (let round = 0; round < 3; round++) {
      for (const { metadata, status } of kube.objects("Pod"))
        if (status?.phase === "Pending") kube.setPodStatus("default", metadata.name, { phase: "Succeeded" });
      kube.reconcile();
    }
    expect(kube.objects("Pod").map(({ status }) => status?.phase)).toEqual(["Succeeded", "Succeeded"]);
  });

  it.each([
    ["Failed", "True", 0],
    ["Complete", "True", 0],
    ["Failed", "False", 1],
    ["Suspended", "True", 1],
  ])("that a dump shows as %s: %s make %i pods", (type, state, count) => {
    const conditions = `status: {conditions: [{type: ${type}, status: "${state}"}]}`;
    const kube = start(NODES + JOB("").replace(/---$/, `${conditions}\n---`));
    expect(podNames(kube)).toHaveLength(count);
  });

  it("indexed pods are numbered", () => {
    const kube = start(NODES + JOB("completions: 2, parallelism: 2, completionMode: Indexed"));
    expect(kube.objects("Pod").map(({ spec }) => spec?.hostname)).toEqual(["job-0", "job-1"]);
  });

  it("a CronJob makes none, and it is said", () => {
    const cron = JOB("")
      .replace("kind: Job", "kind: CronJob")
      .replace(
        /spec: \{template: (.*)\}\n/,
        'spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: $1}}}\n',
      );
    const kube = start(NODES + cron);
    expect([podNames(kube), kube.notes().map(({ code }) => code)]).toEqual([[], ["cron-job-not-run"]]);
  });
});

describe("nodes", () => {
  it("carry the labels of their kubelet, in both spellings", () => {
    expect(start(windowsNode("win-1")).get("Node", "", "win-1")?.metadata.labels).toEqual({
      "kubernetes.io/hostname": "win-1",
      "kubernetes.io/os": "windows",
      "beta.kubernetes.io/os": "windows",
      "kubernetes.io/arch": "amd64",
      "beta.kubernetes.io/arch": "amd64",
      "node.kubernetes.io/windows-build": "10.0.20348",
    });
  });

  it("get the next free block of the cluster's range; ranges that they have stay", () => {
    const kube = start(
      windowsNode("a") +
        windowsNode("b", "spec: {podCIDR: 10.244.0.0/24}") +
        windowsNode("c") +
        windowsNode("d", "spec: {podCIDR: 192.168.0.0/24}"),
    );
    expect(kube.objects("Node").map(({ spec }) => spec?.podCIDR)).toEqual([
      "10.244.1.0/24",
      "10.244.0.0/24",
      "10.244.2.0/24",
      "192.168.0.0/24",
    ]);
    kube.delete("Node", "", "a");
    apply(kube, windowsNode("e"));
    expect(kube.get("Node", "", "e")?.spec?.podCIDRs).toEqual(["10.244.1.0/24"]);
  });

  it("beyond the last block have none, and it is said", () => {
    const [clusterCIDR] = OPTIONS.clusterCIDRs;
    const kube = start(windowsNode("a") + windowsNode("b"), {
      clusterCIDRs: [{ address: clusterCIDR!.address, length: 24 }],
    });
    expect(kube.objects("Node").map(({ spec }) => spec?.podCIDR)).toEqual(["10.244.0.0/24", undefined]);
    expect(kube.notes().map(({ code }) => code)).toEqual(["node-range-exhausted"]);
  });

  it("keep range and labels when they are applied again", () => {
    const kube = start(windowsNode("a"));
    const before = kube.get("Node", "", "a");
    expect(apply(kube, windowsNode("a")).changes.map(({ change }) => change)).toEqual(["unchanged"]);
    expect(kube.get("Node", "", "a")).toEqual(before);
  });
});

describe("objects", () => {
  it("in a namespace that nobody described get it, with one note", () => {
    const kube = new MemoryKube(new Prng(1), OPTIONS);
    const text = ["a", "b"]
      .map((name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: shop}\n`)
      .join("---\n");
    const report = kube.apply(objectsOf(text));
    expect(report.notes.map(({ code, line, message }) => [code, line, message])).toEqual([
      ["namespace-created", 1, 'no manifest describes the namespace "shop" of 2 objects; it was created'],
    ]);
    kube.delete("Namespace", "", "shop");
    expect(kube.objects("ConfigMap")).toEqual([]);
  });

  it("whose pods are counted are written once, not each time that something else changes", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 2"));
    const version = (): string | undefined => kube.objects("Deployment")[0]?.metadata.resourceVersion;
    const before = version();
    apply(kube, service("other", "ports: [{port: 80}]"));
    kube.reconcile();
    expect(version()).toBe(before);
  });

  it("are counted as created, configured or unchanged", () => {
    const kube = start(NODES + service("a", "ports: [{port: 80}]"));
    const changes = (text: string) =>
      apply(kube, text).changes.map(({ name, change }) => `${name} ${change}`);
    expect(changes(service("a", "ports: [{port: 80}]") + service("b", "ports: [{port: 80}]"))).toEqual([
      "a unchanged",
      "b created",
    ]);
    expect(changes(service("a", "ports: [{port: 81}]"))).toEqual(["a configured"]);
  });

  it("a pod that stands may not be changed", () => {
    const kube = start(NODES + pod("p"));
    const [problem] = apply(kube, pod("p", "hostname: other")).problems;
    expect(problem?.message).toContain("Forbidden: pod updates may not change fields other than");
    expect(apply(kube, pod("p")).changes[0]?.change).toBe("unchanged");
  });

  it("with generateName get names of their own", () => {
    const text = pod("x").replace("name: x", "generateName: job-");
    const kube = start(NODES + text + text);
    expect(podNames(kube)).toEqual([
      expect.stringMatching(/^job-[b-z2-9]{5}$/),
      expect.stringMatching(/^job-[b-z2-9]{5}$/),
    ]);
  });

  it("that are not there cannot be deleted", () => {
    expect(() => start("").delete("Pod", "default", "p")).toThrow(
      new KubeError("object-not-found", 404, 'pods "p" not found', { subject: { name: "p", kind: "pods" } }),
    );
  });

  it("the same calls give the same objects, byte for byte", () => {
    const text =
      NODES +
      workload("Deployment", "web", "replicas: 5") +
      service("web", "type: NodePort, selector: {app: web}, ports: [{port: 80}]");
    const dump = (kube: MemoryKube) =>
      JSON.stringify([kube.objects("Pod"), kube.objects("Service"), kube.objects("EndpointSlice")]);
    expect(dump(start(text))).toBe(dump(start(text)));
  });

  it("one object more does not change what others draw", () => {
    const web =
      workload("Deployment", "web", "replicas: 2") +
      service("web", "type: NodePort, selector: {app: web}, ports: [{port: 80}]");
    const names = (kube: MemoryKube) => podNames(kube).filter((name) => name.startsWith("web"));
    const [alone, together] = [
      start(NODES + web),
      start(NODES + workload("Deployment", "a", "replicas: 7") + service("a", "ports: [{port: 1}]") + web),
    ];
    expect(names(together)).toEqual(names(alone));
    expect(together.get("Service", "default", "web")?.spec).toEqual(
      alone.get("Service", "default", "web")?.spec,
    );
  });

  it("a fork goes its own way, and has no listeners", () => {
    const kube = start(NODES + workload("Deployment", "web", "replicas: 3"));
    const seen: string[] = [];
    kube.watch("Pod", kube.resourceVersion, ({ type }) => seen.push(type));
    const other = fork(kube);
    other.delete("Deployment", "default", "web");
    expect([podNames(kube).length, podNames(other).length, seen]).toEqual([3, 0, []]);
    runPods(kube);
    expect(seen).toEqual(["MODIFIED", "MODIFIED", "MODIFIED"]);
  });
});

describe("lists and watches", () => {
  it("a list names the version from which a watch goes on", async () => {
    const kube = start(NODES);
    const { items, resourceVersion } = await kube.list("Node");
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["linux-1", "win-1", "win-2"]);
    const seen: string[] = [];
    const stop = kube.watch("Node", resourceVersion, ({ type, object }) =>
      seen.push(`${type} ${object.metadata.name}`),
    );
    apply(kube, windowsNode("win-3"));
    kube.delete("Node", "", "win-1");
    stop();
    apply(kube, windowsNode("win-4"));
    expect(seen).toEqual(["ADDED win-3", "MODIFIED win-3", "DELETED win-1"]);
  });

  it("an old version gives first what is remembered", () => {
    const kube = start(pod("a"));
    kube.delete("Pod", "default", "a");
    expect(kube.changesAfter("Pod", "0").map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
  });

  it.each(["", "x", "-1"])("a version that is none (%j) has expired", (version) => {
    expect(() => start("").watch("Pod", version, () => undefined)).toThrow(
      expect.objectContaining({ code: "resource-version-expired", status: 410 }),
    );
  });

  it("a version that is forgotten has expired; a list helps", async () => {
    const kube = start(windowsNode("a") + pod("p"));
    for (let round = 0; round < 8_200; round++)
      kube.setPodStatus("default", "p", { hostIP: `10.0.${round >> 8}.${round & 255}` });
    expect(() => kube.watch("Pod", "1", () => undefined)).toThrow(
      expect.objectContaining({ code: "resource-version-expired", status: 410 }),
    );
    const { resourceVersion } = await kube.list("Pod");
    expect(kube.changesAfter("Pod", resourceVersion)).toEqual([]);
  });

  it("so many changes are remembered, and the one before them not", async () => {
    const kube = start(windowsNode("a") + pod("p"));
    const change = (round: number): void => {
      kube.setPodStatus("default", "p", { hostIP: `10.1.${round >> 8}.${round & 255}` });
    };
    const { resourceVersion } = await kube.list("Pod");
    for (let round = 0; round < LIMITS.watchHistoryMax; round++) change(round);
    expect(kube.changesAfter("Pod", resourceVersion)).toHaveLength(LIMITS.watchHistoryMax);
    change(LIMITS.watchHistoryMax);
    expect(() => kube.changesAfter("Pod", resourceVersion)).toThrow(
      expect.objectContaining({ code: "resource-version-expired", status: 410 }),
    );
    expect(kube.changesAfter("Pod", `${Number(resourceVersion) + 1}`)).toHaveLength(LIMITS.watchHistoryMax);
  });

  it("a listener that changes objects hears of it in order", () => {
    const kube = start(NODES);
    const seen: string[] = [];
    kube.watch("ConfigMap", kube.resourceVersion, ({ type, object }) => {
      seen.push(`${type} ${object.metadata.name}`);
      if (object.metadata.name === "a")
        kube.apply(objectsOf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"));
    });
    kube.apply(
      objectsOf(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
      ),
    );
    expect(seen).toEqual(["ADDED a", "ADDED b", "ADDED c"]);
  });
});
