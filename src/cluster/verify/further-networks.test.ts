// Services and names for pods of further networks (kube-proxy.md §1.1, §3.4, §8 row B5; dataplane.md §2.2.3, §2.3, §2.4 B-8).
import { describe, expect, it } from "vitest";
import type { RunningCluster } from "../session/running-cluster.ts";
import { readInput } from "../input/read-input.ts";
import { openSession } from "../session/open-session.ts";
import { tracePacket } from "../trace/trace.ts";
import { readModel } from "./model-of-cluster.ts";
import type { VerifyCell, VerifyReport } from "./report.ts";
import { verifyCluster } from "./verify.ts";

const SERVICES = ["web", "blue"]
  .map(
    (app) => `---
apiVersion: v1
kind: Service
metadata: {name: ${app}}
spec: {selector: {app: ${app}}, ports: [{port: 80, targetPort: 8080}]}
`,
  )
  .join("");

interface Variant {
  readonly first: string;
  readonly further: string;
  readonly enableDSR: boolean;
}

/** `web` has its pods in the first network, `blue` in a further one; each has one on both Windows nodes. */
function clusterOf({ first, further, enableDSR }: Variant): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: further}
quirks: {l2bridge-dsr-kb5005619: off}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: win-2, os: windows, address: 10.0.0.12}
  - {name: linux-1, os: linux, address: 10.0.0.21}
network: {name: main, driver: ${first}}
networks: [{name: blue, driver: ${further}, clusterCIDR: 172.20.0.0/16}]
kubeProxy: {enableDSR: ${enableDSR}}
pods:
  - {name: web, node: win-1, labels: {app: web}}
  - {name: web-2, node: win-2, labels: {app: web}}
  - {name: client, node: win-1}
  - {name: blue, node: win-1, network: blue, labels: {app: blue}}
  - {name: blue-2, node: win-2, network: blue, labels: {app: blue}}
  - {name: blue-client, node: win-1, network: blue}
`;
}

async function open(variant: Variant): Promise<RunningCluster> {
  const read = readInput([
    { name: "cluster.yaml", text: clusterOf(variant) },
    { name: "services.yaml", text: SERVICES },
  ]);
  if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
  return (await openSession(read.input)).session;
}

/** What came of the cells of pods that ask a Service, by flow: `works`, a code or `not-applicable`; each once. */
function outcomes(report: VerifyReport, from: string, service: string): Record<string, readonly string[]> {
  const cells = report.cells.filter(
    (cell: VerifyCell) =>
      cell.from.startsWith(`pod/default/${from}`) &&
      cell.to === `service/default/${service}` &&
      cell.protocol === "tcp",
  );
  return Object.fromEntries(
    [...new Set(cells.map(({ flow }) => flow))].map((flow) => {
      const words = cells
        .filter((cell) => cell.flow === flow)
        .map(({ expected, code = "" }) => (expected === "denied" ? code : expected));
      return [flow, [...new Set(words)]];
    }),
  );
}

const BRIDGED: Variant = { first: "L2Bridge", further: "L2Bridge", enableDSR: false };
const OTHER = "service-back-end-in-other-network";

const VARIANTS: readonly (Variant & { readonly toBlue: string })[] = [
  { ...BRIDGED, toBlue: "works" },
  { ...BRIDGED, enableDSR: true, toBlue: "works" },
  { first: "Overlay", further: "Overlay", enableDSR: false, toBlue: OTHER },
  { first: "Overlay", further: "Overlay", enableDSR: true, toBlue: OTHER },
  { first: "L2Bridge", further: "NAT", enableDSR: false, toBlue: OTHER },
];

describe.each(VARIANTS)(
  "a further $further network beside $first, DSR $enableDSR",
  ({ toBlue, ...variant }) => {
    it("KP-B5 its pods reach Services of the first network, by name, too; its own are no back ends", async () => {
      const session = await open(variant);
      const report = verifyCluster(session.cluster, readModel(session.cluster));
      expect(report.findings).toEqual([]);
      const fromBlue = outcomes(report, "blue", "web");
      expect(fromBlue["pod-to-cluster-ip"]).toEqual(["works"]);
      expect(fromBlue["pod-to-service-full-name"]).toEqual(["works"]);
      expect(outcomes(report, "web", "blue")["pod-to-cluster-ip"]).toEqual([toBlue]);
      // kube-proxy of each node leaves its own pod out, and says so.
      expect(session.notes().map(({ code, message }) => [code, message])).toEqual([
        [
          OTHER,
          "kube-proxy serves network main and leaves out pods of its node in network blue (Service default/blue on win-1, win-2)",
        ],
      ]);
    });
  },
);

describe("a trace to a Service whose pods nobody reaches", () => {
  it.each(["Overlay", "NAT"])("names the back end and its network: %s", async (further) => {
    const first = further === "NAT" ? "L2Bridge" : further;
    const { cluster } = await open({ first, further, enableDSR: false });
    const { report } = tracePacket(cluster, {
      from: "pod/client",
      to: "service/blue",
      protocol: "tcp",
      port: 80,
    });
    expect(report).toMatchObject({ code: OTHER });
    expect(report.summary).toMatch(
      /back end default\/blue-2 is in network blue, and kube-proxy serves main\.$/,
    );
  });
});
