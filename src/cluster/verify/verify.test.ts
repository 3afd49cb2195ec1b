import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { validateVerification } from "#test/support/cluster/report-schemas.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";
import { RequestError } from "../request-error.ts";
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import { formatJunit } from "#diagnose/verify-text/junit.ts";
import { readModel } from "./model-of-cluster.ts";
import type { VerifyCell, VerifyReport } from "./report.ts";
import { verifyCluster } from "./verify.ts";

async function verifyText(text: string): Promise<VerifyReport> {
  const cluster = await openTestCluster(text);
  return verifyCluster(cluster, readModel(cluster));
}

function example(name: string): string {
  return readFileSync(`examples/${name}/cluster.yaml`, "utf8");
}

/** Flow, protocol, systems, and how it came out, each once. */
function outcomes(report: VerifyReport, flow: VerifyCell["flow"]): readonly string[] {
  const cells = report.cells.filter((cell) => cell.flow === flow);
  const lines = cells.map((cell) => {
    const how = cell.expected === "denied" ? (cell.code ?? "") : cell.expected;
    return `${cell.protocol} ${cell.fromSystem} → ${cell.toSystem}, ${cell.relation}: ${how}, ${cell.verdict}`;
  });
  return [...new Set(lines)];
}

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: small }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
pods:
  - { name: a, node: win-1 }
  - { name: b, node: win-1 }
  - { name: c, node: win-2 }
  - { name: d, node: linux-1 }
  - { name: e, node: linux-1 }
