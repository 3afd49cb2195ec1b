// Networks on which Windows pods have no second family, each with the sentence that says why (dataplane.md §2.11).
import { describe, expect, it } from "vitest";
import { parseClusterFile } from "./parse-cluster-file.ts";

const REASONS: readonly (readonly [driver: string, reason: RegExp])[] = [
  [
    "L2Tunnel",
    /the documentation of Kubernetes and of Windows names dual stack for l2bridge networks alone$/,
  ],
  ["Transparent", /only addresses that pods make themselves of what a router advertises/],
  ["Overlay", /excludes overlay networks from dual stack on Windows$/],
  ["NAT", /no IPv6 on nat networks$/],
];

/** Pods of these stand in the nodes' own subnet. */
const IN_UNDERLAY: readonly string[] = ["L2Tunnel", "Transparent"];

function problemsOf(driver: string): readonly string[] {
  const range = IN_UNDERLAY.includes(driver) ? "10.0.0.128/26" : "10.244.1.0/24";
  const file = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: two-families }
nodes: [{ name: node-1, os: windows, address: 10.0.0.11, podCIDR: ${range} }]
network: { driver: ${driver}, plugin: hns }
ipv6: { enabled: true }
`;
  const result = parseClusterFile(file, "cluster.yaml");
  const problems = "problems" in result ? result.problems : [];
  return problems.map(({ code, message, advice }) => `${code}: ${message} | ${advice}`);
}

describe("ipv6 with Windows nodes", () => {
  it.each(REASONS)("on %s is refused, and the sentence says why", (driver, reason) => {
    const [problem = "", ...others] = problemsOf(driver);
    const [message, advice] = problem.split(" | ");
    expect(message).toMatch(new RegExp(`networks of driver ${driver} carry no IPv6`, "u"));
    expect(message).toMatch(reason);
    expect(advice).toContain("mullion explain");
    expect(others).toEqual([]);
  });

  it("on L2Bridge is taken", () => {
    expect(problemsOf("L2Bridge")).toEqual([]);
  });
});
