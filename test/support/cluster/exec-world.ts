/** A small cluster whose machines run commands, each in a copy: a Windows pod, a Linux pod that answers, and names for it. */
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { execute } from "#cluster/exec/exec.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { raiseTwin } from "./naive-twin.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
`;

function pod(name: string, os: string): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, labels: {app: ${name}}}
spec:
  nodeSelector: {kubernetes.io/os: ${os}}
  containers: [{name: c, image: example.invalid/c, ports: [{containerPort: 80}]}]`;
}

const MANIFESTS = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
${pod("storefront", "windows")}${pod("tux", "linux")}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.20, selector: {app: tux}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: shortcut, namespace: shop}
spec: {type: ExternalName, externalName: web.shop.svc.cluster.local}`;

export interface ExecWorld {
  readonly cluster: Cluster;
  /** One word is a line, as shells take it. */
  readonly report: (command: string | readonly string[], from?: string) => ExecReport;
  /** What was printed, without the ends of Windows' lines. */
  readonly lines: (command: string | readonly string[], from?: string) => readonly string[];
}

export async function makeExecWorld(): Promise<ExecWorld> {
  const { cluster } = await raiseTwin([
    { name: "c.yaml", text: CLUSTER },
    { name: "m.yaml", text: MANIFESTS },
  ]);
  const report: ExecWorld["report"] = (command, from = "pod/shop/storefront") =>
    execute(forkCluster(cluster), { from, command: typeof command === "string" ? [command] : command });
  const lines: ExecWorld["lines"] = (command, from) =>
    report(command, from).stdout.split("\r\n").slice(0, -1);
  return { cluster, report, lines };
}
