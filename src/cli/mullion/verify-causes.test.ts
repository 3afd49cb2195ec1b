// Findings of one cause are one paragraph of verify's text; JSON has each of them, and which one stands for its cause.
import { describe, expect, it } from "vitest";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { VERIFY_SCHEMA } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

async function run(files: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const terminal = new MemoryTerminal(files);
  const argv = ["verify", ...Object.keys(files).flatMap((name) => ["-f", name]), ...words];
  const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

async function both(files: Readonly<Record<string, string>>) {
  const { code, out } = await run(files);
  const json = await run(files, "-o", "json");
  const report = JSON.parse(json.out) as VerifyReport;
  const validate = new Ajv2020({ strict: true }).compile(VERIFY_SCHEMA);
  expect(validate(report), JSON.stringify(validate.errors)).toBe(true);
  expect([code, json.code]).toEqual([1, 1]);
  const text = out.slice(out.indexOf("\nFindings\n"));
  return { text, report, paragraphs: text.match(/^ {4}expected /gm)?.length };
}

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: lab }
dns: { enabled: false }
`;

describe("findings about flows", () => {
  it("follow from a kube-proxy that does not know its node", async () => {
    const cluster = `${CLUSTER}nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, hostname: WIN-8QT3L1K2V9E }
  - { name: lin-1, os: linux, address: 10.0.0.21 }
network: { plugin: flannel, backend: host-gw }
kubeProxy: { hostnameOverride: false }
pods:
  - { name: web, node: win-1, labels: { app: web } }
  - { name: shop, node: lin-1 }
`;
    const service = `apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  type: NodePort
  externalTrafficPolicy: Local
  internalTrafficPolicy: Local
  selector: { app: web }
  ports: [{ port: 80, targetPort: 8080 }]
`;
    const { text, report, paragraphs } = await both({ "c.yaml": cluster, "s.yaml": service });
    expect(report.findings.length).toBeGreaterThanOrEqual(5);
    expect(report.findings[0]).toMatchObject({ code: "kube-proxy-hostname-override-missing" });
    expect(report.findings[0]).not.toHaveProperty("cause");
    expect(new Set(report.findings.slice(1).map(({ cause }) => cause))).toEqual(new Set([0]));
    expect(paragraphs).toBe(1);
    expect(text).toMatch(
      /^ {4}also {6}pod → Service \(ClusterIP\): pod\/default\/web → service\/default\/web/m,
    );
    expect(text).toContain(`… and ${report.findings.length - 4} more: -o json has them all`);
    expect(text).toMatch(
      new RegExp(`\\n${report.findings.length} cells did not match the expectation, for 1 cause\\.\\n$`),
    );
  });

  it("end alike on one machine, from one node; what ends otherwise has a paragraph of its own", async () => {
    const cluster = `${CLUSTER}nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
outside:
  - { name: bank, address: 203.0.113.10 }
  - { name: mail, address: 203.0.113.11 }
pods:
  - { name: till, node: win-1 }
  - { name: shop, node: win-1 }
expectations:
  - { from: pod/till, to: bank, protocol: icmp, expect: works }
  - { from: pod/till, to: mail, protocol: icmp, expect: works }
  - { from: pod/till, to: pod/shop, port: 9999, expect: works }
`;
    const { text, report, paragraphs } = await both({ "c.yaml": cluster });
    expect(report.findings.map(({ code, cause }) => [code, cause])).toEqual([
      ["icmp-outbound-not-translated", undefined],
      ["icmp-outbound-not-translated", 0],
      ["port-not-listening", undefined],
    ]);
    expect(paragraphs).toBe(2);
    expect(text).toMatch(/^ {4}also {6}expectations of the cluster file: pod\/default\/till → mail, ICMP$/m);
    expect(text).toMatch(/\n3 cells did not match the expectation, for 2 causes\.\n$/);
  });
});

it("the same mistake in several objects is one paragraph", async () => {
  const cluster = `${CLUSTER}nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
pods:
  - { name: till, node: win-1 }
`;
  const service = (name: string, port: string) => `apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { ports: [{ port: ${port} }] }
`;
  const services = ["a", "b", "c"].map((name) => service(name, "80000"));
  const files = { "c.yaml": cluster, "s.yaml": [...services, service("d", "0")].join("---\n") };
  const { text, report, paragraphs } = await both(files);
  expect(report.findings.map(({ about, cause }) => [about, cause])).toEqual([
    ["s.yaml:4:19", undefined],
    ["s.yaml:9:19", 0],
    ["s.yaml:14:19", 0],
    ["s.yaml:19:19", undefined],
  ]);
  expect(paragraphs).toBe(2);
  expect(text).toMatch(/^ {4}also {6}input: s\.yaml:9:19\n {14}input: s\.yaml:14:19$/m);
  expect(text).toMatch(/\n4 findings about the input\.\n$/);
});

describe("an expectation about a pod that did not start", () => {
  const pod = (name: string, system: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeSelector: { kubernetes.io/os: ${system} }
  containers: [{ name: c, image: registry.example/c, ports: [{ containerPort: 8080 }] }]
`;
  const cluster = `${CLUSTER}nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
expectations:
  - { from: pod/late, to: pod/web, port: 8080, expect: works }
  - { from: pod/web, to: pod/late, port: 8080, expect: denied }
  - { from: pod/web, to: late, protocol: icmp, expect: denied, code: no-route }
`;
  const files = { "c.yaml": cluster, "p.yaml": `${pod("web", "windows")}---\n${pod("late", "linux")}` };

  it("is a finding, also where it should be denied: nothing was sent", async () => {
    const { report, text } = await both(files);
    const own = report.cells.filter(({ flow }) => flow === "cluster-file");
    expect(own.map(({ from, to, verdict, attempts }) => [from, to, verdict, attempts])).toEqual([
      ["pod/default/late", "pod/web", "finding", 1],
      ["pod/web", "pod/default/late", "finding", 1],
      ["pod/web", "pod/default/late", "finding", 1],
    ]);
    expect(text).toContain("pod/default/late has no network: it is Pending without a node");
  });
});
