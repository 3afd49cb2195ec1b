/** Checks of the networks of a cluster file: fields and drivers that exclude each other. */
import { adviseName } from "#core/base/nearest-name.ts";
import { formatPrefix, prefixCovers } from "#core/net/ip.ts";
import { isEarly } from "#core/catalogue/profiles.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import type {
  ClusterFile,
  NetworkDriver,
  NetworkShape,
  PodNetworkPlugin,
  PodNetworkSpec,
} from "./cluster-file.ts";
import { KUBERNETES_MINORS_BEFORE_CNI, type RawCluster } from "./description.ts";
import { backendOf, driverOf } from "./complete-networks.ts";
import type { DriverFields, FurtherNetworkFields, NetworkFields } from "./description-of-networks.ts";
import {
  ACS_POD_LEG,
  FLANNEL_VNI,
  HYBRID_OVERLAY,
  driverTraits,
  hasDocker,
  hasOtherVni,
  isMadeByDaemon,
  needsPodRoutes,
  shapesOf,
} from "./driver-traits.ts";
import type { LocatedFields } from "./mapping.ts";
import { type NamedRange, reportOverlaps, underlayRange } from "./pod-ranges.ts";
import { type Reading, quote } from "./reading.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

/** control-planes.md §1.8: Windows has no other. */
const FLANNEL_PORT = 4_789;

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function checkPlugin(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const { plugin } = network;
  const driver = driverOf(network);
  if (plugin.value === "azure-vnet") checkAzure(driver, network, reading);
  const { dnsServers, dnsSuffix, gatewayDns } = network.docker.value;
  const isChanged = dnsServers.value.length > 0 || dnsSuffix.value !== undefined || !gatewayDns.value;
  if (plugin.value !== "docker" && isChanged)
    reading.reportValue(
      network.docker.place,
      "only Docker has these options",
      "Write plugin: docker, or remove them.",
    );
  if (plugin.value === "acs-2017") checkAcs(network, reading);
  if (plugin.value === "ovn-hybrid-overlay") checkHybridOverlay(network, reading);
  checkOvn(network, reading);
  if (plugin.value === "docker" && driver === "Overlay") {
    const advice = "Write driver: NAT, Transparent or L2Bridge, or plugin: win-overlay.";
    reading.reportMismatch(network.driver.place, WORDS.dockerOverlayIsSwarm, advice);
  }
  if (plugin.value === "win-overlay" && driver !== "Overlay") {
    const message = WORDS.winOverlayNeedsOverlay({ driver });
    const advice = "Write driver: Overlay, or leave the field out.";
    reading.reportMismatch(plugin.place, message, advice);
  }
  if (plugin.value !== "win-bridge" || driver === "L2Bridge") return;
  const message = WORDS.winBridgeNeedsL2Bridge({ driver });
  const advice = "Write plugin: hns, or leave the field out.";
  reading.reportMismatch(plugin.place, message, advice);
}

const MISMATCH = "cluster-file-driver-mismatch";

/** What is fixed in hybrid-overlay-node (control-planes.md §4.1). */
function checkHybridOverlay(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const { driver, routes, vni, name } = network;
  const ofDriver = `hybrid-overlay-node makes networks of driver Overlay, not ${driver.value}`;
  const ofVni = `hybrid-overlay-node has no other VNI than ${HYBRID_OVERLAY.vni}`;
  const ofName = `hybrid-overlay-node calls its network ${HYBRID_OVERLAY.name}`;
  reading.refuseOther(driver, "Overlay", ofDriver, MISMATCH);
  reading.refuseOther(routes, undefined, "hybrid-overlay-node makes the ways between nodes");
  reading.refuseOther(vni, HYBRID_OVERLAY.vni, ofVni);
  reading.refuseOther(name, HYBRID_OVERLAY.name, ofName);
}

/** What the scripts of 2017 decide by themselves. */
function checkAcs({ driver, shape }: LocatedFields<NetworkFields>, reading: Reading): void {
  reading.refuseOther(driver, "Transparent", WORDS.acsDriver, MISMATCH);
  reading.refuseOther(shape, "own-subnet", WORDS.acsShape, MISMATCH);
}

const OF_OVN = "belongs to the plugin ovn-kubernetes";

