/** Checks between addresses: who owns what, and whether it lies where it must. */
import {
  type Ipv4,
  type Prefix,
  addToIp,
  formatIp,
  formatPrefix,
  lastIp,
  prefixContains,
  prefixCovers,
  prefixesOverlap,
} from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import {
  type AddressRange,
  type ClusterFile,
  type DhcpSpec,
  type FileUnderlay,
  type NetworkDriver,
  type PodNetworkSpec,
  formatAddressRange,
} from "./cluster-file.ts";
import type { DhcpScopeFields } from "./description-of-underlay.ts";
import type { RawCluster } from "./description.ts";
import { type NamedRange, checkPodRanges, reportOverlaps, underlayRange } from "./pod-ranges.ts";
import type { Located, ValuePlace, Reading } from "./reading.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

/** Who has `.2` of a node's range. */
const SECOND_ADDRESS: Readonly<Record<NetworkDriver, string | undefined>> = {
  L2Bridge: "the bridge endpoint of the node",
  L2Tunnel: undefined,
  Overlay: "the source address of the node's load balancers",
  Transparent: undefined,
  NAT: undefined,
};

/** Owners of addresses seen so far. */
class AddressAllocator {
  private readonly owners = new Map<Ipv4, string>();
  private readonly reading: Reading;

  constructor(reading: Reading) {
    this.reading = reading;
  }

  add(address: Ipv4, owner: string, place: ValuePlace): void {
    const other = this.owners.get(address);
    if (other === undefined) this.owners.set(address, owner);
    else {
      const message = `${formatIp(address)} belongs to ${other} already`;
      this.reading.report(
        "cluster-file-duplicate-address",
        place,
        message,
        "Choose an address that is free.",
      );
    }
  }
}

/** First and last address of a subnet name no machine. */
function isHostOf(subnet: Prefix, address: Ipv4): boolean {
  return prefixContains(subnet, address) && address !== subnet.address && address !== lastIp(subnet);
}

function hostsOf(subnet: Prefix): string {
  const first = addToIp(subnet.address, 1);
  const last = addToIp(lastIp(subnet), -1);
  return first === undefined || last === undefined ? "" : `${formatIp(first)} to ${formatIp(last)}`;
}

/** A machine of the underlay has an address of its subnet. `further`: what else could be changed. */
function checkMachine(
  { value, place }: Located<Ipv4>,
  subnet: Prefix,
  reading: Reading,
  further: string = "",
): void {
  if (isHostOf(subnet, value)) return;
  const message = `${formatIp(value)} is not a host address of the underlay, ${formatPrefix(subnet)}`;
  reading.reportValue(place, message, `Choose one from ${hostsOf(subnet)}${further}.`);
}

function checkUnderlay(
  raw: RawCluster,
  cluster: ClusterFile,
  allocator: AddressAllocator,
  reading: Reading,
): void {
  const { subnet, router } = cluster.underlay;
  const places = raw.underlay.value;
  if (subnet.length > 29) {
    const message = `${formatPrefix(subnet)} is too small for nodes`;
    reading.reportValue(places.subnet.place, message, "Write a range of length 29 or less.");
    return;
  }
  checkMachine({ value: router, place: places.router.place }, subnet, reading);
  allocator.add(router, "the router", places.router.place);
  for (const [index, node] of cluster.nodes.entries()) {
    const place = raw.nodes.value[index]?.value.address.place ?? raw.nodes.place;
    checkMachine({ value: node.address, place }, subnet, reading, ", or change underlay.subnet");
    allocator.add(node.address, `node ${node.name}`, place);
  }
  for (const { value: route } of places.routes.value) {
    if (!isHostOf(subnet, route.via.value)) {
      const message = `the next hop ${formatIp(route.via.value)} is not on the underlay, ${formatPrefix(subnet)}`;
      reading.reportValue(route.via.place, message, "Write the underlay address of a node.");
    }
  }
}

/** 0/8, 127/8, 169.254/16, and everything from multicast on are no hosts of other networks. */
function isSpecial(address: Ipv4): boolean {
  const first = address >>> 24;
  return first === 0 || first === 127 || first >= 224 || address >>> 16 === 0xa9fe;
}

