/** The networks of a cluster file with every default filled in. */
import { type Prefix, equalPrefixes } from "#core/net/ip.ts";
import type {
  FlannelBackend,
  NetworkDriver,
  NetworkShape,
  NetworkSpec,
  NodeSpec,
  OutboundNatSpec,
  PodNetworkPlugin,
  PodNetworkSpec,
  FileUnderlay,
} from "./cluster-file.ts";
import { DEFAULTS, type NodeFields } from "./description.ts";
import type { FurtherNetworkFields, NetworkFields, OutboundNatFields } from "./description-of-networks.ts";
import { HYBRID_OVERLAY, driverTraits, hasDocker, needsPodRoutes, shapesOf } from "./driver-traits.ts";
import { type LocatedFields, recordsOf } from "./mapping.ts";
import { assignPodRanges, cutBlocks, requirePodRanges } from "./pod-ranges.ts";
import { type Located, type Reading, valuesOf } from "./reading.ts";

/** What every network has besides its ranges. */
export type NetworkBase = Omit<NetworkSpec, "ranges">;

/** As the start scripts call them (control-planes.md §2.4). */
const BRIDGE_NAME = "cbr0";
const OVERLAY_NAME = "vxlan0";

/** What a network is called where the file does not say, by the plugin that makes it; others are called after the driver. */
const NAMES: Readonly<Partial<Record<PodNetworkPlugin, string>>> = {
  // Docker's default network on Windows (control-planes.md §8.1).
  docker: "nat",
  // As acs-engine calls it (control-planes.md §9).
  "acs-2017": "transparentNet",
  "ovn-hybrid-overlay": HYBRID_OVERLAY.name,
  // As it was made for OVN (control-planes.md §4.5).
  "ovn-kubernetes": "external",
  // The name in azure-vnet's own lists for Windows, after which HNS' network is called (azure-windows-swift.conflist).
  "azure-vnet": "azure",
};

/** flannel's backend; undefined with another plugin. */
export function backendOf({ plugin, backend }: LocatedFields<NetworkFields>): FlannelBackend | undefined {
  return plugin.value === "flannel" ? (backend.value ?? "vxlan") : undefined;
}

function isHybridOverlay({ plugin }: LocatedFields<NetworkFields>): boolean {
  return plugin.value === "ovn-hybrid-overlay";
}

/** True when the plugin has networks of driver Overlay alone. */
function isOverlayPlugin(raw: LocatedFields<NetworkFields>): boolean {
  return raw.plugin.value === "win-overlay" || isHybridOverlay(raw) || backendOf(raw) === "vxlan";
}

/** The driver that the file names, or what the plugin and flannel's backend ask for. */
export function driverOf(raw: LocatedFields<NetworkFields>): NetworkDriver {
  if (raw.plugin.value === "docker") return raw.driver.value ?? "NAT";
  if (raw.plugin.value === "acs-2017") return "Transparent";
  if (raw.plugin.value === "ovn-kubernetes") return raw.driver.value ?? "Transparent";
  return raw.driver.value ?? (isOverlayPlugin(raw) ? "Overlay" : "L2Bridge");
}

function nameOf(raw: LocatedFields<NetworkFields>): string {
  const { name, plugin } = raw;
  const ofPlugin = plugin.value === undefined ? undefined : NAMES[plugin.value];
  return name.value ?? ofPlugin ?? (isOverlayPlugin(raw) ? OVERLAY_NAME : BRIDGE_NAME);
}

/** Without repetitions, in order. */
function distinct(prefixes: readonly Prefix[]): readonly Prefix[] {
  return prefixes.filter(
    (prefix, index) => prefixes.findIndex((other) => equalPrefixes(other, prefix)) === index,
  );
}

function completeOutboundNat(
  nat: LocatedFields<OutboundNatFields>,
  driver: NetworkDriver,
  ranges: {
    readonly clusterCIDR: Prefix;
    readonly serviceCIDR: Prefix;
    readonly underlay: FileUnderlay;
  },
  plugin: PodNetworkPlugin,
): OutboundNatSpec {
  const { hasOutboundNat, translatesToNodes } = driverTraits(driver);
  // Docker's endpoints have the policy where `-o …enable_outboundnat` asks for it (control-planes.md §8.4).
  if (hasDocker(plugin))
    return { enabled: nat.enabled.value ?? false, exceptions: valuesOf(nat.exceptions.value ?? []) };
  const { clusterCIDR, serviceCIDR, underlay } = ranges;
  const inside = [clusterCIDR, serviceCIDR, ...(translatesToNodes ? [] : [underlay.subnet])];
  const exceptions = nat.exceptions.value;
  return {
    enabled: nat.enabled.value ?? hasOutboundNat,
    exceptions: exceptions === undefined ? distinct(inside) : valuesOf(exceptions),
  };
}

/** The shape that the file names, or the driver's first; one that the driver does not have is reported elsewhere. */
function shapeOf(raw: LocatedFields<NetworkFields>): NetworkShape {
  const { shape } = raw;
  const shapes = shapesOf(raw.plugin.value, driverOf(raw));
  return shapes.find((each) => each === shape.value) ?? shapes[0] ?? "own-subnet";
}

/** Who leads to the pods of other nodes, where the file does not say. */
function routesOf(plugin: PodNetworkPlugin, { azure }: FileUnderlay): NetworkBase["routes"] {
  if (plugin === "ovn-hybrid-overlay") return "hybrid-overlay";
  if (plugin === "azure-vnet") return "fabric";
  return plugin === "acs-2017" && azure !== undefined ? "cloud" : "static";
}

