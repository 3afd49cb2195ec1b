// The three ways in which AKS gives pods their addresses, and single addresses of nodes: what they come to, and what is
// refused (learn.microsoft.com: concepts-network-legacy-cni, concepts-network-azure-cni-pod-subnet, azure-cni-overlay).
import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { parseClusterFile } from "./parse-cluster-file.ts";

const WIN = "{name: win, os: windows, address: 10.224.0.35, ";
const LINUX = "{name: lin, os: linux, address: 10.224.0.4, ";

function text(nodes: readonly string[], network: string): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: test}
underlay: {subnet: 10.224.0.0/16}
nodes:
${nodes.map((node) => `  - ${node}`).join("\n")}
network: {${network}}
`;
}

function problemsOf(file: string): readonly string[] {
  const result = parseClusterFile(file, "cluster.yaml");
  const problems = "problems" in result ? result.problems : [];
  return problems.map((each) => `${each.code} ${each.path}: ${each.message}`);
}

function stateOf(file: string): unknown {
  const result = parseClusterFile(file, "cluster.yaml");
  if ("problems" in result) throw new Error(JSON.stringify(result.problems));
  const { network, nodes } = result.cluster;
  return {
    shape: network.shape,
    routes: network.routes,
    pods: formatPrefix(network.clusterCIDR),
    nodes: nodes.map(({ podCIDR, podAddresses }) =>
      podAddresses === undefined
        ? formatPrefix(podCIDR)
        : podAddresses.map(({ first, last }) => `${formatIp(first)} to ${formatIp(last)}`).join(", "),
    ),
  };
}

describe("pods of AKS have", () => {
  it("addresses of the nodes' subnet, one by one or from first to last", () => {
    const nodes = [
      `${WIN}podAddresses: [10.224.0.36-10.224.0.65, 10.224.1.9]}`,
      `${LINUX}podCIDR: 10.224.2.0/24}`,
    ];
    expect(stateOf(text(nodes, "plugin: azure-vnet, shape: node-subnet"))).toEqual({
      shape: "node-subnet",
      routes: "none",
      pods: "10.224.0.0/16",
      nodes: ["10.224.0.36 to 10.224.0.65, 10.224.1.9 to 10.224.1.9", "10.224.2.0/24"],
    });
  });

  it("addresses of a subnet for pods alone", () => {
    const nodes = [`${WIN}podAddresses: [10.241.0.4-10.241.0.19]}`, `${LINUX}podAddresses: [10.241.0.20]}`];
    const network = "plugin: azure-vnet, shape: pod-subnet, clusterCIDR: 10.241.0.0/16";
    expect(stateOf(text(nodes, network))).toEqual({
      shape: "pod-subnet",
      routes: "none",
      pods: "10.241.0.0/16",
      nodes: ["10.241.0.4 to 10.241.0.19", "10.241.0.20 to 10.241.0.20"],
    });
  });

  it("a range of each node's own, to which the fabric leads", () => {
    expect(stateOf(text([`${WIN}}`, `${LINUX}}`], "plugin: azure-vnet, shape: own-subnet"))).toEqual({
      shape: "own-subnet",
      routes: "fabric",
      pods: "10.244.0.0/16",
      nodes: ["10.244.0.0/24", "10.244.1.0/24"],
    });
  });
});

describe("of addresses for pods", () => {
  const node = "plugin: azure-vnet, shape: node-subnet";
  const pods = "plugin: azure-vnet, shape: pod-subnet, clusterCIDR: 10.241.0.0/16";
  it.each([
    [
      "the node's own is refused",
      [`${WIN}podAddresses: [10.224.0.30-10.224.0.65]}`],
      node,
      "cluster-file-overlapping-ranges nodes[0].podAddresses[0]: 10.224.0.30-10.224.0.65 holds 10.224.0.35, which is node win's own",
    ],
    [
      "another node's are refused",
      [`${WIN}podAddresses: [10.224.0.40-10.224.0.49]}`, `${LINUX}podAddresses: [10.224.0.49]}`],
      node,
      "cluster-file-overlapping-ranges nodes[1].podAddresses[0]: 10.224.0.49 holds 10.224.0.49, which is for pods of win",
    ],
    [
      "those of another subnet are refused",
      [`${WIN}podAddresses: [10.225.0.7]}`],
      node,
      "cluster-file-invalid-value nodes[0].podAddresses[0]: 10.225.0.7 is not in 10.224.0.0/16, the subnet of the pods",
    ],
    [
      "the gateway of a pod subnet is refused",
      [`${WIN}podAddresses: [10.241.0.1-10.241.0.9]}`],
      pods,
      "cluster-file-overlapping-ranges nodes[0].podAddresses[0]: 10.241.0.1-10.241.0.9 holds 10.241.0.1, which is the gateway's of the pods",
    ],
    [
      "both forms are refused",
      [`${WIN}podAddresses: [10.224.0.36], podCIDR: 10.224.1.0/24}`],
      node,
      "cluster-file-invalid-value nodes[0].podCIDR: a node has single addresses for its pods (podAddresses), or a range",
    ],
    [
      "none is refused",
      [`${WIN}}`],
      pods,
      "cluster-file-missing-field nodes[0].podCIDR: in shape pod-subnet the field is needed",
    ],
    [
      "single ones are refused where each node has a range",
      [`${WIN}podAddresses: [10.244.0.7]}`],
      "plugin: azure-vnet, shape: own-subnet",
      "cluster-file-invalid-value nodes[0].podAddresses: in shape own-subnet each node has a range of its own for its pods",
    ],
    [
      "a last one before the first is refused",
      [`${WIN}podAddresses: [10.224.0.65-10.224.0.36]}`],
      node,
      'cluster-file-invalid-value nodes[0].podAddresses[0]: "10.224.0.65-10.224.0.36" is not an IPv4 address, or the first and the last of several',
    ],
    [
      "routes of the nodes are refused with azure-vnet",
      [`${WIN}}`],
      "plugin: azure-vnet, shape: own-subnet, routes: static",
      "cluster-file-invalid-value network.routes: with azure-vnet the fabric leads to the pods of other nodes, for its gateway is theirs",
    ],
    [
      "the fabric's routes are refused without azure-vnet",
      [`${WIN}}`],
      "routes: fabric",
      "cluster-file-invalid-value network.routes: the fabric leads to pods of the plugin azure-vnet alone",
    ],
    [
      "a second family is refused",
      [`${WIN}podAddresses: [10.224.0.36]}`],
      "plugin: hns, shape: node-subnet}\nipv6: {enabled: true",
      "cluster-file-invalid-value ipv6.enabled: pods with single addresses (podAddresses) have IPv4 alone here",
    ],
    [
      "a second family is refused for pods that azure-vnet attaches",
      [`${WIN}podAddresses: [10.224.0.36]}`],
      "plugin: azure-vnet, shape: node-subnet}\nipv6: {enabled: true",
      "cluster-file-invalid-value ipv6.enabled: Azure CNI in shape node-subnet has IPv4 alone: AKS has dual stack with Azure CNI Overlay",
    ],
    [
      "win-bridge is refused for a pod subnet",
      [`${WIN}podAddresses: [10.241.0.4]}`],
      "plugin: win-bridge, shape: pod-subnet, clusterCIDR: 10.241.0.0/16",
      "cluster-file-invalid-value network.shape: win-bridge gives pods the gateway network + 2, which does not exist in shape pod-subnet",
    ],
  ])("%s", (_title, nodes, network, problem) => {
    expect(problemsOf(text(nodes, network))).toEqual([problem]);
  });
});
