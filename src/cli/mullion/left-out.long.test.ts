// Objects that the input has and the cluster does not, each kind planted alone: exit code, first lines, JSON, JUnit.
import { describe, expect, it } from "vitest";
import { readInput } from "#cluster/input/read-input.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
dns: { enabled: false }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
pods:
  - { name: web, node: win-1 }
  - { name: client, namespace: other, node: win-1 }
`;

async function run(text: string, ...words: readonly string[]) {
  const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "x.yaml": text });
  const [verb = "", ...rest] = words;
  const argv = [verb, "-f", "c.yaml", "-f", "x.yaml", ...rest];
  const code = await runMullion({ argv, verbs: { verify, trace }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

function object(apiVersion: string, kind: string, more = ""): string {
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: x${more} }\nspec: {}\n`;
}

function codesOf(text: string): readonly string[] {
  const read = readInput([
    { name: "x.yaml", text },
    { name: "c.yaml", text: CLUSTER },
  ]);
  if (!("input" in read)) throw new Error("the cluster file is good");
  return [...read.input.problems, ...read.input.notes].map(({ code }) => code);
}

describe("a kind that is passed by", () => {
  it.each([
    ["networking.k8s.io/v1", "Ingress"],
    ["extensions/v1beta1", "Ingress"],
    ["gateway.networking.k8s.io/v1", "Gateway"],
    ["gateway.networking.k8s.io/v1beta1", "HTTPRoute"],
    ["crd.projectcalico.org/v1", "IPPool"],
    ["k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition"],
    ["crd.k8s.amazonaws.com/v1alpha1", "ENIConfig"],
    ["cilium.io/v2", "CiliumLocalRedirectPolicy"],
    ["networking.istio.io/v1", "EnvoyFilter"],
    ["policy.linkerd.io/v1beta3", "Server"],
    ["multicluster.x-k8s.io/v1alpha1", "ServiceImport"],
    ["traefik.io/v1alpha1", "IngressRoute"],
    ["argoproj.io/v1alpha1", "Rollout"],
    ["helm.toolkit.fluxcd.io/v2", "HelmRelease"],
    ["serving.knative.dev/v1", "Service"],
  ])("could change a flow: %s %s", (apiVersion, kind) => {
    expect(codesOf(object(apiVersion, kind))).toContain("manifest-kind-not-carried-out");
  });

  it.each([
    ["projectcalico.org/v3", "GlobalNetworkPolicy"],
    ["crd.projectcalico.org/v1", "NetworkPolicy"],
    ["cilium.io/v2", "CiliumNetworkPolicy"],
    ["crd.antrea.io/v1beta1", "ClusterNetworkPolicy"],
    ["policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy"],
    // Its list has the field Items, with which Go's JSON does and kubectl does not take it apart.
    ["policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicyList"],
    ["networking.k8s.aws/v1alpha1", "ApplicationNetworkPolicy"],
    ["vpcresources.k8s.aws/v1beta1", "SecurityGroupPolicy"],
    ["networking.gke.io/v1alpha1", "FQDNNetworkPolicy"],
    ["network.openshift.io/v1", "EgressNetworkPolicy"],
  ])("is a policy: %s %s", (apiVersion, kind) => {
    expect(codesOf(object(apiVersion, kind))).toEqual(["policy-kind-not-enforced"]);
  });

  it.each([
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
    ["networking.k8s.io/v1", "IngressClass"],
    ["policy/v1", "PodDisruptionBudget"],
    ["v1", "Secret"],
    ["rbac.authorization.k8s.io/v1", "ClusterRole"],
    ["cert-manager.io/v1", "Certificate"],
    ["monitoring.coreos.com/v1", "ServiceMonitor"],
    ["projectcalico.org/v3", "StagedNetworkPolicy"],
  ])("cannot change a flow: %s %s", (apiVersion, kind) => {
    expect(codesOf(object(apiVersion, kind))).toEqual(["manifest-kind-unused"]);
  });

  it.each([
    ["example.com/v1", "Widget"],
    ["projectcalico.org/v3", "NewKind"],
    ["constructor/v1", "constructor"],
  ])("is of an API that nobody here knows: %s %s", (apiVersion, kind) => {
    expect(codesOf(object(apiVersion, kind))).toEqual(["manifest-kind-unknown"]);
  });
});

