/** What the control API of a large cluster answers, by path: documents as large as a real one's, made from nothing. */

export const NODES = 1_000;
export const PODS = 50_000;
const SERVICES = 2_000;
/** Flows of each kind that a dump of that size has (`planVerification` over test/support/cluster/large-dump.ts). */
const FLOWS: readonly (readonly [flow: string, count: number])[] = [
  ["pod-to-pod-ip", 50_000],
  ["pod-to-cluster-ip", 8_000],
  ["pod-to-service-full-name", 4_000],
  ["pod-to-external-ip", 1_000],
  ["node-to-pod", 1_000],
  ["pod-to-node", 1_000],
];

function numbered(prefix: string, index: number): string {
  return `${prefix}-${String(index).padStart(5, "0")}`;
}

function podOf(index: number): string {
  return `pod/${numbered("team", index % 20)}/${numbered("web", index)}-5b8d9c8877-x${index % 97}`;
}

/** Who asks whom: as in a real plan nearly every pod asks once, and is asked once. */
function endsOf(flow: string, index: number): readonly [from: string, to: string] {
  const pod = podOf((index * 7) % PODS);
  const node = `node/${numbered("node", index % NODES)}`;
  if (flow === "node-to-pod") return [node, pod];
  if (flow === "pod-to-node") return [pod, node];
  if (flow === "pod-to-external-ip") return [pod, "external"];
  if (flow !== "pod-to-pod-ip") return [pod, `service/${numbered("service", index % SERVICES)}`];
  return [podOf(index), podOf((index * 31 + 17) % PODS)];
}

function verification(): object {
  const cells = FLOWS.flatMap(([flow, count]) =>
    Array.from({ length: count }, (_, index) => {
      const [from, to] = endsOf(flow, index);
      return {
        flow,
        protocol: index % 3 === 0 ? "udp" : "tcp",
        relation: "other-node",
        from,
        to,
        standsFor: 1 + (index % 50),
        port: 8_080,
        fromSystem: index % 5 < 3 ? "ws2022" : "linux",
        toSystem: flow.includes("service") || flow.includes("cluster-ip") ? "service" : "ws2022",
        expected: index % 9 === 0 ? "denied" : "works",
        row: "PP-OTHER-NODE",
        verdict: index % 500 === 3 ? "finding" : "as-expected",
        documentedIn: "windows-networking-documentation.md §3, dataplane.md §2.4 B-1, B-2",
        attempts: 1,
      };
    }),
  );
  const findings = cells.flatMap(({ verdict }, cell) =>
    verdict === "finding" ? [{ cell, expected: "it works", observed: "no answer" }] : [],
  );
  const counts = {
    cells: cells.length,
    tried: cells.length,
    works: cells.length - findings.length,
    denied: 0,
    notApplicable: 0,
    notJudged: 0,
    findings: findings.length,
    attempts: cells.length,
  };
  const nothing = { contradictions: [], assumptions: [], refused: [], notJudged: [], notes: [] };
  return {
    cluster: "large",
    compat: ["upstream"],
    basis: { facts: [], ...nothing },
    counts,
    cells,
    findings,
  };
}

/** HNS of a node that knows each pod of the cluster behind a Service, as kube-proxy leaves it in overlay mode. */
function hnsAnswers(): readonly (readonly [path: string, text: string])[] {
  const id = (kind: number, index: number): string =>
    `0000000${kind}-0000-0000-0000-${String(index).padStart(12, "0")}`;
  const own = PODS / NODES;
  const lists: Readonly<Record<string, readonly object[]>> = {
    networks: [{ ID: id(1, 0), Name: "vxlan0", Type: "Overlay" }],
    endpoints: Array.from({ length: PODS }, (_, index) => ({
      ID: id(2, index),
      Name: index < own ? numbered("pod", index) : `Ethernet_${numbered("remote", index)}`,
      HostComputeNetwork: id(1, 0),
      ...(index < own ? { HostComputeNamespace: id(3, index) } : {}),
      IpConfigurations: [{ IpAddress: `10.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}` }],
    })),
    namespaces: Array.from({ length: own }, (_, index) => ({
      ID: id(3, index),
      pods: [numbered("team/web", index)],
    })),
    loadbalancers: Array.from({ length: SERVICES * 2 }, (_, index) => ({
      ID: id(4, index),
      FrontendVIPs: [`10.96.${index >> 8}.${index & 255}`],
      PortMappings: [{ ExternalPort: 80, Protocol: 6 }],
      HostComputeEndpoints: Array.from({ length: 25 }, (_each, offset) =>
        id(2, (index * 25 + offset) % PODS),
      ),
    })),
  };
  return Object.entries(lists).map(([kind, items]) => [
    `/v1alpha1/hns/${kind}`,
    JSON.stringify({ apiVersion: "mullion/v1alpha1", kind: "HnsList", items }),
  ]);
}

/** What the control API answers, by path. */
export function answersOfLargeCluster(): ReadonlyMap<string, string> {
  const document = { apiVersion: "mullion/v1alpha1" };
  const nodes = Array.from({ length: NODES }, (_, index) => ({
    name: numbered("node", index),
    os: index % 5 < 3 ? "windows" : "linux",
    ...(index % 5 < 3 ? { build: "ws2022" } : {}),
    address: `10.${index >> 8}.${index & 255}.11`,
    podCIDR: `10.${64 + (index >> 8)}.${index & 255}.0/24`,
    compat: "upstream",
    pods: PODS / NODES,
  }));
  const pods = Array.from({ length: PODS }, (_, index) => ({
    namespace: numbered("team", index % 20),
    name: `${numbered("web", index)}-5b8d9c8877-x${index % 97}`,
    node: numbered("node", index % NODES),
    address: `10.64.${(index >> 8) & 255}.${index & 255}`,
    phase: index % 1_000 === 7 ? "Pending" : "Running",
    ...(index % 1_000 === 7 ? { trouble: "ContainerCreating" } : {}),
  }));
  const list = (items: readonly object[]): string =>
    JSON.stringify({ apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items });
  const conditions = [{ type: "Ready", status: "True" }];
  const outside = [{ name: "external", address: "203.0.113.10" }];
  const summary = { name: "large", kubernetes: "1.34", seed: 1, atMs: 0, nodes, pods: PODS, outside };
  return new Map([
    ...hnsAnswers(),
    ["/v1alpha1/verify", JSON.stringify({ ...document, kind: "Verification", ...verification() })],
    ["/v1alpha1/cluster", JSON.stringify({ ...document, kind: "ClusterSummary", ...summary })],
    ["/v1alpha1/pods", JSON.stringify({ ...document, kind: "PodSummaryList", items: pods })],
    [
      "/v1alpha1/objects/nodes",
      list(nodes.map(({ name }) => ({ kind: "Node", metadata: { name }, status: { conditions } }))),
    ],
    [
      "/v1alpha1/objects/services",
      list(
        Array.from({ length: SERVICES }, (_, index) => ({
          kind: "Service",
          metadata: { name: numbered("service", index), namespace: numbered("team", index % 20) },
          spec: { clusterIP: `10.96.${index >> 8}.${index & 255}`, type: "ClusterIP" },
        })),
      ),
    ],
  ]);
}
