import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
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

/** What YAML 1.2 would read as a number, a Boolean or nothing, were it written plainly. */
const MANIFEST = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: "007"}
spec:
  selector: {matchLabels: {app: "true"}}
  template:
    metadata: {labels: {app: "true"}}
    spec:
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: windows}
      containers: [{name: web, image: "null"}]
`;

const FILES = { "c.yaml": CLUSTER, "n.yaml": `${CLUSTER}network: {outboundNAT: {enabled: false}}\n` };

async function run(line: string, files: Readonly<Record<string, string>> = FILES): Promise<MemoryTerminal> {
  const terminal = new MemoryTerminal({ ...files, "d.yaml": MANIFEST });
  const verbs = { trace, verify, lint };
  await runMullion({ argv: line.split(" "), verbs, terminal, version: "0", isDebug: false });
  expect(terminal.errors).toBe("");
  return terminal;
}

describe("-o yaml", () => {
  it.each([
    ["trace -f c.yaml pod/client pod/web", { kind: "Trace" }],
    ["verify -f c.yaml", { kind: "Verification" }],
    ["verify -f n.yaml --before c.yaml", { kind: "VerificationComparison" }],
    ["lint d.yaml", { kind: "LintReport" }],
    ["version", { mullion: "0" }],
  ])("%s: the same data as -o json, and no JSON", async (line, expected) => {
    const json: unknown = JSON.parse((await run(`${line} -o json`)).output);
    const { output } = await run(`${line} -o yaml`);
    expect(json).toMatchObject(expected);
    expect(parse(output)).toEqual(json);
    expect(output).toMatch(/^\w+: \S+\n/);
    // Readers without anchors have the whole of it, and no line is folded.
    expect(output).not.toMatch(/^\s*(?:- )?(?:\w+: )?[&*]a\d+/m);
  });

  it("lint --list: the same rules", async () => {
    const json: unknown = JSON.parse((await run("lint --list -o json")).output);
    expect(parse((await run("lint --list -o yaml")).output)).toEqual(json);
  });

  it("a report in YAML is an earlier state for verify --before", async () => {
    const { output } = await run("verify -f c.yaml -o yaml");
    const files = { ...FILES, "before.yaml": output };
    const fromReport = await run("verify -f n.yaml --before before.yaml -o json", files);
    const fromInput = await run("verify -f n.yaml --before c.yaml -o json");
    const { nothingKept, ...compared } = JSON.parse(fromReport.output) as Record<string, unknown>;
    expect(compared).toEqual(JSON.parse(fromInput.output));
    expect(nothingKept).toMatch(/^the report of before has outcomes, and not the state/);
  });
});
