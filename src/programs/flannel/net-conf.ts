/**
 * The one place that names the fields of flannel's `net-conf.json` (control-planes.md §1.3); `config-fields.ts` says what
 * comes from it. What a backend reads differs by system: each program has a structure of its own.
 */
import { flannel } from "#data/words.js";

const WORDS = flannel();

export const NET_CONF = {
  text: "The configuration of flanneld: what the cluster's pod network is.",
  fields: {
    Network: { is: "ipv4Prefix", text: "The range of all pods.", absent: "none" },
    IPv6Network: { is: "ipv6Prefix", text: "The range of all pods of the other family.", absent: "none" },
    EnableIPv4: { is: "boolean", text: "Pods have IPv4 addresses.", absent: "true" },
    EnableIPv6: { is: "boolean", text: "Pods have IPv6 addresses.", absent: "false" },
    EnableNFTables: {
      is: "boolean",
      text: "Rules of Linux nodes are written for nftables.",
      absent: "false: iptables",
    },
    SubnetLen: {
      is: "integer",
      min: 0,
      max: 32,
      text: (): string => WORDS.netConfSubnetLen,
      absent: (): string => WORDS.netConfSubnetLenAbsent,
    },
    SubnetMin: { is: "ipv4", text: "The first range of a node.", absent: "the second of the network" },
    SubnetMax: { is: "ipv4", text: "The last range of a node.", absent: "the last of the network" },
    IPv6SubnetLen: {
      is: "integer",
      min: 0,
      max: 128,
      text: "`SubnetLen` of the other family.",
      absent: (): string => WORDS.netConfIpv6SubnetLenAbsent,
    },
    IPv6SubnetMin: { is: "ipv6", text: "`SubnetMin` of the other family.", absent: "as there" },
    IPv6SubnetMax: { is: "ipv6", text: "`SubnetMax` of the other family.", absent: "as there" },
    Backend: { is: "object", text: "How pods of other nodes are reached.", absent: "the type udp" },
  },
} as const;

/** What every backend has. */
export const BACKEND = {
  text: "Which backend it is.",
  fields: {
    Type: { is: "text", text: "`vxlan` or `host-gw`, in either letter case.", absent: "an empty text" },
  },
} as const;

export const LINUX_VXLAN = {
  text: "The backend vxlan on Linux.",
  fields: {
    Type: { is: "text", text: "`vxlan`." },
    // VXLAN has 24 bits for it (RFC 7348 §5).
    VNI: { is: "integer", min: 0, max: 0xff_ffff, text: "The number of the tunnels.", absent: "1" },
    Port: {
      is: "integer",
      min: 0,
      max: 65_535,
      text: "The UDP port of the tunnels.",
      absent: "0: what the kernel takes, 8472",
    },
    MTU: { is: "integer", min: 0, max: 65_535, text: "Of the adapter, in bytes.", absent: "what it has" },
    GBP: { is: "boolean", text: "Packets say the group of their policy.", absent: "false" },
    Learning: { is: "boolean", text: "The device learns addresses.", absent: "false" },
    DirectRouting: {
      is: "boolean",
      text: "Neighbours of the same link are reached without a tunnel.",
      absent: "false",
    },
  },
} as const;

export const LINUX_HOST_GW = {
  text: "The backend host-gw on Linux.",
  fields: { Type: { is: "text", text: "`host-gw`." } },
} as const;

/** The least VXLAN identifier that flanneld takes on Windows, and that of a network that names none. */
export const WINDOWS_VNI_MIN = 4_096;
/** Nodes publish the identifier in 16 bits. */
export const WINDOWS_VNI_MAX = 65_535;

export const WINDOWS_VXLAN = {
  text: "The backend vxlan on Windows.",
  fields: {
    Type: { is: "text", text: "`vxlan`." },
    Name: { is: "text", text: "The name of the HNS network.", absent: "`flannel.` and the VNI" },
    MacPrefix: {
      is: "text",
      text: "What the MAC addresses of remote endpoints begin with: `xx-xx`.",
      absent: "`0E-2A`",
    },
    VNI: { is: "integer", text: "The number of the tunnels: 4096 or more.", absent: "4096" },
    Port: { is: "integer", text: "The UDP port of the tunnels: 4789 alone.", absent: "4789" },
    GBP: { is: "boolean", text: "Refused when it is true.", absent: "false" },
    DirectRouting: { is: "boolean", text: "Refused when it is true.", absent: "false" },
  },
} as const;

export const WINDOWS_HOST_GW = {
  text: "The backend host-gw on Windows.",
  fields: {
    Type: { is: "text", text: "`host-gw`." },
    Name: { is: "text", text: "The name of the HNS network.", absent: "`cbr0`" },
    DNSServerList: {
      is: "text",
      text: "Addresses of name servers with commas, for the HNS network.",
      absent: "none",
    },
  },
} as const;

/** A field that some backend reads. */
export type BackendField =
  | keyof typeof LINUX_VXLAN.fields
  | keyof typeof WINDOWS_VXLAN.fields
  | keyof typeof WINDOWS_HOST_GW.fields;
