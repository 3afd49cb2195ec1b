/** The fields of networks in a cluster file: `network` and `networks[]`. */
import { LIMITS } from "#core/base/limits.ts";
import { defined } from "#core/base/assert.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Prefix, parsePrefix } from "#core/net/ip.ts";
import type {
  FlannelBackend,
  NetworkDriver,
  NetworkIpam,
  PodNetworkPlugin,
  NetworkShape,
} from "./cluster-file.ts";
import { type LocatedFields, type OptionalMapping, list, mapping, section } from "./mapping.ts";
import type { Located } from "./reading.ts";
import { BOOLEAN, NAME, NETWORK_NAME, PORT, PREFIX, integer, jsonObject, oneOf } from "./scalars.ts";
import { optional, required, withDefault } from "./shape.ts";

const POLICIES_MAX = 4_096;
const EXCEPTIONS_MAX = 256;
const SERVICE_CIDR: Prefix = Object.freeze(defined(parsePrefix("10.96.0.0/12"), "a default range is one"));

export interface OutboundNatFields {
  enabled: boolean | undefined;
  exceptions: readonly Located<Prefix>[] | undefined;
}
interface CniFields {
  conflist: JsonObject | undefined;
  policies: readonly Located<JsonObject>[];
}
/** Fields of single drivers. */
export interface DriverFields {
  vni: number | undefined;
  vxlanPort: number | undefined;
  vlan: number | undefined;
  ipam: NetworkIpam | undefined;
}
export interface NetworkFields extends DriverFields {
  plugin: PodNetworkPlugin | undefined;
  name: string | undefined;
  driver: NetworkDriver | undefined;
  shape: NetworkShape | undefined;
  routes: "static" | "fabric" | "none" | undefined;
  backend: FlannelBackend | undefined;
  clusterCIDR: Prefix | undefined;
  nodeCIDRMaskSize: number;
  serviceCIDR: Prefix;
  outboundNAT: LocatedFields<OutboundNatFields>;
  cni: LocatedFields<CniFields>;
}
export interface FurtherNetworkFields extends Omit<DriverFields, "vlan" | "ipam"> {
  name: string;
  driver: NetworkDriver | undefined;
  clusterCIDR: Prefix | undefined;
  nodeCIDRMaskSize: number;
  nodes: readonly Located<string>[] | undefined;
  outboundNAT: LocatedFields<OutboundNatFields>;
}
const OUTBOUND_NAT = mapping<OutboundNatFields>("a mapping", {
  enabled: optional(
    BOOLEAN,
    "Whether pods on Windows nodes get an OutBoundNAT policy, so that they reach the outside with the node's address.",
    "true; networks of driver Transparent and NAT have no such policy",
  ),
  exceptions: optional(
    list(PREFIX, { countMax: EXCEPTIONS_MAX }),
    "Destinations that see the pod's own address.",
    "the ranges of pods, services and the underlay; of driver Overlay without the underlay",
  ),
});

const CNI = mapping<CniFields>("a mapping", {
  conflist: optional(
    jsonObject("a CNI network configuration list", ["name"]),
    "A complete CNI configuration list for Windows nodes, instead of the one that the cluster writes.",
    "written by the cluster",
  ),
  policies: withDefault(
    list(jsonObject("a CNI policy", ["name"]), { countMax: POLICIES_MAX }),
    [],
    [],
    "Entries added to the policies of the plugin: `{name: EndpointPolicy, value: {Type: …, Settings: {…}}}`; for azure-vnet in its own flat form.",
  ),
});

const DRIVER = oneOf<NetworkDriver>(["L2Bridge", "L2Tunnel", "Overlay", "Transparent", "NAT"]);

/** 24 bits; 0 is no network's. */
const VNI_MAX = 0xff_ffff;
const VLAN_MAX = 4_094;

const VXLAN_PORT_FIELD = optional(
  PORT,
  "Only with driver Overlay: the UDP port of its tunnels (policy VxlanPort).",
  "4789",
);

