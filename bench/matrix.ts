/**
 * What does `mullion verify` cost on clusters of different sizes, from manifests to report? The floor is one connection
 * between two pods of the same cluster: the matrix may cost as many of them as it makes attempts, and not pods².
 * Set BENCH_LARGE=1 for 500 nodes and 15 000 pods as well, which takes minutes and about 4 GiB.
 */
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";
import { runAttempt } from "#cluster/trace/attempts.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { publishFigure } from "./measure.ts";

interface Size {
  readonly nodes: number;
  readonly pods: number;
  readonly services: number;
}

const SIZES: readonly Size[] = [
  { nodes: 3, pods: 30, services: 6 },
  { nodes: 100, pods: 3_000, services: 100 },
];
const LARGE: Size = { nodes: 500, pods: 15_000, services: 500 };
const ATTEMPTS = 200;

/** Two thirds of the nodes, and of the deployments, are Windows. */
function clusterFile({ nodes }: Size): string {
  const lines = Array.from({ length: nodes }, (_, index) => {
    const os = index < (nodes * 2) / 3 ? "windows" : "linux";
    const address = `172.16.${1 + Math.floor(index / 200)}.${10 + (index % 200)}`;
    return `  - { name: n${index}, os: ${os}, address: ${address} }\n`;
  });
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: bench }
network: { clusterCIDR: 10.128.0.0/9 }
underlay: { subnet: 172.16.0.0/16, router: 172.16.0.1 }
nodes:
${lines.join("")}`;
}

function manifests({ pods, services }: Size): string {
  const each = Array.from({ length: services }, (_, index) => {
    const name = `app${index}`;
    const os = index % 3 === 2 ? "linux" : "windows";
    return `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${Math.floor(pods / services)}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { selector: { app: ${name} }, ports: [{ port: 80, targetPort: 8080 }] }
`;
  });
  return each.join("---\n");
}

function elapsedMs(since: bigint): number {
  return Number(process.hrtime.bigint() - since) / 1e6;
}

/** Milliseconds of one connection between two pods, repeated in a copy. */
function connectionMs(cluster: Cluster): number {
  const copy = forkCluster(cluster);
  const [from, to] = [copy.pods[0], copy.pods.at(-1)];
  if (from === undefined || to === undefined) return Number.NaN;
  const attempt = {
    from: from.compartment,
    to: to.address,
    protocol: "tcp",
    port: 8080,
    isFollowed: false,
  } as const;
  const started = process.hrtime.bigint();
  for (let index = 0; index < ATTEMPTS; index++) runAttempt(copy, attempt);
  return elapsedMs(started) / ATTEMPTS;
}

async function measureSize(size: Size): Promise<string> {
  const read = readInput([
    { name: "cluster.yaml", text: clusterFile(size) },
    { name: "manifests.yaml", text: manifests(size) },
  ]);
  if (!("input" in read)) throw new Error("the cluster of a benchmark can be read");
  const opened = process.hrtime.bigint();
  const { session } = await openSession(read.input);
  const openMs = elapsedMs(opened);
  const floorMs = connectionMs(session.cluster);
  const verified = process.hrtime.bigint();
  const { counts } = verifyCluster(session.cluster, readModel(session.cluster));
  const verifyMs = elapsedMs(verified);
  globalThis.gc?.();
  const heapMiB = process.memoryUsage().heapUsed / 2 ** 20;
  const perAttempt = verifyMs / counts.attempts;
  publishFigure("The matrix", `an attempt, ${size.nodes} nodes`, perAttempt / floorMs);
  return [
    `  ${size.nodes} nodes, ${size.pods} pods, ${size.services} Services: ${counts.cells} cells`,
    `    bring-up ${openMs.toFixed(0)} ms, matrix ${verifyMs.toFixed(0)} ms, heap of the cluster ${heapMiB.toFixed(0)} MiB`,
    `    ${counts.attempts} attempts of ${perAttempt.toFixed(2)} ms, ${(perAttempt / floorMs).toFixed(1)} × a connection of ${floorMs.toFixed(2)} ms; findings: ${counts.findings}`,
  ].join("\n");
}

export async function run(): Promise<void> {
  process.stdout.write("\nThe matrix\n");
  const sizes = process.env["BENCH_LARGE"] === "1" ? [...SIZES, LARGE] : SIZES;
  for (const size of sizes) process.stdout.write(`${await measureSize(size)}\n`);
}
