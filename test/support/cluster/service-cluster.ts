/** A cluster with Services of all sorts, for tests that look at what they do. */
import type { Cluster } from "#cluster/cluster.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { openSession } from "#cluster/session/open-session.ts";

export interface ServiceClusterOptions {
  /** Of both Windows nodes. */
  readonly build?: string;
  readonly enableDSR?: boolean;
  /** Further lines of the cluster file, in place of those for kube-proxy. */
  readonly more?: string;
  /** Back ends of the Service `web`. Default 3. */
  readonly replicas?: number;
}

/** Two Windows nodes and a Linux node, a pool for load balancers, a host outside with a name. */
export function serviceClusterFile({
  build = "ws2022",
  enableDSR = false,
  more = `kubeProxy: { enableDSR: ${enableDSR} }`,
}: ServiceClusterOptions = {}): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: services }
kubernetes: { version: "1.34" }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11 }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
${more}
loadBalancers: { pool: 198.51.100.0/28 }
`;
}

function deployment(name: string, os: string, replicas: number, ports: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers: [{ name: c, image: server, ports: [${ports}] }]
`;
}

function service(name: string, spec: string): string {
  return `\napiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\nspec: { ${spec} }\n`;
}

/** `web` has back ends on both Windows nodes, `solo` on one of them, `orders` on Linux; `client` asks. */
export function serviceManifests({ replicas = 3 }: ServiceClusterOptions = {}): string {
  const toWeb = "selector: { app: web }";
  const toSolo = "selector: { app: solo }";
  const webPorts = "ports: [{ port: 80, targetPort: 8080 }]";
  const soloPort = (nodePort: number): string =>
    `ports: [{ port: 80, targetPort: 8081, nodePort: ${nodePort} }]`;
  return [
    deployment("web", "windows", replicas, "{ containerPort: 8080 }, { containerPort: 5353, protocol: UDP }"),
    deployment("solo", "windows", 1, "{ containerPort: 8081, hostPort: 18081 }"),
    deployment("orders", "linux", 2, "{ containerPort: 8082 }"),
    deployment("client", "windows", 2, "{ containerPort: 8083 }"),
    service(
      "web",
      `${toWeb}, ports: [{ name: http, port: 80, targetPort: 8080 }, { name: dns, port: 53, targetPort: 5353, protocol: UDP }]`,
    ),
    service("orders", "selector: { app: orders }, ports: [{ port: 80, targetPort: 8082 }]"),
    service(
      "public",
      `type: LoadBalancer, ${toWeb}, ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }]`,
    ),
    service("local", `type: LoadBalancer, externalTrafficPolicy: Local, ${toSolo}, ${soloPort(30081)}`),
    service(
      "sticky",
      `${toWeb}, sessionAffinity: ClientIP, sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } }, ${webPorts}`,
    ),
    service("headless", `clusterIP: None, ${toWeb}, ports: [{ port: 80, targetPort: 8080 }]`),
    service("outside", "type: ExternalName, externalName: www.example.com"),
    "\napiVersion: v1\nkind: Pod\nmetadata: { name: wishes }\nspec: { hostNetwork: true, nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: x }] }\n",
  ].join("---");
}

/** The cluster, up and quiet. */
export async function openServiceCluster(options: ServiceClusterOptions = {}): Promise<Cluster> {
  const read = readInput([
    { name: "cluster.yaml", text: serviceClusterFile(options) },
    { name: "manifests.yaml", text: serviceManifests(options) },
  ]);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("\n"));
  return (await openSession(read.input)).session.cluster;
}
