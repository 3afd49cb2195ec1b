// Outcomes that the Kubernetes page states otherwise say so, in every form of the answer.
import { describe, expect, it } from "vitest";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import type { LintFinding } from "#diagnose/lint/report/report.ts";
import { DOCUMENTED_SENTENCES } from "#core/catalogue/page-sentences.ts";
import { MARKED_ANSWERS, markWanted, marksOf } from "#test/support/cluster/kubernetes-page-marks.suite.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const cluster = (build: string): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: one }
nodes: [{ name: win-1, os: windows, build: ${build}, address: 10.0.0.11 }]
---
apiVersion: v1
kind: Pod
metadata: { name: a, labels: { app: a } }
spec: { nodeName: win-1, containers: [{ name: c, image: x, ports: [{ containerPort: 80 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: a }
spec: { type: NodePort, selector: { app: a }, ports: [{ port: 80, nodePort: 30080 }] }
`;

async function ask(build: string, format: string): Promise<string> {
  const terminal = new MemoryTerminal({ "c.yaml": cluster(build) });
  const argv = ["verify", "-f", "c.yaml", "-o", format];
  expect(await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false })).toBe(0);
  return terminal.output;
}

/** The section of a flow, on one line. */
function sectionOf(text: string, title: string): string {
  const from = text.slice(text.indexOf(`\n${title}`));
  return from.slice(0, from.indexOf("\n\n")).replaceAll(/\s+/g, " ");
}

describe("node → its own NodePort (windows-networking-documentation.md §8; KB4571748 is revision 1432)", () => {
  const SAYS = "a NodePort cannot be reached from its own node, only from other nodes and from outside";

  it("agrees with the page on Server 2019 before the update: no mark", async () => {
    const section = sectionOf(await ask("ws2019.1431", "table"), "node → its own NodePort");
    expect(section).toMatch(/ denied node-port-from-node-unsupported$/);
  });

  it.each([
    ["ws2019.1432", "KB4571748 mended it on Server 2019 (observed)."],
    ["ws2025", "this build came after KB4571748, which mended it (inferred)."],
  ])("%s: a mark, and one line below the table", async (build, because) => {
    const section = sectionOf(await ask(build, "table"), "node → its own NodePort");
    expect(section).toContain("works*");
    expect(section).toContain(`* The Kubernetes page (2024): ${SAYS}. Here: ${because}`);
  });

  it("JSON has the edition, what it says, and why it differs", async () => {
    const { cells } = JSON.parse(await ask("ws2019.1432", "json")) as VerifyReport;
    expect(cells.find(({ flow }) => flow === "node-to-own-node-port")?.documentation).toEqual({
      edition: "2024",
      sentence: "PAGE-OWN-NODE-PORT",
      difference: "own-node-port-2019",
      says: SAYS,
      differsBecause: "KB4571748 mended it on Server 2019",
      evidence: "observed",
      source: "dataplane.md §10",
    });
    expect(
      cells.filter(({ flow }) => flow === "pod-to-cluster-ip").map((cell) => cell.documentation),
    ).toEqual([undefined, undefined]);
  });

  it("JUnit says it in the output of the case", async () => {
    const text = await ask("ws2019.1432", "junit");
    expect(text).toContain(`<system-out>The Kubernetes page (2024): ${SAYS}.`);
    expect(text).toMatch(/tests="\d+" failures="0"/);
  });
});

describe("trace, where the outcome is not what the page states (§5, §8, §9)", () => {
  async function traced(build: string, words: string): Promise<string> {
    const terminal = new MemoryTerminal({ "c.yaml": cluster(build) });
    const argv = ["trace", "-f", "c.yaml", ...words.split(" ")];
    await runMullion({ argv, verbs: { trace }, terminal, version: "0", isDebug: false });
    return terminal.output;
  }

  it.each([
    ["ws2019.1432", "KB4571748 mended it on Server 2019 (observed)."],
    ["ws2019.1431", undefined],
  ])("%s, to its own NodePort: one sentence below the walk", async (build, because) => {
    const text = (await traced(build, "node/win-1 10.0.0.11 --port 30080")).replaceAll(/\s+/g, " ");
    if (because === undefined) expect(text).not.toContain("The Kubernetes page");
    else
      expect(text).toMatch(/Answered after .* \* The Kubernetes page \(2024\): a NodePort cannot be reached/);
    expect(text).toContain(because ?? "mullion explain node-port-from-node-unsupported");
  });

  it("JSON has it, too; what the page says as the run has it is not mentioned", async () => {
    const { documentation } = JSON.parse(
      await traced("ws2022", "node/win-1 service/a -o json"),
    ) as TraceReport;
    expect(documentation).toMatchObject({ edition: "2024", sentence: "PAGE-SERVICE-FROM-NODE" });
    expect(documentation?.says).toBe("a node cannot reach the address of a Service; pods can");
    expect(await traced("ws2022", "pod/a service/a -o json")).not.toContain("documentation");
  });
});

describe("lint, where a finding rests on something else than the page states (§8, §9)", () => {
  const NET_CONF =
    '{ "Network": "10.244.0.0/16", "Backend": { "Type": "vxlan", "VNI": 5000, "Port": 4789 } }';
  const SAYS =
    "* The Kubernetes page (2024): flannel's VXLAN works with VNI 4096 alone. Here: flanneld takes 4096 to 65535";

  async function linted(format: string): Promise<string> {
    const terminal = new MemoryTerminal({ "net-conf.json": NET_CONF });
    const argv = ["lint", "net-conf.json", "--windows", "-o", format];
    await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
    return terminal.output;
  }

  it.each(["text", "junit", "sarif"])("%s says it below the finding", async (format) => {
    expect((await linted(format)).replaceAll("&apos;", "'").replaceAll(/\s+/g, " ")).toContain(SAYS);
  });

  it("JSON has it as verify has", async () => {
    const { findings } = JSON.parse(await linted("json")) as { findings: readonly LintFinding[] };
    const found = findings.find(({ code }) => code === "flannel-vni-other-than-4096");
    expect(found?.documentation).toMatchObject({
      edition: "2024",
      says: "flannel's VXLAN works with VNI 4096 alone",
      evidence: "observed",
    });
  });
});

describe("what the page denies or dates, and builds do otherwise (§2, §5, §8, §9): the mark, and JSON", () => {
  // Those that take longer: test/long/kubernetes-page.long.test.ts.
  it.each(MARKED_ANSWERS.filter(({ isLong }) => isLong !== true))("$item: $asked", async (answer) => {
    const [seen, wanted] = [await marksOf(answer), markWanted(answer)];
    expect(seen.text).toContain(wanted.text);
    // A cluster file that is refused is answered with no document.
    expect(seen.documentation ?? [wanted.documentation]).toContainEqual(wanted.documentation);
  });

  it("every reason that is known is among them, or shown by the page of the reference alone", () => {
    const known = DOCUMENTED_SENTENCES.flatMap(({ differs }) => differs.map(({ id }) => id));
    const marked = new Set(MARKED_ANSWERS.map(({ difference }) => difference));
    expect(known.filter((id) => !marked.has(id))).toEqual([
      "host-process",
      "back-ends-2019",
      "back-ends-later",
      "back-ends-asked-2019",
      "back-ends-asked-2022",
      "back-ends-asked-later",
      "local-dsr-by-itself-2019",
      "overlay-node-port-switched-off",
    ]);
  });
});
