// What the documentation denies of flannel's vxlan, on the assembled cluster (windows-networking-documentation.md §6 to §8).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { changePolicy } from "#programs/flannel/windows/overlay-network.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import {
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  service,
} from "#test/support/cluster/session-world.ts";
import { walk } from "#test/support/cluster/walk.ts";
import { parseClusterFile } from "../file/parse-cluster-file.ts";
import { readModel } from "../verify/model-of-cluster.ts";
import { verifyCluster } from "../verify/verify.ts";
import { hcnClientOf } from "../machines/windows-node.ts";

const VXLAN = clusterText("network: { plugin: flannel, backend: vxlan }");
const PODS = deployment("win", "windows", 2) + deployment("lin", "linux", 1);

describe("flannel's vxlan", () => {
  it("DT-052 a node reaches its own pods by a HostRoute alone, which flanneld asks for from 0.12 on", async () => {
    const { session, ...world } = await openSessionWorld(VXLAN, PODS);
    const { cluster } = session;
    const node = defined(cluster.nodes[0], "win-1");
    const pods = podsOf({ session, ...world }, "win");
    const own = pods.find(({ spec }) => spec?.nodeName === node.spec.name)?.metadata.name ?? "";
    const ask = (): string => {
      const { report } = walk(cluster, "node/win-1", `pod/${own}`, { port: 8080 });
      return report.code ?? report.verdict;
    };
    expect(ask()).toBe("answered");
    const client = hcnClientOf(node);
    const network = await getNetworkByName(client, "vxlan0");
    await changePolicy(client, network.ID ?? "", "Remove", { Type: "HostRoute", Settings: {} });
    expect(ask()).toBe("overlay-without-host-route");
  });

  it("has no second family", () => {
    const result = parseClusterFile(`${VXLAN}ipv6: { enabled: true }\n`, "cluster.yaml");
    const problems = "problems" in result ? result.problems : [];
    expect(problems.map(({ advice }) => advice)).toEqual([
      expect.stringContaining("mullion explain overlay-without-ipv6"),
    ]);
  });

  it("its Windows pods have one DNS suffix: a name with a dot gets none", async () => {
    const lin = service("lin", "selector: {app: lin}, ports: [{port: 80, targetPort: 8080}]");
    const { session } = await openSessionWorld(VXLAN, PODS + lin);
    const report = verifyCluster(session.cluster, readModel(session.cluster));
    const names = report.cells.filter(
      ({ flow, fromSystem }) => fromSystem.startsWith("ws") && flow.startsWith("pod-to-service-"),
    );
    const outcomes = new Map(
      names.map(({ flow, code, expected, verdict }) => [flow, [code ?? expected, verdict]]),
    );
    expect(Object.fromEntries(outcomes)).toEqual({
      "pod-to-service-short-name": ["works", "as-expected"],
      "pod-to-service-full-name": ["works", "as-expected"],
      "pod-to-service-partial-name": ["dns-name-with-dot-not-completed", "as-expected"],
    });
  });
});
