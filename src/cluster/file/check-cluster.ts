/** Checks between fields that are not about addresses: names, and settings that exclude each other. */
import { adviseName } from "#core/base/nearest-name.ts";
import { type Prefix, prefixContains } from "#core/net/ip.ts";
import { checkAzure } from "./azure-network.ts";
import { checkAddresses } from "./check-addresses.ts";
import type { ClusterFile, PodNetworkSpec } from "./cluster-file.ts";
import type { RawCluster, NodeFields, PodFields } from "./description.ts";
import { checkIpv6 } from "./complete-ipv6.ts";
import { checkNetwork, checkNetworks } from "./check-networks.ts";
import type { LocatedFields } from "./mapping.ts";
import { type ValuePlace, type Reading, quote } from "./reading.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

/** Names that traces use for machines that are no nodes. */
const TAKEN_NAMES: readonly string[] = ["router", "outside"];

/** Names seen so far, with the line of each. */
class NameBook {
  private readonly lines = new Map<string, number>();
  private readonly reading: Reading;

  constructor(reading: Reading) {
    this.reading = reading;
  }

  /** `name` must be new; `what` says what it names. */
  add(name: string, what: string, place: ValuePlace): void {
    const line = this.lines.get(name);
    if (line === undefined) this.lines.set(name, this.reading.lineOf(place.offset));
    else {
      const message = `${what} ${quote(name)} exists already, in line ${line}`;
      this.reading.report("cluster-file-duplicate-name", place, message, "Choose another name.");
    }
  }
}

function checkMachineNames(raw: RawCluster, reading: Reading): void {
  const allocator = new NameBook(reading);
  const machines = [
    ...raw.nodes.value.map(({ value }) => ({ name: value.name, what: "a node or host" })),
    ...(raw.outside.value ?? []).map(({ value }) => ({ name: value.name, what: "a node or host" })),
  ];
  for (const { name, what } of machines) {
    if (TAKEN_NAMES.includes(name.value)) {
      reading.reportValue(name.place, `the name ${quote(name.value)} is taken`, "Choose another name.");
    }
    allocator.add(name.value, what, name.place);
  }
}

function checkNode(node: LocatedFields<NodeFields>, reading: Reading): void {
  if (node.os.value === "linux" && node.build.value !== undefined) {
    const advice = "Remove the field, or write os: windows.";
    reading.reportValue(node.build.place, "a Linux node has no build of Windows", advice);
  }
  if (node.os.value === "linux" && Object.keys(node.quirks.value).length > 0) {
    const advice = "Remove the field, or write os: windows.";
    reading.reportValue(node.quirks.place, "a Linux node has no defects of Windows", advice);
  }
}

/** Fields of a node's state that nothing would look at. */
function checkNodeState(raw: RawCluster, reading: Reading): void {
  const isFlannel = raw.network.value.plugin.value === "flannel";
  for (const { value: node } of raw.nodes.value) {
    const { hostname, files, addressDelay, flanneld } = node;
    const isWindows = node.os.value === "windows";
    if (!isWindows && hostname.value !== undefined)
      reading.reportValue(
        hostname.place,
        "only programs of Windows nodes look at it",
        "Remove the field, or write os: windows.",
      );
    if (addressDelay.value > 0 && !(isWindows && isFlannel))
      reading.reportValue(
        addressDelay.place,
        "only flanneld on Windows waits for the address",
        "Remove the field.",
      );
    if (isFlannel) continue;
    const advice = "Remove the field, or write plugin: flannel below network.";
    if (Object.keys(files.value).length > 0)
      reading.reportValue(files.place, "only the programs of flannel read files of the node", advice);
    if (flanneld.value.iface.value !== undefined || flanneld.value.restart.value !== "always")
      reading.reportValue(flanneld.place, "flanneld does not run without plugin flannel", advice);
  }
}

function checkPodPorts(pod: LocatedFields<PodFields>, hostPorts: NameBook, reading: Reading): void {
  const ports = new NameBook(reading);
  for (const { value: port } of pod.ports.value ?? []) {
    ports.add(`${port.protocol.value} ${port.port.value}`, "the port", port.port.place);
    const { value: hostPort, place } = port.hostPort;
    if (hostPort === undefined) continue;
    hostPorts.add(`${port.protocol.value} ${hostPort} on ${pod.node.value}`, "the host port", place);
  }
}

function checkPods(raw: RawCluster, reading: Reading): void {
  const nodes = new Map(raw.nodes.value.map(({ value }) => [value.name.value, value]));
  const names = new NameBook(reading);
  const hostPorts = new NameBook(reading);
  for (const { value: pod } of raw.pods.value) {
    names.add(`${pod.namespace.value}/${pod.name.value}`, "the pod", pod.name.place);
    const node = nodes.get(pod.node.value);
    if (node === undefined) {
      const known = [...nodes.keys()];
      const advice = adviseName(pod.node.value, known, `Nodes are: ${known.slice(0, 10).join(", ")}.`);
      reading.reportValue(pod.node.place, `there is no node ${quote(pod.node.value)}`, advice);
    }
    if (node?.os.value === "linux" && pod.policies.value.length > 0) {
      const advice = WORDS.advicePoliciesOnWindowsOnly;
      reading.reportValue(pod.policies.place, "HCN policies exist on Windows nodes only", advice);
    }
    checkPodPorts(pod, hostPorts, reading);
  }
}