function checkOutside(
  raw: RawCluster,
  cluster: ClusterFile,
  allocator: AddressAllocator,
  reading: Reading,
): void {
  for (const [index, host] of cluster.outside.entries()) {
    const place = raw.outside.value?.[index]?.value.address.place ?? raw.outside.place;
    const inside = [
      { prefix: cluster.underlay.subnet, name: "the underlay" },
      { prefix: cluster.network.clusterCIDR, name: "the pod range" },
    ].find(({ prefix }) => prefixContains(prefix, host.address));
    if (inside !== undefined) {
      const message = `${formatIp(host.address)} is in ${inside.name}, ${formatPrefix(inside.prefix)}`;
      reading.reportValue(place, message, "An outside host is beyond the router: choose another address.");
    } else if (isSpecial(host.address)) {
      const message = `${formatIp(host.address)} cannot be the address of a host`;
      reading.reportValue(place, message, "Choose an ordinary address, such as 203.0.113.10.");
    }
    allocator.add(host.address, `outside host ${host.name}`, place);
  }
}

function checkRanges(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const network = raw.network.value;
  const service = {
    prefix: cluster.network.serviceCIDR,
    place: network.serviceCIDR.place,
    name: "the service range (network.serviceCIDR)",
  };
  const underlay = underlayRange(raw, cluster);
  const pods = {
    prefix: cluster.network.clusterCIDR,
    place: network.clusterCIDR.place,
    name: "the pod range (network.clusterCIDR)",
  };
  if (service.prefix.length < 12 || service.prefix.length > 30) {
    const message = `${formatPrefix(service.prefix)} has a length that Kubernetes refuses for services`;
    reading.reportValue(service.place, message, "Write a length from 12 to 30.");
  }
  const { shape } = cluster.network;
  const ranges = podRangesOf(raw, cluster);
  if (shape === "own-subnet") refusePodAddresses(raw, reading);
  else checkPodAddresses(raw, cluster, reading);
  if (shape !== "node-subnet") {
    reportOverlaps([pods, service, underlay], reading);
    checkPodRanges(ranges, pods, reading);
    return;
  }
  reportOverlaps([service, underlay], reading);
  if (!prefixCovers(underlay.prefix, pods.prefix)) {
    const message = `in shape node-subnet ${formatPrefix(pods.prefix)} must be in the underlay, ${formatPrefix(underlay.prefix)}`;
    reading.reportValue(pods.place, message, WORDS.adviceClusterCIDRInUnderlay);
    return;
  }
  checkPodRanges(ranges, pods, reading);
  checkMachinesOutside(ranges, cluster, reading);
}

/** The ranges that pods have addresses of: one of each node, and what a DHCP server gives to all Windows nodes. */
function podRangesOf(raw: RawCluster, { nodes, network, underlay }: ClusterFile): readonly NamedRange[] {
  const leased = network.ipam === "dhcp" ? leasedRanges(raw, underlay) : [];
  const own = nodes.flatMap(({ name, os, podCIDR, podAddresses }, index) => {
    const place = raw.nodes.value[index]?.value.podCIDR.place;
    if (place === undefined || podAddresses !== undefined || (network.ipam === "dhcp" && os === "windows"))
      return [];
    return [{ prefix: podCIDR, place, name: `the podCIDR of ${name}` }];
  });
  return [...own, ...leased];
}

/** A DHCP server with the places that messages about it point at. */
interface LocatedServer {
  readonly spec: DhcpSpec;
  readonly name: string;
  readonly range: ValuePlace;
  readonly reservations: DhcpScopeFields["reservations"];
}

function dhcpServersOf(raw: RawCluster, { dhcp, dhcpServers }: FileUnderlay): readonly LocatedServer[] {
  const { range, reservations, servers } = raw.underlay.value.dhcp.value;
  const own = { range: range.place, reservations: reservations.value };
  const name = "the DHCP server (underlay.dhcp)";
  return [
    ...(dhcp === undefined ? [] : [{ spec: dhcp, name, ...own }]),
    ...dhcpServers.flatMap((spec, index): readonly LocatedServer[] => {
      const at = servers.value[index]?.value;
      if (at === undefined) return [];
      const places = { range: at.range.place, reservations: at.reservations.value };
      return [{ spec, name: `DHCP server ${spec.name}`, ...places }];
    }),
  ];
}

/** One range that several servers share counts once. */
function leasedRanges(raw: RawCluster, underlay: FileUnderlay): readonly NamedRange[] {
  const all = dhcpServersOf(raw, underlay);
  return all
    .filter(
      ({ spec }, index) =>
        !all.slice(0, index).some((other) => prefixesOverlap(other.spec.range, spec.range)),
    )
    .map(({ spec, name, range }) => ({ prefix: spec.range, place: range, name: `the range of ${name}` }));
}

/** The first address that both give out; each step leaves an exclusion behind. */
function givenOutTwice(one: DhcpSpec, other: DhcpSpec): Ipv4 | undefined {
  if (!prefixesOverlap(one.range, other.range)) return undefined;
  const both = one.range.length > other.range.length ? one.range : other.range;
  const exclusions = [...one.exclusions, ...other.exclusions];
  const last = Number(lastIp(both)) - 1;
  for (let ip = Number(both.address) + 1; ip <= last; ip++) {
    const exclusion = exclusions.find((each) => prefixContains(each, ip as Ipv4));
    if (exclusion === undefined) return ip as Ipv4;
    ip = Number(lastIp(exclusion));
  }
  return undefined;
}

