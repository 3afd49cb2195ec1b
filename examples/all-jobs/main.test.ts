import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example all-jobs traces, verifies, lints, and has an HNS and a switch port", async () => {
  const lines = await runExample("examples/two-windows-nodes/cluster.yaml");
  expect(lines[0]).toBe("trace: answered");
  expect(lines[1]).toMatch(/^pod\/default\/client \(10\.244\.1\.4 on win-1\) → pod\/default\/api/);
  expect(lines).toContainEqual(expect.stringMatching(/^verify: \d+ cells, 0 findings$/));
  expect(lines).toContain("lint: agent.yaml:6: host-network-unsupported");
  expect(lines.slice(-2)).toEqual(["HNS: 0 networks", "engine: a port with 0 flows"]);
});

it("says what is wrong with a file", async () => {
  await expect(runExample("package.json")).rejects.toThrowError(/^package\.json/);
});
