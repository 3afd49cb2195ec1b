/** The fields of a node that say in which state it is when the cluster comes up: its name, its disk, its programs. */
import type { Ipv6, Prefix } from "#core/net/ip.ts";
import { type LocatedFields, TEXTS_BY_PATH, mapping, section, type OptionalMapping } from "./mapping.ts";
import { COMPUTER_NAME, INTERFACE, IPV6, IPV6_PREFIX, oneOf, seconds } from "./scalars.ts";
import { type MappingField, optional, withDefault } from "./shape.ts";
import { clusterFields } from "#data/words.js";

const WORDS = clusterFields();

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
  address: optional(IPV6, "The node's address in `ipv6.subnet`.", WORDS.nodeIpv6Address),
  podCIDR: optional(IPV6_PREFIX, WORDS.nodeIpv6PodCIDR, "the next free /64 of `ipv6.clusterCIDR`"),
});

const FLANNELD: OptionalMapping<FlanneldFields> = mapping<FlanneldFields>("a mapping", {
  iface: optional(INTERFACE, WORDS.flanneldIface, "the node's `address`"),
  restart: withDefault(
    oneOf<"always" | "never">(["always", "never"]),
    "always",
    "always",
    WORDS.flanneldRestart,
  ),
});

export const NODE_STATE: { readonly [K in keyof NodeStateFields]: MappingField<NodeStateFields[K]> } = {
  hostname: optional(COMPUTER_NAME, WORDS.nodeStateHostname, "`name`"),
  files: withDefault(TEXTS_BY_PATH, Object.freeze({}), {}, WORDS.nodeStateFiles),
  addressDelay: withDefault(seconds(0, DELAY_MAX_S), 0, 0, WORDS.nodeStateAddressDelay),
  flanneld: section(FLANNELD, WORDS.nodeStateFlanneld),
};
