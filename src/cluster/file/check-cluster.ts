/** Checks between fields that are not about addresses: names, and settings that exclude each other. */
import { nearestNames } from "../../base/nearest-name.ts";
import { checkAddresses } from "./check-addresses.ts";
import type { ClusterFile } from "./cluster-file.ts";
import type { RawCluster } from "./complete-cluster.ts";
import type { NetworkFields, NodeFields, PodFields } from "./description.ts";
import type { LocatedFields } from "./mapping.ts";
import { type Place, type Reading, quote } from "./reading.ts";

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
  add(name: string, what: string, place: Place): void {
    const line = this.lines.get(name);
    if (line === undefined) this.lines.set(name, this.reading.lineOf(place.offset));
    else {
      const message = `${what} ${quote(name)} exists already, in line ${line}`;
      this.reading.report("cluster-file-duplicate-name", place, message, "Choose another name.");
    }
  }
}

function checkMachineNames(raw: RawCluster, reading: Reading): void {
  const book = new NameBook(reading);
  const machines = [
    ...raw.nodes.value.map(({ value }) => ({ name: value.name, what: "a node or host" })),
    ...(raw.outside.value ?? []).map(({ value }) => ({ name: value.name, what: "a node or host" })),
  ];
  for (const { name, what } of machines) {
    if (TAKEN_NAMES.includes(name.value)) {
      reading.reportValue(name.place, `the name ${quote(name.value)} is taken`, "Choose another name.");
    }
    book.add(name.value, what, name.place);
  }
}

function checkNode(node: LocatedFields<NodeFields>, reading: Reading): void {
  if (node.os.value === "linux" && node.build.value !== undefined) {
    const advice = "Remove the field, or write os: windows.";
    reading.reportValue(node.build.place, "a Linux node has no build of Windows", advice);
  }
}

function checkNetwork(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const isNodeSubnet = network.shape.value === "node-subnet";
  if (isNodeSubnet && network.plugin.value === "win-bridge") {
    reading.report(
      "cluster-file-invalid-value",
      network.shape.place,
      "win-bridge gives pods the gateway network + 2, which does not exist in shape node-subnet",
      "Write plugin: hns, or shape: own-subnet. See also: mullion explain cni-gateway-is-network-plus-two.",
    );
  }
  if (isNodeSubnet && network.routes.value === "static") {
    const advice = "Leave the field out: nodes of one subnet reach each other's pods directly.";
    reading.reportValue(network.routes.place, "shape node-subnet has no routes between nodes", advice);
  }
  const { conflist, policies } = network.cni.value;
  const changed = [conflist, policies].find(({ value }) => value !== undefined && !isEmptyList(value));
  if (network.plugin.value === "hns" && changed !== undefined) {
    const advice = "Remove it, or write plugin: win-bridge.";
    reading.reportValue(changed.place, "plugin hns reads no CNI configuration", advice);
  }
  if (conflist.value !== undefined && policies.value.length > 0) {
    const advice = "Write the policies into the conflist.";
    reading.reportValue(
      policies.place,
      "the conflist replaces the configuration that these are added to",
      advice,
    );
  }
  const { enabled, exceptions } = network.outboundNAT.value;
  if (!enabled.value && exceptions.value !== undefined) {
    const advice = "Remove the list, or write enabled: true.";
    reading.reportValue(exceptions.place, "exceptions without OutBoundNAT have no effect", advice);
  }
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
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
      const [nearest] = nearestNames(pod.node.value, [...nodes.keys()]);
      const known = [...nodes.keys()].slice(0, 10).join(", ");
      const advice = nearest === undefined ? `Nodes are: ${known}.` : `Did you mean ${nearest}?`;
      reading.reportValue(pod.node.place, `there is no node ${quote(pod.node.value)}`, advice);
    }
    if (node?.os.value === "linux" && pod.policies.value.length > 0) {
      const advice = "Remove the list, or let the pod run on a Windows node.";
      reading.reportValue(pod.policies.place, "HCN policies exist on Windows nodes only", advice);
    }
    checkPodPorts(pod, hostPorts, reading);
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

/** Reports everything in which the fields of a file contradict each other. */
export function checkCluster(raw: RawCluster, cluster: ClusterFile | undefined, reading: Reading): void {
  checkMachineNames(raw, reading);
  for (const { value: node } of raw.nodes.value) checkNode(node, reading);
  checkNetwork(raw.network.value, reading);
  checkPods(raw, reading);
  checkExpectations(raw, reading);
  if (cluster !== undefined) checkAddresses(raw, cluster, reading);
}
