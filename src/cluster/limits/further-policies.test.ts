// Whom policies of other APIs are about, in the forms in which others have written them.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Fields } from "#core/base/json.ts";
import { specsOfFurther } from "#control-plane/load/further-kinds.ts";
import { type SubjectPod, subjectsOfFurtherPolicy } from "./policy-subjects.ts";

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

/** Directions and the pods that are selected, part by part; undefined where that is not read. */
function readDocument(apiVersion: string, kind: string, document: Fields, namespace: string) {
  const policy = { apiVersion, kind, namespace, specs: specsOfFurther(document) };
  return subjectsOfFurtherPolicy(policy)
    ?.map((subject) => {
      const selected = Object.entries(PODS).filter(([, each]) => subject.selects(each));
      return `${subject.directions.join("+")}: ${selected.map(([name]) => name).join(" ")}`;
    })
    .join("; ");
}

function read(apiVersion: string, kind: string, spec: string, namespace = "") {
  return readDocument(apiVersion, kind, { spec: parse(spec) as Fields }, namespace);
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

const CILIUM = "cilium.io/v2";

describe("Cilium", () => {
  it.each([
    ["all of its namespace", "{ endpointSelector: {}, ingress: [{}] }", "ingress: shop/web shop/db"],
    ["by a label", "{ endpointSelector: { matchLabels: { app: web } }, egress: [{}] }", "egress: shop/web"],
    [
      "by a label with its source",
      "{ endpointSelector: { matchLabels: { 'k8s:app': db } }, ingress: [{}] }",
      "ingress: shop/db",
    ],
    [
      "by one of any source",
      "{ endpointSelector: { matchLabels: { 'any:app': db } }, ingress: [{}] }",
      "ingress: shop/db",
    ],
    [
      "a source that no pod has",
      "{ endpointSelector: { matchLabels: { 'reserved:host': '' } }, ingress: [{}] }",
      "ingress: ",
    ],
    [
      "by an expression",
      "{ endpointSelector: { matchExpressions: [{ key: role, operator: DoesNotExist }] }, ingress: [{}] }",
      "ingress: shop/web",
    ],
    [
      "another namespace, which does not count",
      "{ endpointSelector: { matchLabels: { 'k8s:io.kubernetes.pod.namespace': lab } }, ingress: [{}] }",
      "ingress: shop/web shop/db",
    ],
    [
      "rules that deny",
      "{ endpointSelector: {}, ingressDeny: [{ fromEntities: [world] }] }",
      "ingress: shop/web shop/db",
    ],
    [
      "an empty list, which says nothing",
      "{ endpointSelector: {}, ingress: [], egress: [{}] }",
      "egress: shop/web shop/db",
    ],
    [
      "what it closes without a rule",
      "{ endpointSelector: {}, egress: [{}], enableDefaultDeny: { ingress: true } }",
      "ingress+egress: shop/web shop/db",
    ],
  ])("a policy of a namespace: %s", (_, spec, expected) => {
    expect(read(CILIUM, "CiliumNetworkPolicy", spec, "shop")).toBe(expected);
  });

  it.each([
    ["everywhere", "{ endpointSelector: {}, ingress: [{}] }", "ingress: shop/web shop/db lab/web"],
    [
      "a namespace",
      "{ endpointSelector: { matchLabels: { 'k8s:io.kubernetes.pod.namespace': lab } }, egress: [{}] }",
      "egress: lab/web",
    ],
    [
      "all but a namespace",
      "{ endpointSelector: { matchExpressions: [{ key: io.kubernetes.pod.namespace, operator: NotIn, values: [lab] }] }, egress: [{}] }",
      "egress: shop/web shop/db",
    ],
    [
      "a label of the namespace",
      "{ endpointSelector: { matchLabels: { io.cilium.k8s.namespace.labels.tenant: lab } }, ingress: [{}] }",
      "ingress: lab/web",
    ],
  ])("a policy of the cluster: %s", (_, spec, expected) => {
    expect(read(CILIUM, "CiliumClusterwideNetworkPolicy", spec)).toBe(expected);
  });

  it("a list of rules is about each by itself", () => {
    const specs = parse(
      "[{ endpointSelector: { matchLabels: { app: web } }, ingress: [{}] }, { endpointSelector: { matchLabels: { app: db } }, egress: [{}] }]",
    ) as readonly Fields[];
    expect(readDocument(CILIUM, "CiliumNetworkPolicy", { specs }, "shop")).toBe(
      "ingress: shop/web; egress: shop/db",
    );
  });

  it.each([
    ["nodes", "{ nodeSelector: {}, ingress: [{}] }"],
    ["nothing", "{ ingress: [{}] }"],
    [
      "a service account",
      "{ endpointSelector: { matchLabels: { io.cilium.k8s.policy.serviceaccount: x } }, ingress: [{}] }",
    ],
    [
      "one of several clusters",
      "{ endpointSelector: { matchLabels: { 'k8s:io.cilium.k8s.policy.cluster': x } }, ingress: [{}] }",
    ],
  ])("of %s is not read", (_, spec) => {
    expect(read(CILIUM, "CiliumClusterwideNetworkPolicy", spec)).toBeUndefined();
  });
});

const ANTREA = "crd.antrea.io/v1beta1";

describe("Antrea", () => {
  it.each([
    [
      "pods of all namespaces",
      "{ appliedTo: [{ podSelector: { matchLabels: { app: web } } }], ingress: [{ action: Drop }] }",
      "ingress: shop/web lab/web",
    ],
    [
      "namespaces",
      "{ appliedTo: [{ namespaceSelector: { matchLabels: { tenant: lab } } }], egress: [{}] }",
      "egress: lab/web",
    ],
    [
      "both of one item",
      "{ appliedTo: [{ podSelector: { matchLabels: { app: web } }, namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: shop } } }], ingress: [{}] }",
      "ingress: shop/web",
    ],
    [
      "any of several items",
      "{ appliedTo: [{ podSelector: { matchLabels: { role: db } } }, { namespaceSelector: { matchLabels: { tenant: lab } } }], ingress: [{}] }",
      "ingress: shop/db lab/web",
    ],
    [
      "everybody",
      "{ appliedTo: [{ namespaceSelector: {} }], ingress: [{}], egress: [{}] }",
      "ingress+egress: shop/web shop/db lab/web",
    ],
    [
      "whom its rules name",
      "{ ingress: [{ appliedTo: [{ podSelector: { matchLabels: { app: web } } }] }, { appliedTo: [{ podSelector: { matchLabels: { app: db } } }] }] }",
      "ingress: shop/web shop/db lab/web",
    ],
    ["no rule", "{ appliedTo: [{ podSelector: {} }] }", ": shop/web shop/db lab/web"],
  ])("a policy of the cluster: %s", (_, spec, expected) => {
    expect(read(ANTREA, "ClusterNetworkPolicy", spec)).toBe(expected);
    expect(read("security.antrea.tanzu.vmware.com/v1alpha1", "ClusterNetworkPolicy", spec)).toBe(expected);
  });

  it("a policy of a namespace is about its pods", () => {
    const spec = "{ appliedTo: [{ podSelector: { matchLabels: { app: web } } }], ingress: [{}] }";
    expect(read(ANTREA, "NetworkPolicy", spec, "lab")).toBe("ingress: lab/web");
  });

  it.each([
    ["a group", "{ appliedTo: [{ group: web }], ingress: [{}] }"],
    ["nodes", "{ appliedTo: [{ nodeSelector: {} }], ingress: [{}] }"],
    ["a Service", "{ appliedTo: [{ service: { name: a, namespace: b } }], ingress: [{}] }"],
    ["pods, and a group beside them", "{ appliedTo: [{ podSelector: {} }, { group: web }], ingress: [{}] }"],
    ["nobody", "{ ingress: [{}] }"],
    ["an empty item", "{ appliedTo: [{}], ingress: [{}] }"],
  ])("of %s is not read", (_, spec) => {
    expect(read(ANTREA, "ClusterNetworkPolicy", spec)).toBeUndefined();
  });
});

const ISTIO = "security.istio.io/v1";

describe("Istio", () => {
  it.each([
    ["all of its namespace", "AuthorizationPolicy", "shop", "{}", "ingress: shop/web shop/db"],
    [
      "workloads",
      "AuthorizationPolicy",
      "shop",
      "{ selector: { matchLabels: { app: web } }, action: DENY, rules: [{}] }",
      "ingress: shop/web",
    ],
    [
      "all of them, in the root namespace",
      "AuthorizationPolicy",
      "istio-system",
      "{ selector: { matchLabels: { app: web } } }",
      "ingress: shop/web lab/web",
    ],
    [
      "what is looked at alone",
      "AuthorizationPolicy",
      "shop",
      "{ action: AUDIT, rules: [{}] }",
      ": shop/web shop/db",
    ],
    [
      "the whole mesh",
      "PeerAuthentication",
      "istio-system",
      "{ mtls: { mode: STRICT } }",
      "ingress: shop/web shop/db lab/web",
    ],
    [
      "workloads of the root namespace, which Istio ignores",
      "PeerAuthentication",
      "istio-system",
      "{ selector: { matchLabels: { app: web } }, mtls: { mode: STRICT } }",
      ": shop/web lab/web",
    ],
  ])("%s", (_, kind, namespace, spec, expected) => {
    expect(read(ISTIO, kind, spec, namespace)).toBe(expected);
  });

  it.each([
    ["a gateway", "{ targetRefs: [{ kind: Gateway, group: gateway.networking.k8s.io, name: x }] }"],
    [
      "an expression, which it does not have",
      "{ selector: { matchExpressions: [{ key: app, operator: Exists }] } }",
    ],
  ])("of %s is not read", (_, spec) => {
    expect(read(ISTIO, "AuthorizationPolicy", spec, "shop")).toBeUndefined();
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
