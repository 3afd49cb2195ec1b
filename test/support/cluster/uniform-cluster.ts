/**
 * A cluster whose nodes differ in what they call their own and in nothing else: each runs a pod of every DaemonSet, and one
 * of a Deployment that is spread evenly. Same size, same text.
 */
import type { InputText } from "#cluster/session/session.ts";

export interface UniformSize {
  readonly nodes: number;
  /** Pods on each node: half of a DaemonSet, half of a Deployment. */
  readonly podsPerNode: number;
  /** Behind the last workload. Default: behind all. */
  readonly services?: number;
}

/** Three of five nodes are Windows. */
const [WINDOWS, OF] = [3, 5];

/** The name of node `index`, from 0. */
export function uniformNode(index: number): string {
  return index % OF < WINDOWS ? `win-${index + 1}` : `lnx-${index + 1}`;
}

function nodeLine(index: number): string {
  const name = uniformNode(index);
  const os = name.startsWith("win") ? "windows" : "linux";
  return `  - { name: ${name}, os: ${os}, address: 172.20.${index >> 7}.${10 + (index & 127)} }`;
}

function podText(node: number, workload: number): string {
  const name = uniformNode(node);
  const isDaemon = workload % 2 === 0;
  const os = name.startsWith("win") ? "win" : "lnx";
  const owner = isDaemon
    ? `{ apiVersion: apps/v1, kind: DaemonSet, name: agent-${workload}, uid: d-${workload}, controller: true }`
    : `{ apiVersion: apps/v1, kind: ReplicaSet, name: app-${workload}-${os}, uid: r-${workload}-${os}, controller: true }`;
  return `---
apiVersion: v1
kind: Pod
metadata:
  name: w${workload}-on-${name}
  labels: { app: w${workload} }
  ownerReferences: [${owner}]
spec: { nodeName: ${name}, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }
`;
}

function serviceText(workload: number): string {
  return `---
apiVersion: v1
kind: Service
metadata: { name: service-${workload} }
spec: { selector: { app: w${workload} }, ports: [{ port: 80, targetPort: 8080 }] }
`;
}

/** The files of the cluster. */
export function uniformCluster({
  nodes,
  podsPerNode,
  services = podsPerNode,
}: UniformSize): readonly InputText[] {
  const places = Array.from({ length: nodes }, (_, index) => index);
  const workloads = Array.from({ length: podsPerNode }, (_, index) => index);
  const cluster = [
    "apiVersion: mullion/v1alpha1",
    "kind: Cluster",
    "metadata: { name: uniform }",
    "underlay: { subnet: 172.20.0.0/16 }",
    "nodes:",
    ...places.map(nodeLine),
    "",
  ].join("\n");
  const objects = [
    ...places.flatMap((node) => workloads.map((workload) => podText(node, workload))),
    ...workloads.slice(0, services).map(serviceText),
  ].join("");
  return [
    { name: "cluster.yaml", text: cluster },
    { name: "objects.yaml", text: objects },
  ];
}
