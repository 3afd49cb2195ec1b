// Objects that the input has and the cluster does not, each kind planted alone: exit code, first lines, JSON, JUnit.
import { describe, expect, it } from "vitest";
import { readInput } from "#cluster/input/read-input.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
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
  ])("could change a flow: %s %s", (apiVersion, kind) => {
    expect(codesOf(object(apiVersion, kind))).toContain("manifest-kind-not-carried-out");
  });

  it.each([
    ["projectcalico.org/v3", "GlobalNetworkPolicy"],
    ["crd.projectcalico.org/v1", "NetworkPolicy"],
    ["cilium.io/v2", "CiliumNetworkPolicy"],
    ["crd.antrea.io/v1beta1", "ClusterNetworkPolicy"],
    ["policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy"],
    ["vpcresources.k8s.aws/v1beta1", "SecurityGroupPolicy"],
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
    ["constructor/v1", "constructor"],
  ])("cannot change a flow: %s %s", (apiVersion, kind) => {
    expect(codesOf(object(apiVersion, kind))).toEqual(["manifest-kind-unknown"]);
  });
});

describe("verify", () => {
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
    // As IBM Cloud shuts out what other policies let through.
    const text = object("projectcalico.org/v3", "GlobalNetworkPolicy");
    const { code, out } = await run(text, "verify", "-o", "json");
    expect(code).toBe(1);
    const { cells, findings, basis } = JSON.parse(out) as VerifyReport;
    expect(cells.filter(({ verdict }) => verdict === "as-expected" || verdict === "finding")).toEqual([]);
    expect(findings).toMatchObject([{ about: "x.yaml:1:1", code: "policy-kind-not-enforced", limit: 0 }]);
    expect(basis.refused).toEqual([]);
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
