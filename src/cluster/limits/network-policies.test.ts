// What is said of NetworkPolicies when the cluster has come to rest, and what it costs to find out.
import { expect, it } from "vitest";
import type { NetworkPolicy, Pod } from "#contracts/kubernetes/objects.ts";
import { networkPolicyNotes } from "./network-policies.ts";

const COUNT = 300;
const NOWHERE = { file: "p.yaml", line: 1, column: 1, field: "" };

/** Pods whose labels count how often they are looked at. */
function countedPods(): { readonly pods: readonly Pod[]; readonly looks: () => number } {
  let looks = 0;
  const counted = (labels: Record<string, string>): Record<string, string> =>
    new Proxy(labels, {
      getOwnPropertyDescriptor: (target, key) => {
        looks++;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
  const pods = Array.from({ length: COUNT }, (_, index) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `p${index}`, namespace: "default", labels: counted({ app: `a${index}`, tier: "web" }) },
  }));
  return { pods: pods as unknown as readonly Pod[], looks: () => looks };
}

function policyOf(name: string, podSelector: object): NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace: "default" },
    spec: { podSelector, policyTypes: ["Ingress"] },
  } as unknown as NetworkPolicy;
}

function notesOf(pods: readonly Pod[], policies: readonly NetworkPolicy[]): readonly string[] {
  const objects = { Pod: pods, NetworkPolicy: policies } as Parameters<
    typeof networkPolicyNotes
  >[0]["objects"];
  return networkPolicyNotes({ objects }, () => NOWHERE).map(({ message }) => message);
}

it("a policy costs the pods that have its label, not all pods", () => {
  const { pods, looks } = countedPods();
  const policies = Array.from({ length: COUNT }, (_, index) =>
    policyOf(`n${index}`, { matchLabels: { app: `a${index}` } }),
  );
  expect(notesOf(pods, policies)).toHaveLength(COUNT);
  // Each pod's two labels once, and once more for the policy that selects it.
  expect(looks()).toBeLessThanOrEqual(4 * COUNT);
});

it.each<[string, object, number]>([
  ["one label", { matchLabels: { app: "a7" } }, 1],
  ["a label that all have, and one that one has", { matchLabels: { tier: "web", app: "a7" } }, 1],
  ["two labels that no pod has together", { matchLabels: { app: "a7", tier: "db" } }, 0],
  ["a value that no pod has", { matchLabels: { app: "none" } }, 0],
  ["a name that objects have of themselves", { matchLabels: { constructor: "x" } }, 0],
  ["an empty selector", {}, COUNT],
  ["no label", { matchLabels: {} }, COUNT],
  ["expressions alone", { matchExpressions: [{ key: "app", operator: "In", values: ["a1", "a2"] }] }, 2],
  [
    "a label and an expression",
    {
      matchLabels: { tier: "web" },
      matchExpressions: [{ key: "app", operator: "NotIn", values: ["a1"] }],
    },
    COUNT - 1,
  ],
])("%s selects as its specification says", (_, selector, count) => {
  const notes = notesOf(countedPods().pods, [policyOf("n", selector)]);
  const said = `NetworkPolicy default/n is stored and not enforced: it selects ${count} pod${count === 1 ? "" : "s"}, for ingress`;
  expect(notes).toEqual(count === 0 ? [] : [said]);
});