/** Machines of DHCP servers, what they give out, and what they keep. */
function checkDhcpServers(
  raw: RawCluster,
  { underlay }: ClusterFile,
  allocator: AddressAllocator,
  reading: Reading,
): void {
  for (const { value } of raw.underlay.value.dhcp.value.servers.value) {
    const { address, name } = value;
    checkMachine(address, underlay.subnet, reading);
    allocator.add(address.value, `DHCP server ${name.value}`, address.place);
  }
  const all = dhcpServersOf(raw, underlay);
  for (const [index, { spec, name, range, reservations }] of all.entries()) {
    for (const other of all.slice(0, index)) {
      const twice = givenOutTwice(other.spec, spec);
      if (twice === undefined) continue;
      const message = `${name} and ${other.name} both give out ${formatIp(twice)}`;
      reading.report("cluster-file-overlapping-ranges", range, message, WORDS.adviceDhcpSplit);
    }
    const kept = new AddressAllocator(reading);
    for (const { value } of reservations) {
      const { address, mac } = value;
      kept.add(address.value, `a reservation of ${formatMac(mac.value)}`, address.place);
      if (prefixContains(spec.range, address.value)) continue;
      const message = `${formatIp(address.value)} is not in the server's range, ${formatPrefix(spec.range)}`;
      reading.reportValue(address.place, message, "Reserve an address of that range.");
    }
  }
}

/** In shape `node-subnet` machines and pods share a subnet, so the pod ranges must leave the machines out. */
function checkMachinesOutside(ranges: readonly NamedRange[], cluster: ClusterFile, reading: Reading): void {
  const machines = [
    { name: "the router", address: cluster.underlay.router },
    ...cluster.nodes.map((node) => ({ name: `node ${node.name}`, address: node.address })),
  ];
  for (const { prefix, place } of ranges) {
    const inside = machines.find((machine) => prefixContains(prefix, machine.address));
    if (inside === undefined) continue;
    const message = `${formatPrefix(prefix)} holds ${formatIp(inside.address)}, the address of ${inside.name}`;
    reading.report("cluster-file-overlapping-ranges", place, message, "Choose a part without machines.");
  }
}

/** A range of the node's own needs no list of addresses. */
function refusePodAddresses(raw: RawCluster, reading: Reading): void {
  for (const { value: node } of raw.nodes.value) {
    if (node.podAddresses.value === undefined) continue;
    const message = WORDS.podAddressesInOwnSubnet;
    const advice = "Write podCIDR, or network.shape: node-subnet or pod-subnet.";
    reading.reportValue(node.podAddresses.place, message, advice);
  }
}

/** Addresses that somebody has; `place` of those that a node's list of addresses names. */
interface OwnedRange {
  readonly range: AddressRange;
  readonly owner: string;
  readonly place?: ValuePlace;
}

/** What machines and ranges have of the subnet of pods. */
function ownedByOthers({ network, underlay, nodes }: ClusterFile): readonly OwnedRange[] {
  const gateway = network.shape === "pod-subnet" ? addToIp(network.clusterCIDR.address, 1) : undefined;
  return [
    { range: rangeOfOne(underlay.router), owner: "the router's" },
    ...(typeof gateway === "number"
      ? [{ range: rangeOfOne(gateway), owner: "the gateway's of the pods" }]
      : []),
    ...nodes.flatMap(({ name, address, podCIDR, podAddresses }) => {
      const own = { range: rangeOfOne(address), owner: `node ${name}'s own` };
      const range = { first: podCIDR.address as Ipv4, last: lastIp(podCIDR) as Ipv4 };
      return podAddresses === undefined ? [own, { range, owner: `in the podCIDR of ${name}` }] : [own];
    }),
  ];
}

/** Reports ranges of lists that hold an address of somebody else. Sorted, so that thousands of nodes cost little. */
function reportShared(ranges: readonly OwnedRange[], reading: Reading): void {
  const sorted = ranges.toSorted((a, b) => a.range.first - b.range.first || a.range.last - b.range.last);
  let widest: OwnedRange | undefined;
  for (const each of sorted) {
    const { first } = each.range;
    if (widest !== undefined && first <= widest.range.last) {
      const isLater = (widest.place?.offset ?? -1) < (each.place?.offset ?? -1);
      const [other, own] = isLater ? [widest, each] : [each, widest];
      if (own.place !== undefined) {
        const message = `${formatAddressRange(own.range)} holds ${formatIp(first)}, which is ${other.owner}`;
        const advice = "Choose addresses that are free.";
        reading.report("cluster-file-overlapping-ranges", own.place, message, advice);
      }
    }
    if (widest === undefined || each.range.last > widest.range.last) widest = each;
  }
}

