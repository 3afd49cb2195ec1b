// Flows that something of the real cluster could change: tried, and not judged. Text, JUnit and counts.
import { beforeAll, describe, expect, it } from "vitest";
import { validateTrace, validateVerification } from "#test/support/cluster/report-schemas.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import type { FlowEnd, FlowLimit } from "#cluster/session/flow-limit.ts";
import type { ClusterSession } from "#cluster/session/session.ts";
import { formatTrace } from "#cluster/trace/format-trace.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { formatJunit } from "./junit.ts";
import { formatVerification } from "./format-verify.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
pods:
  - { name: guarded, node: win-1 }
  - { name: web, node: win-1 }
  - { name: other, node: win-1 }
  - { name: client, node: linux-1 }
---
apiVersion: v1
kind: Service
metadata: { name: guarded }
spec: { clusterIP: 10.96.0.20, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: guarded-1, labels: { kubernetes.io/service-name: guarded } }
addressType: IPv4
ports: [{ name: "", port: 8080, protocol: TCP }]
endpoints: [{ addresses: [10.244.1.3], targetRef: { kind: Pod, name: guarded, namespace: default } }]
`;

function isGuarded({ reference }: FlowEnd): boolean {
  return reference === "pod/default/guarded";
}

/** Something keeps packets from the pod guarded, and nobody here knows which. */
const GUARD: FlowLimit = {
  code: "manifest-kind-unknown",
  message: "a guard stands before some pods",
  where: { file: "guard.yaml", line: 3, column: 1, field: "" },
  covers: ({ answerers }) => answerers.some(isGuarded),
  reasonFor: ({ answerers }) => ({
    code: "manifest-kind-unknown",
    message: `a guard stands before ${answerers.find(isGuarded)?.reference ?? ""}`,
  }),
  kindOf: (flowEnd) => (isGuarded(flowEnd) ? "guarded" : ""),
};

let session: ClusterSession;
let report: VerifyReport;

beforeAll(async () => {
  const read = readInput([{ name: "shop.yaml", text: CLUSTER }]);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join());
  ({ session } = await openSession({ ...read.input, limits: [GUARD] }));
  report = verifyCluster(session.cluster, undefined, { limits: session.limits() });
});

describe("a flow that is not judged", () => {
  it("is tried, says what came of it, and names what stands in the way", () => {
    const unjudged = report.cells.filter(({ verdict }) => verdict === "not-judged");
    const cell = unjudged.find(({ flow, from, protocol }) => {
      return flow === "pod-to-pod-ip" && from === "pod/default/client" && protocol === "tcp";
    });
    expect(cell).toMatchObject({ to: "pod/default/guarded", observed: "works", attempts: 1 });
    expect(cell?.notJudged).toEqual([
      {
        limit: 0,
        code: "manifest-kind-unknown",
        message: "a guard stands before pod/default/guarded",
      },
    ]);
    // By address, by name, through its Service, from nodes and from outside: all of them, and nothing else.
    const asked = report.cells.filter(({ verdict }) => verdict !== "not-tried");
    expect(asked.filter(({ to }) => to.endsWith("default/guarded"))).toEqual(unjudged);
    expect(unjudged.map(({ flow }) => flow)).toEqual(
      expect.arrayContaining(["pod-to-cluster-ip", "pod-to-pod-name", "node-to-pod"]),
    );
  });

  it("counts for neither side, and is one finding for each cause", () => {
    const { counts, basis, findings, cells } = report;
    const unjudged = cells.filter(({ verdict }) => verdict === "not-judged");
    expect(counts.notJudged).toBe(unjudged.length);
    expect(counts.works + counts.denied + counts.notApplicable + counts.notJudged).toBe(cells.length);
    const flows = unjudged.reduce((sum, { standsFor }) => sum + standsFor, 0);
    expect(basis.notJudged).toMatchObject([{ message: GUARD.message, where: GUARD.where, flows }]);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ about: "guard.yaml:3:1", limit: 0, code: "manifest-kind-unknown" });
    expect(findings[0]?.observed).toMatch(
      new RegExp(`^${flows} flows are not judged: ${GUARD.message}; for example pod/`),
    );
  });

  it("never stands for pods that are judged, nor they for it", () => {
    const plain = verifyCluster(session.cluster, undefined, {});
    expect(plain.counts.cells).toBe(report.counts.cells);
    const pairs = report.cells.filter(({ flow, protocol }) => flow === "pod-to-pod-ip" && protocol === "udp");
    const standing = pairs.filter(({ verdict }) => verdict === "not-judged");
    // The three others, and the two of CoreDNS.
    expect(standing.reduce((sum, { standsFor }) => sum + standsFor, 0)).toBe(5);
    expect(pairs.reduce((sum, { standsFor }) => sum + standsFor, 0)).toBe(6 * 5);
  });

  it("shows in the table, in what the answer rests on, and in its last line", () => {
    const text = formatVerification(report);
    expect(text).toContain(
      "  unjudged  guard.yaml:3:1: a guard stands before some pods [manifest-kind-unknown]",
    );
    expect(text).toMatch(
      /^ {2}Windows → Windows, same node +not judged +not judged +not judged +\d of \d not judged$/m,
    );
    expect(text).toMatch(/, not judged: \d+\.\n\d+ flows not judged\.\n$/);
    expect(text).toContain("  not judged: guard.yaml:3:1\n");
    expect(text).not.toContain("Observed and expected agree");
  });

  it("is skipped in JUnit, and its cause is a failure", () => {
    const xml = formatJunit(report);
    const { notJudged } = report.counts;
    expect(xml.match(/<skipped message="not judged: a guard stands before/g)).toHaveLength(notJudged);
    expect(xml).toContain('<testsuite name="input" tests="1" failures="1" skipped="0">');
    expect(xml).toContain('<property name="not judged"');
  });

  it("is told of in JSON as the published schema says", () => {
    const allowed = { ...report, findings: report.findings.map((each) => ({ ...each, allowed: true })) };
    for (const each of [report, allowed]) {
      validateVerification(JSON.parse(JSON.stringify(each)));
      expect(validateVerification.errors).toBeNull();
    }
  });

  it("is said by a trace, whose outcome stays", () => {
    const request = { from: "pod/client", to: "service/guarded", protocol: "tcp", port: undefined } as const;
    const trace = tracePacket(session.cluster, request, session.limits()).report;
    expect(trace.verdict).toBe("answered");
    expect([validateTrace(JSON.parse(JSON.stringify(trace))), validateTrace.errors]).toEqual([true, null]);
    expect(trace.notJudged?.map(({ message }) => message)).toEqual([
      "a guard stands before pod/default/guarded",
    ]);
    expect(formatTrace(trace)).toMatch(
      /\nNot judged: a guard stands before pod\/default\/guarded\.\nWhat that means: mullion explain manifest-kind-unknown\n$/,
    );
    const free = tracePacket(session.cluster, { ...request, to: "pod/web", port: 8080 }, session.limits());
    expect(free.report).not.toHaveProperty("notJudged");
  });
});
