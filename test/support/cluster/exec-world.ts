/** A small cluster whose machines run commands, each in a copy: a Windows pod, a Linux pod that answers, and names for it. */
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { execute } from "#cluster/exec/exec.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { encodeAscii } from "#dataplane/host/services/ascii.ts";
import type { TcpAcceptor, TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import { raiseTwin } from "./naive-twin.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: shop}
nodes:
  - {name: win-1, os: windows, build: ws2022, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
`;

function pod(name: string, os: string, more = ""): string {
  return `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, labels: {app: ${name}}}
spec:
  nodeSelector: {kubernetes.io/os: ${os}}
  containers: [{name: c, image: example.invalid/c, ports: [{containerPort: 80}]}]${more}`;
}

const MANIFESTS = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
${pod("storefront", "windows")}${pod("tux", "linux", "\n  hostAliases: [{ip: 192.0.2.7, hostnames: [depot, depot.example]}]")}
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

/** Sends every client one line that is not HTTP, as many servers greet. */
class GreetingServer implements TcpAcceptor, TcpOwner {
  tcpAccepted(): TcpOwner {
    return this;
  }

  tcpConnected(connection: TcpConnection): void {
    connection.send(encodeAscii("220 ready\n"));
    connection.close();
  }

  tcpData(): void {
    // Says one thing, whatever it hears.
  }

  tcpPeerFinished(): void {
    // Closed already.
  }

  tcpClosed(): void {
    // Nothing is kept per client.
  }
}

/** Where the Linux node greets. */
export const GREETING_PORT = 2_525;

export interface ExecWorld {
  readonly cluster: Cluster;
  /** One word is a line, as shells take it. */
  readonly report: (command: string | readonly string[], from?: string) => ExecReport;
  /** What was printed, without the ends of Windows' lines. */
  readonly lines: (command: string | readonly string[], from?: string) => readonly string[];
  /** The lines of several commands, one after the other in one copy. */
  readonly sequence: (commands: readonly string[], from: string) => readonly (readonly string[])[];
}

function linesOf({ stdout }: ExecReport): readonly string[] {
  return stdout.split(/\r?\n/).slice(0, -1);
}

export async function makeExecWorld(): Promise<ExecWorld> {
  const { cluster } = await raiseTwin([
    { name: "c.yaml", text: CLUSTER },
    { name: "m.yaml", text: MANIFESTS },
  ]);
  const root = cluster.nodes.find(({ spec }) => spec.name === "linux-1")?.host.root;
  root?.tcp.listen({ port: GREETING_PORT, acceptor: new GreetingServer() });
  const report: ExecWorld["report"] = (command, from = "pod/shop/storefront") =>
    execute(forkCluster(cluster), { from, command: typeof command === "string" ? [command] : command });
  const lines: ExecWorld["lines"] = (command, from) => linesOf(report(command, from));
  const sequence: ExecWorld["sequence"] = (commands, from) => {
    const copy = forkCluster(cluster);
    return commands.map((command) => linesOf(execute(copy, { from, command: [command] })));
  };
  return { cluster, report, lines, sequence };
}
