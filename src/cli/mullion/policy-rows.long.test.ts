// A rule about more pods than one ACL holds, by packets (control-planes.md §7.2).
import { expect, it } from "vitest";
import { CALICO, opened, policy, policyCluster } from "#test/support/policy/policy-cluster.ts";

/** One more than two ACLs hold; the row of nine thousand is beside the engine. */
const PODS = 8_001;

function nameOf(index: number): string {
  return `c${String(index).padStart(4, "0")}`;
}

it("CP-P6: 8001 addresses of one rule are three ACLs, and each lets its own pods in", async () => {
  const many = Array.from(
    { length: PODS },
    (_, index) => `  - { name: ${nameOf(index)}, node: lin-1, labels: { app: many } }`,
  );
  const text = policyCluster(CALICO, { name: "stranger", app: "stranger" })
    .replace("network: { name: cbr0 }", "network: { name: cbr0, clusterCIDR: 10.240.0.0/12 }")
    .replace("pods:", "  - { name: lin-1, os: linux, address: 10.0.0.13, podCIDR: 10.245.0.0/17 }\npods:");
  const from = "from: [{ podSelector: { matchLabels: { app: many } } }]";
  const web = policy(`{ podSelector: { matchLabels: { app: web } }, ingress: [{ ${from} }] }`);
  const client = await opened(text + many.join("\n"), web);
  const ruleFor = async (pod: string): Promise<string> => {
    const { report } = await client.trace({
      from: `pod/${pod}`,
      to: "pod/default/web",
      protocol: "tcp",
      port: 8080,
    });
    const decided = report.forward.steps.findLast(({ layer }) => layer === "ACL_ENDPOINT_LAYER");
    return `${report.code ?? report.verdict}: ${decided?.rule?.name ?? "no rule"}`;
  };
  // The first pods of the second and third ACL.
  const asked = [4_000, 8_000].map((index) => `default/${nameOf(index)}`);
  const found: string[] = [];
  for (const pod of asked) found.push(await ruleFor(pod));
  const rule = "answered: policy-KubernetesNetworkPolicy/default/p-ingress.0";
  expect(found).toEqual([1, 2].map((chunk) => `${rule}-${chunk}`));
  expect(await ruleFor("foreign/stranger")).toMatch(/^acl-rule-blocked: /);
});
