import { describe, expect, it } from "vitest";
import { compareWithTried, openUniform, shardsOf } from "#test/support/cluster/resting-cells.suite.ts";
import { COMPARED_MAX } from "../classes/node-classes.ts";
import { reportOf } from "./shard.ts";

describe("flows between equal nodes", () => {
  it.each([
    [40, 3, 2],
    [70, 4, 1],
  ])(
    "come out as they do when all are tried: %d nodes with %d pods, %d Services",
    async (nodes, podsPerNode, services) => {
      const { session, comparisons } = await openUniform("", { nodes, podsPerNode, services }, COMPARED_MAX);
      expect(comparisons.chosen.length).toBeGreaterThanOrEqual(COMPARED_MAX);
      const { differences, takenOver, compared } = await compareWithTried(session, comparisons);
      expect(differences).toEqual([]);
      expect(Math.min(takenOver, compared)).toBeGreaterThan(nodes / 4);
      const whole = reportOf(await shardsOf(session, comparisons, 1));
      expect(whole.findings).toEqual([]);
      expect(reportOf(await shardsOf(session, comparisons, 4))).toEqual(whole);
    },
  );
});
