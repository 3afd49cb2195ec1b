/** The fields of a node that say in which state it is when the cluster comes up: its name, its disk, its programs. */
import type { Ipv6, Prefix } from "#core/net/ip.ts";
import { type LocatedFields, TEXTS_BY_PATH, mapping, section, type OptionalMapping } from "./mapping.ts";
import { COMPUTER_NAME, INTERFACE, IPV6, IPV6_PREFIX, oneOf, seconds } from "./scalars.ts";
import { type MappingField, optional, withDefault } from "./shape.ts";

interface FlanneldFields {
  iface: string | undefined;
  restart: "always" | "never";
}

export interface NodeStateFields {
  hostname: string | undefined;
  files: Readonly<Record<string, string>>;
  addressDelay: number;
  flanneld: LocatedFields<FlanneldFields>;
}

/** The second family of a node. */
export interface NodeIpv6Fields {
  address: Ipv6 | undefined;
  podCIDR: Prefix | undefined;
}

const DELAY_MAX_S = 600;

export const NODE_IPV6: OptionalMapping<NodeIpv6Fields> = mapping<NodeIpv6Fields>("a mapping", {
  address: optional(
    IPV6,
    "The node's address in `ipv6.subnet`.",
    "the place in `ipv6.subnet` that `address` has in the underlay's subnet",
  ),
  podCIDR: optional(
    IPV6_PREFIX,
    "The range of this node's pods, a part of `ipv6.clusterCIDR` with room for as many as `podCIDR`. Not in shape `node-subnet`.",
    "the next free /64 of `ipv6.clusterCIDR`",
  ),
});

const FLANNELD: OptionalMapping<FlanneldFields> = mapping<FlanneldFields>("a mapping", {
  iface: optional(
    INTERFACE,
    "flanneld's flag `--iface`: the name or an address of the adapter that leads to the other nodes.",
    "the node's `address`",
  ),
  restart: withDefault(
    oneOf<"always" | "never">(["always", "never"]),
    "always",
    "always",
    "Who starts flanneld again when it has ended: `always`, as a service or a DaemonSet; `never`, as after `start.ps1` in a window.",
  ),
});

export const NODE_STATE: { readonly [K in keyof NodeStateFields]: MappingField<NodeStateFields[K]> } = {
  hostname: optional(
    COMPUTER_NAME,
    "The machine's own name, where it is another than the Node's. kube-proxy takes it without `kubeProxy.hostnameOverride`. Only on Windows nodes.",
    "`name`",
  ),
  files: withDefault(
    TEXTS_BY_PATH,
    Object.freeze({}),
    {},
    "Files that are on the node's disk before anything starts, by path, such as `C:\\k\\sourceVip.json` from an earlier run of the node. Only with plugin `flannel`, whose programs read and write them.",
  ),
  addressDelay: withDefault(
    seconds(0, DELAY_MAX_S),
    0,
    0,
    "The time from the making of a network until HNS knows the node's address there, as with DHCP or a team of adapters. Only on Windows nodes with plugin `flannel`.",
  ),
  flanneld: section(FLANNELD, "How flanneld is started. Only with plugin `flannel`."),
};