/** The network of the file, without its ranges. */
export function completeNetwork(raw: LocatedFields<NetworkFields>, underlay: FileUnderlay): NetworkBase {
  const driver = driverOf(raw);
  const traits = driverTraits(driver);
  const shape = shapeOf(raw);
  const fallback = shape === "node-subnet" ? underlay.subnet : DEFAULTS.clusterCIDR;
  const clusterCIDR = raw.clusterCIDR.value ?? fallback;
  const serviceCIDR = raw.serviceCIDR.value;
  const backend = backendOf(raw);
  const plugin = raw.plugin.value ?? traits.plugin;
  const defaultRoutes =
    shape === "own-subnet" && (needsPodRoutes({ plugin, driver }) || isHybridOverlay(raw))
      ? routesOf(plugin, underlay)
      : "none";
  return {
    plugin,
    backend,
    encapsulation: plugin === "ovn-kubernetes" ? (raw.encapsulation.value ?? "geneve") : undefined,
    northbound: recordsOf(raw.northbound),
    name: nameOf(raw),
    driver,
    shape,
    // The Routes controller writes beside flanneld, which sees to the nodes themselves.
    routes:
      backend === undefined || raw.routes.value === "cloud" ? (raw.routes.value ?? defaultRoutes) : "flannel",
    clusterCIDR,
    serviceCIDR,
    outboundNAT: completeOutboundNat(
      raw.outboundNAT.value,
      driver,
      { clusterCIDR, serviceCIDR, underlay },
      plugin,
    ),
    vni: raw.vni.value ?? (isHybridOverlay(raw) ? HYBRID_OVERLAY.vni : DEFAULTS.vni),
    vxlanPort: raw.vxlanPort.value ?? DEFAULTS.vxlanPort,
    vlan: raw.vlan.value ?? 0,
    ipam: raw.ipam.value ?? "static",
    cni: {
      conflist: raw.cni.value.conflist.value,
      policies: valuesOf(raw.cni.value.policies.value),
    },
    docker: {
      dnsServers: valuesOf(raw.docker.value.dnsServers.value),
      dnsSuffix: raw.docker.value.dnsSuffix.value ?? "",
      hasGatewayDns: raw.docker.value.gatewayDns.value,
    },
  };
}

/** The range of each node in the network of the file; undefined, with a problem, when they cannot be settled. */
export function completeRanges(
  network: NetworkBase,
  raw: {
    readonly network: LocatedFields<NetworkFields>;
    readonly nodes: readonly Located<LocatedFields<NodeFields>>[];
    readonly underlay: FileUnderlay;
  },
  reading: Reading,
): readonly Prefix[] | undefined {
  const { subnet, dhcp, dhcpServers } = raw.underlay;
  const only = dhcpServers.length === 0 ? dhcp?.range : undefined;
  const leased = network.ipam === "dhcp" ? (only ?? subnet) : undefined;
  if (network.shape !== "own-subnet")
    return requirePodRanges(raw.nodes, { leased, whole: network.clusterCIDR, shape: network.shape }, reading);
  const range = { value: network.clusterCIDR, place: raw.network.clusterCIDR.place };
  return assignPodRanges(raw.nodes, range, raw.network.nodeCIDRMaskSize, reading);
}

/** A further network: its ranges are those of `network`, or cut from its own range. */
export function completeFurtherNetwork(
  raw: LocatedFields<FurtherNetworkFields>,
  position: number,
  context: {
    readonly network: NetworkSpec;
    readonly underlay: FileUnderlay;
    readonly nodes: readonly NodeSpec[];
  },
  reading: Reading,
): PodNetworkSpec {
  const { network, underlay } = context;
  const driver = raw.driver.value ?? network.driver;
  // flanneld knows its own network alone.
  const isAlone = network.routes === "cloud" || network.routes === "hybrid-overlay";
  const routes = network.routes === "none" || isAlone ? "none" : "static";
  const wanted = raw.nodes.value?.map(({ value }) => value);
  const nodes = context.nodes.filter(({ name, os }) => os === "windows" && (wanted?.includes(name) ?? true));
  const clusterCIDR = raw.clusterCIDR.value ?? network.clusterCIDR;
  const { serviceCIDR } = network;
  const blocks =
    raw.clusterCIDR.value === undefined
      ? nodes.map(({ podCIDR }) => podCIDR)
      : cutBlocks(
          { value: clusterCIDR, place: raw.clusterCIDR.place },
          raw.nodeCIDRMaskSize,
          nodes.length,
          reading,
        );
  return {
    name: raw.name.value,
    driver,
    shape: "own-subnet",
    routes: driverTraits(driver).needsRoutes ? routes : "none",
    clusterCIDR,
    outboundNAT: completeOutboundNat(
      raw.outboundNAT.value,
      driver,
      { clusterCIDR, serviceCIDR, underlay },
      network.plugin,
    ),
    vni: raw.vni.value ?? DEFAULTS.vni + position,
    vxlanPort: raw.vxlanPort.value ?? DEFAULTS.vxlanPort,
    vlan: 0,
    ipam: "static",
    ranges: Object.fromEntries(
      nodes.flatMap(({ name }, index) => {
        const block = blocks[index];
        return block === undefined ? [] : [[name, block] as const];
      }),
    ),
  };
}
