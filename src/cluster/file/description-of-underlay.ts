/** The fields of the network that joins the nodes: `underlay` in a cluster file. */
import { defined } from "#core/base/assert.ts";
import { type Ipv4, type Prefix, parsePrefix } from "#core/net/ip.ts";
import { type LocatedFields, list, mapping, section, type OptionalMapping } from "./mapping.ts";
import type { Located } from "./reading.ts";
import { IPV4, PREFIX, seconds } from "./scalars.ts";
import { optional, required, withDefault } from "./shape.ts";

const ROUTES_MAX = 10_000;
const SUBNET: Prefix = Object.freeze(defined(parsePrefix("10.0.0.0/24"), "a default range is one"));
/** A client asks again after half of the time: shorter leases would be nothing but questions. */
const LEASE_SECONDS_MIN = 60;
const LEASE_SECONDS_MAX = 31_536_000;

interface DenyFields {
  from: Prefix;
  to: Prefix;
}
interface RouteFields {
  to: Prefix;
  via: Ipv4;
}
export interface UnderlayFields {
  subnet: Prefix;
  router: Ipv4 | undefined;
  routes: readonly Located<LocatedFields<RouteFields>>[];
  deny: readonly Located<LocatedFields<DenyFields>>[];
  dhcp: LocatedFields<DhcpFields>;
}
interface DhcpFields {
  range: Prefix | undefined;
  leaseSeconds: number;
}
const DENY = mapping<DenyFields>("a rule", {
  from: required(PREFIX, "The senders."),
  to: required(PREFIX, "The receivers."),
});

const ROUTE = mapping<RouteFields>("a route", {
  to: required(PREFIX, "The destinations."),
  via: required(IPV4, "The next hop: an address of the underlay, normally a node's."),
});

const DHCP = mapping<DhcpFields>("a mapping", {
  range: optional(
    PREFIX,
    "The addresses that it gives out: a part of the underlay's subnet without machines.",
    "none: there is no DHCP server",
  ),
  leaseSeconds: withDefault(
    seconds(LEASE_SECONDS_MIN, LEASE_SECONDS_MAX),
    86_400,
    86_400,
    "How long a pod has its address before it asks again; it does so from half of that time on.",
  ),
});

export const UNDERLAY: OptionalMapping<UnderlayFields> = mapping<UnderlayFields>("a mapping", {
  subnet: withDefault(PREFIX, SUBNET, "10.0.0.0/24", "The network of the nodes. At most /29."),
  router: optional(
    IPV4,
    "The router's address on the underlay: the nodes' default gateway.",
    "the first address of the subnet",
  ),
  routes: withDefault(
    list(ROUTE, { countMax: ROUTES_MAX }),
    [],
    [],
    "Routes of the router. It knows the underlay and the outside hosts; pod ranges only if they are listed here.",
  ),
  deny: withDefault(
    list(DENY, { countMax: ROUTES_MAX }),
    [],
    [],
    "Only with driver L2Tunnel: packets that the fabric's rules (network security groups) drop, also between pods of one node.",
  ),
  dhcp: section(DHCP, "A DHCP server on the router, for networks with `ipam: dhcp`."),
});
