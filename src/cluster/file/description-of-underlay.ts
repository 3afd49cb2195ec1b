/** The fields of the network that joins the nodes: `underlay` in a cluster file. */
import { defined } from "#core/base/assert.ts";
import { type Ipv4, type Prefix, parsePrefix } from "#core/net/ip.ts";
import type { DenySpec, DhcpSpec, RouteSpec } from "./cluster-file.ts";
import { type LocatedFields, mapping, optionalList, section, type OptionalMapping } from "./mapping.ts";
import type { Located } from "./reading.ts";
import { IPV4, MAC, NAME, PREFIX, seconds } from "./scalars.ts";
import { optional, required, withDefault, withDefaultAs } from "./shape.ts";
import { AZURE, type AzureFields } from "./azure-network.ts";
import { clusterFields } from "#data/words.js";

const WORDS = clusterFields();

const ROUTES_MAX = 10_000;
const EXCLUSIONS_MAX = 256;
const DHCP_SERVERS_MAX = 4;
const SUBNET: Prefix = Object.freeze(defined(parsePrefix("10.0.0.0/24"), "a default range is one"));
/** A client asks again after half of the time: shorter leases would be nothing but questions. */
const LEASE_SECONDS_MIN = 60;
const LEASE_SECONDS_MAX = 31_536_000;

export interface UnderlayFields {
  subnet: Prefix;
  router: Ipv4 | undefined;
  routes: readonly Located<LocatedFields<RouteSpec>>[];
  deny: readonly Located<LocatedFields<DenySpec>>[];
  dhcp: LocatedFields<DhcpFields>;
  azure: LocatedFields<AzureFields> | undefined;
}
/** What a DHCP server does with its range. */
export interface DhcpScopeFields {
  leaseSeconds: number;
  exclusions: readonly Located<Prefix>[];
  reservations: readonly Located<LocatedFields<DhcpSpec["reservations"][number]>>[];
}
export interface DhcpServerFields extends DhcpScopeFields {
  name: string;
  address: Ipv4;
  range: Prefix;
}
interface DhcpFields extends DhcpScopeFields {
  range: Prefix | undefined;
  servers: readonly Located<LocatedFields<DhcpServerFields>>[];
}
const DENY = mapping<DenySpec>("a rule", {
  from: required(PREFIX, "The senders."),
  to: required(PREFIX, "The receivers."),
});

export const ROUTE: OptionalMapping<RouteSpec> = mapping<RouteSpec>("a route", {
  to: required(PREFIX, "The destinations."),
  via: required(IPV4, WORDS.routeVia),
});

const RESERVATION = mapping<DhcpSpec["reservations"][number]>("a reservation", {
  mac: required(MAC, WORDS.dhcpReservationMac),
  address: required(IPV4, "The address that it gets, of the range."),
});

const SCOPE = {
  leaseSeconds: withDefault(seconds(LEASE_SECONDS_MIN, LEASE_SECONDS_MAX), 86_400, WORDS.dhcpLeaseSeconds),
  exclusions: optionalList(PREFIX, EXCLUSIONS_MAX, WORDS.dhcpExclusions),
  reservations: optionalList(RESERVATION, ROUTES_MAX, WORDS.dhcpReservations),
};

const DHCP_SERVER = mapping<DhcpServerFields>("a DHCP server", {
  name: required(NAME, "The machine's name."),
  address: required(IPV4, "Its address, of the underlay's subnet."),
  range: required(PREFIX, WORDS.dhcpRange),
  ...SCOPE,
});

const DHCP = mapping<DhcpFields>("a mapping", {
  range: optional(PREFIX, WORDS.dhcpRange, "none: there is no DHCP server"),
  ...SCOPE,
  servers: optionalList(DHCP_SERVER, DHCP_SERVERS_MAX, WORDS.dhcpServers),
});

export const UNDERLAY: OptionalMapping<UnderlayFields> = mapping<UnderlayFields>("a mapping", {
  subnet: withDefaultAs(PREFIX, SUBNET, "10.0.0.0/24", "The network of the nodes. At most /29."),
  router: optional(IPV4, WORDS.underlayRouter, "the first address of the subnet"),
  routes: optionalList(ROUTE, ROUTES_MAX, WORDS.underlayRoutes),
  deny: optionalList(DENY, ROUTES_MAX, WORDS.underlayDeny),
  dhcp: section(DHCP, WORDS.underlayDhcp),
  azure: optional(AZURE, WORDS.underlayAzure, "none: the underlay is a segment of layer 2"),
});
