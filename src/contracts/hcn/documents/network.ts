/** `HostComputeNetwork` (hcn.md §2.2, §2.5). */
import { BASE, DNS, POLICY, ROUTE, type Route } from "./base-document.ts";
import { type ObjectReader, readerOf } from "../description/object-json.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { ObjectOf } from "../description/description.ts";
import { JsonReader } from "../description/json.ts";
import { NETWORK_POLICY_TYPES, SUBNET_POLICY_TYPES } from "./policy-type.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** Where the MAC addresses of a network's endpoints come from. */
export const MAC_POOL = {
  text: "Where MAC addresses come from.",
  fields: {
    Ranges: {
      is: "list",
      of: {
        text: "A range.",
        fields: {
          StartMacAddress: { is: "text", text: "The first address.", v1: "StartMacAddress" },
          EndMacAddress: { is: "text", text: "The last address.", v1: "EndMacAddress" },
        },
      },
      text: "Ranges, of which the first with a free address counts.",
      v1: "MacPools",
    },
  },
} as const;

export const IP_SUBNET = {
  text: "A block of a subnet.",
  name: "IpSubnet",
  base: (): typeof BASE => BASE,
  fields: {
    IpAddressPrefix: {
      is: "text",
      text: "Its prefix, which lies in that of the subnet.",
      v1: "IpAddressPrefix",
    },
    Flags: {
      is: "flags",
      bits: { EnableBroadcast: 1, ReserveNetworkAddress: 2 },
      text: "Which of its addresses endpoints may have.",
      absent: "0",
      v1: "Flags",
    },
  },
} as const;

export const SUBNET = {
  text: "A subnet.",
  name: "Subnet",
  base: (): typeof BASE => BASE,
  fields: {
    IpAddressPrefix: { is: "text", text: "Its prefix.", v1: "AddressPrefix" },
    Policies: {
      is: "policies",
      of: (): typeof POLICY => POLICY,
      owner: "subnet",
      types: (): typeof SUBNET_POLICY_TYPES => SUBNET_POLICY_TYPES,
      text: "Its VLAN or VSID ([policies](policies.md)).",
      absent: "none",
      v1: "Policies",
    },
    Routes: {
      is: "list",
      of: (): typeof ROUTE => ROUTE,
      text: "The next hop of its default route is its gateway.",
      absent: "none",
      v1: { defaultRoutes: ["GatewayAddress"] },
    },
    IpSubnets: {
      is: "list",
      of: (): typeof IP_SUBNET => IP_SUBNET,
      text: "Blocks of it that endpoints get addresses of.",
      absent: "one that covers it",
      v1: "IpSubnets",
    },
    Flags: {
      is: "flags",
      bits: { DoNotReserveGatewayAddress: 1 },
      text: "What is special about it.",
      absent: "0",
      v1: "Flags",
    },
  },
} as const;

