// Comparisons of verifications: several builds of one input, an earlier report or input and the present one.
import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { VerifyComparison } from "#cluster/verify/compare.ts";
import { COMPARISON_SCHEMA } from "#cluster/verify/compare.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11}
  - {name: win-2, os: windows, build: ws2022, address: 10.0.0.12}
pods:
  - {name: web, node: win-1, labels: {app: web}}
  - {name: client, node: win-2}
`;
const SERVICE = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`;
const REFUSED = `
apiVersion: v1
kind: Service
metadata: {name: broken}
spec: {ports: [{port: 99999}]}
`;

/** A dump as `kubectl get nodes,pods -o yaml` prints it: the build stands in the Node alone. */
const DUMP = `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: win-1, labels: {kubernetes.io/os: windows, node.kubernetes.io/windows-build: 10.0.20348}}
    spec: {podCIDR: 10.244.1.0/24}
    status:
      addresses: [{type: InternalIP, address: 10.0.0.11}]
      nodeInfo: {kernelVersion: 10.0.20348.2700, operatingSystem: windows}
  - apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: default, labels: {app: web}}
    spec: {nodeName: win-1, containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]}
`;

const validate = new Ajv2020({ strict: true }).compile(COMPARISON_SCHEMA);

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

async function run(files: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<Answer> {
  const terminal = new MemoryTerminal(files);
  const argv = ["verify", ...words];
  const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output, errors: terminal.errors };
}

