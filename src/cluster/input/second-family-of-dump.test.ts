// Clusters of two families that bring no cluster file: what their objects say of IPv6 is taken.
import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type SessionWorld, openSessionWorld } from "#test/support/cluster/session-world.ts";
import type { ClusterPod } from "../cluster.ts";
import { tracePacket } from "../trace/trace.ts";
import { readInput } from "./read-input.ts";

interface NodeText {
  readonly name: string;
  readonly os: "windows" | "linux";
  readonly kernel: string;
  readonly addresses: readonly string[];
  readonly podCIDRs: readonly string[];
}

const WINDOWS = { os: "windows", kernel: "10.0.26100.1742" } as const;
const LINUX = { os: "linux", kernel: "6.1.0" } as const;

const NODES: readonly NodeText[] = [
  {
    ...WINDOWS,
    name: "win-1",
    addresses: ["10.0.0.11", "fd12::b1"],
    podCIDRs: ["10.244.1.0/24", "fd12:244:0:1::/64"],
  },
  {
    ...LINUX,
    name: "lin-1",
    addresses: ["10.0.0.21", "fd12::b2"],
    podCIDRs: ["10.244.2.0/24", "fd12:244:0:2::/64"],
  },
];

function nodeOf({ name, os, kernel, addresses, podCIDRs }: NodeText): object {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    spec: { podCIDR: podCIDRs[0], podCIDRs },
    status: {
      addresses: addresses.map((address) => ({ type: "InternalIP", address })),
      nodeInfo: { operatingSystem: os, kernelVersion: kernel, kubeletVersion: "v1.36.0" },
    },
  };
}

function podOf(name: string, nodeName: string, ips: readonly string[]): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: name } },
    spec: { nodeName, containers: [{ name: "c", image: "x" }] },
    status: {
      phase: "Running",
      podIP: ips[0],
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function flannelOf(type: string): object {
  const net = { Network: "10.244.0.0/16", Backend: { Type: type, VNI: 4096, Port: 4789 } };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kube-flannel-cfg", namespace: "kube-flannel" },
    data: { "net-conf.json": JSON.stringify(net) },
  };
}

/** What the objects say that Windows cannot have. */
function findingsOf(...objects: readonly object[]): readonly string[] {
  const result = readInput([
    { name: "dump.yaml", text: objects.map((each) => JSON.stringify(each)).join("\n---\n") },
  ]);
  if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
  return result.input.contradictions.map(({ code, message }) => `${code}: ${message}`);
}

const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "default" },
  spec: {
    selector: { app: "web" },
    ipFamilies: ["IPv4", "IPv6"],
    ipFamilyPolicy: "RequireDualStack",
    clusterIP: "10.96.7.7",
    clusterIPs: ["10.96.7.7", "fd12:96::77"],
    ports: [{ port: 80, targetPort: 8080 }],
  },
};

const PODS = [
  podOf("client", "lin-1", ["10.244.2.9", "fd12:244:0:2::abc"]),
  podOf("web", "win-1", ["10.244.1.9", "fd12:244:0:1::beef"]),
];

async function open(...documents: readonly object[]): Promise<SessionWorld> {
  return openSessionWorld(documents.map((each) => JSON.stringify(each)).join("\n---\n"));
}

/** Those of the dump: the cluster's own name servers left out. */
function podsOf({ cluster }: SessionWorld["session"]): readonly ClusterPod[] {
  return cluster.pods.filter(({ spec }) => spec.namespace === "default");
}