export const NETWORK: OptionalMapping<NetworkFields> = mapping<NetworkFields>("a mapping", {
  plugin: optional(
    oneOf<PodNetworkPlugin>(["win-bridge", "win-overlay", "azure-vnet", "flannel", "hns"]),
    "Who attaches pods on Windows nodes: the CNI plugin win-bridge; win-overlay, on a network of driver Overlay that the cluster makes; azure-vnet, as AKS has it: addresses of azure-vnet-ipam in shape `node-subnet`, of CNS in `pod-subnet` (dynamic pod subnet) and `own-subnet` (Azure CNI Overlay); flannel, whose daemon on every node makes the network and finds the other nodes; or `hns`: the cluster calls HNS itself.",
    "`win-bridge` with driver L2Bridge, else `hns`",
  ),
  name: optional(
    NETWORK_NAME,
    "The name of the HNS network, and of the CNI configuration.",
    "cbr0; vxlan0 with backend vxlan and with plugin win-overlay",
  ),
  driver: optional(
    DRIVER,
    "The type of the HNS network on Windows nodes. With plugin `flannel` the backend decides.",
    "L2Bridge; Overlay with backend vxlan and with plugin win-overlay",
  ),
  shape: optional(
    oneOf<NetworkShape>(["own-subnet", "node-subnet", "pod-subnet"]),
    "`own-subnet`: each node has a pod range of its own. `node-subnet`: pods have addresses of the underlay's subnet. `pod-subnet`: pods of all nodes share a subnet of their own, `clusterCIDR`, whose first address is the underlay's router; only with driver L2Bridge. The latter two need plugin `hns` or `azure-vnet`.",
    "`own-subnet`, the only one of Overlay and NAT; `node-subnet`, the only one of L2Tunnel and Transparent",
  ),
  routes: optional(
    oneOf(["static", "fabric", "none"]),
    "`static`: each node has a route to the pods of each other node. `fabric`: the network around the nodes leads to them, as Azure does for pods of Azure CNI Overlay; only with plugin `azure-vnet`. `none`: leave them out, to see what is missing then.",
    "in shape `own-subnet` with driver L2Bridge `static`, with plugin `azure-vnet` `fabric`; else `none`",
  ),
  vni: optional(
    integer("a VXLAN network identifier", 1, VNI_MAX),
    "Only with driver Overlay: the identifier of its virtual network.",
    "4096",
  ),
  vxlanPort: VXLAN_PORT_FIELD,
  vlan: optional(
    integer("a VLAN", 1, VLAN_MAX),
    "Only with driver Transparent: the VLAN that its pods are in.",
    "none: frames have no tag",
  ),
  ipam: optional(
    oneOf<NetworkIpam>(["static", "dhcp"]),
    "Only with driver Transparent: `dhcp` lets pods on Windows nodes ask a DHCP server, that of `underlay.dhcp`. `static`: HNS gives them addresses of their node's range.",
    "static",
  ),
  backend: optional(
    oneOf<FlannelBackend>(["vxlan", "host-gw"]),
    "Only with plugin `flannel`: `vxlan`, tunnels on an Overlay network, or `host-gw`, routes on an L2Bridge network.",
    "vxlan",
  ),
  clusterCIDR: optional(
    PREFIX,
    "The range of all pods. In shape `node-subnet` a part of the underlay's subnet, in `pod-subnet` the subnet that pods share.",
    '`"10.244.0.0/16"`; in shape `node-subnet` the subnet of the underlay',
  ),
  nodeCIDRMaskSize: withDefault(
    integer("a prefix length", 8, 29),
    24,
    24,
    "The length of the pod ranges that are given to nodes without podCIDR.",
  ),
  serviceCIDR: withDefault(
    PREFIX,
    SERVICE_CIDR,
    "10.96.0.0/12",
    "The range of service addresses: /12 to /30.",
  ),
  outboundNAT: section(OUTBOUND_NAT, "Translation of what pods send to the outside."),
  cni: section(CNI, "Changes to the CNI configuration of Windows nodes. Not with plugin `hns`."),
});

export const FURTHER_NETWORK: OptionalMapping<FurtherNetworkFields> = mapping<FurtherNetworkFields>(
  "a network",
  {
    name: required(NETWORK_NAME, "The name of the HNS network. Pods name it in `network`."),
    driver: optional(
      DRIVER,
      "L2Bridge, Overlay or NAT. All networks on an adapter have the same driver; one NAT network per node may be added to any.",
      "that of `network`",
    ),
    clusterCIDR: optional(
      PREFIX,
      "The range of its pods, cut into blocks for its nodes in their order. Networks of driver Overlay may hold the same addresses.",
      "each node has the same range as in `network`; only with driver Overlay",
    ),
    nodeCIDRMaskSize: withDefault(integer("a prefix length", 8, 29), 24, 24, "The length of the blocks."),
    nodes: optional(
      list(NAME, { countMax: LIMITS.nodesMax }),
      "The Windows nodes that have it.",
      "all of them",
    ),
    vni: optional(
      integer("a VXLAN network identifier", 1, VNI_MAX),
      "Only with driver Overlay: the identifier of its virtual network, another one than those of the others.",
      "4096 and the position in this list, counted from 1",
    ),
    vxlanPort: VXLAN_PORT_FIELD,
    outboundNAT: section(OUTBOUND_NAT, "Translation of what its pods send to the outside."),
  },
);
