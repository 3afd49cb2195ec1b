import { beforeAll, describe, expect, it } from "vitest";
import { validateVerification } from "#test/support/cluster/report-schemas.ts";
import {
  type ServiceClusterOptions,
  openServiceCluster,
  serviceClusterFile,
} from "#test/support/cluster/service-cluster.ts";
import { readInput } from "../input/read-input.ts";
import { openSession } from "../session/open-session.ts";
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import { readModel } from "./model-of-cluster.ts";
import type { VerifyCell, VerifyReport } from "./report.ts";
import { verifyCluster } from "./verify.ts";

async function verifyServices(options: ServiceClusterOptions): Promise<VerifyReport> {
  const cluster = await openServiceCluster(options);
  return verifyCluster(cluster, readModel(cluster));
}

/** How the cells of a flow from one system came out: `works`, a code, `n/a`; each once. */
function outcomes(report: VerifyReport, flow: VerifyCell["flow"], from: RegExp, to = /./): readonly string[] {
  const cells = report.cells.filter(
    (cell) => cell.flow === flow && from.test(cell.fromSystem) && to.test(`${cell.to} ${cell.protocol}`),
  );
  const words = cells.map(({ expected, code = "" }) => (expected === "denied" ? code : expected));
  return [...new Set(words)].toSorted();
}

interface Variant extends Required<Pick<ServiceClusterOptions, "build" | "enableDSR">> {
  readonly hairpin: string;
  readonly fromNode: string;
  readonly ownNodePort: readonly string[];
  readonly local: readonly string[];
  readonly affinity: string;
}

const LOCAL_EMPTY = "external-traffic-policy-local-without-local-endpoint";
const NO_DSR = "external-traffic-policy-local-without-dsr";
const OWN_NODE_PORT = "node-port-from-node-unsupported";

/** Read off windows-networking-documentation.md §5, §8, §9 and dataplane.md §2.4 B-5, B-7, B-8. */
const VARIANTS: readonly Variant[] = [
  {
    build: "ws2022",
    enableDSR: false,
    hairpin: "works",
    fromNode: "works",
    ownNodePort: [LOCAL_EMPTY, "works"],
    local: [LOCAL_EMPTY, "works"],
    affinity: "works",
  },
  {
    build: "ws2022",
    enableDSR: true,
    hairpin: "hairpin-under-dsr",
    fromNode: "works",
    ownNodePort: [LOCAL_EMPTY, "works"],
    local: [LOCAL_EMPTY, "works"],
    affinity: "works",
  },
  {
    build: "ws2019.1431",
    enableDSR: false,
    hairpin: "works",
    fromNode: "service-vip-from-node-unsupported",
    ownNodePort: [OWN_NODE_PORT],
    local: [NO_DSR],
    affinity: "not-applicable",
  },
  {
    build: "ws2019.1432",
    enableDSR: true,
    hairpin: "hairpin-under-dsr",
    fromNode: "service-vip-from-node-unsupported",
    ownNodePort: [LOCAL_EMPTY, "works"],
    local: [LOCAL_EMPTY, "works"],
    affinity: "not-applicable",
  },
  {
    build: "ws2025",
    enableDSR: true,
    hairpin: "hairpin-under-dsr",
    fromNode: "works",
    ownNodePort: [LOCAL_EMPTY, "works"],
    local: [LOCAL_EMPTY, "works"],
    affinity: "works",
  },
];

