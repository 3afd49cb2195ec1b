// Policies that HNS stores and does not act on, as a user meets them: trace, verify, notes.
import { describe, expect, it } from "vitest";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

function clusterOf(driver: string, ruleType: string, more = ""): string {
  // Transparent pods are machines of the nodes' own subnet.
  const [podCIDR, underlay] =
    driver === "Transparent" ? ["10.0.1.0/24", "{ subnet: 10.0.0.0/16 }"] : ["10.244.1.0/24", "{}"];
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: lab }
dns: { enabled: false }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: ${podCIDR} }
network: { driver: ${driver} }
underlay: ${underlay}
pods:
  - { name: client, node: win-1 }
  - { name: open, node: win-1 }
  - name: guarded
    node: win-1
    policies:
      - { Type: ACL, Settings: { Protocols: "6", Action: Block, Direction: In, LocalPorts: "8080", RuleType: ${ruleType}, Priority: 200 } }
${more}`;
}

async function run(text: string, ...words: readonly string[]) {
  const terminal = new MemoryTerminal({ "c.yaml": text });
  const [verb = "", ...rest] = words;
  const argv = [verb, "-f", "c.yaml", ...rest];
  const code = await runMullion({ argv, verbs: { verify, trace }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

async function walk(text: string, to: string): Promise<TraceReport> {
  return JSON.parse((await run(text, "trace", "pod/client", to, "-o", "json")).out) as TraceReport;
}

describe("an ACL that blocks a port of a pod", () => {
  it("on a Transparent network for the switch: sources do not settle it, so the flow is not judged", async () => {
    const text = clusterOf("Transparent", "Switch");
    const { verdict, notJudged } = await walk(text, "pod/guarded");
    expect(verdict).toBe("answered");
    expect(notJudged).toEqual([
      {
        code: "hns-policy-not-enforced",
        message:
          "pod/default/guarded has policies that HNS does not act on, ACL: ports of Transparent networks get no rules from this version",
      },
    ]);
    expect(await walk(text, "pod/open")).not.toHaveProperty("notJudged");
  });

  it("on a Transparent network for Windows Firewall: it holds, as documented", async () => {
    const report = await walk(clusterOf("Transparent", "Host"), "pod/guarded");
    expect(report).toMatchObject({ verdict: "not-delivered", code: "host-acl-blocked" });
    expect(report).not.toHaveProperty("notJudged");
  });

  it("on an L2Bridge network for the switch: it holds", async () => {
    const report = await walk(clusterOf("L2Bridge", "Switch"), "pod/guarded");
    expect(report).toMatchObject({ verdict: "not-delivered", code: "acl-rule-blocked" });
    expect(report).not.toHaveProperty("notJudged");
  });
});

it("verify does not judge what the cluster file expects of such a pod, and has a note of it otherwise", async () => {
  const wished = "expectations:\n  - { from: pod/client, to: pod/guarded, port: 8080, expect: denied }\n";
  const { code, out } = await run(clusterOf("Transparent", "Switch", wished), "verify", "-o", "json");
  const report = JSON.parse(out) as VerifyReport;
  expect(code).toBe(1);
  expect(report.findings.map((finding) => finding.code)).toEqual(["hns-policy-not-enforced"]);
  const own = report.cells.find(({ flow }) => flow === "cluster-file");
  expect(own).toMatchObject({
    verdict: "not-judged",
    expected: "denied",
    observed: expect.stringMatching(/^works/) as string,
  });
  const plain = await run(clusterOf("Transparent", "Switch"), "verify");
  expect(plain.out).toContain("[hns-policy-not-enforced]");
});