`;

describe.each([
  "two-windows-nodes",
  "mixed-nodes",
  "node-subnet",
  "driver-overlay",
  "driver-l2tunnel",
  "azure-vnet",
  "azure-l2tunnel",
  "azure-l2bridge",
  "cloud-routes-l2bridge",
  "aks-node-subnet",
  "aks-overlay",
  "driver-transparent",
  "driver-nat",
  "docker-nat",
  "windows-server-ipam",
])("verify of examples/%s", (name) => {
  it("finds nothing, says it in valid JSON, in text of 100 columns, in JUnit, and the same twice", async () => {
    const report = await verifyText(example(name));
    expect(report.findings).toEqual([]);
    expect(report.counts.works).toBeGreaterThan(20);
    expect(
      validateVerification(JSON.parse(JSON.stringify(report))),
      JSON.stringify(validateVerification.errors),
    ).toBe(true);
    const text = formatVerification(report);
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
    expect(text).toContain("Observed and expected agree.");
    const xml = formatJunit(report);
    expect(xml.match(/<testcase /g)?.length).toBe(report.cells.length);
    const again = await verifyText(example(name));
    expect(JSON.stringify(again)).toBe(JSON.stringify(report));
  });
});

describe("the flows between pods, nodes and the outside", () => {
  it("are tried for each relation and protocol (windows-networking-documentation.md §3)", async () => {
    const report = await verifyText(CLUSTER);
    const rows = [
      "ws2022 → ws2022, same-node",
      "ws2022 → ws2022, other-node",
      "ws2022 → linux, other-node",
    ].concat("linux → ws2022, other-node", "linux → linux, same-node");
    const expected = rows.flatMap((row) =>
      ["tcp", "udp", "icmp"].map((each) => `${each} ${row}: works, as-expected`),
    );
    expect(outcomes(report, "pod-to-pod-ip").toSorted()).toEqual(expected.toSorted());
    expect(outcomes(report, "pod-to-external-ip")).toEqual([
      "tcp ws2022 → outside, outside: works, as-expected",
      "udp ws2022 → outside, outside: works, as-expected",
      "icmp ws2022 → outside, outside: icmp-outbound-not-translated, as-expected",
      "tcp linux → outside, outside: works, as-expected",
      "udp linux → outside, outside: works, as-expected",
      "icmp linux → outside, outside: works, as-expected",
    ]);
  });

  it("stand for all equal pairs", async () => {
    const report = await verifyText(CLUSTER);
    const pairs = report.cells.filter((cell) => cell.flow === "pod-to-pod-ip" && cell.protocol === "udp");
    expect(pairs.reduce((sum, { standsFor }) => sum + standsFor, 0)).toBe(5 * 4);
    const covered = new Set(
      report.cells.filter(({ protocol }) => protocol === "tcp").map(({ from }) => from),
    );
    for (const name of ["a", "b", "c", "d", "e"]) expect(covered).toContain(`pod/default/${name}`);
  });

  it("leave the cluster as it was", async () => {
    const cluster = await openTestCluster(CLUSTER);
    const before = cluster.clock.nowMs;
    const answered = cluster.pods.map((pod) => pod.server.answeredCount);
    verifyCluster(cluster, readModel(cluster));
    expect(cluster.clock.nowMs).toBe(before);
    expect(cluster.pods.map((pod) => pod.server.answeredCount)).toEqual(answered);
  });

  it("grow with the pods, not with their square", async () => {
    const pods = (count: number): string =>
      Array.from(
        { length: count },
        (_, index) => `  - { name: p${index}, node: win-${1 + (index % 2)} }\n`,
      ).join("");
    const head = CLUSTER.slice(0, CLUSTER.indexOf("pods:"));
    const small = await verifyText(`${head}pods:\n${pods(10)}`);
    const large = await verifyText(`${head}pods:\n${pods(40)}`);
    expect(large.counts.cells).toBeGreaterThan(10 * small.counts.cells);
    expect(large.counts.attempts - small.counts.attempts).toBe(30);
  });
});

describe("pods that differ from all others", () => {
  it("are tried with the plain ones, not with each other", async () => {
    const pods = (count: number): string =>
      Array.from({ length: count }, (_, index) => {
        const settings = `{ ExternalPort: ${20_000 + index}, InternalPort: 8080, Protocol: 6 }`;
        return `  - { name: p${index}, node: win-${1 + (index % 2)}, policies: [{ Type: PortMapping, Settings: ${settings} }] }\n`;
      }).join("");
    const small = await verifyText(`${CLUSTER}${pods(12)}`);
    const large = await verifyText(`${CLUSTER}${pods(24)}`);
    expect(large.findings).toEqual([]);
    expect(large.counts.tried).toBeLessThan(2.2 * small.counts.tried);
  });
});

describe("what is denied", () => {
  it("EX-EXCEPTED: an outside address on the exception list, proved by its code", async () => {
    const report = await verifyText(
      `${CLUSTER}network:\n  outboundNAT: { exceptions: [10.244.0.0/16, 10.0.0.0/24, 203.0.113.0/24] }\n`,
    );
    expect(report.findings).toEqual([]);
    expect(outcomes(report, "pod-to-external-ip").slice(0, 2)).toEqual([
      "tcp ws2022 → outside, outside: outbound-nat-exception, as-expected",
      "udp ws2022 → outside, outside: outbound-nat-exception, as-expected",
    ]);
  });

  it("PP-NO-ROUTE: no routes between the nodes", async () => {
    const report = await verifyText(`${CLUSTER}network: { routes: none }\n`);
    expect(report.findings).toEqual([]);
    expect(outcomes(report, "pod-to-pod-ip")).toContain(
      "tcp ws2022 → ws2022, other-node: no-route, as-expected",
    );
    expect(outcomes(report, "pod-to-pod-ip")).toContain("tcp ws2022 → ws2022, same-node: works, as-expected");
  });

  it("does not apply to pods with access rules of their own", async () => {
    const report = await verifyText(example("mixed-nodes"));
    const guarded = report.cells.filter(({ to }) => to === "pod/default/guarded");
    expect(new Set(guarded.map(({ row }) => row))).toEqual(new Set(["OWN-RULES"]));
  });
});

describe("expectations of the cluster file", () => {
  const own = (lines: string): Promise<VerifyReport> =>
    verifyText(`${example("mixed-nodes")}\nexpectations:\n${lines}`);

  it("take the place of the table's", async () => {
    const report = await own(
      "  - { from: pod/web, to: pod/guarded, port: 8080, expect: works }\n" +
        "  - { from: web, to: guarded, port: 9090, expect: denied, code: acl-rule-blocked }\n" +
        "  - { from: web, to: guarded, protocol: icmp, expect: denied }\n",
    );
    expect(report.findings).toEqual([]);
    expect(
      report.cells.filter(({ flow }) => flow === "cluster-file").map(({ row, verdict }) => [row, verdict]),
    ).toEqual([
      ["expectations[0]", "as-expected"],
      ["expectations[1]", "as-expected"],
      ["expectations[2]", "as-expected"],
    ]);
    const same = report.cells.filter(
      ({ from, to, port, name }) =>
        name === undefined && from.endsWith("/web") && to.endsWith("/guarded") && port === 8080,
    );
    expect(same.map(({ flow }) => flow)).toEqual(["cluster-file"]);
  });

  it.each([
    ["expect: works, port: 9090", "works", "timed-out: no answer within 10000 ms", "acl-rule-blocked"],
    ["expect: denied, port: 8080", "denied", /^works: guarded saw 10\.244\.1\.3:/, undefined],
    [
      "expect: denied, code: no-route, port: 9090",
      "denied: no-route",
      "denied: acl-rule-blocked",
      "acl-rule-blocked",
    ],
  ])("%s: a finding with both", async (words, expected, observed, code) => {
    const report = await own(`  - { from: pod/web, to: pod/guarded, ${words} }\n`);
    expect(report.findings).toHaveLength(1);
    const [finding] = report.findings;
    expect(finding?.expected).toBe(expected);
    expect(finding?.observed).toMatch(observed);
    expect(finding?.code).toBe(code);
    expect(finding?.trace).toMatch(/^pod\/default\/web pod\/default\/guarded --port \d+$/);
    expect(formatVerification(report)).toContain("Findings");
    expect(formatJunit(report).match(/<failure /g)).toHaveLength(1);
  });

  it.each(["{ from: nobody, to: pod/web, expect: works }", "{ from: pod/web, to: 10.9.9.9, expect: works }"])(
    "%s is refused with what to do",
    async (line) => {
      await expect(own(`  - ${line}\n`)).rejects.toThrow(RequestError);
    },
  );
});