describe("a dump of a cluster of two families", () => {
  it("gives nodes, pods and Services the addresses that they have", async () => {
    const { session, read } = await open(...NODES.map(nodeOf), ...PODS, SERVICE);
    const { ipv6, network } = session.cluster.file;
    expect(network.plugin).toBe("hns");
    expect(
      Object.entries(ipv6?.nodes ?? {}).map(
        ([name, { address, podRange }]) => `${name} ${formatIp(address)} ${formatPrefix(podRange)}`,
      ),
    ).toEqual(["win-1 fd12::b1 fd12:244:0:1::/64", "lin-1 fd12::b2 fd12:244:0:2::/64"]);
    expect(formatPrefix(ipv6!.serviceCIDR)).toBe("fd12:96::/112");
    expect(
      podsOf(session)
        .map(({ address6 }) => formatIp(address6!))
        .toSorted(),
    ).toEqual(["fd12:244:0:1::beef", "fd12:244:0:2::abc"]);
    expect(read.map(({ message }) => message)).toContainEqual(
      expect.stringContaining("pods have addresses of two families"),
    );
    expect(session.notes().filter(({ code }) => code.startsWith("pod-"))).toEqual([]);
  });

  it.each([
    ["pod/web", /^web saw \[fd12:244:0:2::abc\]:/],
    ["service/web", /^web saw /],
    ["node/win-1", undefined],
  ])("and packets of IPv6 go to %s", async (to, answer) => {
    const { session } = await open(...NODES.map(nodeOf), ...PODS, SERVICE);
    const { report } = tracePacket(session.cluster, {
      from: "pod/client",
      to,
      protocol: answer === undefined ? "icmp" : "tcp",
      port: undefined,
      family: "ipv6",
    });
    expect(report.verdict).toBe("answered");
    if (answer !== undefined) expect(report.answer).toMatch(answer);
  });

  it.each([
    ["nodes on different links", { addresses: ["10.0.0.21", "fd99::b2"] }, "fd00:10::15"],
    ["a node without an address", { addresses: ["10.0.0.21"] }, "fd00:10::15"],
  ])("%s: all nodes get addresses of another subnet", async (_, other, address) => {
    const { session } = await open(nodeOf(NODES[0]!), nodeOf({ ...NODES[1]!, ...other }), ...PODS);
    expect(formatIp(session.cluster.file.ipv6!.nodes["lin-1"]!.address)).toBe(address);
    expect(podsOf(session)).toHaveLength(2);
  });

  it("a Windows node whose HNS knows no dual stack: IPv4 alone, and it is said", async () => {
    const objects = [nodeOf({ ...NODES[0]!, kernel: "10.0.17763.5000" }), nodeOf(NODES[1]!), ...PODS];
    const { session } = await open(...objects);
    expect(session.cluster.file.ipv6).toBeUndefined();
    expect(findingsOf(...objects)).toEqual([
      "service-ipv6-unsupported: the cluster has IPv6 addresses, and HNS of node win-1 knows no dual stack: IPv4 alone is taken",
    ]);
    expect(podsOf(session)).toHaveLength(2);
  });

  // Kubernetes documentation, dual-stack, Windows support; flannel, pkg/backend/hostgw/hostgw_windows.go.
  it.each([
    ["vxlan", "overlay-without-ipv6", "Overlay networks on Windows do not support dual stack"],
    ["host-gw", "flannel-option-not-for-windows", "flanneld on Windows leads IPv4 alone"],
  ])("flannel %s with Windows nodes: IPv4 alone, and it is a finding", (type, code, reason) => {
    expect(findingsOf(...NODES.map(nodeOf), ...PODS, flannelOf(type))).toEqual([
      `${code}: the cluster has IPv6 addresses, and ${reason}: IPv4 alone is taken`,
    ]);
  });

  it.each(["vxlan", "host-gw"])("flannel %s on Linux alone: IPv4 alone, which is no finding", (type) => {
    const linux = NODES.map((node) => nodeOf({ ...node, ...LINUX }));
    expect(findingsOf(...linux, ...PODS, flannelOf(type))).toEqual([]);
  });

  it("pods with single addresses of one subnet: IPv4 alone, and it is a finding", () => {
    const nodes = NODES.map((node) => nodeOf({ ...node, podCIDRs: [] }));
    const pods = [
      podOf("client", "win-1", ["10.0.0.31", "fd12::31"]),
      podOf("web", "lin-1", ["10.0.0.32", "fd12::32"]),
    ];
    expect(findingsOf(...nodes, ...pods)).toEqual([
      expect.stringMatching(
        /^network-not-emulated: the cluster has IPv6 addresses, and pods share the subnet/,
      ),
    ]);
  });

  it("a dump of IPv4 alone has no second family", async () => {
    const { session } = await open(
      ...NODES.map((node) =>
        nodeOf({ ...node, addresses: node.addresses.slice(0, 1), podCIDRs: node.podCIDRs.slice(0, 1) }),
      ),
    );
    expect(session.cluster.file.ipv6).toBeUndefined();
    expect(session.cluster.file.network.plugin).toBe("win-bridge");
  });
});

describe("manifests without Nodes", () => {
  it.each([
    ["RequireDualStack", { ipFamilyPolicy: "RequireDualStack" }, true],
    ["IPv6", { ipFamilies: ["IPv6"] }, true],
    ["PreferDualStack, which is content with one family", { ipFamilyPolicy: "PreferDualStack" }, false],
    ["nothing", {}, false],
  ])("have two families where a Service asks for it: %s", async (_, fields, isDual) => {
    const { session, begun } = await open({
      ...SERVICE,
      spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...fields },
    });
    expect(session.cluster.file.ipv6 !== undefined).toBe(isDual);
    expect(begun.problems).toEqual([]);
  });
});