describe.each(VARIANTS)("Services on $build, DSR $enableDSR", (variant) => {
  let report: VerifyReport;
  beforeAll(async () => {
    report = await verifyServices(variant);
  });
  const windows = /^ws/;

  it("come out as the table says, each denial proved", () => {
    expect(formatVerification(report)).toContain("Observed and expected agree.");
    expect(report.findings).toEqual([]);
  });

  it("are told in valid JSON and in text of 100 columns", () => {
    expect(
      validateVerification(JSON.parse(JSON.stringify(report))),
      JSON.stringify(validateVerification.errors),
    ).toBe(true);
    const lines = formatVerification(report).split("\n");
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  it("are reached from pods by ClusterIP, short and full name, TCP and UDP, and not by ping", () => {
    expect(outcomes(report, "pod-to-cluster-ip", windows, /(web|orders|public|sticky) (tcp|udp)/)).toEqual([
      "works",
    ]);
    expect(outcomes(report, "pod-to-cluster-ip", windows, /icmp/)).toEqual(["icmp-to-service-not-balanced"]);
    expect(outcomes(report, "pod-to-cluster-ip", /linux/, /(web|orders|public|sticky) (tcp|udp)/)).toEqual([
      "works",
    ]);
    expect(outcomes(report, "pod-to-cluster-ip", windows, /headless/)).toEqual(["not-applicable"]);
    for (const flow of ["pod-to-service-short-name", "pod-to-service-full-name"] as const)
      expect(outcomes(report, flow, /./, /service\/default\/(?!headless)/)).toEqual(["works"]);
    // A name that leads to pods themselves is a way from pod to pod.
    const isBroken = variant.build === "ws2022" && variant.enableDSR;
    expect(outcomes(report, "pod-to-service-short-name", windows, /headless/)).toEqual([
      isBroken ? "l2bridge-broken-with-dsr" : "works",
    ]);
    expect(outcomes(report, "pod-to-service-partial-name", windows)).toEqual([
      "dns-name-with-dot-not-completed",
    ]);
    expect(outcomes(report, "pod-to-service-partial-name", /linux/)).toEqual(["works"]);
  });

  it("lead to each of their back ends", () => {
    const sweeps = report.cells.filter(
      ({ flow, to, backEnds }) =>
        flow === "pod-to-cluster-ip" && to.endsWith("/web") && backEnds !== undefined,
    );
    expect(sweeps.map(({ port, backEnds }) => [port, backEnds])).toEqual([
      [80, 3],
      [53, 3],
      [80, 3],
      [53, 3],
    ]);
    // Where a pod's own port or its Linux node chooses, none of them answers twice; where the host's port does, what else the
    // pod has asked has begun a round.
    const [tcp, udp, ...linux] = sweeps.map(({ attempts }) => attempts);
    expect(linux).toEqual([3, 3]);
    if (variant.enableDSR) expect([tcp, udp]).toEqual([3, 3]);
    expect(Math.max(tcp ?? 0, udp ?? 0)).toBeLessThanOrEqual(2 * 3 - 1);
  });

  it("WALK-B-5: a pod to itself through its Service", () => {
    expect(outcomes(report, "pod-to-own-service", windows)).toEqual([variant.hairpin]);
    expect(outcomes(report, "pod-to-own-service", /linux/)).toEqual(["works"]);
  });

  it("WALK-B-7: NodePort, load balancer and hostPort from outside; policy Local", () => {
    expect(outcomes(report, "outside-to-node-port", /./, /win-\d tcp/)).toEqual(
      [...new Set([...variant.local, "works"])].toSorted(),
    );
    expect(outcomes(report, "outside-to-host-port", /./)).toEqual(["works"]);
    expect(outcomes(report, "outside-to-ingress", /./, /198\.51\.100\.1 /)).toEqual(["works"]);
  });

  it("WALK-B-8: from the node", () => {
    expect(outcomes(report, "node-to-cluster-ip", windows)).toEqual([variant.fromNode]);
    expect(outcomes(report, "node-to-own-node-port", windows)).toEqual(variant.ownNodePort);
  });

  it("affinity is kept, its time is not", () => {
    expect(outcomes(report, "session-affinity", windows)).toEqual([variant.affinity]);
    const time = variant.affinity === "works" ? "session-affinity-timeout-ignored" : variant.affinity;
    expect(outcomes(report, "session-affinity-timeout", windows)).toEqual([time]);
  });

  it("a Windows pod does not get the network of its node", () => {
    expect(outcomes(report, "pod-in-host-network", windows)).toEqual(["host-network-unsupported"]);
  });
});

describe("clusters that are set up otherwise", () => {
  it.each([
    ["kubeProxy: { enabled: false }", "pod-to-cluster-ip", ["not-applicable"]],
    ["dns: { enabled: false }", "pod-to-service-full-name", ["not-applicable"]],
    ["network: { routes: none }", "pod-to-cluster-ip", ["not-applicable", "works"]],
    ["network: { outboundNAT: { enabled: false } }", "pod-to-external-name", ["no-route-back"]],
    // dataplane.md §9 F-10: the nodes are not excepted, so answers to them are translated.
    [
      "network: { outboundNAT: { exceptions: [10.244.0.0/16] } }",
      "node-to-pod",
      ["outbound-nat-on-answers", "works"],
    ],
    ["network: { outboundNAT: { exceptions: [10.96.0.0/12] } }", "pod-to-own-service", ["works"]],
  ] as const)("%s: nothing unexpected", async (more, flow, expected) => {
    const report = await verifyServices({ more });
    expect(report.findings).toEqual([]);
    expect(outcomes(report, flow, flow === "node-to-pod" ? /./ : /^ws/)).toEqual(expected);
  });
});

describe("internalTrafficPolicy Local", () => {
  // kube-proxy.md §3.1: kube-proxy for Windows reads it from 1.27 on.
  it.each([
    ["1.26", ["works"]],
    ["1.27", ["not-applicable", "works"]],
  ])("from pods of two nodes, one with the back end, Kubernetes %s", async (version, expected) => {
    const pod = (name: string, node: string): string => `
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: ${name} } }
spec: { nodeName: ${node}, containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }] }`;
    const cluster = serviceClusterFile({ more: "" }).replace('"1.34"', `"${version}"`);
    const read = readInput([
      { name: "cluster.yaml", text: cluster },
      {
        name: "manifests.yaml",
        text: `${pod("web", "win-1")}${pod("near", "win-1")}${pod("far", "win-2")}
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { internalTrafficPolicy: Local, selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`,
      },
    ]);
    if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
    const { session } = await openSession(read.input);
    const report = verifyCluster(session.cluster, readModel(session.cluster));
    expect(report.findings).toEqual([]);
    expect(outcomes(report, "pod-to-cluster-ip", /^ws/, /\/web tcp/)).toEqual(expected);
  });
});

describe("what manifests ask for", () => {
  async function verifyManifests(manifests: string): Promise<VerifyReport> {
    const read = readInput([{ name: "manifests.yaml", text: manifests }]);
    if (!("input" in read)) throw new Error("the manifests can be read");
    const { session } = await openSession(read.input);
    return verifyCluster(session.cluster, readModel(session.cluster));
  }

  // k8s.io/kubernetes, pkg/proxy/iptables/proxier.go: "route LOCAL traffic for … external destinations" leads to all endpoints.
  it("a Linux node asks its own NodePort, and the policy Local keeps it from no back end of Windows", async () => {
    const deployment = (os: string) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: whoami-${os} }
spec:
  selector: { matchLabels: { app: whoami } }
  template:
    metadata: { labels: { app: whoami } }
    spec:
      nodeSelector: { kubernetes.io/os: ${os} }
      containers: [{ name: whoami, image: registry.example/whoami:1, ports: [{ containerPort: 8080 }] }]
---`;
    const report = await verifyManifests(`${deployment("windows")}${deployment("linux")}
apiVersion: v1
kind: Service
metadata: { name: whoami }
spec:
  type: NodePort
  externalTrafficPolicy: Local
  selector: { app: whoami }
  ports: [{ port: 80, targetPort: 8080 }]
`);
    expect(report.findings).toEqual([]);
    expect(outcomes(report, "node-to-own-node-port", /linux/)).toEqual(["works"]);
    expect(outcomes(report, "outside-to-node-port", /outside/)).toEqual([LOCAL_EMPTY, "works"]);
  });

  it("a Service that selects nobody is denied, and one whose back end is a stranger does not apply", async () => {
    const report = await verifyManifests(`
apiVersion: v1
kind: Service
metadata: { name: nobody }
spec: { selector: { app: nobody }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: stranger }
spec: { ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: stranger-1, labels: { kubernetes.io/service-name: stranger } }
addressType: IPv4
ports: [{ name: "", port: 80, protocol: TCP }]
endpoints: [{ addresses: [192.0.2.7], conditions: { ready: true } }]
`);
    expect(report.findings).toEqual([]);
    const rows = (name: string): readonly string[] => [
      ...new Set(
        report.cells
          .filter(({ to, flow }) => to === `service/default/${name}` && flow === "pod-to-cluster-ip")
          .map(({ row }) => row),
      ),
    ];
    expect(rows("nobody")).toEqual(["SVC-NO-ENDPOINTS-LINUX"]);
    expect(rows("stranger")).toEqual(["SVC-STRANGERS"]);
  });

  it("a pod of a StatefulSet is asked by hostname.subdomain, others by their address", async () => {
    const report = await verifyManifests(`
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: ledger }
spec:
  serviceName: ledger
  replicas: 2
  selector: { matchLabels: { app: ledger } }
  template:
    metadata: { labels: { app: ledger } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: c, image: x, ports: [{ containerPort: 9090 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: ledger }
spec: { clusterIP: None, selector: { app: ledger }, ports: [{ port: 9090 }] }
`);
    expect(report.findings).toEqual([]);
    const names = report.cells.filter(({ flow }) => flow === "pod-to-pod-name").map(({ name = "" }) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names)
      expect(name).toMatch(
        /^(?:ledger-[01]\.ledger\.default\.svc|\d+-\d+-\d+-\d+\.[\w-]+\.pod)\.cluster\.local$/,
      );
    expect(names.some((name) => name.startsWith("ledger-"))).toBe(true);
  });
});

describe("a name service of another name (RKE2, k3s)", () => {
  const MANIFESTS = `
apiVersion: v1
kind: Service
metadata: { name: rke2-coredns, namespace: kube-system, labels: { k8s-app: kube-dns } }
spec: { clusterIP: 10.96.0.10, selector: { k8s-app: kube-dns }, ports: [{ name: udp-53, port: 53, protocol: UDP, targetPort: 5353 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: coredns, namespace: kube-system }
spec:
  selector: { matchLabels: { k8s-app: kube-dns } }
  template:
    metadata: { labels: { k8s-app: kube-dns } }
    spec:
      nodeSelector: { kubernetes.io/os: linux }
      containers: [{ name: c, image: coredns, ports: [{ containerPort: 5353, protocol: UDP }] }]
---
apiVersion: v1
kind: Pod
metadata: { name: a }
spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: server }] }
`;

  it("answers for names, and is not asked as a Service of datagrams", async () => {
    const read = readInput([{ name: "dns.yaml", text: MANIFESTS }]);
    if (!("input" in read)) throw new Error("the manifests are good");
    const { session } = await openSession(read.input);
    const report = verifyCluster(session.cluster, readModel(session.cluster));
    expect(report.findings).toEqual([]);
    const byName = report.cells.filter(({ flow }) => flow === "pod-to-external-name");
    expect(byName.map(({ expected }) => expected)).toContain("works");
    const datagrams = report.cells.filter(
      ({ to, protocol }) => to.includes("rke2-coredns") && protocol === "udp",
    );
    // It gets questions, and nothing else.
    expect(new Set(datagrams.map(({ flow, verdict }) => `${flow} ${verdict}`))).toEqual(
      new Set(["pod-to-cluster-dns as-expected"]),
    );
  });
});