/** OVN's flows are in the switch of a Transparent network, and every node has a subnet of its own (control-planes.md §4.5). */
function checkOvn(raw: LocatedFields<NetworkFields>, reading: Reading): void {
  const { plugin, driver, encapsulation, northbound } = raw;
  if (plugin.value !== "ovn-kubernetes") {
    const advice = "Remove it, or write plugin: ovn-kubernetes.";
    if (encapsulation.value !== undefined)
      reading.reportValue(encapsulation.place, `an encapsulation ${OF_OVN}`, advice);
    if (northbound.value.length > 0)
      reading.reportValue(northbound.place, `a northbound database ${OF_OVN}`, advice);
    return;
  }
  if (driver.value === undefined) return;
  const message = WORDS.ovnDriver({ driver: driver.value });
  reading.refuseOther(driver, "Transparent", message, MISMATCH);
}

/** A kubelet that knows CNI has another set-up, and one that does not has no other. */
function checkKubelet(
  raw: RawCluster,
  { network, kubernetes, asDocumented }: ClusterFile,
  reading: Reading,
): void {
  const isAcs = network.plugin === "acs-2017";
  if (asDocumented !== undefined && isAcs !== (asDocumented === "2017"))
    reading.reportValue(
      raw.asDocumented.place,
      isAcs ? WORDS.acsEdition({ year: asDocumented }) : WORDS.editionOfAcs,
      isAcs ? 'Write asDocumented: "2017", or leave it out.' : WORDS.adviceEditionOfAcs,
    );
  const isEarlier = KUBERNETES_MINORS_BEFORE_CNI.includes(kubernetes.version.minor);
  if (isAcs === isEarlier) return;
  const { place } = isAcs ? raw.network.value.plugin : raw.kubernetes.value.version;
  const version = `1.${kubernetes.version.minor}`;
  reading.reportValue(
    place,
    isAcs ? WORDS.acsKubernetes({ version }) : WORDS.kubernetesBeforeCni({ version }),
    isAcs ? WORDS.adviceAcsKubernetes : WORDS.adviceKubernetesBeforeCni,
  );
}

function checkAcsCluster(
  raw: RawCluster,
  { network, networks, underlay, policy }: ClusterFile,
  reading: Reading,
): void {
  if (network.plugin !== "acs-2017") return;
  const { clusterCIDR, serviceCIDR } = raw.network.value;
  for (const [range, { place }] of [
    [network.clusterCIDR, clusterCIDR],
    [network.serviceCIDR, serviceCIDR],
    [underlay.subnet, raw.underlay.value.subnet],
  ] as const)
    if (!prefixCovers(ACS_POD_LEG, range)) {
      const message = WORDS.acsRangeOutside({ range: formatPrefix(range), leg: formatPrefix(ACS_POD_LEG) });
      reading.reportValue(place, message, `Write a range in ${formatPrefix(ACS_POD_LEG)}.`);
    }
  if (networks.length > 0 && raw.networks.value[0] !== undefined)
    reading.reportValue(raw.networks.value[0].place, WORDS.acsFurtherNetworks, "Remove the list.");
  if (policy.engine !== undefined && policy.engine !== "none")
    reading.reportValue(raw.policy.place, WORDS.acsWithoutPolicies, "Write policy: none, or leave it out.");
}

/** Beside host-gw's routes in the nodes a cloud needs those of its own (control-planes.md §6.5); tunnels need none. */
function checkFlannelRoutes(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const { routes } = network;
  if (routes.value === undefined) return;
  const backend = backendOf(network);
  if (routes.value !== "cloud")
    reading.reportValue(routes.place, "flanneld makes the routes between nodes", WORDS.adviceFlannelRoutes);
  else if (backend !== "host-gw")
    reading.reportValue(routes.place, WORDS.cloudRoutesWithTunnels, WORDS.adviceCloudRoutesWithTunnels);
}

/** What flanneld decides by itself, and what only flannel has. */
function checkFlannel(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const { plugin, backend, driver, shape, vxlanPort } = network;
  if (plugin.value !== "flannel") {
    if (backend.value === undefined) return;
    reading.reportValue(
      backend.place,
      "a backend belongs to the plugin flannel",
      "Remove it, or write plugin: flannel.",
    );
    return;
  }
  const wanted = backendOf(network) === "vxlan" ? "Overlay" : "L2Bridge";
  const ofDriver = `flannel's backend ${backendOf(network)} makes networks of driver ${wanted}, not ${driver.value}`;
  reading.refuseOther(driver, wanted, ofDriver, MISMATCH);
  checkFlannelRoutes(network, reading);
  if (shape.value !== undefined && shape.value !== "own-subnet")
    reading.reportValue(
      shape.place,
      "flanneld gives each node a range of its own",
      "Write shape: own-subnet, or leave it out.",
    );
  const ofPort = `flanneld on Windows has no other VXLAN port than ${FLANNEL_PORT}`;
  reading.refuseOther(vxlanPort, FLANNEL_PORT, ofPort, "flannel-vxlan-port-not-4789");
}