/** Nodes of AKS with an overlay of both families: no Node names a range of its pods. */
describe("a dump of AKS with an overlay of both families", () => {
  const overlay = {
    "kubernetes.azure.com/cluster": "MC_a",
    "kubernetes.azure.com/podnetwork-type": "overlay",
  };
  const [win, linux] = NODES.map((each) => {
    const { metadata, spec: _spec, ...rest } = nodeOf(each) as { metadata: object; spec: object };
    return { ...rest, metadata: { ...metadata, labels: overlay } };
  }) as [object, object];
  const pods = [
    podOf("client", "lin-1", ["10.244.2.9", "fd12:3456:789a::9"]),
    podOf("web", "win-1", ["10.244.1.9", "fd12:3456:789a::1:be"]),
    podOf("cache", "win-1", ["10.244.1.77", "fd12:3456:789a::1:3"]),
  ];

  async function rangesOf(...documents: readonly object[]): Promise<readonly string[]> {
    const { session } = await open(...documents);
    const { ipv6, network } = session.cluster.file;
    const ranges = Object.values(ipv6?.nodes ?? {}).map(({ podRange }) => formatPrefix(podRange));
    const own = podsOf(session).map(({ address6 }) => (address6 === undefined ? "" : formatIp(address6)));
    return [network.plugin, ...ranges, ...own.toSorted()];
  }

  it("azure-vnet gives its pods their addresses of both families, in blocks that tell the nodes apart", async () => {
    expect(await rangesOf(win, linux, ...pods)).toEqual([
      "azure-vnet",
      "fd12:3456:789a::1:0/112",
      "fd12:3456:789a::/112",
      "fd12:3456:789a::1:3",
      "fd12:3456:789a::1:be",
      "fd12:3456:789a::9",
    ]);
  });

  it("addresses that lie between those of another node are not taken, and it is said", async () => {
    const between = podOf("late", "lin-1", ["10.244.2.10", "fd12:3456:789a::1:40"]);
    const { session, read } = await open(win, linux, ...pods, between);
    expect(podsOf(session)).toHaveLength(4);
    expect(read.map(({ message }) => message)).toContain(
      "the IPv6 addresses of pods fit no range for each node: pods have others here",
    );
  });

  // crd/nodenetworkconfig/api/v1alpha/nodenetworkconfig.go of Azure/azure-container-networking.
  it("NodeNetworkConfigs say the blocks", async () => {
    const config = (name: string, first: string, second: string): object => ({
      apiVersion: "acn.azure.com/v1alpha",
      kind: "NodeNetworkConfig",
      metadata: { name, namespace: "kube-system" },
      spec: { requestedIPCount: 0 },
      status: {
        networkContainers: [
          {
            type: "overlay",
            assignmentMode: "static",
            primaryIP: first,
            subnetAddressSpace: "10.244.0.0/16",
          },
          { type: "overlay", assignmentMode: "static", primaryIP: second },
        ],
      },
    });
    const configs = [
      config("win-1", "10.244.1.0/24", "fd12:3456:789a::1:0/120"),
      config("lin-1", "10.244.2.0/24", "fd12:3456:789a::/120"),
    ];
    const { session, read } = await open(win, linux, ...pods, ...configs);
    const { nodes, ipv6 } = session.cluster.file;
    expect(nodes.map(({ podCIDR }) => formatPrefix(podCIDR))).toEqual(["10.244.1.0/24", "10.244.2.0/24"]);
    expect(Object.values(ipv6?.nodes ?? {}).map(({ podRange }) => formatPrefix(podRange))).toEqual([
      "fd12:3456:789a::1:0/120",
      "fd12:3456:789a::/120",
    ]);
    expect(read.map(({ code }) => code)).not.toContain("manifest-kind-not-carried-out");
  });

  it("before 1.26 AKS had none: IPv4 alone, and it is a finding", () => {
    const old = [win, linux].map(
      (node) => JSON.parse(JSON.stringify(node).replace("v1.36.0", "v1.25.6")) as object,
    );
    expect(findingsOf(...old, ...pods)).toEqual([
      "service-ipv6-unsupported: the cluster has IPv6 addresses, and Azure CNI Overlay has dual stack from Kubernetes 1.26.3 on, and this is 1.25: IPv4 alone is taken",
    ]);
  });
});

describe("Windows nodes with IPv6 alone (windows-networking-documentation.md §7)", () => {
  const found = (...nodes: readonly NodeText[]): readonly string[] => {
    const text = nodes.map((node) => JSON.stringify(nodeOf(node))).join("\n---\n");
    const read = readInput([{ name: "nodes.yaml", text }]);
    return "input" in read ? read.input.contradictions.map(({ code, message }) => `${code}: ${message}`) : [];
  };
  const [windows, linux] = NODES as [NodeText, NodeText];
  const ALONE = "node-ipv6-only: Windows has no IPv6 alone, as win-1 would";

  it.each([
    ["two families", windows, []],
    ["an address of IPv6 alone", { ...windows, addresses: ["fd12::b1"] }, [ALONE]],
    ["a range of IPv6 alone", { ...windows, podCIDRs: ["fd12:244:0:1::/64"] }, [ALONE]],
    ["no address and no range", { ...windows, addresses: [], podCIDRs: [] }, []],
    ["Linux with IPv6 alone", { ...linux, addresses: ["fd12::b2"], podCIDRs: ["fd12:244:0:2::/64"] }, []],
  ])("%s", (_, node, expected) => {
    expect(found(node).filter((each) => each.startsWith("node-ipv6-only"))).toEqual(expected);
  });
});