describe("verify", () => {
  it("says what it takes kinds to be that nobody here knows", async () => {
    const { code, out } = await run(object("example.com/v1", "Widget"), "verify");
    expect(code).toBe(0);
    expect(out).toContain(
      "  assumed   x.yaml:2:1: kind: of these kinds nothing is known here, and they are taken to",
    );
    expect(out).toContain("Widget (example.com/v1) [manifest-kind-unknown]");
  });

  it("finds an Ingress that is left out, and judges the flows as they are without it", async () => {
    const text = object("networking.k8s.io/v1", "Ingress");
    const table = await run(text, "verify");
    expect(table.code).toBe(1);
    const lines = table.out.split("\n");
    expect(lines.slice(0, 3)).toEqual(["Cluster shop, compat upstream", "", "What this rests on"]);
    expect(lines).toContain(
      "  left out  x.yaml:2:1: kind: objects of kind Ingress (networking.k8s.io/v1) could change a flow,",
    );
    expect(table.out).toMatch(/\n1 finding about the input\.\n$/);
    const junit = await run(text, "verify", "-o", "junit");
    expect(junit.out).toContain('<testsuite name="input" tests="1" failures="1" skipped="0">');
    const allowed = await run(text, "verify", "-o", "json", "--allow", "manifest-kind-not-carried-out");
    expect(allowed.code).toBe(0);
    expect((JSON.parse(allowed.out) as VerifyReport).findings).toMatchObject([
      { about: "x.yaml:2:1", code: "manifest-kind-not-carried-out", allowed: true },
    ]);
  });

  it("judges no flow when a policy of Calico is about the whole cluster", async () => {
    // As IBM Cloud shuts out what other policies let through: it is about what nodes forward, too.
    const text = object("projectcalico.org/v3", "GlobalNetworkPolicy").replace(
      "spec: {}",
      "spec: { applyOnForward: true, selector: ibm.role == 'worker_public', types: [Ingress] }",
    );
    const { code, out } = await run(text, "verify", "-o", "json");
    expect(code).toBe(1);
    const { cells, findings, basis } = JSON.parse(out) as VerifyReport;
    expect(cells.filter(({ verdict }) => verdict === "as-expected" || verdict === "finding")).toEqual([]);
    expect(findings).toMatchObject([{ about: "x.yaml:1:1", code: "policy-kind-not-enforced", limit: 0 }]);
    expect(basis.refused).toEqual([]);
  });

  it.each([
    [
      "projectcalico.org/v3",
      "GlobalNetworkPolicy",
      "{ namespaceSelector: projectcalico.org/name == 'other' }",
    ],
    [
      "crd.projectcalico.org/v1",
      "GlobalNetworkPolicy",
      "{ selector: projectcalico.org/namespace != 'default' }",
    ],
    [
      "policy.networking.k8s.io/v1alpha1",
      "BaselineAdminNetworkPolicy",
      "{ subject: { namespaces: { matchLabels: { kubernetes.io/metadata.name: other } } }, ingress: [{ action: Deny, from: [{ namespaces: {} }] }] }",
    ],
    [
      "policy.networking.k8s.io/v1alpha2",
      "ClusterNetworkPolicy",
      "{ tier: Admin, priority: 1, subject: { pods: { namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: other } }, podSelector: {} } }, ingress: [{ action: Deny, from: [{ namespaces: {} }] }] }",
    ],
  ])("judges flows of pods that a policy does not select: %s %s", async (apiVersion, kind, spec) => {
    const text = object(apiVersion, kind).replace("spec: {}", `spec: ${spec}`);
    const { cells, findings } = JSON.parse((await run(text, "verify", "-o", "json")).out) as VerifyReport;
    const verdicts = (from: string, to: string): readonly string[] => [
      ...new Set(
        cells
          .filter((cell) => cell.from === from && cell.to === to && cell.protocol === "tcp")
          .filter(({ verdict }) => verdict !== "not-tried")
          .map(({ verdict }) => verdict),
      ),
    ];
    expect(verdicts("pod/default/web", "pod/other/client")).toEqual(["not-judged"]);
    expect(verdicts("pod/other/client", "pod/default/web")).toEqual(["as-expected"]);
    expect(findings).toMatchObject([{ about: "x.yaml:1:1", code: "policy-kind-not-enforced", limit: 0 }]);
    const walk = await run(text, "trace", "pod/web", "pod/other/client", "-o", "json");
    const [reason] = (JSON.parse(walk.out) as TraceReport).notJudged ?? [];
    expect(reason?.message).toBe(
      `${kind} x selects pod/other/client for ingress; policies of other APIs are left out and not enforced`,
    );
    const back = await run(text, "trace", "pod/other/client", "pod/web", "-o", "json");
    expect(JSON.parse(back.out)).not.toHaveProperty("notJudged");
  });

  it("is green, with a note, when a policy selects no pod", async () => {
    // As the houses of the conformance tests of the network policy API, which are in no other cluster.
    const text = object("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy").replace(
      "spec: {}",
      "spec: { subject: { namespaces: { matchLabels: { house: x } } }, egress: [{ action: Deny, to: [{ networks: [0.0.0.0/0] }] }] }",
    );
    const { code, out } = await run(text, "verify", "-o", "json");
    expect(code).toBe(0);
    expect((JSON.parse(out) as VerifyReport).basis.notes.map((note) => note.code)).toContain(
      "policy-kind-not-enforced",
    );
  });

  it("knows each of more policies than it lists", async () => {
    const one = (name: string): string =>
      object("projectcalico.org/v3", "NetworkPolicy", ", namespace: other").replace(
        "name: x",
        `name: ${name}`,
      );
    const nobody = Array.from({ length: 1_000 }, (_, index) =>
      one(`n${index}`).replace("spec: {}", "spec: { selector: app == 'none' }"),
    );
    const text = [...nobody, one("last")].join("---\n");
    const { out } = await run(text, "trace", "pod/web", "pod/other/client", "-o", "json");
    expect((JSON.parse(out) as TraceReport).notJudged?.map(({ message }) => message)).toEqual([
      "NetworkPolicy other/last selects pod/other/client for ingress; policies of other APIs are left out and not enforced",
    ]);
  });

  it("judges flows outside of the namespace of a policy of Cilium", async () => {
    const text = object("cilium.io/v2", "CiliumNetworkPolicy", ", namespace: other");
    const report = JSON.parse((await run(text, "verify", "-o", "json")).out) as VerifyReport;
    const nodeToWeb = report.cells.filter(
      ({ flow, to }) => flow === "node-to-pod" && to === "pod/default/web",
    );
    expect(nodeToWeb.map(({ verdict }) => verdict)).toEqual(["as-expected", "as-expected", "as-expected"]);
    const toOther = report.cells.filter(
      ({ to, verdict }) => to === "pod/other/client" && verdict !== "not-tried",
    );
    expect([...new Set(toOther.map(({ verdict }) => verdict))]).toEqual(["not-judged"]);
    const walk = await run(text, "trace", "pod/web", "pod/other/client", "--protocol", "icmp", "-o", "json");
    expect(walk.code).toBe(0);
    expect((JSON.parse(walk.out) as TraceReport).notJudged).toMatchObject([
      {
        code: "policy-kind-not-enforced",
        message: expect.stringContaining("CiliumNetworkPolicy other/x") as string,
      },
    ]);
  });

  it("finds pods that the input shows running on a node that it does not describe", async () => {
    const pod = (status: string): string =>
      `apiVersion: v1\nkind: Pod\nmetadata: { name: far, uid: 5f0c1a52-7d0e-4a0e-9a4e-0d9a5a3e7c11 }\n` +
      `spec: { nodeName: win-9, containers: [{ name: c, image: c }] }\nstatus: ${status}\n`;
    const running = await run(pod("{ phase: Running, podIP: 10.244.9.3 }"), "verify", "-o", "json");
    expect(running.code).toBe(1);
    expect((JSON.parse(running.out) as VerifyReport).findings).toMatchObject([
      {
        about: "node/win-9",
        code: "node-without-machine",
        observed:
          "node win-9 is not described: 1 pod that the input shows running has no network here: default/far",
      },
    ]);
    // What waits for a node, or has ended there, is as it would be.
    for (const status of ["{ phase: Pending }", "{ phase: Succeeded, podIP: 10.244.9.3 }"]) {
      const waiting = await run(pod(status), "verify");
      expect(waiting.code).toBe(0);
      expect(waiting.out).toContain("  note      x.yaml:1:1: node win-9 is not described");
    }
  });

  it("finds a Node that has no machine", async () => {
    const { code, out } = await run(object("v1", "Node").replace("name: x", "name: win-2"), "verify");
    expect(code).toBe(1);
    expect(out).toMatch(/\n {2}input: node\/win-2\n(?:.*\n)*\n*1 finding about the input\.\n$/);
  });
});

