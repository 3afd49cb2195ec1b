import { expect, it } from "vitest";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { EXPECTATION_ROWS } from "#core/catalogue/expectation-table.ts";
import { LINT_RULES } from "./all-rules.ts";

/** What verify can deny and lint does not say, each with the reason. */
const WITHOUT_RULE: Readonly<Partial<Record<KnowledgeCode, string>>> = {
  "destination-not-local":
    "With preserve-destination the pod has to own the Service's address, which is set inside the container.",
  "fabric-acl-denied":
    "A rule that the user wrote for the fabric is meant to deny; lint does not call it a fault.",
  "hns-nat-denies-outbound":
    "A defect that a cluster file switches on by name, with behaviour that no file of a user shows.",
  "mac-spoofing-refused":
    "The setting of the hypervisor's port stands in no manifest; its cluster file says it on purpose.",
  "no-route": "Which routes nodes and the fabric have is seen when the cluster runs, not in manifests.",
  "no-route-back": "Which routes the receiver has is seen when the cluster runs, not in manifests.",
  "node-port-from-node-unsupported":
    "It is the node's own connection, which no file asks for; other nodes reach the port.",
  "node-port-without-pods-on-node": "Where the scheduler puts pods is seen when the cluster runs.",
  "outbound-nat-exception":
    "It needs to be known that the host outside has no way back; lint checks the list itself.",
  "outbound-nat-on-answers": "It depends on who asks whom; lint checks the list of exceptions itself.",
  "pod-networks-isolated": "Two virtual networks are apart because the user wants them to be.",
  "port-not-listening": "On OVN it is the node's own NodePort, which no file asks for; other nodes reach it.",
  "service-back-end-in-other-network": "Which network kube-proxy serves is seen when the nodes run.",
  "service-without-usable-endpoints":
    "With preserve-destination a node passes on to its own pods; where those are is seen when the cluster runs.",
  "service-without-endpoints": "The same Service as of service-without-back-ends, seen from a Linux node.",
};

const RULES: ReadonlySet<string> = new Set(LINT_RULES.map(({ code }) => code));
const DENIED = [
  ...new Set(
    EXPECTATION_ROWS.flatMap(({ expected }) => (expected.outcome === "denied" ? [expected.code] : [])),
  ),
].toSorted();

it("what verify can deny has a rule of lint, or a reason why lint cannot know it", () => {
  expect(DENIED.length).toBeGreaterThan(20);
  expect(DENIED.filter((code) => !RULES.has(code))).toEqual(Object.keys(WITHOUT_RULE).toSorted());
  for (const reason of Object.values(WITHOUT_RULE)) expect(reason).toMatch(/^.{30,}\.$/);
});