/** azure-vnet's own networks are L2Bridge, others it adopts. */
function checkAzure(
  driver: NetworkDriver,
  { plugin, shape }: LocatedFields<NetworkFields>,
  reading: Reading,
): void {
  if (driver === "L2Bridge" && shape.value === undefined) {
    const message = "azure-vnet gives pods addresses in three ways";
    reading.reportMismatch(plugin.place, message, WORDS.adviceAzureShape);
  }
  if (driver === "L2Bridge" || driver === "L2Tunnel") return;
  const message = WORDS.azureVnetDriverUnsupported({ driver });
  const advice = "Write driver: L2Bridge, or plugin: hns.";
  reading.reportMismatch(plugin.place, message, advice);
}

/** Who leads to the pods of other nodes: the nodes, or what is around them. */
function checkRoutes(network: LocatedFields<NetworkFields>, shape: NetworkShape, reading: Reading): void {
  const { plugin, routes } = network;
  const needsRoutes = needsPodRoutes({ plugin: plugin.value ?? "hns", driver: driverOf(network) });
  const isAzure = plugin.value === "azure-vnet";
  if (routes.value === undefined || routes.value === "none") return;
  if (plugin.value === "flannel" || plugin.value === "ovn-hybrid-overlay") return;
  if (shape !== "own-subnet") {
    const message = `shape ${shape} has no routes between nodes`;
    reading.reportValue(routes.place, message, WORDS.adviceRoutesUnneeded);
  } else if (!needsRoutes) {
    const message = `driver ${driverOf(network)} has no routes between nodes`;
    reading.reportValue(routes.place, message, "Leave the field out.");
  } else if (isAzure !== (routes.value === "fabric")) {
    const message = isAzure
      ? WORDS.azureFabricRoutesPods
      : "the fabric leads to pods of the plugin azure-vnet alone";
    reading.reportValue(routes.place, message, "Leave the field out, or write routes: none.");
  }
}

function checkShape(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const { shape, plugin } = network;
  const driver = driverOf(network);
  const { shapeReason } = driverTraits(driver);
  const shapes = shapesOf(plugin.value, driver);
  const wanted = shape.value ?? shapes[0] ?? "own-subnet";
  if (shape.value !== undefined && !shapes.includes(shape.value)) {
    const reason = shapeReason === "" ? WORDS.dockerBridgeShapeReason : shapeReason;
    const message = `driver ${driver} has no shape ${shape.value}: ${reason}`;
    reading.reportMismatch(shape.place, message, `Write shape: ${shapes.join(" or ")}, or leave it out.`);
    return;
  }
  if (
    wanted !== "own-subnet" &&
    driver === "L2Bridge" &&
    (plugin.value ?? driverTraits(driver).plugin) === "win-bridge"
  ) {
    const message = WORDS.winBridgeGatewayMissing({ wanted });
    reading.reportValue(shape.place, message, WORDS.adviceWinBridgeGateway);
  }
  checkRoutes(network, wanted, reading);
}

function checkCni(network: LocatedFields<NetworkFields>, reading: Reading): void {
  const { conflist, policies } = network.cni.value;
  const plugin = network.plugin.value ?? driverTraits(driverOf(network)).plugin;
  const changed = [conflist, policies].find(({ value }) => value !== undefined && !isEmptyList(value));
  if ((plugin === "hns" || hasDocker(plugin)) && changed !== undefined) {
    const advice = "Remove it, or write plugin: win-bridge or flannel.";
    reading.reportValue(changed.place, `plugin ${plugin} reads no CNI configuration`, advice);
  }
  if (conflist.value !== undefined && policies.value.length > 0) {
    const advice = "Write the policies into the conflist.";
    reading.reportValue(
      policies.place,
      "the conflist replaces the configuration that these are added to",
      advice,
    );
  }
}

