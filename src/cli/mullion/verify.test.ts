// What keeps a verification from being an answer, each planted alone: exit code, the first lines, JSON, JUnit.
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { VERIFY_SCHEMA } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
`;
const PODS = `
pods:
  - { name: web, node: win-1 }
  - { name: client, node: linux-1 }
`;

/** A dump of one Windows node whose pod has an address between those of the hosts outside. */
const ELSEWHERE = `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: { name: win-1, labels: { kubernetes.io/os: windows } }
    spec: { podCIDR: 10.244.1.0/24 }
    status:
      addresses: [{ type: InternalIP, address: 10.224.0.4 }]
      nodeInfo: { kernelVersion: 10.0.20348.2700, operatingSystem: windows }
  - apiVersion: v1
    kind: Pod
    metadata: { name: web, namespace: default, uid: 3f0c1a52-7d0e-4a0e-9a4e-0d9a5a3e7c11 }
    spec: { nodeName: win-1, containers: [{ name: web, image: web }] }
    status: { phase: Running, podIP: 203.0.113.37 }
`;

/** flannel as nobody changed it for Windows: its Nodes publish different identifiers. */
const FLANNEL = `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: win-1
      labels: { kubernetes.io/os: windows }
      annotations:
        flannel.alpha.coreos.com/backend-type: vxlan
        flannel.alpha.coreos.com/backend-data: '{"VNI":4096,"VtepMAC":"00:15:5d:96:95:db"}'
    spec: { podCIDR: 10.244.1.0/24 }
    status:
      addresses: [{ type: InternalIP, address: 172.29.4.31 }]
      nodeInfo: { kernelVersion: 10.0.20348.2966, operatingSystem: windows }
  - apiVersion: v1
    kind: Node
    metadata:
      name: linux-1
      labels: { kubernetes.io/os: linux }
      annotations:
        flannel.alpha.coreos.com/backend-type: vxlan
        flannel.alpha.coreos.com/backend-data: '{"VNI":1,"VtepMAC":"a2:ab:26:a3:65:c8"}'
    spec: { podCIDR: 10.244.0.0/24 }
    status: { addresses: [{ type: InternalIP, address: 172.29.4.5 }] }
`;

const REFUSED = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 99999 }] }
`;