/** The network that a pod names must be there, and on its node. */
function checkPodNetworks(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const networks = new Map([cluster.network, ...cluster.networks].map((each) => [each.name, each]));
  for (const { value: pod } of raw.pods.value) {
    const { value: name, place } = pod.network;
    if (name === undefined) continue;
    const network = networks.get(name);
    const node = cluster.nodes.find((each) => each.name === pod.node.value);
    if (network === undefined) {
      const known = [...networks.keys()];
      const advice = adviseName(name, known, `Networks are: ${known.join(", ")}.`);
      reading.reportValue(place, `there is no network ${quote(name)}`, advice);
    } else if (node !== undefined && !(node.name in network.ranges)) {
      const message = `node ${node.name} has no network ${quote(name)}`;
      const nodes = Object.keys(network.ranges).join(", ");
      reading.reportValue(place, message, `It is on ${nodes === "" ? "no node" : nodes}.`);
    }
  }
}

/** The subnet that a pod of a node stands in on a network; undefined: the node does not have it. */
function linkOf(
  { shape, ranges, clusterCIDR }: PodNetworkSpec,
  node: string,
  { underlay }: ClusterFile,
): Prefix | undefined {
  if (shape === "own-subnet" || ranges[node] === undefined) return ranges[node];
  return shape === "node-subnet" ? underlay.subnet : clusterCIDR;
}

/** Endpoints in further networks, and routes of the pod's own. */
function checkPodWays(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const all = [cluster.network, ...cluster.networks];
  for (const { value: pod } of raw.pods.value) {
    const node = cluster.nodes.find((each) => each.name === pod.node.value);
    const first = pod.networks.value[0] ?? pod.routes.value[0];
    if (node === undefined || first === undefined) continue;
    const { plugin } = cluster.network;
    if (node.os !== "windows" || (plugin !== "hns" && plugin !== "docker")) {
      reading.reportValue(first.place, WORDS.podWaysElsewhere, WORDS.advicePodWaysElsewhere);
      continue;
    }
    const names = [pod.network.value ?? cluster.network.name];
    for (const { value: name, place } of pod.networks.value) {
      if (names.includes(name))
        reading.reportValue(
          place,
          `the pod has an endpoint in ${quote(name)} already`,
          "Name each network once.",
        );
      else if (!all.some((each) => each.name === name && node.name in each.ranges))
        reading.reportValue(
          place,
          `node ${node.name} has no network ${quote(name)}`,
          "Name one of `networks`.",
        );
      names.push(name);
    }
    const subnets = all.flatMap((each) =>
      names.includes(each.name) ? (linkOf(each, node.name, cluster) ?? []) : [],
    );
    for (const { value: route } of pod.routes.value)
      if (!subnets.some((subnet) => prefixContains(subnet, route.via.value)))
        reading.reportValue(route.via.place, WORDS.podRouteGateway, WORDS.advicePodRouteGateway);
    const defaults = pod.routes.value.filter(({ value }) => value.to.value.length === 0);
    if (defaults[1] !== undefined)
      reading.reportValue(defaults[1].place, "a pod has one default route", "Remove one of the two.");
    else if (defaults.length === 0 && pod.networks.value[0] !== undefined)
      reading.reportValue(pod.networks.value[0].place, WORDS.podDefaultRoutes, WORDS.advicePodDefaultRoutes);
  }
}

function checkExpectations(raw: RawCluster, reading: Reading): void {
  for (const { value } of raw.expectations.value) {
    if (value.protocol.value === "icmp" && value.port.value !== undefined)
      reading.reportValue(
        value.port.place,
        "ICMP has no ports",
        "Remove the field, or choose another protocol.",
      );
    if (value.expect.value === "works" && value.code.value !== undefined) {
      const advice = "Remove the field, or write expect: denied.";
      reading.reportValue(value.code.place, "what works has no code", advice);
    }
  }
}

function checkFabric({ underlay, network, nodes }: RawCluster, reading: Reading): void {
  const { azure, deny } = underlay.value;
  const { routes } = network.value;
  const hasTable = azure.value?.subnets.value.some(({ value }) => value.routeTable.value !== undefined);
  if (routes.value === "cloud" && hasTable !== true)
    reading.reportValue(routes.place, WORDS.cloudRoutesWithoutTable, WORDS.adviceCloudRoutes);
  if (azure.value === undefined) return;
  const [rule] = deny.value;
  if (rule !== undefined)
    reading.reportValue(rule.place, WORDS.denyBesideAzure, "Write a rule of a security group.");
  const known = nodes.value.map(({ value: { name, address } }) => ({
    value: { name: name.value, address: address.value },
    place: address.place,
  }));
  checkAzure(azure.value, known, reading);
}

/** Reports everything in which the fields of a file contradict each other. */
export function checkCluster(raw: RawCluster, cluster: ClusterFile | undefined, reading: Reading): void {
  checkMachineNames(raw, reading);
  for (const { value: node } of raw.nodes.value) checkNode(node, reading);
  checkNodeState(raw, reading);
  checkNetwork(raw.network.value, reading);
  checkPods(raw, reading);
  checkExpectations(raw, reading);
  checkFabric(raw, reading);
  if (cluster === undefined) return;
  checkNetworks(raw, cluster, reading);
  checkPodNetworks(raw, cluster, reading);
  checkPodWays(raw, cluster, reading);
  checkAddresses(raw, cluster, reading);
  checkIpv6(raw, cluster, reading);
}
