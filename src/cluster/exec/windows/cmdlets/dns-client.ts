/**
 * `Get-DnsClientServerAddress` and `Get-DnsClientGlobalSetting`. Their forms are those of the outputs that Microsoft's reference
 * and the pages of many courses print: a title on two lines, lists in braces, four suffixes at most.
 */
import { ADDRESS_FAMILIES } from "./address-family.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type Machine, namesOf } from "../../machine.ts";
import { type Cmdlet, type Filter, filterObjects } from "../powershell/cmdlet.ts";
import { type Enumerated, type ObjectKind, makeObject } from "../powershell/objects.ts";

interface ServerRow {
  readonly alias: string;
  readonly index: number;
  readonly family: Enumerated;
  readonly servers: readonly string[];
}

const SERVER_ADDRESS: ObjectKind<ServerRow> = {
  properties: [
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "InterfaceIndex", read: ({ index }) => index },
    { name: "AddressFamily", read: ({ family }) => family },
    { name: "ServerAddresses", read: ({ servers }) => servers },
  ],
  table: [
    { name: "InterfaceAlias", width: 28 },
    { name: "InterfaceIndex", title: ["Interface", "Index"], width: 9, isRight: true },
    { name: "AddressFamily", title: ["Address", "Family"], width: 7 },
    { name: "ServerAddresses" },
  ],
};

/** What an interface that has no server asks over IPv6, as each new interface of Windows does. */
const SITE_LOCAL = ["fec0:0:0:ffff::1", "fec0:0:0:ffff::2", "fec0:0:0:ffff::3"];
const FAMILIES = [
  { family: ADDRESS_FAMILIES[4], type: "number" },
  { family: ADDRESS_FAMILIES[6], type: "bigint" },
] as const;

/**
 * Inferred: every adapter of a compartment has its servers, as `ipconfig /all` shows them; the loopback comes last. Printed outputs
 * differ in whether an interface with a server for IPv4 lists the site-local ones; here it does not.
 */
function serverRows(machine: Machine): readonly ServerRow[] {
  const { adapters, loopback } = machine;
  const rows = (alias: string, index: number, own: readonly Ip[]): readonly ServerRow[] =>
    FAMILIES.map(({ family, type }) => {
      const found = own.filter((ip) => typeof ip === type).map(formatIp);
      return { alias, index, family, servers: own.length === 0 && type === "bigint" ? SITE_LOCAL : found };
    });
  return [
    ...adapters.flatMap(({ link, index }) => rows(link.name, index, namesOf(machine, link).servers)),
    ...rows(loopback.name, loopback.index, []),
  ];
}

const FILTERS: readonly Filter[] = [
  { parameter: "InterfaceAlias", property: "InterfaceAlias" },
  { parameter: "InterfaceIndex", property: "InterfaceIndex" },
  { parameter: "AddressFamily", property: "AddressFamily" },
];

export const GET_DNS_CLIENT_SERVER_ADDRESS: Cmdlet = {
  name: "Get-DnsClientServerAddress",
  usages: [
    "Get-DnsClientServerAddress [[-InterfaceAlias] NAME] [-InterfaceIndex INDEX] [-AddressFamily IPv4|IPv6]",
  ],
  parameters: FILTERS.map(({ parameter }) => parameter),
  positions: 1,
  switches: [],
  others: ["CimSession", "ThrottleLimit", "AsJob"],
  run: (machine, given) =>
    filterObjects(
      "Get-DnsClientServerAddress",
      "MSFT_DNSClientServerAddress",
      serverRows(machine).map((each) => makeObject(SERVER_ADDRESS, each)),
      FILTERS,
      given,
    ),
};

const GLOBAL_SETTING: ObjectKind<Machine> = {
  properties: [
    { name: "UseSuffixSearchList", read: () => true },
    { name: "SuffixSearchList", read: ({ compartment }) => compartment.dns.search },
    { name: "UseDevolution", read: () => true },
    { name: "DevolutionLevel", read: () => 0 },
  ],
};

/** Inferred: the list of a pod stands there. Azure/azure-container-networking#363 and containernetworking/plugins#229 saw it empty in 2019. */
export const GET_DNS_CLIENT_GLOBAL_SETTING: Cmdlet = {
  name: "Get-DnsClientGlobalSetting",
  usages: ["Get-DnsClientGlobalSetting"],
  parameters: [],
  positions: 0,
  switches: [],
  others: ["CimSession", "ThrottleLimit", "AsJob"],
  run: (machine) => ({ objects: [makeObject(GLOBAL_SETTING, machine)] }),
};

export const CLEAR_DNS_CLIENT_CACHE: Cmdlet = {
  name: "Clear-DnsClientCache",
  usages: ["Clear-DnsClientCache"],
  parameters: [],
  positions: 0,
  switches: [],
  others: ["CimSession", "ThrottleLimit", "AsJob", "WhatIf", "Confirm"],
  isChange: true,
  run: ({ compartment }) => {
    compartment.nameCache.clear();
    return { objects: [] };
  },
};
