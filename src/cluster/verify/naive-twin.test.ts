import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { deviate } from "#test/support/cluster/deviations.ts";
import { askTwin, changedAnswers, raiseTwin, twinQuestions } from "#test/support/cluster/naive-twin.ts";
import { compareWithTwin, twinTexts } from "#test/support/cluster/naive-twin.suite.ts";
import { forkCluster } from "../cluster.ts";

/** What the twin and the deviations may use: what raises a cluster at once, what sends, and values. */
const ALLOWED = [
  "../dataplane/name-probe.ts",
  "#cluster/cluster.ts",
  "#cluster/input/read-input.ts",
  "#cluster/machines/raise-machines.ts",
  "#cluster/session/running-cluster.ts",
  "#cluster/session/session.ts",
  "#core/base/prng.ts",
  "#core/net/ip.ts",
  "#dataplane/host/compartment.ts",
  "#dataplane/host/probes/dns-probe.ts",
  "#dataplane/host/probes/probe.ts",
  "#dataplane/host/services/identification-server.ts",
  "#dataplane/vfp/flows/flow-table.ts",
  "#dataplane/vfp/flows/unified-flow-table.ts",
  "#dataplane/vfp/flows/unified-flow.ts",
];

describe("the naive twin", () => {
  it("uses nothing that raises late, shares, sorts into classes or splits", () => {
    const texts = ["naive-twin.ts", "deviations.ts"].map((name) =>
      readFileSync(`test/support/cluster/${name}`, "utf8"),
    );
    const imported = texts.flatMap((text) =>
      Array.from(text.matchAll(/from "([^"]+)";/g), ([, name]) => name),
    );
    expect(new Set(imported)).toEqual(new Set(ALLOWED));
    expect(texts.join("")).not.toMatch(/\bimport\(/);
  });

  // A slice of the long run.
  it("says what verify says of a node that refuses a pod", async () => {
    const { compared, differences, report } = await compareWithTwin(twinTexts("L2Bridge", "refused pod", 2));
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(15);
    expect(report.findings.map(({ code }) => code)).toEqual(["pod-sandbox-failed"]);
  });
});

describe("a deviation of one machine", () => {
  it("is the same for the same numbers, and leaves the cluster that was copied as it was", async () => {
    const { cluster } = await raiseTwin(twinTexts("Overlay", "healthy", 2));
    const [first] = twinQuestions(cluster);
    const questions = twinQuestions(cluster).filter(
      ({ sender }) => sender.reference === first?.sender.reference,
    );
    const before = askTwin(cluster, questions);
    const seeds = Array.from({ length: 6 }, (_, seed) => seed);
    const drawn = seeds.map((seed) => deviate(forkCluster(cluster), new Prng(seed)));
    expect(seeds.slice(0, 3).map((seed) => deviate(forkCluster(cluster), new Prng(seed)))).toEqual(
      drawn.slice(0, 3),
    );
    expect(new Set(drawn.map(({ kind }) => kind)).size).toBeGreaterThan(2);
    expect(changedAnswers(before, askTwin(cluster, questions))).toEqual([]);
  });
});
