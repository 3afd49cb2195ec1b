// Each item of the documentation's troubleshooting list that concerns flannel (windows-networking-documentation.md §9), as an
// example: it fails as described, is found, explained, and green after the fix.
import { readFileSync, readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { explain } from "./explain/explain.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";
import { trace } from "./trace.ts";
import { verify } from "./verify.ts";

const FILES = Object.fromEntries(
  readdirSync("examples")
    .filter((name) => name.startsWith("trouble-"))
    .flatMap((name) => readdirSync(`examples/${name}`).map((file) => `examples/${name}/${file}`))
    .map((path) => [path, readFileSync(path, "utf8")]),
);

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(...argv: readonly string[]): Promise<Run> {
  const terminal = new MemoryTerminal(FILES);
  const verbs = { trace, verify, lint, explain };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

interface Trouble {
  readonly name: string;
  /** Of windows-networking-documentation.md §9. */
  readonly row: number;
  /** Who is in trouble, and why, as `verify` finds it. */
  readonly found: Readonly<Record<string, string>>;
  /** Codes of `mullion lint`, without a cluster. */
  readonly linted: readonly string[];
  /** Words of the remedy. */
  readonly remedy: Readonly<Record<string, string>>;
}

const TROUBLES: readonly Trouble[] = [
  {
    name: "rejoin",
    row: 5,
    found: { "bring-up node/win-1": "kube-proxy-source-vip-invalid" },
    linted: ["kube-proxy-source-vip-invalid"],
    remedy: { "kube-proxy-source-vip-invalid": "SourceVipRequest.json" },
  },
  {
    name: "network-late",
    row: 6,
    found: { "bring-up node/win-1": "flannel-network-not-ready", "bring-up pod/": "subnet-env-missing" },
    linted: [],
    remedy: { "flannel-network-not-ready": "Start flanneld again" },
  },
  {
    name: "subnet-env",
    row: 7,
    found: { "bring-up node/win-1": "flannel-interface-missing", "bring-up pod/": "subnet-env-missing" },
    linted: [],
    remedy: { "flannel-interface-missing": "--iface", "subnet-env-missing": "Bring flanneld up" },
  },
  {
    name: "exception-list",
    row: 2,
    found: { "cluster-file pod/default/till": "outbound-nat-exception" },
    linted: ["cni-exception-list-external", "cni-exception-list-without-services"],
    remedy: {
      "outbound-nat-exception": "exception",
      "cni-exception-list-without-services": "delete the pods afterwards",
    },
  },
  {
    name: "hostname",
    row: 4,
    found: { "bring-up node/win-1": "kube-proxy-hostname-override-missing" },
    linted: ["kube-proxy-hostname-override-missing"],
    remedy: { "kube-proxy-hostname-override-missing": "--hostname-override" },
  },
];

describe.each(TROUBLES)("row $row: examples/trouble-$name", ({ name, found, linted, remedy }) => {
  const broken = `examples/trouble-${name}/cluster.yaml`;
  const fixed = `examples/trouble-${name}/fixed.yaml`;
  let answer: Run;
  let report: VerifyReport;
  beforeAll(async () => {
    answer = await run("verify", "-f", broken, "-o", "json");
    report = JSON.parse(answer.out) as VerifyReport;
  });

  it("fails, and verify says why", () => {
    expect(answer.code).toBe(1);
    const findings = report.findings.map(({ cell, code }) => {
      const { flow, from } = report.cells[cell ?? -1] ?? { flow: "", from: "" };
      return [`${flow} ${from}`, code];
    });
    for (const [who, code] of Object.entries(found))
      expect(findings).toContainEqual([expect.stringContaining(who), code]);
  });

  it("is explained with its remedy", async () => {
    for (const [code, words] of Object.entries(remedy)) {
      const { code: exit, out } = await run("explain", code);
      expect(exit).toBe(0);
      expect(out.replaceAll(/\s+/g, " ")).toContain(words);
    }
  });

  it("is green after the fix", async () => {
    const { code, out, err } = await run("verify", "-f", fixed, "-o", "json");
    expect([code, err]).toEqual([0, ""]);
    const { counts } = JSON.parse(out) as VerifyReport;
    expect(counts.findings).toBe(0);
    expect(counts.works).toBeGreaterThan(report.counts.works);
  });

  it("lint says as much as a file alone can show, and nothing after the fix", async () => {
    const codesOf = async (file: string): Promise<readonly string[]> => {
      const { out } = await run("lint", file, "--format", "json");
      const { findings } = JSON.parse(out) as { readonly findings: readonly { readonly code: string }[] };
      return [...new Set(findings.map((finding) => finding.code))].toSorted();
    };
    expect(await codesOf(broken)).toEqual(linted);
    expect(await codesOf(fixed)).toEqual([]);
  });
});

describe("what a trace shows", () => {
  const EXCEPTIONS = "examples/trouble-exception-list/cluster.yaml";

  it("an excepted host outside never answers, and the walk names the policy", async () => {
    const { code, out } = await run("trace", "-f", EXCEPTIONS, "pod/till", "external", "--port", "443");
    expect(code).toBe(1);
    expect(out).toContain("mullion explain outbound-nat-exception");
  });

  it("without the nodes' subnet a pod's answer leaves with its node's address", async () => {
    const { code, out } = await run("trace", "-f", EXCEPTIONS, "node/win-2", "pod/till");
    expect(code).toBe(1);
    expect(out).toContain("ip.src 10.244.0.3 → 10.0.0.11");
  });

  it("KP-L3 with another name of the node, a Service whose policies are both Local has no back end there", async () => {
    const front = async (file: string): Promise<Run> =>
      run("trace", "-f", `examples/trouble-hostname/${file}.yaml`, "node/win-1", "service/front");
    const broken = await front("cluster");
    expect(broken.code).toBe(1);
    expect(broken.out).toContain("service-without-back-ends");
    expect((await front("fixed")).code).toBe(0);
  });

  it("KP-L1 KP-L2 others keep their back ends, local ones too: HNS says what is local", async () => {
    const { code } = await run(
      "trace",
      "-f",
      "examples/trouble-hostname/cluster.yaml",
      "node/win-1",
      "service/stock",
    );
    expect(code).toBe(0);
  });
});
