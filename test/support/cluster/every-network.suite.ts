/**
 * One small cluster on every build, with every driver, with and without DSR: what the documentation promises answers, as
 * often as the manifests say, and what is denied has a page that says so. Whole in `test:long`, a slice in the fast tests.
 */
import { expect } from "vitest";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { getEntry } from "#diagnose/catalogue/catalogue.ts";

export type Build = "ws2019" | "1903" | "2004" | "ws2022" | "23h2" | "ws2025";
export const BUILDS: readonly Build[] = ["ws2019", "1903", "2004", "ws2022", "23h2", "ws2025"];

export type NetworkName =
  | "L2Bridge"
  | "L2Bridge in the nodes' subnet"
  | "L2Tunnel"
  | "Overlay"
  | "Transparent"
  | "NAT";

/** What the network of a cluster file says, and which pods can do what in it. */
interface NetworkRow {
  readonly text: string;
  /** Pods have addresses of the nodes' subnet. */
  readonly isNodeSubnet: boolean;
  /** kube-proxy serves it (dataplane.md §2.6, §2.7). */
  readonly hasServices: boolean;
}

export const NETWORKS: Readonly<Record<NetworkName, NetworkRow>> = {
  L2Bridge: { text: "{ driver: L2Bridge }", isNodeSubnet: false, hasServices: true },
  "L2Bridge in the nodes' subnet": {
    text: "{ driver: L2Bridge, shape: node-subnet, plugin: hns }",
    isNodeSubnet: true,
    hasServices: true,
  },
  L2Tunnel: { text: "{ driver: L2Tunnel }", isNodeSubnet: true, hasServices: true },
  Overlay: { text: "{ driver: Overlay }", isNodeSubnet: false, hasServices: true },
  Transparent: { text: "{ driver: Transparent }", isNodeSubnet: true, hasServices: false },
  NAT: { text: "{ driver: NAT }", isNodeSubnet: false, hasServices: false },
};

const MANIFESTS = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: client }
spec:
  selector: { matchLabels: { app: client } }
  template:
    metadata: { labels: { app: client } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: client, image: client }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: web, image: server, ports: [{ containerPort: 8080 }] }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: orders }
spec:
  selector: { matchLabels: { app: orders } }
  template:
    metadata: { labels: { app: orders } }
    spec:
      nodeSelector: { kubernetes.io/os: linux }
      containers: [{ name: orders, image: server, ports: [{ containerPort: 8082 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { type: NodePort, selector: { app: web }, ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: orders }
spec: { selector: { app: orders }, ports: [{ port: 80, targetPort: 8082 }] }
`;

function clusterFile(build: Build, network: NetworkRow, enableDSR: boolean): string {
  const range = (third: number): string => (network.isNodeSubnet ? `, podCIDR: 10.0.${third}.0/24` : "");
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: every-network }
kubernetes: { version: "1.34" }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11${range(1)} }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12${range(2)} }
  - { name: linux-1, os: linux, address: 10.0.0.21${range(3)} }
kubeProxy: { enableDSR: ${enableDSR} }
underlay: { subnet: 10.0.0.0/16 }
network: ${network.text}
`;
}

async function verifyNetwork(build: Build, network: NetworkRow, enableDSR: boolean): Promise<VerifyReport> {
  const read = readInput([
    { name: "cluster.yaml", text: clusterFile(build, network, enableDSR) },
    { name: "manifests.yaml", text: MANIFESTS },
  ]);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  const { session } = await openSession(read.input);
  const { cluster } = session;
  return verifyCluster(cluster, readModel(cluster), { troubles: session.troubles() });
}

interface Promised {
  readonly flow: VerifyCell["flow"];
  /** Cells of the full matrix, over TCP. */
  readonly answers: number;
  readonly needsServices: boolean;
}

/**
 * Four Windows pods ask for two Services of one and two back ends, and the outside for the NodePort of three nodes
 * (windows-networking-documentation.md §3, §5, §6, §8). A name is asked for at kube-dns, a Service as well.
 */
const PROMISES: readonly Promised[] = [
  { flow: "pod-to-cluster-ip", answers: 12, needsServices: true },
  { flow: "pod-to-service-short-name", answers: 8, needsServices: true },
  { flow: "pod-to-service-full-name", answers: 8, needsServices: true },
  { flow: "pod-to-external-name", answers: 4, needsServices: true },
  { flow: "pod-to-external-ip", answers: 4, needsServices: false },
  { flow: "outside-to-node-port", answers: 3, needsServices: true },
];

/** What the documentation denies of them: the code in place of an answer. */
function denialOf(
  { flow }: Promised,
  build: Build,
  network: NetworkName,
): { readonly code: string; readonly answers: number } | undefined {
  // windows-networking-documentation.md §5: NodePort on overlay fails where the asked node runs Server 2022; Linux's answers.
  if (flow === "outside-to-node-port" && network === "Overlay" && build === "ws2022")
    return { code: "node-port-on-overlay-server-2022", answers: 1 };
  // What leaves a NAT network of HNS on Server 2019 is dropped, a defect that is on by default (dataplane.md §9).
  if (flow === "pod-to-external-ip" && network === "NAT" && build === "ws2019")
    return { code: "hns-nat-denies-outbound", answers: 0 };
  return undefined;
}

function cellsOf(report: VerifyReport, { flow }: Promised): readonly VerifyCell[] {
  return report.cells.filter(
    (cell) => cell.flow === flow && cell.protocol === "tcp" && cell.fromSystem !== "linux",
  );
}

function sumOf(cells: readonly VerifyCell[]): number {
  return cells.reduce((sum, { standsFor }) => sum + standsFor, 0);
}

/** Checks one combination. @returns how many flows answered. */
export async function checkNetwork(build: Build, name: NetworkName, enableDSR: boolean): Promise<number> {
  const network = NETWORKS[name];
  const report = await verifyNetwork(build, network, enableDSR);
  expect(report.findings).toEqual([]);
  let answered = 0;
  for (const promised of PROMISES) {
    const cells = cellsOf(report, promised);
    const works = cells.filter(({ expected }) => expected === "works");
    const denial = denialOf(promised, build, name);
    const isAsked = network.hasServices || !promised.needsServices;
    expect([promised.flow, sumOf(works)]).toEqual([
      promised.flow,
      isAsked ? (denial?.answers ?? promised.answers) : 0,
    ]);
    // `verdict` says that what was expected was also seen.
    expect(works.filter(({ verdict }) => verdict !== "as-expected")).toEqual([]);
    const codes = new Set(cells.flatMap(({ expected, code }) => (expected === "denied" ? [code] : [])));
    expect([promised.flow, ...codes]).toEqual([
      promised.flow,
      ...(denial === undefined ? [] : [denial.code]),
    ]);
    answered += sumOf(works);
  }
  for (const { code, documentedIn } of report.cells.filter(({ expected }) => expected === "denied")) {
    expect(documentedIn).toMatch(/§/);
    if (code !== undefined) expect(getEntry(code).sources.length).toBeGreaterThan(0);
  }
  return answered;
}
