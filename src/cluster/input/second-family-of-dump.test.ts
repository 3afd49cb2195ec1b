// Clusters of two families that bring no cluster file: what their objects say of IPv6 is taken.
import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type SessionWorld, openSessionWorld } from "#test/support/cluster/session-world.ts";
import type { ClusterPod } from "../cluster.ts";
import { tracePacket } from "../trace/trace.ts";

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
    const { session, read } = await open(
      nodeOf({ ...NODES[0]!, kernel: "10.0.17763.5000" }),
      nodeOf(NODES[1]!),
      ...PODS,
    );
    expect(session.cluster.file.ipv6).toBeUndefined();
    expect(read.map(({ message }) => message)).toContainEqual(
      "the cluster has IPv6 addresses, and HNS of node win-1 knows no dual stack: IPv4 alone is taken",
    );
    expect(podsOf(session)).toHaveLength(2);
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
