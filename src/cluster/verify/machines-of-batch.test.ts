// A batch raises and copies the machines that its cells touch, and says the same as in a whole copy.
import { expect, it } from "vitest";
import { inputOf } from "#test/support/cluster/late-machines.suite.ts";
import { checkBatches, openPlanned, resultOf } from "#test/support/cluster/touched-machines.suite.ts";
import { machinesOf } from "./machines-of-batch.ts";

it("batches say the same in copies that hold their own machines as in whole copies", async () => {
  await checkBatches(inputOf({}));
  expect.hasAssertions();
});

it("a batch raises its own machines, and no other", async () => {
  const { session, plan } = await openPlanned(inputOf({}), "when asked");
  const positions = [...plan.cells.keys()].filter((position) => {
    const { source, target } = plan.cells[position] ?? {};
    return (
      source?.kind === "pod" && source.node.name === "win-2" && target?.reference === "pod/default/other"
    );
  });
  expect(positions).not.toEqual([]);
  const own = { session, plan: { ...plan, batches: [{ positions, attempts: 1 }] } };
  expect([...machinesOf(own.plan, 0)]).toEqual(["win-2", "linux-1"]);
  await resultOf(own, 0);
  const programmed = session.cluster.nodes.filter(({ hns }) => (hns?.countOf("LoadBalancer") ?? 0) > 0);
  // win-1 works at the start, for all of its kind.
  expect(programmed.map(({ spec }) => spec.name)).toEqual(["win-1", "win-2"]);
});
