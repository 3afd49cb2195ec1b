/**
 * `Get-NetIPAddress` and `Get-NetIPInterface`. Their forms are those of learn.microsoft.com (Get-NetIPAddress, a list) and of outputs
 * that people print with `| Format-Table`, Get-NetIPInterface's on microsoft/WSL#5821 beside `netsh`'s: IPv6 in front of IPv4, of each
 * the highest index first, the loopback last.
 *
 * Inferred: HNS gives addresses by hand (`Manual`), as `ipconfig /all` says "DHCP Enabled: No"; no address has a lifetime.
 */
import { type IpFamily, familyOf, formatIp } from "#core/net/ip.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import type { Machine } from "../../machine.ts";
import { ADDRESS_FAMILIES } from "./address-family.ts";
import { LOOPBACK_METRIC, LOOPBACK_MTU } from "../effective-routes.ts";
import { type Cmdlet, type Filter, filterObjects } from "../powershell/cmdlet.ts";
import { type ObjectKind, type Value, makeObject } from "../powershell/objects.ts";

interface Address {
  readonly family: IpFamily;
  readonly address: string;
  readonly length: number;
  readonly index: number;
  readonly alias: string;
  readonly origin: "machine" | "link" | "hand";
}

interface IpInterface {
  readonly family: IpFamily;
  readonly index: number;
  readonly alias: string;
  readonly mtuBytes: number;
  readonly metric: number;
  readonly isForwarding: boolean;
}

const FAMILIES: readonly IpFamily[] = [6, 4];
const LOOPBACK: Readonly<Record<IpFamily, { readonly address: string; readonly length: number }>> = {
  4: { address: "127.0.0.1", length: 8 },
  6: { address: "::1", length: 128 },
};
const FOREVER = "Infinite ([TimeSpan]::MaxValue)";
const WELL_KNOWN: Value = { text: "WellKnown", number: 2 };
const MANUAL: Value = { text: "Manual", number: 1 };
const PREFIX_ORIGINS = { machine: WELL_KNOWN, link: WELL_KNOWN, hand: MANUAL } as const;
const SUFFIX_ORIGINS = { machine: WELL_KNOWN, link: { text: "Link", number: 4 }, hand: MANUAL } as const;

const NET_IP_ADDRESS: ObjectKind<Address> = {
  properties: [
    { name: "IPAddress", read: ({ address }) => address },
    { name: "InterfaceIndex", read: ({ index }) => index },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "AddressFamily", read: ({ family }) => ADDRESS_FAMILIES[family] },
    { name: "Type", read: () => ({ text: "Unicast", number: 1 }) },
    { name: "PrefixLength", read: ({ length }) => length },
    { name: "PrefixOrigin", read: ({ origin }) => PREFIX_ORIGINS[origin] },
    { name: "SuffixOrigin", read: ({ origin }) => SUFFIX_ORIGINS[origin] },
    { name: "AddressState", read: () => ({ text: "Preferred", number: 4 }) },
    { name: "ValidLifetime", read: () => FOREVER },
    { name: "PreferredLifetime", read: () => FOREVER },
    { name: "SkipAsSource", read: () => false },
    { name: "PolicyStore", read: () => "ActiveStore" },
  ],
  isList: true,
  table: [
    { name: "InterfaceIndex", title: ["ifIndex"], width: 7 },
    { name: "IPAddress", width: 47 },
    { name: "PrefixLength", width: 12, isRight: true },
    { name: "PrefixOrigin", width: 12 },
    { name: "SuffixOrigin", width: 12 },
    { name: "AddressState", width: 12 },
    { name: "PolicyStore", width: 11 },
  ],
};

const NET_IP_INTERFACE: ObjectKind<IpInterface> = {
  properties: [
    { name: "ifIndex", read: ({ index }) => index },
    { name: "InterfaceIndex", read: ({ index }) => index },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "AddressFamily", read: ({ family }) => ADDRESS_FAMILIES[family] },
    { name: "NlMtu(Bytes)", read: ({ mtuBytes }) => mtuBytes },
    { name: "NlMtu", read: ({ mtuBytes }) => mtuBytes },
    { name: "InterfaceMetric", read: ({ metric }) => metric },
    { name: "Dhcp", read: () => ({ text: "Disabled", number: 0 }) },
    { name: "ConnectionState", read: () => ({ text: "Connected", number: 1 }) },
    {
      name: "Forwarding",
      read: ({ isForwarding }) =>
        isForwarding ? { text: "Enabled", number: 1 } : { text: "Disabled", number: 2 },
    },
    { name: "PolicyStore", read: () => "ActiveStore" },
  ],
  table: [
    { name: "ifIndex", width: 7 },
    { name: "InterfaceAlias", width: 31 },
    { name: "AddressFamily", width: 13 },
    { name: "NlMtu(Bytes)", width: 12, isRight: true },
    { name: "InterfaceMetric", width: 15, isRight: true },
    { name: "Dhcp", width: 8 },
    { name: "ConnectionState", width: 15 },
    { name: "PolicyStore", width: 11 },
  ],
};

