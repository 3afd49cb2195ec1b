// Whom policies of other APIs are about, in the forms in which others have written them.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Fields } from "#core/base/json.ts";
import { type SubjectPod, subjectOfFurtherPolicy } from "./further-policies.ts";

function pod(namespace: string, labels: Record<string, string>, isHostNetwork = false): SubjectPod {
  const namespaceLabels = { "kubernetes.io/metadata.name": namespace, tenant: namespace.slice(0, 3) };
  return { namespace, labels, namespaceLabels, isHostNetwork };
}

const PODS: Readonly<Record<string, SubjectPod>> = {
  "shop/web": pod("shop", { app: "web" }),
  "shop/db": pod("shop", { app: "db", role: "db" }),
  "lab/web": pod("lab", { app: "web" }),
  "lab/agent": pod("lab", { app: "agent" }, true),
};

/** Directions and the pods that are selected; undefined where that is not read. */
function read(apiVersion: string, kind: string, text: string, namespace = "") {
  const subject = subjectOfFurtherPolicy({
    apiVersion,
    kind,
    namespace,
    name: "x",
    spec: parse(text) as Fields,
  });
  if (subject === undefined) return undefined;
  const selected = Object.entries(PODS).filter(([, each]) => subject.selects(each));
  return `${subject.directions.join("+")}: ${selected.map(([name]) => name).join(" ")}`;
}

const ALPHA = "policy.networking.k8s.io/v1alpha1";
const ADMIN = [
  // No engine gives a pod of the node's network to a policy of administrators.
  ["all namespaces", "{ namespaces: {} }", "shop/web shop/db lab/web"],
  [
    "a namespace by its name",
    "{ namespaces: { matchLabels: { kubernetes.io/metadata.name: lab } } }",
    "lab/web",
  ],
  [
    "all but one",
    "{ namespaces: { matchExpressions: [{ key: tenant, operator: NotIn, values: [lab] }] } }",
    "shop/web shop/db",
  ],
  [
    "pods",
    "{ pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: web } } } }",
    "shop/web lab/web",
  ],
  ["nobody", "{ namespaces: { matchLabels: { tenant: none } } }", ""],
] as const;

describe("the Kubernetes network policy API", () => {
  it.each(ADMIN)("selects %s", (_, subject, pods) => {
    const spec = `{ priority: 10, subject: ${subject}, ingress: [{ action: Deny, from: [{ namespaces: {} }] }] }`;
    expect(read(ALPHA, "AdminNetworkPolicy", spec)).toBe(`ingress: ${pods}`);
    expect(read(ALPHA, "BaselineAdminNetworkPolicy", spec)).toBe(`ingress: ${pods}`);
    expect(read("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", spec)).toBe(`ingress: ${pods}`);
  });

  it.each([
    ["both", "{ ingress: [{}], egress: [{}] }", "ingress+egress"],
    ["an empty list says nothing", "{ ingress: [], egress: [{}] }", "egress"],
    ["none", "{}", ""],
  ])("is about the directions with rules: %s", (_, rules, directions) => {
    const spec = { ...(parse(rules) as Fields), subject: { namespaces: {} } };
    expect(read(ALPHA, "AdminNetworkPolicy", JSON.stringify(spec))).toBe(
      `${directions}: shop/web shop/db lab/web`,
    );
  });

  it.each([
    // Drafts of the API had these, and so do pages that were written after them.
    ["no subject", "{}"],
    ["a selector of namespaces in the place of the namespaces", "{ namespaceSelector: {} }"],
    ["a selector inside a selector", "{ namespaces: { namespaceSelector: {} } }"],
    ["all pods", "{ pods: {} }"],
    ["labels of one letter case", "{ namespaces: { matchlabels: { tenant: lab } } }"],
    ["two subjects", "{ namespaces: {}, pods: { namespaceSelector: {}, podSelector: {} } }"],
    ["nothing behind a name", "{ namespaces: }"],
    ["a number for a label", "{ namespaces: { matchLabels: { tenant: 5 } } }"],
    ["a list", "[a]"],
  ])("is not read, and may be about everybody: %s", (_, subject) => {
    expect(read(ALPHA, "AdminNetworkPolicy", `{ subject: ${subject}, ingress: [{}] }`)).toBeUndefined();
  });
});

describe("Calico", () => {
  it.each([
    ["no selector, no rule", "{}", "ingress: shop/web shop/db lab/web"],
    [
      "types before rules",
      "{ types: [Ingress, Egress], egress: [{ action: Allow }] }",
      "ingress+egress: shop/web shop/db lab/web",
    ],
    ["rules alone", "{ selector: role == 'db', egress: [{ action: Deny }] }", "egress: shop/db"],
    [
      "the namespace as a label of the pod",
      "selector: projectcalico.org/namespace not in { 'shop' }",
      "ingress: lab/web",
    ],
    // Every field written out, as a user interface does.
    [
      "selectors that are empty texts",
      "{ selector: '', namespaceSelector: tenant == 'lab', serviceAccountSelector: '', doNotTrack: false, preDNAT: false, applyOnForward: false, types: [Ingress, Egress] }",
      "ingress+egress: lab/web",
    ],
    ["namespaces", "{ namespaceSelector: tenant == 'lab' }", "ingress: lab/web"],
    [
      "the name of a namespace",
      "{ namespaceSelector: projectcalico.org/name == 'shop', selector: app == 'web' }",
      "ingress: shop/web",
    ],
    ["hosts of a cloud", "{ selector: ibm.role == 'worker_public', types: [Egress] }", "egress: "],
  ])("%s", (_, spec, expected) => {
    expect(read("projectcalico.org/v3", "GlobalNetworkPolicy", spec)).toBe(expected);
    expect(read("crd.projectcalico.org/v1", "GlobalNetworkPolicy", spec)).toBe(expected);
  });

  it("a NetworkPolicy is about pods of its namespace", () => {
    expect(read("projectcalico.org/v3", "NetworkPolicy", "{ selector: app == 'web' }", "lab")).toBe(
      "ingress: lab/web",
    );
  });

  it.each([
    ["what nodes forward", "GlobalNetworkPolicy", "{ applyOnForward: true, selector: has(x) }"],
    ["a service account", "GlobalNetworkPolicy", "{ serviceAccountSelector: role == 'x' }"],
    ["a selector that Calico refuses", "GlobalNetworkPolicy", "{ selector: app = 'web' }"],
    ["a selector of Kubernetes", "GlobalNetworkPolicy", "{ selector: { matchLabels: { app: web } } }"],
    ["an interface of a node", "HostEndpoint", "{ node: win-1, interfaceName: '*' }"],
  ])("is not read: %s", (_, kind, spec) => {
    expect(read("projectcalico.org/v3", kind, spec)).toBeUndefined();
  });
});

it.each([
  ["cilium.io/v2", "CiliumNetworkPolicy"],
  ["crd.antrea.io/v1beta1", "ClusterNetworkPolicy"],
  ["networking.k8s.aws/v1alpha1", "ClusterNetworkPolicy"],
  ["constructor/v1", "NetworkPolicy"],
])("of %s nothing is read", (apiVersion, kind) => {
  expect(read(apiVersion, kind, "{ subject: { namespaces: {} }, ingress: [{}] }")).toBeUndefined();
});
