import { describe, expect, it } from "vitest";
import {
  NODES,
  compareWithTried,
  openUniform,
  shardsOf,
  tryAll,
} from "#test/support/cluster/resting-cells.suite.ts";
import { uniformNode } from "#test/support/cluster/uniform-cluster.ts";
import { planVerification } from "./plan.ts";
import { reportOf } from "./shard.ts";

/** The nodes whose flows rest on others, or on which others rest. */
function restingNodes(plan: ReturnType<typeof planVerification>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const position of plan.resting.on.keys()) {
    const { source, target } = plan.cells[position] ?? {};
    if (source?.kind === "pod") found.add(source.node.name);
    if (source?.kind === "node") found.add(source.name);
    const receiver = plan.model.pods.find(({ reference }) => reference === target?.reference);
    if (receiver !== undefined) found.add(receiver.node.name);
  }
  return found;
}

describe("flows between equal nodes", () => {
  it("rest on one that is tried, and come out as they do when all are tried", async () => {
    const { session, comparisons } = await openUniform();
    const { differences, rested, compared, takenOver } = await compareWithTried(session, comparisons);
    expect(differences).toEqual([]);
    expect(compared + takenOver).toBe(rested);
    expect(Math.min(compared, takenOver)).toBeGreaterThan(5);
  });

  it("are counted apart, and the shards' report is that of one machine", async () => {
    const { session, comparisons } = await openUniform();
    const [whole] = await shardsOf(session, comparisons, 1);
    const parts = await shardsOf(session, comparisons, 3);
    const report = reportOf([whole].flatMap((each) => each ?? []));
    expect(report.findings).toEqual([]);
    expect(reportOf(parts)).toEqual(report);
    const { tried, compared = 0, takenOver = 0 } = report.counts;
    expect(tried + compared + takenOver).toBe(
      report.cells.filter(({ verdict }) => verdict !== "not-tried").length,
    );
    expect(report.cells.filter(({ restsOn }) => restsOn?.how === "taken-over")).toHaveLength(takenOver);
    // Where a class was tried by the lost shards alone, nothing is left to rest on.
    for (const lost of [0, 1, 2]) {
      const left = reportOf(parts.filter((_, index) => index !== lost));
      expect(left.partial?.missingShards).toEqual([lost + 1]);
      expect(left.findings.map(({ code }) => code)).toContain("verification-incomplete");
    }
    const untried = parts.map((part) => ({
      ...part,
      classes: part.classes?.map((each) => ({ ...each, tried: 0 })) ?? [],
    }));
    expect(reportOf(untried).findings.map(({ observed }) => observed)).toEqual(
      (parts[0]?.classes ?? []).map(
        ({ digest, nodes }) => `no shard has tried a flow of the class ${digest} of ${nodes} nodes`,
      ),
    );
  });

  it("are a finding where a machine of the class differs that was compared", async () => {
    const { session, comparisons } = await openUniform();
    const { member } = comparisons.chosen[0] ?? {};
    await session.raise();
    for (const each of member?.node.host.root.listInterfaces() ?? []) each.mtuBytes = 1_400;
    const report = reportOf(await shardsOf(session, comparisons, 1));
    expect(report.findings.map(({ code }) => code)).toContain("machines-of-class-differ");
    expect(report.findings[0]?.observed).toContain(`node/${member?.node.spec.name}`);
    expect(report.basis.notes.map(({ code }) => code)).not.toContain("machines-of-class-differ");
  });

  it("keep what failed where it was tried: each that rests on it says so", async () => {
    const { session, comparisons } = await openUniform();
    const plan = planVerification(session.cluster, undefined, { comparisons });
    const [stood] = [...plan.resting.on.values()];
    const done = await tryAll(session, plan);
    const disagreement = { expected: "works", observed: "no answer", code: undefined, at: undefined };
    const failed = done.map((each) => ({
      ...each,
      results: each.results.map((result) =>
        result.position === stood?.cell ? { ...result, disagreement } : result,
      ),
    }));
    const report = reportOf(await shardsOf(session, comparisons, 1, failed));
    const resting = [...plan.resting.on]
      .filter(([, { cell }]) => cell === stood?.cell)
      .map(([position]) => position);
    expect(new Set(report.findings.map(({ cell }) => cell))).toEqual(new Set([stood?.cell, ...resting]));
    expect(report.findings.at(-1)?.observed).toMatch(/^as between equal nodes \(.*\): no answer$/);
  });
});

describe("a node that something else tells apart", () => {
  const [ODD] = [uniformNode(NODES - 1)];

  it.each([
    [
      "a policy that speaks of its range",
      `---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: p }
spec: { podSelector: { matchLabels: { app: nobody } }, ingress: [{ from: [{ ipBlock: { cidr: 172.20.0.${10 + NODES - 1}/32 } }] }] }
`,
    ],
    [
      "an object that names it",
      `---
apiVersion: v1
kind: ConfigMap
metadata: { name: leader }
data: { node: "${ODD}" }
`,
    ],
  ])("has its own flows tried: %s", async (_, more) => {
    const { session, comparisons } = await openUniform(more);
    const plan = planVerification(session.cluster, undefined, { comparisons });
    expect(restingNodes(plan)).not.toContain(ODD);
    expect(restingNodes(plan).size).toBeGreaterThan(3);
  });

  it("has its own flows tried: something did not come up there", async () => {
    const { session, comparisons } = await openUniform();
    const troubles = [{ node: ODD, reference: `node/${ODD}`, text: "no", code: "cluster-assumed" as const }];
    const plan = planVerification(session.cluster, undefined, { comparisons, troubles });
    expect(restingNodes(plan)).not.toContain(ODD);
    expect(restingNodes(planVerification(session.cluster, undefined, { comparisons }))).toContain(ODD);
  });
});