function addressesOf({ adapters, loopback }: Machine): readonly Address[] {
  return FAMILIES.flatMap((family): readonly Address[] => [
    ...adapters.toReversed().flatMap(({ index, link }) =>
      link.addresses
        .filter(({ ip }) => familyOf(ip) === family)
        .map(({ ip, length }): Address => {
          const isOfLink = isLinkLocal(ip);
          const zone = isOfLink && family === 6 ? `%${index}` : "";
          const place = { family, length, index, alias: link.name };
          return { ...place, address: formatIp(ip) + zone, origin: isOfLink ? "link" : "hand" };
        }),
    ),
    { family, ...LOOPBACK[family], index: loopback.index, alias: loopback.name, origin: "machine" },
  ]);
}

function interfacesOf({ adapters, loopback }: Machine): readonly IpInterface[] {
  return FAMILIES.flatMap((family): readonly IpInterface[] => [
    ...adapters
      .toReversed()
      .filter(({ link }) => family === 4 || link.addresses.some(({ ip }) => familyOf(ip) === 6))
      .map(({ index, link: { name, mtuBytes, metric, isForwarding } }) => {
        return { family, index, alias: name, mtuBytes, metric, isForwarding };
      }),
    {
      family,
      index: loopback.index,
      alias: loopback.name,
      mtuBytes: LOOPBACK_MTU,
      metric: LOOPBACK_METRIC,
      isForwarding: false,
    },
  ]);
}

const PLACE_FILTERS: readonly Filter[] = [
  { parameter: "InterfaceIndex", property: "InterfaceIndex" },
  { parameter: "ifIndex", property: "InterfaceIndex" },
  { parameter: "InterfaceAlias", property: "InterfaceAlias" },
  { parameter: "AddressFamily", property: "AddressFamily" },
];
const ADDRESS_FILTERS: readonly Filter[] = [
  { parameter: "IPAddress", property: "IPAddress" },
  ...PLACE_FILTERS,
  { parameter: "PrefixOrigin", property: "PrefixOrigin" },
  { parameter: "AddressState", property: "AddressState" },
  { parameter: "PrefixLength", property: "PrefixLength" },
];
const INTERFACE_FILTERS: readonly Filter[] = [
  { parameter: "InterfaceAlias", property: "InterfaceAlias" },
  ...PLACE_FILTERS.filter(({ parameter }) => parameter !== "InterfaceAlias"),
  { parameter: "ConnectionState", property: "ConnectionState" },
  { parameter: "Dhcp", property: "Dhcp" },
  { parameter: "Forwarding", property: "Forwarding" },
];
const CIM_PARAMETERS = [
  "IncludeAllCompartments",
  "CompartmentId",
  "PolicyStore",
  "CimSession",
  "ThrottleLimit",
  "AsJob",
];

export const GET_NET_IP_ADDRESS: Cmdlet = {
  name: "Get-NetIPAddress",
  usages: [
    "Get-NetIPAddress [[-IPAddress] ADDRESS] [-InterfaceIndex INDEX] [-InterfaceAlias NAME] [-AddressFamily IPv4|IPv6]",
    "Get-NetIPAddress [-PrefixOrigin Manual|WellKnown] [-AddressState Preferred] [-PrefixLength BITS]",
  ],
  parameters: ADDRESS_FILTERS.map(({ parameter }) => parameter),
  positions: 1,
  switches: [],
  others: [
    "Type",
    "SuffixOrigin",
    "ValidLifetime",
    "PreferredLifetime",
    "SkipAsSource",
    "AssociatedIPInterface",
    ...CIM_PARAMETERS,
  ],
  run: (machine, given) => {
    const objects = addressesOf(machine).map((each) => makeObject(NET_IP_ADDRESS, each));
    return filterObjects("Get-NetIPAddress", "MSFT_NetIPAddress", objects, ADDRESS_FILTERS, given);
  },
};

export const GET_NET_IP_INTERFACE: Cmdlet = {
  name: "Get-NetIPInterface",
  usages: [
    "Get-NetIPInterface [[-InterfaceAlias] NAME] [-InterfaceIndex INDEX] [-AddressFamily IPv4|IPv6]",
    "Get-NetIPInterface [-ConnectionState Connected] [-Dhcp Enabled|Disabled] [-Forwarding Enabled|Disabled]",
  ],
  parameters: INTERFACE_FILTERS.map(({ parameter }) => parameter),
  positions: 1,
  switches: [],
  others: [
    "NlMtuBytes",
    "InterfaceMetric",
    "WeakHostSend",
    "WeakHostReceive",
    "Advertising",
    "RouterDiscovery",
    ...CIM_PARAMETERS,
  ],
  run: (machine, given) => {
    const objects = interfacesOf(machine).map((each) => makeObject(NET_IP_INTERFACE, each));
    return filterObjects("Get-NetIPInterface", "MSFT_NetIPInterface", objects, INTERFACE_FILTERS, given);
  },
};
