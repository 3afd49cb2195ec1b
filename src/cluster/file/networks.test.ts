// Drivers and further networks of a cluster file: what they come to, and what is refused.
import { describe, expect, it } from "vitest";
import { formatPrefix } from "#core/net/ip.ts";
import type { ClusterFile, PodNetworkSpec } from "./cluster-file.ts";
import { parseClusterFile } from "./parse-cluster-file.ts";

const HEAD = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: test}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: win-2, os: windows, address: 10.0.0.12}
`;
const NODE_SUBNET = HEAD.replaceAll("0.0.11}", "0.0.11, podCIDR: 10.0.1.0/24}").replace(
  "0.0.12}",
  "0.0.12, podCIDR: 10.0.2.0/24}",
);
const WIDE = "underlay: {subnet: 10.0.0.0/16}\n";

function clusterOf(text: string): ClusterFile {
  const result = parseClusterFile(text, "cluster.yaml");
  if ("problems" in result) throw new Error(JSON.stringify(result.problems));
  return result.cluster;
}

/** `line:column code field: message`. */
function problemsOf(text: string): readonly string[] {
  const result = parseClusterFile(text, "cluster.yaml");
  const problems = "problems" in result ? result.problems : [];
  return problems.map((each) => `${each.line}:${each.column} ${each.code} ${each.path}: ${each.message}`);
}

function rangesOf({ ranges }: PodNetworkSpec): readonly string[] {
  return Object.entries(ranges).map(([node, range]) => `${node} ${formatPrefix(range)}`);
}

describe("what a driver brings with it", () => {
  it.each([
    ["L2Bridge", "win-bridge", "own-subnet", "static", true, HEAD],
    ["Overlay", "hns", "own-subnet", "none", true, HEAD],
    ["NAT", "hns", "own-subnet", "none", false, HEAD],
    ["L2Tunnel", "hns", "node-subnet", "none", true, NODE_SUBNET + WIDE],
    ["Transparent", "hns", "node-subnet", "none", false, NODE_SUBNET + WIDE],
  ])("%s", (driver, plugin, shape, routes, enabled, text) => {
    const { network } = clusterOf(`${text}network: {driver: ${driver}}\n`);
    expect(network).toMatchObject({ driver, plugin, shape, routes, outboundNAT: { enabled } });
  });

  it("pods of an overlay network have the node's address towards other nodes, so the underlay is no exception", () => {
    const { network } = clusterOf(`${HEAD}network: {driver: Overlay}\n`);
    expect(network.outboundNAT.exceptions.map(formatPrefix)).toEqual(["10.244.0.0/16", "10.96.0.0/12"]);
    expect(network).toMatchObject({ vni: 4096, vxlanPort: 4789 });
  });

  it.each([
    ["driver: L2Bridge", /HNS chooses the MAC/],
    // ovn-kubernetes (control-planes.md §4.2): 0a:58 and the octets of the address.
    ["plugin: ovn-kubernetes", /gives each pod the MAC that follows from its address/],
  ])("with %s no pod has a MAC of its own", (network, reason) => {
    const pod = "pods: [{name: a, node: win-1, mac: 0A-58-0A-80-00-99}]\n";
    expect(problemsOf(`${HEAD}network: {${network}}\n${pod}`).join()).toMatch(reason);
  });

  it("a node's fabric port lets every MAC pass, unless the file says otherwise", () => {
    const { nodes } = clusterOf(HEAD.replace("0.0.12}", "0.0.12, macSpoofing: off}"));
    expect(nodes.map(({ hasMacSpoofing }) => hasMacSpoofing)).toEqual([true, false]);
  });
});

describe("further networks", () => {
  it("of driver Overlay hold the same ranges, and have the next VNI", () => {
    const { network, networks } = clusterOf(
      `${HEAD}network: {driver: Overlay}\nnetworks: [{name: blue}, {name: red, nodes: [win-2]}]\n`,
    );
    expect(rangesOf(network)).toEqual(["win-1 10.244.0.0/24", "win-2 10.244.1.0/24"]);
    expect(networks.map((each) => [each.driver, each.vni, ...rangesOf(each)])).toEqual([
      ["Overlay", 4097, "win-1 10.244.0.0/24", "win-2 10.244.1.0/24"],
      ["Overlay", 4098, "win-2 10.244.1.0/24"],
    ]);
  });

  it("of other drivers have a range of their own, cut for their nodes", () => {
    const { networks } = clusterOf(
      `${HEAD}networks: [{name: dmz, clusterCIDR: 10.250.0.0/16, nodes: [win-2]}, {name: nat, driver: NAT, clusterCIDR: 172.20.0.0/16}]\n`,
    );
    expect(networks.map((each) => [each.driver, each.routes, ...rangesOf(each)])).toEqual([
      ["L2Bridge", "static", "win-2 10.250.0.0/24"],
      ["NAT", "none", "win-1 172.20.0.0/24", "win-2 172.20.1.0/24"],
    ]);
  });

  it("are named by pods; the same address may be in two virtual networks", () => {
    const { pods } = clusterOf(`${HEAD}network: {driver: Overlay, name: green}