/** What the input itself says is no fault: a kind that Mullion does not know, a pod that has ended. */
const HEALTHY = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ippools.crd.projectcalico.org }
---
apiVersion: v1
kind: Pod
metadata: { name: migrate, namespace: default, uid: 9d7e2f60-1f0b-4c5e-8c55-2a1f7f4f0b22 }
spec: { nodeName: win-1, containers: [{ name: migrate, image: migrate }] }
status: { phase: Succeeded }
`;

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
  readonly report: VerifyReport;
  readonly junit: string;
}

async function ask(...texts: readonly string[]): Promise<Answer> {
  const names = texts.map((_, index) => `${index}.yaml`);
  const files = Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text]));
  const run = async (output: string): Promise<{ code: number; out: string; err: string }> => {
    const terminal = new MemoryTerminal(files);
    const argv = ["verify", ...names.flatMap((name) => ["-f", name]), "-o", output];
    const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
    return { code, out: terminal.output, err: terminal.errors };
  };
  const table = await run("table");
  const json = await run("json");
  const junit = await run("junit");
  expect([json.code, junit.code]).toEqual([table.code, table.code]);
  const report = JSON.parse(json.out) as VerifyReport;
  return { code: table.code, text: table.out, errors: table.err, report, junit: junit.out };
}

describe("no green without evidence", () => {
  it.each([
    {
      what: "nothing was tried",
      texts: [CLUSTER.replace(/^.*linux-1.*\n/m, "")],
      about: "cluster/shop",
      code: "nothing-tried",
      shown: "no flow was tried",
    },
    {
      what: "an object of the input was refused",
      texts: [CLUSTER + PODS, REFUSED],
      about: "1.yaml:5:19",
      code: "manifest-invalid-value",
      shown: "left out: spec.ports[0].port",
    },
  ])("$what", async ({ texts, about, code, shown }) => {
    const answer = await ask(...texts);
    expect(answer.code).toBe(1);
    const [finding] = answer.report.findings;
    expect(finding).toMatchObject({ about, code, observed: expect.stringContaining(shown) as string });
    expect(finding).not.toHaveProperty("cell");
    expect(finding?.remedy).not.toBe("");
    expect(answer.text).toContain(`  input: ${about}\n`);
    expect(answer.text).toMatch(/1 finding about the input\.\n$/);
    expect(answer.junit).toContain('<testsuite name="input" tests="1" failures="1" skipped="0">');
    expect(answer.junit).toContain(shown);
  });

  it("a pod that the input shows running has no network here", async () => {
    const { code, report, text, junit } = await ask(ELSEWHERE);
    expect(code).toBe(1);
    expect(report.findings.map((each) => each.code)).toEqual(["nothing-tried", "pod-address-outside-range"]);
    expect(report.cells[report.findings[1]?.cell ?? -1]).toMatchObject({
      flow: "bring-up",
      from: "node/win-1",
    });
    expect(text).toContain("1 finding about the input. 1 cell did not match the expectation.");
    expect(junit).toContain("default/web");
  });

  it("says which network was taken, where no cluster file says it", async () => {
    const { text, report } = await ask(ELSEWHERE);
    const taken = "nothing shows which network the pods have: driver L2Bridge by win-bridge is taken";
    expect(report.basis.assumptions.map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringContaining(taken)]),
    );
    expect(text.split("\n")[3]).toBe("  network plugin      win-bridge [assumed]");
    const { basis } = (await ask(CLUSTER + PODS)).report;
    expect(basis).toMatchObject({
      contradictions: [],
      assumptions: [],
      refused: [],
      notJudged: [],
      notes: [],
    });
  });

  it("names each thing that it rests on, with the object or field that says it", async () => {
    const { code, text, report, junit } = await ask(FLANNEL);
    expect(code).toBe(1);
    expect(text.split("\n").slice(2, 7)).toEqual([
      "What this rests on",
      "  network plugin      flannel (delegates to win-overlay) [node/win-1]",
      "  network mode        vxlan [node/win-1]",
      "  network driver      Overlay [node/win-1]",
      "  routes              by flanneld, through VXLAN tunnels [node/win-1]",
    ]);
    expect(report.basis.contradictions.map((each) => each.code)).toEqual(["vxlan-identifiers-differ"]);
    expect(report.findings[0]).toMatchObject({ about: "0.yaml:17:5", code: "vxlan-identifiers-differ" });
    expect(report.basis.facts).toContainEqual({ name: "behaviour", value: "upstream", source: "assumed" });
    expect(junit).toContain('<property name="network mode" value="vxlan [node/win-1, 0.yaml:5]"');
    expect(junit).toContain('<property name="against"');
  });

  it("of a cluster file, too: what it says, and what it leaves to its defaults", async () => {
    const { text } = await ask(CLUSTER + PODS);
    const lines = text.split("\n");
    expect(lines.filter((line) => line.startsWith("  build "))).toEqual([
      expect.stringMatching(/^ {2}build {15}ws2022 on win-1(?:, win-2)? \[assumed\]$/),
    ]);
    expect(lines).toContain("  network mode        own-subnet [assumed]");
    const said = await ask(`${CLUSTER}network: { plugin: flannel, backend: host-gw }\n${PODS}`);
    expect(said.text).toMatch(/\n {2}network plugin {6}flannel \[0\.yaml:\d+\]\n/);
    expect(said.text).toMatch(/\n {2}routes {14}by flanneld \[0\.yaml:\d+\]\n/);
  });

  it("what the answer rests on comes first, and is not said twice", async () => {
    const { text, errors, report } = await ask(CLUSTER + PODS, REFUSED);
    const lines = text.split("\n");
    expect(lines[0]).toBe("Cluster shop, compat upstream");
    expect(lines[2]).toBe("What this rests on");
    const remarks = lines.filter((line) => line.startsWith("  left out"));
    expect(remarks).toEqual([
      expect.stringMatching(/^ {2}left out {2}1\.yaml:5:19: spec\.ports\[0\]\.port: /),
    ]);
    expect(errors).toBe("");
    expect(report.basis.refused.map(({ where }) => where?.field)).toEqual(["spec.ports[0].port"]);
  });

  it("takes findings that the user allows by name, and still shows them", async () => {
    const files = { "0.yaml": CLUSTER + PODS, "1.yaml": REFUSED };
    const run = async (...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> => {
      const terminal = new MemoryTerminal(files);
      const words = ["verify", "-f", "0.yaml", "-f", "1.yaml", ...argv];
      const code = await runMullion({
        argv: words,
        verbs: { verify },
        terminal,
        version: "0",
        isDebug: false,
      });
      return { code, out: terminal.output, err: terminal.errors };
    };
    const table = await run("--allow", "not-judged,manifest-invalid-value");
    expect(table.code).toBe(0);
    expect(table.out).toContain("  allowed: input: 1.yaml:5:19\n");
    expect(table.out).toMatch(/Observed and expected agree\. 1 finding allowed\.\n$/);
    const json = JSON.parse(
      (await run("--allow", "manifest-invalid-value", "-o", "json")).out,
    ) as VerifyReport;
    expect(json.counts.findings).toBe(0);
    expect(json.findings).toMatchObject([{ code: "manifest-invalid-value", allowed: true }]);
    const validate = new Ajv2020({ strict: true }).compile(VERIFY_SCHEMA);
    expect([validate(json), validate.errors]).toEqual([true, null]);
    const junit = await run("--allow", "not-judged", "--allow", "manifest-invalid-value", "-o", "junit");
    expect(junit.out).toContain('<testsuite name="input" tests="1" failures="0" skipped="1">');
    expect(junit.out).toContain('<skipped message="allowed: left out: spec.ports[0].port');
    // What another name allows counts as before.
    expect((await run("--allow", "not-judged")).code).toBe(1);
    const wrong = await run("--allow", "not-juged");
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain("Did you mean not-judged?");
  });

  it("a healthy input is green, and what was passed by is a note", async () => {
    const { code, report, text, junit } = await ask(CLUSTER + PODS, HEALTHY);
    expect(report.findings).toEqual([]);
    expect(code).toBe(0);
    expect(report.basis.refused).toEqual([]);
    expect(report.basis.notes.map((note) => note.code)).toContain("manifest-kind-unused");
    expect(text).toContain("  note      1.yaml:3:1: ");
    expect(junit).toContain('<property name="note"');
    expect(text).toMatch(/Observed and expected agree\.\n$/);
  });
});