/** The one place that names the fields of a network; `description.ts` says what comes from it. */
export const NETWORK = {
  text: "A network. Type is missing when it is NAT.",
  name: "HostComputeNetwork",
  base: (): typeof BASE => BASE,
  fields: {
    // Inferred: the numbers after NAT's 0 follow the order in which the schema lists the names (hcn.md §2.2).
    Type: {
      is: "enumeration",
      names: [
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
      ],
      code: "HCN_E_INVALID_NETWORK_TYPE",
      text: "How its endpoints reach what is outside of it.",
      absent: "NAT",
      v1: "Type",
    },
    Policies: {
      is: "policies",
      of: (): typeof POLICY => POLICY,
      owner: "network",
      types: (): typeof NETWORK_POLICY_TYPES => NETWORK_POLICY_TYPES,
      text: "What the network does ([policies](policies.md)).",
      absent: "none",
      v1: "Policies",
    },
    MacPool: {
      is: "object",
      of: (): typeof MAC_POOL => MAC_POOL,
      text: "Where the MAC addresses of its endpoints come from.",
      absent: "a range of the service's",
    },
    Dns: {
      is: "object",
      of: (): typeof DNS => DNS,
      text: "Name resolution of its endpoints.",
      absent: "none",
    },
    Ipams: {
      is: "list",
      of: {
        text: "A pool of addresses.",
        fields: {
          Type: {
            is: "enumeration",
            names: ["Static", "Dhcp"],
            text: "Whether HNS or a DHCP server gives out addresses.",
            absent: "Static",
          },
          Subnets: {
            is: "list",
            of: (): typeof SUBNET => SUBNET,
            text: "Its subnets.",
            absent: "none",
            v1: "Subnets",
          },
        },
      },
      text: "Where its addresses come from.",
      absent: (): string => WORDS.networkIpamsAbsent,
      v1: { joined: "Subnets", with: { Type: "Static" } },
    },
    Flags: {
      is: "flags",
      bits: {
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
      },
      text: "What is special about it.",
      absent: "0",
      v1: "Flags",
    },
  },
  always: ["ID", "SchemaVersion"],
  v1Only: {
    NetworkAdapterName: {
      is: "text",
      text: "The adapter of the switch: the policy NetAdapterName.",
      policy: { type: "NetAdapterName", setting: "NetworkAdapterName" },
    },
    SourceMac: {
      is: "text",
      text: "The policy SourceMacAddress.",
      policy: { type: "SourceMacAddress", setting: "SourceMacAddress" },
    },
    AutomaticDNS: {
      is: "boolean",
      text: "The policy AutomaticDNS.",
      policy: { type: "AutomaticDNS", setting: "Enable" },
    },
    ManagementIP: {
      is: "text",
      text: (): string => WORDS.networkManagementIP,
      policy: {
        type: "ProviderAddress",
        setting: "ProviderAddress",
        onlyOf: "Overlay",
        isShownTwice: true,
      },
    },
    DrMacAddress: {
      is: "text",
      text: (): string => WORDS.networkDrMacAddress,
      policy: { type: "DrMacAddress", setting: "Address", onlyOf: "Overlay" },
    },
    DNSServerCompartment: { is: "u16", text: "The compartment of the DNS server." },
    AdditionalParams: { is: "json", text: "`ICSFlags`, of which v2 says nothing else." },
    Extensions: {
      is: "list",
      of: {
        text: "An extension of the switch.",
        fields: {
          Id: { is: "guid", text: "Which one." },
          IsEnabled: { is: "boolean", text: "Whether it is on.", absent: "false" },
        },
      },
      text: (): string => WORDS.networkExtensions,
    },
    IsolateSwitch: { is: "boolean", text: "It has a switch of its own." },
  },
} as const;

export const NETWORK_TYPES: (typeof NETWORK)["fields"]["Type"]["names"] = NETWORK.fields.Type.names;
export type NetworkType = (typeof NETWORK_TYPES)[number];

/** Bits of a network's `Flags` (hcn.md §2.2). */
export const NETWORK_FLAGS: (typeof NETWORK)["fields"]["Flags"]["bits"] = NETWORK.fields.Flags.bits;
/** Bits of a subnet's `Flags`. */
export const SUBNET_FLAGS: (typeof SUBNET)["fields"]["Flags"]["bits"] = SUBNET.fields.Flags.bits;
/** Bits of an IP subnet's `Flags`. */
export const IP_SUBNET_FLAGS: (typeof IP_SUBNET)["fields"]["Flags"]["bits"] = IP_SUBNET.fields.Flags.bits;

export type HostComputeNetwork = ObjectOf<typeof NETWORK>;
export type Ipam = NonNullable<HostComputeNetwork["Ipams"]>[number];
export type IpamType = NonNullable<Ipam["Type"]>;
export type Subnet = ObjectOf<typeof SUBNET>;
export type IpSubnet = ObjectOf<typeof IP_SUBNET>;

/** Reads one block of a subnet. */
export const IP_SUBNET_READER: ObjectReader<IpSubnet> = readerOf(IP_SUBNET);
/** Reads one subnet of an `Ipam` or of a modify request. */
export const SUBNET_READER: ObjectReader<Subnet> = readerOf(SUBNET);
export const NETWORK_READER: ObjectReader<HostComputeNetwork> = readerOf(NETWORK);

/**
 * Checks the shape of a v2 network document. Addresses and policies keep their text: the service judges them.
 * @throws HcnError HCN_E_INVALID_JSON for a field of the wrong type, HCN_E_INVALID_NETWORK_TYPE for an unknown type.
 */
export function parseNetwork(document: JsonValue): HostComputeNetwork {
  return NETWORK_READER.read(JsonReader.of(document, "network", "HCN_E_INVALID_JSON"));
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