function checkOutboundNat(
  driver: NetworkDriver,
  outboundNAT: LocatedFields<NetworkFields>["outboundNAT"],
  reading: Reading,
): void {
  const { enabled, exceptions } = outboundNAT.value;
  const { hasOutboundNat } = driverTraits(driver);
  if (enabled.value === true && !hasOutboundNat) {
    const message = WORDS.driverWithoutOutboundNat({ driver });
    reading.reportMismatch(enabled.place, message, "Remove the field.");
  }
  if (exceptions.value !== undefined && !(enabled.value ?? hasOutboundNat)) {
    const advice = hasOutboundNat ? "Remove the list, or write enabled: true." : "Remove the list.";
    reading.reportValue(exceptions.place, "exceptions without OutBoundNAT have no effect", advice);
  }
}

/** Fields that one driver alone has. */
function checkDriverFields(
  driver: NetworkDriver,
  fields: Partial<LocatedFields<DriverFields>>,
  reading: Reading,
): void {
  const owners = [
    { name: "vni", field: fields.vni, owner: "Overlay" },
    { name: "vxlanPort", field: fields.vxlanPort, owner: "Overlay" },
    { name: "vlan", field: fields.vlan, owner: "Transparent" },
  ] as const;
  for (const { name, field, owner } of owners) {
    if (field?.value === undefined || driver === owner) continue;
    const message = `${name} belongs to driver ${owner}, and this network has driver ${driver}`;
    reading.reportMismatch(field.place, message, `Remove it, or write driver: ${owner}.`);
  }
}

/** Who gives addresses, and who is asked for them (dataplane.md §2.12: only Transparent endpoints ask on the wire). */
function checkIpam(raw: RawCluster, { network, underlay }: ClusterFile, reading: Reading): void {
  const { ipam, driver } = raw.network.value;
  const { range } = raw.underlay.value.dhcp.value;
  if (network.ipam === "dhcp" && network.driver !== "Transparent") {
    const message = WORDS.driverWithoutDhcp({ driver: network.driver });
    const place = ipam.value === undefined ? driver.place : ipam.place;
    reading.reportMismatch(place, message, "Remove the field, or write driver: Transparent.");
  }
  const [server] = raw.underlay.value.dhcp.value.servers.value;
  if (server !== undefined && underlay.dhcp === undefined)
    reading.reportValue(server.place, WORDS.dhcpServersWithoutFirst, "Write underlay.dhcp.range.");
  for (const { value } of raw.pods.value) {
    const isOvn = network.plugin === "ovn-kubernetes";
    if (value.mac.value === undefined || (network.driver === "Transparent" && !isOvn)) continue;
    const message = isOvn ? WORDS.podMacOfOvn : WORDS.podMacNotTransparent({ driver: network.driver });
    reading.reportValue(value.mac.place, message, "Remove the field.");
  }
  if (underlay.dhcp !== undefined && network.ipam !== "dhcp")
    reading.reportValue(
      range.place,
      "no pod asks the DHCP server",
      "Write network.ipam: dhcp, or remove the range.",
    );
}

/** A network with its fields, whose places messages about it point at. */
interface Located {
  readonly network: PodNetworkSpec;
  readonly at: LocatedFields<NetworkFields | FurtherNetworkFields>;
  /** False: the ranges of the first network are taken. */
  readonly hasOwnRange: boolean;
}

function locate(raw: RawCluster, cluster: ClusterFile): readonly Located[] {
  const first = raw.network.value;
  const places = [first, ...raw.networks.value.map(({ value }) => value)];
  return [cluster.network, ...cluster.networks].flatMap((network, index): readonly Located[] => {
    const at = places[index];
    if (at === undefined) return [];
    return [{ network, at, hasOwnRange: index === 0 || at.clusterCIDR.value !== undefined }];
  });
}

/** True when a node has both networks. */
function shareNode(a: PodNetworkSpec, b: PodNetworkSpec): boolean {
  return Object.keys(b.ranges).some((node) => node in a.ranges);
}

/** Docker makes several NAT networks; HNS says which it takes (control-planes.md §8.1). */
function canDockerRepeat(plugin: PodNetworkPlugin, { driver }: PodNetworkSpec): boolean {
  return plugin === "docker" && driver === "NAT";
}