/** Single addresses of nodes: in the subnet of the pods, and nobody else's. */
function checkPodAddresses(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const subnet = cluster.network.clusterCIDR;
  const listed: OwnedRange[] = [];
  for (const [index, { name }] of cluster.nodes.entries()) {
    const { podAddresses, podCIDR } = raw.nodes.value[index]?.value ?? {};
    if (podAddresses?.value === undefined) continue;
    if (podCIDR?.value !== undefined) {
      const message = WORDS.podCIDRWithPodAddresses;
      reading.reportValue(podCIDR.place, message, "Remove one of the two fields.");
      continue;
    }
    for (const { value: range, place } of podAddresses.value) {
      if (prefixContains(subnet, range.first) && prefixContains(subnet, range.last)) {
        listed.push({ range, owner: `for pods of ${name}`, place });
        continue;
      }
      const message = `${formatAddressRange(range)} is not in ${formatPrefix(subnet)}, the subnet of the pods`;
      reading.reportValue(place, message, `Choose addresses of ${formatPrefix(subnet)}.`);
    }
  }
  if (listed.length > 0) reportShared([...ownedByOthers(cluster), ...listed], reading);
}

function rangeOfOne(ip: Ipv4): AddressRange {
  return { first: ip, last: ip };
}

/** The addresses of a node's range that no pod can have, by what has them. */
function reservedIn(
  network: PodNetworkSpec,
  range: Prefix,
): readonly (readonly [address: unknown, owner: string])[] {
  if (network.shape !== "own-subnet") return [];
  const second = network.routes === "fabric" ? undefined : SECOND_ADDRESS[network.driver];
  return [
    [range.address, "the network itself"],
    [addToIp(range.address, 1), "the gateway of the HNS network"],
    ...(second === undefined ? [] : [[addToIp(range.address, 2), second] as const]),
    [lastIp(range), "broadcasts"],
  ];
}

function checkPods(
  raw: RawCluster,
  cluster: ClusterFile,
  allocator: AddressAllocator,
  reading: Reading,
): void {
  const networks = new Map([cluster.network, ...cluster.networks].map((each) => [each.name, each]));
  // Virtual networks may hold the same addresses.
  const allocators = new Map(cluster.networks.map(({ name }) => [name, new AddressAllocator(reading)]));
  for (const [index, pod] of cluster.pods.entries()) {
    const network = networks.get(pod.podNetwork);
    const range = network?.ranges[pod.node];
    const place = raw.pods.value[index]?.value.address.place;
    if (pod.address === undefined || network === undefined || range === undefined || place === undefined)
      continue;
    const { address } = pod;
    const text = formatIp(address);
    const node = cluster.nodes.find(({ name }) => name === pod.node);
    if (network.ipam === "dhcp" && node?.os === "windows") {
      reading.reportValue(
        place,
        "the DHCP server chooses the addresses of this network",
        "Remove the field.",
      );
      continue;
    }
    if (!prefixContains(range, pod.address)) {
      const message = `${text} is not in the pod range of ${pod.node}, ${formatPrefix(range)}`;
      reading.reportValue(place, message, `Choose an address of that range, or leave it to IPAM.`);
      continue;
    }
    const single = node?.podAddresses;
    if (single !== undefined && !single.some(({ first, last }) => first <= address && address <= last)) {
      const message = `${text} is not among the addresses for pods of ${pod.node} (podAddresses)`;
      reading.reportValue(place, message, `Choose one of ${single.map(formatAddressRange).join(", ")}.`);
      continue;
    }
    const taken = reservedIn(network, range).find(([kept]) => kept === address);
    if (taken !== undefined) {
      reading.reportValue(
        place,
        `${text} is kept for ${taken[1]}`,
        "Choose another address, or leave it to IPAM.",
      );
    }
    (allocators.get(network.name) ?? allocator).add(pod.address, `pod ${pod.namespace}/${pod.name}`, place);
  }
}

/** Reports overlapping ranges, addresses with two owners, and addresses outside their range. */
export function checkAddresses(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const allocator = new AddressAllocator(reading);
  checkRanges(raw, cluster, reading);
  checkUnderlay(raw, cluster, allocator, reading);
  checkOutside(raw, cluster, allocator, reading);
  checkDhcpServers(raw, cluster, allocator, reading);
  checkPods(raw, cluster, allocator, reading);
}
