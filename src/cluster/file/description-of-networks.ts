/** The fields of networks in a cluster file: `network` and `networks[]`. */
import { LIMITS } from "#core/base/limits.ts";
import { defined } from "#core/base/assert.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type Ipv4, type Prefix, parsePrefix } from "#core/net/ip.ts";
import type {
  FlannelBackend,
  NetworkDriver,
  NetworkIpam,
  NorthboundChange,
  OvnEncapsulation,
  PodNetworkPlugin,
  NetworkShape,
} from "./cluster-file.ts";
import { type LocatedFields, type OptionalMapping, list, mapping, optionalList, section } from "./mapping.ts";
import type { Located } from "./reading.ts";
import {
  BOOLEAN,
  IPV4,
  NAME,
  NETWORK_NAME,
  OVSDB_NAME,
  PORT,
  PREFIX,
  integer,
  jsonObject,
  oneOf,
} from "./scalars.ts";
import { optional, required, withDefault, withDefaultAs } from "./shape.ts";
import { clusterFields } from "#data/words.js";

const WORDS = clusterFields();

const POLICIES_MAX = 4_096;
const EXCEPTIONS_MAX = 256;
const DNS_SERVERS_MAX = 20;
const NORTHBOUND_MAX = 256;
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
interface DockerFields {
  dnsServers: readonly Located<Ipv4>[];
  dnsSuffix: string | undefined;
  gatewayDns: boolean;
}
export interface NetworkFields extends DriverFields {
  plugin: PodNetworkPlugin | undefined;
  name: string | undefined;
  driver: NetworkDriver | undefined;
  shape: NetworkShape | undefined;
  routes: "static" | "fabric" | "cloud" | "none" | undefined;
  backend: FlannelBackend | undefined;
  encapsulation: OvnEncapsulation | undefined;
  northbound: readonly Located<LocatedFields<NorthboundChange>>[];
  clusterCIDR: Prefix | undefined;
  nodeCIDRMaskSize: number;
  serviceCIDR: Prefix;
  outboundNAT: LocatedFields<OutboundNatFields>;
  cni: LocatedFields<CniFields>;
  docker: LocatedFields<DockerFields>;
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
  enabled: optional(BOOLEAN, WORDS.outboundNatEnabled, WORDS.outboundNatEnabledDefault),
  exceptions: optional(
    list(PREFIX, { countMax: EXCEPTIONS_MAX }),
    "Destinations that see the pod's own address.",
    WORDS.outboundNatExceptions,
  ),
});

const CNI = mapping<CniFields>("a mapping", {
  conflist: optional(
    jsonObject("a CNI network configuration list", ["name"]),
    WORDS.cniConflist,
    "written by the cluster",
  ),
  policies: optionalList(jsonObject("a CNI policy", ["name"]), POLICIES_MAX, WORDS.cniPolicies),
});

const DOCKER = mapping<DockerFields>("a mapping", {
  dnsServers: optionalList(IPV4, DNS_SERVERS_MAX, WORDS.dockerDnsServers),
  dnsSuffix: optional(NAME, WORDS.dockerDnsSuffix, "none"),
  gatewayDns: withDefault(BOOLEAN, true, WORDS.dockerGatewayDns),
});

const NORTHBOUND = mapping<NorthboundChange>("a row of the northbound database", {
  table: required(OVSDB_NAME, "A table of ovn-nb(5), such as `Logical_Switch_Port`."),
  record: required(OVSDB_NAME, WORDS.northboundRecord),
  set: required(jsonObject("columns and their values"), WORDS.northboundSet),
});

const DRIVER = oneOf<NetworkDriver>(["L2Bridge", "L2Tunnel", "Overlay", "Transparent", "NAT"]);

/** 24 bits; 0 is no network's. */
const VNI_MAX = 0xff_ffff;
const VLAN_MAX = 4_094;

const VXLAN_PORT_FIELD = optional(PORT, WORDS.networkVxlanPort, "4789");