function checkNeighbours(all: readonly Located[], plugin: PodNetworkPlugin, reading: Reading): void {
  for (const [index, { network, at }] of all.entries()) {
    const traits = driverTraits(network.driver);
    for (const { network: other } of all.slice(0, index)) {
      if (other.name === network.name) {
        const message = `the network ${quote(network.name)} exists already`;
        reading.report("cluster-file-duplicate-name", at.name.place, message, "Choose another name.");
      }
      if (!shareNode(other, network)) continue;
      const bothExternal = traits.isExternal && driverTraits(other.driver).isExternal;
      if (bothExternal && other.driver !== network.driver) {
        const message = WORDS.adapterDriverConflict({
          driver: other.driver,
          name: other.name,
          otherDriver: network.driver,
        });
        const advice = WORDS.adviceSameDriver({ driver: other.driver });
        reading.reportMismatch(at.driver.place, message, advice);
      } else if (other.driver === network.driver && !traits.canRepeat && !canDockerRepeat(plugin, network)) {
        const message = `a node has one ${network.driver} network, and ${other.name} is one`;
        reading.reportMismatch(at.driver.place, message, "Give them to different nodes.");
      } else if (network.driver === "Overlay" && other.driver === "Overlay" && other.vni === network.vni) {
        const message = `the VNI ${network.vni} is that of network ${other.name}`;
        const advice = "Choose another one: it keeps the two apart.";
        reading.report("cluster-file-duplicate-vni", at.vni.place, message, advice);
      }
    }
  }
}

/** Networks that are not virtual ones of their own share the node's addresses. */
function checkRanges(all: readonly Located[], cluster: ClusterFile, raw: RawCluster, reading: Reading): void {
  const rangeOf = ({ network: { name, clusterCIDR }, at }: Located): NamedRange => {
    return { prefix: clusterCIDR, place: at.clusterCIDR.place, name: `the range of network ${name}` };
  };
  const shared = all.filter(
    ({ network, hasOwnRange }, index) =>
      index === 0 || (hasOwnRange && !driverTraits(network.driver).isIsolated),
  );
  reportOverlaps(shared.map(rangeOf), reading);
  const underlay = underlayRange(raw, cluster);
  for (const each of all.slice(1)) if (each.hasOwnRange) reportOverlaps([underlay, rangeOf(each)], reading);
}

/** What only newer versions of HNS can. */
function checkBuilds(all: readonly Located[], cluster: ClusterFile, reading: Reading): void {
  for (const { network, at } of all) {
    // hybrid-overlay-node finds out itself, and ends.
    if (network.driver !== "Overlay" || network.vxlanPort === 4_789 || isMadeByDaemon(cluster, network))
      continue;
    const old = cluster.nodes.find(
      ({ name, build }) =>
        name in network.ranges && build !== undefined && !hasFeature(build.profile.hns, "VxlanPort"),
    );
    if (old === undefined) continue;
    const message = WORDS.buildWithFixedVxlanPort({ node: old.name, build: old.build?.profile.name ?? "" });
    const advice = "Remove the field, or choose a newer build.";
    reading.report("hybrid-overlay-port-unsupported", at.vxlanPort.place, message, advice);
  }
}

/**
 * hcsshim has 16 bits for the identifier in RemoteSubnetRoute (dataplane.md §2.14): Windows nodes cannot be told of
 * each other with a larger one.
 */
const VNI_OF_REMOTE_SUBNETS_MAX = 0xffff;

function checkVni({ network, at }: Located, reading: Reading): void {
  if (network.driver !== "Overlay" || network.vni <= VNI_OF_REMOTE_SUBNETS_MAX) return;
  const message = WORDS.vniTooLarge({ vni: network.vni });
  reading.report("cluster-file-vni-too-large", at.vni.place, message, "Choose one from 4096 to 65535.");
}

/** Every edition of the Kubernetes page has flannel's VXLAN with VNI 4096 alone (windows-networking-documentation.md §8). */
function checkVniOfEdition(all: readonly Located[], cluster: ClusterFile, reading: Reading): void {
  const { asDocumented } = cluster;
  const own = all.find(({ network }) => network === cluster.network);
  if (asDocumented === undefined || own === undefined || !hasOtherVni(cluster)) return;
  const message = WORDS.vniNotAsDocumented({
    asDocumented,
    flannelVni: FLANNEL_VNI,
    vni: own.network.vni,
  });
  const advice = `Write vni: ${FLANNEL_VNI}, or run the nodes as their builds are.`;
  reading.report("flannel-vni-other-than-4096", own.at.vni.place, message, advice);
}

