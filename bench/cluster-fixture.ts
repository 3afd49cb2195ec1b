/**
 * A cluster of any size as its users would write it: a cluster file, and manifests of workloads of 10 to 50 replicas
 * with a Service each. Same size, same text.
 */
import { Prng } from "#core/base/prng.ts";
import type { InputText } from "#cluster/session/session.ts";

export interface ClusterSize {
  readonly nodes: number;
  readonly pods: number;
}

/** The sizes that are measured: a laptop's test cluster, a large one, and ten times what most people run. */
export const CLUSTER_SIZES: readonly ClusterSize[] = [
  { nodes: 3, pods: 30 },
  { nodes: 100, pods: 3_000 },
  { nodes: 500, pods: 15_000 },
];

const WINDOWS_SHARE = 0.6;
const REPLICAS_MIN = 10;
const REPLICAS_MAX = 50;
/** Of so many Services one is a NodePort. */
const NODE_PORT_EVERY = 20;
/** Of so many Services one has a UDP port beside its TCP port. */
const UDP_EVERY = 10;
const NAMESPACES = 8;
const NODES_PER_SUBNET = 250;
const FIRST_HOST = 4;

function nodesYaml(count: number): string {
  const windows = Math.round(count * WINDOWS_SHARE);
  const lines = Array.from({ length: count }, (_, index) => {
    const address = `10.0.${Math.floor(index / NODES_PER_SUBNET)}.${FIRST_HOST + (index % NODES_PER_SUBNET)}`;
    const isWindows = index < windows;
    const name = isWindows ? `win-${index + 1}` : `linux-${index - windows + 1}`;
    const os = isWindows ? "windows, build: ws2022" : "linux";
    return `  - { name: ${name}, os: ${os}, address: ${address} }`;
  });
  return lines.join("\n");
}

function clusterYaml(nodes: number): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: bench }
kubernetes: { version: "1.34" }
underlay: { subnet: 10.0.0.0/16 }
network: { clusterCIDR: 10.240.0.0/12 }
nodes:
${nodesYaml(nodes)}
`;
}

interface Workload {
  readonly name: string;
  readonly namespace: string;
  readonly os: "windows" | "linux";
  readonly replicas: number;
  readonly isNodePort: boolean;
  readonly hasUdp: boolean;
}

/** Workloads whose replicas add up to `pods`. */
function workloadsFor(pods: number): readonly Workload[] {
  const prng = new Prng(1);
  const workloads: Workload[] = [];
  for (let left = pods; left > 0; ) {
    const index = workloads.length;
    // A small cluster has several workloads, too.
    const most = Math.min(REPLICAS_MAX, Math.max(REPLICAS_MIN, Math.floor(pods / 3)));
    const wanted = REPLICAS_MIN + prng.below(most - REPLICAS_MIN + 1);
    // The last one takes what is left, so that none is smaller than the smallest.
    const replicas = left - wanted < REPLICAS_MIN ? left : wanted;
    workloads.push({
      name: `app-${index}`,
      namespace: `team-${index % NAMESPACES}`,
      os: index % 10 < WINDOWS_SHARE * 10 ? "windows" : "linux",
      replicas,
      isNodePort: index % NODE_PORT_EVERY === 0,
      hasUdp: index % UDP_EVERY === UDP_EVERY - 1,
    });
    left -= replicas;
  }
  return workloads;
}

function portsOf(hasUdp: boolean): string {
  const tcp = "{ name: http, port: 80, targetPort: 8080 }";
  return hasUdp ? `[${tcp}, { name: stats, port: 8125, targetPort: 8125, protocol: UDP }]` : `[${tcp}]`;
}

/** A Deployment and its Service. */
export function workloadYaml({ name, namespace, os, replicas, isNodePort, hasUdp }: Workload): string {
  return `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  namespace: ${namespace}
  labels: { app: ${name} }
spec:
  replicas: ${replicas}
  selector:
    matchLabels: { app: ${name} }
  template:
    metadata:
      labels: { app: ${name}, tier: backend }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers:
        - name: server
          image: registry.example.com/${name}:1.0
          ports:
            - containerPort: 8080
---
apiVersion: v1
kind: Service
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  type: ${isNodePort ? "NodePort" : "ClusterIP"}
  selector: { app: ${name} }
  ports: ${portsOf(hasUdp)}
`;
}

export interface GeneratedCluster {
  readonly texts: readonly InputText[];
  readonly services: number;
  readonly windowsNodes: number;
  /** The first Deployment with one replica more. */
  readonly scaled: InputText;
}

export function generateCluster({ nodes, pods }: ClusterSize): GeneratedCluster {
  const workloads = workloadsFor(pods);
  const [first] = workloads;
  if (first === undefined) throw new RangeError("a cluster has at least one pod");
  const namespaces = Array.from(
    { length: NAMESPACES },
    (_, index) => `---\napiVersion: v1\nkind: Namespace\nmetadata: { name: team-${index} }\n`,
  );
  return {
    texts: [
      { name: "cluster.yaml", text: clusterYaml(nodes) },
      { name: "workloads.yaml", text: [...namespaces, ...workloads.map(workloadYaml)].join("") },
    ],
    services: workloads.length,
    windowsNodes: Math.round(nodes * WINDOWS_SHARE),
    scaled: { name: "scaled.yaml", text: workloadYaml({ ...first, replicas: first.replicas + 1 }) },
  };
}