describe("lint and verify of a policy of another API", () => {
  async function lintOf(text: string, ...flags: readonly string[]): Promise<string> {
    const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "x.yaml": text });
    const argv = ["lint", "c.yaml", "x.yaml", ...flags];
    await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
    return terminal.output;
  }

  it.each([
    [
      "AdminNetworkPolicy",
      "policy.networking.k8s.io/v1alpha1",
      "{ subject: { namespaces: {} }, egress: [{}] }",
      "selects 2 pods on Windows for egress",
    ],
    [
      "BaselineAdminNetworkPolicy",
      "policy.networking.k8s.io/v1alpha1",
      "{ subject: { namespaces: { matchLabels: { kubernetes.io/metadata.name: other } } }, ingress: [{}], egress: [{}] }",
      "selects 1 pod on Windows for ingress and egress",
    ],
    [
      "ClusterNetworkPolicy",
      "policy.networking.k8s.io/v1alpha2",
      "{ subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: none } } } }, egress: [{}] }",
      undefined,
    ],
    [
      "ClusterNetworkPolicy",
      "policy.networking.k8s.io/v1alpha2",
      "{ subject: { namespaces: {} } }",
      undefined,
    ],
    [
      "GlobalNetworkPolicy",
      "projectcalico.org/v3",
      "{ selector: all() }",
      "selects 2 pods on Windows for ingress",
    ],
    [
      "GlobalNetworkPolicy",
      "crd.projectcalico.org/v1",
      "{ selector: projectcalico.org/namespace == 'other' }",
      "selects 1 pod on Windows for ingress",
    ],
    [
      "GlobalNetworkPolicy",
      "projectcalico.org/v3",
      "{ applyOnForward: true }",
      "may be about 2 pods on Windows",
    ],
    [
      "NetworkPolicy",
      "projectcalico.org/v3",
      "{ egress: [{ action: Deny }] }",
      "selects 1 pod on Windows for egress",
    ],
    ["NetworkPolicy", "crd.projectcalico.org/v1", "{ selector: has(quarantine) }", undefined],
    // Without a section of rules it denies nothing.
    ["CiliumNetworkPolicy", "cilium.io/v2", "{ endpointSelector: {} }", undefined],
    [
      "CiliumNetworkPolicy",
      "cilium.io/v2",
      "{ endpointSelector: {}, ingress: [{}] }",
      "selects 1 pod on Windows for ingress",
    ],
    ["IPPool", "crd.projectcalico.org/v1", "{ cidr: 10.9.0.0/16 }", undefined],
  ])("%s of %s: %s", async (kind, apiVersion, spec, said) => {
    const text = object(apiVersion, kind).replace("spec: {}", `spec: ${spec}`);
    const out = (await lintOf(text, "-o", "json")).replaceAll(/\s+/g, " ");
    if (said === undefined) expect(out).not.toContain("policy-kind-not-enforced");
    else
      expect(out).toContain(`this policy ${said}, and engines here read NetworkPolicies of Kubernetes alone`);
    const { out: report } = await run(text, "verify", "-o", "json");
    const { findings } = JSON.parse(report) as VerifyReport;
    expect(findings.some(({ code }) => code === "policy-kind-not-enforced")).toBe(said !== undefined);
  });

  it.each([
    ["policy: antrea", "the pipeline of Antrea is missing here", "or write policy: calico"],
    ["policy: Antrea", "the pipeline of Antrea is missing here", "or write policy: calico"],
    [
      "policy: ovn-kubernetes",
      "the ACLs of OVN-Kubernetes come with network.plugin: ovn-kubernetes",
      "Leave policy out",
    ],
    ["policy: cilium", "Cilium has no part for Windows", "Write policy: none"],
    [
      "network: { plugin: antrea }",
      "the pipeline of Antrea is missing here",
      "Write plugin: hns and driver: Transparent",
    ],
    ["policy: azure", '"azure" is not possible here', "Write one of: calico, azure-npm, none."],
  ])("%s says what is missing, and what to write", async (field, message, advice) => {
    const terminal = new MemoryTerminal({ "c.yaml": `${CLUSTER}${field}\n` });
    const options = { verbs: { verify, lint }, terminal, version: "0", isDebug: false };
    expect(await runMullion({ argv: ["verify", "-f", "c.yaml"], ...options })).toBe(2);
    expect(terminal.errors.replaceAll(/\s+/g, " ")).toContain(message);
    expect(terminal.errors.replaceAll(/\s+/g, " ")).toContain(advice);
    expect(await runMullion({ argv: ["lint", "c.yaml"], ...options })).toBe(1);
    expect(terminal.output.replaceAll(/\s+/g, " ")).toContain(message);
  });
});
