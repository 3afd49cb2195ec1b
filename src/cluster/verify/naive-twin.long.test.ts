import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { type Deviation, deviate } from "#test/support/cluster/deviations.ts";
import { NETWORKS, type NetworkName } from "#test/support/cluster/every-network.suite.ts";
import { askTwin, changedAnswers, raiseTwin, twinQuestions } from "#test/support/cluster/naive-twin.ts";
import { TWIN_STATES, compareWithTwin, twinTexts } from "#test/support/cluster/naive-twin.suite.ts";
import { forkCluster } from "../cluster.ts";

describe.each(Object.keys(NETWORKS) as NetworkName[])("the naive twin of twelve nodes on %s", (network) => {
  it.each(TWIN_STATES)("says what verify says: %s", { timeout: 300_000 }, async (state) => {
    const { compared, differences, report } = await compareWithTwin(twinTexts(network, state, 12));
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(50);
    if (state === "healthy") expect(report.counts.findings).toBe(0);
    if (state === "refused pod") expect(report.counts.findings).toBeGreaterThan(0);
  });
});

describe("deviations of one machine among six", () => {
  it("change answers now and then, and never those of the machines that were copied", {
    timeout: 600_000,
  }, async () => {
    const { cluster } = await raiseTwin(twinTexts("L2Bridge", "healthy", 6));
    const questions = twinQuestions(cluster);
    const before = askTwin(cluster, questions);
    const changed: Deviation[] = [];
    for (let seed = 0; seed < 60; seed++) {
      const copy = forkCluster(cluster);
      const deviation = deviate(copy, new Prng(seed));
      if (changedAnswers(before, askTwin(copy, questions)).length > 0) changed.push(deviation);
    }
    // Without any deviation: none of what was done to copies has come back.
    expect(changedAnswers(before, askTwin(cluster, questions))).toEqual([]);
    expect(changed.length).toBeGreaterThan(5);
    expect(new Set(changed.map(({ kind }) => kind)).size).toBeGreaterThan(2);
  });
});