export const NETWORK: OptionalMapping<NetworkFields> = mapping<NetworkFields>("a mapping", {
  plugin: optional(
    oneOf<PodNetworkPlugin>(
      [
        "win-bridge",
        "win-overlay",
        "azure-vnet",
        "flannel",
        "ovn-hybrid-overlay",
        "ovn-kubernetes",
        "docker",
        "acs-2017",
        "hns",
      ],
      {
        missing: { antrea: { message: WORDS.antreaNetworkMissing, advice: WORDS.adviceAntreaNetwork } },
      },
    ),
    WORDS.networkPlugin,
    "`win-bridge` with driver L2Bridge, else `hns`",
  ),
  name: optional(NETWORK_NAME, WORDS.networkName, WORDS.networkNameDefault),
  driver: optional(DRIVER, WORDS.networkDriver, WORDS.networkDriverDefault),
  shape: optional(
    oneOf<NetworkShape>(["own-subnet", "node-subnet", "pod-subnet"]),
    WORDS.networkShape,
    WORDS.networkShapeDefault,
  ),
  routes: optional(
    oneOf(["static", "fabric", "cloud", "none"]),
    WORDS.networkRoutes,
    WORDS.networkRoutesDefault,
  ),
  vni: optional(
    integer("a VXLAN network identifier", 1, VNI_MAX),
    WORDS.networkVni,
    "4096; 4097 with `ovn-hybrid-overlay`",
  ),
  vxlanPort: VXLAN_PORT_FIELD,
  vlan: optional(integer("a VLAN", 1, VLAN_MAX), WORDS.networkVlan, "none: frames have no tag"),
  ipam: optional(oneOf<NetworkIpam>(["static", "dhcp"]), WORDS.networkIpam, "static"),
  backend: optional(oneOf<FlannelBackend>(["vxlan", "host-gw"]), WORDS.networkBackend, "vxlan"),
  encapsulation: optional(
    oneOf<OvnEncapsulation>(["geneve", "stt"]),
    "Only with plugin `ovn-kubernetes`: how nodes carry frames to one another.",
    "geneve",
  ),
  northbound: optionalList(NORTHBOUND, NORTHBOUND_MAX, WORDS.networkNorthbound),
  clusterCIDR: optional(PREFIX, WORDS.networkClusterCIDR, WORDS.networkClusterCIDRDefault),
  nodeCIDRMaskSize: withDefault(integer("a prefix length", 8, 29), 24, WORDS.networkNodeCIDRMaskSize),
  serviceCIDR: withDefaultAs(
    PREFIX,
    SERVICE_CIDR,
    "10.96.0.0/12",
    "The range of service addresses: /12 to /30.",
  ),
  outboundNAT: section(OUTBOUND_NAT, WORDS.networkOutboundNAT),
  cni: section(CNI, WORDS.networkCni),
  docker: section(DOCKER, WORDS.networkDocker),
});

export const FURTHER_NETWORK: OptionalMapping<FurtherNetworkFields> = mapping<FurtherNetworkFields>(
  "a network",
  {
    name: required(NETWORK_NAME, WORDS.furtherNetworkName),
    driver: optional(DRIVER, WORDS.furtherNetworkDriver, "that of `network`"),
    clusterCIDR: optional(PREFIX, WORDS.furtherNetworkClusterCIDR, WORDS.furtherNetworkClusterCIDRDefault),
    nodeCIDRMaskSize: withDefault(integer("a prefix length", 8, 29), 24, "The length of the blocks."),
    nodes: optional(
      list(NAME, { countMax: LIMITS.nodesMax }),
      "The Windows nodes that have it.",
      "all of them",
    ),
    vni: optional(
      integer("a VXLAN network identifier", 1, VNI_MAX),
      WORDS.furtherNetworkVni,
      WORDS.furtherNetworkVniDefault,
    ),
    vxlanPort: VXLAN_PORT_FIELD,
    outboundNAT: section(OUTBOUND_NAT, WORDS.furtherNetworkOutboundNAT),
  },
);