networks: [{name: blue}]
pods:
  - {name: a, node: win-1, address: 10.244.0.10}
  - {name: b, node: win-1, address: 10.244.0.10, network: blue}
`);
    expect(pods.map(({ name, podNetwork }) => `${name} ${podNetwork}`)).toEqual(["a green", "b blue"]);
  });
});

describe("is refused, with its place", () => {
  it("rows of a northbound database that the plugin does not have", () => {
    const rows = "northbound: [{table: Logical_Router, record: GR_win-1, set: {options: {chassis: win-9}}}]";
    expect(problemsOf(`${HEAD}network: {plugin: ovn-kubernetes, ${rows}}\n`)).toEqual([]);
    expect(problemsOf(`${HEAD}network: {${rows}}\n`).join()).toMatch(
      /network\.northbound: .*belongs to the plugin ovn-kubernetes/,
    );
  });

  it("DT-049 a VNI that does not fit the 16 bits of RemoteSubnetRoute", () => {
    expect(problemsOf(`${HEAD}network: {driver: Overlay, vni: 65535}\n`)).toEqual([]);
    expect(problemsOf(`${HEAD}network: {driver: Overlay, vni: 65536}\n`)).toEqual([
      "7:33 cluster-file-vni-too-large network.vni: the VNI 65536 does not fit the 16 bits that RemoteSubnetRoute has for it",
    ]);
  });

  it("DT-083 a second NAT network of a node: there is one internal prefix", () => {
    const nat = "network: {driver: NAT, clusterCIDR: 172.20.0.0/16}";
    expect(problemsOf(`${HEAD}${nat}\nnetworks: [{name: two, clusterCIDR: 172.21.0.0/16}]\n`)).toEqual([
      "8:12 cluster-file-driver-mismatch networks[0].driver: a node has one NAT network, and cbr0 is one",
    ]);
  });

  it.each([
    [
      "a route table is missing",
      "backend: host-gw, routes: cloud",
      "the Routes controller writes into the route table of the nodes' subnet, and there is none",
    ],
    [
      "tunnels need none",
      "backend: vxlan, routes: cloud",
      "flannel's backend vxlan wraps packets between nodes, and no route of a cloud sees the addresses of pods",
    ],
    ["flanneld makes them", "backend: host-gw, routes: static", "flanneld makes the routes between nodes"],
  ])("routes beside flannel's: %s", (_, fields, message) => {
    const problems = problemsOf(`${HEAD}network: {plugin: flannel, ${fields}}\n`);
    expect(problems.map((each) => each.replace(/^\S+ /, ""))).toContain(
      `cluster-file-invalid-value network.routes: ${message}`,
    );
  });

  it.each([
    [
      `${HEAD}network: {driver: Overlay, plugin: win-bridge}`,
      "7:36 cluster-file-driver-mismatch network.plugin: win-bridge attaches pods to L2Bridge networks, and this one has driver Overlay",
    ],
    [
      `${HEAD}network: {driver: Overlay, plugin: azure-vnet}`,
      "7:36 cluster-file-driver-mismatch network.plugin: azure-vnet attaches pods to L2Tunnel and L2Bridge networks, and this one has driver Overlay",
    ],
    [
      `${HEAD}network: {plugin: azure-vnet}`,
      "7:19 cluster-file-driver-mismatch network.plugin: azure-vnet gives pods addresses in three ways",
    ],
    [
      `${HEAD}network: {driver: NAT, shape: node-subnet}`,
      "7:31 cluster-file-driver-mismatch network.shape: driver NAT has no shape node-subnet: the range behind a NAT is the node's own",
    ],
    [
      `${HEAD}network: {driver: Overlay, routes: static}`,
      "7:36 cluster-file-invalid-value network.routes: driver Overlay has no routes between nodes",
    ],
    [
      `${HEAD}network: {vni: 4096}`,
      "7:16 cluster-file-driver-mismatch network.vni: vni belongs to driver Overlay, and this network has driver L2Bridge",
    ],
    [
      `${HEAD}network: {driver: Overlay, vlan: 7}`,
      "7:34 cluster-file-driver-mismatch network.vlan: vlan belongs to driver Transparent, and this network has driver Overlay",
    ],
    [
      `${HEAD}network: {driver: NAT, outboundNAT: {enabled: true}}`,
      "7:47 cluster-file-driver-mismatch network.outboundNAT.enabled: driver NAT has no OutBoundNAT: VFP does not run on its ports",
    ],
    [
      `${HEAD.replace("0.0.12}", "0.0.12, build: ws2019}")}network: {driver: Overlay, vxlanPort: 9898}`,
      "7:39 hybrid-overlay-port-unsupported network.vxlanPort: node win-2 runs ws2019, whose HNS has no other VXLAN port than 4789",
    ],
    [
      `${HEAD}network: {driver: Overlay}\nnetworks: [{name: blue, vni: 4096}]`,
      "8:30 cluster-file-duplicate-vni networks[0].vni: the VNI 4096 is that of network cbr0",
    ],
    [
      `${HEAD}networks: [{name: blue, driver: Overlay}]`,
      "7:33 cluster-file-driver-mismatch networks[0].driver: the adapter of a node carries the L2Bridge network cbr0, and no Overlay network beside it",
    ],
    [
      `${HEAD}networks: [{name: more}]`,
      "7:12 cluster-file-missing-field networks[0].clusterCIDR: a network of driver L2Bridge needs a range of its own",
    ],
    [
      `${HEAD}networks: [{name: more, driver: NAT, clusterCIDR: 172.20.0.0/16, outboundNAT: {enabled: true}}]`,
      "7:89 cluster-file-driver-mismatch networks[0].outboundNAT.enabled: driver NAT has no OutBoundNAT: VFP does not run on its ports",
    ],
    [
      `${HEAD}networks: [{name: more, clusterCIDR: 10.250.0.0/16, outboundNAT: {enabled: false, exceptions: [10.0.0.0/8]}}]`,
      "7:95 cluster-file-invalid-value networks[0].outboundNAT.exceptions: exceptions without OutBoundNAT have no effect",
    ],
    [
      `${HEAD}networks: [{name: more, clusterCIDR: 10.244.128.0/17}]`,
      "7:38 cluster-file-overlapping-ranges networks[0].clusterCIDR: 10.244.128.0/17 overlaps the range of network cbr0, 10.244.0.0/16",
    ],
    [
      `${HEAD}networks: [{name: more, clusterCIDR: 10.250.0.0/25}]`,
      "7:38 cluster-file-invalid-value networks[0].clusterCIDR: 10.250.0.0/25 has no blocks of length 24 for 2 nodes",
    ],
    [
      `${HEAD}networks: [{name: cbr0, clusterCIDR: 10.250.0.0/16}]`,
      '7:19 cluster-file-duplicate-name networks[0].name: the network "cbr0" exists already',
    ],
    [
      `${HEAD}networks: [{name: more, clusterCIDR: 10.250.0.0/16, nodes: [win-3]}]`,
      '7:61 cluster-file-invalid-value networks[0].nodes[0]: there is no node "win-3"',
    ],
    [
      `${HEAD}networks: [{name: more, clusterCIDR: 10.250.0.0/16, nodes: [win-2]}]\npods: [{name: a, node: win-1, network: more}]`,
      '8:40 cluster-file-invalid-value pods[0].network: node win-1 has no network "more"',
    ],
    [
      `${HEAD}pods: [{name: a, node: win-1, network: blue}]`,
      '7:40 cluster-file-invalid-value pods[0].network: there is no network "blue"',
    ],
    [
      `${HEAD}underlay: {deny: [{from: 10.0.0.0/8, to: 10.0.0.0/8}]}`,
      "7:19 cluster-file-driver-mismatch underlay.deny[0]: rules of the fabric hold for nodes of an L2Tunnel network",
    ],
    [
      `${HEAD}pods: [{name: a, node: win-1, address: 10.244.0.2}]\nnetwork: {driver: Overlay}`,
      "7:40 cluster-file-invalid-value pods[0].address: 10.244.0.2 is kept for the source address of the node's load balancers",
    ],
    [
      HEAD.replace("0.0.12}", "0.0.12, macSpoofing: true}"),
      "6:65 cluster-file-invalid-value nodes[1].macSpoofing: the boolean true is not possible here",
    ],
  ])("%s", (text, problem) => {
    expect(problemsOf(`${text}\n`)).toEqual([problem]);
  });
});

describe("addresses of a DHCP server", () => {
  const DHCP = `${HEAD}network: {driver: Transparent, ipam: dhcp}\n`;
  const wide = (dhcp: string): string => `underlay: {subnet: 10.0.0.0/16, dhcp: {${dhcp}}}\n`;

  it("are the same range on every Windows node, and no node has a part of its own", () => {
    const { network, underlay } = clusterOf(`${DHCP}${wide("range: 10.0.8.0/24, leaseSeconds: 600")}`);
    expect(rangesOf(network)).toEqual(["win-1 10.0.8.0/24", "win-2 10.0.8.0/24"]);
    expect(underlay.dhcp).toMatchObject({ leaseSeconds: 600 });
  });

  it("need no server: then nobody answers", () => {
    const { underlay, network } = clusterOf(DHCP);
    expect(underlay.dhcp).toBeUndefined();
    expect(network.ipam).toBe("dhcp");
  });

  it.each([
    [
      "another driver, whose pods do not ask (dataplane.md §2.12)",
      `${HEAD}network: {ipam: dhcp}\n`,
      "7:17 cluster-file-driver-mismatch network.ipam: pods of driver L2Bridge ask no DHCP server: HNS gives them their addresses",
    ],
    [
      "a server that nobody asks",
      `${HEAD}${wide("range: 10.0.8.0/24")}`,
      "7:47 cluster-file-invalid-value underlay.dhcp.range: no pod asks the DHCP server",
    ],
    [
      "a range with a machine in it",
      `${DHCP}${wide("range: 10.0.0.0/28")}`,
      "8:47 cluster-file-overlapping-ranges underlay.dhcp.range: 10.0.0.0/28 holds 10.0.0.1, the address of the router",
    ],
    [
      "a range elsewhere",
      `${DHCP}${wide("range: 10.9.0.0/24")}`,
      "8:47 cluster-file-invalid-value underlay.dhcp.range: 10.9.0.0/24 is not in the pod range (network.clusterCIDR), 10.0.0.0/16",
    ],
    [
      "a range for one node's pods",
      `${DHCP.replace("0.0.12}", "0.0.12, podCIDR: 10.0.2.0/24}")}${wide("range: 10.0.8.0/24")}`,
      "6:61 cluster-file-invalid-value nodes[1].podCIDR: pods of this node have addresses of a DHCP server (network.ipam)",
    ],
    [
      "an address that a pod wants",
      `${DHCP}${wide("range: 10.0.8.0/24")}pods: [{name: a, node: win-1, address: 10.0.8.9}]\n`,
      "9:40 cluster-file-invalid-value pods[0].address: the DHCP server chooses the addresses of this network",
    ],
  ])("refuses %s", (_, text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
});