async function compare(
  files: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<VerifyComparison> {
  const { text, errors } = await run(files, ...words, "-o", "json");
  expect(errors).toBe("");
  const comparison = JSON.parse(text) as VerifyComparison;
  expect([validate(comparison), validate.errors]).toEqual([true, null]);
  return comparison;
}

const SHOP = { "c.yaml": CLUSTER, "s.yaml": SERVICE };
const ALL = ["-f", "c.yaml", "-f", "s.yaml"];

describe("--profile with several builds", () => {
  // windows-networking-documentation.md §9 (8): a node does not reach Service addresses before Server 2022.
  it("shows the flows whose outcome differs, and for whom", async () => {
    const { code, text } = await run(SHOP, ...ALL, "--profile", "ws2019,ws2022,WS2025");
    expect(code).toBe(0);
    const lines = text.split("\n");
    expect(lines[0]).toBe("Cluster shop: ws2019, ws2022, ws2025");
    expect(lines[2]).toMatch(/^node → Service \(ClusterIP\) +ws2019 +ws2022 +ws2025$/);
    expect(lines[3]).toMatch(/^ {2}node\/win-[12] → service\/default\/web:80, TCP +denied +works +works$/);
    expect(text).toContain("      ws2019: service-vip-from-node-unsupported\n");
    expect(text).toMatch(/ changed, \d+ unchanged\. Against the documentation: ws2019 0\s+findings/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it("gives the same as JSON, after its schema", async () => {
    const { sides, changes, counts } = await compare(SHOP, ...ALL, "--profile", "ws2019,ws2022");
    expect(sides.map(({ label, findings }) => [label, findings])).toEqual([
      ["ws2019", 0],
      ["ws2022", 0],
    ]);
    expect(counts.flows).toBe(counts.changed + counts.unchanged);
    const [change] = changes.filter(({ flow }) => flow === "node-to-cluster-ip");
    expect(change).toMatchObject({
      to: "service/default/web",
      port: 80,
      outcomes: [
        { side: "ws2019", outcome: "denied", code: "service-vip-from-node-unsupported" },
        { side: "ws2022", outcome: "works" },
      ],
    });
  });

  it("runs Windows nodes of dumps on the build, too", async () => {
    const files = { "d.yaml": DUMP, "s.yaml": SERVICE };
    const { changes } = await compare(files, "-f", "d.yaml", "-f", "s.yaml", "--profile", "ws2019,ws2022");
    expect(changes.map(({ flow }) => flow)).toContain("node-to-cluster-ip");
  });

  it("one build alone is a verification on that build", async () => {
    const { code, text } = await run(SHOP, ...ALL, "--profile", "ws2019");
    expect(code).toBe(0);
    expect(text).toMatch(/node → Service \(ClusterIP\)[^\n]*\n[^\n]*denied/);
  });

  it("--fail-on-change ends with 1", async () => {
    expect((await run(SHOP, ...ALL, "--profile", "ws2019,ws2022", "--fail-on-change")).code).toBe(1);
    expect((await run(SHOP, ...ALL, "--profile", "ws2022,ws2025", "--fail-on-change")).code).toBe(0);
  });
});

it("examples/acs-2017: the same manifests in the set-up of 2017 and at present, in one table", async () => {
  const names = ["cluster.yaml", "present.yaml", "manifests.yaml"];
  const files = Object.fromEntries(
    names.map((name) => [name, readFileSync(`examples/acs-2017/${name}`, "utf8")]),
  );
  const { changes, sides } = await compare(files, "-f", "present.yaml", "--before", "cluster.yaml");
  expect(sides.map(({ findings }) => findings)).toEqual([0, 0]);
  const told = changes.map(({ flow, protocol, outcomes: [, now] }) => `${flow} ${protocol} ${now?.code}`);
  // The node had the Service's address, kube-proxy completed names, and WinNAT translates pings.
  expect([...new Set(told)]).toEqual([
    "pod-to-cluster-ip icmp icmp-to-service-not-balanced",
    "pod-to-external-ip icmp icmp-outbound-not-translated",
    "pod-to-service-partial-name tcp dns-name-with-dot-not-completed",
  ]);
  for (const { outcomes } of changes) expect(outcomes[0]?.outcome).toBe("works");
});

describe("--before", () => {
  const WITHOUT_NAT = `${CLUSTER}network: {outboundNAT: {enabled: false}}\n`;

  it.each(["input", "report"])("an earlier %s: what changes, for whom", async (kind) => {
    const report = await run({ "c.yaml": CLUSTER }, "-f", "c.yaml", "-o", "json");
    const files = { "old.yaml": kind === "input" ? CLUSTER : report.text, "new.yaml": WITHOUT_NAT };
    const words = ["-f", "new.yaml", "--before", "old.yaml"];
    expect((await run(files, ...words)).code).toBe(0);
    expect((await run(files, ...words, "--fail-on-change")).code).toBe(1);
    const { changes, sides } = await compare(files, ...words);
    expect(sides.map(({ label }) => label)).toEqual(["before", "now"]);
    const outside = changes.filter(
      ({ flow, protocol }) => flow === "pod-to-external-ip" && protocol === "tcp",
    );
    expect(outside.map(({ from }) => from).toSorted()).toEqual(["pod/default/client", "pod/default/web"]);
    // Without OutBoundNAT the router has no way back to pods (dataplane.md §2.4 B-6).
    for (const { outcomes } of outside)
      expect(outcomes).toMatchObject([{ outcome: "works" }, { outcome: "denied", code: "no-route-back" }]);
  });

  it("an earlier input: what cannot differ is kept, and counted", async () => {
    const files = { ...SHOP, "new.yaml": SERVICE.replace("port: 80,", "port: 81,") };
    const words = ["-f", "c.yaml", "-f", "new.yaml", "--before", "c.yaml", "--before", "s.yaml"];
    const { sides, changes, nothingKept } = await compare(files, ...words);
    expect(nothingKept).toBeUndefined();
    const [before, now] = sides.map(({ kept }) => kept);
    expect(before).toBeUndefined();
    expect(now?.cells).toBeGreaterThan(0);
    expect(now?.cells).toBeLessThan(now?.of ?? 0);
    expect(changes.map(({ to }) => to)).toContain("service/default/web");
    const { text } = await run(files, ...words);
    expect(text).toMatch(
      /\nKept: \d+ of \d+ cells of now; nothing that they can touch differs\.\nNot the same for all\.\n$/,
    );
  });

  it("an earlier report: everything is judged, and it says why", async () => {
    const report = await run({ "c.yaml": CLUSTER }, "-f", "c.yaml", "-o", "json");
    const files = { "c.yaml": CLUSTER, "old.json": report.text };
    const { text } = await run(files, "-f", "c.yaml", "--before", "old.json");
    expect(text).toMatch(/\nEverything was judged: the report of before has outcomes, and not the state/);
  });

  it("the same input: nothing changes", async () => {
    const { code, text } = await run(
      SHOP,
      ...ALL,
      "--before",
      "c.yaml",
      "--before",
      "s.yaml",
      "--fail-on-change",
    );
    expect(code).toBe(0);
    expect(text).toMatch(/The same for all\.\n$/);
  });

  it("what is left out of the input now is named, and is still a finding", async () => {
    const files = { ...SHOP, "r.yaml": REFUSED };
    const { code, text } = await run(
      files,
      ...ALL,
      "-f",
      "r.yaml",
      "--before",
      "c.yaml",
      "--before",
      "s.yaml",
    );
    expect(code).toBe(1);
    expect(text).toMatch(/Findings about the input that not all have\n {2}now: r\.yaml:\d+:\d+: left out: /);
  });

  it("a Service that is new has no earlier outcome; a pod that only has another name is no change", async () => {
    const files = {
      "old.yaml": CLUSTER,
      "c.yaml": CLUSTER.replace("name: client,", "name: caller,"),
      "s.yaml": SERVICE,
    };
    const { changes } = await compare(files, ...ALL, "--before", "old.yaml");
    expect(changes.length).toBeGreaterThan(0);
    expect(changes.every(({ to, name }) => to === "service/default/web" || name?.startsWith("web"))).toBe(
      true,
    );
    expect(changes.every(({ outcomes }) => outcomes[0]?.outcome === "absent")).toBe(true);
  });
});

describe("what does not go together", () => {
  it.each([
    [["--fail-on-change", "-f", "c.yaml"], "--fail-on-change needs something to compare with"],
    [["-f", "c.yaml", "--profile", "ws2019,nt4"], '"nt4" is not a build of Windows'],
    [["-f", "c.yaml", "--profile", "ws2019,WS2019"], '--profile names "WS2019" twice'],
    [["-f", "c.yaml", "--profile", "ws2019,ws2022", "-o", "junit"], "a comparison has no form for JUnit"],
    [["--profile", "ws2019"], "--profile builds the cluster anew"],
    [["-f", "c.yaml", "--profile", "ws2019,ws2022", "--before", "c.yaml"], "would be two comparisons"],
    [["-f", "c.yaml", "--before", "bad.json"], '"bad.json" is not a report of mullion verify: cells[0]'],
  ] as const)("%j", async (words, message) => {
    const bad = JSON.stringify({ kind: "Verification", cluster: "x", cells: [{}], findings: [] });
    const { code, errors, text } = await run({ ...SHOP, "bad.json": bad }, ...words);
    expect(code).toBe(2);
    expect(text).toBe("");
    expect(errors).toContain(message);
    expect(errors).toMatch(/\n {4}[A-Z]/);
  });
});

// A report is a file like any other: what is not as the schema has it is named, field by field.
describe("an earlier report with a field that is not as the schema has it", () => {
  const CELL = {
    ...Object.fromEntries(
      [
        "flow",
        "protocol",
        "relation",
        "from",
        "fromSystem",
        "to",
        "toSystem",
        "expected",
        "verdict",
        "row",
      ].map((field) => [field, "x"]),
    ),
    standsFor: 1,
  };
  const FINDING = { observed: "x" };
  const REPORT = { kind: "Verification", cluster: "x", cells: [CELL], findings: [FINDING] };

  it.each([
    ["a text for a number", { cells: [{ ...CELL, port: "80" }] }, "cells[0]"],
    ["a number for a text", { cells: [CELL, { ...CELL, flow: 7 }] }, "cells[1]"],
    ["a number for a text that may be absent", { cells: [{ ...CELL, family: 6 }] }, "cells[0]"],
    ["no number of flows", { cells: [{ ...CELL, standsFor: undefined }] }, "cells[0]"],
    ["a cell that is none", { cells: [[]] }, "cells[0]"],
    ["no cells", { cells: {} }, "cells"],
    ["no findings", { findings: undefined }, "findings"],
    ["a finding without words", { findings: [FINDING, {}] }, "findings[1]"],
    ["a finding of a cell that is no number", { findings: [{ ...FINDING, cell: "0" }] }, "findings[0]"],
    ["a finding about no text", { findings: [{ ...FINDING, about: 7 }] }, "findings[0]"],
    ["a finding with a code that is no text", { findings: [{ ...FINDING, code: 7 }] }, "findings[0]"],
    ["no name of the cluster", { cluster: 7 }, "cluster"],
  ])("%s", async (_, change, field) => {
    const files = { ...SHOP, "bad.json": JSON.stringify({ ...REPORT, ...change }) };
    const { code, errors } = await run(files, "-f", "c.yaml", "--before", "bad.json");
    expect(code).toBe(2);
    expect(errors).toContain(`"bad.json" is not a report of mullion verify: ${field} is not as`);
  });

  it("and one that is right is taken", async () => {
    const good = { ...CELL, port: 80, family: "ipv6", name: "n", code: "c" };
    const report = { ...REPORT, cells: [good], findings: [{ ...FINDING, cell: 0, about: "a", code: "c" }] };
    const files = { ...SHOP, "good.json": JSON.stringify(report) };
    const { errors } = await run(files, "-f", "c.yaml", "--before", "good.json");
    expect(errors).toBe("");
  });
});