/** What of ovn-kubernetes is not here yet is refused by name, and not left out in silence. */
function checkOvnCluster(
  raw: RawCluster,
  { network, networks, nodes, ipv6, policy }: ClusterFile,
  reading: Reading,
): void {
  if (network.plugin !== "ovn-kubernetes") return;
  const { plugin } = raw.network.value;
  const advice = WORDS.adviceOvnCluster;
  if (nodes.some(({ os }) => os === "linux"))
    reading.reportValue(plugin.place, "Linux nodes are not yet chassis of OVN", advice);
  if (ipv6 !== undefined || networks.length > 0)
    reading.reportValue(plugin.place, "OVN has one network here, of IPv4 alone", advice);
  if (policy.engine !== undefined)
    reading.reportValue(raw.policy.place, "NetworkPolicies are ACLs of OVN", "Remove the field.");
}

function checkNodes(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const nodes = new Map(cluster.nodes.map((node) => [node.name, node]));
  for (const { value: network } of raw.networks.value) {
    for (const { value: name, place } of network.nodes.value ?? []) {
      const node = nodes.get(name);
      if (node === undefined) {
        const advice = adviseName(name, [...nodes.keys()], "Name one of the nodes.");
        reading.reportValue(place, `there is no node ${quote(name)}`, advice);
      } else if (node.os !== "windows") {
        reading.reportValue(place, "a Linux node has no HNS networks", "Name Windows nodes.");
      }
    }
  }
}

function checkFurther(
  { value }: { readonly value: LocatedFields<FurtherNetworkFields> },
  driver: NetworkDriver,
  reading: Reading,
): void {
  const traits = driverTraits(driver);
  if (!traits.shapes.includes("own-subnet")) {
    const message = `driver ${driver} is possible in \`network\` alone`;
    reading.reportMismatch(value.driver.place, message, "Write driver: L2Bridge, Overlay or NAT.");
  } else if (value.clusterCIDR.value === undefined && !traits.isIsolated) {
    const message = `a network of driver ${driver} needs a range of its own`;
    reading.report(
      "cluster-file-missing-field",
      value.clusterCIDR.place,
      message,
      'Write clusterCIDR: "10.245.0.0/16".',
    );
  }
  checkDriverFields(driver, value, reading);
  checkOutboundNat(driver, value.outboundNAT, reading);
}

/** Fields of the network by themselves. */
export function checkNetwork(network: LocatedFields<NetworkFields>, reading: Reading): void {
  checkPlugin(network, reading);
  checkFlannel(network, reading);
  checkShape(network, reading);
  checkCni(network, reading);
  checkDriverFields(driverOf(network), network, reading);
  checkOutboundNat(driverOf(network), network.outboundNAT, reading);
}

/** HNS of before HCN is asked by Docker's engine alone. */
function checkEarlyBuilds(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  if (hasDocker(cluster.network.plugin)) return;
  for (const [index, { build }] of cluster.nodes.entries()) {
    if (build === undefined || !isEarly(build)) continue;
    const place = raw.nodes.value[index]?.value.build.place ?? raw.network.value.plugin.place;
    const message = WORDS.buildBeforeHcn({ build: build.profile.title });
    reading.reportValue(place, message, WORDS.adviceBuildBeforeHcn, "windows-build-unsupported");
  }
}

/** All networks together, and with the nodes. */
export function checkNetworks(raw: RawCluster, cluster: ClusterFile, reading: Reading): void {
  const all = locate(raw, cluster);
  for (const [index, network] of raw.networks.value.entries())
    checkFurther(network, cluster.networks[index]?.driver ?? cluster.network.driver, reading);
  for (const each of all) checkVni(each, reading);
  checkVniOfEdition(all, cluster, reading);
  checkIpam(raw, cluster, reading);
  checkKubelet(raw, cluster, reading);
  checkAcsCluster(raw, cluster, reading);
  checkNodes(raw, cluster, reading);
  checkOvnCluster(raw, cluster, reading);
  checkNeighbours(all, cluster.network.plugin, reading);
  checkRanges(all, cluster, raw, reading);
  checkBuilds(all, cluster, reading);
  checkEarlyBuilds(raw, cluster, reading);
  const [rule] = raw.underlay.value.deny.value;
  if (cluster.network.driver !== "L2Tunnel" && rule !== undefined) {
    const message = "rules of the fabric hold for nodes of an L2Tunnel network";
    reading.reportMismatch(rule.place, message, "Remove them, or write network.driver: L2Tunnel.");
  }
}
