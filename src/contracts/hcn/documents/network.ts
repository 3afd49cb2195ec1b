/** `HostComputeNetwork` (hcn.md §2.2, §2.5). */
import type { BaseDocument, Dns, PolicyDocument, Route } from "./base-document.ts";
import { readBase, readDns, readPolicies, readRoutes, readerOf } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { ObjectOf } from "../description/description.ts";
import { JsonReader, present } from "../description/json.ts";
import { NETWORK_POLICY_TYPES, SUBNET_POLICY_TYPES } from "./policy-type.ts";

/**
 * Types of networks at their number in the schema (hcn.md §2.2). Inferred: the numbers after NAT's 0 follow the
 * order in which the schema lists the names.
 */
export const NETWORK_TYPES = [
  "NAT",
  "ICS",
  "Transparent",
  "L2Bridge",
  "L2Tunnel",
  "Overlay",
  "Private",
  "Internal",
  "Mirrored",
  "Infiniband",
  "ConstrainedICS",
] as const;
export type NetworkType = (typeof NETWORK_TYPES)[number];

/** Bits of a network's `Flags` (hcn.md §2.2). */
export const NETWORK_FLAGS = {
  EnableDnsProxy: 1,
  EnableDhcpServer: 2,
  EnableMirroring: 4,
  EnableNonPersistent: 8,
  EnablePersistent: 16,
  IsolateVSwitch: 32,
  EnableFlowSteering: 64,
  DisableSharing: 128,
  EnableFirewall: 256,
  SuppressMediaDisconnect: 512,
  DisableHostPort: 1024,
  WeakHostReceiveAdapter: 2048,
  WeakHostSendAdapter: 4096,
  EnableIov: 8192,
} as const;

export const IPAM_TYPES = ["Static", "Dhcp"] as const;
export type IpamType = (typeof IPAM_TYPES)[number];

/** Bits of a subnet's `Flags`. */
export const SUBNET_FLAGS = { DoNotReserveGatewayAddress: 1 } as const;

/** Bits of an IP subnet's `Flags`. */
export const IP_SUBNET_FLAGS = { EnableBroadcast: 1, ReserveNetworkAddress: 2 } as const;

/** Where the MAC addresses of a network's endpoints come from. */
export const MAC_POOL = {
  text: "Where MAC addresses come from.",
  fields: {
    Ranges: {
      is: "list",
      of: {
        text: "A range.",
        fields: {
          StartMacAddress: { is: "text", text: "The first address." },
          EndMacAddress: { is: "text", text: "The last address." },
        },
      },
      text: "Ranges, of which the first with a free address counts.",
    },
  },
} as const;

export type MacPool = ObjectOf<typeof MAC_POOL>;

export interface IpSubnet extends BaseDocument {
  readonly IpAddressPrefix?: string;
  readonly Flags?: number;
}

export interface Subnet extends BaseDocument {
  readonly IpAddressPrefix?: string;
  readonly Policies?: readonly PolicyDocument[];
  readonly Routes?: readonly Route[];
  readonly IpSubnets?: readonly IpSubnet[];
  readonly Flags?: number;
}

export interface Ipam {
  readonly Type?: IpamType;
  readonly Subnets?: readonly Subnet[];
}

export interface HostComputeNetwork extends BaseDocument {
  /** Absent in results for NAT. */
  readonly Type?: NetworkType;
  readonly Policies?: readonly PolicyDocument[];
  readonly MacPool?: MacPool;
  readonly Dns?: Dns;
  readonly Ipams?: readonly Ipam[];
  readonly Flags?: number;
}

/** Reads one block of a subnet. */
export function readIpSubnet(reader: JsonReader): IpSubnet {
  return present<IpSubnet>({
    ...readBase(reader),
    IpAddressPrefix: reader.text("IpAddressPrefix"),
    Flags: reader.u32("Flags"),
  });
}

/** Reads one subnet of an `Ipam` or of a modify request. */
export function readSubnet(reader: JsonReader): Subnet {
  return present<Subnet>({
    ...readBase(reader),
    IpAddressPrefix: reader.text("IpAddressPrefix"),
    Policies: readPolicies(reader, SUBNET_POLICY_TYPES),
    Routes: readRoutes(reader),
    IpSubnets: reader.list("IpSubnets", readIpSubnet),
    Flags: reader.u32("Flags"),
  });
}

function readIpam(reader: JsonReader): Ipam {
  return present<Ipam>({
    Type: reader.enumeration("Type", IPAM_TYPES),
    Subnets: reader.list("Subnets", readSubnet),
  });
}

const MAC_POOL_READER = readerOf(MAC_POOL);

function readMacPool(reader: JsonReader): MacPool | undefined {
  const pool = reader.object("MacPool");
  return pool && MAC_POOL_READER.read(pool);
}

/**
 * Checks the shape of a v2 network document. Addresses and policies keep their text: the service judges them.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type, HCN_E_INVALID_NETWORK_TYPE for an unknown type.
 */
export function parseNetwork(document: JsonValue): HostComputeNetwork {
  const reader = JsonReader.of(document, "network", "HCN_E_INVALID_JSON");
  return present<HostComputeNetwork>({
    ...readBase(reader),
    Type: reader.failingWith("HCN_E_INVALID_NETWORK_TYPE").enumeration("Type", NETWORK_TYPES),
    Policies: readPolicies(reader, NETWORK_POLICY_TYPES),
    MacPool: readMacPool(reader),
    Dns: readDns(reader),
    Ipams: reader.list("Ipams", readIpam),
    Flags: reader.u32("Flags"),
  });
}

/** All subnets of a network, over all its `Ipams`. */
export function subnetsOf(network: HostComputeNetwork): readonly Subnet[] {
  return (network.Ipams ?? []).flatMap((ipam) => ipam.Subnets ?? []);
}

const DEFAULT_DESTINATIONS: readonly string[] = ["0.0.0.0/0", "::/0"];

/** True for a route to everything. */
export function isDefaultRoute(route: Route): boolean {
  return DEFAULT_DESTINATIONS.includes(route.DestinationPrefix ?? "");
}

/** The next hop of a subnet's default route: its gateway. */
export function gatewayOf(subnet: Subnet): string | undefined {
  return subnet.Routes?.find(isDefaultRoute)?.NextHop;
}
