/** The table of objects, and the changes that follow. Each step begins where the one before has ended. */
import type { HnsFault, HnsFaults } from "#hns/failures/faults/fault.ts";
import type { ServiceText, WrittenCluster } from "./cluster.ts";

/** The nodes on which both kube-proxies run, and what befalls them. */
export interface Nodes {
  /** On every HNS. */
  each(work: (faults: HnsFaults) => Promise<unknown>): Promise<void>;
  /** Lets every HNS have the fault until it has struck each of them, and a little longer. */
  during(fault: HnsFault, change: () => Promise<void>): Promise<void>;
  /** Ends every kube-proxy and starts it again. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
}

export interface Step {
  readonly name: string;
  readonly change: (cluster: WrittenCluster, nodes: Nodes) => Promise<void>;
}

type Spec = ServiceText["spec"];

const HTTP = { name: "http", port: 80, protocol: "TCP", targetPort: 8080 } as const;

function clusterIps(number: number): Spec {
  return {
    ports: [HTTP],
    clusterIP: `10.96.0.${number}`,
    clusterIPs: [`10.96.0.${number}`],
    ipFamilies: ["IPv4"],
    ipFamilyPolicy: "SingleStack",
  };
}

function dual(number: number): Spec {
  return {
    ports: [HTTP],
    clusterIP: `10.96.0.${number}`,
    clusterIPs: [`10.96.0.${number}`, `fd00:10:96::${number}`],
    ipFamilies: ["IPv4", "IPv6"],
    ipFamilyPolicy: "RequireDualStack",
  };
}

function nodePort(number: number, port: number): Spec {
  return { ...dual(number), type: "NodePort", ports: [{ ...HTTP, nodePort: port }] };
}

function balanced(number: number, port: number, more: Spec = {}): ServiceText {
  const spec = { ...dual(number), type: "LoadBalancer", ports: [{ ...HTTP, nodePort: port }], ...more };
  return { spec, ingress: [{ ip: `198.51.100.${number}` }, { ip: `2001:db8:9::${number}` }] };
}

const LOCAL: Spec = { externalTrafficPolicy: "Local", healthCheckNodePort: 32_001 };

function many(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `r${from + index}`).join(" ");
}

/**
 * Slices of both families. The second one has a pod of this node more: up to 1.35 load balancers of two families are
 * the same when their back ends are, and which of the two proxiers of a kube-proxy comes first is chance.
 */
async function slices(cluster: WrittenCluster, service: string, pods: string): Promise<void> {
  await cluster.slice(`${service}-4`, { pods });
  const [, state] = /(?:^| )\d+([~tx]?)/.exec(pods) ?? [];
  await cluster.slice(`${service}-6`, { pods: state === undefined ? pods : `${pods} 7${state}`, family: 6 });
}

async function makeTypes(cluster: WrittenCluster): Promise<void> {
  await cluster.service("web", { spec: clusterIps(20) });
  await cluster.slice("web-4", { pods: "4 r3" });
  await cluster.service("both", { spec: dual(21) });
  await slices(cluster, "both", "4 5 r3 r4");
  await cluster.service("node-port", { spec: nodePort(22, 30_022) });
  await slices(cluster, "node-port", "5 r5");
  await cluster.service("balanced", balanced(23, 30_023));
  await slices(cluster, "balanced", "4 r4");
  await cluster.service("balanced-local", balanced(24, 30_024, LOCAL));
  await slices(cluster, "balanced-local", "4 r4 r6");
  await cluster.service("far-local", balanced(25, 30_025, { ...LOCAL, healthCheckNodePort: 32_002 }));
  await slices(cluster, "far-local", "r4 r6");
}

async function makePolicies(cluster: WrittenCluster): Promise<void> {
  await cluster.service("inside-local", { spec: { ...dual(26), internalTrafficPolicy: "Local" } });
  await slices(cluster, "inside-local", "4 6 r6");
  await cluster.service("name", { spec: { type: "ExternalName", externalName: "example.com" } });
  await cluster.service("headless", { spec: { ports: [HTTP], clusterIP: "None", clusterIPs: ["None"] } });
  await cluster.slice("headless-4", { pods: "4 r3", labels: { "service.kubernetes.io/headless": "" } });
  const externalIPs = ["203.0.113.50", "2001:db8:5::50"];
  await cluster.service("outside", { spec: { ...dual(27), externalIPs } });
  await slices(cluster, "outside", "4 r3");
  const sticky = {
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
  };
  await cluster.service("sticky", { spec: { ...nodePort(28, 30_028), ...sticky } });
  await slices(cluster, "sticky", "4 r3");
  await cluster.service("empty", { spec: dual(29) });
  await cluster.service("nobody-ready", { spec: dual(30) });
  await slices(cluster, "nobody-ready", "4~ r3~");
  await cluster.service("large", { spec: clusterIps(31) });
  await cluster.slice("large-4", { pods: many(100, 65) });
}

async function makePorts(cluster: WrittenCluster): Promise<void> {
  await cluster.service("ports", {
    spec: {
      ...dual(32),
      ports: [
        HTTP,
        { name: "dns", port: 53, protocol: "UDP", targetPort: 5353 },
        { name: "named", port: 81, protocol: "TCP", targetPort: "web" },
        { name: "other", port: 82, protocol: "TCP", targetPort: 9000 },
      ],
    },
  });
  const ports = [
    { name: "http", port: 8080 },
    { name: "dns", port: 5353, protocol: "UDP" },
    { name: "named", port: 8081 },
    { name: "other", port: 9001 },
  ];
  await cluster.slice("ports-4", { pods: "4 r7", ports });
  await cluster.slice("ports-6", { pods: "4 r7", ports, family: 6 });
}

async function makeOddOnes(cluster: WrittenCluster): Promise<void> {
  await cluster.service("preserved", {
    ...balanced(33, 30_033),
    annotations: { "preserve-destination": "true" },
  });
  await slices(cluster, "preserved", "5 r5");
  await cluster.service("plain", { spec: dual(34), annotations: { winProxyOptimization: "Disabled" } });
  await slices(cluster, "plain", "5 r5 r8");
  await cluster.service("foreign", {
    spec: dual(35),
    labels: { "service.kubernetes.io/service-proxy-name": "other" },
  });
  await slices(cluster, "foreign", "5 r5");
  await cluster.service("stranger", { spec: clusterIps(36) });
  await cluster.slice("stranger-4", { pods: "o9 r5" });
  await cluster.service("absent-pod", { spec: dual(37) });
  await slices(cluster, "absent-pod", "9 4");
  await cluster.service("by-name", {
    spec: { ...balanced(38, 30_038).spec },
    ingress: [{ hostname: "lb.example.com" }, { ip: "198.51.100.38", ipMode: "Proxy" }],
  });
  await slices(cluster, "by-name", "4 r4");
}

async function makeTable(cluster: WrittenCluster): Promise<void> {
  for (const make of [makeTypes, makePolicies, makePorts, makeOddOnes]) await make(cluster);
}

export const STEPS: readonly Step[] = [
  { name: "all kinds of Services at once", change: makeTable },
  {
    name: "back ends come and go",
    change: async (cluster) => {
      await cluster.slice("web-4", { pods: "4 5 r3 r4" });
      await slices(cluster, "both", "5 r4");
      await slices(cluster, "node-port", "r5 r6");
      await slices(cluster, "plain", "5 r8 r9");
      await slices(cluster, "empty", "4");
    },
  },
  {
    name: "from 65 back ends to 2 and to 64",
    change: async (cluster) => {
      await cluster.slice("large-4", { pods: many(100, 2) });
      await slices(cluster, "both", many(120, 64));
    },
  },
  {
    name: "an endpoint that several Services share goes with the last one",
    change: async (cluster) => {
      await cluster.slice("web-4", { pods: "4" });
      await slices(cluster, "outside", "4");
    },
  },
  {
    name: "… and is gone",
    change: async (cluster) => {
      await slices(cluster, "sticky", "4");
      await cluster.slice("headless-4", { pods: "4", labels: { "service.kubernetes.io/headless": "" } });
    },
  },
  {
    name: "some back ends terminate",
    change: async (cluster) => {
      await slices(cluster, "balanced", "4t r4");
      await slices(cluster, "both", "5 r4t r3x");
      await slices(cluster, "balanced-local", "4t r4 r6");
      await slices(cluster, "node-port", "5t r5");
    },
  },
  {
    name: "all back ends terminate, and serve",
    change: async (cluster) => {
      await slices(cluster, "balanced", "4t r4t");
      await slices(cluster, "both", "5t r4t");
      await slices(cluster, "balanced-local", "4t r4t");
      await slices(cluster, "node-port", "5t r5t");
      await slices(cluster, "outside", "4t");
    },
  },
  {
    name: "all back ends terminate, and none serves",
    change: async (cluster) => {
      await slices(cluster, "balanced", "4x r4x");
      await slices(cluster, "both", "5x r4x");
      await slices(cluster, "balanced-local", "4x r4x");
      await slices(cluster, "node-port", "5x");
    },
  },
  {
    name: "new ones are ready",
    change: async (cluster) => {
      await slices(cluster, "balanced", "4x r4x 5 r10");
      await slices(cluster, "both", "5 r4");
      await slices(cluster, "balanced-local", "4 6 r4");
      await slices(cluster, "node-port", "5 r5");
      await slices(cluster, "outside", "4 r3");
    },
  },
  {
    name: "affinity comes, changes and goes",
    change: async (cluster) => {
      const timeout = (timeoutSeconds: number): Spec => ({
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds } },
      });
      await cluster.service("both", { spec: { ...dual(21), ...timeout(60) } });
      await cluster.service("sticky", { spec: { ...nodePort(28, 30_028), ...timeout(900) } });
      await cluster.service("node-port", { spec: { ...nodePort(22, 30_022), ...timeout(900) } });
    },
  },
  {
    name: "policies change sides",
    change: async (cluster) => {
      await cluster.service("balanced", balanced(23, 30_023, { ...LOCAL, healthCheckNodePort: 32_003 }));
      await cluster.service("balanced-local", balanced(24, 30_024));
      await cluster.service("inside-local", { spec: dual(26) });
      await cluster.service("outside", {
        spec: { ...dual(27), internalTrafficPolicy: "Local", externalIPs: ["203.0.113.50"] },
      });
    },
  },
  {
    name: "addresses of the outside change",
    change: async (cluster) => {
      const externalIPs = ["203.0.113.51", "2001:db8:5::51", "203.0.113.52"];
      await cluster.service("outside", { spec: { ...dual(27), externalIPs } });
      await cluster.service("balanced-local", {
        ...balanced(24, 30_024),
        ingress: [{ ip: "198.51.100.124" }, { ip: "198.51.100.224", ipMode: "VIP" }],
      });
      await cluster.service("by-name", {
        spec: balanced(38, 30_038).spec,
        ingress: [{ ip: "198.51.100.38" }],
      });
    },
  },
  {
    name: "types and ports change",
    change: async (cluster) => {
      await cluster.service("node-port", { spec: nodePort(22, 30_122) });
      await cluster.service("sticky", { spec: { ...dual(28), type: "ClusterIP" } });
      await cluster.service("web", { spec: { ...clusterIps(20), ports: [{ ...HTTP, port: 8000 }] } });
      await cluster.service("both", { spec: { ...dual(21), ports: [{ ...HTTP, targetPort: 8081 }] } });
      await slices(cluster, "empty", "4 5");
    },
  },
  {
    name: "a port of the slices changes, and one comes",
    change: async (cluster) => {
      const ports = [
        { name: "http", port: 8090 },
        { name: "dns", port: 5353, protocol: "UDP" },
        { name: "named", port: 8091 },
      ];
      await cluster.slice("ports-4", { pods: "4 r7", ports });
      await cluster.slice("ports-6", { pods: "4 r7", ports, family: 6 });
    },
  },
  {
    name: "two slices list one address",
    change: async (cluster) => {
      await cluster.slice("web-4", { pods: "4 r3" });
      await cluster.slice("web-more", { pods: "r3t 4x r9" });
      await cluster.slice("both-more", { pods: "5x r4" });
    },
  },
  {
    name: "a pod moves to this node, and another away",
    change: async (cluster) => {
      await slices(cluster, "node-port", "7 5");
      await cluster.slice("web-more", { pods: "r9 r15" });
      await slices(cluster, "plain", "r8");
    },
  },
  {
    name: "Services go, slices stay; slices go, Services stay",
    change: async (cluster) => {
      await cluster.remove("Service", "plain");
      await cluster.remove("Service", "balanced");
      await cluster.remove("EndpointSlice", "both-4");
      await cluster.remove("EndpointSlice", "both-6");
      await cluster.remove("EndpointSlice", "node-port-6");
    },
  },
  {
    name: "Services come back with other addresses",
    change: async (cluster) => {
      await cluster.service("plain", { spec: dual(44) });
      await cluster.service("balanced", balanced(43, 30_043));
      await slices(cluster, "both", "4 r3");
    },
  },
  {
    name: "two Services in one change, with what they share",
    change: async (cluster) => {
      await slices(cluster, "inside-local", "4");
      await slices(cluster, "far-local", "r4");
      await cluster.remove("Service", "preserved");
      await cluster.remove("EndpointSlice", "preserved-4");
      await cluster.remove("EndpointSlice", "preserved-6");
    },
  },
  {
    name: "HNS refuses load balancers for a while",
    change: async (cluster, nodes) => {
      const calls = { operation: "create", kind: "LoadBalancer" } as const;
      await nodes.during({ effect: "fail", error: "HCN_E_INVALID_NETWORK", calls }, async () => {
        await cluster.service("late", { spec: nodePort(50, 30_050) });
        await slices(cluster, "late", "4 r30");
        await slices(cluster, "outside", "4 5 r3");
      });
    },
  },
  {
    name: "HNS refuses remote endpoints for a while",
    change: async (cluster, nodes) => {
      const calls = { operation: "create", kind: "Endpoint" } as const;
      await nodes.during({ effect: "fail", error: "HCN_E_ADDR_INVALID_OR_RESERVED", calls }, () =>
        slices(cluster, "late", "4 r30 r31"),
      );
      await slices(cluster, "late", "4 r30 r31 r32");
    },
  },
  {
    name: "HNS does not delete load balancers for a while",
    change: async (cluster, nodes) => {
      const calls = { operation: "delete", kind: "LoadBalancer" } as const;
      await nodes.during({ effect: "fail", error: "0x80070005", calls }, () =>
        cluster.remove("Service", "late"),
      );
    },
  },
  {
    name: "HNS has forgotten its load balancers",
    change: async (cluster, nodes) => {
      await nodes.each((faults) => faults.forgetLoadBalancers());
      await slices(cluster, "outside", "5 r3");
    },
  },
  {
    name: "kube-proxy starts again, and Services have changed meanwhile",
    change: (cluster, nodes) =>
      nodes.restart(async () => {
        await cluster.remove("Service", "large");
        await cluster.remove("EndpointSlice", "large-4");
        await slices(cluster, "outside", "4 r40");
      }),
  },
];
