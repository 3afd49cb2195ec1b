// Defects of nodes in a cluster: what the file sets, what the build has, and what a trace says of it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { addLoadBalancer } from "#test/support/cluster/load-balancers.ts";
import { openTestCluster, walk } from "#test/support/cluster/walk.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { readInput } from "../input/read-input.ts";
import { openSession } from "../session/open-session.ts";
import { readModel } from "../verify/model-of-cluster.ts";
import { verifyCluster } from "../verify/verify.ts";

function file(build: string, more = "", node = ""): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: quirks}
${more}
nodes:
  - {name: win-1, os: windows, build: "${build}", address: 10.0.0.11, podCIDR: 10.244.1.0/24${node}}
  - {name: win-2, os: windows, build: "${build}", address: 10.0.0.12, podCIDR: 10.244.2.0/24}
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24}
network: {plugin: win-bridge, routes: static}
pods:
  - {name: a, node: win-1, address: 10.244.1.10, ports: [{port: 8080}]}
  - {name: b, node: win-1, address: 10.244.1.11, ports: [{port: 8080}]}
  - {name: c, node: win-2, address: 10.244.2.10, ports: [{port: 8080}]}
  - {name: d, node: lin-1, address: 10.244.3.10, ports: [{port: 8080}]}
`;
}

const V = "10.96.0.50";
const CODE = "l2bridge-broken-with-dsr";

describe("l2bridge-dsr-kb5005619", () => {
  /** The cluster with a ClusterIP on each Windows node, as kube-proxy makes it with and without DSR. */
  async function open(build: string, isDsr: boolean, more = ""): Promise<Cluster> {
    const cluster = await openTestCluster(file(build, more));
    for (const node of ["win-1", "win-2"])
      await addLoadBalancer(cluster, { node, vips: [V], port: 80, backEnds: ["b"], isDsr });
    return cluster;
  }

  const OFF = "quirks: {l2bridge-dsr-kb5005619: off}";
  const verdictOf = (cluster: Cluster, to: string, port = 8080): string => {
    const { report } = walk(cluster, "pod/a", to, { port });
    return report.code ?? report.verdict;
  };

  it.each<[build: string, isDsr: boolean, more: string, verdict: string]>([
    ["ws2022", true, "", CODE],
    ["ws2022.261", true, "", CODE],
    ["ws2022.260", true, "", "answered"],
    ["ws2022", false, "", "answered"],
    ["ws2019", true, "", "answered"],
    ["ws2025", true, "", "answered"],
    ["ws2022", true, OFF, "answered"],
  ])("%s, DSR %s %s: pod → pod is %s, on this node and others", async (build, isDsr, more, verdict) => {
    const cluster = await open(build, isDsr, more);
    expect(["pod/b", "pod/c", "pod/d"].map((to) => verdictOf(cluster, to))).toEqual([
      verdict,
      verdict,
      verdict,
    ]);
  });

  describe("on Server 2022 with DSR", () => {
    let cluster: Cluster;
    beforeAll(async () => {
      cluster = await open("ws2022", true);
    });

    it("a pod reaches a Service, the node and the outside", () => {
      expect(verdictOf(cluster, V, 80)).toBe("answered");
      expect(verdictOf(cluster, "external", 443)).toBe("answered");
      expect(walk(cluster, "pod/a", "node/win-1", { protocol: "icmp" }).report.verdict).toBe("answered");
    });

    it("is reached by its node, by pods of Linux nodes, and answers them", () => {
      expect(walk(cluster, "node/win-1", "pod/a", { port: 8080 }).report.verdict).toBe("answered");
      expect(walk(cluster, "pod/d", "pod/a", { port: 8080 }).report.verdict).toBe("answered");
    });

    it("the trace names the rule, the code, and that it is inferred", () => {
      const { report } = walk(cluster, "pod/a", "pod/c", { port: 8080 });
      expect(report.forward.steps.at(-1)).toMatchObject({
        kind: "drop",
        node: "win-1",
        layer: "LB_DSR",
        code: CODE,
        inferred: "windows-networking-documentation.md §5",
      });
      expect(report.summary).toContain("L2BRIDGE_DSR_KB5005619");
    });
  });
});

describe("quirks of the cluster file", () => {
  it("those of one node concern that node", async () => {
    const cluster = await openTestCluster(file("ws2022", "", ", quirks: {sockets-refused: on}"));
    expect(walk(cluster, "pod/c", "pod/d", { port: 8080 }).report.verdict).toBe("answered");
    const { report } = walk(cluster, "pod/a", "pod/d", { port: 8080 });
    expect(report.verdict).not.toBe("answered");
  });

  it("a rate strikes the same pods in every run of the seed, and in forks", async () => {
    const text = file("ws2022", "quirks: {outbound-nat-rules-missing: 0.5@7}");
    const reached = (cluster: Cluster): readonly string[] =>
      ["a", "b", "c"].map((name) => walk(cluster, `pod/${name}`, "external", { port: 443 }).report.verdict);
    const first = await openTestCluster(text);
    const second = await openTestCluster(text);
    expect(reached(second)).toEqual(reached(first));
    expect(reached(forkCluster(first))).toEqual(reached(first));
    const all = await openTestCluster(text.replace("0.5@7", "on"));
    expect(new Set(reached(all))).toEqual(new Set(["no-answer"]));
  });
});

describe("the examples of the two documented defects", () => {
  function textOf(name: string): string {
    return readFileSync(join("examples", name), "utf8");
  }

  it.each<[folder: string, others: readonly string[]]>([
    ["defect-l2bridge-dsr", []],
    ["defect-overlay-nodeport", ["services.yaml"]],
  ])("%s comes out as its file says", async (folder, others) => {
    const files = ["cluster.yaml", ...others].map((name) => ({
      name,
      text: textOf(`${folder}/${name}`).replace(/^manifests:\n {2}- .*\n/m, ""),
    }));
    const read = readInput(files);
    if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
    const { session } = await openSession(read.input);
    const report = verifyCluster(session.cluster, readModel(session.cluster));
    const own = report.cells.filter(({ flow }) => flow === "cluster-file");
    expect(own).toHaveLength(session.cluster.file.expectations.length);
    expect(own.map(({ verdict }) => verdict)).toEqual(own.map(() => "as-expected"));
  });
});

describe("bridge-endpoint-not-routed", () => {
  it.each([
    ["off", "answered", "answered"],
    ["on", "answered", "destination-not-local"],
  ])("DT-064 %s: pods of one node %s, of another %s", async (setting, near, far) => {
    const cluster = await openTestCluster(file("ws2019", `quirks: {bridge-endpoint-not-routed: ${setting}}`));
    const outcome = (to: string): string => {
      const { report } = walk(cluster, "pod/a", to, { port: 8080 });
      return report.code ?? report.verdict;
    };
    expect([outcome("pod/b"), outcome("pod/c")]).toEqual([near, far]);
  });
});
