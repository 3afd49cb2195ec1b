import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example cluster-trace finds the flows that are silent, and why one is", async () => {
  const lines = await runExample("examples/two-windows-nodes/cluster.yaml");
  expect(lines[0]).toMatch(/^41 of 50 flows are answered$/);
  expect(lines).toContain("icmp pod/default/client → external: timed-out");
  expect(lines).toContain("no-answer: icmp-outbound-not-translated");
  expect(lines.at(-1)).toContain("mullion explain icmp-outbound-not-translated");
});

it("says what is wrong with a file", async () => {
  await expect(runExample("package.json")).rejects.toThrowError(/^package\.json:1:1: /);
});
