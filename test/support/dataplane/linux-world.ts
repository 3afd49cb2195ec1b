/**
 * Two Linux nodes with pods, an outside host, and Services on them: the smallest cluster in which every rule of a Linux
 * node has something to do.
 */
import type { Cluster, ClusterPod } from "#cluster/cluster.ts";
import { LinuxServices } from "#cluster/services/linux-services.ts";
import { EchoProbe, TcpProbe, UdpProbe, type ProbeResult } from "#dataplane/host/probes/probe.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Netfilter } from "#dataplane/host/netfilter/netfilter.ts";
import { invertTuple } from "#dataplane/host/netfilter/tuple.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { formatIp } from "#core/net/ip.ts";
import { EventList, ip } from "./stack-world.ts";
import { openTestCluster } from "../cluster/walk.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: linux}
underlay:
  subnet: 10.0.0.0/24
  router: 10.0.0.1
  routes:
    - {to: 10.96.0.0/12, via: 10.0.0.21}
    - {to: 198.51.100.0/24, via: 10.0.0.21}
outside:
  - {name: external, address: 203.0.113.10, ports: [{port: 443}, {port: 53, protocol: UDP}]}
nodes:
  - {name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.1.0/24}
  - {name: lin-2, os: linux, address: 10.0.0.22, podCIDR: 10.244.2.0/24}
network: {plugin: win-bridge, routes: static}
pods:
  - {name: a, node: lin-1, address: 10.244.1.10, ports: [{port: 8080}, {port: 53, protocol: UDP}]}
  - {name: b, node: lin-1, address: 10.244.1.11, ports: [{port: 8080}, {port: 53, protocol: UDP}]}
  - {name: c, node: lin-2, address: 10.244.2.10, ports: [{port: 8080}, {port: 53, protocol: UDP}]}
  - {name: mapped, node: lin-1, address: 10.244.1.20, ports: [{port: 8080, hostPort: 9000}]}
`;

export const CLUSTER_IP = "10.96.0.10";

export interface LinuxWorld {
  readonly cluster: Cluster;
  readonly services: LinuxServices;
}

/** The cluster with a proxy on both nodes and no Service. */
export async function openLinuxWorld(): Promise<LinuxWorld> {
  const cluster = await openTestCluster(CLUSTER);
  const services = new LinuxServices(cluster.file.network.clusterCIDR);
  for (const { spec, host } of cluster.nodes)
    services.addNode({ name: spec.name, zone: undefined, address: spec.address, compartment: host.root });
  return { cluster, services };
}

/** What a test says of a Service; the rest is `default/web`, TCP 80 and UDP 53. */
export type ServiceSpec = NonNullable<Service["spec"]>;

export function makeService(spec: Partial<ServiceSpec> = {}, status: Service["status"] = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default", uid: "web-uid", resourceVersion: "1" },
    spec: {
      clusterIP: CLUSTER_IP,
      ports: [
        { name: "http", port: 80, targetPort: 8080, nodePort: 30_080 },
        { name: "dns", port: 53, protocol: "UDP", nodePort: 30_053 },
      ],
      type: "NodePort",
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** An endpoint of the test: the name of a pod of the world, and its conditions. */
export interface EndpointChoice {
  readonly pod: string;
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
  readonly zones?: readonly string[];
}

const PODS: Readonly<Record<string, readonly [address: string, node: string]>> = {
  a: ["10.244.1.10", "lin-1"],
  b: ["10.244.1.11", "lin-1"],
  c: ["10.244.2.10", "lin-2"],
  "lin-1": ["10.0.0.21", "lin-1"],
};

export function makeSlice(...endpoints: readonly (EndpointChoice | string)[]): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web-1", namespace: "default", uid: "web-1-uid", resourceVersion: "1" },
    addressType: "IPv4",
    ports: [
      { name: "http", port: 8080, protocol: "TCP" },
      { name: "dns", port: 53, protocol: "UDP" },
    ],
    endpoints: endpoints.map((choice) => {
      const { pod, zones, ...conditions } =
        typeof choice === "string" ? ({ pod: choice } as EndpointChoice) : choice;
      const [address = "", nodeName = ""] = PODS[pod] ?? [];
      const hints = zones === undefined ? {} : { hints: { forZones: zones.map((name) => ({ name })) } };
      return { addresses: [address], nodeName, conditions: { ready: true, ...conditions }, ...hints };
    }),
  };
}

export function stackOf(world: LinuxWorld, name: string): Compartment {
  const pod = world.cluster.pods.find(({ spec }) => spec.name === name);
  const node = world.cluster.nodes.find(({ spec }) => spec.name === name);
  const outside = world.cluster.outside.find((host) => host.name === name);
  return (pod?.compartment ?? node?.host.root ?? outside?.compartment)!;
}

export function podOf(world: LinuxWorld, name: string): ClusterPod {
  return world.cluster.pods.find(({ spec }) => spec.name === name)!;
}

export function netfilterOf(world: LinuxWorld, node: string): Netfilter {
  return stackOf(world, node).netfilter!;
}

/** Calls `to` from `from` and runs until the call has ended. */
export function call(
  world: LinuxWorld,
  from: string,
  to: string,
  port: number,
  options: {
    readonly protocol?: "tcp" | "udp" | "icmp";
    readonly sourcePort?: number;
    readonly isFollowed?: boolean;
  } = {},
): ProbeResult {
  const { protocol = "tcp", ...rest } = options;
  const request = { compartment: stackOf(world, from), destination: ip(to), port, ...rest };
  const classes = { tcp: TcpProbe, udp: UdpProbe, icmp: EchoProbe };
  const probe = new classes[protocol](request);
  probe.start();
  while (probe.result === undefined && world.cluster.clock.step());
  return probe.result!;
}

/** What the server said, in short: who answered and which client address it saw. */
export function say(result: ProbeResult): string {
  if (result.outcome !== "answered") return `${result.outcome}: ${result.detail}`;
  return result.answer.trim().replace(/:\d+$/, "");
}

/** Hears everything that is followed from now on. */
export function listen(world: LinuxWorld): EventList {
  const events = new EventList();
  world.cluster.env.recorder = events;
  return events;
}

/** What a connection table holds, one line each: as the client sent it, as the back end sees it. */
export function connectionLines(world: LinuxWorld, node: string): readonly string[] {
  return netfilterOf(world, node)
    .connections.list(world.cluster.clock.nowMs)
    .map(({ original, reply }) => {
      const seen = invertTuple(reply);
      const name = (tuple: FiveTuple): string =>
        `${formatIp(tuple.source)}→${formatIp(tuple.destination)}:${tuple.destinationPort}`;
      return `${name(original)} as ${name(seen)}`;
    });
}
