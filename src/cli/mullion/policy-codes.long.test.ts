// What lint and verify say of a policy that Windows holds otherwise than it is written, and that a packet meets the same.
import { describe, expect, it } from "vitest";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { exec } from "./exec.ts";
import { explain } from "./explain/explain.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

function cluster(engine = "policy: calico, policyNetwork: cbr0"): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: codes }
dns: { enabled: false }
${engine.replace(", ", "\n")}
network: { serviceCIDR: 10.96.0.0/16 ${engine.includes("npm") ? ", plugin: azure-vnet, name: azure, shape: own-subnet" : ""} }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: lin-1, os: linux, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
pods:
  - { name: web, node: win-1, labels: { app: web }, ports: [{ port: 8080 }] }
  - { name: client, node: win-1, labels: { app: client } }
  - { name: penguin, node: lin-1, labels: { app: penguin } }
`;
}

const SERVICE = `---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { clusterIP: 10.96.0.20, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`;

function policy(pods: string, rules: string): string {
  return `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: p }
spec: { podSelector: { matchLabels: { app: ${pods} } }, ${rules} }
`;
}

async function run(text: string, ...words: readonly string[]) {
  return runOn(cluster(), text, ...words);
}

async function runOn(file: string, text: string, ...words: readonly string[]) {
  const terminal = new MemoryTerminal({ "c.yaml": file, "p.yaml": text });
  const [verb = "", ...rest] = words;
  const files = verb === "lint" ? ["c.yaml", "p.yaml"] : ["-f", "c.yaml", "-f", "p.yaml"];
  const argv = [verb, ...(verb === "explain" ? [] : files), ...rest];
  const verbs = { exec, explain, lint, trace, verify };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

/** `line:column` of the findings of a code. */
async function foundBy(code: string, text: string): Promise<readonly string[]> {
  const { out } = await run(text, "lint", "-o", "json");
  const { findings } = JSON.parse(out) as {
    findings: readonly { code: string; file: string; line: number; column: number }[];
  };
  return findings
    .filter((each) => each.code === code)
    .map(({ file, line, column }) => `${file}:${line}:${column}`);
}

describe("lint: network-policy-wide-port-range", () => {
  const ports = (range: string, direction = "ingress"): string => `${direction}: [{ ports: [{ ${range} }] }]`;

  it.each([
    ["all ports that nobody needs a right for", "port: 1024, endPort: 65535"],
    ["1 001 ports", "port: 2000, endPort: 3000"],
    ["for UDP", "protocol: UDP, port: 30000, endPort: 32767"],
  ])("finds %s", async (_, range) => {
    for (const direction of ["ingress", "egress"]) {
      const text = policy("web", ports(range, direction));
      const [, line = ""] = /([^\n]*endPort)/.exec(text) ?? [];
      expect(await foundBy("network-policy-wide-port-range", text)).toEqual([
        `p.yaml:4:${line.length - "endPort".length + 1}`,
      ]);
    }
  });

  it.each([
    ["1 000 ports", "web", "port: 2000, endPort: 2999"],
    ["one port", "web", "port: 443"],
    ["every port", "web", "protocol: TCP"],
    ["a range that ends before it begins", "web", "port: 3000, endPort: 80"],
    ["a name", "web", "port: http, endPort: 65535"],
    ["pods on Linux", "penguin", "port: 1024, endPort: 65535"],
  ])("says nothing of %s", async (_, pods, range) => {
    expect(await foundBy("network-policy-wide-port-range", policy(pods, ports(range)))).toEqual([]);
  });

  it("Azure NPM writes each port, and Calico the range, into an ACL of the pod", async () => {
    const text = policy("web", ports("protocol: TCP, port: 2000, endPort: 3000"));
    const command = ["exec", "node/win-1", "--", "powershell", "Get-HnsEndpoint | ConvertTo-Json -Depth 10"];
    const npm = (await runOn(cluster("policy: azure-npm"), text, ...command)).out;
    expect(/"LocalPorts": *"([\d,]+)"/.exec(npm)?.[1]?.split(",")).toHaveLength(1_001);
    expect((await run(text, ...command)).out).toMatch(/"LocalPorts": *"2000-3000"/);
  });
});

describe("lint: network-policy-service-address", () => {
  const to = (cidr: string, direction = "egress"): string =>
    direction === "egress"
      ? `policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: ${cidr} } }] }]`
      : `ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }] }]`;

  it.each([
    ["the address of a Service", "10.96.0.20/32"],
    ["an address in the Services' range", "10.96.7.7/32"],
    ["the whole range", "10.96.0.0/16"],
    ["a part of it", "10.96.0.0/24"],
  ])("finds %s", async (_, cidr) => {
    const found = await foundBy("network-policy-service-address", policy("client", to(cidr)) + SERVICE);
    expect(found).toEqual([expect.stringMatching(/^p\.yaml:4:\d+$/)]);
  });

  it.each([
    ["everybody", "client", to("0.0.0.0/0")],
    ["more than the Services' range", "client", to("10.0.0.0/8")],
    ["addresses of pods", "client", to("10.244.0.0/16")],
    ["who comes in", "client", to("10.96.0.20/32", "ingress")],
    ["pods on Linux", "penguin", to("10.96.0.20/32")],
    ["the family that Services here do not have", "client", to("2001:db8::/64")],
    ["what is no range", "client", to("10.96.0.20")],
  ])("says nothing of %s", async (_, pods, rules) => {
    expect(await foundBy("network-policy-service-address", policy(pods, rules) + SERVICE)).toEqual([]);
  });

  it("says nothing of a Service's address where kube-proxy has no Direct Server Return", async () => {
    const text = policy("client", to("10.96.0.20/32")) + SERVICE;
    const { out } = await runOn(`${cluster()}kubeProxy: { enableDSR: false }\n`, text, "lint", "-o", "json");
    expect(out).not.toContain("network-policy-service-address");
  });

  const PODS = "policyTypes: [Egress], egress: [{ to: [{ podSelector: { matchLabels: { app: web } } }] }]";

  // dataplane.md §4.5: what an ACL for egress sees.
  it.each([
    ["with Direct Server Return, the address", true, to("10.96.0.20/32"), "acl-rule-blocked"],
    ["with Direct Server Return, the pods", true, PODS, undefined],
    ["without it, the address", false, to("10.96.0.20/32"), undefined],
    ["without it, the pods", false, PODS, "acl-rule-blocked"],
  ] as const)("a packet to the Service meets the policy: %s", async (_, enableDSR, rules, stoppedBy) => {
    const file = `${cluster()}kubeProxy: { enableDSR: ${enableDSR} }\n`;
    const text = policy("client", rules) + SERVICE;
    const { out } = await runOn(
      file,
      text,
      "trace",
      "pod/client",
      "service/web",
      "--port",
      "80",
      "-o",
      "json",
    );
    expect((JSON.parse(out) as TraceReport).code).toBe(stoppedBy);
    const report = JSON.parse((await runOn(file, text, "verify", "-o", "json")).out) as VerifyReport;
    const isFound = report.findings.some(({ code }) => code === "network-policy-service-address");
    // By the specification the pods count, and not the address.
    expect(isFound).toBe(!enableDSR);
  });
});

describe("verify: network-policy-denied", () => {
  const DENY = policy("web", "ingress: []");

  async function cellsOf(file: string, text: string) {
    const { code, out } = await runOn(file, text, "verify", "-o", "json");
    const { cells, findings } = JSON.parse(out) as VerifyReport;
    const toWeb = cells.filter(
      (cell) =>
        cell.to === "pod/default/web" && cell.from === "pod/default/client" && cell.protocol === "tcp",
    );
    return { code, findings, cells: toWeb.filter(({ verdict }) => verdict !== "not-tried") };
  }

  it("is what is expected of a flow that no rule is about, and what is seen", async () => {
    const { cells } = await cellsOf(cluster(), DENY);
    expect(cells.length).toBeGreaterThan(0);
    for (const cell of cells)
      expect(cell).toMatchObject({
        verdict: "as-expected",
        expected: "denied",
      });
    const table = (await run(DENY, "verify")).out;
    expect(table).toMatch(/\n {2}network-policy-denied\n {6}A NetworkPolicy denies the flow/);
  });

  it.each([
    ["a rule is about it", policy("web", "ingress: [{ from: [{ podSelector: {} }] }]")],
    ["no policy selects the pod", policy("none", "ingress: []")],
    ["the policy is about the other direction", policy("web", "policyTypes: [Egress], egress: []")],
  ])("is not, where %s", async (_, text) => {
    const { cells } = await cellsOf(cluster(), text);
    expect(cells.length).toBeGreaterThan(0);
    for (const cell of cells) expect(cell).toMatchObject({ verdict: "as-expected", expected: "works" });
  });

  it("is a finding with the engine's own code, where packets pass all the same", async () => {
    for (const [engine, because] of [
      ["policy: none", "network-policy-not-enforced"],
      ["policy: calico", "policy-engine-without-network"],
    ] as const) {
      const { code, findings, cells } = await cellsOf(cluster(engine), DENY);
      expect(code).toBe(1);
      for (const cell of cells) expect(cell).toMatchObject({ verdict: "finding", expected: "denied" });
      expect(findings.map((each) => each.code)).toContain(because);
    }
  });

  it("explain says why, and what to do", async () => {
    const { code, out } = await run("", "explain", "network-policy-denied");
    expect(code).toBe(0);
    expect(out).toMatch(/isolates it for ingress, egress or both/);
    expect(out).toContain("kubectl get networkpolicies -A");
  });
});

describe("policies that are not what they look like", () => {
  it.each([
    [
      "an exception outside of its block",
      "{ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.245.0.0/24] } }] }] }",
      "must be a strict subset of `cidr`",
    ],
    [
      "an exception that is all of its block",
      "{ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 10.244.0.0/16, except: [10.244.0.0/16] } }] }] }",
      "must be a strict subset of `cidr`",
    ],
    ["a peer that is nobody", "{ podSelector: {}, ingress: [{ from: [{}] }] }", "must specify a peer"],
  ])("%s is refused, as by an API server, and verify and lint say so", async (_, spec, said) => {
    const text = policy("web", "").replace(/spec: .*/, `spec: ${spec}`);
    const checked = await run(text, "verify", "-o", "json");
    expect(checked.code).toBe(1);
    const { basis, cells } = JSON.parse(checked.out) as VerifyReport;
    expect(basis.refused.map(({ message }) => message).join()).toContain(said);
    // What an API server refuses shuts nobody out.
    expect(cells.filter(({ row }) => row === "NETWORK-POLICY-DENIES")).toEqual([]);
    expect((await run(text, "lint")).out.replaceAll(/\s+/g, " ")).toContain(said);
  });

  // An empty selector is everybody; one that is not there is one that is empty, or nobody.
  it.each([
    ["podSelector: {}", "{ podSelector: {}, ingress: [] }", "denied"],
    ["podSelector with nothing behind it", "{ podSelector: , ingress: [] }", "denied"],
    [
      "an empty matchLabels",
      "{ podSelector: { matchLabels: {}, matchExpressions: [] }, ingress: [] }",
      "denied",
    ],
    ["from an empty podSelector", "{ podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] }", "works"],
    [
      "from an empty namespaceSelector",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }",
      "works",
    ],
    ["an empty from", "{ podSelector: {}, ingress: [{ from: [] }] }", "works"],
    ["no ingress, and a type for it", "{ podSelector: {}, policyTypes: [Ingress] }", "denied"],
    ["no type", "{ podSelector: {}, policyTypes: [] }", "denied"],
  ])("%s", async (_, spec, outcome) => {
    const text = policy("web", "").replace(/spec: .*/, `spec: ${spec}`);
    const { out } = await run(text, "verify", "-o", "json");
    const { cells } = JSON.parse(out) as VerifyReport;
    const toWeb = cells.filter(
      (cell) =>
        cell.flow === "pod-to-pod-ip" && cell.to === "pod/default/web" && cell.from === "pod/default/client",
    );
    expect(
      new Set(toWeb.filter(({ protocol }) => protocol === "tcp").map(({ expected }) => expected)),
    ).toEqual(new Set([outcome]));
    expect(toWeb.filter(({ protocol, verdict }) => protocol === "tcp" && verdict !== "as-expected")).toEqual(
      [],
    );
  });
});
